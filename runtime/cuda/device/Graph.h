//===- Graph.h - A run as one launch ----------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_GRAPH_H
#define WEFT_RUNTIME_CUDA_DEVICE_GRAPH_H

#include "runtime/cuda/device/ProductPlaces.h"
#include "runtime/cuda/device/WorkList.h"
#include "runtime/device/Device.h"
#include "runtime/gemm/Contraction.h"

#include <memory>
#include <vector>

namespace weft::runtime {

/// What a graph is made with, beside its list.
struct GraphParts {
  /// The kernels of the list, which stay loaded, and its products.
  std::shared_ptr<const DeviceCode> code;
  std::vector<std::shared_ptr<const Contraction>> products;
  /// Where operands of products that move are, and the memory for these places.
  ProductPlaces::Layout places;
  CUdeviceptr memory = 0;
  /// The allocator of the device, which is told what the driver takes for the graph.
  CachingAllocator *allocator = nullptr;
};

/// A graph of CUDA that does the items of a list, ready to be launched. An item waits for those before it
/// whose bytes it needs (Dependencies), and may run beside others. The parameters of kernels and copies are
/// changed where those of a later list differ. A loop or a branch is a conditional node, which waits for what
/// any item of its body needs, and the body is a graph of its own.
class CudaGraph {
public:
  /// The list has accesses. The graph is uploaded by way of `stream`; products are captured on `captures`, on
  /// which nothing runs. The context is current, as for all that follows.
  static Expected<std::unique_ptr<CudaGraph>> make(const CudaContext &context, WorkList list,
                                                   GraphParts parts, CUstream stream, CUstream captures);
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
  /// The copies of a product's operands that move; null of others.
  using Copies = std::array<CUgraphNode, productOperands>;
  /// The graph, or the body of a conditional node in it, while it is built.
  struct Level {
    CUgraph graph = nullptr;
    /// In the order in which they were added. Two branches have one place, of which the second is null for
    /// other nodes.
    std::vector<std::array<CUgraphNode, 2>> nodes;
    Dependencies dependencies;        ///< of these, by their numbers
    std::vector<CUgraphNode> earlier; ///< what a branch comes after, and the other branch, too
  };

  CudaGraph(const CudaContext &context, WorkList list, GraphParts parts)
      : context_(context), list_(std::move(list)), parts_(std::move(parts)) {}
  Status build(CUstream stream, CUstream captures);
  Status instantiate(CUstream stream);
  Status measure(int64_t &used) const;
  Status add(const WorkItem &item, CUstream captures);
  Status add_kernel(const WorkItem &item);
  Status add_copy(const CUDA_MEMCPY3D &copy, std::span<const RangeAccess> accesses, CUgraphNode &node);
  /// Lists the nodes that a node with these accesses comes after.
  void find_earlier(std::span<const RangeAccess> accesses);
  Status added(CUgraphNode node, CUresult code, const char *what);
  Status add_product(const WorkItem &item, CUstream captures);
  Status copy_operand(const WorkItem &item, size_t product, size_t operand, size_t bytes,
                      CUdeviceptr address);
  Status copy_ahead(std::span<const WorkItem> body, std::span<const RangeAccess> accesses);
  Status begin_node(size_t item);
  Status find_earlier_of_bodies(size_t item);
  std::span<const WorkItem> bodies_of(size_t item) const;
  std::vector<RangeAccess> accesses_of(std::span<const WorkItem> bodies) const;
  Status make_condition(uint32_t node);
  Status make_conditions(const WorkItem &item);
  CUDA_KERNEL_NODE_PARAMS kernel_node(WorkList &list, const WorkItem &item);
  Status set_product(const WorkList &list, const WorkItem &item, size_t product);
  /// Where a product's operand is while the graph runs.
  CUdeviceptr place_of(size_t product, size_t operand, CUdeviceptr address) const;
  RangeAccess access_of_place(size_t product, size_t operand, size_t bytes, AccessKind kind) const;

  const CudaContext &context_;
  WorkList list_; ///< what the nodes are set to
  const GraphParts parts_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
  int64_t bytes_ = 0;                ///< that the driver took for it
  std::vector<CUgraphNode> nodes_;   ///< of each item
  std::vector<Copies> copies_;       ///< of each product
  size_t product_ = 0;               ///< the number of the next one, while the graph is built
  std::vector<Level> levels_;        ///< the graph, and the bodies that are open, while it is built
  size_t count_ = 0;                 ///< of nodes
  std::vector<CUgraphNode> earlier_; ///< of the one that is being added
  std::vector<CUgraphConditionalHandle> conditions_; ///< of the nodes, by their numbers
};

/// The operands of a product's call.
ContractionCall call_of(const std::array<CUdeviceptr, productOperands> &operands);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_GRAPH_H
