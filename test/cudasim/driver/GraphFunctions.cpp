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
#include "test/cudasim/driver/Capture.h"
#include "test/cudasim/driver/Functions.h"
#include "test/cudasim/driver/LoopBody.h"
#include "test/cudasim/driver/Settings.h"

#include <algorithm>
#include <utility>

namespace weft::cusim {
namespace {

/// A node of a graph that can be launched.
struct Step {
  const Node *source; ///< only to be found by; it may be destroyed
  std::string what;
  Work work;
  std::vector<size_t> before;           ///< steps; of the same body if it is in one
  std::optional<size_t> loop = {};      ///< the conditional step in whose body it is
  const Condition *condition = nullptr; ///< of a conditional step; only to be found by
  size_t row = 0;                       ///< of steps that come one after another
};

struct Executable : Object {
  Executable() : Object("executable graph") {}
  bool leave(Context &context) override {
    if (device != &context.device)
      return false;
    device->graphBytes -= std::exchange(bytes, 0);
    return true;
  }
  std::vector<Step> steps;
  std::map<const Node *, size_t> stepOf;
  ConditionValues launchValues; ///< of its conditions
  std::shared_ptr<ConditionValues> values = std::make_shared<ConditionValues>();
  std::vector<uint32_t> chains; ///< one for each row, used by all launches
  ItemPointer last;             ///< the end of the launch before
  Device *device = nullptr;     ///< whose memory it has until it is destroyed
  uint64_t bytes = 0;
};

const Node *nodeOf(CUgraphNode handle) {
  const Node *node = state().find<Node>(handle);
  if (!node)
    refuse(CUDA_ERROR_INVALID_HANDLE, "the node does not exist, or its graph was destroyed");
  return node;
}

/// Gives as many nodes as there is room for, or how many there are. What remains of the room is null.
CUresult giveNodes(const std::vector<Node *> &from, CUgraphNode *to, size_t *count) {
  if (!count)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the number of nodes is null");
  for (size_t k = 0; to && k < *count; ++k)
    to[k] = handleOf<CUgraphNode>(k < from.size() ? from[k] : nullptr);
  *count = to ? std::min(*count, from.size()) : from.size();
  return CUDA_SUCCESS;
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
  if (count && !before)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the nodes before it are null");
  std::vector<Node *> nodes;
  for (size_t k = 0; k < count; ++k) {
    nodes.push_back(state().find<Node>(before[k]));
    if (!nodes.back() || &nodes.back()->graph != graph)
      return refuse(CUDA_ERROR_INVALID_VALUE, "dependency " + std::to_string(k) + " is no node of the graph");
    if (injectedFailure("edge"))
      nodes.pop_back();
  }
  Node *node = graph->add(std::move(work), std::move(nodes), child);
  if (handle)
    *handle = handleOf<CUgraphNode>(node);
  return CUDA_SUCCESS;
}

/// A copy of a graph, which belongs to the node that it is made for.
Graph *clone(const Graph &graph) {
  Graph *made = state().make<Graph>();
  made->isProgram = false;
  std::map<const Node *, Node *> copies;
  for (const Node *node : graph.nodes) {
    copies[node] = made->add(node->work, {}, node->child ? clone(*node->child) : nullptr);
  }
  for (const Node *node : graph.nodes)
    for (const Node *one : node->before)
      copies[node]->before.push_back(copies[one]);
  return made;
}

/// Why a node of the graph cannot run; empty if all can.
std::string problemOf(const Graph &graph) {
  std::string problem;
  for (const Node *node : graph.nodes) {
    if (problem.empty())
      problem = problemOf(node->work);
    if (problem.empty() && node->child)
      problem = problemOf(*node->child);
  }
  return problem;
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

/// Appends the graph's steps, those without a predecessor after `start`. Returns the ones that nothing of the
/// graph needs.
std::vector<size_t> append(const Graph &graph, const std::vector<size_t> &start, Executable &into,
                           std::optional<size_t> loop = {}) {
  for (const Condition *condition : graph.conditions)
    into.launchValues[reinterpret_cast<uint64_t>(condition)] = condition->launchValue;
  std::map<const Node *, size_t> ends;
  std::set<size_t> last;
  for (const Node *node : sorted(graph)) {
    std::vector<size_t> before = node->before.empty() ? start : std::vector<size_t>();
    for (const Node *one : node->before) {
      before.push_back(ends[one]);
      last.erase(ends[one]);
    }
    into.stepOf[node] = into.steps.size();
    const size_t step = ends[node] = into.steps.size();
    const std::string what = !node->condition            ? textOf(node->work)
                             : node->condition->isBranch ? "the branch"
                                                         : "the loop";
    into.steps.push_back(
        {node, what + " of " + node->name(), node->work, std::move(before), loop, node->condition});
    if (node->condition) {
      append(*node->child, {}, into, step);
    } else if (node->child) {
      const std::vector<size_t> leaves = append(*node->child, {step}, into, loop);
      ends[node] = into.steps.size();
      into.steps.push_back({node, "the end of " + node->name(), {}, leaves, loop});
    }
    last.insert(ends[node]);
  }
  return last.empty() ? start : std::vector<size_t>(last.begin(), last.end());
}

/// Divides the steps into rows: a step goes on with the row of one of those before it that no other goes on
/// with.
void makeRows(Executable &executable) {
  std::vector<bool> hasNext(executable.steps.size());
  for (Step &step : executable.steps) {
    if (step.loop)
      continue;
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

/// What the item of a step runs, with the parameters that it has now; a conditional one with those of its
/// body.
std::function<Outcome()> runOf(const Executable &executable, size_t number) {
  const Step &step = executable.steps[number];
  const std::shared_ptr<ConditionValues> values = executable.values;
  if (!step.condition) {
    std::function<Outcome()> run = runOf(step.work);
    if (!std::holds_alternative<Launch>(step.work))
      return run;
    return [run = std::move(run), values] { return withConditions(run(), *values); };
  }
  LoopBody loop{step.what, reinterpret_cast<uint64_t>(step.condition), step.condition->isBranch, {}};
  std::map<size_t, size_t> places;
  for (size_t k = number + 1; k < executable.steps.size(); ++k) {
    const Step &inner = executable.steps[k];
    if (inner.loop != number)
      continue;
    BodyStep &made = loop.steps.emplace_back();
    made.what = inner.what;
    made.run = runOf(executable, k);
    for (const size_t one : inner.before)
      made.before.push_back(places.at(one));
    places[k] = loop.steps.size() - 1;
  }
  return [loop = std::move(loop), values] { return runLoop(loop, *values); };
}

//===----------------------------------------------------------------------===//
// What a graph with conditional nodes must not have
//===----------------------------------------------------------------------===//

bool hasConditions(const Graph &graph) {
  return !graph.conditions.empty() ||
         std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node *node) {
           return node->condition || (node->child && hasConditions(*node->child));
         });
}

/// Why a node must not be in the body of another one, whose kernels run on the device; empty if it may.
std::string problemInBody(const Work &work, const Device &device) {
  const Launch *launch = std::get_if<Launch>(&work);
  const Copy *copy = std::get_if<Copy>(&work);
  if (launch && launch->device != &device)
    return textOf(work) + " is of another context than the node around it";
  if (copy && (isPageable(copy->from, *copy) || isPageable(copy->to, *copy)))
    return "a copy in the body of a node has memory of the host that is not pinned";
  const bool known = std::holds_alternative<std::monostate>(work) || std::holds_alternative<Fill>(work) ||
                     std::holds_alternative<HostKernel>(work);
  return launch || copy || known ? "" : textOf(work) + " is in the body of a node";
}

/// Why a graph with conditional nodes cannot be instantiated; empty if it can. `around` is that of the node
/// whose body the graph is in.
std::string problemOfConditions(const Graph &graph, const Condition *around = nullptr) {
  for (const Condition *condition : graph.conditions)
    if (!condition->node)
      return condition->name() + " has no node";
  for (const Node *node : graph.nodes) {
    std::string problem = around ? problemInBody(node->work, around->context.device) : "";
    if (problem.empty() && node->condition && around && &node->condition->context != &around->context)
      problem = node->name() + " is of another context than the node around it";
    if (problem.empty() && node->child)
      problem = problemOfConditions(*node->child, node->condition ? node->condition : around);
    if (!problem.empty())
      return problem;
  }
  return "";
}

/// Whether a condition of a graph may be that of a node of another one: the same graph, or one of a body in
/// it.
bool isWithin(const Graph *graph, const Graph &around) {
  for (; graph; graph = graph->owner ? &graph->owner->graph : nullptr)
    if (graph == &around)
      return true;
  return false;
}

/// Reads the parameters of a conditional node.
CUresult readConditional(const CUDA_CONDITIONAL_NODE_PARAMS &source, const Graph &graph,
                         Condition *&condition) {
  condition = state().find<Condition>(reinterpret_cast<const void *>(source.handle));
  if (!condition || !isWithin(&graph, condition->graph))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the handle is of no condition of the graph");
  if (condition->node)
    return refuse(CUDA_ERROR_INVALID_VALUE, condition->name() + " has a node already");
  if (source.ctx != handleOf<CUcontext>(&condition->context))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the context is not that of the condition");
  if (source.type != CU_GRAPH_COND_TYPE_WHILE && source.type != CU_GRAPH_COND_TYPE_IF)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "conditional nodes are of the type WHILE or IF here");
  // As drivers before CUDA 12.8, which know no body for a condition of 0.
  return source.size == 1 ? CUDA_SUCCESS
                          : refuse(CUDA_ERROR_INVALID_VALUE, "a conditional node has one body here");
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
  if (hasConditions(*source))
    return refuse(CUDA_ERROR_INVALID_VALUE, "a graph with conditional nodes cannot be in a child node");
  Graph *copy = clone(*source);
  const CUresult code = addNode(node, graph, before, count, {}, copy);
  if (code != CUDA_SUCCESS)
    destroy(copy);
  return code;
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graphHandle,
                                        CUcontext contextHandle, unsigned value, unsigned flags) {
  Graph *graph = graphOf(graphHandle);
  if (!graph)
    return CUDA_ERROR_INVALID_HANDLE;
  Context *context = state().find<Context>(contextHandle);
  if (!context)
    return refuse(CUDA_ERROR_INVALID_CONTEXT, "the context does not exist");
  if (flags & ~unsigned(CU_GRAPH_COND_ASSIGN_DEFAULT))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the flags are not known");
  Condition *made = state().make<Condition>(*graph, *context);
  if (flags)
    made->launchValue = value;
  graph->conditions.push_back(made);
  *handle = reinterpret_cast<uint64_t>(static_cast<const Object *>(made));
  return CUDA_SUCCESS;
}

CUresult cuGraphAddNode(CUgraphNode *handle, CUgraph graphHandle, const CUgraphNode *before,
                        const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *parameters) {
  const Graph *graph = graphOf(graphHandle);
  if (!graph)
    return CUDA_ERROR_INVALID_HANDLE;
  if (parameters->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "only conditional nodes are added by this function here");
  for (size_t k = 0; edges && k < count; ++k)
    if (edges[k].from_port || edges[k].to_port || edges[k].type)
      return refuse(CUDA_ERROR_NOT_SUPPORTED, "edges with ports or a type are not supported");
  Condition *condition = nullptr;
  if (const CUresult code = readConditional(parameters->conditional, *graph, condition); code != CUDA_SUCCESS)
    return code;
  Graph *body = state().make<Graph>();
  body->isProgram = false;
  CUgraphNode made = nullptr;
  if (const CUresult code = addNode(&made, graphHandle, before, count, {}, body); code != CUDA_SUCCESS) {
    destroy(body);
    return code;
  }
  condition->node = state().find<Node>(made);
  condition->isBranch = parameters->conditional.type == CU_GRAPH_COND_TYPE_IF;
  condition->node->condition = condition;
  body->owner = condition->node;
  condition->node->bodies[0] = handleOf<CUgraph>(body);
  parameters->conditional.phGraph_out = condition->node->bodies;
  *handle = made;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                                const CUgraphEdgeData *edges, size_t count) {
  const Graph *graph = graphOf(handle);
  if (!graph)
    return CUDA_ERROR_INVALID_HANDLE;
  if (count && (!from || !to))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the nodes of the edges are null");
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

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
  const Graph *graph = graphOf(handle);
  return graph ? giveNodes(graph->nodes, nodes, count) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type) {
  const Node *node = nodeOf(handle);
  if (!node)
    return CUDA_ERROR_INVALID_HANDLE;
  *type = node->condition ? CU_GRAPH_NODE_TYPE_CONDITIONAL
          : node->child   ? CU_GRAPH_NODE_TYPE_GRAPH
                          : typeOf(node->work);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                    size_t *count) {
  const Node *node = nodeOf(handle);
  if (!node)
    return CUDA_ERROR_INVALID_HANDLE;
  if (edges && count)
    std::fill_n(edges, std::min(*count, node->before.size()), CUgraphEdgeData{});
  return giveNodes(node->before, nodes, count);
}

CUresult cuGraphInstantiate(CUgraphExec *handle, CUgraph graphHandle, unsigned long long flags) {
  Graph *graph = graphOf(graphHandle);
  if (!graph)
    return CUDA_ERROR_INVALID_HANDLE;
  if (graph->owner)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the graph is the body of a node");
  if (flags)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "the flags " + std::to_string(flags) + " are not supported");
  if (const std::string problem = problemOf(*graph); !problem.empty())
    return refuse(CUDA_ERROR_INVALID_VALUE, "a node cannot run: " + problem);
  if (const std::string problem = problemOfConditions(*graph); !problem.empty())
    return refuse(CUDA_ERROR_INVALID_VALUE, problem);
  if (hasConditions(*graph) && state().find<Executable>(graph->instance))
    return refuse(CUDA_ERROR_INVALID_VALUE, "a graph with conditional nodes is instantiated already");
  Executable *executable = state().make<Executable>();
  append(*graph, {}, *executable);
  makeRows(*executable);
  constexpr uint64_t bytesOfStep = 4096;
  executable->device = &currentContext()->device;
  executable->bytes = bytesOfStep * executable->steps.size();
  if (executable->bytes > settings().memory - std::min(settings().memory, executable->device->usedBytes())) {
    state().destroy(executable);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  executable->device->graphBytes += executable->bytes;
  graph->instance = static_cast<const Object *>(executable);
  *handle = handleOf<CUgraphExec>(executable);
  return CUDA_SUCCESS;
}

/// What an upload brings to a GPU is here already.
CUresult cuGraphUpload(CUgraphExec handle, CUstream streamHandle) {
  Stream *stream = state().streamOf(streamHandle);
  if (!executableOf(handle) || !stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult code = checkNotCaptured(*stream); code != CUDA_SUCCESS)
    return code;
  stream->context.enqueue(*stream, currentCall().text(), nullptr);
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream streamHandle) {
  Stream *stream = state().streamOf(streamHandle);
  Executable *executable = executableOf(handle);
  if (!executable || !stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult code = checkNotCaptured(*stream); code != CUDA_SUCCESS)
    return code;
  for (const Step &step : executable->steps)
    if (const std::string problem = problemOf(step.work); !problem.empty())
      return refuse(CUDA_ERROR_INVALID_VALUE, step.what + " cannot run: " + problem);
  Context &context = stream->context;
  // Two launches of one graph do not run beside each other.
  std::function<Outcome()> begin;
  if (!executable->launchValues.empty())
    begin = [values = executable->values, given = executable->launchValues] {
      *values = given;
      return Outcome();
    };
  const ItemPointer start = context.enqueue(*stream, currentCall().text(), begin, {executable->last});
  std::vector<ItemPointer> items;
  for (const Step &step : executable->steps) {
    if (step.loop) { // a part of the item of its loop
      items.push_back(nullptr);
      continue;
    }
    std::vector<ItemPointer> before;
    for (const size_t one : step.before)
      before.push_back(items[one]);
    if (before.empty())
      before.push_back(start);
    if (const EventWait *wait = std::get_if<EventWait>(&step.work))
      before.push_back(wait->event->recorded);
    items.push_back(state().schedule.add({&context, executable->chains[step.row],
                                          step.what + " in " + currentCall().text() + " on " + stream->name(),
                                          std::move(before), runOf(*executable, items.size()),
                                          std::holds_alternative<HostCall>(step.work)}));
    if (const EventRecord *record = std::get_if<EventRecord>(&step.work)) {
      record->event->recorded = items.back();
      record->event->place = {};
    }
  }
  executable->last = context.enqueue(*stream, "the end of " + currentCall().text(), nullptr, items);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  const Executable *executable = executableOf(handle);
  if (!executable)
    return CUDA_ERROR_INVALID_HANDLE;
  executable->device->graphBytes -= executable->bytes;
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
