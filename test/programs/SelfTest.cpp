//===- SelfTest.cpp - That the comparison of programs can fail ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs that agree show nothing unless wrong ones would not. Each defect is one that lazy execution had,
// or may well have; the fixed seeds of the suite must find it.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

#include "gtest/gtest.h"

using namespace weft::programs;

namespace {
/// The first of the suite's seeds that finds the defect; 0 for none.
uint64_t finds(Defect defect, uint64_t seeds) {
  Statistics ignored;
  for (uint64_t seed = 1; seed <= seeds; ++seed)
    if (!check(generate(seed), ignored, defect).empty())
      return seed;
  return 0;
}
} // namespace

TEST(InterfacePrograms, ALostGradientIsFound) { EXPECT_NE(finds(Defect::lostGradient, 300), 0u); }
TEST(InterfacePrograms, AStaleViewIsFound) { EXPECT_NE(finds(Defect::staleView, 300), 0u); }
TEST(InterfacePrograms, AGuardWithoutEffectIsFound) { EXPECT_NE(finds(Defect::leakingGuard, 300), 0u); }
TEST(InterfacePrograms, ALoopThatCompilesForEverIsFound) {
  EXPECT_NE(finds(Defect::compilesForEver, 300), 0u);
}

TEST(InterfacePrograms, WhatFailsIsMadeSmall) {
  const uint64_t seed = finds(Defect::lostGradient, 300);
  ASSERT_NE(seed, 0u);
  const Program program = generate(seed), small = shrink(program, Defect::lostGradient);
  const auto length = [](const Program &p) { return p.before.size() + p.body.size() + p.after.size(); };
  EXPECT_LT(length(small), length(program));
  EXPECT_LT(length(small), 10u) << small.str();
  Statistics ignored;
  EXPECT_FALSE(check(small, ignored, Defect::lostGradient).empty());
  EXPECT_TRUE(check(small, ignored).empty());
}

TEST(InterfacePrograms, ASeedIsAProgram) {
  EXPECT_EQ(generate(7).str(), generate(7).str());
  EXPECT_NE(generate(7).str(), generate(8).str());
}
