//===- FusionGraph.cpp - The graph that fusion works on -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/fusion/FusionGraph.h"

#include "ir/Schedule.h"
#include "ir/Updates.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {

SmallVector<int64_t> FusionGroup::keptDims() const {
  SmallVector<int64_t> dims;
  for (size_t dim = 0; dim < domain.size(); ++dim)
    if (!reduced.contains(dim))
      dims.push_back(static_cast<int64_t>(dim));
  return dims;
}

SmallVector<Size> FusionGroup::keptShape() const {
  SmallVector<Size> shape;
  for (int64_t dim : keptDims())
    shape.push_back(domain[dim]);
  return shape;
}

static bool isSplatConstant(Operation *op) {
  auto constant = dyn_cast<ConstantOp>(op);
  return constant && isa<SplatElementsAttr>(constant.getValue());
}

bool FusionGraph::isView(Operation *op) {
  // A view reads one value in memory, so a pad with a computed padding value is no view.
  if (auto pad = dyn_cast<PadOp>(op))
    return !pad.getValue() ||
           (pad.getValue().getDefiningOp() && isSplatConstant(pad.getValue().getDefiningOp()));
  return isa<BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp, WindowsOp, ReverseOp, IotaOp, FullOp, DimOp,
             UndefOp>(op) ||
         isSplatConstant(op);
}

/// Whether readers look through a view even if it is also in memory.
static bool isCheap(Operation *op) {
  return isa<BroadcastInDimOp, IotaOp, FullOp, DimOp>(op) || isSplatConstant(op);
}

bool FusionGraph::isReduction(Operation *op) { return isReductionOp(op); }

static bool isComputed(Operation *op) {
  return isa<ElementwiseOp, GatherOp, RngBitsPhiloxOp, ConcatOp, PadOp, DynamicSliceOp>(op) ||
         isUpdateOp(op) || FusionGraph::isReduction(op) || isScanOp(op);
}

/// Whether an op needs an operand in memory: an update writes its base in place.
static bool isInMemory(OpOperand &operand) {
  return isUpdateOp(operand.getOwner()) && operand.getOperandNumber() == 0;
}

bool FusionGraph::isRowGather(Operation *op) {
  auto gather = dyn_cast<GatherOp>(op);
  if (!gather || gather.getKind() != GatherKind::along)
    return false;
  auto table = gather.getA().getType();
  int64_t last = table.getRank() - 1;
  if (static_cast<int64_t>(gather.getDim()) != last || sizesOf(gather.getIndex().getType())[last] != 1)
    return false;
  return sizesOf(table).drop_back() == sizesOf(gather.getIndex().getType()).drop_back();
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

/// The most views that a read looks through. In a longer chain of views, a value in between is stored.
static constexpr unsigned maxViews = 8;

ReadPath FusionGraph::pathOf(Value value) {
  auto it = paths.find(value);
  if (it != paths.end())
    return it->second;
  // The constructor visits ops in order, so the path of a view's operand is known.
  ReadPath path{value, ReadKind::same, BroadcastInDimOp()};
  Operation *op = value.getDefiningOp();
  if (op && isView(op) && (isCheap(op) || !materialized.lookup(op))) {
    if (op->getNumOperands() == 0) {
      path.source = nullptr;
    } else {
      path = pathOf(op->getOperand(0));
      if (auto broadcast = dyn_cast<BroadcastInDimOp>(op); broadcast && path.kind == ReadKind::same) {
        path.kind = ReadKind::broadcast;
        path.broadcast = broadcast;
      } else if (!isa<ReshapeOp>(op) || path.kind != ReadKind::same) {
        path.kind = ReadKind::mapped;
        path.broadcast = nullptr;
      }
    }
  }
  return paths.try_emplace(value, path).first->second;
}

Value FusionGraph::memoryOf(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    ReadPath path = pathOf(value);
    if (path.kind == ReadKind::same && path.source)
      return path.source;
    value = reshape.getA();
  }
  return value;
}

