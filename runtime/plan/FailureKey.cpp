//===- FailureKey.cpp - Violations as numbers -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/FailureKey.h"

#include "runtime/plan/PlanFields.h"

#include <algorithm>
#include <bit>
#include <string>

namespace weft::runtime {
namespace {

uint64_t largest(uint32_t bits) { return (uint64_t(1) << bits) - 1; }

} // namespace

uint64_t FailureKey::pack(const Violation &violation) const {
  const uint64_t position = std::min(violation.position, largest(position_bits)),
                 check = std::min(violation.check, largest(check_bits));
  return ((violation.launch << position_bits | position) << check_bits) | check;
}

Violation FailureKey::unpack(uint64_t key) const {
  return {key >> check_bits >> position_bits, key >> check_bits & largest(position_bits),
          key & largest(check_bits)};
}

// Launches are numbered from 1, and no launch has the number with all bits set, so a key is neither 0 nor
// FailureRecord::noKey.
bool FailureKey::holds(uint64_t launches, uint64_t most_checks) const {
  return position_bits >= leastPositionBits && check_bits < 32 && position_bits + check_bits < 64 &&
         launches < largest(launch_bits()) && (most_checks == 0 || most_checks - 1 <= largest(check_bits));
}

Expected<FailureKey> choose_failure_key(uint64_t launches, uint64_t most_checks) {
  FailureKey key;
  key.check_bits = most_checks ? static_cast<uint32_t>(std::bit_width(most_checks - 1)) : 0;
  const auto launch_bits = static_cast<uint32_t>(std::bit_width(launches + 1));
  key.position_bits = key.check_bits + launch_bits < 64 ? 64 - key.check_bits - launch_bits : 0;
  if (!key.holds(launches, most_checks))
    return Status::error(number(launches) + " of its launches may fail, with up to " + number(most_checks) +
                         " checks each, and no key of a failure can tell so many apart: divide the function");
  return key;
}

Status check_failure_key(const fb::Plan &plan) {
  const uint32_t checks = length(plan.checks());
  uint64_t fallible = 0, own = 0, most = 0;
  for (uint32_t i = 0; i < length(plan.launches()); ++i) {
    const fb::Launch &launch = *plan.launches()->Get(i);
    const bool checked = launch.may_fail() && launch.op_type() == fb::LaunchOp::KernelLaunch;
    if (checked != (launch.check_count() != 0))
      return Status::error(
          "launch " + number(i) +
          (checked ? " may fail, and has no checks" : " has checks, and is no kernel that may fail"));
    fallible += launch.may_fail();
    own += launch.check_count();
    most = std::max<uint64_t>(most, launch.check_count());
  }
  if (own != checks)
    return Status::error("its launches have " + number(own) + " checks, and it has " + number(checks));
  const fb::FailureKey *key = plan.failure_key();
  if (!key != (fallible == 0))
    return Status::error(key ? "has a key of failures, and nothing in it may fail"
                             : "has no key of failures, and " + number(fallible) +
                                   " of its launches may fail");
  if (key && !FailureKey{key->position_bits(), key->check_bits()}.holds(fallible, most))
    return Status::error("has a key of failures with " + number(static_cast<unsigned>(key->position_bits())) +
                         " bits for positions and " + number(static_cast<unsigned>(key->check_bits())) +
                         " for checks, in which " + number(fallible) + " launches with up to " +
                         number(most) + " checks each do not fit");
  return {};
}

} // namespace weft::runtime
