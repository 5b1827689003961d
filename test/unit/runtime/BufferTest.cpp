//===- BufferTest.cpp - Memory and what it remembers -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include <chrono>
#include <future>
#include <thread>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

TEST(Buffer, OwnsOrWraps) {
  const uint64_t before = CachingAllocator::get().memory_allocated();
  {
    const auto buffer = Buffer::allocate(1000).value_or_throw();
    EXPECT_EQ(buffer->bytes(), 1000u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
    EXPECT_EQ(CachingAllocator::get().memory_allocated(), before + 1024);
  }
  EXPECT_EQ(CachingAllocator::get().memory_allocated(), before);
  int value = 3, deleted = 0;
  {
    const auto buffer = Buffer::wrap(&value, sizeof value, [&](void *data) { deleted += data == &value; });
    EXPECT_EQ(buffer->data(), &value);
  }
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(Buffer::allocate(SIZE_MAX / 2).status().code(), "WEFT-M001");
}

TEST(Buffer, WaitsForTheLastWriteAndAllUses) {
  Queue first, second;
  const auto buffer = Buffer::allocate(4).value_or_throw();
  EXPECT_FALSE(buffer->tracked());
  std::atomic<int> done{0};
  const auto slow = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++done;
  };
  buffer->note_write(first.submit(slow));
  EXPECT_TRUE(buffer->wait().ok());
  EXPECT_EQ(done, 1);
  EXPECT_FALSE(buffer->tracked());
  buffer->note_use(first.submit(slow));
  buffer->note_use(second.submit(slow));
  EXPECT_TRUE(buffer->wait_unused().ok());
  EXPECT_EQ(done, 3);
}

TEST(Buffer, MemoryIsKeptForTheQueuesThatUseIt) {
  constexpr size_t bytes = 12 << 20; // a segment of its own
  CachingAllocator &allocator = CachingAllocator::get();
  Queue first, second;
  for (bool writes : {false, true}) {
    allocator.empty_cache();
    std::promise<void> go;
    auto buffer = Buffer::allocate(bytes).value_or_throw();
    const Ticket ticket = first.submit([went = go.get_future().share()] { went.wait(); });
    writes ? buffer->note_write(ticket) : buffer->note_use(ticket);
    void *const data = buffer->data();
    const int64_t active = allocator.stats().at("active_bytes.all.current");
    buffer.reset();
    EXPECT_EQ(allocator.stats().at("active_bytes.all.current"), active);
    {
      const CurrentQueueScope elsewhere(second);
      EXPECT_NE(Buffer::allocate(bytes).value_or_throw()->data(), data);
    }
    EXPECT_TRUE(allocator.check().ok());
    go.set_value();
    ticket.wait();
    const auto one = Buffer::allocate(bytes).value_or_throw(), two = Buffer::allocate(bytes).value_or_throw();
    EXPECT_TRUE(one->data() == data || two->data() == data);
  }
}

TEST(Buffer, WorkThatDropsWhatItUsedWaitsForNobody) {
  CachingAllocator &allocator = CachingAllocator::get();
  Queue queue;
  std::promise<void> noted;
  auto buffer = Buffer::allocate(12 << 20).value_or_throw();
  Buffer &memory = *buffer;
  const auto live = allocator.stats().at("active_bytes.all.current");
  const Ticket ticket =
      queue.submit([kept = std::move(buffer), went = noted.get_future().share()] { went.wait(); });
  memory.note_use(ticket);
  memory.note_write(ticket);
  noted.set_value();
  ticket.wait();
  EXPECT_EQ(allocator.stats().at("active_bytes.all.current"), live - (12 << 20));
}

TEST(Buffer, OutOfMemoryWaitsForQueuesUnlessTheyMayWaitForTheCaller) {
  constexpr size_t bytes = 12 << 20;
  CachingAllocator &allocator = CachingAllocator::get();
  allocator.empty_cache();
  Queue first, second;
  const auto use_and_drop = [&](const std::shared_future<void> &until) {
    auto buffer = Buffer::allocate(bytes).value_or_throw();
    buffer->note_use(first.submit([until] { until.wait(); }));
  };
  std::promise<void> go;
  const std::shared_future<void> went = go.get_future().share();
  use_and_drop(went);
  const uint64_t before = allocator.limit();
  allocator.set_limit(allocator.memory_reserved());
  // From the work of a queue, which `first` might be waiting for.
  std::string refused;
  second.submit([&] { refused = Buffer::allocate(bytes).status().code(); }).wait();
  EXPECT_EQ(refused, "WEFT-M001");
  second.enter();
  EXPECT_EQ(Buffer::allocate(bytes).status().code(), "WEFT-M001");
  second.leave();
  const Ticket place = second.try_enter();
  Queue::await_turn(place);
  EXPECT_EQ(Buffer::allocate(bytes).status().code(), "WEFT-M001");
  second.leave();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    go.set_value();
  });
  EXPECT_TRUE(Buffer::allocate(bytes));
  later.join();
  allocator.set_limit(before);
}

