//===- QueueTest.cpp - Order, tickets, events -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include <chrono>
#include <cstdlib>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

void rest(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST(Queue, RunsInOrder) {
  Queue queue;
  std::vector<int> order;
  for (int i = 0; i < 200; ++i)
    queue.submit([&order, i] { order.push_back(i); });
  EXPECT_TRUE(queue.synchronize().ok());
  ASSERT_EQ(order.size(), 200u);
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(order[static_cast<size_t>(i)], i);
  EXPECT_TRUE(queue.idle());
}

TEST(Queue, TicketsTellWhenSomethingIsDone) {
  Queue queue;
  std::atomic<bool> open{false};
  const Ticket first = queue.submit([&] {
    while (!open)
      std::this_thread::yield();
  });
  const Ticket second = queue.submit([] {});
  EXPECT_FALSE(first.done());
  EXPECT_FALSE(second.done());
  EXPECT_FALSE(queue.idle());
  EXPECT_FALSE(queue.try_enter());
  open = true;
  second.wait();
  EXPECT_TRUE(first.done());
  EXPECT_TRUE(Ticket().done());
}

/// Work of a device that ends when `open` is set.
struct DeviceWork final : IssuedWork {
  struct Log {
    std::mutex mutex;
    std::vector<std::string> lines;
    void add(std::string line) {
      const std::lock_guard lock(mutex);
      lines.push_back(std::move(line));
    }
  };
  DeviceWork(Log &to, int number, std::shared_future<void> end)
      : log(to), name(std::to_string(number)), open(std::move(end)) {}
  void issue() noexcept override { log.add("issue " + name); }
  bool passed() const override { return open.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  void finish() noexcept override {
    open.wait();
    log.add("finish " + name);
  }
  Log &log;
  const std::string name;
  const std::shared_future<void> open;
};

TEST(Queue, IssuesWorkOfDevicesBeforeItHasEnded) {
  DeviceWork::Log log;
  std::promise<void> gate;
  const std::shared_future<void> open = gate.get_future().share();
  Queue queue;
  const auto make = [&](int number) { return std::make_shared<DeviceWork>(log, number, open); };
  const Ticket first = queue.submit(make(1));
  Ticket second;
  while (!second) // the queue's thread issues the first
    second = queue.try_begin_issue();
  EXPECT_FALSE(queue.try_begin_issue()) << "it is being issued";
  const auto own = make(2);
  own->issue();
  queue.end_issue(second, own);
  EXPECT_EQ(log.lines, (std::vector<std::string>{"issue 1", "issue 2"}));
  EXPECT_FALSE(first.done() || queue.idle() || queue.try_enter());
  // Other work begins when what was issued has ended, and so does a caller.
  const Ticket third = queue.submit([&] { log.add("run 3"); });
  const Ticket fourth = queue.submit(make(4));
  EXPECT_FALSE(queue.try_begin_issue()) << "other work comes first";
  rest(5);
  EXPECT_FALSE(third.done());
  gate.set_value();
  third.wait();
  EXPECT_TRUE(first.done() && second.done());
  fourth.wait();
  queue.enter();
  log.add("enter");
  queue.leave();
  EXPECT_TRUE(queue.idle());
  EXPECT_EQ(log.lines, (std::vector<std::string>{"issue 1", "issue 2", "finish 1", "finish 2", "run 3",
                                                 "issue 4", "finish 4", "enter"}));
}

TEST(Queue, FinishesWhatItHasIssuedBeforeItEnds) {
  DeviceWork::Log log;
  std::promise<void> gate;
  const std::shared_future<void> open = gate.get_future().share();
  gate.set_value();
  Ticket last;
  {
    Queue withThread, without;
    withThread.submit(std::make_shared<DeviceWork>(log, 1, open)).wait();
    last = withThread.submit(std::make_shared<DeviceWork>(log, 2, open));
    const Ticket place = without.try_begin_issue();
    without.end_issue(place, std::make_shared<DeviceWork>(log, 3, open));
  }
  EXPECT_TRUE(last.done());
  EXPECT_EQ(log.lines.size(), 5u);
}

// Threads that issue, wait, synchronise and look, all at once.
TEST(Queue, FinishesIssuedWorkInOrderForManyThreads) {
  constexpr int threads = 4, rounds = 50;
  Queue queue;
  std::atomic<int> finished{0}, ran{0};
  struct Counted final : IssuedWork {
    Counted(std::atomic<int> &of) : finished(of) {}
    void issue() noexcept override { issued = true; }
    bool passed() const override { return true; }
    void finish() noexcept override { finished += issued; }
    std::atomic<int> &finished;
    bool issued = false;
  };
  std::vector<std::thread> users;
  for (int t = 0; t < threads; ++t)
    users.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        const auto work = std::make_shared<Counted>(finished);
        Ticket ticket = t % 2 ? queue.try_begin_issue() : Ticket();
        if (ticket) {
          work->issue();
          queue.end_issue(ticket, work);
        } else {
          ticket = queue.submit(work);
        }
        if (i % 5 == 0)
          ticket.wait();
        if (i % 7 == 0)
          queue.submit([&] { ++ran; });
        if (i % 11 == 0)
          EXPECT_TRUE(queue.synchronize().ok());
        queue.finish_passed();
      }
    });
  for (std::thread &user : users)
    user.join();
  EXPECT_TRUE(queue.synchronize().ok());
  EXPECT_EQ(finished, threads * rounds);
  EXPECT_EQ(ran, threads * ((rounds + 6) / 7));
}

