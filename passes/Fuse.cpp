//===- Fuse.cpp - Forms kernels by fusing ops -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At first every op is a kernel of its own. Pairs of kernels that exchange or share a value are merged as
// long as that is legal and saves time: the pair that saves most first, ties in op order. Then a small kernel
// whose readers read its result through an index map is computed inside of every reader, if that is cheaper.
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"
#include "passes/Passes.h"
#include "passes/fusion/FusionEmitter.h"
#include "passes/fusion/FusionNumerics.h"
#include "passes/fusion/OptimizerSteps.h"

#include "ir/Schedule.h"
#include "ir/Updates.h"

#include "llvm/ADT/SetVector.h"
#include <queue>

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_FUSE
#include "passes/Passes.h.inc"

namespace {

struct Candidate {
  int64_t saved;
  unsigned from, to; ///< nodes whose groups may be merged
  unsigned versions; ///< the sum of the two groups' versions
  bool siblings;     ///< they share an operand; otherwise one reads the other
  /// The highest saving first, then producers and consumers, then op order.
  bool operator<(const Candidate &o) const {
    return std::tuple(saved, o.siblings, o.from, o.to) < std::tuple(o.saved, siblings, from, to);
  }
};

class Fuse : public impl::FuseBase<Fuse> {
public:
  using FuseBase::FuseBase;
  void runOnOperation() override;

private:
  void prepare(FuncOp func, const Target &machine);
  void mergeGroups(FusionGraph &graph);
  bool mergeRound(FusionGraph &graph, std::vector<Candidate> &waiting, bool isFirst);
  void reportRefusals(FusionGraph &graph, std::vector<Candidate> refused);
  void inlineGroups(FusionGraph &graph);
  void note(FusionGraph &graph, StringRef code, unsigned from, unsigned to, int64_t saved,
            const std::string &message);
  std::vector<Decision> decisions;
  /// The reasons reported so far for not merging a pair of groups; the smaller number comes first.
  DenseMap<std::pair<unsigned, unsigned>, StringRef> told;
};

/// Brings a reduction into a form that kernels support: over one or more consecutive dimensions, or on a CPU
/// over rows in pieces. If consecutive dimensions are not the last ones, the reduction is one down columns,
/// and its order does not depend on the ops fused with it. If all dimensions behind them have size 1, there
/// would be one column, so the dimensions are transposed to the end. So are all others, whose order is then
/// that of a row in pieces.
void normalizeReduction(Operation *op) {
  Value operand = op->getOperand(0);
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<int64_t> dims = reducedDims(op);
  if (auto welford = dyn_cast<WelfordOp>(op); welford && dims.empty()) {
    // There is a single element: the mean is the element and m2 is 0. separateCount() has replaced the count.
    OpBuilder builder(op);
    Value mean = operand;
    if (auto wide = welford.getMean().getType(); wide != type)
      mean = builder.create<ConvertOp>(op->getLoc(), operand, wide.getElementType());
    // A mean starts from +0, as a sum does, so the mean of -0 alone is +0.
    auto wide = cast<RankedTensorType>(mean.getType());
    auto zero = splatOf(wide, builder.getFloatAttr(wide.getElementType(), 0.0));
    mean = builder.create<AddOp>(op->getLoc(), mean, builder.create<ConstantOp>(op->getLoc(), wide, zero));
    // Both are NaN if the element is not finite.
    Value m2 = builder.create<SubOp>(op->getLoc(), mean, mean);
    welford.getMean().replaceAllUsesWith(builder.create<AddOp>(op->getLoc(), mean, m2));
    welford.getM2().replaceAllUsesWith(m2);
    op->erase();
    return;
  }
  if (dims.empty()) {
    // A sum starts from +0, so the sum of -0 alone is +0.
    if (isa<SumOp>(op) && isa<FloatType>(type.getElementType())) {
      OpBuilder builder(op);
      auto zero = splatOf(type, builder.getFloatAttr(type.getElementType(), 0.0));
      operand =
          builder.create<AddOp>(op->getLoc(), operand, builder.create<ConstantOp>(op->getLoc(), type, zero));
    }
    op->replaceAllUsesWith(ValueRange{operand});
    op->erase();
    return;
  }
  int64_t rank = type.getRank(), count = static_cast<int64_t>(dims.size());
  auto trailing = llvm::to_vector(llvm::seq<int64_t>(rank - count, rank));
  int64_t first = dims.front(), end = first + count;
  bool isRow = dims == trailing, isNeighbours = dims.back() == end - 1;
  if (deviceOf(type).isCpu() && areRowPieces(sizesOf(type), dims))
    return;
  if (isRow || (isNeighbours && (first == 0 || productOf(sizesOf(type).drop_front(end)) != 1)))
    return;
  SmallVector<int64_t> perm;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      perm.push_back(dim);
  llvm::append_range(perm, dims);
  OpBuilder builder(op);
  op->setOperand(0, builder.create<TransposeOp>(op->getLoc(), operand, perm));
  if (isArgReduction(op))
    op->setAttr("dim", builder.getI64IntegerAttr(rank - 1));
  else
    op->setAttr("dims", builder.getDenseI64ArrayAttr(trailing));
}

/// A size as a scalar of `type`, an i64 tensor.
Value sizeValue(OpBuilder &builder, Location loc, RankedTensorType type, Size size) {
  if (!size.isNumber())
    return builder.create<DimOp>(loc, type, size);
  return builder.create<ConstantOp>(loc, type, splatOf(type, builder.getI64IntegerAttr(size.asNumber())));
}

/// Replaces the count of a welford by the number of elements, so that its kernel does not compute it.
void separateCount(WelfordOp op) {
  if (op.getCount().use_empty())
    return;
  OpBuilder builder(op);
  Size count = 1;
  for (int64_t dim : op.getDims())
    count *= sizesOf(op.getA().getType())[dim];
  op.getCount().replaceAllUsesWith(sizeValue(builder, op.getLoc(), op.getCount().getType(), count));
}

/// Computes the counter after a draw by a sum of its own, because the results of the kernel that draws must
/// have one shape.
void separateCounter(RngBitsPhiloxOp op) {
  if (op.getNext().use_empty())
    return;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto type = cast<RankedTensorType>(op.getNext().getType());
  Size blocks = ceilDiv(elementsOf(op.getBits().getType()), 4);
  Value step = sizeValue(builder, op.getLoc(), type, blocks);
  op.getNext().replaceAllUsesWith(builder.create<AddOp>(op.getLoc(), op.getCounter(), step));
  // Bits that nothing reads were kept only for the counter.
  if (op.getBits().use_empty())
    op.erase();
}

/// An update writes its base in place. Clones a base that several ops use if it is cheap to compute, so that
/// the update need not copy it.
void ownBase(Operation *update) {
  Operation *base = update->getOperand(0).getDefiningOp();
  if (base && isa<ConstantOp, FullOp, UndefOp, IotaOp, BroadcastInDimOp>(base) && !base->hasOneUse())
    update->setOperand(0, OpBuilder(update).clone(*base)->getResult(0));
}

/// Clones the conversion to a wider float for every reader, so that kernels exchange the narrower value.
void widenInReaders(ConvertOp op) {
  auto from = dyn_cast<FloatType>(op.getA().getType().getElementType());
  auto to = dyn_cast<FloatType>(op.getType().getElementType());
  if (!from || !to || from.getWidth() >= to.getWidth())
    return;
  llvm::SmallSetVector<Operation *, 4> users(op->user_begin(), op->user_end());
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  for (Operation *user : llvm::drop_begin(users))
    if (!isa<ReturnOp>(user))
      user->replaceUsesOfWith(op, builder.clone(*op)->getResult(0));
}

/// A kernel has a bounded number of operands. Many parts are therefore joined a few at a time, or one at a
/// time if they are large, each written to its place in a tensor that starts undefined.
void splitConcat(ConcatOp op, const TargetDescription &target) {
  // Each part is a loop in the kernel's body, with a vector part and a remainder.
  constexpr size_t mostParts = 8;
  // A part whose copy takes longer than a launch gets a launch of its own.
  const int64_t largePart = target.launchPs * target.coreBytesPerUs / psPerUs;
  auto parts = op.getParts();
  if (parts.size() <= mostParts)
    return;
  int64_t mean = rangesOf(op).largest(bytesOf(op.getType())) / static_cast<int64_t>(parts.size());
  size_t most = mean >= largePart ? 1 : mostParts;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = op.getType();
  auto dim = static_cast<int64_t>(op.getDim());
  auto index = withShape(type, {}, builder.getI64Type());
  auto start = [&](Size at) { return sizeValue(builder, loc, index, at); };
  SmallVector<Value> starts(static_cast<size_t>(type.getRank()), start(0));
  Value joined = builder.create<UndefOp>(loc, type);
  Size at = 0;
  for (size_t i = 0; i < parts.size(); i += most) {
    auto group = parts.slice(i, std::min(most, parts.size() - i));
    Value some = group.size() == 1 ? group[0] : builder.create<ConcatOp>(loc, group, dim).getResult();
    starts[dim] = start(at);
    at += sizesOf(some.getType())[dim];
    joined = builder.create<DynamicUpdateSliceOp>(loc, joined, some, starts);
  }
  op.getResult().replaceAllUsesWith(joined);
  op.erase();
}

std::string describe(const FusionGraph &graph, unsigned node) {
  Operation *op = graph.getNodes()[node].op;
  return (op->getName().getStringRef() + "#" + Twine(node)).str();
}

/// The cost of a kernel that stays a kernel instead of being computed in its readers.
std::string priceAlone(const FusionGraph &graph, const FusionGroup &group) {
  KernelWork work = graph.workOf(group);
  return ("its own kernel takes " + Twine((kernelTime(*group.target, work) + group.target->launchPs) / 1000) +
          " ns and moves " + Twine(work.readBytes + work.writtenBytes) + " bytes")
      .str();
}

} // namespace

