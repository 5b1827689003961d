//===- BodyEmitter.cpp - Nodes of a body as kernel IR ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/KernelBuilder.h"

#include "ir/Schedule.h"
#include "ir/Updates.h"

using namespace mlir;
namespace weft::codegen {

BodyEmitter::BodyEmitter(KernelBuilder &kernel, BodyGraph &graph)
    : kernel(kernel), graph(graph), space(graph.space) {
  kernel.addEmitter(this);
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

void BodyEmitter::dropScope(unsigned depth) {
  auto drop = [&](auto &known) {
    for (auto it = known.begin(); it != known.end();) {
      auto next = std::next(it);
      if (it->second.depth >= depth)
        known.erase(it);
      it = next;
    }
  };
  drop(nodeValues);
  drop(varValues);
  drop(exprValues);
}

void BodyEmitter::setVar(VarId var, Value value) {
  varValues.insert_or_assign(var, Known<Value>{value, kernel.depth()});
}

void BodyEmitter::setNode(int node, Value value) {
  nodeValues.insert_or_assign(node, Known<Value>{value, kernel.depth()});
}

unsigned BodyEmitter::depthOfVar(VarId id) const {
  const IndexVar &var = space.var(id);
  if (var.kind == IndexVar::loop) {
    auto known = varValues.find(id);
    assert(known != varValues.end() && "a loop variable is used outside of its loop");
    return known->second.depth;
  }
  return var.kind == IndexVar::gathered ? nodeValues.find(var.node)->second.depth : depthOf(var.of);
}

unsigned BodyEmitter::depthOf(const IndexExpr &e) const {
  unsigned depth = 0;
  for (auto [id, coefficient] : e.terms)
    depth = std::max(depth, depthOfVar(id));
  return depth;
}

unsigned BodyEmitter::depthOf(const BodyNode &node) const {
  unsigned depth = node.kind == BodyNode::lanes ? 0 : depthOf(node.expr);
  for (int dep : node.deps)
    depth = std::max(depth, nodeValues.find(dep)->second.depth);
  for (const auto &bound : node.bounds) {
    if (bound.perLane.empty())
      depth = std::max(depth, depthOf(bound.expr));
    for (const IndexExpr &e : bound.perLane)
      depth = std::max(depth, depthOf(e));
  }
  return depth;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

Value BodyEmitter::emitVar(VarId id) {
  auto known = varValues.find(id);
  if (known != varValues.end())
    return known->second.value;
  IndexVar var = space.var(id);
  if (var.kind == IndexVar::gathered) {
    Value chosen = nodeValues.find(var.node)->second.value;
    const bool isVector = var.lane >= 0 && isa<VectorType>(chosen.getType());
    return isVector ? kernel.create<vector::ExtractOp>(chosen, var.lane).getResult() : chosen;
  }
  unsigned depth = depthOf(var.of);
  Value of = emitExpr(var.of);
  OpBuilder::InsertionGuard guard(kernel.builder);
  kernel.moveTo(depth);
  Value value;
  if (var.kind == IndexVar::quotient) {
    value = kernel.create<arith::DivUIOp>(of, kernel.index(var.by));
  } else if (var.kind == IndexVar::remainder) {
    value = kernel.create<arith::RemUIOp>(of, kernel.index(var.by));
  } else {
    value = kernel.create<arith::MaxSIOp>(of, kernel.index(0));
    value = kernel.minimum(value, kernel.index(var.by - 1));
  }
  varValues.insert_or_assign(id, Known<Value>{value, depth});
  return value;
}

/// The expression in lane 0. Terms are added from the outermost scope inward.
Value BodyEmitter::emitExpr(const IndexExpr &e) {
  std::vector<int64_t> key;
  e.append(key);
  auto known = exprValues.find(key);
  if (known != exprValues.end())
    return known->second.value;
  SmallVector<std::pair<unsigned, size_t>> order;
  for (auto [i, term] : llvm::enumerate(e.terms))
    order.push_back({depthOfVar(term.first), i});
  llvm::sort(order);
  Value sum;
  unsigned depth = 0;
  for (auto [termDepth, i] : order) {
    Value value = emitVar(e.terms[i].first);
    depth = termDepth;
    OpBuilder::InsertionGuard guard(kernel.builder);
    kernel.moveTo(depth);
    if (!sum && e.constant != 0) {
      // Add the constant to the outermost term, outside of the inner loops.
      sum = kernel.addIndex(kernel.mul(value, e.terms[i].second), e.constant);
      continue;
    }
    value = kernel.mul(value, e.terms[i].second);
    sum = sum ? kernel.add(sum, value) : value;
  }
  if (!sum) {
    OpBuilder::InsertionGuard guard(kernel.builder);
    kernel.moveTo(0);
    sum = kernel.index(e.constant);
  }
  exprValues.insert_or_assign(std::move(key), Known<Value>{sum, depth});
  return sum;
}

Value BodyEmitter::toVector(Value value) {
  if (space.lanes == 1 || isa<VectorType>(value.getType()))
    return value;
  return kernel.create<vector::BroadcastOp>(VectorType::get({space.lanes}, value.getType()), value);
}

/// The value of an expression in every lane, as a vector of `element`; a scalar if all lanes are equal.
Value BodyEmitter::laneVector(const IndexExpr &e, Type element) {
  Value base = emitExpr(e);
  if (!element.isIndex()) {
    base = kernel.create<arith::IndexCastOp>(element, base);
  }
  if (e.lane == 0)
    return base;
  auto type = VectorType::get({space.lanes}, element);
  SmallVector<Attribute> steps;
  int64_t stride = e.lane.number().value_or(1);
  for (int64_t lane = 0; lane < space.lanes; ++lane)
    steps.push_back(element.isIndex()
                        ? Attribute(kernel.builder.getIndexAttr(lane * stride))
                        : Attribute(IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(),
                                                                    static_cast<uint64_t>(lane * stride)))));
  Value offsets = kernel.create<arith::ConstantOp>(DenseElementsAttr::get(type, steps));
  if (!e.lane.isNumber()) {
    Value factor = kernel.index(e.lane);
    if (!element.isIndex())
      factor = kernel.create<arith::IndexCastOp>(element, factor);
    offsets = kernel.create<arith::MulIOp>(offsets, kernel.create<vector::BroadcastOp>(type, factor));
  }
  return kernel.add(kernel.create<vector::BroadcastOp>(type, base), offsets);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static bool isNear(ir::Size stride) { return std::abs(stride.number().value_or(INT64_MAX)) <= maxLaneStride; }

/// Lanes that are `address.lane` elements apart, from the vectors of neighbouring elements that hold them.
/// The last vector ends with the last of them, so that nothing behind it is read. `bound`: only elements for
/// which it holds are read; its expression has the stride of the address.
Value BodyEmitter::loadApart(Value buffer, const IndexExpr &address, Type element,
                             const BodyNode::Bound *bound) {
  auto type = VectorType::get({space.lanes}, KernelBuilder::memoryType(element));
  const int64_t stride = address.lane.asNumber(), last = (space.lanes - 1) * std::abs(stride);
  Value first = kernel.addIndex(emitExpr(address), stride < 0 ? -last : 0);
  SmallVector<int64_t> left; // the elements of the lanes, counted from `first`
  for (int64_t lane = 0; lane < space.lanes; ++lane)
    left.push_back(lane * stride + (stride < 0 ? last : 0));
  Value low = bound ? emitExpr(bound->expr) : Value(), all;
  std::optional<NumberRange> numbers = bound ? rangeOfFirst(bound->expr, last) : std::nullopt;
  for (int64_t begin = 0; begin <= last; begin += space.lanes) {
    const int64_t start = std::min(begin, last - space.lanes + 1);
    Value at = kernel.addIndex(first, start), part;
    if (bound)
      part = loadWithin(buffer, at, kernel.addIndex(low, start),
                        numbers ? std::optional(numbers->plus(start)) : std::nullopt, bound->extent, type);
    else
      part = kernel.create<vector::LoadOp>(type, buffer, ValueRange{at});
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < space.lanes; ++lane) {
      const bool here = left[lane] >= start && left[lane] < start + space.lanes && left[lane] >= begin;
      order.push_back(!all ? (here ? left[lane] : 0) : here ? space.lanes + left[lane] - start : lane);
    }
    const bool inOrder = !all && llvm::equal(order, llvm::seq<int64_t>(0, space.lanes));
    all = inOrder ? part : kernel.create<vector::ShuffleOp>(all ? all : part, part, order).getResult();
  }
  return fromMemory(all, element);
}

/// The values that `e` has in lane 0, if they are known and fit into 32 bits. It rises by `last` from the
/// first lane to the last.
std::optional<BodyEmitter::NumberRange> BodyEmitter::rangeOfFirst(const IndexExpr &e, int64_t last) const {
  constexpr int64_t most = 1 << 30;
  ir::Size low, high;
  if (!space.rangeOf(e, low, high) || !low.isNumber() || !high.isNumber() || low.asNumber() < -most ||
      high.asNumber() > most)
    return std::nullopt;
  return NumberRange{low.asNumber(), high.asNumber() - last};
}

/// Neighbouring elements from `at` on; only those are read whose numbers, from `number` on, are in [0,
/// extent). `numbers`: what `number` may be.
Value BodyEmitter::loadWithin(Value buffer, Value at, Value number, std::optional<NumberRange> numbers,
                              ir::Size extent, VectorType type) {
  const bool mayPrecede = !numbers || numbers->low < 0,
             mayExceed = !numbers || !extent.isNumber() || numbers->high + space.lanes > extent.asNumber();
  if (!mayPrecede && !mayExceed)
    return kernel.create<vector::LoadOp>(type, buffer, ValueRange{at});
  Type i32 = kernel.builder.getI32Type();
  const bool fits = numbers && extent.number().value_or(INT64_MAX) < 1 << 30;
  auto lane = [&](Value limit) -> Value { // clamped, if it may not fit
    if (!fits) {
      limit = kernel.create<arith::MaxSIOp>(limit, kernel.index(0));
      limit = kernel.minimum(limit, kernel.index(space.lanes));
    }
    limit = kernel.create<arith::IndexCastOp>(i32, limit);
    return kernel.create<vector::BroadcastOp>(VectorType::get({space.lanes}, i32), limit);
  };
  auto order = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(space.lanes)));
  Value lanes =
      kernel.create<arith::ConstantOp>(DenseIntElementsAttr::get(VectorType::get({space.lanes}, i32), order));
  Value mask;
  if (mayPrecede)
    mask = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::sge, lanes,
                                        lane(kernel.create<arith::SubIOp>(kernel.index(0), number)));
  if (mayExceed) {
    Value below = kernel.create<arith::CmpIOp>(
        arith::CmpIPredicate::slt, lanes, lane(kernel.create<arith::SubIOp>(kernel.index(extent), number)));
    mask = mask ? kernel.create<arith::AndIOp>(mask, below).getResult() : below;
  }
  Value zeros = kernel.create<arith::ConstantOp>(cast<TypedAttr>(kernel.builder.getZeroAttr(type)));
  return kernel.create<vector::MaskedLoadOp>(type, buffer, ValueRange{at}, mask, zeros);
}

