//===- FusionLegality.cpp - Which groups may be merged --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/fusion/FusionGraph.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {

/// Whether a broadcast repeats a value of the kept dimensions along the reduced dimensions of a kernel, and
/// along no others.
static bool spreadsKept(BroadcastInDimOp broadcast, ArrayRef<Size> domain, const ReducedDims &reduced) {
  if (broadcast.getShape() != domain)
    return false;
  ArrayRef<Size> from = sizesOf(broadcast.getA());
  SmallVector<Size> size(domain.size(), 1);
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
    size[dim] = from[i];
  for (size_t dim = 0; dim < domain.size(); ++dim)
    if (size[dim] != (reduced.contains(dim) ? 1 : domain[dim]))
      return false;
  return true;
}

bool FusionGraph::placesAgree(const FusionEdge &edge, const FusionMerge &merged, unsigned a, unsigned b,
                              FusionRefusal &refusal) const {
  const FusionNode &from = nodes[edge.from], &to = nodes[edge.to];
  // A group of kind loop takes one place as a whole.
  auto placeOf = [&](const FusionNode &node) {
    if (groups[node.group].kind != FusionKind::loop)
      return node.place;
    return node.group == a ? merged.placeA : merged.placeB;
  };
  Place made = isReduction(from.op) ? Place::kept : placeOf(from);
  Place read = isReduction(to.op) ? Place::domain : placeOf(to);
  switch (edge.kind) {
  case ReadKind::same:
    if (made == read)
      return true;
    break;
  case ReadKind::broadcast:
    if (merged.kind == FusionKind::loop || made != Place::kept || read != Place::domain ||
        !spreadsKept(edge.broadcast, merged.domain, merged.reduced))
      break;
    return true;
  case ReadKind::gathered:
    if (merged.kind == FusionKind::row && merged.reduced.dims.size() == 1 && made == Place::domain &&
        placeOf(to) == Place::kept && sizesOf(to.op->getOperand(0)) == ArrayRef(merged.domain))
      return true;
    break;
  case ReadKind::mapped:
  case ReadKind::stored:
    break;
  }
  refusal = {"WEFT-F001",
             edge.kind == ReadKind::mapped || edge.kind == ReadKind::stored
                 ? "the consumer reads the value at other indices than those at which it is computed"
                 : "the consumer iterates over another domain"};
  return false;
}

/// The refusal to merge groups with different domains.
static std::optional<FusionMerge> domainsDiffer(const FusionGroup &a, const FusionGroup &b,
                                                FusionRefusal &refusal) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "domains [";
  os << sizesText(a.domain);
  os << "] (" << stringifyFusionKind(a.kind) << ") and [";
  os << sizesText(b.domain);
  os << "] (" << stringifyFusionKind(b.kind) << ") differ";
  refusal = {"WEFT-F001", text};
  return std::nullopt;
}

/// A merge into a kernel of the kind and domain of `anchor`.
static FusionMerge mergedLike(const FusionGroup &anchor) {
  return {anchor.kind, anchor.domain, anchor.reduced, Place::domain, Place::domain, 0};
}

std::optional<FusionMerge> FusionGraph::combine(unsigned a, unsigned b, ArrayRef<unsigned> between,
                                                FusionRefusal &refusal) const {
  const FusionGroup &ga = groups[a], &gb = groups[b];
  bool loopA = ga.kind == FusionKind::loop, loopB = gb.kind == FusionKind::loop;
  if (ga.kind == FusionKind::update || gb.kind == FusionKind::update) {
    refusal = {"WEFT-F001", "an update writes in place and is not fused"};
    return std::nullopt;
  }
  if ((ga.joins || gb.joins) && !(loopA && loopB)) {
    refusal = {"WEFT-F001", "a concat is computed part by part, which a reduction is not"};
    return std::nullopt;
  }
  if (loopA && loopB)
    return combineLoops(a, b, between, refusal);
  if ((loopA ? gb : ga).kind == FusionKind::scan)
    return combineScan(a, b, between, refusal);
  if (!loopA && !loopB)
    return combineReductions(a, b, refusal);
  return combineLoopAndReduction(a, b, between, refusal);
}

