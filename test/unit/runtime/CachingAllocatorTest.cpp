//===- CachingAllocatorTest.cpp - The caching allocator against a model -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <thread>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

constexpr uint64_t mebibyte = 1 << 20;

void expect_identities(const CachingAllocator &allocator) {
  const auto stats = allocator.stats();
  for (const char *name : {"allocation", "allocated_bytes", "segment", "reserved_bytes", "active",
                           "active_bytes", "inactive_split", "inactive_split_bytes", "requested_bytes"}) {
    const std::string key = name;
    for (const char *pool : {".all", ".small_pool", ".large_pool"}) {
      EXPECT_EQ(stats.at(key + pool + ".allocated") - stats.at(key + pool + ".freed"),
                stats.at(key + pool + ".current"));
      EXPECT_GE(stats.at(key + pool + ".peak"), stats.at(key + pool + ".current"));
    }
    for (const char *metric : {".current", ".allocated", ".freed"})
      EXPECT_EQ(stats.at(key + ".small_pool" + metric) + stats.at(key + ".large_pool" + metric),
                stats.at(key + ".all" + metric));
  }
  EXPECT_GE(stats.at("reserved_bytes.all.current"), stats.at("active_bytes.all.current"));
  EXPECT_GE(stats.at("active_bytes.all.current"), stats.at("allocated_bytes.all.current"));
  EXPECT_LE(stats.at("requested_bytes.all.current"), stats.at("allocated_bytes.all.current"));
}

TEST(CachingAllocator, SegmentSizesAndGranules) {
  CachingAllocator allocator;
  const auto reserved_by = [&](size_t bytes) {
    const uint64_t before = allocator.memory_reserved();
    const MemoryBlock block = allocator.allocate(bytes).value_or_throw();
    const uint64_t after = allocator.memory_reserved();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data) % 512, 0u);
    if (bytes >= 2 * mebibyte)
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data) % (2 * mebibyte), 0u);
    allocator.free(block);
    allocator.empty_cache();
    return after - before;
  };
  EXPECT_EQ(reserved_by(1), 2 * mebibyte);
  EXPECT_EQ(reserved_by(mebibyte), 2 * mebibyte);
  EXPECT_EQ(reserved_by(mebibyte + 1), 20 * mebibyte);
  EXPECT_EQ(reserved_by(10 * mebibyte - 1000), 20 * mebibyte);
  EXPECT_EQ(reserved_by(10 * mebibyte), 10 * mebibyte);
  EXPECT_EQ(reserved_by(10 * mebibyte + 1), 12 * mebibyte);
  const MemoryBlock block = allocator.allocate(513).value_or_throw();
  EXPECT_EQ(allocator.memory_allocated(), 1024u);
  EXPECT_EQ(allocator.stats().at("requested_bytes.all.current"), 513);
  allocator.free(block);
}

TEST(CachingAllocator, ReusesAndJoinsBlocks) {
  CachingAllocator allocator;
  std::vector<MemoryBlock> blocks;
  for (int i = 0; i < 4; ++i)
    blocks.push_back(allocator.allocate(256 << 10).value_or_throw());
  void *const first = blocks[0].data;
  for (const MemoryBlock &block : blocks)
    allocator.free(block);
  EXPECT_EQ(allocator.stats().at("inactive_split.all.current"), 0);
  const MemoryBlock again = allocator.allocate(mebibyte).value_or_throw();
  EXPECT_EQ(again.data, first);
  EXPECT_EQ(allocator.stats().at("num_device_alloc"), 1);
  EXPECT_EQ(allocator.empty_cache(), 0u);
  allocator.free(again);
  EXPECT_EQ(allocator.empty_cache(), 2 * mebibyte);
  EXPECT_EQ(allocator.memory_reserved(), 0u);
}

