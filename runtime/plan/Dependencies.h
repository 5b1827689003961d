//===- Dependencies.h - What waits for what in a graph ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two pieces of work need an order only if they touch the same bytes and one of them writes these. So the
// edges of a graph follow from the ranges that its nodes read and write, and work that shares no bytes may
// run at the same time. Ranges are known by the memory that they lie in and not by addresses, because these
// change from call to call and the edges of a graph do not.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_DEPENDENCIES_H
#define WEFT_RUNTIME_PLAN_DEPENDENCIES_H

#include "weft/export.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace weft::runtime {

/// How a range is used. Atomic operations of several nodes on one range need no order between each other.
enum class AccessKind : uint8_t { read, written, atomic };

/// A range of bytes that a node uses. Two spaces share no byte.
struct RangeAccess {
  uint32_t space = 0;
  uint64_t begin = 0, end = 0;
  AccessKind kind = AccessKind::read;
};

/// The same bytes of each space, used in the same ways, as the fewest ranges.
WEFT_RUNTIME_API std::vector<RangeAccess> joined(std::vector<RangeAccess> accesses);

/// The edges between nodes, which are added in an order in which they would be right one after the other.
class WEFT_RUNTIME_API Dependencies {
public:
  /// Adds a node, and returns those that it has to wait for: the latest first, and none that another one of
  /// them waits for, directly or through others. The span holds until the next call.
  std::span<const uint32_t> add(std::span<const RangeAccess> accesses);

private:
  struct Past {
    RangeAccess access;
    uint32_t node;
  };
  std::vector<uint32_t> conflicting(std::span<const RangeAccess> accesses);
  void note(std::span<const RangeAccess> accesses);
  void mark_ancestors(uint32_t node, uint32_t first);

  /// By space: the accesses that a later one may have to wait for.
  std::map<uint32_t, std::vector<Past>> past_;
  std::vector<std::vector<uint32_t>> edges_; ///< of each node
  std::vector<uint32_t> marks_;              ///< by node: the last one that is known to wait for it
  std::vector<uint32_t> found_;              ///< by node: the last one that conflicts with it
  std::vector<uint32_t> stack_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_DEPENDENCIES_H