Value BodyEmitter::load(Value buffer, const IndexExpr &address, Type element) {
  Type memory = KernelBuilder::memoryType(element);
  Value value;
  if (address.lane == 0) {
    value = kernel.create<memref::LoadOp>(buffer, ValueRange{emitExpr(address)});
  } else if (address.lane == 1) {
    value = kernel.create<vector::LoadOp>(VectorType::get({space.lanes}, memory), buffer,
                                          ValueRange{emitExpr(address)});
  } else if (address.lane == -1 || (graph.crossesLanes() && isNear(address.lane))) {
    return loadApart(buffer, address, element, nullptr);
  } else {
    Value base = emitExpr(address);
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < space.lanes; ++lane)
      lanes.push_back(
          kernel.create<memref::LoadOp>(buffer, ValueRange{kernel.addIndex(base, lane * address.lane)}));
    value = kernel.create<vector::FromElementsOp>(VectorType::get({space.lanes}, memory), lanes);
  }
  return fromMemory(value, element);
}

Value BodyEmitter::loadVector(Value buffer, Value position, Type element) {
  if (space.lanes == 1)
    return fromMemory(kernel.create<memref::LoadOp>(buffer, ValueRange{position}), element);
  auto type = VectorType::get({space.lanes}, KernelBuilder::memoryType(element));
  return fromMemory(kernel.create<vector::LoadOp>(type, buffer, ValueRange{position}), element);
}

