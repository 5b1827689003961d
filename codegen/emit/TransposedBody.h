//===- TransposedBody.h - Bodies of loops in tiles -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the skeletons share that transpose operands: they are contiguous down the rows of the domain, and the
// results along its columns.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_TRANSPOSEDBODY_H
#define WEFT_CODEGEN_EMIT_TRANSPOSEDBODY_H

#include "codegen/emit/BodyGraph.h"

#include "mlir/IR/Value.h"

namespace weft::codegen {

class KernelBuilder;

/// The body over a domain, with a variable for its rows, one for its columns, and others. The bodies of the
/// skeletons derive from it: they add the variables, and then call `requestAll`.
struct TransposedBody {
  IndexSpace space;
  BodyGraph graph;
  VarId row = -1, column = -1;
  IndexExpr address;
  llvm::SmallVector<int> roots;
  Status status;

  /// Whether a load has neighbouring elements down the rows, and elements further apart along the columns.
  bool isTransposed(const BodyNode &node) const;

protected:
  TransposedBody(ir::FusionOp fusion, int64_t lanes) : space(ir::rangesOf(fusion)), graph(fusion, space) {
    space.lanes = lanes;
  }
  TransposedBody(const TransposedBody &) = delete;
  void requestAll(const TensorIndex &index);

private:
  /// Whether an index depends on the row or the column, also through the variables that it is computed from.
  bool movesInside(const IndexExpr &e) const;
  bool movesInside(VarId id) const;
  bool nodeMovesInside(int id) const;
};

/// Transposes a square of vectors, as many as they have lanes: at each step, pairs of vectors exchange halves
/// of their blocks of lanes.
void transposeSquare(KernelBuilder &kernel, llvm::SmallVectorImpl<mlir::Value> &lines);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_TRANSPOSEDBODY_H
