//===- TensorPlace.h - Where a tensor of a launch lies ---------*- C++ -*- ===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_TENSORPLACE_H
#define WEFT_RUNTIME_PLAN_TENSORPLACE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft::fb {
struct Plan;
} // namespace weft::fb

namespace weft::runtime {

/// More elements than a tensor can have: the address space of a process.
inline constexpr int64_t mostElements = int64_t(1) << 47;

/// A tensor in a buffer of the plan. Offset and strides are in elements of `item` bytes.
struct TensorPlace {
  uint32_t buffer = 0;
  int64_t offset = 0;
  std::span<const int64_t> strides, extents; ///< extents are at least 1
  size_t item = 0;
  bool written = false;    ///< then no two elements may share memory
  bool mayReverse = false; ///< whether strides may be negative
};

/// What is wrong with it, as "is buffer 7 of 3"; empty if nothing is.
std::string place_problem(const TensorPlace &place, const fb::Plan &plan);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_TENSORPLACE_H
