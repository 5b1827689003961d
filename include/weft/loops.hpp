//===- loops.hpp - Loops and conditions by data ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A C++ loop over operations is recorded trip by trip. `scan` records the body once, so that its text, and
// what is compiled of it, do not grow with the number of trips.
//
//   auto [last, all] = scan(
//       [&](const Tensor &h, const Tensor &x) {
//         Tensor next = tanh(x + matmul(h, weight));
//         return std::pair(next, next);
//       },
//       h0, xs); // xs of [time, batch, features], all of the same
//
// A C++ `if` or `while` needs the value of a tensor, and so waits for it, and a compiled function has none.
// `cond` and `while_loop` decide when the program runs.
//
//   Tensor y = cond(
//       x.sum() > 0, [](const Tensor &x) { return x * 2; }, [](const Tensor &x) { return x.neg(); }, x);
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LOOPS_HPP
#define WEFT_LOOPS_HPP

#include "weft/tree.hpp"

#include <concepts>
#include <functional>
#include <tuple>
#include <utility>

namespace weft {

struct ScanOptions {
  /// From the last row to the first. The ys are in the order of the xs.
  bool reverse = false;
};

namespace frontend {
struct FlatScan {
  Flat carry, ys;
};
/// The body with flattened values. `rows` and what it returns have one row of each stack.
using FlatScanBody = std::function<FlatScan(const Flat &carry, const Flat &rows)>;
/// `length` is negative if the xs give it.
WEFT_API FlatScan scanFlat(const FlatScanBody &body, const Flat &carry, const Flat &xs, int64_t length,
                           const ScanOptions &options, Loc loc);

template <typename T> Flat flatOf(const T &value) {
  Flat flat;
  Codec<T>::flatten(value, flat);
  return flat;
}
template <typename T> T treeOf(const Flat &flat) {
  FlatReader reader{flat};
  return Codec<T>::build(reader);
}

template <typename Carry, typename Xs, typename Body>
auto scanTree(Body &&body, const Carry &carry, const Xs &xs, int64_t length, const ScanOptions &options,
              Loc loc) {
  using Result = std::decay_t<std::invoke_result_t<Body &, const Carry &, const Xs &>>;
  static_assert(requires { typename Result::second_type; }, "a body returns std::pair{carry, y}");
  using Y = typename Result::second_type;
  static_assert(std::is_same_v<typename Result::first_type, Carry>,
                "a body returns the carry in the type in which it gets it");
  static_assert(isTree<Carry> && isTree<Xs> && isTree<Y>,
                "carries, xs and ys consist of tensors, as parameters of compiled functions do");
  FlatScan made = scanFlat(
      [&](const Flat &flatCarry, const Flat &rows) -> FlatScan {
        const Result result = body(treeOf<Carry>(flatCarry), treeOf<Xs>(rows));
        return {flatOf(result.first), flatOf(result.second)};
      },
      flatOf(carry), flatOf(xs), length, options, loc);
  return std::pair<Carry, Y>(treeOf<Carry>(made.carry), treeOf<Y>(made.ys));
}
} // namespace frontend

namespace frontend {
/// A function with flattened values.
using FlatBody = std::function<Flat(const Flat &values)>;
WEFT_API Flat condFlat(const Tensor &pred, const FlatBody &thenBody, const FlatBody &elseBody,
                       const Flat &operands, Loc loc);
WEFT_API Flat whileFlat(const FlatBody &condition, const FlatBody &body, const Flat &carries, Loc loc);

template <typename T> inline constexpr bool isTuple = false;
template <typename... Ts> inline constexpr bool isTuple<std::tuple<Ts...>> = true;

/// Calls a function with each part of a tuple, or with any other value.
template <typename Function, typename Values>
decltype(auto) applyTo(Function &function, const Values &values) {
  if constexpr (isTuple<Values>)
    return std::apply(function, values);
  else
    return function(values);
}
template <typename Function, typename Values>
using Applied = std::decay_t<decltype(applyTo(std::declval<Function &>(), std::declval<const Values &>()))>;
} // namespace frontend

/// `thenBody(operands)` if the predicate is true, otherwise `elseBody(operands)`, as the predicate is when
/// the program runs: only the branch that is taken is computed. On a GPU both are if they are small, and
/// their results selected (WEFT-T009); otherwise the condition is a graph, or the host decides (WEFT-C009).
/// `pred` is a tensor of one bool, of any shape with one element. Operands are a tensor, or a struct or
/// container of tensors as compiled functions take; the parts of a `std::tuple` are passed one by one.
///
/// Both branches are called once, when the condition is recorded, and return the same type, in which each
/// tensor has one shape, dtype and device. They may read tensors from outside, such as parameters. Gradients
/// flow through the branch that is taken, to the operands and to those tensors, also for derivatives of
/// derivatives; they compute the branch again.
///
/// Errors: another predicate (WEFT-T006); branches that return different types (WEFT-T007); a branch that
/// writes an argument or a tensor from outside, draws random numbers, prints, asserts, sets gradients or
/// modes, or makes state (WEFT-T001). An index that is out of range is an error if its branch is taken.
template <typename Then, typename Else, typename Operands = std::tuple<>>
auto cond(const Tensor &pred, Then &&thenBody, Else &&elseBody, const Operands &operands = {},
          Loc loc = Loc::current()) {
  using Result = frontend::Applied<Then, Operands>;
  static_assert(std::is_same_v<Result, frontend::Applied<Else, Operands>>,
                "both branches return values of one type");
  static_assert(frontend::isTree<Operands> && frontend::isTree<Result>,
                "operands and results consist of tensors, as parameters of compiled functions do");
  const auto flatten = [&](auto &branch) -> frontend::FlatBody {
    return [&](const frontend::Flat &values) {
      return frontend::flatOf<Result>(frontend::applyTo(branch, frontend::treeOf<Operands>(values)));
    };
  };
  return frontend::treeOf<Result>(
      frontend::condFlat(pred, flatten(thenBody), flatten(elseBody), frontend::flatOf(operands), loc));
}

/// The same for a predicate that is known now, as torch.cond has it: an ordinary call of the branch that is
/// taken, which may have effects and write its operands. The other one is not called.
template <std::same_as<bool> Bool, typename Then, typename Else, typename Operands = std::tuple<>>
auto cond(Bool pred, Then &&thenBody, Else &&elseBody, const Operands &operands = {}, Loc = Loc::current())
    -> frontend::Applied<Then, Operands> {
  if (pred)
    return frontend::applyTo(thenBody, operands);
  return frontend::applyTo(elseBody, operands);
}

/// A loop of as many trips as its data say: `carries = body(carries)` while `condition(carries)` is true. The
/// condition returns a tensor of one bool; the body returns the carries in the type, and their tensors in the
/// shapes, dtypes and devices, in which it gets them. Carries are a tensor, or a struct or container of
/// tensors; the parts of a `std::tuple` are passed one by one. Returns the last carries.
///
/// Both functions are called once, and may read tensors from outside. On a CPU the loop is one launch; on a
/// GPU it is a graph or the host decides (WEFT-C008). Gradients flow through the trips that there were, to
/// the carries and to tensors from outside. They keep the carries of at most 48 trips, however many there
/// were, and compute the others again: up to 256 trips each runs three times, up to 4,096 four times, and of
/// n trips beyond that n / 8,192 times more often. On a GPU a loop with more than 256 operations in its body,
/// or in a function of `scan`, `cond` or another loop, keeps 32, and of n trips beyond 256 each runs n / 512
/// times more often. Each order of derivatives compiles about three times as many loops as the one before it:
/// on a CPU the fourth takes a second, and a GPU has no third (WEFT-T005). `scan`, which knows its number of
/// trips, keeps what its gradients read.
///
/// Errors: a condition that is no bool (WEFT-T006) or reads by index (WEFT-T008); carries that change their
/// types (WEFT-T002); functions with effects (WEFT-T001), as for `cond`; several devices (WEFT-T010).
/// An index that is out of range in the body ends the loop, and is an error.
template <typename Condition, typename Body, typename Carries>
Carries while_loop(Condition &&condition, Body &&body, const Carries &carries, Loc loc = Loc::current()) {
  static_assert(std::is_same_v<frontend::Applied<Condition, Carries>, Tensor>,
                "the condition returns a tensor of one bool");
  static_assert(std::is_same_v<frontend::Applied<Body, Carries>, Carries>,
                "the body returns the carries in the type in which it gets them");
  static_assert(frontend::isTree<Carries>,
                "carries consist of tensors, as parameters of compiled functions do");
  return frontend::treeOf<Carries>(frontend::whileFlat(
      [&](const frontend::Flat &values) {
        return frontend::flatOf<Tensor>(frontend::applyTo(condition, frontend::treeOf<Carries>(values)));
      },
      [&](const frontend::Flat &values) {
        return frontend::flatOf<Carries>(frontend::applyTo(body, frontend::treeOf<Carries>(values)));
      },
      frontend::flatOf(carries), loc));
}

/// A loop over the rows of `xs`: `body(carry, x)` is called with the carry, which begins as the one that is
/// given, and the first row of each tensor of `xs` (without the first dimension), and returns
/// `std::pair{carry, y}`. The next trip gets that carry and the next row. Returns the last carry, and the
/// tensors of the ys, each stacked along a new first dimension: those of y of shape [..] have [trips, ..].
///
/// The body is called once, when the loop is recorded, and compiled once for all trips. It may read tensors
/// from outside, such as parameters. Gradients flow through the loop to the carry, the xs and those tensors,
/// also for derivatives of derivatives. Carry, x and y are tensors, or structs and containers of tensors as
/// compiled functions take; `std::tuple<>{}` is no y. Numbers in them are the same in each trip.
///
/// Errors: xs without rows or of different lengths (WEFT-T003); a carry that has another shape, dtype or
/// device after a trip (WEFT-T002); a body that writes an argument or a tensor from outside, draws random
/// numbers, prints, asserts, sets gradients or modes, or makes state (WEFT-T001): a trip computes values
/// only. Draw random numbers before the loop, for all trips, and pass them as xs. An index that is out of
/// range is an error of the loop, which names the operation and the first index that is refused.
template <typename Carry, typename Xs, typename Body>
auto scan(Body &&body, const Carry &carry, const Xs &xs, const ScanOptions &options = {},
          Loc loc = Loc::current())
  requires(!std::is_integral_v<Xs>)
{
  return frontend::scanTree<Carry, Xs>(body, carry, xs, -1, options, loc);
}

/// The same loop without xs: `length` trips of `body(carry)`. `length` is not negative.
template <typename Carry, typename Body>
auto scan(Body &&body, const Carry &carry, int64_t length, const ScanOptions &options = {},
          Loc loc = Loc::current()) {
  return frontend::scanTree<Carry, std::tuple<>>(
      [&](const Carry &before, const std::tuple<> &) { return body(before); }, carry, std::tuple<>{}, length,
      options, loc);
}

} // namespace weft

#endif // WEFT_LOOPS_HPP
