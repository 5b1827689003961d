//===- Event.cpp - Events of queues ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/queue/Queue.h"

#include "runtime/queue/Profiler.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace weft::runtime {

struct Event::State {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0; // the number of calls of record()
  uint64_t passed = 0;   // the last of these that a queue has reached
  std::chrono::steady_clock::time_point time;

  void pass(uint64_t number) {
    {
      const std::lock_guard lock(mutex);
      if (number > passed) {
        passed = number;
        time = std::chrono::steady_clock::now();
      }
    }
    changed.notify_all();
  }
  void wait(uint64_t number) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return passed >= number; });
  }
  uint64_t newest() {
    const std::lock_guard lock(mutex);
    return recorded;
  }
};

Event::Event() : state_(std::make_shared<State>()) {}

void Event::record(Queue &queue) {
  uint64_t number;
  {
    const std::lock_guard lock(state_->mutex);
    number = ++state_->recorded;
  }
  queue.finish_passed();
  if (queue.enter_if_idle()) {
    state_->pass(number);
    queue.leave();
    return;
  }
  try {
    queue.submit([state = state_, number] { state->pass(number); });
  } catch (...) {
    // No queue will reach this point, so nothing may wait for it.
    state_->pass(number);
    throw;
  }
}

void Event::wait(Queue &queue) const {
  if (query())
    return;
  queue.submit([state = state_, number = state_->newest()] { state->wait(number); });
}

void Event::synchronize() const {
  const ProfiledSpan span(Profiler::Span::wait, "wait for an event");
  state_->wait(state_->newest());
}

bool Event::query() const {
  const std::lock_guard lock(state_->mutex);
  return state_->passed == state_->recorded;
}

Expected<double> Event::elapsed_time(const Event &start) const {
  const auto time_of = [](State &state) -> Expected<std::chrono::steady_clock::time_point> {
    const std::lock_guard lock(state.mutex);
    if (state.recorded == 0)
      return Status::error("elapsed_time: an event was never recorded");
    if (state.passed != state.recorded)
      return Status::error("elapsed_time: an event has not passed yet; synchronize with it first");
    return state.time;
  };
  Expected<std::chrono::steady_clock::time_point> begin = time_of(*start.state_), end = time_of(*state_);
  if (!begin)
    return begin.status();
  if (!end)
    return end.status();
  return std::chrono::duration<double, std::milli>(*end - *begin).count();
}

} // namespace weft::runtime
