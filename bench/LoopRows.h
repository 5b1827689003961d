//===- LoopRows.h - Rows beside a loop written by hand -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_BENCH_LOOPROWS_H
#define WEFT_BENCH_LOOPROWS_H

#include "HandLoops.h"
#include "Rows.h"

#include <weft/weft.hpp>

#include <functional>

namespace weft::bench {

/// Elements of what a copy is measured with.
inline constexpr int64_t vectorSize = int64_t(1) << 24;

/// One input: the loop's copy and Weft's, with the same values.
struct Input {
  Input(int64_t count, Shape shape, uint64_t seed);
  const float *data() const { return floats.data(); }
  Floats floats;
  Tensor tensor;
};

/// Throws std::runtime_error where an element differs by more than `tolerance`, relative to 1 + its
/// magnitude.
void compare(const Tensor &ours, const float *theirs, double tolerance);

/// `ours` launches and returns its result; `loop` fills `out`, which both are compared by. Then Weft, the
/// loop with plain stores (and with streaming ones, where it writes much), and a copy are timed in turn.
RowResult beside_loop(int64_t bytes, const std::function<Tensor()> &ours,
                      const std::function<void(Stores)> &loop, const Floats &out, bool writesMuch,
                      double tolerance);

} // namespace weft::bench

#endif // WEFT_BENCH_LOOPROWS_H
