//===- LoopBody.h - A loop's body over a part of its domain ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The skeletons of loops divide the domain into rows and columns: the leading dimensions are the rows, and
// those after them the columns. A concat divides the domain into boxes, each of which reads one part.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_LOOPBODY_H
#define WEFT_CODEGEN_EMIT_LOOPBODY_H

#include "codegen/emit/BodyGraph.h"

namespace weft::codegen {

/// A range of rows and columns of the domain, whose first `outerDims` dimensions are the rows: `rows` rows
/// from `row` on, and `columns` columns from `column` on. If `split` is not 1, the next dimension is divided
/// evenly: as many rows are in one index of the first dimensions.
struct Box {
  unsigned outerDims = 0;
  int64_t split = 1;
  ir::Size row = 0, rows = 1, column = 0, columns = 1;
};

/// The body over a box, for vectors of `lanes` elements or for single ones. `row` and `column` count from the
/// beginning of the box. `whole`: columns begin at multiples of `lanes`, where the domain's rows do.
/// `splitsSums` is the space's.
struct LoopBody {
  LoopBody(ir::FusionOp fusion, const Box &box, int64_t lanes, bool whole = true, bool splitsSums = false);

  IndexSpace space;
  BodyGraph graph;
  VarId row, column;
  IndexExpr address;
  llvm::SmallVector<int> roots;
  llvm::SmallVector<int> starts; ///< nodes on which the address of a window depends
  Status status;
};

/// The concat whose parts divide the domain, or null.
ir::ConcatOp cuttingConcat(ir::FusionOp fusion, llvm::ArrayRef<ir::Size> domain);
/// The boundaries between the parts of all concats along the dimension of `first` that have its shape.
/// Symbolic sizes can only be ordered within one concat. If there are any, the boundaries are those of
/// `first`, and the parts of other concats are selected by bounds.
llvm::SmallVector<ir::Size> cutsOf(ir::FusionOp fusion, ir::ConcatOp first);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_LOOPBODY_H
