//===- LoopBody.cpp - A loop's body over a part of its domain -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/LoopBody.h"

#include "ir/Updates.h"

using namespace mlir;
namespace weft::codegen {

LoopBody::LoopBody(ir::FusionOp fusion, const Box &box, int64_t lanes, bool whole, bool splitsSums)
    : space(ir::rangesOf(fusion)), graph(fusion, space) {
  SmallVector<ir::Size> domain = fusion.getDomain();
  auto rank = static_cast<unsigned>(domain.size());
  ir::Size outer = ir::productOf(ArrayRef(domain).take_front(box.outerDims));
  ir::Size inner = ir::productOf(ArrayRef(domain).drop_front(box.outerDims));
  const bool isSplit = box.split != 1; // the box is the whole domain then
  ir::Size width = isSplit ? box.columns : inner;
  space.lanes = lanes;
  space.splitsSums = splitsSums;
  row = space.addLoop(box.rows - 1);
  column = space.addLoop(box.columns - 1,
                         whole && ((outer == 1 && !isSplit) || ir::isMultipleOf(width, lanes)) ? lanes : 1,
                         /*ofLanes=*/true);
  TensorIndex index;
  IndexExpr ofRow = box.rows == 1 ? IndexExpr(box.row) : add(space.expr(row), IndexExpr(box.row));
  if (box.outerDims)
    index.groups.push_back({box.outerDims, outer, isSplit ? space.divide(ofRow, box.split) : ofRow});
  IndexExpr at = add(space.expr(column), IndexExpr(box.column));
  at.lane = lanes > 1 ? 1 : 0;
  if (isSplit)
    at = add(scale(space.modulo(ofRow, box.split), width), at);
  if (rank > box.outerDims)
    index.groups.push_back({rank - box.outerDims, inner, at});
  address = linearIndex(space, index);
  if (Operation *update = ir::updateIn(fusion)) {
    auto base = cast<RankedTensorType>(update->getOperand(0).getType());
    address =
        linearIndex(space, graph.windowIndex(update, ir::sizesOf(base), domain, /*firstStart=*/2, index));
    for (auto [id, coefficient] : address.terms)
      if (space.var(id).kind == IndexVar::gathered)
        starts.push_back(space.var(id).node);
    roots.push_back(graph.request(ir::updateOf(update), index));
  } else {
    for (Value value : fusion.getBody().front().getTerminator()->getOperands())
      roots.push_back(graph.request(value, index));
  }
  status = graph.expand();
}

ir::ConcatOp cuttingConcat(ir::FusionOp fusion, ArrayRef<ir::Size> domain) {
  for (auto concat : fusion.getBody().front().getOps<ir::ConcatOp>())
    if (ir::sizesOf(concat.getType()) == domain)
      return concat;
  return {};
}

SmallVector<ir::Size> cutsOf(ir::FusionOp fusion, ir::ConcatOp first) {
  auto sizeOf = [&](Value part) { return ir::sizesOf(part.getType())[first.getDim()]; };
  SmallVector<ir::Size> ordered{0};
  for (Value part : first.getParts())
    if (sizeOf(part) != 0)
      ordered.push_back(ordered.back() + sizeOf(part));
  if (!ir::numbersOf(ordered))
    return ordered;
  SmallVector<int64_t> cuts{0};
  for (auto concat : fusion.getBody().front().getOps<ir::ConcatOp>()) {
    auto isNumber = [&](Value part) { return sizeOf(part).isNumber(); };
    if (concat.getDim() != first.getDim() || ir::sizesOf(concat.getType()) != ir::sizesOf(first.getType()) ||
        !llvm::all_of(concat.getParts(), isNumber))
      continue;
    int64_t end = 0;
    for (Value part : concat.getParts())
      cuts.push_back(end += sizeOf(part).asNumber());
  }
  llvm::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return ir::toSizes(cuts);
}

} // namespace weft::codegen
