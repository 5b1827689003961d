//===- CachingAllocatorTest.cpp - The caching allocator against a model -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include <map>
#include <random>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

constexpr uint64_t MiB = 1 << 20;

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
    if (bytes >= 2 * MiB)
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data) % (2 * MiB), 0u);
    allocator.free(block);
    allocator.empty_cache();
    return after - before;
  };
  EXPECT_EQ(reserved_by(1), 2 * MiB);
  EXPECT_EQ(reserved_by(MiB), 2 * MiB);
  EXPECT_EQ(reserved_by(MiB + 1), 20 * MiB);
  EXPECT_EQ(reserved_by(10 * MiB - 1000), 20 * MiB);
  EXPECT_EQ(reserved_by(10 * MiB), 10 * MiB);
  EXPECT_EQ(reserved_by(10 * MiB + 1), 12 * MiB);
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
  const MemoryBlock again = allocator.allocate(MiB).value_or_throw();
  EXPECT_EQ(again.data, first);
  EXPECT_EQ(allocator.stats().at("num_device_alloc"), 1);
  EXPECT_EQ(allocator.empty_cache(), 0u);
  allocator.free(again);
  EXPECT_EQ(allocator.empty_cache(), 2 * MiB);
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
  allocator.set_limit(30 * MiB);
  const uint32_t label =
      allocator.intern_label({"result 'loss' of 'step'", "train.cpp:12:3", "train.cpp", 12});
  EXPECT_EQ(allocator.intern_label({"result 'loss' of 'step'", "train.cpp:12:3", "train.cpp", 12}), label);
  const MemoryBlock held = allocator.allocate(16 * MiB, label).value_or_throw();
  const Expected<MemoryBlock> refused = allocator.allocate(20 * MiB);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), "WEFT-M001");
  EXPECT_FAILS(refused.status(), "Tried to allocate 20.00 MiB");
  EXPECT_FAILS(refused.status(),
               "The limit is 30.00 MiB, of which 14.00 MiB is free; 16.00 MiB is allocated");
  EXPECT_FAILS(refused.status(), "16.00 MiB result 'loss' of 'step' (train.cpp:12:3)");
  EXPECT_FALSE(allocator.allocate(SIZE_MAX).ok());
  EXPECT_EQ(allocator.stats().at("num_ooms"), 2);
  allocator.free(held);
  // The cached 16 MiB make room.
  const MemoryBlock now = allocator.allocate(20 * MiB).value_or_throw();
  EXPECT_EQ(allocator.memory_reserved(), 20 * MiB);
  allocator.free(now);
  EXPECT_TRUE(allocator.check().ok());
}

// The frame of a block is the line of its label, whatever the text of the label looks like.
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
}

// 100,000 random operations; every block is filled and read back, so that an overlap shows.
TEST(CachingAllocator, AgreesWithAModel) {
  CachingAllocator allocator;
  allocator.set_limit(512 * MiB);
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
      const size_t bytes = 1 + random() % (kind < 80 ? 4096 : kind < 97 ? MiB : 12 * MiB);
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
  config.max_split_bytes = 32 * MiB;
  CachingAllocator allocator(config);
  allocator.free(allocator.allocate(64 * MiB).value_or_throw());
  const MemoryBlock medium = allocator.allocate(12 * MiB).value_or_throw();
  EXPECT_EQ(allocator.memory_reserved(), 76 * MiB);
  const MemoryBlock fits = allocator.allocate(50 * MiB).value_or_throw();
  EXPECT_EQ(allocator.memory_reserved(), 76 * MiB);
  EXPECT_EQ(allocator.stats().at("oversize_allocations.current"), 1);
  allocator.free(fits);
  allocator.free(medium);
  EXPECT_EQ(allocator.stats().at("oversize_allocations.current"), 0);
}

// Where the limit is reached, what is cached is given back and the request tried again, before it fails.
TEST(CachingAllocator, TriesAgainAfterGivingBackWhatIsCached) {
  CachingAllocator allocator;
  allocator.set_limit(64 * MiB);
  const MemoryBlock live = allocator.allocate(12 * MiB).value_or_throw();
  for (int i = 0; i < 2; ++i)
    allocator.free(allocator.allocate(24 * MiB).value_or_throw()); // the second is the first again
  EXPECT_EQ(allocator.memory_reserved(), 36 * MiB);
  const MemoryBlock large = allocator.allocate(48 * MiB).value_or_throw();
  EXPECT_EQ(allocator.stats().at("num_alloc_retries"), 1);
  EXPECT_EQ(allocator.stats().at("num_ooms"), 0);
  EXPECT_EQ(allocator.memory_reserved(), 60 * MiB) << "what is live stays";
  EXPECT_FALSE(allocator.allocate(12 * MiB).ok());
  EXPECT_EQ(allocator.stats().at("num_ooms"), 1);
  allocator.free(live);
  allocator.free(large);
}

