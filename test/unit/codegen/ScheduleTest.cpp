//===- ScheduleTest.cpp - No right schedule changes a bit ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every schedule that the verifier accepts computes the bits of the chosen schedule, and writes nowhere else.
// The schedules are random, from fixed seeds, for programs of every kind.
//
//===----------------------------------------------------------------------===//
#include "FusionCases.h"
#include "RandomSchedule.h"
#include "test/unit/TestLevel.h"

#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

using namespace mlir;
namespace weft::testing {
namespace {

class Schedules : public ::testing::TestWithParam<FusionCase> {};

TEST_P(Schedules, AnyRightOneGivesTheSameBits) {
  const FusionCase &each = GetParam();
  const std::string level = testLevel();
  const int count = level == "quick" ? 2 : level == "default" ? 6 : level == "ci" ? 20 : 200;
  FusedProgram program(each.text, each.kind);
  ASSERT_TRUE(program.valid());
  const auto arguments = program.randomArguments(11, 0.1, 1.5);
  const auto target = runnableTargets().front();
  const auto expected = bytesOf(program.run(arguments, target, each.inPlace));
  ASSERT_FALSE(expected.empty());
  const ir::ScheduleAttr chosen = *program.fusion.getSchedule();
  std::mt19937_64 random(1);
  for (int i = 0; i < count; ++i) {
    program.fusion.setScheduleAttr(chosen);
    ir::ScheduleAttr schedule = randomSchedule(program.fusion, random);
    program.fusion.setScheduleAttr(schedule);
    ASSERT_TRUE(succeeded(verify(program.fusion))) << textOf(schedule);
    ASSERT_EQ(bytesOf(program.run(arguments, target, each.inPlace)), expected)
        << "chosen: " << textOf(chosen) << "\nfound: " << textOf(schedule);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Schedules, ::testing::ValuesIn(fusionCases().begin(), fusionCases().end()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace weft::testing
