//===- Timing.h - Measuring contenders in turn ------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_BENCH_TIMING_H
#define WEFT_BENCH_TIMING_H

#include <functional>
#include <string>
#include <vector>

namespace weft::bench {

/// Something to be timed. `call` returns when its work is done; where `wait` is given, `call` only has to be
/// queued and `wait` is called once at the end of a block.
struct Contender {
  std::string name;
  std::function<void()> call;
  std::function<void()> wait = {};
};

/// Milliseconds a call, one number for each alternation.
struct Samples {
  std::string name;
  std::vector<double> ms;
  int calls = 1; ///< in a block
  double median() const;
  double min() const;
  /// {"ms": ..., "min_ms": ..., "samples_ms": [...]}
  std::string json() const;
};

struct Schedule {
  int alternations = 9;
  double block_ms = 16; ///< length of one contender's block of calls in one alternation
};

/// Runs the contenders in turn. A block starts with a pause, in which idle threads of the one before go to
/// sleep, and an untimed call. A block's number is the median of its calls; of calls below a millisecond,
/// which a clock and a wait would disturb, the mean.
std::vector<Samples> alternate(const std::vector<Contender> &contenders, Schedule schedule = {});

double milliseconds_now();
double median(std::vector<double> values);
/// A JSON number with six significant digits.
std::string number(double value);
/// A JSON string.
std::string quoted(const std::string &text);

} // namespace weft::bench

#endif // WEFT_BENCH_TIMING_H