// With a threshold the longest unused segments go first, before the limit is reached.
TEST(CachingAllocator, CollectsGarbageAboveItsThreshold) {
  AllocatorConfig config = parse_allocator_config("garbage_collection_threshold:0.5").value_or_throw();
  CachingAllocator allocator(config);
  allocator.set_limit(100 * MiB);
  const MemoryBlock a = allocator.allocate(20 * MiB).value_or_throw(),
                    b = allocator.allocate(22 * MiB).value_or_throw();
  allocator.free(a);
  allocator.free(b);
  EXPECT_EQ(allocator.memory_reserved(), 42 * MiB);
  const MemoryBlock c = allocator.allocate(24 * MiB).value_or_throw(); // 66 of 100: above a half by 16
  EXPECT_EQ(allocator.memory_reserved(), 46 * MiB) << "the 20 MiB that were freed first are gone";
  EXPECT_EQ(allocator.stats().at("num_alloc_retries"), 0);
  allocator.free(c);
}

// A large block is split where more than 1 MiB is left, a small one at every granule.
TEST(CachingAllocator, SplitsByPyTorchsRules) {
  CachingAllocator allocator;
  const MemoryBlock whole = allocator.allocate(12 * MiB).value_or_throw();
  allocator.free(whole);
  const MemoryBlock tight = allocator.allocate(11 * MiB).value_or_throw();
  EXPECT_EQ(allocator.memory_allocated(), 12 * MiB) << "1 MiB is left, and goes with it";
  allocator.free(tight);
  const MemoryBlock loose = allocator.allocate(11 * MiB - 512).value_or_throw();
  EXPECT_EQ(allocator.memory_allocated(), 11 * MiB - 512);
  EXPECT_EQ(allocator.stats().at("inactive_split_bytes.all.current"), int64_t(MiB + 512));
  allocator.free(loose);
  allocator.empty_cache();
  const MemoryBlock small = allocator.allocate(2 * MiB / 2 - 512).value_or_throw();
  EXPECT_EQ(allocator.stats().at("inactive_split_bytes.all.current"), int64_t(MiB + 512));
  allocator.free(small);
  EXPECT_TRUE(allocator.check().ok());
}

TEST(AllocatorConfig, Parses) {
  const AllocatorConfig config =
      parse_allocator_config("max_split_size_mb:64, garbage_collection_threshold:0.8,"
                             "roundup_power2_divisions:[256:1,512:2,>:4],backend:native,"
                             "per_process_memory_fraction:0.5,large_segment_size_mb:31")
          .value_or_throw();
  EXPECT_EQ(config.max_split_bytes, 64 * MiB);
  EXPECT_EQ(config.garbage_collection_threshold, 0.8);
  EXPECT_EQ(config.per_process_memory_fraction, 0.5);
  EXPECT_EQ(config.large_segment_bytes, 32 * MiB);
  ASSERT_EQ(config.roundup_power2_divisions.size(), 3u);
  EXPECT_EQ(config.roundup_power2_divisions[1], (std::pair<uint64_t, uint64_t>(512 * MiB, 2)));
  EXPECT_TRUE(config.ignored.empty()) << "the native backend is what there is";
  EXPECT_TRUE(parse_allocator_config("").ok());
}

// Every option of PYTORCH_ALLOC_CONF: what means nothing on a host is checked and listed.
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
  EXPECT_EQ(config.max_non_split_rounding_bytes, 5 * MiB);
  EXPECT_EQ(config.large_segment_bytes, 40 * MiB);
  EXPECT_EQ(config.memory_limit_bytes, 100 * MiB);
  EXPECT_EQ(config.ignored.size(), 10u);
  CachingAllocator allocator(config);
  EXPECT_LE(allocator.limit(), 100 * MiB);
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
  const MemoryBlock block = allocator.allocate(3 * MiB).value_or_throw();
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
  EXPECT_EQ(allocator.memory_allocated(), 1280u << 10); // 1 MiB and one of its quarters
  allocator.free(block);
}

} // namespace