FusionGraph::FusionGraph(FuncOp func, const Target &target)
    : func(func), target(target), ranges(rangesOf(func)) {
  Block &body = func.getBody().front();
  SmallVector<Operation *> ops;
  for (Operation &op : body) {
    orderOf[&op] = static_cast<unsigned>(ops.size());
    ops.push_back(&op);
  }
  findMaterialized(ops);
  for (Operation *op : ops) {
    for (Value result : op->getResults())
      pathOf(result);
    if (isView(op) && !materialized.lookup(op))
      continue;
    // A weft.undef that must be in memory is opaque, because no kernel has to write it.
    addNode(*op, isa<UndefOp>(op) || (!isView(op) && !isComputed(op)));
  }
  for (unsigned i = 0, e = static_cast<unsigned>(nodes.size()); i < e; ++i)
    addEdges(i);
  visited.assign(groups.size(), 0);
  for (FusionValue &value : values) {
    if (value.node < 0 || !isStored(value))
      continue;
    FusionGroup &group = groups[nodes[value.node].group];
    group.writtenBytes += value.bytes;
    ++group.outputs;
  }
}

void FusionGraph::findMaterialized(ArrayRef<Operation *> ops) {
  // A view that an opaque op reads must be in memory. A reshape of a value in memory needs no copy.
  llvm::DenseMap<Operation *, bool> exposed;
  for (Operation *op : llvm::reverse(ops)) {
    bool isExposed = false;
    for (OpOperand &use : op->getUses()) {
      Operation *user = use.getOwner();
      isExposed |= isInMemory(use) ||
                   (isa<ReshapeOp>(user) ? exposed.lookup(user) : !isView(user) && !isComputed(user));
    }
    exposed[op] = isExposed;
    if (isExposed && isView(op) && !isa<ReshapeOp>(op))
      materialized[op] = true;
  }
  llvm::DenseMap<Operation *, unsigned> depth;
  for (Operation *op : ops) {
    if (!isView(op) || op->getNumOperands() == 0)
      continue;
    Operation *above = op->getOperand(0).getDefiningOp();
    unsigned below = above && isView(above) && !materialized.lookup(above) ? depth.lookup(above) : 0;
    // A chain that only has reshapes counts as no view.
    depth[op] = below + (isa<ReshapeOp>(op) && below == 0 ? 0 : 1);
    if (depth[op] > maxViews && !isa<ReshapeOp>(op) && !isCheap(op))
      materialized[op] = true;
  }
}

unsigned FusionGraph::internValue(Value value) {
  auto [it, inserted] = valueOf.try_emplace(value, static_cast<unsigned>(values.size()));
  if (inserted)
    values.push_back({value, -1, costOf(bytesOf(value.getType()))});
  return it->second;
}

void FusionGraph::addNode(Operation &op, bool opaque) {
  auto id = static_cast<unsigned>(nodes.size());
  nodeOf[&op] = id;
  nodes.push_back({&op, id});
  FusionGroup group;
  group.opaque = opaque;
  group.nodes = {id};
  group.lastNode = group.rank = id;
  for (Value result : op.getResults())
    if (isa<RankedTensorType>(result.getType()))
      values[internValue(result)].node = id;
  if (!opaque) {
    Value result = op.getResult(0);
    group.device = deviceOf(result.getType());
    group.target = target.find(group.device);
    group.pinned = !isa<ElementwiseOp>(op);
    group.domain = llvm::to_vector(sizesOf(isReduction(&op) ? op.getOperand(0) : result));
    if (isReduction(&op)) {
      llvm::append_range(group.reduced.dims, reducedDims(&op));
      group.reductions = 1;
      group.kind = group.reduced.contains(group.domain.size() - 1) ? FusionKind::row : FusionKind::column;
    }
    if (isScanOp(&op))
      group.kind = FusionKind::scan;
    if (isUpdateOp(&op)) {
      group.kind = FusionKind::update;
      group.domain = llvm::to_vector(updateShape(&op));
    }
    group.joins = isa<ConcatOp>(op);
    group.wide = getElementTypeOrSelf(result.getType()).isF64();
    group.rowGather = isRowGather(&op);
    group.flops = costOf(productOf(group.domain) * flopsPerElement(&op));
  }
  groups.push_back(std::move(group));
}