std::optional<FusionMerge> FusionGraph::combineLoops(unsigned a, unsigned b, ArrayRef<unsigned> between,
                                                     FusionRefusal &refusal) const {
  const FusionGroup &ga = groups[a], &gb = groups[b];
  // An elementwise op does not depend on its shape, so it can take a domain with as many elements.
  if (ga.domain != gb.domain &&
      (between.empty() || (ga.pinned && gb.pinned) || productOf(ga.domain) != productOf(gb.domain)))
    return domainsDiffer(ga, gb, refusal);
  FusionMerge merged{FusionKind::loop, {}, {}, Place::domain, Place::domain, 0};
  merged.domain = ga.domain == gb.domain || gb.pinned ? gb.domain : ga.pinned ? ga.domain : gb.domain;
  return merged;
}

std::optional<FusionMerge> FusionGraph::combineScan(unsigned a, unsigned b, ArrayRef<unsigned> between,
                                                    FusionRefusal &refusal) const {
  const FusionGroup &ga = groups[a], &gb = groups[b];
  bool loopA = ga.kind == FusionKind::loop;
  if (!loopA && gb.kind != FusionKind::loop) {
    refusal = {"WEFT-F003", "a kernel holds one scan"};
    return std::nullopt;
  }
  // A scan has a result at every index of the domain, so the loop must be elementwise over that domain.
  const FusionGroup &loop = loopA ? ga : gb, &scan = loopA ? gb : ga;
  bool pointwise = llvm::all_of(between, [&](unsigned edge) { return edges[edge].kind == ReadKind::same; });
  if (!pointwise || (loop.domain != scan.domain &&
                     (between.empty() || loop.pinned || productOf(loop.domain) != productOf(scan.domain))))
    return domainsDiffer(ga, gb, refusal);
  return mergedLike(scan);
}

std::optional<FusionMerge> FusionGraph::combineReductions(unsigned a, unsigned b,
                                                          FusionRefusal &refusal) const {
  const FusionGroup &ga = groups[a], &gb = groups[b];
  if (ga.kind != gb.kind || ga.domain != gb.domain || !(ga.reduced == gb.reduced))
    return domainsDiffer(ga, gb, refusal);
  return mergedLike(ga);
}

Place FusionGraph::placeOfLoop(unsigned id, const FusionGroup &anchor, ArrayRef<unsigned> between) const {
  const FusionGroup &loop = groups[id];
  if (between.empty()) {
    bool picksOfRows = loop.rowGather && loop.nodes.size() == 1 &&
                       sizesOf(nodes[loop.nodes[0]].op->getOperand(0)) == ArrayRef(anchor.domain);
    return picksOfRows ? Place::kept : Place::domain;
  }
  const FusionEdge &edge = edges[between.front()];
  bool fromLoop = nodes[edge.from].group == id;
  const FusionNode &other = nodes[fromLoop ? edge.to : edge.from];
  if (edge.kind == ReadKind::broadcast)
    return fromLoop ? Place::kept : Place::domain;
  if (edge.kind == ReadKind::gathered || isReduction(other.op))
    return fromLoop ? Place::domain : Place::kept;
  return other.place;
}

