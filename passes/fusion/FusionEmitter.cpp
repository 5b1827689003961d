//===- FusionEmitter.cpp - Makes weft.fusion ops from groups --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/fusion/FusionEmitter.h"

#include "ir/Schedule.h"
#include "ir/Updates.h"

#include "llvm/ADT/SetVector.h"
#include <queue>

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {

namespace {

/// Maps values of the old function to the values in memory that replace them.
class StoredValues {
public:
  explicit StoredValues(OpBuilder &builder) : builder(builder) {}
  void set(Value before, Value now) { stored[before] = now; }
  Value lookup(Value before) {
    auto it = stored.find(before);
    return it == stored.end() ? before : it->second;
  }
  /// The value that replaces `before`, reshaped to `shape`.
  Value get(Value before, ArrayRef<Size> shape, Location loc) {
    Value now = lookup(before);
    if (sizesOf(typeOf(now)) == shape)
      return now;
    Value &reshaped = reshapes[{now, withShape(typeOf(now), shape)}];
    if (!reshaped)
      reshaped = builder.create<ReshapeOp>(loc, now, shape);
    return reshaped;
  }

private:
  OpBuilder &builder;
  llvm::DenseMap<Value, Value> stored;
  llvm::DenseMap<std::pair<Value, Type>, Value> reshapes;
};

/// Builds one fusion.
class GroupEmitter {
public:
  GroupEmitter(FusionGraph &graph, unsigned id, StoredValues &stored, OpBuilder &builder)
      : graph(graph), id(id), group(graph.getGroups()[id]), stored(stored), builder(builder),
        body(builder.getContext()) {}

  void run();

private:
  /// Whether the value is computed by a node of this group.
  bool isOurs(Value value) const {
    return graph.groupOf(value) == static_cast<int64_t>(id) && !viewOnly(value);
  }
  /// Whether the value is a view that has no node, because no kernel writes it to memory.
  bool viewOnly(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && FusionGraph::isView(op) && !graph.isNode(op);
  }
  bool isInlined(Value value) const {
    int64_t maker = graph.groupOf(value);
    return maker >= 0 && graph.getGroups()[maker].inlined;
  }
  void collect(Value value);
  void collectOperands(Operation *op);
  Value input(Value source, ArrayRef<Size> shape);
  Value native(Value value);
  Value read(OpOperand &operand, Place place);
  Value reshaped(Value value, ArrayRef<Size> shape, Location loc);
  void emitNode(Operation *op, Place place);
  void emitForeign(Operation *op);
  ArrayRef<Size> shapeAt(Place place) const {
    return place == Place::domain ? ArrayRef(group.domain) : ArrayRef(keptShape);
  }

  FusionGraph &graph;
  unsigned id;
  const FusionGroup &group;
  const SmallVector<Size> keptShape = group.keptShape();
  StoredValues &stored;
  OpBuilder &builder;
  OpBuilder body;
  Block *block = nullptr;
  SmallVector<Value> inputs;
  llvm::DenseMap<Value, Value> argumentOf; ///< block arguments, by the value in memory that they read
  llvm::DenseMap<Value, Value> computed;   ///< values of this group, in the shape of their place
  llvm::DenseMap<Value, Value> foreign;    ///< views and values of inlined groups, in their own shape
  llvm::DenseMap<std::pair<Value, Type>, Value> reshapes, spreads;
  llvm::SetVector<Operation *> needed;
};

} // namespace

void GroupEmitter::collectOperands(Operation *op) {
  for (Value operand : op->getOperands())
    collect(operand);
}

/// Adds the views, and the ops of inlined groups, that the body needs to compute `first` to `needed`.
void GroupEmitter::collect(Value first) {
  SmallVector<Value> work{first};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || needed.contains(op))
      continue;
    ReadPath path = graph.pathOf(value);
    if (path.source && path.kind == ReadKind::same && !isInlined(path.source))
      continue; // an argument of the body, or a value of this group
    bool foreignNode = path.source == value;
    if (path.source && path.kind == ReadKind::broadcast && isOurs(path.source) && op == path.broadcast)
      continue; // read() makes the broadcast of a value of this group
    if (!foreignNode && !FusionGraph::isView(op))
      continue;
    needed.insert(op);
    llvm::append_range(work, op->getOperands());
  }
}

Value GroupEmitter::input(Value source, ArrayRef<Size> shape) {
  Value now = stored.get(source, shape, source.getLoc());
  Value &argument = argumentOf[now];
  if (!argument) {
    argument = block->addArgument(now.getType(), now.getLoc());
    inputs.push_back(now);
  }
  return argument;
}

Value GroupEmitter::reshaped(Value value, ArrayRef<Size> shape, Location loc) {
  if (sizesOf(typeOf(value)) == shape)
    return value;
  Value &result = reshapes[{value, withShape(typeOf(value), shape)}];
  if (!result)
    result = body.create<ReshapeOp>(loc, value, shape);
  return result;
}