void Fuse::prepare(FuncOp func, const Target &machine) {
  Block &body = func.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (auto welford = dyn_cast<WelfordOp>(op))
      separateCount(welford);
    if (FusionGraph::isReduction(&op))
      normalizeReduction(&op);
    else if (auto draw = dyn_cast<RngBitsPhiloxOp>(op))
      separateCounter(draw);
    else if (isa<AdamStepOp, SgdStepOp>(op))
      wrapOptimizerSteps({&op});
    else if (isUpdateOp(&op))
      ownBase(&op);
    else if (auto concat = dyn_cast<ConcatOp>(op))
      splitConcat(concat, *machine.find(deviceOf(concat.getType())));
    else if (auto convert = dyn_cast<ConvertOp>(op))
      widenInReaders(convert);
  }
}

void Fuse::note(FusionGraph &graph, StringRef code, unsigned from, unsigned to, int64_t saved,
                const std::string &message) {
  if (!report)
    return;
  decisions.push_back({code.str(), locationText(graph.getNodes()[to].op->getLoc()), describe(graph, from),
                       describe(graph, to), saved, message});
}

/// The current group of a node.
static unsigned groupOf(const FusionGraph &graph, unsigned node) { return graph.getNodes()[node].group; }

/// Changes with every merge of either group.
static unsigned versionsOf(const FusionGraph &graph, unsigned a, unsigned b) {
  return graph.getGroups()[a].version + graph.getGroups()[b].version;
}

