//===- Spills.h - Schedules after a kernel that spilled ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many registers a thread gets is ptxas's choice, which weighs them against the number of blocks that a
// multiprocessor can hold. At times it keeps values in local memory that would fit into registers. Then the
// fusion has an attribute `spilled`, the registers a thread of each kernel that spilled, and its schedule is
// the next of a list:
//
// - the same kernel with `resident` blocks, for which ptxas may use all registers: first as many blocks as
//   the kernel had that spilled, then fewer. Smaller blocks of columns are between them, because they divide
//   a multiprocessor more finely;
// - kernels with narrower accesses, and rows of which threads hold less;
// - kernels that hold no row in registers: what a pass computes of each element is not kept for the next
//   pass, which computes it again. Then those of one element of a row at a time. Chains of functions of f64
//   need that. The last of each of these kinds also has `resident` blocks, for all registers of a thread;
// - at the end, the first kernel again: every other one spills too, and it has the widest accesses.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_SPILLS_H
#define WEFT_IR_SPILLS_H

#include "ir/ScheduleFields.h"
#include "ir/TargetDescription.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace weft::ir {

/// Chooses a schedule, but its `resident`, for a GPU of this description.
using ChooseForTarget = llvm::function_ref<Schedule(const TargetDescription &)>;

/// The registers that a thread may have if a multiprocessor holds so many threads.
int64_t registersFor(const TargetDescription &target, int64_t threads);

/// The schedules to try for a fusion whose first kernel spilled with so many registers a thread, in order.
llvm::SmallVector<Schedule> schedulesAfterSpill(const TargetDescription &target, int64_t registers,
                                                ChooseForTarget choose);

/// The schedule for a fusion with this attribute: that of `choose` if it is empty.
Schedule chooseAfterSpills(const TargetDescription &target, llvm::ArrayRef<int64_t> spilled,
                           ChooseForTarget choose);

} // namespace weft::ir

#endif // WEFT_IR_SPILLS_H
