//===- timings.h - The time of a repeated piece of work ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EXAMPLES_COMMON_TIMINGS_H
#define WEFT_EXAMPLES_COMMON_TIMINGS_H

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <vector>

namespace example {

/// Times a piece of work that is repeated. A call of a compiled function may return before its work is done,
/// so read a result, or call weft::synchronize(), before `stop`.
class Timings {
public:
  void start() { begin_ = Clock::now(); }
  /// Adds the time since `start`.
  void stop() { times_.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin_).count()); }
  size_t count() const { return times_.size(); }
  /// In milliseconds. Of an even number of times it is the upper one of the two in the middle; of none, NaN.
  double median_ms() const {
    if (times_.empty())
      return std::numeric_limits<double>::quiet_NaN();
    std::vector<double> times = times_;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_;
  std::vector<double> times_;
};

} // namespace example

#endif // WEFT_EXAMPLES_COMMON_TIMINGS_H
