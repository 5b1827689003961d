//===- arguments.hpp - Any number of arguments before a location -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The line of a call is the default argument of a last parameter. A parameter pack leaves no place behind it,
// so a function that takes any number of arguments has parameters of type `Omitted` in place of a pack:
//
//   template <typename A = Omitted, typename B = Omitted>
//   auto f(A &&a = A(), B &&b = B(), Loc loc = Loc::current()) {
//     return withGiven([](auto &&...given) { .. }, std::forward<A>(a), std::forward<B>(b));
//   }
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_ARGUMENTS_HPP
#define WEFT_ARGUMENTS_HPP

#include <tuple>
#include <type_traits>
#include <utility>

namespace weft::frontend {

/// Stands for an argument that a call leaves out. Braces do not make one: a `{}` between two arguments would
/// shift those behind it.
struct Omitted {
  explicit Omitted() = default;
};

template <typename T> auto givenOf(T &&argument) {
  if constexpr (std::is_same_v<std::remove_cvref_t<T>, Omitted>)
    return std::tuple<>();
  else
    return std::forward_as_tuple(std::forward<T>(argument));
}

/// Calls a function with the arguments that are not omitted.
template <typename F, typename... Args> decltype(auto) withGiven(F &&function, Args &&...args) {
  return std::apply(std::forward<F>(function), std::tuple_cat(givenOf(std::forward<Args>(args))...));
}

template <typename F, typename Given> inline constexpr bool isInvocableWith = false;
template <typename F, typename... Given>
inline constexpr bool isInvocableWith<F, std::tuple<Given...>> = std::is_invocable_v<F, Given...>;
/// Whether a function can be called with those of the arguments that are not omitted.
template <typename F, typename... Args>
concept TakesGiven = isInvocableWith<F, decltype(std::tuple_cat(givenOf(std::declval<Args>())...))>;

} // namespace weft::frontend

#endif // WEFT_ARGUMENTS_HPP