TEST(CachingAllocator, ZeroBytes) {
  CachingAllocator allocator;
  const MemoryBlock block = allocator.allocate(0).value_or_throw();
  EXPECT_NE(block.data, nullptr);
  allocator.free(block);
  EXPECT_EQ(allocator.stats().at("allocation.all.allocated"), 0);
}

TEST(CachingAllocator, OutOfMemoryNamesSizesAndLabels) {
  CachingAllocator allocator;
  allocator.set_limit(30 * mebibyte);
  const uint32_t label =
      allocator.intern_label({"result 'loss' of 'step'", "train.cpp:12:3", "train.cpp", 12});
  EXPECT_EQ(allocator.intern_label({"result 'loss' of 'step'", "train.cpp:12:3", "train.cpp", 12}), label);
  const MemoryBlock held = allocator.allocate(16 * mebibyte, label).value_or_throw();
  const Expected<MemoryBlock> refused = allocator.allocate(20 * mebibyte);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), "WEFT-M001");
  EXPECT_FAILS(refused.status(), "Tried to allocate 20.00 MiB");
  EXPECT_FAILS(refused.status(),
               "The limit is 30.00 MiB, of which 14.00 MiB is free; 16.00 MiB is allocated");
  EXPECT_FAILS(refused.status(), "16.00 MiB result 'loss' of 'step' (train.cpp:12:3)");
  EXPECT_FALSE(allocator.allocate(SIZE_MAX).ok());
  EXPECT_EQ(allocator.stats().at("num_ooms"), 2);
  allocator.free(held);
  // The cached 16 mebibyte make room.
  const MemoryBlock now = allocator.allocate(20 * mebibyte).value_or_throw();
  EXPECT_EQ(allocator.memory_reserved(), 20 * mebibyte);
  allocator.free(now);
  EXPECT_TRUE(allocator.check().ok());
}

// What others free while memory is reclaimed is found, also if nothing was left to reclaim.
TEST(CachingAllocator, TakesWhatOthersFreeMeanwhile) {
  static CachingAllocator allocator;
  static MemoryBlock held;
  allocator.set_limit(30 * mebibyte);
  held = allocator.allocate(16 * mebibyte).value_or_throw();
  const auto freed_by_others = [] {
    allocator.free(std::exchange(held, {}));
    return false;
  };
  const Expected<MemoryBlock> block = allocator.allocate(20 * mebibyte, 0, {}, freed_by_others);
  ASSERT_TRUE(block.ok()) << block.status().message();
  EXPECT_FALSE(allocator.allocate(20 * mebibyte, 0, {}, freed_by_others).ok());
  allocator.free(*block);
  EXPECT_TRUE(allocator.check().ok());
}

