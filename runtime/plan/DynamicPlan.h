//===- DynamicPlan.h - Plans whose sizes a call chooses ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan with symbols is never run: once a call has given the symbols values, every size in it is evaluated,
// and the plan of numbers that this gives is checked and resolved as one that was compiled for these sizes.
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

/// A size of a plan is a number, or the number of an expression added to this.
inline constexpr int64_t firstExpression = -(int64_t(1) << 62);
inline bool is_expression(int64_t size) {
  return size >= firstExpression && size < firstExpression + (int64_t(1) << 32);
}

/// Whether symbols have names and ranges, and expressions refer to them. Code WEFT-L008.
WEFT_RUNTIME_API Status verify_symbols(const fb::Plan &plan);

/// A size of a verified plan in words, by the names of its symbols: "784 * batch + 1".
WEFT_RUNTIME_API std::string expression_text(const fb::Plan &plan, int64_t size);

/// The values of the symbols that arguments of these shapes give; code WEFT-S001 where one is out of range.
WEFT_RUNTIME_API Expected<std::vector<int64_t>>
bind_symbols(const fb::Plan &plan, std::span<const std::vector<int64_t>> argument_shapes);

/// The plan for these values of its symbols, serialized, without symbols. An error where a value is out of
/// its range (WEFT-S001) or a size overflows (WEFT-L008).
WEFT_RUNTIME_API Expected<std::vector<uint64_t>> plan_of_numbers(const fb::Plan &plan,
                                                                 std::span<const int64_t> values);

/// The value of an expression, whose symbols are positions in `values`; `failed` is set where it overflows or
/// is negative.
int64_t value_of_expression(const fb::SizeExpression &expression, std::span<const int64_t> values,
                            bool &failed);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_DYNAMICPLAN_H