std::optional<FusionMerge> FusionGraph::combineLoopAndReduction(unsigned a, unsigned b,
                                                                ArrayRef<unsigned> between,
                                                                FusionRefusal &refusal) const {
  const FusionGroup &ga = groups[a], &gb = groups[b];
  bool loopA = ga.kind == FusionKind::loop;
  const FusionGroup &loop = loopA ? ga : gb, &anchor = loopA ? gb : ga;
  Place place = placeOfLoop(loopA ? a : b, anchor, between);
  SmallVector<Size> need = place == Place::domain ? anchor.domain : anchor.keptShape();
  if (productOf(loop.domain) != productOf(need))
    return domainsDiffer(ga, gb, refusal);
  bool picksOfRows = loop.rowGather && place == Place::kept && anchor.kind == FusionKind::row;
  if (loop.domain != need && ((loop.pinned && !picksOfRows) || (between.empty() && !loop.rowGather)))
    return domainsDiffer(ga, gb, refusal);
  // A column kernel has the results of many columns at a time, but a read by index needs that of one.
  bool readsByIndex = llvm::any_of(loop.nodes, [&](unsigned node) {
    auto gather = dyn_cast<GatherOp>(nodes[node].op);
    return gather && gather.getKind() == GatherKind::along;
  });
  if (readsByIndex && place == Place::kept && anchor.kind == FusionKind::column) {
    refusal = {"WEFT-F001",
               "the consumer reads by the results of one column, and a kernel has those of many"};
    return std::nullopt;
  }
  if (picksOfRows && loop.pinned)
    for (unsigned node : loop.nodes)
      if (auto gather = dyn_cast<GatherOp>(nodes[node].op))
        if (anchor.reduced.dims.size() != 1 || sizesOf(gather.getA()) != ArrayRef(anchor.domain))
          return domainsDiffer(ga, gb, refusal);
  FusionMerge merged = mergedLike(anchor);
  (loopA ? merged.placeA : merged.placeB) = place;
  return merged;
}

/// The most edges that separate() follows. If the search needs more, the groups are not merged.
static constexpr unsigned maxSearch = 4096;

bool FusionGraph::separate(unsigned a, unsigned b, SmallVectorImpl<unsigned> &after,
                           SmallVectorImpl<unsigned> &before) {
  if (groups[a].rank > groups[b].rank)
    std::swap(a, b);
  unsigned low = groups[a].rank, high = groups[b].rank, steps = 0;
  if (high - low == 1)
    return true;
  // Ranks bound the search: the groups on a path from `a` to `b` have ranks in between.
  ++visit;
  SmallVector<unsigned> work{a};
  while (!work.empty()) {
    unsigned group = work.pop_back_val();
    for (unsigned edge : groups[group].out) {
      unsigned next = nodes[edges[edge].to].group;
      if (++steps > maxSearch || (next == b && group != a))
        return false;
      if (next == group || groups[next].rank >= high || visited[next] == visit)
        continue;
      visited[next] = visit;
      after.push_back(next);
      work.push_back(next);
    }
  }
  ++visit;
  work.push_back(b);
  while (!work.empty()) {
    unsigned group = work.pop_back_val();
    for (unsigned edge : groups[group].in) {
      unsigned next = nodes[edges[edge].from].group;
      if (++steps > maxSearch)
        return false;
      if (next == group || groups[next].rank <= low || visited[next] == visit)
        continue;
      visited[next] = visit;
      before.push_back(next);
      work.push_back(next);
    }
  }
  return true;
}

FusionPrice FusionGraph::price(unsigned a, unsigned b, ArrayRef<unsigned> between, int64_t tasks) const {
  const FusionGroup &ga = groups[a], &gb = groups[b];
  KernelWork wa = workOf(ga), wb = workOf(gb), both;
  both.flops = wa.flops + wb.flops;
  both.readBytes = wa.readBytes + wb.readBytes;
  both.writtenBytes = wa.writtenBytes + wb.writtenBytes;
  both.tasks = tasks;
  FusionPrice made;
  made.operands = static_cast<int64_t>(ga.inputs.size() + gb.inputs.size()) + ga.outputs + gb.outputs;
  llvm::SmallDenseMap<unsigned, unsigned> crossing;
  for (unsigned edge : between)
    ++crossing[edges[edge].value];
  for (auto [value, count] : crossing) {
    both.readBytes -= values[value].bytes;
    --made.operands;
    if (!values[value].escapes && values[value].inner + count == values[value].reads) {
      both.writtenBytes -= values[value].bytes;
      --made.operands;
    }
  }
  const FusionGroup &small = ga.inputs.size() <= gb.inputs.size() ? ga : gb;
  const FusionGroup &large = &small == &ga ? gb : ga;
  for (auto [value, count] : small.inputs)
    if (large.inputs.count(value)) {
      both.readBytes -= values[value].bytes;
      --made.operands;
    }
  // Each group is priced for its own device. Groups on different devices are not merged.
  made.apartPs =
      kernelTime(*ga.target, wa) + ga.target->launchPs + kernelTime(*gb.target, wb) + gb.target->launchPs;
  made.togetherPs = kernelTime(*ga.target, both) + ga.target->launchPs;
  made.apartBytes = wa.readBytes + wa.writtenBytes + wb.readBytes + wb.writtenBytes;
  made.togetherBytes = both.readBytes + both.writtenBytes;
  return made;
}