// The frame of a block is the source line of its label, for labels of any text.
TEST(CachingAllocator, ASnapshotHasTheLineOfALabel) {
  CachingAllocator allocator;
  const MemoryBlock known =
      allocator.allocate(100, allocator.intern_label({"x (of y)", "a:b.cpp:12:3, c.cpp:9:1", "a:b.cpp", 12}))
          .value_or_throw();
  EXPECT_NE(
      allocator.snapshot_json().find("\"label\": \"x (of y) (a:b.cpp:12:3, c.cpp:9:1)\", \"frames\": "
                                     "[{\"filename\": \"a:b.cpp\", \"line\": 12, \"name\": \"x (of y)\"}]"),
      std::string::npos)
      << allocator.snapshot_json();
  allocator.free(known);
  const MemoryBlock unknown =
      allocator.allocate(100, allocator.intern_label({"state 'w (fc.cpp:1:2)'"})).value_or_throw();
  EXPECT_NE(allocator.snapshot_json().find("\"label\": \"state 'w (fc.cpp:1:2)'\", \"frames\": []"),
            std::string::npos)
      << allocator.snapshot_json();
  allocator.free(unknown);
  const MemoryBlock odd =
      allocator.allocate(100, allocator.intern_label({"a\tb\x01 \"c\""})).value_or_throw();
  EXPECT_NE(allocator.snapshot_json().find(R"("label": "a\u0009b\u0001 \"c\"")"), std::string::npos)
      << allocator.snapshot_json();
  allocator.free(odd);
}

// 100,000 random operations; every block is filled and read back, so that an overlap shows.
TEST(CachingAllocator, AgreesWithAModel) {
  CachingAllocator allocator;
  allocator.set_limit(512 * mebibyte);
  std::mt19937_64 random(7);
  struct Live {
    MemoryBlock block;
    uint8_t mark;
  };
  std::vector<Live> live;
  uint64_t requested = 0, peak = 0;
  for (int step = 0; step < 100'000; ++step) {
    if (live.empty() || (random() % 100 < 52 && live.size() < 400)) {
      const unsigned kind = static_cast<unsigned>(random() % 100);
      const size_t bytes = 1 + random() % (kind < 80 ? 4096 : kind < 97 ? mebibyte : 12 * mebibyte);
      const Expected<MemoryBlock> block = allocator.allocate(bytes);
      if (!block) {
        EXPECT_EQ(block.status().code(), "WEFT-M001");
        continue;
      }
      const auto mark = static_cast<uint8_t>(random());
      auto *data = static_cast<uint8_t *>(block->data);
      data[0] = data[bytes - 1] = data[bytes / 2] = mark;
      live.push_back({*block, mark});
      requested += bytes;
      peak = std::max(peak, allocator.memory_allocated());
    } else {
      const size_t index = random() % live.size();
      const Live victim = live[index];
      const auto *data = static_cast<const uint8_t *>(victim.block.data);
      ASSERT_EQ(data[0], victim.mark);
      ASSERT_EQ(data[victim.block.bytes - 1], victim.mark);
      ASSERT_EQ(data[victim.block.bytes / 2], victim.mark);
      allocator.free(victim.block);
      requested -= victim.block.bytes;
      live[index] = live.back();
      live.pop_back();
    }
    if (step % 1000 == 0) {
      const Status status = allocator.check();
      ASSERT_TRUE(status.ok()) << status.message();
      expect_identities(allocator);
      ASSERT_EQ(static_cast<uint64_t>(allocator.stats().at("requested_bytes.all.current")), requested);
      std::map<uintptr_t, uintptr_t> ranges;
      for (const Live &entry : live)
        ranges[reinterpret_cast<uintptr_t>(entry.block.data)] =
            reinterpret_cast<uintptr_t>(entry.block.data) + entry.block.bytes;
      uintptr_t end = 0;
      for (const auto &[begin, after] : ranges) {
        ASSERT_GE(begin, end);
        end = after;
      }
    }
    if (step % 7777 == 0)
      allocator.empty_cache();
  }
  EXPECT_EQ(allocator.max_memory_allocated(), peak);
  for (const Live &entry : live)
    allocator.free(entry.block);
  EXPECT_EQ(allocator.memory_allocated(), 0u);
  allocator.empty_cache();
  EXPECT_EQ(allocator.memory_reserved(), 0u);
  expect_identities(allocator);
}

TEST(CachingAllocator, PeaksAndTotalsReset) {
  CachingAllocator allocator;
  allocator.free(allocator.allocate(4096).value_or_throw());
  const MemoryBlock held = allocator.allocate(512).value_or_throw();
  EXPECT_EQ(allocator.max_memory_allocated(), 4096u);
  allocator.reset_peak_stats();
  EXPECT_EQ(allocator.max_memory_allocated(), 512u);
  allocator.reset_accumulated_stats();
  EXPECT_EQ(allocator.stats().at("allocated_bytes.all.allocated"), 512);
  expect_identities(allocator);
  EXPECT_NE(allocator.stats_json().find("\"allocated_bytes.all.current\": 512"), std::string::npos);
  EXPECT_NE(allocator.summary().find("allocated_bytes"), std::string::npos);
  EXPECT_NE(allocator.snapshot_json().find("\"total_size\": 2097152"), std::string::npos);
  allocator.free(held);
}

TEST(CachingAllocator, WithoutCachingMemoryGoesBack) {
  CachingAllocator allocator({}, /*caching=*/false);
  const MemoryBlock block = allocator.allocate(5000).value_or_throw();
  EXPECT_EQ(allocator.memory_reserved(), 8192u);
  allocator.free(block);
  EXPECT_EQ(allocator.memory_reserved(), 0u);
}

TEST(CachingAllocator, SplitLimitKeepsOversizeBlocksApart) {
  AllocatorConfig config;
  config.max_split_bytes = 32 * mebibyte;
  CachingAllocator allocator(config);
  allocator.free(allocator.allocate(64 * mebibyte).value_or_throw());
  const MemoryBlock medium = allocator.allocate(12 * mebibyte).value_or_throw();
  EXPECT_EQ(allocator.memory_reserved(), 76 * mebibyte);
  const MemoryBlock fits = allocator.allocate(50 * mebibyte).value_or_throw();
  EXPECT_EQ(allocator.memory_reserved(), 76 * mebibyte);
  EXPECT_EQ(allocator.stats().at("oversize_allocations.current"), 1);
  allocator.free(fits);
  allocator.free(medium);
  EXPECT_EQ(allocator.stats().at("oversize_allocations.current"), 0);
}

// If the limit is reached, cached memory is freed and the allocation is tried again before it fails.
TEST(CachingAllocator, TriesAgainAfterGivingBackWhatIsCached) {
  CachingAllocator allocator;
  allocator.set_limit(64 * mebibyte);
  const MemoryBlock live = allocator.allocate(12 * mebibyte).value_or_throw();
  for (int i = 0; i < 2; ++i)
    allocator.free(allocator.allocate(24 * mebibyte).value_or_throw()); // the second is the first again
  EXPECT_EQ(allocator.memory_reserved(), 36 * mebibyte);
  const MemoryBlock large = allocator.allocate(48 * mebibyte).value_or_throw();
  EXPECT_EQ(allocator.stats().at("num_alloc_retries"), 1);
  EXPECT_EQ(allocator.stats().at("num_ooms"), 0);
  EXPECT_EQ(allocator.memory_reserved(), 60 * mebibyte) << "what is live stays";
  EXPECT_FALSE(allocator.allocate(12 * mebibyte).ok());
  EXPECT_EQ(allocator.stats().at("num_ooms"), 1);
  allocator.free(live);
  allocator.free(large);
}

// With a threshold the longest unused segments go first, before the limit is reached.
TEST(CachingAllocator, CollectsGarbageAboveItsThreshold) {
  AllocatorConfig config = parse_allocator_config("garbage_collection_threshold:0.5").value_or_throw();
  CachingAllocator allocator(config);
  allocator.set_limit(100 * mebibyte);
  const MemoryBlock a = allocator.allocate(20 * mebibyte).value_or_throw(),
                    b = allocator.allocate(22 * mebibyte).value_or_throw();
  allocator.free(a);
  allocator.free(b);
  EXPECT_EQ(allocator.memory_reserved(), 42 * mebibyte);
  const MemoryBlock c = allocator.allocate(24 * mebibyte).value_or_throw(); // 66 of 100: above a half by 16
  EXPECT_EQ(allocator.memory_reserved(), 46 * mebibyte) << "the 20 MiB that were freed first are gone";
  EXPECT_EQ(allocator.stats().at("num_alloc_retries"), 0);
  allocator.free(c);
}

// A large block is split where more than 1 mebibyte is left, a small one at every granule.
TEST(CachingAllocator, SplitsByPyTorchsRules) {
  CachingAllocator allocator;
  const MemoryBlock whole = allocator.allocate(12 * mebibyte).value_or_throw();
  allocator.free(whole);
  const MemoryBlock tight = allocator.allocate(11 * mebibyte).value_or_throw();
  EXPECT_EQ(allocator.memory_allocated(), 12 * mebibyte) << "1 MiB is left, and goes with it";
  allocator.free(tight);
  const MemoryBlock loose = allocator.allocate(11 * mebibyte - 512).value_or_throw();
  EXPECT_EQ(allocator.memory_allocated(), 11 * mebibyte - 512);
  EXPECT_EQ(allocator.stats().at("inactive_split_bytes.all.current"), int64_t(mebibyte + 512));
  allocator.free(loose);
  allocator.empty_cache();
  const MemoryBlock small = allocator.allocate(2 * mebibyte / 2 - 512).value_or_throw();
  EXPECT_EQ(allocator.stats().at("inactive_split_bytes.all.current"), int64_t(mebibyte + 512));
  allocator.free(small);
  EXPECT_TRUE(allocator.check().ok());
}

/// A point that passes when the test says so.
struct Gate final : Point::State {
  bool passed() const override { return open; }
  Status wait() override {
    wait_passed();
    return {};
  }
  void wait_passed() override { open.wait(false); }
  bool may_wait() const override { return waitable; }
  void pass() {
    open = true;
    open.notify_all();
  }
  std::atomic<bool> open{false};
  bool waitable = false;
};

/// A device with room for two blocks of 1 mebibyte, `first` and `second`, both taken for one stream.
struct FullDevice {
  FullDevice() {
    allocator.set_limit(2 * mebibyte);
    first = allocator.allocate(mebibyte, 0, {.stream = own}).value_or_throw();
    second = allocator.allocate(mebibyte, 0, {.stream = own}).value_or_throw();
  }
  Expected<MemoryBlock> allocate(StreamId stream) {
    return allocator.allocate(mebibyte, 0, {.stream = stream});
  }

  const StreamId own = new_stream_id(), other = new_stream_id(), third = new_stream_id();
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  CachingAllocator allocator;
  MemoryBlock first, second;
};

TEST(CachingAllocator, WhatAnotherStreamUsesIsForNobodyBeforeItsPoint) {
  FullDevice device;
  device.allocator.free(device.first, {{device.other, Point(device.gate)}});
  EXPECT_TRUE(device.allocator.check().ok());
  for (StreamId stream : {device.own, device.other, device.third, StreamId::none}) {
    const auto none = device.allocate(stream);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.status().code(), "WEFT-M001");
    EXPECT_NE(none.status().message().find(
                  "1.00 MiB is reserved but unallocated, of which streams still use 1.00 MiB."),
              std::string::npos)
        << none.status().message();
  }
  EXPECT_NE(device.allocator.snapshot_json().find("\"state\": \"active_pending_free\""), std::string::npos);
  const auto stats = device.allocator.stats();
  EXPECT_EQ(stats.at("allocation.all.current"), 1);
  EXPECT_EQ(stats.at("active.all.current"), 2);
  EXPECT_EQ(stats.at("active_bytes.all.current"), static_cast<int64_t>(2 * mebibyte));
  expect_identities(device.allocator);
  device.gate->pass();
  const auto block = device.allocate(device.third);
  ASSERT_TRUE(block);
  EXPECT_EQ(block->data, device.first.data);
  EXPECT_EQ(device.allocator.stats().at("active.all.current"), 2);
  EXPECT_TRUE(device.allocator.check().ok());
  device.allocator.free(*block);
  device.allocator.free(device.second);
  EXPECT_EQ(device.allocator.empty_cache(), 2 * mebibyte);
}

