//===- Growth.h - How a cost grows with a size ------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_GROWTH_H
#define WEFT_TEST_UNIT_GROWTH_H

#include <algorithm>
#include <ctime>
#include <limits>

namespace weft::test {

/// What four times a size costs beside the size itself: about 4 if the cost is proportional to it, and 16 if
/// it is proportional to its square, as where each element is compared with each other one. Costs are the
/// time of the calling thread on a processor, which other threads and a slow machine do not change much; of
/// three runs, the one that takes least.
template <typename Work> double costOfFourTimes(int size, Work &&work) {
  const auto seconds = [&](int of) {
    double least = std::numeric_limits<double>::infinity();
    for (int run = 0; run < 3; ++run) {
      const auto now = [] {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
      };
      const double begin = now();
      work(of);
      least = std::min(least, now() - begin);
    }
    return least;
  };
  return seconds(4 * size) / seconds(size);
}

} // namespace weft::test

#endif // WEFT_TEST_UNIT_GROWTH_H
