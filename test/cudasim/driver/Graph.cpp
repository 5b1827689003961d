//===- Graph.cpp - Work, and graphs of it --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Graph.h"

namespace weft::cusim {

std::function<Outcome()> runOf(const Work &work) {
  if (const Launch *launch = std::get_if<Launch>(&work))
    return [launch = *launch] { return runLaunch(launch); };
  if (const Copy *copy = std::get_if<Copy>(&work))
    return [copy = *copy] { return runCopy(copy); };
  if (const Fill *fill = std::get_if<Fill>(&work))
    return [fill = *fill] { return runFill(fill); };
  if (const HostKernel *kernel = std::get_if<HostKernel>(&work))
    return [kernel = *kernel] { return runHostKernel(kernel); };
  if (const HostCall *call = std::get_if<HostCall>(&work))
    return [call = *call] {
      call.function(call.data);
      return Outcome();
    };
  return nullptr;
}

std::string problemOf(const Work &work) {
  const Launch *launch = std::get_if<Launch>(&work);
  if (launch && !state().find<Kernel>(launch->kernel))
    return "its module was unloaded";
  const EventRecord *record = std::get_if<EventRecord>(&work);
  const EventWait *wait = std::get_if<EventWait>(&work);
  if ((record && !state().find<Event>(record->event)) || (wait && !state().find<Event>(wait->event)))
    return "its event was destroyed";
  return "";
}

std::string textOf(const Work &work) {
  if (const Launch *launch = std::get_if<Launch>(&work))
    return "kernel '" + launch->kernel->entry + "'";
  if (const HostKernel *kernel = std::get_if<HostKernel>(&work))
    return kernel->name;
  static constexpr const char *texts[] = {"the place", "",           "the copy",         "the fill",
                                          "the call",  "the kernel", "the event record", "the event wait"};
  static_assert(std::size(texts) == std::variant_size_v<Work>);
  return texts[work.index()];
}

CUgraphNodeType typeOf(const Work &work) {
  static constexpr CUgraphNodeType types[] = {CU_GRAPH_NODE_TYPE_EMPTY,        CU_GRAPH_NODE_TYPE_KERNEL,
                                              CU_GRAPH_NODE_TYPE_MEMCPY,       CU_GRAPH_NODE_TYPE_MEMSET,
                                              CU_GRAPH_NODE_TYPE_HOST,         CU_GRAPH_NODE_TYPE_KERNEL,
                                              CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_WAIT_EVENT};
  static_assert(std::size(types) == std::variant_size_v<Work>);
  return types[work.index()];
}

Node *Graph::add(Work work, std::vector<Node *> before, Graph *child) {
  Node *node = state().make<Node>(*this);
  node->work = std::move(work);
  node->child = child;
  node->before = std::move(before);
  nodes.push_back(node);
  return node;
}

Graph *graphOf(CUgraph handle) {
  Graph *graph = state().find<Graph>(handle);
  if (!graph)
    refuse(CUDA_ERROR_INVALID_HANDLE, "the graph does not exist, or was destroyed");
  return graph;
}

void destroy(Graph *graph) {
  for (Node *node : graph->nodes) {
    if (node->child)
      destroy(node->child);
    state().destroy(node);
  }
  for (const Condition *condition : graph->conditions)
    state().destroy(condition);
  state().destroy(graph);
}

std::set<const Node *> withAncestors(const std::vector<Node *> &nodes) {
  std::set<const Node *> found;
  std::vector<const Node *> open(nodes.begin(), nodes.end());
  while (!open.empty()) {
    const Node *one = open.back();
    open.pop_back();
    if (found.insert(one).second)
      open.insert(open.end(), one->before.begin(), one->before.end());
  }
  return found;
}

} // namespace weft::cusim
