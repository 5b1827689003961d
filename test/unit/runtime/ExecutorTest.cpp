//===- ExecutorTest.cpp - Every task runs once -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/threads/Executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>

using namespace weft::runtime;

namespace {

void expect_covers(Executor &executor) {
  for (int64_t tasks : {0, 1, 2, 3, 7, 8, 63, 64, 65, 1000})
    for (int64_t grain : {1, 2, 5, 64, 2000}) {
      std::vector<std::atomic<int>> counts(static_cast<size_t>(tasks));
      std::atomic<int> bad{0};
      executor.parallel_for(tasks, grain, [&](int64_t begin, int64_t end, int worker) {
        if (begin % grain != 0 || (end % grain != 0 && end != tasks) || worker < 0 ||
            worker >= executor.width())
          ++bad;
        for (int64_t i = begin; i < end; ++i)
          ++counts[static_cast<size_t>(i)];
      });
      EXPECT_EQ(bad, 0);
      for (const std::atomic<int> &count : counts)
        ASSERT_EQ(count, 1) << tasks << " " << grain;
    }
}

TEST(Executor, CoversEveryTaskOnce) {
  expect_covers(executor());
  for (int width : {1, 2, 3, 5})
    expect_covers(*make_thread_executor(width));
}

TEST(Executor, OneTaskAndNestedCallsRunOnTheCaller) {
  const auto caller = std::this_thread::get_id();
  executor().parallel_for(1, 1,
                          [&](int64_t, int64_t, int) { EXPECT_EQ(std::this_thread::get_id(), caller); });
  const auto team = make_thread_executor(3);
  std::atomic<int> bad{0}, ran{0};
  team->parallel_for(30, 1, [&](int64_t begin, int64_t end, int worker) {
    const auto self = std::this_thread::get_id();
    for (int64_t i = begin; i < end; ++i)
      team->parallel_for(10, 1, [&](int64_t first, int64_t last, int inner) {
        bad += std::this_thread::get_id() != self || inner != worker;
        ran += static_cast<int>(last - first);
      });
  });
  EXPECT_EQ(bad, 0);
  EXPECT_EQ(ran, 300);
}

TEST(Executor, WorkersNeverShareANumber) {
  const auto team = make_thread_executor(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<int> shared{0};
  team->parallel_for(400, 1, [&](int64_t, int64_t, int worker) {
    shared += inside[static_cast<size_t>(worker)].fetch_add(1) != 0;
    std::this_thread::yield();
    inside[static_cast<size_t>(worker)].fetch_sub(1);
  });
  EXPECT_EQ(shared, 0);
}

// Where a thread is held up, as one that waits for a processor.
std::atomic<bool> isHeld{false}, isReleased{false};

// A launch does not wait for a thread that has not arrived, and runs without it.
TEST(Executor, ALaunchEndsWhenItsWorkIsDone) {
  const auto team = make_thread_executor(2);
  const auto run = [&](int times) {
    std::atomic<int64_t> sum{0};
    for (int i = 0; i < times; ++i)
      team->parallel_for(7, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
    EXPECT_EQ(sum, times * 7);
  };
  run(10000);
  // The other thread is here when both are in one launch; it is woken for that after any pause.
  pthread_t other = {};
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> here{0};
    team->parallel_for(2, 1, [&](int64_t, int64_t, int worker) {
      if (worker == 1)
        other = ::pthread_self();
      ++here;
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (here < 2 && std::chrono::steady_clock::now() < limit)
        std::this_thread::yield();
    });
    ASSERT_EQ(here, 2);
  }
  isHeld = isReleased = false; // the test may run again
  struct sigaction hold = {}, before = {};
  hold.sa_handler = [](int) {
    isHeld = true;
    while (!isReleased)
      ::sched_yield();
  };
  ASSERT_EQ(::sigaction(SIGUSR1, &hold, &before), 0);
  ASSERT_EQ(::pthread_kill(other, SIGUSR1), 0);
  while (!isHeld)
    run(1); // signals come late under the thread sanitizer
  run(1000);
  isReleased = true;
  run(1000);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(Executor, SeveralThreadsMayIssue) {
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        executor().parallel_for(16, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(sum, 3 * 200 * 16);
}

TEST(Executor, AnEmbeddersExecutorIsUsed) {
  struct Serial final : Executor {
    int calls = 0;
    void parallel_for(int64_t tasks, int64_t, Body body) override {
      ++calls;
      if (tasks > 0)
        body(0, tasks, 0);
    }
    int width() const override { return 1; }
  } own;
  set_executor(&own);
  EXPECT_EQ(&executor(), &own);
  executor().parallel_for(5, 1, [](int64_t, int64_t, int) {});
  set_executor(nullptr);
  EXPECT_EQ(own.calls, 1);
  EXPECT_NE(&executor(), &own);
}

// A measurement, not a check: run with --gtest_also_run_disabled_tests.
TEST(Executor, DISABLED_LaunchOverhead) {
  for (int round = 0; round < 3; ++round) {
    std::atomic<int64_t> sum{0};
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 20000; ++i)
      executor().parallel_for(2, 1, [&](int64_t from, int64_t to, int) { sum.fetch_add(to - from); });
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    std::printf("parallel_for over %d threads: %.2f us\n", executor().width(), time.count() / 20000);
  }
}

} // namespace