/// Pairs of producer and consumer; then pairs of neighbouring readers of one value.
static std::vector<Candidate> findCandidates(FusionGraph &graph) {
  ArrayRef<FusionNode> nodes = graph.getNodes();
  std::vector<Candidate> found;
  found.reserve(graph.getEdges().size());
  for (const FusionEdge &edge : graph.getEdges())
    found.push_back({0, edge.from, edge.to, 0, false});
  std::vector<int64_t> lastReader(graph.getNumValues(), -1);
  for (unsigned node = 0, e = static_cast<unsigned>(nodes.size()); node < e; ++node) {
    if (graph.getGroups()[nodes[node].group].opaque)
      continue;
    SmallVector<unsigned> read;
    for (Value operand : nodes[node].op->getOperands())
      if (ReadPath path = graph.pathOf(operand); path.source)
        if (unsigned value = graph.numberOf(path.source); !llvm::is_contained(read, value))
          read.push_back(value);
    for (unsigned value : read) {
      if (lastReader[value] >= 0)
        found.push_back({0, static_cast<unsigned>(lastReader[value]), node, 0, true});
      lastReader[value] = node;
    }
  }
  return found;
}

/// Merges what can be merged of `waiting`. Afterwards it holds the refused candidates, with the versions at
/// which they were refused. Returns whether anything was merged.
bool Fuse::mergeRound(FusionGraph &graph, std::vector<Candidate> &waiting, bool isFirst) {
  bool merging = false;
  std::priority_queue<Candidate> queue;
  std::vector<Candidate> refused;
  for (Candidate c : waiting) {
    unsigned a = groupOf(graph, c.from), b = groupOf(graph, c.to);
    if (a == b || graph.getGroups()[a].opaque || graph.getGroups()[b].opaque)
      continue;
    bool unchanged = !isFirst && versionsOf(graph, a, b) == c.versions;
    FusionRefusal refusal;
    std::optional<FusionMerge> merged = unchanged ? std::nullopt : graph.evaluate(a, b, refusal);
    c.versions = versionsOf(graph, a, b);
    if (merged)
      queue.push({merged->saved, c.from, c.to, c.versions, c.siblings});
    else
      refused.push_back(c);
  }
  while (!queue.empty()) {
    Candidate top = queue.top();
    queue.pop();
    unsigned a = groupOf(graph, top.from), b = groupOf(graph, top.to);
    if (a == b)
      continue;
    FusionRefusal refusal;
    std::optional<FusionMerge> merged = graph.evaluate(a, b, refusal);
    if (!merged) {
      top.versions = versionsOf(graph, a, b);
      refused.push_back(top);
      continue;
    }
    // Savings change as groups grow. A candidate whose saving fell goes back into the queue.
    if (versionsOf(graph, a, b) != top.versions && merged->saved < top.saved && !queue.empty()) {
      queue.push({merged->saved, top.from, top.to, versionsOf(graph, a, b), top.siblings});
      continue;
    }
    note(graph, "fused", top.from, top.to, merged->saved, stringifyFusionKind(merged->kind).str());
    graph.merge(a, b, *merged);
    merging = true;
  }
  waiting = std::move(refused);
  return merging;
}