void BodyEmitter::prefetch(ArrayRef<int> roots, llvm::function_ref<int64_t(const BodyNode &)> advance) {
  // Smaller operands are in a core's cache already, or are prefetched by the hardware.
  constexpr int64_t large = 1 << 20;
  for (int id : graph.ordered(roots)) {
    const BodyNode &node = graph.node(id);
    if (node.kind != BodyNode::load || node.expr.lane != 1)
      continue;
    int64_t distance = advance(node);
    // If the size is dynamic, do not prefetch.
    if (distance == 0 || ir::bytesOf(node.value.getType()).number().value_or(0) < large)
      continue;
    // The address may lie behind the end of the buffer; prefetching it does not fault.
    Value at = kernel.addIndex(emitExpr(node.expr), distance);
    kernel.create<memref::PrefetchOp>(kernel.operand(node.argument), ValueRange{at}, /*isWrite=*/false,
                                      /*localityHint=*/3, /*isDataCache=*/true);
  }
}

/// Converts a bool's byte to i1; every value but 0 is true.
Value BodyEmitter::fromMemory(Value value, Type element) {
  if (!element.isInteger(1))
    return value;
  ir::ScalarEmitter k(kernel.builder, kernel.loc, kernel.fusion);
  return kernel.create<arith::CmpIOp>(arith::CmpIPredicate::ne, value, k.zeroLike(value));
}

