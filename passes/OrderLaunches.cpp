//===- OrderLaunches.cpp - Orders launches to need less memory ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts the values that the memory plan puts into its arena: all that are not results of the function. A
// value is live from the launch that computes it to the last launch that reads it; an update and its base are
// one value. The largest sum of live bytes at one launch is the lower bound of the plan.
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"
#include "passes/Passes.h"
#include "passes/launch/ArenaPacking.h"
#include "passes/launch/LaunchGraph.h"
#include "passes/launch/LaunchStorage.h"

#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_ORDERLAUNCHES
#include "passes/Passes.h.inc"

namespace {

/// The temporaries of a launch list, and the ops that make and read them.
class Temporaries {
public:
  Temporaries(const LaunchGraph &graph, FuncOp func);

  struct Buffer {
    int64_t bytes = 0;
    unsigned readers = 0;   ///< how many ops that are not issued yet read it
    uint64_t readerSum = 0; ///< the sum of these ops' numbers; if one op is left, its number
  };
  std::vector<Buffer> buffers;
  std::vector<SmallVector<unsigned, 2>> makes, reads; ///< the temporaries that each op makes and reads
  /// For each op: results that may reuse a buffer whose live range ends there, as (made, dying).
  std::vector<SmallVector<std::pair<unsigned, unsigned>, 1>> replaces;
};

Temporaries::Temporaries(const LaunchGraph &graph, FuncOp func) {
  SymbolRanges ranges = rangesOf(func);
  const llvm::DenseSet<Value> returned = returnedHeads(func);
  StorageHeads heads;
  llvm::DenseMap<Value, unsigned> bufferOf; // by head
  makes.resize(graph.ops.size());
  reads.resize(graph.ops.size());
  replaces.resize(graph.ops.size());
  for (auto [i, op] : llvm::enumerate(graph.ops)) {
    if (graph.isFree(static_cast<unsigned>(i)))
      continue;
    llvm::SmallDenseSet<unsigned, 8> seen;
    for (Value operand : op->getOperands())
      if (auto it = bufferOf.find(heads.of(operand)); it != bufferOf.end())
        if (seen.insert(it->second).second) {
          reads[i].push_back(it->second);
          ++buffers[it->second].readers;
          buffers[it->second].readerSum += i;
        }
    for (OpResult result : op->getResults()) {
      std::optional<int64_t> bytes = temporaryBytes(result, heads, returned, ranges);
      if (!bytes)
        continue;
      auto made = static_cast<unsigned>(buffers.size());
      bufferOf[result] = made;
      buffers.push_back({static_cast<int64_t>(llvm::alignTo(*bytes, arenaAlignment)), 0, 0});
      makes[i].push_back(made);
      for (OpOperand &operand : op->getOpOperands()) {
        Value root = storageRoot(operand.get());
        auto held = bufferOf.find(heads.of(root));
        if (held == bufferOf.end() || held->second == made ||
            bytesOf(root.getType()) != bytesOf(result.getType()))
          continue;
        if (readsOnlyInPlace(op, root, result.getResultNumber()))
          replaces[i].push_back({made, held->second});
      }
    }
  }
}

/// Issues ops one after the other, and counts live bytes.
class Simulation {
public:
  explicit Simulation(const Temporaries &temporaries)
      : temporaries(temporaries), buffers(temporaries.buffers), freed(temporaries.reads.size()) {
    for (const Temporaries::Buffer &buffer : buffers)
      if (buffer.readers == 1)
        freed[buffer.readerSum] += buffer.bytes;
  }

