//===- GraphLoops.h - Loops of graphs --------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A conditional node of a graph runs its body as long as a condition is not 0, or once if it is not 0. A
// kernel sets the condition by cudaGraphSetConditional. The driver puts in that function when it loads the
// kernel. Before the runtime relies on such nodes, the device shows that they work: a graph with a loop and
// two branches in a loop counts the trips and how often each branch ran, all of its nodes are changed, and it
// counts again; and it counts nothing behind a failure.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_GRAPHLOOPS_H
#define WEFT_RUNTIME_CUDA_DEVICE_GRAPHLOOPS_H

#include "runtime/cuda/device/Code.h"
#include "runtime/cuda/device/WorkList.h"

#include <memory>
#include <string>
#include <string_view>

namespace weft::runtime {

class GraphLoops {
public:
  /// Of the device's memory that the trial counts in, behind `never_failed`.
  static constexpr size_t bytes = 32;
  static constexpr std::string_view switchedOff =
      "graphs, or loops and branches in them, are switched off in the environment";

  /// Loads the kernels and tries them. Nothing that fails is an error: there is a refusal then. The context
  /// is current.
  static std::unique_ptr<const GraphLoops> probe(const CudaContext &context, CUdeviceptr never_failed,
                                                 CachingAllocator &allocator);
  /// Of a device that must not have any.
  GraphLoops(const CudaContext &context, std::string refusal)
      : refusal_(std::move(refusal)), libraries_(context) {}

  /// Why the device has no loops and branches in its graphs; empty if it has.
  const std::string &refusal() const { return refusal_; }
  /// The kernel that sets a condition (WorkList::add_setter).
  CUfunction set_condition() const { return set_condition_; }
  /// The kernel that sets those of two branches (WorkList::add_chooser).
  CUfunction choose_branch() const { return choose_branch_; }

private:
  Status try_loops(const CudaContext &context, CUdeviceptr never_failed, CachingAllocator &allocator);
  Status load(const CudaContext &context);
  WorkList write_down(CUdeviceptr at, uint32_t outer_trips, uint32_t inner_trips, size_t one) const;

  std::string refusal_;
  CudaLibraries libraries_;
  CUfunction set_condition_ = nullptr, choose_branch_ = nullptr, count_trip_ = nullptr;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_GRAPHLOOPS_H
