//===- LoopBody.cpp - Loops and branches of graphs --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/LoopBody.h"

#include "test/cudasim/driver/Ranges.h"
#include "test/cudasim/driver/Settings.h"

#include <utility>

namespace weft::cusim {
namespace {

/// More trips are a loop that never ends.
constexpr uint64_t mostTrips = 1 << 16;

Outcome fault(CUresult code, std::string message) {
  Outcome outcome;
  outcome.code = code;
  outcome.message = std::move(message);
  return outcome;
}

/// Where a condition is, for the search for races. No memory of a device or of the program is there.
cudasim::Range rangeOf(uint64_t condition) { return {condition, condition + sizeof(uint32_t)}; }

/// Sorts ranges, and makes one of those that touch each other.
void merge(std::vector<cudasim::Range> &ranges) {
  sortRanges(ranges);
  std::vector<cudasim::Range> merged;
  for (const cudasim::Range &one : ranges)
    if (!merged.empty() && one.begin <= merged.back().end)
      merged.back().end = std::max(merged.back().end, one.end);
    else
      merged.push_back(one);
  ranges = std::move(merged);
}

void append(std::vector<cudasim::Range> &to, const std::vector<cudasim::Range> &from) {
  to.insert(to.end(), from.begin(), from.end());
}

class Trips {
public:
  Trips(const LoopBody &loop, ConditionValues &values) : loop_(loop), values_(values) {
    for (const BodyStep &step : loop.steps) {
      std::vector<bool> &earlier = after_.emplace_back(loop.steps.size());
      for (const size_t one : step.before) {
        earlier[one] = true;
        for (size_t k = 0; k < one; ++k)
          if (after_[one][k])
            earlier[k] = true;
      }
    }
  }

  Outcome run() {
    for (uint64_t trip = 0;; ++trip) {
      all_.accesses.reads.push_back(rangeOf(loop_.condition));
      const std::optional<uint32_t> value = values_.at(loop_.condition);
      if (!value)
        return fault(CUDA_ERROR_LAUNCH_FAILED,
                     "the condition of " + loop_.what + " has no value: no kernel has set it in this launch");
      if (!*value)
        return std::move(all_);
      if (trip == mostTrips)
        return fault(CUDA_ERROR_LAUNCH_TIMEOUT,
                     loop_.what + " has had " + std::to_string(trip) + " trips, and goes on");
      if (Outcome failed = runTrip(); failed.code != CUDA_SUCCESS)
        return failed;
      for (auto *ranges : {&all_.accesses.reads, &all_.accesses.writes, &all_.accesses.atomics})
        merge(*ranges);
      if (loop_.isBranch)
        return std::move(all_);
    }
  }

private:
  /// The next step, in the order that is asked for.
  size_t choose(const std::vector<bool> &done) const {
    size_t chosen = loop_.steps.size();
    for (size_t k = 0; k < loop_.steps.size(); ++k) {
      const std::vector<size_t> &before = loop_.steps[k].before;
      if (done[k] || !std::all_of(before.begin(), before.end(), [&](size_t one) { return done[one]; }))
        continue;
      chosen = k;
      if (settings().order == cudasim::Order::forward)
        break;
    }
    return chosen;
  }

  Outcome runTrip() {
    std::vector<bool> done(loop_.steps.size());
    std::vector<Accesses> touched(loop_.steps.size());
    for (size_t count = 0; count < loop_.steps.size(); ++count) {
      const size_t next = choose(done);
      const BodyStep &step = loop_.steps[next];
      done[next] = true;
      if (!step.run)
        continue;
      Outcome outcome = step.run();
      if (outcome.code != CUDA_SUCCESS) {
        outcome.message = step.what + ": " + outcome.message;
        return outcome;
      }
      all_.nanoseconds += outcome.nanoseconds + 1;
      touched[next] = std::move(outcome.accesses);
      if (Outcome race = findRace(next, done, touched); race.code != CUDA_SUCCESS)
        return race;
      append(all_.accesses.reads, touched[next].reads);
      append(all_.accesses.writes, touched[next].writes);
      append(all_.accesses.atomics, touched[next].atomics);
    }
    return {};
  }

  Outcome findRace(size_t next, const std::vector<bool> &done, std::vector<Accesses> &touched) const {
    for (auto *ranges : {&touched[next].reads, &touched[next].writes, &touched[next].atomics})
      sortRanges(*ranges);
    for (size_t other = 0; other < loop_.steps.size(); ++other) {
      if (other == next || !done[other] || after_[next][other] || after_[other][next])
        continue;
      std::string race =
          raceOf(loop_.steps[next].what, touched[next], loop_.steps[other].what, touched[other]);
      if (!race.empty())
        return fault(CUDA_ERROR_LAUNCH_FAILED, std::move(race));
    }
    return {};
  }

  const LoopBody &loop_;
  ConditionValues &values_;
  std::vector<std::vector<bool>> after_; ///< of each step: those that it needs, directly or through others
  Outcome all_;
};

} // namespace

Outcome runLoop(const LoopBody &loop, ConditionValues &values) { return Trips(loop, values).run(); }

Outcome withConditions(Outcome outcome, ConditionValues &values) {
  for (const auto &[handle, value] : std::exchange(outcome.conditions, {})) {
    const auto found = values.find(handle);
    if (found == values.end())
      return fault(CUDA_ERROR_ILLEGAL_ADDRESS, "the kernel sets a condition that is none of its graph");
    found->second = value;
    if (!outcome.accesses.empty()) // the search for races has all that the kernel touches
      outcome.accesses.writes.push_back(rangeOf(handle));
  }
  return outcome;
}

Outcome withoutConditions(Outcome outcome) {
  return outcome.conditions.empty()
             ? std::move(outcome)
             : fault(CUDA_ERROR_ILLEGAL_ADDRESS, "the kernel sets a condition, and is in no graph");
}

} // namespace weft::cusim
