//===- CApiStreamsTest.cpp - Streams and events in the C interface -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApiFixture.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

TEST_F(CApi, StreamsAndEvents) {
  weft_stream *first = nullptr, *again = nullptr;
  std::vector<weft_stream *> others(31);
  ASSERT_EQ(weft_stream_create("cpu", &first), WEFT_OK);
  for (weft_stream *&stream : others)
    ASSERT_EQ(weft_stream_create(nullptr, &stream), WEFT_OK);
  ASSERT_EQ(weft_stream_create("cpu", &again), WEFT_OK);
  weft_event *start = nullptr, *end = nullptr, *untimed = nullptr;
  ASSERT_EQ(weft_event_create(1, &start), WEFT_OK);
  ASSERT_EQ(weft_event_create(1, &end), WEFT_OK);
  ASSERT_EQ(weft_event_create(0, &untimed), WEFT_OK);
  int32_t flag = 0;
  EXPECT_EQ(weft_event_query(start, &flag), WEFT_OK);
  EXPECT_EQ(flag, 1) << "never recorded";
  double ms = -1;
  EXPECT_STATUS(weft_event_elapsed_ms(start, end, &ms), WEFT_ERROR, "never recorded");
  EXPECT_STATUS(weft_event_elapsed_ms(start, untimed, &ms), WEFT_ERROR_ARGUMENT, "with timing");
  ASSERT_EQ(weft_event_record(start, first), WEFT_OK);
  EXPECT_EQ(weft_stream_wait_event(others[0], start), WEFT_OK);
  EXPECT_EQ(weft_stream_wait_stream(others[0], first), WEFT_OK);
  Values x = counted(1);
  weft_buffer in[] = {describe(x)}, out[] = {nothing()};
  ASSERT_EQ(weft_executable_run(step, first, in, 1, out, 1), WEFT_OK);
  ASSERT_EQ(weft_event_record(end, first), WEFT_OK);
  ASSERT_EQ(weft_event_synchronize(end), WEFT_OK);
  ASSERT_EQ(weft_stream_synchronize(first), WEFT_OK); // the event passes before its own work is over
  EXPECT_EQ(weft_stream_query(first, &flag), WEFT_OK);
  EXPECT_EQ(flag, 1);
  ASSERT_EQ(weft_event_elapsed_ms(start, end, &ms), WEFT_OK);
  EXPECT_GE(ms, 0);
  weft_buffer_release(&out[0]);
  EXPECT_STATUS(weft_stream_create("cuda:97", &again), WEFT_ERROR_DEVICE, "'cuda:97' is not there");
  for (weft_event *event : {start, end, untimed})
    weft_event_destroy(event);
  for (weft_stream *stream : others)
    weft_stream_destroy(stream);
  weft_stream_destroy(first);
  weft_stream_destroy(again);
}

/// An embedder's executor: one thread that runs posted work, and work of the embedder in between.
struct Loop {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;
  bool stopping = false;
  std::thread thread{[this] {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stopping || !work.empty(); });
      if (work.empty())
        return;
      auto next = std::move(work.front());
      work.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }};
  void post(std::function<void()> next) {
    const std::lock_guard lock(mutex);
    work.push_back(std::move(next));
    changed.notify_all();
  }
  ~Loop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    thread.join();
  }
};

TEST_F(CApi, AnExternalExecutorOrdersItsOwnWorkWithOurs) {
  Loop loop;
  weft_stream *stream = nullptr;
  ASSERT_EQ(weft_stream_create_external(
                [](void *user, void (*run)(void *), void *work) {
                  static_cast<Loop *>(user)->post([run, work] { run(work); });
                },
                &loop, &stream),
            WEFT_OK);
  Values x(16), y(16);
  float seen = -1;
  // The embedder fills the input on its executor, the step runs after that, and then the embedder reads.
  std::atomic<bool> open{false};
  loop.post([&] {
    while (!open)
      std::this_thread::yield();
    const Values filled = counted(3);
    std::copy(filled.begin(), filled.end(), x.begin());
  });
  weft_buffer in[] = {describe(x)}, out[] = {describe(y)};
  std::thread caller([&] {
    // In the inline mode the call waits for its turn.
    EXPECT_EQ(weft_executable_run(step, stream, in, 1, out, 1), WEFT_OK) << weft_last_error();
    loop.post([&] { seen = y[0]; });
  });
  open = true;
  caller.join();
  EXPECT_EQ(weft_stream_synchronize(stream), WEFT_OK);
  std::atomic<bool> done{false};
  loop.post([&] { done = true; });
  while (!done)
    std::this_thread::yield();
  EXPECT_EQ(y, scaled(counted(3), 2));
  EXPECT_EQ(seen, 6);
  weft_stream_destroy(stream);
}

} // namespace
