//===- Main.cpp - The tests of the software driver --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/CublasLt.h"
#include "runtime/cuda/Driver.h"
#include "test/cudasim/engine/Engine.h"

#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>

int main(int count, char **arguments) {
  // What Weft's runtime finds by the loader's path, which is that of the start of a process.
  if (count == 2 && !std::strcmp(arguments[1], "--driver")) {
    const weft::runtime::Driver &driver = weft::runtime::driver();
    std::printf("%s: %s\n", driver.state == weft::runtime::DriverState::ready ? "ready" : "not ready",
                driver.text().c_str());
    std::printf("%s\n", weft::runtime::cublas_lt().text().c_str());
    return 0;
  }
  testing::InitGoogleTest(&count, arguments);
  const bool lists = testing::GTEST_FLAG(list_tests);
  if (!lists && !weft::cudasim::processorSuffices()) {
    std::fprintf(stderr,
                 "weft-cusim-tests: the driver is compiled for x86-64-v3 (AVX2, FMA, F16C), which this "
                 "processor does not have\n");
    return 1;
  }
  return RUN_ALL_TESTS();
}
