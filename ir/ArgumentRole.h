//===- ArgumentRole.h - The roles of arguments ------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The frontend sets the role of an argument, and the compiler writes it as the attribute `weft.role`. This
// header is plain C++, because the frontend includes it.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_ARGUMENTROLE_H
#define WEFT_IR_ARGUMENTROLE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::ir {

enum class ArgumentRole : uint8_t {
  argument, ///< passed by each call
  state,    ///< a parameter, a buffer, optimiser state
  scalar,   ///< a number such as a learning rate
  random,   ///< the state of a generator
};

/// The names of the roles, in the order of ArgumentRole.
inline constexpr std::array<std::string_view, 4> argumentRoleNames = {"argument", "state", "scalar",
                                                                      "random"};
constexpr std::string_view name(ArgumentRole role) { return argumentRoleNames[static_cast<size_t>(role)]; }
/// The role of this name, or nothing.
constexpr std::optional<ArgumentRole> parseArgumentRole(std::string_view word) {
  for (size_t i = 0; i < argumentRoleNames.size(); ++i)
    if (argumentRoleNames[i] == word)
      return static_cast<ArgumentRole>(i);
  return std::nullopt;
}

} // namespace weft::ir

#endif // WEFT_IR_ARGUMENTROLE_H
