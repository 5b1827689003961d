//===- TransposedBody.cpp -------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/TransposedBody.h"

#include "codegen/emit/KernelBuilder.h"

using namespace mlir;
namespace weft::codegen {

void TransposedBody::requestAll(const TensorIndex &index) {
  address = linearIndex(space, index);
  for (Value value : graph.fusion.getBody().front().getTerminator()->getOperands())
    roots.push_back(graph.request(value, index));
  status = graph.expand();
}

bool TransposedBody::movesInside(const IndexExpr &e) const {
  return llvm::any_of(e.terms, [&](const auto &term) { return movesInside(term.first); });
}

bool TransposedBody::movesInside(VarId id) const {
  const IndexVar &var = space.var(id);
  if (var.kind == IndexVar::loop)
    return id == row || id == column;
  return var.kind == IndexVar::gathered ? nodeMovesInside(var.node) : movesInside(var.of);
}

bool TransposedBody::nodeMovesInside(int id) const {
  const BodyNode &node = graph.node(id);
  return movesInside(node.expr) || llvm::any_of(node.deps, [&](int dep) { return nodeMovesInside(dep); });
}

bool TransposedBody::isTransposed(const BodyNode &node) const {
  if (node.kind != BodyNode::load || space.isPerLane(node.expr) || coefficientOf(node.expr, row) != 1)
    return false;
  const ir::Size stride = coefficientOf(node.expr, column);
  if (stride.isNumber() && stride.asNumber() <= 1)
    return false;
  if (space.lanes > 1 && node.expr.lane != stride)
    return false;
  return llvm::none_of(node.expr.terms, [&](const auto &term) {
    return term.first != row && term.first != column && movesInside(term.first);
  });
}

void transposeSquare(KernelBuilder &kernel, SmallVectorImpl<Value> &lines) {
  const auto width = static_cast<int64_t>(lines.size());
  for (int64_t d = width / 2; d >= 1; d /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t c = 0; c < width; ++c) {
      low.push_back(c & d ? width + c - d : c);
      high.push_back(c & d ? width + c : c + d);
    }
    for (int64_t i = 0; i < width; ++i) {
      if (i & d)
        continue;
      Value a = lines[i], b = lines[i + d];
      lines[i] = kernel.create<vector::ShuffleOp>(a, b, low);
      lines[i + d] = kernel.create<vector::ShuffleOp>(a, b, high);
    }
  }
}

} // namespace weft::codegen