void FusionGraph::addEdges(unsigned id) {
  Operation *op = nodes[id].op;
  FusionGroup &group = groups[nodes[id].group];
  for (OpOperand &operand : op->getOpOperands()) {
    Value read = operand.get();
    if (!isa<RankedTensorType>(read.getType()))
      continue; // a token; emitFusions() keeps the order of effects
    bool stored = group.opaque || isInMemory(operand);
    if (stored)
      read = memoryOf(read);
    ReadPath path = stored ? ReadPath{read, ReadKind::stored, BroadcastInDimOp()} : pathOf(read);
    if (!path.source)
      continue;
    if (isView(op) && !group.opaque) {
      if (isa<BroadcastInDimOp>(op) && path.kind == ReadKind::same) {
        path.kind = ReadKind::broadcast;
        path.broadcast = cast<BroadcastInDimOp>(op);
      } else {
        path.kind = ReadKind::mapped;
      }
    }
    if (isa<RngBitsPhiloxOp>(op) || (isUpdateOp(op) && &operand != &updateOperandOf(op)))
      path.kind = ReadKind::stored;
    else if (isa<ConcatOp, PadOp, DynamicSliceOp>(op) || isUpdateOp(op))
      path.kind = ReadKind::mapped;
    if (auto gather = dyn_cast<GatherOp>(op)) {
      if (operand.getOperandNumber() == 0)
        path.kind = group.rowGather && path.kind == ReadKind::same ? ReadKind::gathered : ReadKind::stored;
      else if (gather.getKind() == GatherKind::points)
        path.kind = ReadKind::stored;
    }
    unsigned value = internValue(path.source);
    FusionValue &info = values[value];
    ++info.reads;
    info.escapes |= group.opaque;
    if (!group.opaque && group.inputs[value]++ == 0)
      group.readBytes += info.bytes;
    if (info.node < 0)
      continue;
    auto edge = static_cast<unsigned>(edges.size());
    auto from = static_cast<unsigned>(info.node);
    edges.push_back({from, id, value, operand.getOperandNumber(), path.kind, path.broadcast});
    group.in.push_back(edge);
    groups[nodes[from].group].out.push_back(edge);
  }
}

bool FusionGraph::isOpaque(Operation *op) const {
  auto it = nodeOf.find(op);
  return it != nodeOf.end() && groups[nodes[it->second].group].opaque;
}

int64_t FusionGraph::groupOf(Value value) const {
  Operation *op = value.getDefiningOp();
  auto it = op ? nodeOf.find(op) : nodeOf.end();
  return it == nodeOf.end() ? -1 : static_cast<int64_t>(nodes[it->second].group);
}

