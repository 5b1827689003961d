//===- Region.h - A part of the graph that becomes a function ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_REGION_H
#define WEFT_FRONTEND_GRAPH_REGION_H

#include "frontend/graph/Graph.h"
#include "ir/ArgumentRole.h"
#include "ir/CompilerOptions.h"
#include "weft/dim.hpp"

#include <string>
#include <unordered_set>
#include <vector>

namespace weft::frontend {

/// An argument of the function to make.
struct RegionArgument {
  Ref value; ///< a leaf, number or input
  std::string name;
  ir::ArgumentRole role = ir::ArgumentRole::argument;
  bool donated = false;
  std::vector<int64_t> strides = {}; ///< of the memory that calls pass; empty: row-major
  int64_t alignment = 0;             ///< bytes that divide its address; 0: as many as a GPU accesses at once
};

/// Whether calls pass the value in memory of the host although it lies on another device in the graph: a
/// number of the user, which travels in the block of scalars of the call.
bool isPassedOnHost(const RegionArgument &argument);

struct RegionResult {
  Ref value;
  std::string name;
  int tiedTo = -1;     ///< argument number
  bool shipped = true; ///< it is a result of the function's package too
};

/// A part of the graph, ready to be made into a function: `nodes` in order, each after its operands.
struct Region {
  std::string name = "main";
  std::vector<Dim> symbols; ///< of the arguments' dynamic sizes
  ir::CompilerOptions options;
  std::vector<RegionArgument> arguments;
  std::vector<RegionResult> results;
  std::vector<Node *> nodes;
  /// Why it is compiled, for the trace folder: the guard that missed, or that it is the first variant.
  std::string reason;
  std::string signature; ///< of the call that it is compiled for; empty for a lazy region
  Loc loc;               ///< of that call, or of the value that is read
  bool isBody = false;   ///< of a loop: a derivative of the loop flows to its arguments
  bool isLazy =
      false; ///< lazy: later regions of the same structure, from other source lines, run the same program
};

/// For each result, the device whose pinned memory it is made in, or null. Empty if all are null.
std::vector<runtime::Device *> pinnedFor(const Region &region);

/// Collects the nodes that `results` depend on, down to values that are computed already. Nodes between a
/// gradient and the values it is taken with respect to are computed again in any case, because the derivative
/// is built from them. `leaves` gets every value that the region reads but does not compute, in order. In the
/// lazy graph, a contiguous part of a computed value becomes a leaf too.
void collect(const std::vector<Ref> &results, bool numbersAreConstants, std::vector<Node *> &nodes,
             std::vector<Ref> &leaves);

/// Sorts leaves by their first use in `nodes`; unused ones come last. When a leaf was made must not matter
/// for the structure: what is an old value in the first iteration of a loop is a new one in the next.
template <typename Nodes> void sortByUse(const Nodes &nodes, std::vector<Ref> &leaves) {
  RefSet unsorted(leaves.begin(), leaves.end());
  std::vector<Ref> sorted;
  for (const Node *node : nodes)
    for (const Ref &operand : node->operands)
      if (unsorted.erase(operand) > 0)
        sorted.push_back(operand);
  for (Ref &leaf : leaves)
    if (unsorted.contains(leaf))
      sorted.push_back(std::move(leaf));
  leaves = std::move(sorted);
}

/// The nodes of the region that may fail on values. A check of a lazy program names its operation by its
/// index in this list. Regions of one structure share a program, and so each run reports the source lines of
/// its own region, not those of the region that was compiled.
std::vector<const Node *> fallibleNodes(const Region &region);

/// The nodes that depend on a value with respect to which the region takes a gradient, and that pass no
/// gradient on. They were recorded while gradients were off, or before their operands required one, or they
/// compute gradients.
std::unordered_set<const Node *> gradientStops(const Region &region);

/// A key of the region's structure: regions with equal keys share one compiled function.
std::string structuralKey(const Region &region);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_REGION_H