void BodyEmitter::store(Value buffer, const IndexExpr &address, Value value, bool streaming) {
  if (getElementTypeOrSelf(value.getType()).isInteger(1))
    value =
        kernel.create<arith::ExtUIOp>(ir::withElement(value.getType(), kernel.builder.getI8Type()), value);
  if (address.lane == 0) {
    kernel.create<memref::StoreOp>(value, buffer, ValueRange{emitExpr(address)});
    return;
  }
  value = toVector(value);
  if (address.lane != 1) {
    Value base = emitExpr(address);
    for (int64_t lane = 0; lane < space.lanes; ++lane)
      kernel.create<memref::StoreOp>(kernel.create<vector::ExtractOp>(value, lane), buffer,
                                     ValueRange{kernel.addIndex(base, lane * address.lane)});
    return;
  }
  if (streaming) {
    Value slot = kernel.create<arith::DivUIOp>(emitExpr(address), kernel.index(space.lanes));
    kernel.create<memref::StoreOp>(value, buffer, ValueRange{slot}, /*nontemporal=*/true);
    return;
  }
  kernel.create<vector::StoreOp>(value, buffer, ValueRange{emitExpr(address)});
}

void BodyEmitter::storeResults(ArrayRef<Value> values, const IndexExpr &address, ArrayRef<Value> streams) {
  for (auto [i, value] : llvm::enumerate(values)) {
    if (!value)
      continue;
    bool stream = address.lane != 0 && !streams.empty() && streams[i];
    store(stream ? streams[i] : kernel.result(static_cast<unsigned>(i)), address, value, stream);
  }
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Value BodyEmitter::emitVector(int node) { return toVector(emit(node)); }

Value BodyEmitter::emit(int root) {
  // Post-order over the nodes that have no value yet.
  SmallVector<std::pair<int, size_t>> stack;
  auto enter = [&](int id) {
    if (!nodeValues.count(id))
      stack.push_back({id, 0});
  };
  enter(root);
  while (!stack.empty()) {
    auto [id, next] = stack.back();
    if (nodeValues.count(id)) {
      stack.pop_back();
      continue;
    }
    const BodyNode &node = graph.node(id);
    if (next < node.deps.size()) {
      ++stack.back().second;
      enter(node.deps[next]);
      continue;
    }
    unsigned depth = depthOf(node);
    OpBuilder::InsertionGuard guard(kernel.builder);
    kernel.moveTo(depth);
    Value value = emitNode(node);
    nodeValues.insert_or_assign(id, Known<Value>{value, depth});
    stack.pop_back();
  }
  return nodeValues.find(root)->second.value;
}

Value BodyEmitter::emitNode(const BodyNode &node) {
  Type element = node.value ? getElementTypeOrSelf(node.value.getType()) : Type();
  switch (node.kind) {
  case BodyNode::load:
    return emitLoad(node, element);
  case BodyNode::elementwise:
    return emitElementwise(node);
  case BodyNode::constant: {
    auto splat = cast<SplatElementsAttr>(node.op->getAttr("value"));
    Attribute value = splat.getSplatValue<Attribute>();
    Type scalar = ir::toScalarType(element);
    if (auto integer = dyn_cast<IntegerAttr>(value))
      value = IntegerAttr::get(scalar, integer.getValue());
    return kernel.create<arith::ConstantOp>(cast<TypedAttr>(value));
  }
  case BodyNode::zero:
    return kernel.create<arith::ConstantOp>(
        cast<TypedAttr>(kernel.builder.getZeroAttr(ir::toScalarType(element))));
  case BodyNode::iota:
    return laneVector(node.expr, ir::toScalarType(element));
  case BodyNode::philox:
    return emitPhilox(node);
  case BodyNode::philoxNext: {
    auto op = cast<ir::RngBitsPhiloxOp>(node.op);
    ir::Size blocks = ir::ceilDiv(ir::productOf(op.getShape()), 4);
    Value count = kernel.integer(blocks);
    return kernel.add(nodeValues.find(node.deps[1])->second.value, count);
  }
  case BodyNode::padded:
    return emitPadded(node);
  case BodyNode::checkedIndex:
    return emitCheckedIndex(node);
  case BodyNode::windowStart: {
    Value start = nodeValues.find(node.deps[0])->second.value;
    start = kernel.create<arith::MaxSIOp>(start, kernel.create<arith::ConstantIntOp>(0, 64));
    start = kernel.minimum(start, kernel.integer(node.limit));
    return kernel.create<arith::IndexCastOp>(kernel.builder.getIndexType(), start);
  }
  case BodyNode::reduction:
    llvm_unreachable("the schedule gives reductions their values before they are read");
  case BodyNode::lanes: {
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < space.lanes; ++lane)
      lanes.push_back(nodeValues.find(node.deps[lane])->second.value);
    return kernel.create<vector::FromElementsOp>(VectorType::get({space.lanes}, lanes[0].getType()), lanes);
  }
  }
  llvm_unreachable("every kind is handled");
}

