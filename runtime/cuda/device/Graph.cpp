//===- Graph.cpp - A run as one launch ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/Graph.h"

#include "runtime/cuda/device/CublasLtProducts.h"

#include <algorithm>

namespace weft::runtime {
namespace {

CUDA_MEMCPY3D copy_node(CUdeviceptr to, CUdeviceptr from, size_t bytes, bool to_host = false) {
  CUDA_MEMCPY3D node = {};
  node.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  node.srcDevice = from;
  node.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  if (to_host)
    node.dstHost = reinterpret_cast<void *>(to);
  else
    node.dstDevice = to;
  node.WidthInBytes = bytes;
  node.Height = node.Depth = 1;
  return node;
}

constexpr size_t resultOperand = 2;

} // namespace

CUDA_KERNEL_NODE_PARAMS CudaGraph::kernel_node(WorkList &list, const WorkItem &item) {
  CUDA_KERNEL_NODE_PARAMS node = {};
  node.func = item.function;
  set_shape(node, item);
  node.kernelParams = list.parameters_of(item);
  if (item.part == NodePart::sets || item.part == NodePart::chooses)
    node.kernelParams[0] = &conditions_[item.node];
  if (item.part == NodePart::chooses)
    node.kernelParams[1] = &conditions_[item.node + 1];
  return node;
}

ContractionCall call_of(const std::array<CUdeviceptr, productOperands> &operands) {
  const auto at = [&](size_t i) { return reinterpret_cast<void *>(operands[i]); };
  ContractionCall call;
  call.a = at(0);
  call.b = at(1);
  call.c = at(resultOperand);
  call.bias = at(3);
  call.scratch = at(4);
  return call;
}

Expected<std::unique_ptr<CudaGraph>> CudaGraph::make(const CudaContext &context, WorkList list,
                                                     GraphParts parts, CUstream stream, CUstream captures) {
  std::unique_ptr<CudaGraph> made(new CudaGraph(context, std::move(list), std::move(parts)));
  if (Status status = made->build(stream, captures); !status)
    return status;
  return made;
}

CudaGraph::~CudaGraph() {
  if (!graph_)
    return;
  const ContextScope scope(context_);
  if (!scope.status().ok())
    return;
  // The driver keeps an executable graph until its launches are done.
  if (executable_)
    (void)context_.table().cuGraphExecDestroy(executable_);
  (void)context_.table().cuGraphDestroy(graph_);
  parts_.allocator->note_graph_bytes(-bytes_);
}

Status CudaGraph::build(CUstream stream, CUstream captures) {
  const DriverTable &table = context_.table();
  if (Status status = context_.check(table.cuGraphCreate(&graph_, 0), "making a graph"); !status)
    return status;
  levels_.push_back({graph_, {}, {}, {}});
  conditions_.resize(list_.node_count());
  copies_.resize(parts_.places.offsets.size());
  for (size_t i = 0; i < list_.items().size(); ++i) {
    const WorkItem &item = list_.items()[i];
    Status status;
    if (item.part == NodePart::ends) {
      levels_.pop_back();
      nodes_.push_back(nullptr);
    } else if (item.part == NodePart::none || item.part == NodePart::sets || item.part == NodePart::chooses) {
      status = add(item, captures);
    } else {
      status = begin_node(i);
    }
    if (!status)
      return status;
  }
  levels_.clear();
  return instantiate(stream);
}

/// The condition of a loop or a branch, which the first kernel that sets it needs.
Status CudaGraph::make_condition(uint32_t node) {
  CUgraphConditionalHandle &condition = conditions_[node];
  if (condition)
    return {};
  const CUresult code = context_.table().cuGraphConditionalHandleCreate(&condition, levels_.back().graph,
                                                                        context_.handle(), 0, /*flags=*/0);
  return context_.check(code, "making the condition of a node");
}

/// Copies to their places the operands of products in the body of a loop that nothing in it writes: once
/// before the loop, instead of in each trip. `accesses` are those of the body.
Status CudaGraph::copy_ahead(std::span<const WorkItem> body, std::span<const RangeAccess> accesses) {
  size_t product = product_;
  for (const WorkItem &item : body) {
    if (!item.product)
      continue;
    const size_t number = product++;
    const std::array<size_t, productOperands> bytes = product_bytes(*item.product);
    const std::array<CUdeviceptr, productOperands> addresses = list_.operands_of(item);
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (i == resultOperand || !parts_.places.offsets[number][i] || copies_[number][i])
        continue;
      const RangeAccess &read = list_.accesses_of(item)[i];
      if (std::ranges::any_of(accesses, [&](const RangeAccess &access) {
            return access.kind != AccessKind::read && access.space == read.space && access.begin < read.end &&
                   read.begin < access.end;
          }))
        continue;
      if (Status status = copy_operand(item, number, i, bytes[i], addresses[i]); !status)
        return status;
    }
  }
  return {};
}