TEST(CachingAllocator, AStreamGetsAtOnceWhatItGaveBackAndOthersAfterItsPoint) {
  FullDevice device;
  for (int again = 0; again < 2; ++again) {
    // The second time no new point is named: the first has yet to pass.
    device.allocator.free(device.first,
                          again ? StreamPoints() : StreamPoints{{device.own, Point(device.gate)}});
    EXPECT_EQ(device.allocator.stats().at("active.all.current"), 1);
    EXPECT_TRUE(device.allocator.check().ok());
    EXPECT_FALSE(device.allocate(device.third));
    EXPECT_FALSE(device.allocate(StreamId::none));
    EXPECT_EQ(device.allocator.empty_cache(), 0u);
    const auto block = device.allocate(device.own);
    ASSERT_TRUE(block);
    EXPECT_EQ(block->data, device.first.data);
  }
  device.allocator.free(device.first);
  device.gate->pass();
  const auto block = device.allocate(device.third);
  ASSERT_TRUE(block);
  EXPECT_EQ(block->data, device.first.data);
  EXPECT_TRUE(device.allocator.check().ok());
}

TEST(CachingAllocator, WithoutRoomItWaitsForWhatIsFreed) {
  FullDevice device;
  device.gate->waitable = true;
  device.allocator.free(device.first, {{device.other, Point(device.gate)}});
  const int64_t retries = device.allocator.stats().at("num_alloc_retries");
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    device.gate->pass();
  });
  const auto block = device.allocate(device.third);
  later.join();
  ASSERT_TRUE(block);
  EXPECT_EQ(block->data, device.first.data);
  EXPECT_GT(device.allocator.stats().at("num_alloc_retries"), retries);
  EXPECT_EQ(device.allocator.stats().at("num_sync_all_streams"), 1);
  EXPECT_EQ(device.allocator.stats().at("num_ooms"), 0);
  // An allocation that is too large even without other blocks fails without waiting.
  device.gate = std::make_shared<Gate>();
  device.gate->waitable = true;
  device.allocator.free(*block, {{device.other, Point(device.gate)}});
  EXPECT_TRUE(device.allocator.fits(mebibyte));
  EXPECT_EQ(device.allocator.allocate(mebibyte + 1).status().code(), "WEFT-M001");
}

