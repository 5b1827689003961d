//===- FailureKey.h - Violations as numbers ---------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks of a call may fail at many elements of several launches. Which failure is reported is decided by
// a key of 64 bits: from the highest bits down, the launch, the element, and which check of the launch. The
// smallest is the first in the order of the program, then in row-major order.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_FAILUREKEY_H
#define WEFT_RUNTIME_PLAN_FAILUREKEY_H

#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstdint>
#include <vector>

namespace weft::fb {
struct Plan;
} // namespace weft::fb

namespace weft::runtime {

/// A check that failed.
struct Violation {
  uint64_t launch = 0;   ///< its number among the launches that may fail, from 1 on
  uint64_t position = 0; ///< of the element, in row-major order
  uint64_t check = 0;    ///< among the checks of its launch
};

/// How many of a key's bits the position and the check have. The launch has the rest.
struct WEFT_RUNTIME_API FailureKey {
  uint32_t position_bits = 0, check_bits = 0;

  /// The fewest bits of a position: more elements than memory can hold.
  static constexpr uint32_t leastPositionBits = 40;

  uint32_t launch_bits() const { return 64 - position_bits - check_bits; }
  /// A position or check that is too large for its bits counts as the largest.
  uint64_t pack(const Violation &violation) const;
  Violation unpack(uint64_t key) const;
  /// Whether as many launches, of at most as many checks each, have keys of their own.
  bool holds(uint64_t launches, uint64_t most_checks) const;
};

/// Bits for a plan in which `launches` may fail, with at most `most_checks` each; an error for more than a
/// key can tell apart.
WEFT_RUNTIME_API Expected<FailureKey> choose_failure_key(uint64_t launches, uint64_t most_checks);

/// Checks what a plan says of failures, and returns what is wrong without a code: it has a key that fits
/// where launches may fail, and none elsewhere; each kernel that may fail has checks of its own, in order,
/// and no check is nobody's. That the right launches have a predicate is proven where their writes are.
Status check_failure_key(const fb::Plan &plan);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_FAILUREKEY_H
