//===- ReductionBody.h - A body around reductions -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions along rows see their domain as a matrix, those down columns as matrices of which there are many.
// What each of the two kinds of kernel reads in one step of its loops is the same: the operands of the
// reductions, and the results that have the domain's shape, at an element of a matrix; the other results, and
// what reductions leave, along the dimensions that are kept.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_REDUCTIONBODY_H
#define WEFT_CODEGEN_EMIT_REDUCTIONBODY_H

#include "codegen/emit/BodyGraph.h"

namespace weft::codegen {

/// The body over [outer][rows][columns], for vectors of `lanes` columns or for scalars. The two kinds derive
/// from it: they say where the kept dimensions are, and then call `requestAll`.
struct ReductionBody {
  IndexSpace space;
  BodyGraph graph;
  ir::Size outer = 1, rows = 0, columns = 0;
  VarId matrix, row, column; ///< which matrix, and where in it
  IndexExpr inRow;           ///< the column of an element, or of a vector's lanes
  TensorIndex kept, whole;   ///< of what reductions leave, and of an element of the domain
  IndexExpr address, keptAddress;
  llvm::SmallVector<int> operands;                      ///< of the reductions, in op order
  llvm::SmallVector<llvm::SmallVector<int, 2>> results; ///< of each
  llvm::SmallVector<int> roots;                         ///< of the fusion's results
  llvm::SmallVector<bool> ofDomain;                     ///< which of these have the domain's shape

protected:
  /// The rows are the `rowDims` dimensions of the domain from `firstDim` on, a row all that is behind them.
  ReductionBody(ir::FusionOp fusion, unsigned firstDim, unsigned rowDims, int64_t lanes);
  ReductionBody(const ReductionBody &) = delete;
  /// Requests all nodes that a step needs, at `whole` and at `kept`.
  void requestAll();
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_REDUCTIONBODY_H
