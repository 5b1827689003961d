//===- RandomSchedule.h - Right schedules that nobody would choose ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_CODEGEN_RANDOMSCHEDULE_H
#define WEFT_TEST_UNIT_CODEGEN_RANDOMSCHEDULE_H

#include "ir/Schedule.h"

#include <random>
#include <string>

namespace weft::testing {

/// Another schedule of a scheduled fusion that the verifier accepts. It has other chunks, tiles, blocks and
/// ranges, vectors, grain, kept values, prefetching and stores. Fields that determine the order of a
/// reduction stay.
ir::ScheduleAttr randomSchedule(ir::FusionOp fusion, std::mt19937_64 &random);

/// The schedule as the IR prints it.
std::string textOf(ir::ScheduleAttr schedule);

} // namespace weft::testing

#endif // WEFT_TEST_UNIT_CODEGEN_RANDOMSCHEDULE_H