TEST(Buffer, APartIsTheMemoryTheCallsAndTheFailuresOfItsWhole) {
  auto whole = Buffer::allocate(64).value_or_throw();
  const auto part = Buffer::part(whole, 16, 32), inner = Buffer::part(part, 8, 8);
  EXPECT_EQ(inner->data(), static_cast<std::byte *>(whole->data()) + 24);
  EXPECT_EQ(inner->bytes(), 8u);
  Queue queue;
  std::atomic<int> done{0};
  const auto slow = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++done;
  };
  inner->note_use(queue.submit(slow));
  EXPECT_TRUE(whole->wait_unused().ok());
  EXPECT_EQ(done, 1);
  whole->note_write(queue.submit(slow));
  EXPECT_TRUE(inner->tracked());
  EXPECT_TRUE(inner->wait().ok());
  EXPECT_EQ(done, 2);
  EXPECT_FALSE(part->tracked());
  whole->note_failure(std::make_shared<Failure>(Status::error("no")), false);
  EXPECT_NE(inner->blocking(next_sequence()), nullptr);
  EXPECT_FAILS(part->settle(), "no");
  EXPECT_TRUE(whole->wait().ok());
  const std::weak_ptr<Buffer> kept = whole;
  whole = nullptr;
  EXPECT_FALSE(kept.expired()); // by its parts
}

TEST(Buffer, StateRecoversOnceTheFailureIsSeenAndAFreshResultDoesNot) {
  const auto state = Buffer::allocate(4).value_or_throw(), fresh = Buffer::allocate(4).value_or_throw();
  const auto failure = std::make_shared<Failure>(Status::error("no"));
  state->note_failure(failure, false);
  fresh->note_failure(failure, true);
  const uint64_t early = next_sequence();
  EXPECT_NE(state->blocking(early), nullptr);
  EXPECT_FAILS(state->wait(), "no");
  EXPECT_TRUE(state->wait().ok());
  EXPECT_EQ(state->blocking(next_sequence()), nullptr);
  EXPECT_FAILS(fresh->wait(), "no");
  EXPECT_FAILS(fresh->wait(), "no");
  EXPECT_NE(fresh->blocking(next_sequence()), nullptr);
}

TEST(Buffer, AnErrorThatGoesNoFurtherStays) {
  const auto state = Buffer::allocate(4).value_or_throw(), fresh = Buffer::allocate(4).value_or_throw();
  const auto failure = std::make_shared<Failure>(Status::error("no"));
  state->note_failure(failure, false);
  fresh->note_failure(failure, true);
  EXPECT_FAILS(state->wait(/*seen=*/false), "no");
  EXPECT_FAILS(fresh->settle(/*seen=*/false), "no");
  EXPECT_FALSE(failure->seen());
  EXPECT_FALSE(fresh->lost());
  EXPECT_FAILS(state->wait(), "no");
  EXPECT_TRUE(fresh->lost());
  EXPECT_FALSE(state->lost());
}

TEST(Buffer, IsUncertainUntilTheCallThatMayFailIsDone) {
  Queue queue;
  std::promise<void> go;
  const auto certain = Buffer::allocate(4).value_or_throw(), whole = Buffer::allocate(4).value_or_throw();
  const auto part = Buffer::part(whole, 0, 2);
  EXPECT_FALSE(whole->uncertain());
  const Ticket call = queue.submit([&] {
    go.get_future().wait();
    whole->note_failure(std::make_shared<Failure>(Status::error("no")), true);
  });
  certain->note_write(call, /*may_fail=*/false);
  whole->note_write(call);
  EXPECT_FALSE(certain->uncertain());
  EXPECT_TRUE(part->uncertain());
  go.set_value();
  call.wait();
  EXPECT_TRUE(part->uncertain()); // it failed
  EXPECT_FAILS(part->wait(), "no");
  EXPECT_TRUE(part->lost());
  whole->note_write(queue.submit([] {}));
  EXPECT_TRUE(whole->wait().message() == "no"); // and stays so
}

} // namespace
