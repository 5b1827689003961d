//===- CudaSchedule.h - Schedules of GPUs ----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_CUDASCHEDULE_H
#define WEFT_IR_CUDASCHEDULE_H

#include "ir/Dialect.h"
#include "ir/TargetDescription.h"

namespace weft::ir {

/// The schedule of a fusion for a GPU: the fallback (ir/Schedule.h) if there is no better one.
ScheduleAttr chooseCudaSchedule(FusionOp fusion, const TargetDescription &target);

} // namespace weft::ir

#endif // WEFT_IR_CUDASCHEDULE_H