TEST(CachingAllocator, WithoutACacheMemoryStaysUntilItsPoint) {
  CachingAllocator allocator({}, false);
  const auto gate = std::make_shared<Gate>();
  const StreamId own = new_stream_id();
  allocator.free(allocator.allocate(mebibyte, 0, {.stream = own}).value_or_throw(), {{own, Point(gate)}});
  EXPECT_EQ(allocator.empty_cache(), 0u);
  EXPECT_EQ(allocator.memory_reserved(), mebibyte);
  gate->pass();
  allocator.empty_cache();
  EXPECT_EQ(allocator.memory_reserved(), 0u);
}

TEST(CachingAllocator, PoolsShareNoSegment) {
  CachingAllocator allocator;
  const MemoryPool first = allocator.new_pool(), second = allocator.new_pool();
  std::vector<MemoryBlock> blocks;
  for (MemoryPool pool : {MemoryPool::common, first, second})
    for (int i = 0; i < 2; ++i)
      blocks.push_back(allocator.allocate(1000, 0, {.pool = pool}).value_or_throw());
  EXPECT_EQ(allocator.stats().at("segment.all.current"), 3);
  const void *const of_first = blocks[2].data;
  for (const MemoryBlock &block : blocks)
    allocator.free(block);
  EXPECT_NE(allocator.allocate(1000).value_or_throw().data, of_first);
  EXPECT_EQ(allocator.allocate(1000, 0, {.pool = first}).value_or_throw().data, of_first);
  EXPECT_TRUE(allocator.check().ok());
  EXPECT_EQ(allocator.empty_cache(), 2 * mebibyte);
}

