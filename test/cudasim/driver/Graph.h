//===- Graph.h - Work, and graphs of it ------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Work is what a stream or a node of a graph does. A stream runs it as an item; a stream that is captured
// (Capture.h) and the functions that add nodes keep it in a graph, from which each launch makes an item.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_GRAPH_H
#define WEFT_TEST_CUDASIM_DRIVER_GRAPH_H

#include "test/cudasim/driver/HostKernel.h"
#include "test/cudasim/driver/Launch.h"
#include "test/cudasim/driver/Transfers.h"

#include <optional>
#include <variant>

namespace weft::cusim {

/// A function of the program.
struct HostCall {
  CUhostFn function = nullptr;
  void *data = nullptr;
};
/// A node that records an event outside of the graph, or waits for one.
struct EventRecord {
  Event *event = nullptr;
};
struct EventWait {
  Event *event = nullptr;
};

/// Nothing for empty nodes and for the two ends of a child graph.
using Work = std::variant<std::monostate, Launch, Copy, Fill, HostCall, HostKernel, EventRecord, EventWait>;

/// What an item for the work runs; null if it only has a place.
std::function<Outcome()> runOf(const Work &work);
/// Why the work cannot run any more, because what it needs was destroyed; empty if it can.
std::string problemOf(const Work &work);
/// "kernel 'add'", "the copy"
std::string textOf(const Work &work);
CUgraphNodeType typeOf(const Work &work);

struct Graph;
struct Node;

/// The value that a conditional node looks at. Its handle is its address.
struct Condition : Object {
  Condition(Graph &graph, Context &context) : Object("condition"), graph(graph), context(context) {
    isProgram = false;
  }
  Graph &graph; ///< that has the node, or the graph of a body that has it is in this one
  Context &context;
  std::optional<uint32_t> launchValue; ///< that a launch of the graph begins with
  Node *node = nullptr;
  bool isBranch = false; ///< the node is of the type IF, and else of the type WHILE
};

struct Node : Object {
  explicit Node(Graph &graph) : Object("node"), graph(graph) { isProgram = false; }
  Graph &graph;
  Work work;
  Graph *child = nullptr;
  Condition *condition = nullptr; ///< if there is one, the child is the body of a loop or a branch,
  CUgraph bodies[1] = {};         ///< and this is where the program finds it
  std::vector<Node *> before;
};

struct Graph : Object {
  Graph() : Object("graph") {}
  Node *add(Work work, std::vector<Node *> before, Graph *child = nullptr);
  std::vector<Node *> nodes;
  std::vector<Condition *> conditions;
  Node *owner = nullptr;          ///< the conditional node whose body this is
  const void *instance = nullptr; ///< the executable graph that was made of it last
};

/// Null, after a complaint, if the handle is none of a graph.
Graph *graphOf(CUgraph handle);
void destroy(Graph *graph);
/// The nodes, and all that they need, directly or through others.
std::set<const Node *> withAncestors(const std::vector<Node *> &nodes);

} // namespace weft::cusim

#endif // WEFT_TEST_CUDASIM_DRIVER_GRAPH_H