/// Adds the copy of a product's operand to its place.
Status CudaGraph::copy_operand(const WorkItem &item, size_t product, size_t operand, size_t bytes,
                               CUdeviceptr address) {
  const std::array copied = {list_.accesses_of(item)[operand],
                             access_of_place(product, operand, bytes, AccessKind::written)};
  return add_copy(copy_node(place_of(product, operand, address), address, bytes), copied,
                  copies_[product][operand]);
}

/// The conditions that a kernel sets.
Status CudaGraph::make_conditions(const WorkItem &item) {
  Status status;
  if (item.part == NodePart::sets || item.part == NodePart::chooses)
    status = make_condition(item.node);
  if (status.ok() && item.part == NodePart::chooses)
    status = make_condition(item.node + 1);
  return status;
}

/// The body of the node that begins with an item; of a branch also the other branch.
std::span<const WorkItem> CudaGraph::bodies_of(size_t item) const {
  const std::span<const WorkItem> items = list_.items();
  const uint32_t last = items[item].node + (items[item].part == NodePart::begins_branch ? 1 : 0);
  size_t end = item + 1;
  while (items[end].part != NodePart::ends || items[end].node != last)
    ++end;
  return items.subspan(item + 1, end - item - 1);
}

/// What bodies touch. Trips of a `scan` in them use thousands of ranges, which are few once they are joined.
std::vector<RangeAccess> CudaGraph::accesses_of(std::span<const WorkItem> bodies) const {
  std::vector<RangeAccess> accesses = {{spaces::conditions, 0, 1, AccessKind::written}};
  for (const WorkItem &item : bodies) {
    const std::span<const RangeAccess> own = list_.accesses_of(item);
    accesses.insert(accesses.end(), own.begin(), own.end());
  }
  return joined(std::move(accesses));
}

/// Finds what a node waits for, by what its body touches. What the body of a loop copies for its products,
/// and for those of branches in it, is copied before the loop where that may be. A branch outside of loops
/// copies when it runs.
Status CudaGraph::find_earlier_of_bodies(size_t item) {
  const std::span<const WorkItem> bodies = bodies_of(item);
  std::vector<RangeAccess> accesses = accesses_of(bodies);
  if (list_.items()[item].part == NodePart::begins_loop)
    if (Status status = copy_ahead(bodies, accesses); !status)
      return status;
  if (parts_.places.bytes)
    accesses.push_back({spaces::places, 0, parts_.places.bytes, AccessKind::written});
  find_earlier(accesses);
  return {};
}

/// Adds the node of a loop or a branch, and opens its body. Of two branches one runs, so they do not wait for
/// each other, and what comes behind them waits for both.
Status CudaGraph::begin_node(size_t item) {
  const uint32_t number = list_.items()[item].node;
  const NodePart part = list_.items()[item].part;
  const bool is_loop = part == NodePart::begins_loop, is_other = part == NodePart::begins_other_branch;
  if (Status status = make_condition(number); !status)
    return status;
  Level &level = levels_.back();
  if (!is_other) {
    if (Status status = find_earlier_of_bodies(item); !status)
      return status;
    level.earlier = earlier_;
  }
  CUgraphNodeParams node = {};
  node.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  node.conditional.handle = conditions_[number];
  node.conditional.type = is_loop ? CU_GRAPH_COND_TYPE_WHILE : CU_GRAPH_COND_TYPE_IF;
  node.conditional.size = 1;
  node.conditional.ctx = context_.handle();
  CUgraphNode made = nullptr;
  const CUresult code = context_.table().cuGraphAddNode(&made, level.graph, level.earlier.data(), nullptr,
                                                        level.earlier.size(), &node);
  nodes_.push_back(made);
  Status status;
  if (is_other) {
    level.nodes.back()[1] = made;
    ++count_;
    status = context_.check(code, "adding a branch to a graph");
  } else {
    status = added(made, code, is_loop ? "adding a loop to a graph" : "adding a branch to a graph");
  }
  if (!status)
    return status;
  levels_.push_back({node.conditional.phGraph_out[0], {}, {}, {}});
  return {};
}