// No byte is handed to a stream while a point of another has yet to pass that was named when it was freed.
TEST(CachingAllocator, RandomStreamsNeverShareMemoryTooEarly) {
  struct Freed {
    const std::byte *data;
    size_t bytes;
    StreamId user;
    std::shared_ptr<Gate> gate;
  };
  struct Live {
    MemoryBlock block;
    StreamId stream;
  };
  std::mt19937_64 random(7);
  CachingAllocator allocator;
  const std::array streams = {StreamId::none, new_stream_id(), new_stream_id(), new_stream_id()};
  const auto any_stream = [&] { return streams[random() % streams.size()]; };
  std::vector<Live> live;
  std::vector<Freed> freed;
  uint64_t at_once = 0;
  for (int step = 0; step < 20000; ++step) {
    std::erase_if(freed, [](const Freed &range) { return range.gate->open.load(); });
    if (live.empty() || (live.size() < 60 && random() % 2)) {
      const StreamId stream = any_stream();
      const size_t bytes = random() % 4 ? 1 + random() % 40000 : mebibyte + random() % (4 * mebibyte);
      const MemoryBlock block = allocator.allocate(bytes, 0, {.stream = stream}).value_or_throw();
      const auto *data = static_cast<const std::byte *>(block.data);
      for (const Freed &range : freed)
        if (data < range.data + range.bytes && range.data < data + bytes) {
          ASSERT_EQ(range.user, stream) << "step " << step;
          ++at_once;
        }
      live.push_back({block, stream});
    } else {
      std::swap(live[random() % live.size()], live.back());
      const Live gone = live.back();
      live.pop_back();
      StreamPoints uses;
      for (uint64_t i = random() % 3; i > 0; --i) {
        const StreamId user = random() % 2 ? gone.stream : any_stream();
        if (user == StreamId::none)
          continue;
        const auto gate = std::make_shared<Gate>();
        uses.push_back({user, Point(gate)});
        freed.push_back({static_cast<const std::byte *>(gone.block.data), gone.block.bytes, user, gate});
      }
      allocator.free(gone.block, std::move(uses));
    }
    for (const Freed &range : freed)
      if (random() % 16 == 0)
        range.gate->pass();
    if (step % 100 == 0) {
      const Status status = allocator.check();
      ASSERT_TRUE(status.ok()) << status.message();
    }
  }
  EXPECT_GT(at_once, 100u) << "streams should get their own memory again at once";
  for (const Freed &range : freed)
    range.gate->pass();
  for (const Live &gone : live)
    allocator.free(gone.block);
  allocator.empty_cache();
  EXPECT_EQ(allocator.memory_reserved(), 0u);
}