FusionPrice FusionGraph::priceOf(unsigned a, unsigned b) const {
  SmallVector<unsigned> between = edgesBetween(a, b);
  FusionRefusal refusal;
  std::optional<FusionMerge> merged = combine(a, b, between, refusal);
  int64_t tasks = merged ? tasksOf(groups[a], merged->kind, merged->domain, merged->reduced)
                         : std::max(workOf(groups[a]).tasks, workOf(groups[b]).tasks);
  return price(a, b, between, tasks);
}

std::string FusionPrice::text() const {
  return ("2 kernels take " + Twine(apartPs / 1000) + " ns and move " + Twine(apartBytes) +
          " bytes, one would take " + Twine(togetherPs / 1000) + " ns and move " + Twine(togetherBytes))
      .str();
}

/// The most operands and results of the kernel of both. A thread of a GPU has each of them in a register, or,
/// in f64, in two.
static int64_t mostOperands(const TargetDescription &target, const FusionGroup &a, const FusionGroup &b) {
  const bool isWide = 2 * (a.wide + b.wide) > a.nodes.size() + b.nodes.size();
  return isWide && !target.isCpu() ? target.maxOperands / 2 : target.maxOperands;
}

std::optional<FusionMerge> FusionGraph::evaluate(unsigned a, unsigned b, FusionRefusal &refusal) {
  const FusionGroup &ga = groups[a], &gb = groups[b];
  auto refuse = [&](StringRef code, const Twine &message) -> std::optional<FusionMerge> {
    refusal = {code, message.str()};
    return std::nullopt;
  };
  if (ga.device != gb.device)
    return refuse("WEFT-F001", "the devices differ");
  const TargetDescription &target = *ga.target;
  SmallVector<unsigned> between = edgesBetween(a, b);
  std::optional<FusionMerge> merged = combine(a, b, between, refusal);
  if (!merged)
    return std::nullopt;
  for (unsigned edge : between)
    if (!placesAgree(edges[edge], *merged, a, b, refusal))
      return std::nullopt;
  auto opCount = static_cast<int64_t>(ga.nodes.size() + gb.nodes.size());
  if (opCount > target.maxOps)
    return refuse("WEFT-F005", "would hold " + Twine(opCount) + " ops, the limit is " + Twine(target.maxOps));
  if (ga.reductions + gb.reductions > target.maxReductions)
    return refuse("WEFT-F006", "would hold " + Twine(ga.reductions + gb.reductions) +
                                   " reductions, the limit is " + Twine(target.maxReductions));

  int64_t tasks = tasksOf(ga, merged->kind, merged->domain, merged->reduced);
  FusionPrice whole = price(a, b, between, tasks);
  if (const int64_t most = mostOperands(target, ga, gb); whole.operands > most)
    return refuse("WEFT-F004", "would have " + Twine(whole.operands) +
                                   " operands and results, the limit is " + Twine(most));
  merged->saved = whole.saved();
  if (merged->saved < 0) {
    int64_t ta = workOf(ga).tasks, tb = workOf(gb).tasks;
    return refuse(tasks < std::min(std::max(ta, tb), target.cores) ? "WEFT-F007" : "WEFT-F008",
                  "saves " + Twine(merged->saved / 1000) + " ns, with " + Twine(tasks) +
                      " tasks instead of " + Twine(ta) + " and " + Twine(tb));
  }
  SmallVector<unsigned> after, before;
  if (!separate(a, b, after, before))
    return refuse("WEFT-F002", "what lies between the two would have to run inside of the kernel");
  return merged;
}