void Fuse::mergeGroups(FusionGraph &graph) {
  std::vector<Candidate> waiting = findCandidates(graph);
  // A refused pair may be merged later, when the kernels between the two have become part of one of them. A
  // few rounds are enough: each is needed for one more path between two kernels.
  constexpr unsigned maxRounds = 8;
  bool merging = true;
  for (unsigned round = 0; round < maxRounds && merging; ++round)
    merging = mergeRound(graph, waiting, round == 0);
  if (report)
    reportRefusals(graph, std::move(waiting));
}

/// Reports one decision per pair of kernels, however many values they share. If one reads the other, the
/// decision is about that.
void Fuse::reportRefusals(FusionGraph &graph, std::vector<Candidate> refused) {
  llvm::sort(refused, [](const Candidate &x, const Candidate &y) {
    return std::tuple(x.from, x.to, x.siblings) < std::tuple(y.from, y.to, y.siblings);
  });
  auto pairOf = [&](const Candidate &c) -> std::pair<unsigned, unsigned> {
    return std::minmax(groupOf(graph, c.from), groupOf(graph, c.to));
  };
  DenseSet<std::pair<unsigned, unsigned>> connected;
  for (const Candidate &c : refused)
    if (!c.siblings)
      connected.insert(pairOf(c));
  for (const Candidate &c : refused) {
    FusionRefusal refusal;
    unsigned a = groupOf(graph, c.from), b = groupOf(graph, c.to);
    if (a == b || (c.siblings && connected.contains(pairOf(c))) || told.contains(pairOf(c)) ||
        graph.evaluate(a, b, refusal))
      continue;
    told[pairOf(c)] = refusal.code;
    FusionPrice price = graph.priceOf(a, b);
    note(graph, refusal.code, c.from, c.to, price.saved(), refusal.message + "; " + price.text());
  }
}

void Fuse::inlineGroups(FusionGraph &graph) {
  // From the end, so that readers are decided before their operands.
  for (unsigned id = static_cast<unsigned>(graph.getGroups().size()); id-- > 0;) {
    const FusionGroup &group = graph.getGroups()[id];
    if (!group.alive || group.opaque || group.out.empty())
      continue;
    FusionRefusal refusal;
    std::optional<int64_t> saved = graph.evaluateInlining(id, refusal);
    unsigned reader = graph.getEdges()[group.out.back()].to;
    if (!saved) {
      if (told.lookup(std::minmax(id, groupOf(graph, reader))) == refusal.code)
        continue;
      if (refusal.code != "WEFT-F001") // a value that must be in memory anyway is not worth a decision
        note(graph, refusal.code, group.lastNode, reader, 0,
             refusal.message + "; " + priceAlone(graph, group));
      continue;
    }
    graph.inlineIntoReaders(id);
    note(graph, "inlined", group.lastNode, reader, *saved, "computed inside of its readers");
  }
}

void Fuse::runOnOperation() {
  FuncOp func = getOperation();
  if (func.isExternal())
    return;
  const std::optional<Target> machine = parseTarget(func, target);
  if (!machine || failed(describesAll(func, *machine)))
    return signalPassFailure();
  decisions.clear();
  told.clear();
  prepare(func, *machine);
  FusionGraph graph(func, *machine);
  mergeGroups(graph);
  inlineGroups(graph);
  if (failed(emitFusions(graph)))
    return signalPassFailure();
  applyNumerics(func, report ? &decisions : nullptr);
  recordDecisions(func, decisions);
}

} // namespace weft::passes
