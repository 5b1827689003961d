//===- Graph.h - A run as one launch ----------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_GRAPH_H
#define WEFT_RUNTIME_CUDA_DEVICE_GRAPH_H

#include "runtime/cuda/device/WorkList.h"
#include "runtime/device/Device.h"

#include <memory>
#include <vector>

namespace weft::runtime {

/// A graph of CUDA with a node for each item of a list, one after the other, ready to be launched. A node's
/// parameters are changed where those of a later list differ.
class CudaGraph {
public:
  /// `code` are the kernels of the list, which stay loaded. The graph is uploaded by way of the stream. The
  /// context is current, as for all that follows.
  static Expected<std::unique_ptr<CudaGraph>> make(const CudaContext &context, WorkList list,
                                                   std::shared_ptr<const DeviceCode> code, CUstream stream);
  ~CudaGraph();
  CudaGraph(const CudaGraph &) = delete;
  CudaGraph &operator=(const CudaGraph &) = delete;

  /// Whether a graph of this list has the same nodes.
  bool fits(const WorkList &list) const { return list.has_form_of(list_); }
  /// Sets the nodes to what a list says, which the graph fits; launches from now on are of that. After an
  /// error the graph is of no use any more.
  Status set(WorkList &list);
  Status launch(CUstream stream);

private:
  CudaGraph(const CudaContext &context, WorkList list, std::shared_ptr<const DeviceCode> code)
      : context_(context), list_(std::move(list)), code_(std::move(code)) {}
  Status build(CUstream stream);

  const CudaContext &context_;
  WorkList list_; ///< what the nodes are set to
  const std::shared_ptr<const DeviceCode> code_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
  std::vector<CUgraphNode> nodes_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_GRAPH_H
