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

/// The schedule of a fusion for a GPU, after kernels that spilled with these registers a thread
/// (ir/Spills.h): the fallback (ir/Schedule.h) if there is no better one.
ScheduleAttr chooseCudaSchedule(FusionOp fusion, const TargetDescription &target,
                                llvm::ArrayRef<int64_t> spilled);
/// The same after the kernels that the fusion's attribute `spilled` names.
ScheduleAttr chooseCudaSchedule(FusionOp fusion, const TargetDescription &target);

} // namespace weft::ir

#endif // WEFT_IR_CUDASCHEDULE_H
