//===- GraphFunctions.cpp - Graphs ------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph has nodes, each with what it does and the nodes before it. Instantiating copies the nodes into a
// row in which each one comes after those that it needs; the nodes of a child graph stand between two places
// of the row that do nothing. A launch enqueues an item for each of them, with the parameters of that time.
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Functions.h"
#include "test/cudasim/driver/Launch.h"
#include "test/cudasim/driver/Transfers.h"

#include <algorithm>
#include <variant>

namespace weft::cusim {
namespace {

struct Graph;

/// What a node does; nothing for empty nodes and for the two ends of a child graph.
using Work = std::variant<std::monostate, Launch, Copy, Fill>;

struct Node : Object {
  explicit Node(Graph &graph) : Object("node"), graph(graph) { isProgram = false; }
  Graph &graph;
  Work work;
  Graph *child = nullptr;
  std::vector<Node *> before;
};

struct Graph : Object {
  Graph() : Object("graph") {}
  std::vector<Node *> nodes;
};

/// A node of a graph that can be launched.
struct Step {
  const Node *source; ///< only to be found by; it may be destroyed
  std::string what;
  Work work;
  std::vector<size_t> before; ///< steps
  size_t row = 0;             ///< of steps that come one after another
};

struct Executable : Object {
  Executable() : Object("executable graph") {}
  std::vector<Step> steps;
  std::map<const Node *, size_t> stepOf;
  std::vector<uint32_t> chains; ///< one for each row, used by all launches
  ItemPointer last;             ///< the end of the launch before
};

Graph *graphOf(CUgraph handle) {
  Graph *graph = state().find<Graph>(handle);
  if (!graph)
    refuse(CUDA_ERROR_INVALID_HANDLE, "the graph does not exist, or was destroyed");
  return graph;
}

Executable *executableOf(CUgraphExec handle) {
  Executable *executable = state().find<Executable>(handle);
  if (!executable)
    refuse(CUDA_ERROR_INVALID_HANDLE, "the executable graph does not exist, or was destroyed");
  return executable;
}

/// Whether `later` needs `earlier`, directly or through others.
bool reaches(const Node *later, const Node *earlier) {
  return later == earlier || std::any_of(later->before.begin(), later->before.end(),
                                         [&](const Node *one) { return reaches(one, earlier); });
}

/// Adds a node after others of its graph. `handle` may be null, for the nodes of a copy.
CUresult addNode(CUgraphNode *handle, CUgraph graphHandle, const CUgraphNode *before, size_t count, Work work,
                 Graph *child = nullptr) {
  Graph *graph = graphOf(graphHandle);
  if (!graph)
    return CUDA_ERROR_INVALID_HANDLE;
  std::vector<Node *> nodes;
  for (size_t k = 0; k < count; ++k) {
    nodes.push_back(state().find<Node>(before[k]));
    if (!nodes.back() || &nodes.back()->graph != graph)
      return refuse(CUDA_ERROR_INVALID_VALUE, "dependency " + std::to_string(k) + " is no node of the graph");
  }
  Node *node = state().make<Node>(*graph);
  node->work = std::move(work);
  node->child = child;
  node->before = std::move(nodes);
  graph->nodes.push_back(node);
  if (handle)
    *handle = handleOf<CUgraphNode>(node);
  return CUDA_SUCCESS;
}

void destroy(Graph *graph) {
  for (Node *node : graph->nodes) {
    if (node->child)
      destroy(node->child);
    state().destroy(node);
  }
  state().destroy(graph);
}

/// A copy of a graph, which belongs to the node that it is made for.
Graph *clone(const Graph &graph) {
  Graph *made = state().make<Graph>();
  made->isProgram = false;
  std::map<const Node *, Node *> copies;
  for (const Node *node : graph.nodes) {
    Node *copy = state().make<Node>(*made);
    copy->work = node->work;
    copy->child = node->child ? clone(*node->child) : nullptr;
    copies[node] = copy;
    made->nodes.push_back(copy);
  }
  for (const Node *node : graph.nodes)
    for (const Node *one : node->before)
      copies[node]->before.push_back(copies[one]);
  return made;
}

/// Whether the kernel of a launch is still loaded; true for other work.
bool isLoaded(const Work &work) {
  const Launch *launch = std::get_if<Launch>(&work);
  return !launch || state().find<Kernel>(launch->kernel);
}

bool isLoaded(const Graph &graph) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const Node *node) {
    return isLoaded(node->work) && (!node->child || isLoaded(*node->child));
  });
}