TEST(Queue, EnteringHoldsUpTheWork) {
  Queue queue;
  ASSERT_TRUE(queue.try_enter());
  EXPECT_FALSE(queue.try_enter());
  std::atomic<bool> ran{false};
  const Ticket ticket = queue.submit([&] { ran = true; });
  rest(20);
  EXPECT_FALSE(ran);
  queue.leave();
  ticket.wait();
  EXPECT_TRUE(ran);
  queue.enter();
  queue.leave();
}

TEST(Queue, DestructionRunsWhatWasSubmitted) {
  int ran = 0;
  {
    Queue queue;
    for (int i = 0; i < 50; ++i)
      queue.submit([&] { ++ran; });
  }
  EXPECT_EQ(ran, 50);
}

/// How many pieces of work that keep `bytes` alive a caller submits before it has to wait for the queue.
uint64_t piecesBeforeWaiting(uint64_t bytes, uint64_t most) {
  Queue queue;
  std::atomic<bool> open{false};
  std::atomic<uint64_t> submitted{0};
  std::thread caller([&] {
    for (uint64_t i = 0; i < most; ++i, ++submitted) {
      queue.await_room(bytes);
      queue.submit(
          [&] {
            while (!open)
              std::this_thread::yield();
          },
          bytes);
    }
  });
  uint64_t before = ~uint64_t(0);
  while (submitted != before) { // until it stands still
    before = submitted;
    rest(100);
  }
  open = true;
  caller.join();
  EXPECT_EQ(submitted, most);
  EXPECT_TRUE(queue.synchronize().ok());
  return before;
}

TEST(Queue, ACallerWaitsWhereItRunsTooFarAhead) {
  EXPECT_EQ(piecesBeforeWaiting(8, Queue::maxWaiting + 100), Queue::maxWaiting);
  EXPECT_EQ(piecesBeforeWaiting(Queue::maxWaitingBytes / 16, 50), 16u);
  EXPECT_EQ(piecesBeforeWaiting(Queue::maxWaitingBytes * 4, 50), Queue::manyWaiting);
}

TEST(Queue, NobodyWaitsForRoomOnAnExternalQueue) {
  std::vector<std::function<void()>> posted;
  std::unique_ptr<Queue> queue =
      Queue::external([&](std::function<void()> piece) { posted.push_back(piece); });
  for (int i = 0; i < 8; ++i) {
    queue->await_room(Queue::maxWaitingBytes);
    queue->submit([] {}, Queue::maxWaitingBytes);
  }
  EXPECT_EQ(posted.size(), 8u);
  for (const auto &piece : posted)
    piece();
}