/// A value in the body, in the shape that it has in the function.
Value GroupEmitter::native(Value value) {
  if (Value found = foreign.lookup(value))
    return found;
  ArrayRef<Size> shape = sizesOf(typeOf(value));
  ReadPath path = graph.pathOf(value);
  if (path.source && path.kind == ReadKind::same) {
    if (Value ours = computed.lookup(path.source))
      return reshaped(ours, shape, value.getLoc());
    return input(path.source, shape);
  }
  // A broadcast of a value of this group, which collect() has left out.
  return body.create<BroadcastInDimOp>(value.getLoc(), native(path.broadcast.getA()),
                                       path.broadcast.getDims(), path.broadcast.getShape());
}

/// The operand of a node of this group, in the shape of `place`.
Value GroupEmitter::read(OpOperand &operand, Place place) {
  Value value = operand.get();
  ArrayRef<Size> shape = shapeAt(place);
  ReadPath path = graph.pathOf(value);
  if (path.source && path.kind == ReadKind::same && !isInlined(path.source)) {
    if (Value ours = computed.lookup(path.source))
      return reshaped(ours, shape, value.getLoc());
    return input(path.source, shape);
  }
  if (path.source && path.kind == ReadKind::broadcast) {
    if (Value ours = computed.lookup(path.source)) {
      Value &spread = spreads[{ours, withShape(typeOf(ours), shape)}];
      if (!spread)
        spread = body.create<BroadcastInDimOp>(path.broadcast.getLoc(), ours, group.keptDims(), shape);
      return spread;
    }
  }
  return reshaped(native(value), shape, value.getLoc());
}

/// Clones a view, or an op of an inlined group, in its own shape.
void GroupEmitter::emitForeign(Operation *op) {
  IRMapping map;
  for (Value operand : op->getOperands())
    map.map(operand, native(operand));
  Operation *clone = body.clone(*op, map);
  for (auto [before, now] : llvm::zip(op->getResults(), clone->getResults()))
    foreign[before] = now;
}

void GroupEmitter::emitNode(Operation *op, Place place) {
  auto define = [&](Operation *made) {
    for (auto [before, now] : llvm::zip(op->getResults(), made->getResults()))
      computed[before] = now;
  };
  if (isa<ElementwiseOp>(op)) {
    OperationState state(op->getLoc(), op->getName());
    for (OpOperand &operand : op->getOpOperands())
      state.operands.push_back(read(operand, place));
    state.addTypes(withShape(typeOf(op->getResult(0)), shapeAt(place)));
    state.attributes = op->getAttrs();
    define(body.create(state));
    return;
  }
  if (auto gather = dyn_cast<GatherOp>(op); gather && place == Place::kept && FusionGraph::isRowGather(op) &&
                                            sizesOf(typeOf(gather.getA())) == ArrayRef(group.domain)) {
    Value table = read(gather.getAMutable(), Place::domain);
    Value index = reshaped(read(gather.getIndexMutable(), Place::kept), sizesOf(typeOf(gather.getIndex())),
                           gather.getLoc());
    auto picked = body.create<GatherOp>(gather.getLoc(), table, index, gather.getDim(), gather.getKind(),
                                        gather.getMode());
    picked->setDiscardableAttrs(gather->getDiscardableAttrDictionary());
    computed[gather.getResult()] = reshaped(picked, shapeAt(place), gather.getLoc());
    return;
  }
  if (auto broadcast = dyn_cast<BroadcastInDimOp>(op)) {
    ReadPath path = graph.pathOf(broadcast.getA());
    if (path.kind == ReadKind::same && path.source && computed.lookup(path.source)) {
      // Broadcast it from the kept shape, as read() does.
      Value ours = computed.lookup(path.source);
      computed[broadcast.getResult()] =
          body.create<BroadcastInDimOp>(op->getLoc(), ours, group.keptDims(), shapeAt(place));
      return;
    }
  }
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(FusionGraph::isReduction(op) || isScanOp(op)        ? read(operand, Place::domain)
                       : isUpdateOp(op) && operand.getOperandNumber() == 0 ? Value(block->getArgument(0))
                                                                           : native(operand.get()));
  Operation *clone = body.clone(*op);
  clone->setOperands(operands);
  define(clone);
}

