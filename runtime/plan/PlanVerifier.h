//===- PlanVerifier.h - Checks of a plan before it runs ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_PLANVERIFIER_H
#define WEFT_RUNTIME_PLAN_PLANVERIFIER_H

#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::fb {
struct Plan;
} // namespace weft::fb

namespace weft::runtime {

class Image;

/// The plan in these bytes, once the FlatBuffers verifier has followed every offset in it.
WEFT_RUNTIME_API Expected<const fb::Plan *> read_plan(std::span<const std::byte> bytes);

/// Checks what the plan means: a plan that passes touches no memory outside of its arguments, results, arena
/// and constants except through a kernel that breaks its own contract. `image` may be null: then symbols are
/// not looked up. Code WEFT-L008.
///
/// The rules, beside ranges: a tied result has its argument's type, the argument is donated, and no two
/// results share one; constants and arguments that are not donated are never written; a donated argument
/// and a result tied to one are written only after the last launch that may fail, so that a failing call
/// leaves the state as it was. Those of devices are in runtime/plan/PlanDevices.h.
WEFT_RUNTIME_API Status verify_plan(const fb::Plan &plan, uint64_t constant_bytes, const Image *image);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_PLANVERIFIER_H
