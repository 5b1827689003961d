//===- Calls.cpp - Every call by itself -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time of a step beside other processes, or in a container, is no single number: one call in a hundred
// may wait for a thread that has no processor. So each call is timed by itself. The process stays alive
// between the visits of `scripts/bench`, which says how long each visit lasts.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "Steps.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>

namespace weft::bench {
namespace {

/// A loop for one thread: multiplications and additions, each of which needs the result of the one before.
void chain(int64_t steps) {
  static volatile double kept = 1; // read and written, so that no compiler does the work beforehand
  double value = kept;
  for (int64_t i = 0; i < steps; ++i)
    value = value * 0.999999 + 1e-6;
  kept = value;
}

/// A loop on this thread that lasts about as long as asked, where the machine is quiet.
std::function<void()> loop_of(double ms) {
  constexpr int64_t probe = 100000;
  double once = INFINITY;
  for (int i = 0; i < 50; ++i) {
    const double start = milliseconds_now();
    chain(probe);
    once = std::min(once, milliseconds_now() - start);
  }
  const auto steps = static_cast<int64_t>(ms / once * probe);
  return [steps] { chain(steps); };
}

std::function<void()> call_of(const std::string &what) {
  const std::string loop = "loop:";
  if (what.starts_with(loop))
    return loop_of(std::stod(what.substr(loop.size())));
  const auto step = std::make_shared<Step>(make_step(what));
  const auto compiled = std::make_shared<decltype(step->compiled())>(step->compiled());
  return [step, compiled] {
    const Tensor loss = (*compiled)(step->x, step->y);
    synchronize();
  };
}

} // namespace

void serve_calls(const std::string &what) {
  constexpr int warm = 5;
  const std::function<void()> call = call_of(what);
  for (int i = 0; i < warm; ++i)
    call();
  std::printf("{\"calls_of\": %s}\n", quoted(what).c_str());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream asked(line);
    double seconds = 1;
    size_t least = 1;
    asked >> seconds >> least;
    call();
    std::vector<double> times;
    const double start = milliseconds_now();
    for (double last = start; last - start < seconds * 1e3 || times.size() < least;) {
      call();
      const double now = milliseconds_now();
      times.push_back(now - last);
      last = now;
    }
    std::string text = "{\"calls_ms\": [";
    for (size_t i = 0; i < times.size(); ++i)
      text += (i ? ", " : "") + number(times[i]);
    std::printf("%s]}\n", text.c_str());
    std::fflush(stdout);
  }
}

} // namespace weft::bench