TEST(AllocatorConfig, Parses) {
  const AllocatorConfig config =
      parse_allocator_config("max_split_size_mb:64, garbage_collection_threshold:0.8,"
                             "roundup_power2_divisions:[256:1,512:2,>:4],backend:native,"
                             "per_process_memory_fraction:0.5,large_segment_size_mb:31")
          .value_or_throw();
  EXPECT_EQ(config.max_split_bytes, 64 * mebibyte);
  EXPECT_EQ(config.garbage_collection_threshold, 0.8);
  EXPECT_EQ(config.per_process_memory_fraction, 0.5);
  EXPECT_EQ(config.large_segment_bytes, 32 * mebibyte);
  ASSERT_EQ(config.roundup_power2_divisions.size(), 3u);
  EXPECT_EQ(config.roundup_power2_divisions[1], (std::pair<uint64_t, uint64_t>(512 * mebibyte, 2)));
  EXPECT_TRUE(config.ignored.empty()) << "the native backend is what there is";
  EXPECT_TRUE(parse_allocator_config("").ok());
}

// Every option of PYTORCH_ALLOC_CONF: those without effect on a host are checked and listed.
TEST(AllocatorConfig, KnowsEveryOption) {
  const AllocatorConfig config =
      parse_allocator_config("backend:cudaMallocAsync,max_split_size_mb:64,max_non_split_rounding_mb:5,"
                             "roundup_power2_divisions:4,garbage_collection_threshold:0.5,"
                             "expandable_segments:True,large_segment_size_mb:40,"
                             "per_process_memory_fraction:0.25,throw_on_cudamalloc_oom:False,"
                             "graph_capture_record_stream_reuse:True,pinned_use_cuda_host_register:False,"
                             "pinned_num_register_threads:8,pinned_use_background_threads:True,"
                             "pinned_reserve_segment_size_mb:64,pinned_max_round_threshold_mb:1,"
                             "pinned_max_cached_size_mb:2,weft_memory_limit_mb:100")
          .value_or_throw();
  EXPECT_EQ(config.max_non_split_rounding_bytes, 5 * mebibyte);
  EXPECT_EQ(config.large_segment_bytes, 40 * mebibyte);
  EXPECT_EQ(config.memory_limit_bytes, 100 * mebibyte);
  EXPECT_EQ(config.ignored.size(), 10u);
  EXPECT_TRUE(config.driver_pools && config.expandable_segments);
  const AllocatorConfig off =
      parse_allocator_config("backend:native,expandable_segments:False").value_or_throw();
  EXPECT_FALSE(off.driver_pools || off.expandable_segments);
  CachingAllocator allocator(config);
  EXPECT_LE(allocator.limit(), 100 * mebibyte);
  EXPECT_NE(allocator.summary().find("mean nothing for host memory: backend, expandable_segments"),
            std::string::npos)
      << allocator.summary();
  for (const char *wrong : {"expandable_segments:maybe", "pinned_num_register_threads:x", "backend:jemalloc",
                            "weft_memory_limit_mb:0"})
    EXPECT_EQ(parse_allocator_config(wrong).status().code(), "WEFT-M002") << wrong;
  EXPECT_FAILS(parse_allocator_config("max_spilt_size_mb:64").status(), "did you mean 'max_split_size_mb'?");
  EXPECT_FAILS(parse_allocator_config("per_process_memory_frac:1").status(),
               "did you mean 'per_process_memory_fraction'?");
}

