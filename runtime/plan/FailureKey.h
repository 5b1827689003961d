//===- FailureKey.h - Violations as numbers ---------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks of a call may fail at many elements of several launches. A key of 64 bits determines which
// failure is reported. From the highest bits down, it has the launch, the element, and the check of the
// launch. The smallest key is the first failure in the order of the program, then in row-major order.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_FAILUREKEY_H
#define WEFT_RUNTIME_PLAN_FAILUREKEY_H

#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstdint>

namespace weft::fb {
struct Plan;
} // namespace weft::fb

namespace weft::runtime {

/// A check that failed.
struct Violation {
  uint64_t launch = 0;   ///< the number of the launch among those that may fail, from 1 on
  uint64_t position = 0; ///< the row-major index of the element
  uint64_t check = 0;    ///< the index of the check in its launch
};

/// The numbers of bits that the position and the check have in a key. The launch has the rest.
struct WEFT_RUNTIME_API FailureKey {
  uint32_t position_bits = 0, check_bits = 0;

  /// The least bits of a position, which are enough for any tensor in memory.
  static constexpr uint32_t leastPositionBits = 40;

  uint32_t launch_bits() const { return 64 - position_bits - check_bits; }
  /// A position or check that is too large for its bits is replaced by the largest.
  uint64_t pack(const Violation &violation) const;
  Violation unpack(uint64_t key) const;
  /// Whether this many launches, with at most this many checks each, have different keys.
  bool holds(uint64_t launches, uint64_t most_checks) const;
};

/// The bits for a plan in which `launches` may fail, with at most `most_checks` each; an error if a key has
/// not enough bits.
WEFT_RUNTIME_API Expected<FailureKey> choose_failure_key(uint64_t launches, uint64_t most_checks);

/// Verifies the fields of a plan that are about failures; an error has no code. If launches may fail, the
/// plan has a key with enough bits, and otherwise none. Each kernel that may fail has its own checks, in
/// order, and every check belongs to a kernel. Predicates are verified together with the writes of launches.
Status check_failure_key(const fb::Plan &plan);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_FAILUREKEY_H
