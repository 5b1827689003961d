//===- Graph.cpp - A run as one launch ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/Graph.h"

namespace weft::runtime {
namespace {

CUDA_KERNEL_NODE_PARAMS kernel_node(WorkList &list, const WorkItem &item) {
  CUDA_KERNEL_NODE_PARAMS node = {};
  node.func = item.function;
  node.gridDimX = item.blocks;
  node.blockDimX = item.threads;
  node.gridDimY = node.gridDimZ = node.blockDimY = node.blockDimZ = 1;
  node.sharedMemBytes = item.shared_bytes;
  node.kernelParams = list.parameters_of(item);
  return node;
}

CUDA_MEMCPY3D copy_node(const WorkItem &item) {
  CUDA_MEMCPY3D node = {};
  node.srcMemoryType = node.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  node.srcDevice = item.from;
  node.dstDevice = item.to;
  node.WidthInBytes = item.bytes;
  node.Height = node.Depth = 1;
  return node;
}

} // namespace

Expected<std::unique_ptr<CudaGraph>> CudaGraph::make(const CudaContext &context, WorkList list,
                                                     std::shared_ptr<const DeviceCode> code,
                                                     CUstream stream) {
  std::unique_ptr<CudaGraph> made(new CudaGraph(context, std::move(list), std::move(code)));
  if (Status status = made->build(stream); !status)
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
}

Status CudaGraph::build(CUstream stream) {
  const DriverTable &table = context_.table();
  CUresult code = table.cuGraphCreate(&graph_, 0);
  for (const WorkItem &item : list_.items()) {
    if (code != CUDA_SUCCESS)
      break;
    CUgraphNode node = nullptr;
    const CUgraphNode *const before = nodes_.empty() ? nullptr : &nodes_.back();
    if (item.function) {
      const CUDA_KERNEL_NODE_PARAMS kernel = kernel_node(list_, item);
      code = table.cuGraphAddKernelNode(&node, graph_, before, before ? 1 : 0, &kernel);
    } else {
      const CUDA_MEMCPY3D copy = copy_node(item);
      code = table.cuGraphAddMemcpyNode(&node, graph_, before, before ? 1 : 0, &copy, context_.handle());
    }
    nodes_.push_back(node);
  }
  if (code == CUDA_SUCCESS)
    code = table.cuGraphInstantiate(&executable_, graph_, 0);
  if (code == CUDA_SUCCESS)
    code = table.cuGraphUpload(executable_, stream);
  return context_.check(code, "making a graph of " + std::to_string(list_.items().size()) + " nodes");
}

Status CudaGraph::set(WorkList &list) {
  const DriverTable &table = context_.table();
  for (size_t i = 0; i < list.items().size(); ++i) {
    if (list.is_same(i, list_))
      continue;
    const WorkItem &item = list.items()[i];
    CUresult code = CUDA_SUCCESS;
    if (item.function) {
      const CUDA_KERNEL_NODE_PARAMS kernel = kernel_node(list, item);
      code = table.cuGraphExecKernelNodeSetParams(executable_, nodes_[i], &kernel);
    } else {
      const CUDA_MEMCPY3D copy = copy_node(item);
      code = table.cuGraphExecMemcpyNodeSetParams(executable_, nodes_[i], &copy, context_.handle());
    }
    if (code != CUDA_SUCCESS)
      return context_.check(code, "changing a node of a graph");
  }
  std::swap(list_, list);
  return {};
}

Status CudaGraph::launch(CUstream stream) {
  return context_.check(context_.table().cuGraphLaunch(executable_, stream),
                        "launching a graph of " + std::to_string(nodes_.size()) + " nodes");
}

} // namespace weft::runtime