std::optional<int64_t> FusionGraph::evaluateInlining(unsigned a, FusionRefusal &refusal) {
  const FusionGroup &group = groups[a];
  auto refuse = [&](StringRef code, const Twine &message) -> std::optional<int64_t> {
    refusal = {code, message.str()};
    return std::nullopt;
  };
  // Every reader gets a copy of the group's ops. So one group adds at most 30 * 4 ops to a program, about a
  // quarter of what one body may hold (`maxOps` in ir/devices).
  constexpr size_t maxOps = 30, maxReaders = 4;
  if (group.kind != FusionKind::loop || group.nodes.size() > maxOps)
    return refuse("WEFT-F005", "is too large to be computed again by its readers");
  const TargetDescription &target = *group.target;
  KernelWork work = workOf(group);
  int64_t saved = target.launchPs + kernelTime(target, work);
  int64_t flops = group.flops / std::max<int64_t>(1, ranges.largest(productOf(group.domain)));
  SmallVector<unsigned> readers, used;
  for (unsigned node : group.nodes) {
    if (isa<GatherOp, RngBitsPhiloxOp, ConcatOp>(nodes[node].op))
      return refuse("WEFT-F008", "holds an op that is not computed twice");
    for (Value result : nodes[node].op->getResults())
      if (values[valueOf.lookup(result)].escapes)
        return refuse("WEFT-F001", "something that is no kernel of Weft's reads its result");
  }
  for (unsigned id : group.out) {
    const FusionEdge &edge = edges[id];
    unsigned to = nodes[edge.to].group;
    if (to == a)
      continue;
    const FusionGroup &reader = groups[to];
    if (edge.kind == ReadKind::stored || edge.kind == ReadKind::gathered || reader.inlined || reader.opaque)
      return refuse("WEFT-F001", "its reader needs it in memory");
    if (reader.device != group.device)
      return refuse("WEFT-F001", "its reader is on another device");
    if (!llvm::is_contained(readers, to)) {
      readers.push_back(to);
      if (static_cast<int64_t>(reader.nodes.size() + group.nodes.size()) > target.maxOps)
        return refuse("WEFT-F005", "its reader would hold too many ops");
      if (static_cast<int64_t>(reader.inputs.size() + group.inputs.size()) + reader.outputs >
          mostOperands(target, reader, group))
        return refuse("WEFT-F004", "its reader would have too many operands");
      // The reader also reads the inputs of the group.
      for (auto [value, count] : group.inputs)
        if (!reader.inputs.count(value))
          saved -= transferTime(target, values[value].bytes, work.tasks);
    }
    if (readers.size() > maxReaders)
      return refuse("WEFT-F008", "more than four kernels read it");
    if (!llvm::is_contained(used, edge.value)) {
      used.push_back(edge.value);
      saved += transferTime(target, values[edge.value].bytes, work.tasks);
    }
    int64_t points = ranges.largest(productOf(sizesOf(nodes[edge.to].op->getOperand(edge.operand))));
    saved -=
        arithmeticTime(target, flops * points, tasksOf(reader, reader.kind, reader.domain, reader.reduced));
  }
  if (readers.empty())
    return refuse("WEFT-F001", "nothing reads it");
  if (saved < 0)
    return refuse("WEFT-F008", "computing it again would save " + Twine(saved / 1000) + " ns");
  return saved;
}

} // namespace weft::passes
