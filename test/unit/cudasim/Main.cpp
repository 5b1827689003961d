//===- Main.cpp - The engine's tests on a processor that has AVX2 --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/engine/Engine.h"

#include <cstdio>
#include <gtest/gtest.h>

int main(int count, char **arguments) {
  testing::InitGoogleTest(&count, arguments);
  bool lists = testing::GTEST_FLAG(list_tests);
  if (!lists && !weft::cudasim::processorSuffices()) {
    std::fprintf(stderr,
                 "weft-cudasim-tests: the engine is compiled for x86-64-v3 (AVX2, FMA, F16C), which this "
                 "processor does not have\n");
    return 1;
  }
  return RUN_ALL_TESTS();
}
