//===- DynamicPlan.h - Plans with symbolic sizes ----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan with symbols is never run. A call gives the symbols values; then every size is evaluated, and the
// resulting plan of numbers is verified and resolved like one that was compiled for these sizes.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_DYNAMICPLAN_H
#define WEFT_RUNTIME_PLAN_DYNAMICPLAN_H

#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::fb {
struct Plan;
struct SizeExpression;
} // namespace weft::fb

namespace weft::runtime {

/// A size of a plan is a number, or `firstExpression` plus the index of an expression.
inline constexpr int64_t firstExpression = -(int64_t(1) << 62);
inline bool is_expression(int64_t size) {
  return size >= firstExpression && size < firstExpression + (int64_t(1) << 32);
}

/// Checks that symbols have names and ranges, that expressions refer to symbols of the plan, and that the
/// types of arguments and results are known and refer to expressions of the plan. Also checks that the
/// numbers of arguments, results and launches are aligned, because plan_of_numbers() reads them before
/// verify_plan() sees the plan that it makes. Code WEFT-L008.
WEFT_RUNTIME_API Status verify_symbols(const fb::Plan &plan);

/// A size of a verified plan as text with the names of its symbols, for example "784 * batch + 1".
WEFT_RUNTIME_API std::string expression_text(const fb::Plan &plan, int64_t size);

/// The values of the symbols for arguments of these shapes; code WEFT-S001 if one is out of range.
WEFT_RUNTIME_API Expected<std::vector<int64_t>>
bind_symbols(const fb::Plan &plan, std::span<const std::vector<int64_t>> argument_shapes);

/// The plan, which verify_symbols() has accepted, for these values of its symbols, serialized, without
/// symbols. An error if a value is out of its range (WEFT-S001) or a size overflows (WEFT-L008).
WEFT_RUNTIME_API Expected<std::vector<uint64_t>> plan_of_numbers(const fb::Plan &plan,
                                                                 std::span<const int64_t> values);

/// The value of an expression whose symbols are positions in `values`. Sets `failed` if it overflows or is
/// negative.
int64_t value_of_expression(const fb::SizeExpression &expression, std::span<const int64_t> values,
                            bool &failed);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_DYNAMICPLAN_H
