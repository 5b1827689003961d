//===- Guest.cpp - Weft in a plugin -----------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <cstdio>

/// Compiles and runs something; 0 if it is right.
extern "C" __attribute__((visibility("default"))) int weft_guest_work() {
  try {
    auto f = weft::compile([](weft::Tensor x) { return (exp(x) * 2).sum(); });
    const float found = f(weft::zeros({64, 3})).item<float>();
    std::printf("compiled beside another LLVM: %g\n", static_cast<double>(found));
    return found == 384 ? 0 : 1;
  } catch (const weft::Error &error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