/// The nodes, each after those that it needs.
std::vector<const Node *> sorted(const Graph &graph) {
  std::vector<const Node *> order;
  std::set<const Node *> done;
  std::function<void(const Node *)> visit = [&](const Node *node) {
    if (!done.insert(node).second)
      return;
    for (const Node *one : node->before)
      visit(one);
    order.push_back(node);
  };
  for (const Node *node : graph.nodes)
    visit(node);
  return order;
}

std::string textOf(const Node &node) {
  if (const Launch *launch = std::get_if<Launch>(&node.work))
    return "kernel '" + launch->kernel->entry + "' of " + node.name();
  return std::string(std::get_if<Copy>(&node.work) ? "the copy of " : "the fill of ") + node.name();
}

/// Appends the graph's steps, those without a predecessor after `start`. Returns the ones that nothing of the
/// graph needs.
std::vector<size_t> append(const Graph &graph, const std::vector<size_t> &start, Executable &into) {
  std::map<const Node *, size_t> ends;
  std::set<size_t> last;
  for (const Node *node : sorted(graph)) {
    std::vector<size_t> before = node->before.empty() ? start : std::vector<size_t>();
    for (const Node *one : node->before) {
      before.push_back(ends[one]);
      last.erase(ends[one]);
    }
    into.stepOf[node] = into.steps.size();
    into.steps.push_back({node, textOf(*node), node->work, std::move(before)});
    if (node->child) {
      const std::vector<size_t> leaves = append(*node->child, {into.steps.size() - 1}, into);
      into.steps.push_back({node, "the end of " + node->name(), {}, leaves});
    }
    ends[node] = into.steps.size() - 1;
    last.insert(ends[node]);
  }
  return last.empty() ? start : std::vector<size_t>(last.begin(), last.end());
}

/// Divides the steps into rows: a step goes on with the row of one of those before it that no other goes on
/// with.
void makeRows(Executable &executable) {
  std::vector<bool> hasNext(executable.steps.size());
  for (Step &step : executable.steps) {
    step.row = executable.chains.size();
    for (const size_t one : step.before)
      if (!hasNext[one]) {
        step.row = executable.steps[one].row;
        hasNext[one] = true;
        break;
      }
    if (step.row == executable.chains.size())
      executable.chains.push_back(state().schedule.newChain());
  }
}

std::function<Outcome()> runOf(const Work &work) {
  if (const Launch *launch = std::get_if<Launch>(&work))
    return [launch = *launch] { return runLaunch(launch); };
  if (const Copy *copy = std::get_if<Copy>(&work))
    return [copy = *copy] { return runCopy(copy); };
  if (const Fill *fill = std::get_if<Fill>(&work))
    return [fill = *fill] { return runFill(fill); };
  return nullptr;
}

CUresult readKernel(const CUDA_KERNEL_NODE_PARAMS &source, Launch &launch) {
  const Context *context = source.func || !source.ctx ? currentContext() : state().find<Context>(source.ctx);
  if (!context)
    return refuse(CUDA_ERROR_INVALID_CONTEXT, "the context of the node does not exist");
  launch.device = &context->device;
  launch.kernel =
      kernelOf(source.func ? static_cast<const void *>(source.func) : source.kern, *launch.device);
  if (!launch.kernel)
    return CUDA_ERROR_INVALID_HANDLE;
  launch.grid = {source.gridDimX, source.gridDimY, source.gridDimZ};
  launch.block = {source.blockDimX, source.blockDimY, source.blockDimZ};
  launch.dynamicShared = source.sharedMemBytes;
  return readLaunch(launch, source.kernelParams, source.extra);
}

