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

struct RefHash {
  size_t operator()(const Ref &ref) const {
    return std::hash<const Node *>()(ref.node.get()) * 31 + ref.result;
  }
};
using RefSet = std::unordered_set<Ref, RefHash>;

/// An argument of the function to make.
struct RegionArgument {
  Ref value; ///< a leaf, number or input
  std::string name;
  ir::ArgumentRole role = ir::ArgumentRole::argument;
  bool donated = false;
  std::vector<int64_t> strides = {}; ///< of the memory that calls give; empty: row-major
};

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
  /// Why it is compiled, for who collects compilations: the guard that missed, or that it is the first.
  std::string reason;
  std::string signature; ///< of the call that asks for it; empty where none does
  Loc loc;               ///< of that call, or of the value that is wanted
  bool isLazy = false;   ///< a later region of the same structure runs the program, from other source lines
};

/// The nodes that `results` need, down to values that are there. Nodes between a gradient and what it is
/// taken with respect to are recomputed even if their values are there, since the derivative is built from
/// them. `leaves` gets every node that the region reads but does not compute, in order. In the lazy graph,
/// what is one piece of a value that is there becomes a leaf too.
void collect(const std::vector<Ref> &results, bool numbersAreConstants, std::vector<Node *> &nodes,
             std::vector<Ref> &leaves);

/// Puts leaves in the order in which the nodes use them, those that none uses last. When they were made is no
/// part of a structure: a value that is there from the start is to an iteration what a computed one is to the
/// next.
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

/// The nodes of the region that may fail on values. Their numbers in this list are what the checks of a lazy
/// program know of them: the source lines are those of the nodes that a call stands for, and not of those
/// that it was compiled for.
std::vector<const Node *> fallibleNodes(const Region &region);

/// The nodes that depend on what a gradient of the region is taken with respect to, and let none through:
/// they were recorded while gradients were off, or before what they read required one, or are gradients
/// themselves.
std::unordered_set<const Node *> gradientStops(const Region &region);

/// A key that two regions share if one compiled function serves both.
std::string structuralKey(const Region &region);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_REGION_H
