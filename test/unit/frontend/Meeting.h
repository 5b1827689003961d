//===- Meeting.h - Places at which two threads meet ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_FRONTEND_MEETING_H
#define WEFT_TEST_FRONTEND_MEETING_H

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

/// Waits until `flag` is set; a failure after a minute, so that a test which found a lock ends.
inline void await(const std::atomic<bool> &flag) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!flag) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "the other thread did not come";
      return;
    }
    std::this_thread::yield();
  }
}

/// A place in a function at which its first trace waits until another thread has run `during`.
class Meeting {
public:
  /// Called by the function.
  void wait() {
    ++traces_;
    if (isReached_.exchange(true))
      return;
    await(isOver_);
  }
  /// Runs `traces`, and at the meeting `during` on another thread.
  template <typename Traces, typename During> void run(Traces traces, During during) {
    std::thread other([&] {
      await(isReached_);
      during();
      isOver_ = true;
    });
    try {
      traces();
    } catch (...) {
      other.join();
      throw;
    }
    other.join();
  }
  /// Calls a function that may stop here, and `during` at the meeting, or else before the call.
  template <typename Function, typename During> void call(Function &function, bool beside, During during) {
    if (beside) {
      run([&] { function(); }, during);
      return;
    }
    during();
    function();
  }
  /// How often the function came by.
  int traces() const { return traces_; }

private:
  std::atomic<bool> isReached_{false}, isOver_{false};
  std::atomic<int> traces_{0};
};

#endif // WEFT_TEST_FRONTEND_MEETING_H
