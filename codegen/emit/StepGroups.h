//===- StepGroups.h - Groups of optimiser steps in a kernel -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_STEPGROUPS_H
#define WEFT_CODEGEN_EMIT_STEPGROUPS_H

#include "ir/Dialect.h"

namespace weft::codegen {

/// Steps of a `multi_tensor` fusion that differ only in their tensors. The kernel has code for each group,
/// and reads the steps of a group from a table (runtime/plan/StepTable.h).
struct StepGroup {
  llvm::SmallVector<mlir::Operation *> steps; ///< in op order
  unsigned reads = 0, writes = 0;             ///< tensors that each step reads and writes

  mlir::Operation *first() const { return steps.front(); }
  /// Block arguments of the fusion: the tensors that a step reads, and the numbers that all steps share.
  mlir::OperandRange tensors(mlir::Operation *step) const { return step->getOperands().take_front(reads); }
  mlir::OperandRange numbers() const { return first()->getOperands().drop_front(reads); }
  mlir::Type elementType() const { return mlir::getElementTypeOrSelf(first()->getOperand(0).getType()); }
};

/// The groups of a fusion, in the order of their first steps.
llvm::SmallVector<StepGroup> stepGroups(ir::FusionOp fusion);

/// The fusion's operands and results by number, in the order of a launch's buffers. `operands`: the numbers
/// of each group, then the tensors that each step reads. `results`: the tensors that each step writes.
struct StepBuffers {
  llvm::SmallVector<unsigned> operands, results;
};
StepBuffers stepBuffers(ir::FusionOp fusion, llvm::ArrayRef<StepGroup> groups);

/// The number of elements of each step's tensors, in the order of groups and their steps.
llvm::SmallVector<ir::Size> stepElements(llvm::ArrayRef<StepGroup> groups);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_STEPGROUPS_H
