//===- loops.hpp - Loops that are compiled as loops -----------------------===//
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
//===----------------------------------------------------------------------===//
#ifndef WEFT_LOOPS_HPP
#define WEFT_LOOPS_HPP

#include "weft/tree.hpp"

#include <functional>
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
/// device after a trip (WEFT-T002); a body that writes a tensor from outside, draws random numbers, prints,
/// asserts, sets gradients or modes, or makes state (WEFT-T001): a trip computes values only. Draw random
/// numbers before the loop, for all trips, and pass them as xs.
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