  int64_t made(unsigned op) const {
    int64_t bytes = 0;
    for (unsigned buffer : temporaries.makes[op])
      bytes += buffers[buffer].bytes;
    return bytes;
  }
  /// How many bytes more are live after the op than before it. A result that nothing reads is live only while
  /// the op runs.
  int64_t growth(unsigned op) const {
    int64_t bytes = -freed[op];
    for (unsigned buffer : temporaries.makes[op])
      bytes += buffers[buffer].readers ? buffers[buffer].bytes : 0;
    return bytes;
  }
  /// The bytes that are live while the op runs.
  int64_t during(unsigned op) const {
    SmallVector<unsigned, 2> taken;
    int64_t bytes = live + made(op);
    for (auto [into, dying] : temporaries.replaces[op])
      if (buffers[dying].readers == 1 && !llvm::is_contained(taken, dying) &&
          !llvm::is_contained(taken, into)) {
        taken.append({dying, into});
        bytes -= buffers[dying].bytes;
      }
    return bytes;
  }
  /// Issues an op. Calls `changed` for each op whose growth changes.
  void issue(unsigned op, llvm::function_ref<void(unsigned)> changed = [](unsigned) {}) {
    peak = std::max(peak, during(op));
    live += growth(op);
    for (unsigned id : temporaries.reads[op]) {
      Temporaries::Buffer &buffer = buffers[id];
      buffer.readerSum -= op;
      if (--buffer.readers == 1) {
        freed[buffer.readerSum] += buffer.bytes;
        changed(static_cast<unsigned>(buffer.readerSum));
      }
    }
  }
  int64_t live = 0, peak = 0;

private:
  const Temporaries &temporaries;
  std::vector<Temporaries::Buffer> buffers;
  std::vector<int64_t> freed; ///< the bytes that each op would free if it were issued next
};

/// Follows the order of the text while that keeps the limit, and otherwise issues the op that grows least.
std::vector<unsigned> listOrder(const LaunchGraph &graph, const Temporaries &temporaries, int64_t limit) {
  Simulation state(temporaries);
  std::set<unsigned> inOrder;
  std::set<std::pair<int64_t, unsigned>> byGrowth;
  std::vector<int64_t> growth(graph.ops.size());
  auto add = [&](unsigned op) {
    inOrder.insert(op);
    byGrowth.insert({growth[op] = state.growth(op), op});
  };
  ReadyOps issued(graph, add);
  while (!inOrder.empty()) {
    unsigned op = *inOrder.begin();
    if (state.during(op) > limit)
      op = byGrowth.begin()->second;
    inOrder.erase(op);
    byGrowth.erase({growth[op], op});
    state.issue(op, [&](unsigned other) {
      if (inOrder.count(other)) {
        byGrowth.erase({growth[other], other});
        byGrowth.insert({growth[other] = state.growth(other), other});
      }
    });
    issued.issue(op, add);
  }
  return std::move(issued.order);
}

/// Issues the ops that the first sink needs, then those of the next sink, in depth-first order, so that a
/// value is computed just before it is needed.
std::vector<unsigned> depthFirst(const LaunchGraph &graph) {
  std::vector<unsigned> order, position(graph.ops.size(), 0);
  std::vector<bool> entered(graph.ops.size(), false);
  SmallVector<unsigned> stack;
  for (unsigned end = 0; end < graph.ops.size(); ++end) {
    if (!graph.next[end].empty() || entered[end])
      continue;
    stack.push_back(end);
    entered[end] = true;
    while (!stack.empty()) {
      unsigned op = stack.back();
      if (position[op] < graph.before[op].size()) {
        unsigned from = graph.before[op][position[op]++];
        if (!entered[from]) {
          entered[from] = true;
          stack.push_back(from);
        }
        continue;
      }
      order.push_back(op);
      stack.pop_back();
    }
  }
  return order;
}

struct OrderLaunches : impl::OrderLaunchesBase<OrderLaunches> {
  using OrderLaunchesBase::OrderLaunchesBase;

  void runOnOperation() override {
    FuncOp func = getOperation();
    if (func.isExternal() || limit < 0)
      return markAllAnalysesPreserved();
    LaunchGraph graph(func);
    Temporaries temporaries(graph, func);
    auto peakOf = [&](ArrayRef<unsigned> order) {
      Simulation state(temporaries);
      for (unsigned op : order)
        state.issue(op);
      return state.peak;
    };
    auto program = llvm::to_vector(llvm::seq<unsigned>(0, static_cast<unsigned>(graph.ops.size())));
    int64_t before = peakOf(program), least = before;
    if (before <= limit)
      return markAllAnalysesPreserved();
    std::vector<unsigned> best;
    using Maker = std::function<std::vector<unsigned>()>;
    for (const Maker &make : {Maker([&] { return listOrder(graph, temporaries, limit); }),
                              Maker([&] { return listOrder(graph, temporaries, 0); }),
                              Maker([&] { return depthFirst(graph); })}) {
      std::vector<unsigned> order = make();
      if (int64_t peak = peakOf(order); peak < least) {
        least = peak;
        best = std::move(order);
      }
      if (least <= limit)
        break;
    }
    if (!best.empty())
      graph.apply(best);
    if (report)
      recordDecisions(func, {{"ordered", locationText(func.getLoc()), "launches", "", 0,
                              std::to_string(before) + " bytes of temporaries at one time, the limit is " +
                                  std::to_string(limit) + "; " +
                                  (best.empty() ? "no order was found that needs less"
                                                : "in another order " + std::to_string(least))}});
  }
};

} // namespace
} // namespace weft::passes
