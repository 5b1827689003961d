//===- BodyViews.cpp - Index maps of views, joins, pads and windows -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/BodyGraph.h"

#include "ir/Schedule.h"

using namespace mlir;
namespace weft::codegen {

using ir::productOf, ir::sizesOf;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// The group of each dimension.
static SmallVector<unsigned> groupOfDims(const TensorIndex &index) {
  SmallVector<unsigned> groups;
  for (auto [i, group] : llvm::enumerate(index.groups))
    groups.append(group.dims, static_cast<unsigned>(i));
  return groups;
}

static void mapReshape(ir::ReshapeOp reshape, IndexSpace &space, const TensorIndex &index,
                       TensorIndex &mapped) {
  // A group of the operand ends where a group of the result ends and both have the same number of elements.
  ArrayRef<ir::Size> from = sizesOf(reshape.getA());
  unsigned at = 0, begin = 0;
  ir::Size before = 1, beforeOperand = 1;
  IndexExpr expr;
  for (const auto &group : index.groups) {
    expr = space.linear(expr, group.size, group.expr);
    before *= group.size;
    while (at < from.size() && ir::isPartOf(beforeOperand, before))
      beforeOperand *= from[at++];
    if (beforeOperand != before || at == begin)
      continue;
    mapped.groups.push_back({at - begin, productOf(from.slice(begin, at - begin)), expr});
    expr = IndexExpr();
    begin = at;
    before = beforeOperand = 1;
  }
  auto rank = static_cast<unsigned>(from.size());
  if (begin < rank)
    mapped.groups.push_back({rank - begin, productOf(from.drop_front(begin)), expr});
}

static void mapBroadcast(ir::BroadcastInDimOp broadcast, IndexSpace &space, const TensorIndex &index,
                         TensorIndex &mapped) {
  ArrayRef<ir::Size> from = sizesOf(broadcast.getA()), shape = broadcast.getShape();
  ArrayRef<int64_t> dims = broadcast.getDims();
  SmallVector<unsigned> groups = groupOfDims(index);
  auto rank = static_cast<unsigned>(from.size());
  auto stretched = [&](unsigned j) { return from[j] == 1; };
  for (unsigned j = 0; j < rank;) {
    if (stretched(j)) {
      mapped.groups.push_back({1, 1, IndexExpr()});
      ++j;
      continue;
    }
    unsigned end = j + 1;
    while (end < rank && !stretched(end) && dims[end] == dims[end - 1] + 1 &&
           groups[dims[end]] == groups[dims[j]])
      ++end;
    mapped.groups.push_back({end - j, productOf(from.slice(j, end - j)),
                             rangeIndex(space, index, shape, static_cast<unsigned>(dims[j]),
                                        static_cast<unsigned>(dims[end - 1]) + 1)});
    j = end;
  }
}

static void mapTranspose(ir::TransposeOp transpose, IndexSpace &space, const TensorIndex &index,
                         TensorIndex &mapped) {
  ArrayRef<int64_t> perm = transpose.getPerm();
  ArrayRef<ir::Size> shape = sizesOf(transpose.getResult()), from = sizesOf(transpose.getA());
  SmallVector<unsigned> inverse(perm.size()), groups = groupOfDims(index);
  for (auto [i, p] : llvm::enumerate(perm))
    inverse[p] = static_cast<unsigned>(i);
  for (unsigned j = 0; j < inverse.size();) {
    unsigned end = j + 1;
    while (end < inverse.size() && inverse[end] == inverse[end - 1] + 1 &&
           groups[inverse[end]] == groups[inverse[j]])
      ++end;
    mapped.groups.push_back({end - j, productOf(from.slice(j, end - j)),
                             rangeIndex(space, index, shape, inverse[j], inverse[end - 1] + 1)});
    j = end;
  }
}

static void mapReverse(ir::ReverseOp reverse, IndexSpace &space, const TensorIndex &index,
                       TensorIndex &mapped) {
  ArrayRef<ir::Size> shape = sizesOf(reverse.getResult());
  SmallVector<unsigned> groups = groupOfDims(index);
  auto rank = static_cast<unsigned>(shape.size());
  auto turns = [&](unsigned d) { return llvm::is_contained(reverse.getDims(), static_cast<int64_t>(d)); };
  for (unsigned j = 0; j < rank;) {
    unsigned end = j + 1;
    while (end < rank && turns(end) == turns(j) && groups[end] == groups[j])
      ++end;
    ir::Size count = productOf(shape.slice(j, end - j));
    IndexExpr expr = rangeIndex(space, index, shape, j, end);
    if (turns(j))
      expr = add(scale(expr, -1), IndexExpr(count - 1));
    mapped.groups.push_back({end - j, count, expr});
    j = end;
  }
}

static void mapSlice(ir::SliceOp slice, IndexSpace &space, const TensorIndex &index, TensorIndex &mapped) {
  ArrayRef<ir::Size> from = sizesOf(slice.getA()), shape = sizesOf(slice.getResult());
  SmallVector<unsigned> groups = groupOfDims(index);
  auto rank = static_cast<unsigned>(from.size());
  for (unsigned j = 0; j < rank;) {
    unsigned end = j + 1;
    int64_t step = slice.getStep()[j];
    while (step == 1 && end < rank && from[end] == shape[end] && groups[end] == groups[j])
      ++end;
    ir::Size inner = productOf(from.slice(j + 1, end - j - 1));
    IndexExpr expr = scale(rangeIndex(space, index, shape, j, end), step);
    mapped.groups.push_back({end - j, from[j] * inner, add(expr, IndexExpr(slice.getStart()[j] * inner))});
    j = end;
  }
}

static void mapWindows(ir::WindowsOp windows, IndexSpace &space, const TensorIndex &index,
                       TensorIndex &mapped) {
  ArrayRef<ir::Size> from = sizesOf(windows.getA()), shape = sizesOf(windows.getResult());
  SmallVector<unsigned> groups = groupOfDims(index);
  auto count = static_cast<unsigned>(windows.getStride().size());
  unsigned lead = static_cast<unsigned>(from.size()) - count;
  for (unsigned j = 0; j < lead;) {
    unsigned end = j + 1;
    while (end < lead && groups[end] == groups[j])
      ++end;
    mapped.groups.push_back(
        {end - j, productOf(from.slice(j, end - j)), rangeIndex(space, index, shape, j, end)});
    j = end;
  }
  for (unsigned i = 0; i < count; ++i) {
    unsigned within = lead + i, place = within + count;
    IndexExpr expr =
        add(scale(rangeIndex(space, index, shape, place, place + 1), windows.getStride()[i]),
            scale(rangeIndex(space, index, shape, within, within + 1), windows.getDilation()[i]));
    mapped.groups.push_back({1, from[lead + i], expr});
  }
}

bool BodyGraph::mapView(Operation *op, const TensorIndex &index, TensorIndex &mapped) {
  if (isa<ir::FullOp>(op))
    return true;
  if (auto reshape = dyn_cast<ir::ReshapeOp>(op))
    mapReshape(reshape, space, index, mapped);
  else if (auto broadcast = dyn_cast<ir::BroadcastInDimOp>(op))
    mapBroadcast(broadcast, space, index, mapped);
  else if (auto transpose = dyn_cast<ir::TransposeOp>(op))
    mapTranspose(transpose, space, index, mapped);
  else if (auto reverse = dyn_cast<ir::ReverseOp>(op))
    mapReverse(reverse, space, index, mapped);
  else if (auto slice = dyn_cast<ir::SliceOp>(op))
    mapSlice(slice, space, index, mapped);
  else if (auto windows = dyn_cast<ir::WindowsOp>(op))
    mapWindows(windows, space, index, mapped);
  else
    return false;
  return true;
}

void BodyGraph::splitLanes(BodyNode::Bound &bound) {
  if (space.isPerLane(bound.expr))
    for (int64_t lane = 0; lane < space.lanes; ++lane)
      bound.perLane.push_back(atLane(bound.expr, lane));
}

TensorIndex BodyGraph::windowIndex(Operation *op, ArrayRef<ir::Size> from, ArrayRef<ir::Size> window,
                                   unsigned firstStart, const TensorIndex &index) {
  TensorIndex mapped;
  SmallVector<unsigned> groups = groupOfDims(index);
  auto rank = static_cast<unsigned>(from.size());
  for (unsigned j = 0; j < rank;) {
    unsigned end = j + 1;
    while (end < rank && from[end] == window[end] && groups[end] == groups[j])
      ++end;
    ir::Size inner = productOf(from.slice(j + 1, end - j - 1));
    IndexExpr expr = rangeIndex(space, index, window, j, end);
    if (from[j] != window[j]) {
      BodyNode start;
      start.kind = BodyNode::windowStart;
      start.op = op;
      start.argument = firstStart + j;
      start.value = op->getOperand(start.argument);
      start.limit = from[j] - window[j];
      ir::Size places = start.limit + 1;
      int id = intern(std::move(start), {reinterpret_cast<int64_t>(op), j});
      expr = space.linear(space.expr(space.addGathered(id, places, /*perLane=*/false)), inner, expr);
    }
    mapped.groups.push_back({end - j, from[j] * inner, expr});
    j = end;
  }
  return mapped;
}

/// Finds the part of a concat that contains `index`, if ranges prove that one part always does.
bool BodyGraph::mapConcat(ir::ConcatOp op, const TensorIndex &index, Value &part, TensorIndex &mapped) {
  ArrayRef<ir::Size> shape = sizesOf(op.getResult());
  auto dim = static_cast<unsigned>(op.getDim()), rank = static_cast<unsigned>(shape.size());
  ir::Size inner = productOf(shape.drop_front(dim + 1)), low = 0, high = 0, begin = 0;
  IndexExpr at = rangeIndex(space, index, shape, dim, rank);
  if (!space.rangeOf(at, low, high))
    return false;
  const ir::SymbolRanges &ranges = space.ranges;
  for (Value candidate : op.getParts()) {
    ir::Size size = sizesOf(candidate)[dim] * inner, end = begin + size;
    if (ranges.isAtMost(begin, low) && ranges.isAtLeast(end - high, 1)) {
      part = candidate;
      if (dim > 0)
        mapped.groups.push_back(
            {dim, productOf(shape.take_front(dim)), rangeIndex(space, index, shape, 0, dim)});
      mapped.groups.push_back({rank - dim, size, add(at, IndexExpr(0 - begin))});
      return true;
    }
    begin = end;
  }
  return false;
}

/// The node of a concat whose part is not known: a chain of selections, each by the bounds of one part.
int BodyGraph::requestConcat(ir::ConcatOp op, const TensorIndex &index) {
  ArrayRef<ir::Size> shape = sizesOf(op.getResult());
  auto dim = static_cast<unsigned>(op.getDim()), rank = static_cast<unsigned>(shape.size());
  ir::Size inner = productOf(shape.drop_front(dim + 1)), begin = 0;
  IndexExpr at = rangeIndex(space, index, shape, dim, rank);
  TensorIndex outer;
  if (dim > 0)
    outer.groups.push_back({dim, productOf(shape.take_front(dim)), rangeIndex(space, index, shape, 0, dim)});
  int indexId = internIndex(index), chosen = -1;
  for (auto [i, part] : llvm::enumerate(op.getParts())) {
    ir::Size size = sizesOf(part)[dim] * inner;
    if (size == 0)
      continue;
    BodyNode node;
    node.kind = BodyNode::padded;
    node.op = op;
    node.value = op.getResult();
    node.argument = static_cast<unsigned>(i);
    node.other = chosen;
    node.otherwise = chosen >= 0;
    BodyNode::Bound bound;
    bound.expr = add(at, IndexExpr(0 - begin));
    bound.extent = size;
    splitLanes(bound);
    node.index = outer;
    node.index.groups.push_back({rank - dim, size, space.clamp(bound.expr, size)});
    node.bounds.push_back(std::move(bound));
    chosen = intern(std::move(node), {keyOf(op.getResult()), indexId, static_cast<int64_t>(i)});
    begin += size;
  }
  return chosen;
}

int BodyGraph::requestPad(ir::PadOp op, const TensorIndex &index) {
  ArrayRef<ir::Size> from = sizesOf(op.getA()), shape = sizesOf(op.getResult());
  BodyNode node;
  node.op = op;
  node.value = op.getResult();
  int indexId = internIndex(index);
  std::vector<int64_t> key{keyOf(node.value), indexId};
  if (productOf(from) == 0) {
    if (op.getValue())
      return request(op.getValue(), {});
    node.kind = BodyNode::zero;
    return intern(std::move(node), std::move(key));
  }
  node.kind = BodyNode::padded;
  SmallVector<unsigned> groups = groupOfDims(index);
  TensorIndex mapped;
  auto rank = static_cast<unsigned>(from.size());
  node.otherwise = static_cast<bool>(op.getValue());
  auto plain = [&](unsigned d) {
    return from[d] == shape[d] && op.getLow()[d] == 0 &&
           (op.getInterior()[d] == 0 || from[d] == 0 || from[d] == 1);
  };
  for (unsigned d = 0; d < rank;) {
    if (plain(d)) {
      unsigned end = d + 1;
      while (end < rank && plain(end) && groups[end] == groups[d])
        ++end;
      mapped.groups.push_back(
          {end - d, productOf(from.slice(d, end - d)), rangeIndex(space, index, shape, d, end)});
      d = end;
      continue;
    }
    BodyNode::Bound bound;
    bound.expr = add(rangeIndex(space, index, shape, d, d + 1), IndexExpr(0 - op.getLow()[d]));
    bound.extent = from[d];
    bound.stride = op.getInterior()[d] + 1;
    // On a CPU, indices that are never in the padding are not compared.
    if (crosses && bound.stride == 1 && space.isWithin(bound.expr, bound.extent)) {
      mapped.groups.push_back({1, from[d], bound.expr});
      ++d;
      continue;
    }
    splitLanes(bound);
    IndexExpr inside = space.clamp(bound.expr, (from[d] - 1) * bound.stride + 1);
    mapped.groups.push_back({1, from[d], space.divide(inside, bound.stride)});
    node.bounds.push_back(std::move(bound));
    ++d;
  }
  if (node.bounds.empty())
    return request(op.getA(), std::move(mapped));
  node.index = std::move(mapped);
  return intern(std::move(node), std::move(key));
}

} // namespace weft::codegen
