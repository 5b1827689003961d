//===- LoopBody.h - Loops and branches of graphs ---------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A conditional node of the type WHILE runs the graph that is its body as long as its condition is not 0, and
// one of the type IF once if it is not 0. Kernels set conditions, in the body or before the node. For streams
// the node is one item: it touches what all its trips touch. The steps of a trip are compared with each other
// by the edges of the body.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_LOOPBODY_H
#define WEFT_TEST_CUDASIM_DRIVER_LOOPBODY_H

#include "test/cudasim/driver/Graph.h"

#include <map>
#include <optional>

namespace weft::cusim {

/// The conditions of a graph that was instantiated, by their handles. A condition without a value was not set
/// since the graph was launched.
using ConditionValues = std::map<uint64_t, std::optional<uint32_t>>;

/// A node of the body, as a launch of the graph has it.
struct BodyStep {
  std::string what;
  std::function<Outcome()> run; ///< null if it only has a place
  std::vector<size_t> before;   ///< steps of the same body
};

struct LoopBody {
  std::string what;
  uint64_t condition = 0;
  bool isBranch = false;       ///< which has one trip at most
  std::vector<BodyStep> steps; ///< each after those that it needs
};

/// Runs the trips of a loop, or a branch if it is taken.
Outcome runLoop(const LoopBody &loop, ConditionValues &values);
/// Gives the conditions that a kernel has set their values. It is a fault if one is none of the graph.
Outcome withConditions(Outcome outcome, ConditionValues &values);
/// The same for a kernel outside of graphs, which must set none.
Outcome withoutConditions(Outcome outcome);

} // namespace weft::cusim

#endif // WEFT_TEST_CUDASIM_DRIVER_LOOPBODY_H