TEST(AllocatorConfig, WithoutCachingNothingIsKept) {
  CachingAllocator allocator({}, /*caching=*/false); // what WEFT_NO_MEMORY_CACHING=1 makes of the process's
  const MemoryBlock block = allocator.allocate(3 * mebibyte).value_or_throw();
  allocator.free(block);
  EXPECT_EQ(allocator.memory_reserved(), 0u);
}

TEST(AllocatorConfig, RefusesWhatItDoesNotKnow) {
  EXPECT_FAILS(parse_allocator_config("max_spilt_size_mb:64").status(), "unknown option 'max_spilt_size_mb'");
  EXPECT_FAILS(parse_allocator_config("backend").status(), "expected name:value");
  EXPECT_FAILS(parse_allocator_config("max_split_size_mb:3").status(), "at least 20");
  EXPECT_FAILS(parse_allocator_config("max_split_size_mb:x").status(), "found 'x'");
  EXPECT_FAILS(parse_allocator_config("garbage_collection_threshold:1").status(), "below 1");
  EXPECT_FAILS(parse_allocator_config("per_process_memory_fraction:2").status(), "up to 1");
  EXPECT_FAILS(parse_allocator_config("roundup_power2_divisions:3").status(), "powers of two");
  EXPECT_FAILS(parse_allocator_config("roundup_power2_divisions:[512:1,256:1]").status(), "growing sizes");
  EXPECT_FAILS(parse_allocator_config("roundup_power2_divisions:[512").status(), "without ']'");
}

TEST(AllocatorConfig, RoundsUpByDivisions) {
  AllocatorConfig config = parse_allocator_config("roundup_power2_divisions:4").value_or_throw();
  CachingAllocator allocator(config);
  const MemoryBlock block = allocator.allocate(1200 << 10).value_or_throw();
  EXPECT_EQ(allocator.memory_allocated(), 1280u << 10); // 1 mebibyte and one of its quarters
  allocator.free(block);
}

} // namespace