Value BodyEmitter::loadOf(const BodyNode &node, Type element) {
  Value buffer = kernel.operand(node.argument);
  return node.bounds.empty() ? load(buffer, node.expr, element)
                             : loadApart(buffer, node.expr, element, &node.bounds.front());
}

/// If the tensor may be empty in this call, the load is guarded, because pads and joins read before they
/// check their bounds.
Value BodyEmitter::emitLoad(const BodyNode &node, Type element) {
  ir::Size count = ir::elementsOf(node.value.getType());
  if (count.isNumber() || kernel.ranges.isAtLeast(count, 1) || !graph.hasBounds())
    return loadOf(node, element);
  // Here, so that the address is computed in its own scope and not in the branch.
  emitExpr(node.expr);
  for (const BodyNode::Bound &bound : node.bounds)
    emitExpr(bound.expr);
  Type type = ir::toScalarType(element);
  if (node.expr.lane != 0)
    type = VectorType::get({space.lanes}, type);
  Value some = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::ne, kernel.index(count), kernel.index(0));
  auto branch = kernel.create<scf::IfOp>(type, some, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(kernel.builder);
  kernel.builder.setInsertionPointToStart(branch.thenBlock());
  kernel.create<scf::YieldOp>(loadOf(node, element));
  kernel.builder.setInsertionPointToStart(branch.elseBlock());
  kernel.create<scf::YieldOp>(
      kernel.create<arith::ConstantOp>(cast<TypedAttr>(kernel.builder.getZeroAttr(type))).getResult());
  return branch.getResult(0);
}

Value BodyEmitter::emitElementwise(const BodyNode &node) {
  SmallVector<Value> operands;
  for (unsigned i = 0; i < node.op->getNumOperands(); ++i) {
    Value value = nodeValues.find(node.deps[i])->second.value;
    operands.push_back(node.vector ? toVector(value) : value);
  }
  ir::ScalarEmitter k(kernel.builder, node.op->getLoc(), node.op);
  auto op = cast<ir::ElementwiseOp>(node.op);
  // f16 and bf16 ops are computed in f32 and rounded once, however many operations their scalar code has.
  auto isHalf = [](Type type) {
    return getElementTypeOrSelf(type).isF16() || getElementTypeOrSelf(type).isBF16();
  };
  if (isa<ir::ConvertOp, ir::SelectOp>(node.op) || !isHalf(operands[0].getType()))
    return op.emitScalar(k, operands);
  Type narrow = operands[0].getType();
  for (Value &operand : operands)
    operand = kernel.create<arith::ExtFOp>(ir::withElement(operand.getType(), kernel.builder.getF32Type()),
                                           operand);
  Value result = op.emitScalar(k, operands);
  if (!isHalf(node.op->getResult(0).getType()))
    return result;
  return kernel.create<arith::TruncFOp>(ir::withElement(result.getType(), getElementTypeOrSelf(narrow)),
                                        result);
}