/// Bytes of the device that are in use, but not by the allocator, which other threads use meanwhile.
Status CudaGraph::measure(int64_t &used) const {
  size_t free = 0, total = 0;
  Status status = context_.check(context_.table().cuMemGetInfo(&free, &total), "asking for its memory");
  used = static_cast<int64_t>(total - free) - static_cast<int64_t>(parts_.allocator->memory_reserved());
  return status;
}

Status CudaGraph::instantiate(CUstream stream) {
  const DriverTable &table = context_.table();
  int64_t before = 0, after = 0;
  if (Status status = measure(before); !status)
    return status;
  CUresult code = table.cuGraphInstantiate(&executable_, graph_, 0);
  if (code == CUDA_SUCCESS)
    code = table.cuGraphUpload(executable_, stream);
  if (code != CUDA_SUCCESS)
    return context_.check(code, "making a graph of " + std::to_string(count_) + " nodes");
  Status status = measure(after);
  if (status.ok()) {
    bytes_ = std::max<int64_t>(after - before, 0);
    parts_.allocator->note_graph_bytes(bytes_);
  }
  return status;
}

void CudaGraph::find_earlier(std::span<const RangeAccess> accesses) {
  earlier_.clear();
  Level &level = levels_.back();
  for (const uint32_t number : level.dependencies.add(accesses))
    for (const CUgraphNode node : level.nodes[number])
      if (node)
        earlier_.push_back(node);
}

Status CudaGraph::added(CUgraphNode node, CUresult code, const char *what) {
  levels_.back().nodes.push_back({node, nullptr});
  ++count_;
  return context_.check(code, what);
}

Status CudaGraph::add(const WorkItem &item, CUstream captures) {
  if (item.product)
    return add_product(item, captures);
  if (item.function)
    return add_kernel(item);
  CUgraphNode node = nullptr;
  Status status =
      add_copy(copy_node(item.to, item.from, item.bytes, item.to_host), list_.accesses_of(item), node);
  nodes_.push_back(node);
  return status;
}

Status CudaGraph::add_kernel(const WorkItem &item) {
  if (Status status = make_conditions(item); !status)
    return status;
  const CUDA_KERNEL_NODE_PARAMS kernel = kernel_node(list_, item);
  CUgraphNode node = nullptr;
  find_earlier(list_.accesses_of(item));
  const CUresult code = context_.table().cuGraphAddKernelNode(&node, levels_.back().graph, earlier_.data(),
                                                              earlier_.size(), &kernel);
  nodes_.push_back(node);
  return added(node, code, "adding a kernel to a graph");
}

Status CudaGraph::add_copy(const CUDA_MEMCPY3D &copy, std::span<const RangeAccess> accesses,
                           CUgraphNode &node) {
  find_earlier(accesses);
  const CUresult code = context_.table().cuGraphAddMemcpyNode(&node, levels_.back().graph, earlier_.data(),
                                                              earlier_.size(), &copy, context_.handle());
  return added(node, code, "adding a copy to a graph");
}

CUdeviceptr CudaGraph::place_of(size_t product, size_t operand, CUdeviceptr address) const {
  const std::optional<size_t> offset = parts_.places.offsets[product][operand];
  return offset ? parts_.memory + *offset : address;
}

RangeAccess CudaGraph::access_of_place(size_t product, size_t operand, size_t bytes, AccessKind kind) const {
  const size_t begin = *parts_.places.offsets[product][operand];
  return {spaces::places, begin, begin + bytes, kind};
}