void GroupEmitter::run() {
  SmallVector<unsigned> nodes(group.nodes.begin(), group.nodes.end());
  llvm::sort(nodes);
  SmallVector<Location> locations;
  for (unsigned node : nodes) {
    Operation *op = graph.getNodes()[node].op;
    if (!llvm::is_contained(locations, op->getLoc()) && locations.size() < 8)
      locations.push_back(op->getLoc());
    if (!isUpdateOp(op)) {
      collectOperands(op);
      continue;
    }
    for (Value operand : op->getOperands().drop_front())
      collect(operand);
  }
  Location loc = FusedLoc::get(builder.getContext(), locations);

  Block scratch;
  block = &scratch;
  body.setInsertionPointToEnd(block);
  if (group.kind == FusionKind::update) {
    // The base is the first argument. It is not shared with operands that read the same memory, because the
    // kernel writes it in place.
    Operation *op = graph.getNodes()[nodes.front()].op;
    Value base =
        stored.get(graph.memoryOf(op->getOperand(0)), sizesOf(typeOf(op->getOperand(0))), op->getLoc());
    block->addArgument(base.getType(), base.getLoc());
    inputs.push_back(base);
  }
  SmallVector<std::pair<unsigned, Operation *>> order; // positions and ops: `needed`, and this group's nodes
  for (Operation *op : needed)
    order.push_back({graph.positionOf(op), op});
  llvm::DenseMap<Operation *, Place> ours;
  for (unsigned number : nodes) {
    const FusionNode &node = graph.getNodes()[number];
    ours[node.op] = node.place;
    order.push_back({graph.positionOf(node.op), node.op});
  }
  llvm::sort(order);
  order.erase(std::unique(order.begin(), order.end()), order.end());
  for (auto [position, op] : order) {
    // A cheap generator that must also be in memory has both forms; nodes of this group read the clone.
    if (needed.contains(op))
      emitForeign(op);
    if (auto it = ours.find(op); it != ours.end())
      emitNode(op, it->second);
  }

  SmallVector<Value> yields, before;
  SmallVector<Type> types;
  for (unsigned node : nodes)
    for (Value result : graph.getNodes()[node].op->getResults())
      if (graph.isStored(result)) {
        before.push_back(result);
        yields.push_back(computed.lookup(result));
        types.push_back(yields.back().getType());
      }
  body.create<YieldOp>(loc, yields);
  auto fusion = builder.create<FusionOp>(loc, types, inputs, group.kind, ScheduleAttr(), ArrayAttr(),
                                         DenseI64ArrayAttr());
  fusion.getBody().push_back(new Block());
  Block &target = fusion.getBody().front();
  for (BlockArgument argument : scratch.getArguments())
    argument.replaceAllUsesWith(target.addArgument(argument.getType(), argument.getLoc()));
  target.getOperations().splice(target.end(), scratch.getOperations());
  for (auto [value, result] : llvm::zip(before, fusion.getResults()))
    stored.set(value, result);
}

LogicalResult emitFusions(FusionGraph &graph) {
  Block &entry = graph.getFunction().getBody().front();
  SmallVector<Operation *> before;
  for (Operation &op : entry.without_terminator())
    before.push_back(&op);
  OpBuilder builder(entry.getTerminator());
  StoredValues stored(builder);
  ArrayRef<FusionNode> nodes = graph.getNodes();
  ArrayRef<FusionEdge> edges = graph.getEdges();
  ArrayRef<FusionGroup> groups = graph.getGroups();

  // Emit the groups in a topological order. Of the groups that may come next, take the one whose last op came
  // first in the text.
  std::vector<unsigned> waits(groups.size());
  for (const FusionEdge &edge : edges)
    if (nodes[edge.from].group != nodes[edge.to].group)
      ++waits[nodes[edge.to].group];
  // Ops that write state keep their order.
  std::vector<unsigned> effects;
  llvm::DenseMap<unsigned, unsigned> nextEffect;
  for (const FusionNode &node : nodes)
    if (auto rule = dyn_cast<MemoryEffectOpInterface>(node.op);
        rule && rule.hasEffect<MemoryEffects::Write>()) {
      if (!effects.empty()) {
        nextEffect[effects.back()] = node.group;
        ++waits[node.group];
      }
      effects.push_back(node.group);
    }
  std::priority_queue<std::pair<unsigned, unsigned>, std::vector<std::pair<unsigned, unsigned>>,
                      std::greater<>>
      ready;
  size_t alive = 0, done = 0;
  for (auto [id, group] : llvm::enumerate(groups)) {
    if (!group.alive)
      continue;
    ++alive;
    if (waits[id] == 0)
      ready.push({group.lastNode, static_cast<unsigned>(id)});
  }
  while (!ready.empty()) {
    unsigned id = ready.top().second;
    ready.pop();
    ++done;
    const FusionGroup &group = groups[id];
    for (unsigned edge : group.out) {
      unsigned next = nodes[edges[edge].to].group;
      if (next != id && --waits[next] == 0)
        ready.push({groups[next].lastNode, next});
    }
    if (auto next = nextEffect.find(id); next != nextEffect.end() && --waits[next->second] == 0)
      ready.push({groups[next->second].lastNode, next->second});
    if (group.opaque) {
      Operation *op = nodes[group.nodes.front()].op;
      for (OpOperand &operand : op->getOpOperands()) {
        Value read = operand.get();
        if (!isa<RankedTensorType>(read.getType()))
          continue;
        operand.set(stored.get(graph.memoryOf(read), sizesOf(typeOf(read)), operand.get().getLoc()));
      }
      if (!op->hasTrait<OpTrait::IsTerminator>())
        op->moveBefore(entry.getTerminator());
      continue;
    }
    if (!group.inlined)
      GroupEmitter(graph, id, stored, builder).run();
  }
  if (done != alive)
    return graph.getFunction().emitError() << "fusion formed a cycle: " << alive - done << " of " << alive
                                           << " kernels wait for each other; this is a defect of weft-fuse";
  // Erase the old nodes and views.
  for (Operation *op : llvm::reverse(before)) {
    if (graph.isOpaque(op))
      continue;
    op->dropAllUses();
    op->erase();
  }
  return success();
}

} // namespace weft::passes
