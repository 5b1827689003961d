//===- GatherCapturable.cpp - Reorders launches for fewer graphs ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Issues all ready launches that may be in a graph, then all other ready launches, and so on. With two
// classes of launches this gives the fewest runs, if it begins with the better of the two classes; both are
// tried.
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"
#include "passes/Passes.h"
#include "passes/launch/LaunchGraph.h"

#include <set>

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_GATHERCAPTURABLE
#include "passes/Passes.h.inc"

namespace {

/// The launches that an order captures, and the number of graphs that hold them.
struct Partition {
  int64_t captured = 0, graphs = 0;
  bool isBetterThan(const Partition &other) const {
    return std::tuple(captured, -graphs) > std::tuple(other.captured, -other.graphs);
  }
};

struct GatherCapturable : impl::GatherCapturableBase<GatherCapturable> {
  using GatherCapturableBase::GatherCapturableBase;

  void runOnOperation() override {
    FuncOp func = getOperation();
    if (func.isExternal())
      return;
    if (minimum < 1) {
      func.emitError() << "weft-gather-capturable needs a minimum of at least 1 launch, found "
                       << minimum.getValue();
      return signalPassFailure();
    }
    bool hostProgram = isHostProgram(func);
    Block &body = func.getBody().front();
    auto isCut = [&](Operation &op) {
      return isLaunch(&op) && !whyNotCapturable(&op, hostProgram).first.empty();
    };
    if (llvm::none_of(body, isCut))
      return markAllAnalysesPreserved();
    LaunchGraph graph(func);
    std::vector<bool> capturable;
    for (Operation *op : graph.ops)
      capturable.push_back(!isCut(*op));
    auto program = llvm::to_vector(llvm::seq<unsigned>(0, static_cast<unsigned>(graph.ops.size())));
    std::vector<unsigned> best(program.begin(), program.end());
    Partition before = partition(graph, capturable, best), after = before;
    for (bool first : {true, false}) {
      std::vector<unsigned> order = gather(graph, capturable, first);
      if (Partition made = partition(graph, capturable, order); made.isBetterThan(after)) {
        best = std::move(order);
        after = made;
      }
    }
    if (!after.isBetterThan(before))
      return markAllAnalysesPreserved();
    graph.apply(best);
    if (!report)
      return;
    auto text = [](const Partition &p) {
      return amountText(p.captured, "launch") + " in " + amountText(p.graphs, "graph");
    };
    recordDecisions(func, {{"gathered", locationText(func.getLoc()), "launches", "", 0,
                            "moved across cuts: " + text(after) + " instead of " + text(before)}});
  }

  Partition partition(const LaunchGraph &graph, const std::vector<bool> &capturable,
                      ArrayRef<unsigned> order) {
    Partition made;
    int64_t run = 0;
    auto end = [&] {
      if (run >= minimum) {
        made.captured += run;
        ++made.graphs;
      }
      run = 0;
    };
    for (unsigned op : order)
      if (!capturable[op])
        end();
      else if (isLaunch(graph.ops[op]))
        ++run;
    end();
    return made;
  }

  static std::vector<unsigned> gather(const LaunchGraph &graph, const std::vector<bool> &capturable,
                                      bool first) {
    std::set<unsigned> ready[2];
    auto add = [&](unsigned op) { ready[capturable[op]].insert(op); };
    ReadyOps issued(graph, add);
    for (bool turn = first; !ready[0].empty() || !ready[1].empty();) {
      if (ready[turn].empty())
        turn = !turn;
      unsigned op = *ready[turn].begin();
      ready[turn].erase(ready[turn].begin());
      issued.issue(op, add);
    }
    return std::move(issued.order);
  }
};

} // namespace
} // namespace weft::passes
