//===- GraphLoops.h - Loops of graphs --------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A conditional node of a graph runs its body as long as a condition is not 0, which a kernel sets by
// cudaGraphSetConditional. The driver puts in that function when it loads the kernel. Before the runtime
// relies on such nodes, the device shows that they work: a graph with a loop in a loop counts the trips, all
// of its nodes are changed, and it counts again; and it counts nothing behind a failure.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_GRAPHLOOPS_H
#define WEFT_RUNTIME_CUDA_DEVICE_GRAPHLOOPS_H

#include "runtime/cuda/device/Code.h"

#include <memory>
#include <string>
#include <string_view>

namespace weft::runtime {

class GraphLoops {
public:
  /// Of the device's memory that the trial counts in, behind `never_failed`.
  static constexpr size_t bytes = 24;
  static constexpr std::string_view switchedOff =
      "graphs, or loops in them, are switched off in the environment";

  /// Loads the kernels and tries them. Nothing that fails is an error: there is a refusal then. The context
  /// is current.
  static std::unique_ptr<const GraphLoops> probe(const CudaContext &context, CUdeviceptr never_failed,
                                                 CachingAllocator &allocator);
  /// Of a device that must not have any.
  GraphLoops(const CudaContext &context, std::string refusal)
      : refusal_(std::move(refusal)), libraries_(context) {}

  /// Why the device has no loops in its graphs; empty if it has.
  const std::string &refusal() const { return refusal_; }
  /// The kernel that sets a condition (WorkList::add_setter).
  CUfunction set_condition() const { return set_condition_; }

private:
  Status try_loops(const CudaContext &context, CUdeviceptr never_failed, CachingAllocator &allocator);
  Status load(const CudaContext &context);

  std::string refusal_;
  CudaLibraries libraries_;
  CUfunction set_condition_ = nullptr, count_trip_ = nullptr;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_GRAPHLOOPS_H
