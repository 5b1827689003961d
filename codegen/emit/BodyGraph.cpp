//===- BodyGraph.cpp ------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/BodyGraph.h"

#include "ir/Schedule.h"
#include "ir/Updates.h"

using namespace mlir;
namespace weft::codegen {

using ir::productOf, ir::sizesOf;

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

int BodyGraph::internIndex(const TensorIndex &index) {
  std::vector<int64_t> key;
  index.append(key);
  auto [entry, isNew] = indexIds.try_emplace(std::move(key), static_cast<int>(indices.size()));
  if (isNew)
    indices.push_back(index);
  return entry->second;
}

int BodyGraph::intern(BodyNode node, std::vector<int64_t> key) {
  key.push_back(node.kind);
  auto [entry, isNew] = nodeIds.try_emplace(std::move(key), static_cast<int>(nodes.size()));
  if (isNew) {
    nodes.push_back(std::move(node));
    nodeIndex.push_back(-1);
  }
  return entry->second;
}

bool mayCrossLanes(ir::FusionOp fusion) {
  const std::optional<ir::ScheduleAttr> schedule = fusion.getSchedule();
  return !schedule || !schedule->toSchedule().has(ir::ScheduleField::threads);
}

std::optional<BodyNode> BodyGraph::boundedLoad(const BodyNode &node) const {
  // Masks of narrower elements are branches on processors without AVX-512.
  Type element = getElementTypeOrSelf(node.value.getType());
  if (!crosses || node.kind != BodyNode::load || node.expr.lane != 0 || element.getIntOrFloatBitWidth() < 32)
    return std::nullopt;
  BodyNode bounded = node;
  for (auto &[id, coefficient] : node.expr.terms) {
    const IndexVar &var = space.var(id);
    if (!var.perLane)
      continue;
    const int64_t stride = var.of.lane.number().value_or(0);
    if (var.kind != IndexVar::clamped || coefficient != 1 || space.isPerLane(var.of) || stride < 1 ||
        stride > maxLaneStride || !bounded.bounds.empty())
      return std::nullopt;
    bounded.bounds.push_back({var.of, var.by, 1, {}});
    bounded.expr = add(bounded.expr, add(var.of, scale(space.expr(id), -1)));
  }
  return bounded;
}

/// The node of a load, iota or philox. If its expression is not affine in the lane, it has one node per lane.
int BodyGraph::leaf(BodyNode node) {
  auto make = [&](IndexExpr expr) {
    BodyNode one = node;
    one.expr = std::move(expr);
    std::vector<int64_t> key{keyOf(node.value)};
    one.expr.append(key);
    for (const BodyNode::Bound &bound : node.bounds) {
      bound.expr.append(key);
      key.push_back(bound.extent.raw());
    }
    return intern(std::move(one), std::move(key));
  };
  if (space.isPerLane(node.expr))
    if (std::optional<BodyNode> bounded = boundedLoad(node)) {
      node = std::move(*bounded);
      return make(node.expr);
    }
  bool philoxStride = node.kind == BodyNode::philox && node.expr.lane != 0 && node.expr.lane != 1;
  if (!space.isPerLane(node.expr) && !philoxStride)
    return make(node.expr);
  BodyNode all;
  all.kind = BodyNode::lanes;
  all.value = node.value;
  std::vector<int64_t> key{keyOf(node.value)};
  node.expr.append(key);
  for (int64_t lane = 0; lane < space.lanes; ++lane)
    all.deps.push_back(make(atLane(node.expr, lane)));
  return intern(std::move(all), std::move(key));
}

/// Whether the kernel computes the index of a gather, and does not check it. Then it is computed in vectors,
/// and the lanes are taken from these.
static bool isComputedIndex(Operation *op) {
  Operation *maker = ir::indexOperandOf(op).get().getDefiningOp();
  while (auto reshape = dyn_cast_or_null<ir::ReshapeOp>(maker))
    maker = reshape.getA().getDefiningOp();
  return !ir::checksIndex(op) && isa_and_nonnull<ir::ElementwiseOp>(maker);
}

IndexExpr BodyGraph::atLane(const IndexExpr &e, int64_t lane) {
  IndexExpr result(e.constant + e.lane * lane);
  for (auto [id, coefficient] : e.terms) {
    IndexVar var = space.var(id);
    IndexExpr term = space.expr(id);
    if (var.perLane) {
      if (var.kind == IndexVar::gathered && crosses && isComputedIndex(nodes[var.node].op)) {
        term = space.expr(space.addGathered(var.node, var.maximum + 1, false, lane));
      } else if (var.kind == IndexVar::gathered) {
        TensorIndex index = atLane(nodes[var.node].index, lane);
        int chosen = chosenIndex(nodes[var.node].op, std::move(index));
        term = space.expr(space.addGathered(chosen, var.maximum + 1, false));
      } else {
        IndexExpr of = atLane(var.of, lane);
        term = var.kind == IndexVar::quotient    ? space.divide(of, var.by)
               : var.kind == IndexVar::remainder ? space.modulo(of, var.by)
                                                 : space.clamp(of, var.by);
      }
    }
    result = space.linear(term, coefficient, result);
  }
  return result;
}

TensorIndex BodyGraph::atLane(const TensorIndex &index, int64_t lane) {
  TensorIndex result = index;
  for (auto &group : result.groups)
    group.expr = atLane(group.expr, lane);
  return result;
}

int BodyGraph::chosenIndex(Operation *op, TensorIndex index) {
  BodyNode node;
  node.kind = BodyNode::checkedIndex;
  node.op = op;
  node.value = ir::indexOperandOf(op).get();
  node.expr = linearIndex(space, index);
  std::vector<int64_t> key{reinterpret_cast<int64_t>(op)};
  node.expr.append(key);
  node.index = std::move(index);
  return intern(std::move(node), std::move(key));
}

int BodyGraph::request(Value value, TensorIndex index) {
  // Map the index through a chain of views until a value that has a node.
  while (true) {
    Operation *op = value.getDefiningOp();
    if (!op) {
      BodyNode node;
      node.kind = BodyNode::load;
      node.value = value;
      node.argument = cast<BlockArgument>(value).getArgNumber();
      node.expr = linearIndex(space, index);
      return leaf(std::move(node));
    }
    TensorIndex mapped;
    if (mapView(op, index, mapped)) {
      value = op->getOperand(0);
      index = std::move(mapped);
      continue;
    }
    if (auto gather = dyn_cast<ir::GatherOp>(op)) {
      if (std::optional<int> node = mapGather(gather, index, mapped))
        return *node;
      value = gather.getA();
      index = std::move(mapped);
      continue;
    }
    if (auto slice = dyn_cast<ir::DynamicSliceOp>(op)) {
      index = windowIndex(op, sizesOf(slice.getA()), sizesOf(value), /*firstStart=*/1, index);
      value = slice.getA();
      continue;
    }
    if (auto concat = dyn_cast<ir::ConcatOp>(op)) {
      if (!mapConcat(concat, index, value, mapped))
        return requestConcat(concat, index);
      index = std::move(mapped);
      continue;
    }
    if (auto pad = dyn_cast<ir::PadOp>(op))
      return requestPad(pad, index);
    return requestComputed(op, value, index);
  }
}

std::optional<int> BodyGraph::mapGather(ir::GatherOp gather, const TensorIndex &index, TensorIndex &mapped) {
  // In the result, the dimensions before those of the index, and those after them, are the operand's.
  Value value = gather.getResult();
  auto dim = static_cast<unsigned>(gather.getDim());
  ArrayRef<ir::Size> shape = sizesOf(value), from = sizesOf(gather.getA());
  bool along = gather.getKind() == ir::GatherKind::along;
  auto indexRank = along ? 1u : static_cast<unsigned>(sizesOf(gather.getIndex()).size());
  TensorIndex which;
  if (along) {
    which = index;
  } else if (indexRank > 0) {
    which.groups.push_back({indexRank, productOf(sizesOf(gather.getIndex())),
                            rangeIndex(space, index, shape, dim, dim + indexRank)});
  }
  int checked = chosenIndex(gather, which);
  BodyNode node;
  node.op = gather;
  node.value = value;
  if (from[dim] == 0) {
    node.kind = BodyNode::zero;
    node.deps = {checked};
    return intern(std::move(node), {keyOf(value), checked});
  }
  bool perLane = space.dependsOnLane(nodes[checked].expr);
  IndexExpr chosen = space.expr(space.addGathered(checked, from[dim], perLane));
  auto rank = static_cast<unsigned>(shape.size());
  mapped.groups.clear();
  // With `along` the index may be smaller than the operand, so do not merge dimensions into one group.
  auto keep = [&](unsigned begin, unsigned end, unsigned operandBegin) {
    if (begin == end)
      return;
    if (!along) {
      mapped.groups.push_back({end - begin, productOf(from.slice(operandBegin, end - begin)),
                               rangeIndex(space, index, shape, begin, end)});
      return;
    }
    for (unsigned d = begin; d < end; ++d)
      mapped.groups.push_back({1, from[d], rangeIndex(space, index, shape, d, d + 1)});
  };
  keep(0, dim, 0);
  mapped.groups.push_back({1, from[dim], chosen});
  keep(dim + indexRank, rank, dim + 1);
  if (from[dim] != 1 || !ir::checksIndex(gather))
    return std::nullopt;
  // The table has one element along the dimension, so the load does not depend on the index. Keep the index
  // as a dependency, because it must still be checked.
  node.kind = BodyNode::padded;
  for (int64_t lane = 0; lane < (perLane ? space.lanes : 1); ++lane)
    node.deps.push_back(perLane ? chosenIndex(gather, atLane(which, lane)) : checked);
  node.index = std::move(mapped);
  return intern(std::move(node), {keyOf(value), internIndex(index)});
}

int BodyGraph::requestComputed(Operation *op, Value value, const TensorIndex &index) {
  BodyNode node;
  node.op = op;
  node.value = value;
  if (isa<ir::UndefOp>(op)) {
    node.kind = BodyNode::zero;
    return intern(std::move(node), {keyOf(value)});
  }
  if (isa<ir::ConstantOp>(op)) {
    node.kind = BodyNode::constant;
    if (!isa<SplatElementsAttr>(op->getAttr("value")) && status.ok())
      status = Status::error("fusion holds a weft.constant that is no splat; it must be an operand");
    return intern(std::move(node), {keyOf(value)});
  }
  if (auto iota = dyn_cast<ir::IotaOp>(op)) {
    node.kind = BodyNode::iota;
    auto dim = static_cast<unsigned>(iota.getDim());
    node.expr = rangeIndex(space, index, sizesOf(value), dim, dim + 1);
    return leaf(std::move(node));
  }
  if (auto dim = dyn_cast<ir::DimOp>(op)) {
    node.kind = BodyNode::iota;
    node.expr = IndexExpr(dim.getSize());
    return leaf(std::move(node));
  }
  if (auto philox = dyn_cast<ir::RngBitsPhiloxOp>(op)) {
    if (value == philox.getNext()) {
      node.kind = BodyNode::philoxNext;
      return intern(std::move(node), {keyOf(value)});
    }
    node.kind = BodyNode::philox;
    node.expr = linearIndex(space, index);
    return leaf(std::move(node));
  }
  if (ir::isReductionOp(op) || ir::isScanOp(op)) {
    if (!(linearIndex(space, index) == keptIndex) && status.ok())
      status = Status::error("fusion reads the result of '" + op->getName().getStringRef().str() +
                             "' at another index than the one being computed; it must be cut there");
    node.kind = BodyNode::reduction;
    node.expr = keptIndex;
    return intern(std::move(node), {keyOf(value)});
  }
  if (!isa<ir::ElementwiseOp>(op)) {
    if (status.ok())
      status = Status::error("'" + op->getName().getStringRef().str() + "' cannot be in a kernel");
    node.kind = BodyNode::zero;
    return intern(std::move(node), {keyOf(value)});
  }
  node.kind = BodyNode::elementwise;
  int indexId = internIndex(index);
  int id = intern(std::move(node), {keyOf(value), indexId});
  nodeIndex[id] = indexId;
  return id;
}

Status BodyGraph::expand() {
  for (; expanded < nodes.size(); ++expanded)
    expandNode(static_cast<int>(expanded));
  if (!status.ok())
    return status;
  std::vector<int> all(nodes.size());
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<int>(i);
  for (int id : ordered(all)) {
    BodyNode &node = nodes[id];
    node.vector = node.kind == BodyNode::lanes || space.dependsOnLane(node.expr);
    for (const auto &bound : node.bounds)
      node.vector |= space.dependsOnLane(bound.expr);
    if (node.kind == BodyNode::checkedIndex || node.kind == BodyNode::philoxNext)
      node.vector = false;
    else
      for (int dep : node.deps)
        node.vector |= nodes[dep].vector;
  }
  return status;
}

void BodyGraph::addExprDeps(const IndexExpr &e, SmallVectorImpl<int> &deps) const {
  SmallVector<const IndexExpr *> todo{&e};
  while (!todo.empty()) {
    for (auto [id, coefficient] : todo.pop_back_val()->terms) {
      const IndexVar &var = space.var(id);
      if (var.kind == IndexVar::gathered)
        deps.push_back(var.node);
      else if (var.kind != IndexVar::loop)
        todo.push_back(&var.of);
    }
  }
}

void BodyGraph::expandNode(int id) {
  // `request` adds nodes, which invalidates references into the vector.
  BodyNode::Kind kind = nodes[id].kind;
  Operation *op = nodes[id].op;
  SmallVector<int, 4> deps = nodes[id].deps;
  if (kind == BodyNode::elementwise) {
    TensorIndex index = indices[nodeIndex[id]];
    for (Value operand : op->getOperands())
      deps.push_back(request(operand, index));
  } else if (kind == BodyNode::philox || kind == BodyNode::philoxNext) {
    deps.push_back(request(op->getOperand(0), {}));
    deps.push_back(request(op->getOperand(1), {}));
  } else if (kind == BodyNode::checkedIndex) {
    TensorIndex index = nodes[id].index;
    deps.push_back(request(ir::indexOperandOf(op).get(), index));
  } else if (kind == BodyNode::windowStart) {
    deps.push_back(request(op->getOperand(nodes[id].argument), {}));
  } else if (kind == BodyNode::padded) {
    TensorIndex index = nodes[id].index;
    int other = nodes[id].other;
    SmallVector<int, 2> values{request(op->getOperand(nodes[id].argument), index)};
    if (nodes[id].otherwise)
      values.push_back(other >= 0 ? other : request(op->getOperand(1), {}));
    deps.insert(deps.begin(), values.begin(), values.end());
  }
  addExprDeps(nodes[id].expr, deps);
  for (const auto &bound : nodes[id].bounds) {
    // If the bound is computed lane by lane, depend on the expressions of the lanes and not on `expr`.
    if (bound.perLane.empty())
      addExprDeps(bound.expr, deps);
    for (const IndexExpr &e : bound.perLane)
      addExprDeps(e, deps);
  }
  nodes[id].deps = std::move(deps);
}

SmallVector<int> BodyGraph::nodesOf(Value value) const {
  SmallVector<int> found;
  for (auto [id, node] : llvm::enumerate(nodes))
    if (node.value == value && (node.kind == BodyNode::elementwise || node.kind == BodyNode::reduction))
      found.push_back(static_cast<int>(id));
  return found;
}

std::vector<int> BodyGraph::ordered(ArrayRef<int> roots) const {
  std::vector<int> order;
  std::vector<uint8_t> state(nodes.size()); // 1: entered, 2: done
  std::vector<std::pair<int, size_t>> stack;
  for (int root : roots) {
    if (state[root])
      continue;
    stack.push_back({root, 0});
    state[root] = 1;
    while (!stack.empty()) {
      auto &[id, next] = stack.back();
      if (next < nodes[id].deps.size()) {
        int dep = nodes[id].deps[next++];
        if (!state[dep]) {
          state[dep] = 1;
          stack.push_back({dep, 0});
        }
        continue;
      }
      order.push_back(id);
      stack.pop_back();
    }
  }
  return order;
}

int64_t BodyGraph::countLaneReads(ArrayRef<int> roots) const {
  int64_t count = 0;
  auto isApart = [&](ir::Size stride) {
    const int64_t distance = std::abs(stride.number().value_or(INT64_MAX));
    return distance > (crosses ? maxLaneStride : 1);
  };
  for (int id : ordered(roots)) {
    const BodyNode &node = nodes[id];
    count += node.kind == BodyNode::lanes || (node.kind == BodyNode::load && isApart(node.expr.lane));
    for (const auto &bound : node.bounds)
      count += !bound.perLane.empty();
  }
  return count;
}

int64_t BodyGraph::countDivisions(ArrayRef<int> roots, VarId var) const {
  std::vector<uint8_t> counted(space.numVars());
  int64_t count = 0;
  auto dependsOn = [&](VarId id) {
    SmallVector<VarId> todo{id};
    while (!todo.empty()) {
      VarId next = todo.pop_back_val();
      if (next == var)
        return true;
      for (auto [inner, coefficient] : space.var(next).of.terms)
        todo.push_back(inner);
    }
    return false;
  };
  for (int id : ordered(roots))
    for (auto [used, coefficient] : nodes[id].expr.terms) {
      IndexVar::Kind kind = space.var(used).kind;
      if ((kind != IndexVar::quotient && kind != IndexVar::remainder) || counted[used])
        continue;
      counted[used] = 1;
      count += dependsOn(used);
    }
  return count;
}

} // namespace weft::codegen