CUresult readChecked(const CUDA_MEMCPY3D &source, Copy &copy) {
  const CUresult code = readCopy(source, copy);
  return code == CUDA_SUCCESS ? checkCopy(copy) : code;
}

CUresult readFill(const CUDA_MEMSET_NODE_PARAMS &source, Fill &fill) {
  if (source.elementSize != 1 && source.elementSize != 2 && source.elementSize != 4)
    return refuse(CUDA_ERROR_INVALID_VALUE, "elements have 1, 2 or 4 bytes");
  fill.to = {source.dst, source.pitch, 0};
  fill.width = source.width;
  fill.rows = source.height;
  fill.value = source.value;
  fill.elementBytes = source.elementSize;
  return checkFill(fill);
}

/// Replaces what a node of an executable graph does by work of the same kind.
CUresult replace(CUgraphExec handle, CUgraphNode node, Work work) {
  Executable *executable = executableOf(handle);
  if (!executable)
    return CUDA_ERROR_INVALID_HANDLE;
  auto found = executable->stepOf.find(reinterpret_cast<const Node *>(node));
  if (found == executable->stepOf.end())
    return refuse(CUDA_ERROR_INVALID_VALUE, "the node is none of the graph that was instantiated");
  Step &step = executable->steps[found->second];
  if (step.work.index() != work.index())
    return refuse(CUDA_ERROR_INVALID_VALUE, step.what + " does something of another kind");
  const Launch *before = std::get_if<Launch>(&step.work), *after = std::get_if<Launch>(&work);
  if (before && before->device != after->device)
    return refuse(CUDA_ERROR_INVALID_VALUE, step.what + " is of another context");
  step.work = std::move(work);
  return CUDA_SUCCESS;
}

} // namespace

namespace functions {

CUresult cuGraphCreate(CUgraph *handle, unsigned flags) {
  if (flags)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the flags must be 0");
  *handle = handleOf<CUgraph>(state().make<Graph>());
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle) {
  Graph *graph = graphOf(handle);
  if (!graph)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!graph->isProgram)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the graph belongs to a node of another graph");
  destroy(graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS *parameters) {
  Launch launch;
  const CUresult code = readKernel(*parameters, launch);
  return code == CUDA_SUCCESS ? addNode(node, graph, before, count, std::move(launch)) : code;
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                              const CUDA_MEMCPY3D *parameters, CUcontext) {
  Copy copy;
  const CUresult code = readChecked(*parameters, copy);
  return code == CUDA_SUCCESS ? addNode(node, graph, before, count, std::move(copy)) : code;
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext) {
  Fill fill;
  const CUresult code = readFill(*parameters, fill);
  return code == CUDA_SUCCESS ? addNode(node, graph, before, count, fill) : code;
}

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count) {
  return addNode(node, graph, before, count, {});
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                  CUgraph child) {
  const Graph *source = graphOf(child);
  if (!source)
    return CUDA_ERROR_INVALID_HANDLE;
  if (child == graph)
    return refuse(CUDA_ERROR_INVALID_VALUE, "a graph cannot be its own child");
  Graph *copy = clone(*source);
  const CUresult code = addNode(node, graph, before, count, {}, copy);
  if (code != CUDA_SUCCESS)
    destroy(copy);
  return code;
}