KernelWork FusionGraph::workOf(const FusionGroup &group) const {
  return {group.readBytes, group.writtenBytes, group.flops,
          tasksOf(group, group.kind, group.domain, group.reduced)};
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

SmallVector<unsigned> FusionGraph::edgesBetween(unsigned a, unsigned b) const {
  const FusionGroup &ga = groups[a], &gb = groups[b];
  bool aIsSmall = ga.in.size() + ga.out.size() <= gb.in.size() + gb.out.size();
  const FusionGroup &small = aIsSmall ? ga : gb;
  unsigned other = aIsSmall ? b : a;
  SmallVector<unsigned> found;
  for (unsigned edge : small.in)
    if (nodes[edges[edge].from].group == other)
      found.push_back(edge);
  for (unsigned edge : small.out)
    if (nodes[edges[edge].to].group == other)
      found.push_back(edge);
  llvm::sort(found);
  return found;
}

void FusionGraph::joinRanks(unsigned a, unsigned b) {
  // Distribute the ranks of all these groups anew: first the groups that come before one of the two, then the
  // two, then those that come after one of the two.
  SmallVector<unsigned> after, before, ranks;
  separate(a, b, after, before);
  auto byRank = [&](unsigned x, unsigned y) { return groups[x].rank < groups[y].rank; };
  llvm::sort(after, byRank);
  llvm::sort(before, byRank);
  for (unsigned group : llvm::concat<unsigned>(after, before))
    ranks.push_back(groups[group].rank);
  ranks.append({groups[a].rank, groups[b].rank});
  llvm::sort(ranks);
  size_t next = 0;
  for (unsigned group : before)
    groups[group].rank = ranks[next++];
  groups[a].rank = groups[b].rank = ranks[next];
  next += 2;
  for (unsigned group : after)
    groups[group].rank = ranks[next++];
}

void FusionGraph::absorbEdges(unsigned a, unsigned b) {
  for (unsigned edge : edgesBetween(a, b)) {
    FusionValue &value = values[edges[edge].value];
    FusionGroup &maker = groups[nodes[edges[edge].from].group], &reader = groups[nodes[edges[edge].to].group];
    bool was = isStored(value);
    ++value.inner;
    if (was && !isStored(value)) {
      maker.writtenBytes -= value.bytes;
      --maker.outputs;
    }
    if (--reader.inputs[edges[edge].value] == 0) {
      reader.inputs.erase(edges[edge].value);
      reader.readBytes -= value.bytes;
    }
  }
}

void FusionGraph::addMembers(unsigned a, unsigned b) {
  FusionGroup &into = groups[a], &from = groups[b];
  for (unsigned node : from.nodes)
    nodes[node].group = a;
  llvm::append_range(into.nodes, from.nodes);
  llvm::append_range(into.in, from.in);
  llvm::append_range(into.out, from.out);
  if (into.in.size() + into.out.size() > into.tidyAt) {
    auto isInside = [&](unsigned edge) {
      return nodes[edges[edge].from].group == a && nodes[edges[edge].to].group == a;
    };
    llvm::erase_if(into.in, isInside);
    llvm::erase_if(into.out, isInside);
    into.tidyAt = std::max<size_t>(64, 2 * (into.in.size() + into.out.size()));
  }
  into.readBytes += from.readBytes;
  into.writtenBytes += from.writtenBytes;
  into.outputs += from.outputs;
  for (auto [value, count] : from.inputs) {
    unsigned &mine = into.inputs[value];
    if (mine)
      into.readBytes -= values[value].bytes;
    mine += count;
  }
  from.alive = false;
  from.nodes = {};
  from.in = {};
  from.out = {};
  from.inputs.clear();
}

unsigned FusionGraph::merge(unsigned a, unsigned b, const FusionMerge &merged) {
  joinRanks(a, b);
  absorbEdges(a, b);
  for (auto [id, place] : {std::pair(a, merged.placeA), std::pair(b, merged.placeB)})
    if (groups[id].kind == FusionKind::loop && place == Place::kept)
      for (unsigned node : groups[id].nodes)
        nodes[node].place = place;
  auto sizeOf = [](const FusionGroup &g) {
    return g.nodes.size() + g.in.size() + g.out.size() + g.inputs.size();
  };
  if (sizeOf(groups[a]) < sizeOf(groups[b]))
    std::swap(a, b);
  addMembers(a, b);
  FusionGroup &into = groups[a], &from = groups[b];
  into.kind = merged.kind;
  into.domain = merged.domain;
  into.reduced = merged.reduced;
  into.reductions += from.reductions;
  into.wide += from.wide;
  into.flops += from.flops;
  into.rowGather = (into.rowGather || !into.pinned) && (from.rowGather || !from.pinned);
  into.pinned |= from.pinned;
  into.joins |= from.joins;
  into.rowGather &= into.pinned;
  into.lastNode = std::max(into.lastNode, from.lastNode);
  into.version = std::max(into.version, from.version) + 1; // so that it grows for the nodes of both
  return a;
}

} // namespace weft::passes