Status CudaGraph::add_product(const WorkItem &item, CUstream captures) {
  const DriverTable &table = context_.table();
  const size_t product = product_++;
  Copies &copies = copies_[product];
  const std::array<size_t, productOperands> bytes = product_bytes(*item.product);
  const std::array<CUdeviceptr, productOperands> addresses = list_.operands_of(item);
  const std::span<const RangeAccess> of_list = list_.accesses_of(item);
  std::vector<RangeAccess> accesses(of_list.begin(), of_list.end());
  std::array<CUdeviceptr, productOperands> places = {};
  for (size_t i = 0; i < addresses.size(); ++i) {
    places[i] = place_of(product, i, addresses[i]);
    if (!parts_.places.offsets[product][i])
      continue;
    const bool result = i == resultOperand;
    accesses[i] = access_of_place(product, i, bytes[i], result ? AccessKind::written : AccessKind::read);
    if (result || copies[i]) // or copied before a loop
      continue;
    if (Status status = copy_operand(item, product, i, bytes[i], addresses[i]); !status)
      return status;
  }
  // Relaxed, because what other threads and libraries do meanwhile is no business of this capture.
  if (Status status = context_.check(table.cuStreamBeginCapture(captures, CU_STREAM_CAPTURE_MODE_RELAXED),
                                     "beginning a capture");
      !status)
    return status;
  Status status = item.product->run(call_of(places), {.stream = captures});
  CUgraph captured = nullptr;
  const CUresult ended = table.cuStreamEndCapture(captures, &captured);
  if (status.ok())
    status = context_.check(ended, "ending a capture");
  CUgraphNode node = nullptr;
  if (status.ok()) {
    find_earlier(accesses);
    const CUresult code = table.cuGraphAddChildGraphNode(&node, levels_.back().graph, earlier_.data(),
                                                         earlier_.size(), captured);
    status = added(node, code, "adding a product to a graph");
  }
  if (captured)
    (void)table.cuGraphDestroy(captured); // the node has a copy
  if (!status)
    return status;
  nodes_.push_back(node);
  if (!parts_.places.offsets[product][resultOperand])
    return {};
  const size_t result = bytes[resultOperand];
  const std::array copied = {access_of_place(product, resultOperand, result, AccessKind::read),
                             of_list[resultOperand]};
  return add_copy(copy_node(addresses[resultOperand], places[resultOperand], result), copied,
                  copies[resultOperand]);
}

Status CudaGraph::set_product(const WorkList &list, const WorkItem &item, size_t product) {
  const std::array<size_t, productOperands> bytes = product_bytes(*item.product);
  const std::array<CUdeviceptr, productOperands> addresses = list.operands_of(item);
  for (size_t i = 0; i < addresses.size(); ++i) {
    const CUgraphNode node = copies_[product][i];
    if (!node)
      continue;
    const CUdeviceptr place = place_of(product, i, addresses[i]);
    const CUDA_MEMCPY3D copy = i == resultOperand ? copy_node(addresses[i], place, bytes[i])
                                                  : copy_node(place, addresses[i], bytes[i]);
    const CUresult code =
        context_.table().cuGraphExecMemcpyNodeSetParams(executable_, node, &copy, context_.handle());
    if (code != CUDA_SUCCESS)
      return context_.check(code, "changing a node of a graph");
  }
  return {};
}

Status CudaGraph::set(WorkList &list) {
  const DriverTable &table = context_.table();
  size_t product = 0;
  for (size_t i = 0; i < list.items().size(); ++i) {
    const WorkItem &item = list.items()[i];
    product += item.product ? 1 : 0;
    if (list.is_same(i, list_)) // the ends of a node are
      continue;
    CUresult code = CUDA_SUCCESS;
    if (item.product) {
      if (Status status = set_product(list, item, product - 1); !status)
        return status;
    } else if (item.function) {
      const CUDA_KERNEL_NODE_PARAMS kernel = kernel_node(list, item);
      code = table.cuGraphExecKernelNodeSetParams(executable_, nodes_[i], &kernel);
    } else {
      const CUDA_MEMCPY3D copy = copy_node(item.to, item.from, item.bytes, item.to_host);
      code = table.cuGraphExecMemcpyNodeSetParams(executable_, nodes_[i], &copy, context_.handle());
    }
    if (code != CUDA_SUCCESS)
      return context_.check(code, "changing a node of a graph");
  }
  std::swap(list_, list);
  return {};
}

Status CudaGraph::launch(CUstream stream) {
  const CUresult code = context_.table().cuGraphLaunch(executable_, stream);
  return code == CUDA_SUCCESS
             ? Status()
             : context_.check(code, "launching a graph of " + std::to_string(count_) + " nodes");
}

} // namespace weft::runtime