CUresult cuGraphAddDependencies(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                                const CUgraphEdgeData *edges, size_t count) {
  const Graph *graph = graphOf(handle);
  if (!graph)
    return CUDA_ERROR_INVALID_HANDLE;
  for (size_t k = 0; k < count; ++k) {
    Node *earlier = state().find<Node>(from[k]), *later = state().find<Node>(to[k]);
    if (!earlier || !later || &earlier->graph != graph || &later->graph != graph)
      return refuse(CUDA_ERROR_INVALID_VALUE,
                    "edge " + std::to_string(k) + " is not between two of its nodes");
    if (edges && (edges[k].from_port || edges[k].to_port || edges[k].type))
      return refuse(CUDA_ERROR_NOT_SUPPORTED, "edges with ports or a type are not supported");
    if (reaches(earlier, later))
      return refuse(CUDA_ERROR_INVALID_VALUE, "edge " + std::to_string(k) + " makes a cycle");
    if (std::find(later->before.begin(), later->before.end(), earlier) != later->before.end())
      return refuse(CUDA_ERROR_INVALID_VALUE, "edge " + std::to_string(k) + " is there already");
    later->before.push_back(earlier);
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec *handle, CUgraph graphHandle, unsigned long long flags) {
  const Graph *graph = graphOf(graphHandle);
  if (!graph)
    return CUDA_ERROR_INVALID_HANDLE;
  if (flags)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "the flags " + std::to_string(flags) + " are not supported");
  if (!isLoaded(*graph))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the module of one of its kernels was unloaded");
  Executable *executable = state().make<Executable>();
  append(*graph, {}, *executable);
  makeRows(*executable);
  *handle = handleOf<CUgraphExec>(executable);
  return CUDA_SUCCESS;
}

/// What an upload brings to a GPU is here already.
CUresult cuGraphUpload(CUgraphExec handle, CUstream streamHandle) {
  Stream *stream = state().streamOf(streamHandle);
  if (!executableOf(handle) || !stream)
    return CUDA_ERROR_INVALID_HANDLE;
  stream->context.enqueue(*stream, currentCall().text(), nullptr);
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream streamHandle) {
  Stream *stream = state().streamOf(streamHandle);
  Executable *executable = executableOf(handle);
  if (!executable || !stream)
    return CUDA_ERROR_INVALID_HANDLE;
  for (const Step &step : executable->steps)
    if (!isLoaded(step.work))
      return refuse(CUDA_ERROR_INVALID_VALUE, "the module of " + step.what + " was unloaded");
  Context &context = stream->context;
  // Two launches of one graph do not run beside each other.
  const ItemPointer start = context.enqueue(*stream, currentCall().text(), nullptr, {executable->last});
  std::vector<ItemPointer> items;
  for (const Step &step : executable->steps) {
    std::vector<ItemPointer> before;
    for (const size_t one : step.before)
      before.push_back(items[one]);
    if (before.empty())
      before.push_back(start);
    items.push_back(state().schedule.add({&context, executable->chains[step.row],
                                          step.what + " in " + currentCall().text() + " on " + stream->name(),
                                          std::move(before), runOf(step.work)}));
  }
  executable->last = context.enqueue(*stream, "the end of " + currentCall().text(), nullptr, items);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  const Executable *executable = executableOf(handle);
  if (!executable)
    return CUDA_ERROR_INVALID_HANDLE;
  state().destroy(executable); // its items have what they need
  return CUDA_SUCCESS;
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS *parameters) {
  Launch launch;
  const CUresult code = readKernel(*parameters, launch);
  return code == CUDA_SUCCESS ? replace(executable, node, std::move(launch)) : code;
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                        const CUDA_MEMCPY3D *parameters, CUcontext) {
  Copy copy;
  const CUresult code = readChecked(*parameters, copy);
  return code == CUDA_SUCCESS ? replace(executable, node, std::move(copy)) : code;
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext) {
  Fill fill;
  const CUresult code = readFill(*parameters, fill);
  return code == CUDA_SUCCESS ? replace(executable, node, fill) : code;
}

} // namespace functions
} // namespace weft::cusim
