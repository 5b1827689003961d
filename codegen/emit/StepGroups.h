//===- StepGroups.h - The table of an optimiser's kernel -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_STEPGROUPS_H
#define WEFT_CODEGEN_EMIT_STEPGROUPS_H

#include "ir/Dialect.h"

namespace weft::codegen {

/// Steps of a `multi_tensor` fusion that differ in nothing but their tensors. The kernel is made for the
/// groups, and gets the steps of each in a table (runtime/plan/StepTable.h).
struct StepGroup {
  llvm::SmallVector<mlir::Operation *> steps; ///< in op order
  unsigned reads = 0, writes = 0;             ///< tensors of each

  mlir::Operation *first() const { return steps.front(); }
  /// Block arguments of the fusion: what a step reads, and the numbers that all steps of the group share.
  mlir::OperandRange tensors(mlir::Operation *step) const { return step->getOperands().take_front(reads); }
  mlir::OperandRange numbers() const { return first()->getOperands().drop_front(reads); }
  mlir::Type elementType() const { return mlir::getElementTypeOrSelf(first()->getOperand(0).getType()); }
};

/// In the order of their first steps.
llvm::SmallVector<StepGroup> stepGroups(ir::FusionOp fusion);

/// The fusion's operands and results by number, in the order in which a launch of its kernel gives them: the
/// numbers of each group, then what each step reads; and what each step writes.
struct StepBuffers {
  llvm::SmallVector<unsigned> operands, results;
};
StepBuffers stepBuffers(ir::FusionOp fusion, llvm::ArrayRef<StepGroup> groups);

/// The elements of each step's tensors, in the same order.
llvm::SmallVector<ir::Size> stepElements(llvm::ArrayRef<StepGroup> groups);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_STEPGROUPS_H
