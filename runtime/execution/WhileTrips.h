//===- WhileTrips.h - While loops as launches of a device -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device is given the launches of one trip after the other. The host reads the predicate of each condition
// before it issues the next trip. The carries are in one of two places: where the loop's results are, to
// which they are copied before the first trip, or in a second place. The function has the launches of the
// condition and of the body once for each, so that all addresses of a call are known when it begins, and
// launches that are issued again and again become graphs. Where they are before the first trip is no third
// place, because loops may be in each other: their launches would be three times as many with each loop
// around them.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_WHILETRIPS_H
#define WEFT_RUNTIME_EXECUTION_WHILETRIPS_H

#include "runtime/execution/Branch.h"
#include "runtime/execution/InlinedBody.h"

#include <array>
#include <span>
#include <vector>

namespace weft::runtime {

/// The launches of a while loop on a device. They follow the launch of the loop itself, whose one operand is
/// the predicate, and are counted from that.
struct WhileTrips {
  /// What is issued while the carries are in one of the places. Of `finish`, which copies them to the
  /// results, there is nothing where they are there.
  struct Place {
    std::vector<LaunchRange> condition, body, finish;
  };
  static constexpr size_t result = 0, second = 1, places = 2;
  /// Where the body writes the carries.
  static size_t after(size_t place) { return place == result ? second : result; }

  std::vector<LaunchRange> begin; ///< copies the carries to where the results are
  std::array<Place, places> at;
};

/// Adds the launches of a loop to a function, `loop` first, which gets its predicate and the rest. `places`
/// are the operands of the loop's launch, in the function. The device has memory for the predicate, the
/// second places, and the temporaries, which condition and body share. An error (WEFT-L008) if these are more
/// launches than a function may have, or if the loop passes memory at other addresses than its kernels are
/// compiled for.
Status add_while(Executable::Impl &function, const WhileLoop &of, Launch loop,
                 std::span<const Operand> places);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_WHILETRIPS_H