/// The type in which a bound is compared. On a CPU, 32 bits suffice for most indices, and a vector of them is
/// one register.
Type BodyEmitter::boundType(const BodyNode::Bound &bound) {
  constexpr int64_t most = 1 << 30;
  ir::Size low, high;
  const int64_t extent = (bound.extent * bound.stride).number().value_or(most);
  const bool isNarrow = graph.crossesLanes() && bound.expr.lane != 0 && bound.expr.lane.isNumber() &&
                        extent < most && space.rangeOf(bound.expr, low, high) && low.isNumber() &&
                        high.isNumber() && low.asNumber() > -most && high.asNumber() < most;
  return isNarrow ? Type(kernel.builder.getI32Type()) : Type(kernel.builder.getIndexType());
}

Value BodyEmitter::emitPadded(const BodyNode &node) {
  Value inside;
  for (const auto &bound : node.bounds) {
    Value at;
    if (!bound.perLane.empty()) {
      SmallVector<Value> lanes;
      for (const IndexExpr &e : bound.perLane)
        lanes.push_back(emitExpr(e));
      at = kernel.create<vector::FromElementsOp>(
          VectorType::get({space.lanes}, kernel.builder.getIndexType()), lanes);
    } else {
      at = laneVector(bound.expr, boundType(bound));
    }
    auto constant = [&](ir::Size value) -> Value {
      Value scalar = kernel.index(value);
      if (Type type = getElementTypeOrSelf(at.getType()); !type.isIndex())
        scalar = kernel.create<arith::IndexCastOp>(type, scalar);
      return isa<VectorType>(at.getType()) ? toVector(scalar) : scalar;
    };
    // One unsigned comparison excludes both negative and too large values.
    Value ok = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::ult, at,
                                            constant((bound.extent - 1) * bound.stride + 1));
    if (bound.stride > 1) {
      Value rest = kernel.create<arith::RemSIOp>(at, constant(bound.stride));
      Value hit = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, rest, constant(0));
      ok = kernel.create<arith::AndIOp>(ok, hit);
    }
    if (inside && inside.getType() != ok.getType()) {
      inside = toVector(inside);
      ok = toVector(ok);
    }
    inside = inside ? kernel.create<arith::AndIOp>(inside, ok).getResult() : ok;
  }
  Value value = nodeValues.find(node.deps[0])->second.value;
  if (!inside)
    return value;
  if (node.vector) {
    value = toVector(value);
    inside = toVector(inside);
  }
  ir::ScalarEmitter k(kernel.builder, kernel.loc, node.op);
  if (!node.otherwise)
    return k.select(inside, value, k.zeroLike(value));
  Value other = nodeValues.find(node.deps[1])->second.value;
  return k.select(inside, value, node.vector ? toVector(other) : other);
}

Value BodyEmitter::emitCheckedIndex(const BodyNode &node) {
  ir::Size size = ir::indexedSize(node.op);
  Value given = nodeValues.find(node.deps[0])->second.value;
  Type i64 = kernel.builder.getI64Type(), wide = ir::withElement(given.getType(), i64);
  if (given.getType() != wide)
    given = kernel.create<arith::ExtSIOp>(wide, given);
  if (!ir::checksIndex(node.op)) {
    auto like = [&](Value scalar) { return isa<VectorType>(wide) ? toVector(scalar) : scalar; };
    Value low = kernel.create<arith::MaxSIOp>(given, like(kernel.create<arith::ConstantIntOp>(0, 64)));
    Value high = kernel.integer(size == 0 ? size : size - 1);
    if (!size.isNumber()) // if the size may be 0
      high = kernel.create<arith::MaxSIOp>(high, kernel.create<arith::ConstantIntOp>(0, 64));
    return kernel.create<arith::IndexCastOp>(ir::withElement(wide, kernel.builder.getIndexType()),
                                             kernel.minimum(low, like(high)));
  }
  Value position = kernel.create<arith::IndexCastOp>(i64, emitExpr(node.expr));
  Value limit = kernel.integer(size);
  Value outside = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::uge, given, limit);
  auto report = kernel.create<scf::IfOp>(outside, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(kernel.builder);
    kernel.builder.setInsertionPointToStart(report.thenBlock());
    kernel.mapping.fail(kernel, kernel.checkOf(node.op), position, given);
  }
  Value zero = kernel.create<arith::ConstantIntOp>(0, 64);
  Value safe = kernel.create<arith::SelectOp>(outside, zero, given);
  return kernel.create<arith::IndexCastOp>(kernel.builder.getIndexType(), safe);
}

} // namespace weft::codegen
