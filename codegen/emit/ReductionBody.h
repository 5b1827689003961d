//===- ReductionBody.h - The body of a reduction kernel ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row kernel treats its domain as a matrix, a column kernel treats it as several matrices. Both read the
// same values in one step of their loops. At one element of a matrix they read the operands of the reductions
// and the results with the domain's shape. At one index of the kept dimensions they read the results of the
// reductions and the other results of the fusion.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_REDUCTIONBODY_H
#define WEFT_CODEGEN_EMIT_REDUCTIONBODY_H

#include "codegen/emit/BodyGraph.h"
#include "ir/Schedule.h"

namespace weft::codegen {

/// The body over [outer][rows][columns], for vectors of `lanes` columns or for scalars. The bodies of the two
/// kinds of kernel derive from it: they set `kept`, `whole` and the addresses, and then call `requestAll`.
struct ReductionBody {
  IndexSpace space;
  BodyGraph graph;
  ir::Size outer = 1, rows = 0, columns = 0;
  VarId matrix, row, column;       ///< the number of the matrix, and row and column in it
  IndexExpr inRow;                 ///< the column of an element, or the columns of a vector's lanes
  TensorIndex kept, whole;         ///< the index of a reduction's result, and of an element of the domain
  IndexExpr address, keptAddress;  ///< linear indices: of `whole`, and of `kept`
  llvm::SmallVector<int> operands; ///< nodes: operands of the reductions, in op order
  llvm::SmallVector<llvm::SmallVector<int, 2>> results; ///< nodes: results of each reduction
  llvm::SmallVector<int> roots;                         ///< nodes: results of the fusion
  llvm::SmallVector<bool> ofDomain;                     ///< which of `roots` have the domain's shape

protected:
  /// The dimensions before `firstDim` form `outer`, the next `rowDims` dimensions `rows`, the others
  /// `columns`.
  ReductionBody(ir::FusionOp fusion, unsigned firstDim, unsigned rowDims, int64_t lanes);
  ReductionBody(const ReductionBody &) = delete;
  /// Requests all nodes that a step needs, at `whole` and at `kept`.
  void requestAll();
};

/// The body of columns: the domain is [outer][rows][columns], and the reductions run down the rows.
struct ColumnBody : ReductionBody {
  ColumnBody(ir::FusionOp fusion, const ir::ColumnShape &shape, int64_t lanes);
};

/// The body of rows: the domain is [rows][columns], and the reductions run along the columns. If a row lies
/// in pieces that are loops of their own (`hasPieceLoop`), `column` is the position in the piece `piece`.
struct RowBody : ReductionBody {
  RowBody(ir::FusionOp fusion, int64_t lanes);

  const ir::RowShape shape;
  VarId piece = -1;
  bool hasPieceLoop() const { return piece >= 0; }

private:
  /// The index of an element of the domain, whose kept dimensions have the index of the row, and whose
  /// reduced dimensions have that of the column.
  TensorIndex indexInPieces(const IndexExpr &rowExpr);
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_REDUCTIONBODY_H
