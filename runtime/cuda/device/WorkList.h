//===- WorkList.h - Kernels and copies of a run ----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a stream issues for a run, with the parameters by value: first it is written down, then it is launched
// item by item, or as a graph that was made of an earlier list.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_WORKLIST_H
#define WEFT_RUNTIME_CUDA_DEVICE_WORKLIST_H

#include "runtime/cuda/device/Context.h"
#include "runtime/plan/Dependencies.h"
#include "runtime/plan/DeviceImage.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::runtime {

class Contraction; // runtime/gemm/Contraction.h
struct Launch;     // runtime/execution/ExecutableImpl.h

/// The addresses that a product of a library has as parameters: a, b, c, bias and workspace.
inline constexpr size_t productOperands = 5;

/// The spaces of ranges (RangeAccess) beside those of a function's operands, which have the numbers of their
/// bases (Operand).
namespace spaces {
inline constexpr uint32_t record = UINT32_MAX;         ///< the call's record of failures, and its flags
inline constexpr uint32_t workspace = UINT32_MAX - 1;  ///< of products of a library, which begins at 0
inline constexpr uint32_t places = UINT32_MAX - 2;     ///< fixed places of operands (ProductPlaces)
inline constexpr uint32_t hostRecord = UINT32_MAX - 3; ///< the host's copy of the record
inline constexpr uint32_t conditions = UINT32_MAX - 4; ///< of nodes, which kernels set one after the other
} // namespace spaces

/// What an item is to a conditional node of the list, a loop or a branch: the kernel that sets its condition,
/// or that chooses between it and the branch after it, whose first parameters the graph fills in; or one of
/// its ends, between which its body is.
enum class NodePart : uint8_t { none, sets, chooses, begins_loop, begins_branch, begins_other_branch, ends };

/// A kernel, a product of a library, a copy within the device or to the host, which has neither function nor
/// product, or an end of a conditional node, which only graphs have.
struct WorkItem {
  CUfunction function = nullptr;
  LaunchExtents grid, block;
  uint32_t shared_bytes = 0;
  uint32_t first = 0, count = 0; ///< its parameters in the list
  CUdeviceptr to = 0, from = 0;  ///< of a copy
  size_t bytes = 0;
  bool to_host = false;
  uint32_t first_access = 0, accesses = 0; ///< what it reads and writes, if that is written down
  const Contraction *product = nullptr;
  uint8_t foreign = 0; ///< operands of a product in memory of the caller, as bits
  NodePart part = NodePart::none;
  uint32_t node = 0;              ///< which conditional node of the list, if it is a part of one
  const Launch *launch = nullptr; ///< what an error names; null for the runtime's own kernels
};

/// Sets how a kernel is launched, in either of the driver's descriptions of that.
template <typename Description> void set_shape(Description &description, const WorkItem &kernel) {
  description.gridDimX = kernel.grid.x;
  description.gridDimY = kernel.grid.y;
  description.gridDimZ = kernel.grid.z;
  description.blockDimX = kernel.block.x;
  description.blockDimY = kernel.block.y;
  description.blockDimZ = kernel.block.z;
  description.sharedMemBytes = kernel.shared_bytes;
}

class WorkList {
public:
  void clear();
  void add_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, const Launch *launch);
  void add_copy_to_host(void *to, CUdeviceptr from, size_t bytes);
  /// Begins a kernel, whose parameters follow.
  void add_kernel(CUfunction function, const LaunchExtents &grid, const LaunchExtents &block,
                  uint32_t shared_bytes, const Launch *launch);
  /// A parameter of so many bytes, which are the lowest of a number.
  void add_number(uint64_t bits, size_t bytes) {
    add_bytes(reinterpret_cast<const std::byte *>(&bits), bytes);
  }
  /// A product of a library, all of whose operands follow as parameters.
  void add_product(const Contraction &product, uint8_t foreign, const Launch *launch);
  /// The number of a further conditional node of the list.
  uint32_t new_node() { return nodes_++; }
  size_t node_count() const { return nodes_; }
  /// One thread, which lets a loop go on if the predicate is true and the record says of no failure.
  void add_setter(uint32_t loop, CUfunction function, CUdeviceptr predicate, CUdeviceptr record);
  /// One thread, which lets the branch run if the predicate is true, and the node after it if it is false;
  /// neither if the record says of a failure.
  void add_chooser(uint32_t branch, CUfunction function, CUdeviceptr predicate, CUdeviceptr record);
  /// What follows is the body, until end_node().
  void begin_loop(uint32_t node) { add_end(node, NodePart::begins_loop); }
  void begin_branch(uint32_t node) { add_end(node, NodePart::begins_branch); }
  /// Behind the end of the branch, whose number is one less, and of which it runs instead.
  void begin_other_branch(uint32_t node) { add_end(node, NodePart::begins_other_branch); }
  void end_node(uint32_t node) { add_end(node, NodePart::ends); }
  template <typename T> void add_parameter(const T &value) {
    add_bytes(reinterpret_cast<const std::byte *>(&value), sizeof value);
  }

  /// Whether accesses are written down from now on. A list that is launched or compared needs none.
  void keep_accesses(bool keep) { keeps_accesses_ = keep; }
  bool keeps_accesses() const { return keeps_accesses_; }
  /// What the last item reads or writes; for a product those of its operands, in order, and of its workspace.
  void add_access(const RangeAccess &access);
  std::span<const RangeAccess> accesses_of(const WorkItem &item) const {
    return std::span(accesses_).subspan(item.first_access, item.accesses);
  }

  const std::vector<WorkItem> &items() const { return items_; }
  /// Removes those items that are chosen, and returns them as a list of their own.
  WorkList take(const std::vector<bool> &chosen);
  /// The addresses of an item's parameters, until the next call of a member.
  void **parameters_of(const WorkItem &item);
  /// The operands of a product.
  std::array<CUdeviceptr, productOperands> operands_of(const WorkItem &product) const;
  /// Whether the items of both are of the same kinds and functions, with parameters of the same sizes: then a
  /// graph that was made of one can be changed to the other.
  bool has_form_of(const WorkList &other) const;
  /// Whether item `i` of both is the same in all.
  bool is_same(size_t i, const WorkList &other) const;

private:
  struct Parameter {
    uint32_t offset, bytes;
  };
  WorkItem &add_item(const Launch *launch);
  void add_end(uint32_t node, NodePart part);
  void add_bytes(const std::byte *value, size_t bytes);
  std::span<const std::byte> bytes_of(const WorkItem &item) const;

  std::vector<WorkItem> items_;
  std::vector<Parameter> parameters_;
  std::vector<std::byte> bytes_; ///< of parameters, each from a multiple of 8 on
  std::vector<void *> addresses_;
  uint32_t nodes_ = 0;
  bool keeps_accesses_ = false;
  std::vector<RangeAccess> accesses_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_WORKLIST_H