// Its executor may be the thread that trims: to wait for it would be to wait for ever.
TEST(Queue, NobodyWaitsForAnExternalQueueToTrim) {
  std::vector<std::function<void()>> posted;
  std::unique_ptr<Queue> queue =
      Queue::external([&](std::function<void()> piece) { posted.push_back(piece); });
  auto run = [&] {
    for (const auto &piece : std::exchange(posted, {}))
      piece();
  };
  queue->submit([&] { ASSERT_TRUE(queue->arena(4096).ok()); });
  run();
  EXPECT_GE(queue->arena_bytes(), 4096u);
  queue->trim();
  EXPECT_EQ(queue->arena_bytes(), 0u);
  EXPECT_TRUE(posted.empty()) << "an idle queue gives it at once";

  bool kept = false;
  queue->submit([&] { ASSERT_TRUE(queue->arena(4096).ok()); });
  run();
  queue->submit([&] { kept = queue->arena_bytes() >= 4096; });
  queue->trim();
  EXPECT_GE(queue->arena_bytes(), 4096u) << "what was submitted before may use it";
  run();
  EXPECT_TRUE(kept);
  EXPECT_EQ(queue->arena_bytes(), 0u);
}

TEST(Queue, FailuresAreSeenOnce) {
  Queue queue;
  auto failure = std::make_shared<Failure>(Status::error("first"));
  const uint64_t before = next_sequence();
  queue.submit([&] {
    queue.report(failure);
    queue.report(std::make_shared<Failure>(Status::error("second")));
  });
  EXPECT_FAILS(queue.synchronize(), "first");
  EXPECT_TRUE(queue.synchronize().ok());
  EXPECT_TRUE(failure->blocks(before));
  EXPECT_FALSE(failure->blocks(next_sequence()));
}

TEST(Queue, ArenaGrowsAndIsTrimmed) {
  Queue queue;
  queue.enter();
  std::byte *small = queue.arena(1000).value_or_throw();
  EXPECT_EQ(queue.arena(10).value_or_throw(), small);
  std::byte *large = queue.arena(100000).value_or_throw();
  large[99999] = std::byte{1};
  EXPECT_EQ(queue.arena_bytes(), 100000u);
  EXPECT_FAILS(queue.arena(size_t(1) << 60).status(), "arena of temporaries");
  queue.leave();
  queue.trim();
  EXPECT_EQ(queue.arena_bytes(), 0u);
}

TEST(Queue, ModeComesFromTheEnvironment) {
  const char *saved = std::getenv("WEFT_CPU_QUEUE");
  const std::string before = saved ? saved : "";
  ::setenv("WEFT_CPU_QUEUE", "inline", 1);
  EXPECT_EQ(queue_mode_from_environment().value_or_throw(), QueueMode::inlined);
  ::setenv("WEFT_CPU_QUEUE", "async", 1);
  EXPECT_EQ(queue_mode_from_environment().value_or_throw(), QueueMode::async);
  ::setenv("WEFT_CPU_QUEUE", "later", 1);
  EXPECT_FAILS(queue_mode_from_environment().status(), "'later'; expected auto, async or inline");
  if (saved)
    ::setenv("WEFT_CPU_QUEUE", before.c_str(), 1);
  else
    ::unsetenv("WEFT_CPU_QUEUE");
}

TEST(Event, OrdersTwoQueues) {
  Queue first, second;
  Event event;
  EXPECT_TRUE(event.query());
  std::atomic<int> value{0};
  first.submit([&] {
    rest(30);
    value = 1;
  });
  event.record(first);
  EXPECT_FALSE(event.query());
  event.wait(second);
  int seen = -1;
  second.submit([&] { seen = value; });
  EXPECT_TRUE(second.synchronize().ok());
  EXPECT_EQ(seen, 1);
  EXPECT_TRUE(event.query());
}

TEST(Event, MeasuresTime) {
  Queue queue;
  Event start, end, never;
  EXPECT_FAILS(end.elapsed_time(start).status(), "never recorded");
  start.record(queue);
  queue.submit([] { rest(20); });
  end.record(queue);
  EXPECT_FAILS(end.elapsed_time(start).status(), "has not passed");
  end.synchronize();
  EXPECT_GE(end.elapsed_time(start).value_or_throw(), 19.0);
  EXPECT_LT(end.elapsed_time(start).value_or_throw(), 5000.0);
  EXPECT_FAILS(never.elapsed_time(start).status(), "never recorded");
}

} // namespace
