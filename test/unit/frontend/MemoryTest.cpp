//===- MemoryTest.cpp - Counters, limits, snapshots -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What docs/torch-semantics.md says of memory.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include "runtime/execution/Executable.h"
#include "runtime/package/Package.h"

#include <cstdlib>
#include <filesystem>
#include <set>

using namespace weft;

namespace {
constexpr uint64_t mebibyte = 1 << 20;

Tensor made(int64_t mebibytes) {
  const std::vector<float> values(static_cast<size_t>(mebibytes) * mebibyte / 4);
  return Tensor::from(values, {static_cast<int64_t>(values.size())});
}

class MemoryTest : public ::testing::Test {
protected:
  void SetUp() override {
    synchronize();
    trim();
    reset_peak_memory_stats();
    start = memory_allocated();
  }
  uint64_t start = 0;
};
} // namespace

using MemoryCounters = MemoryTest;
TEST_F(MemoryCounters, FollowAScript) {
  {
    Tensor a = made(4);
    EXPECT_EQ(memory_allocated(), start + 4 * mebibyte);
    Tensor b = made(12);
    EXPECT_EQ(memory_allocated(), start + 16 * mebibyte);
    EXPECT_GE(memory_reserved(), memory_allocated());
  }
  EXPECT_EQ(memory_allocated(), start);
  EXPECT_EQ(max_memory_allocated(), start + 16 * mebibyte);
  EXPECT_GE(max_memory_reserved(), start + 16 * mebibyte);
  reset_max_memory_allocated();
  EXPECT_EQ(max_memory_allocated(), start);
  EXPECT_EQ(max_memory_reserved(), memory_reserved()) << "the older names reset all peaks";
  EXPECT_ERROR(memory_allocated("cuda:97"), "'cuda:97' is not there (WEFT-E001)");
}

using MemoryStatistics = MemoryTest;
TEST_F(MemoryStatistics, HaveTheKeysAndIdentitiesOfPyTorch) {
  Tensor a = made(4), small = ones({4}) * 2;
  small.to_vector<float>();
  const auto before = memory_stats(), stats = memory_stats();
  EXPECT_EQ(before, stats) << "reading changes nothing";
  std::set<std::string> expected;
  for (const char *stat : {"allocation", "allocated_bytes", "segment", "reserved_bytes", "active",
                           "active_bytes", "inactive_split", "inactive_split_bytes", "requested_bytes"}) {
    const auto at = [&](const char *pool, const char *metric) {
      const std::string key = std::string(stat) + "." + pool + "." + metric;
      expected.insert(key);
      EXPECT_TRUE(stats.contains(key)) << key;
      return stats.contains(key) ? stats.at(key) : 0;
    };
    for (const char *pool : {"all", "small_pool", "large_pool"}) {
      EXPECT_EQ(at(pool, "allocated") - at(pool, "freed"), at(pool, "current")) << stat << pool;
      EXPECT_GE(at(pool, "peak"), at(pool, "current"));
    }
    for (const char *metric : {"current", "allocated", "freed"})
      EXPECT_EQ(at("small_pool", metric) + at("large_pool", metric), at("all", metric)) << stat << metric;
  }
  for (const char *stat :
       {"oversize_allocations", "oversize_segments", "weft.arena_bytes", "weft.graph_bytes"})
    for (const char *metric : {".current", ".peak", ".allocated", ".freed"})
      expected.insert(std::string(stat) + metric);
  expected.insert({"num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc",
                   "num_device_free", "max_split_size"});
  std::set<std::string> found;
  for (const auto &[key, value] : stats)
    found.insert(key);
  EXPECT_EQ(found, expected) << "these keys and no others";
  EXPECT_GE(stats.at("reserved_bytes.all.current"), stats.at("active_bytes.all.current"));
  EXPECT_GE(stats.at("active_bytes.all.current"), stats.at("allocated_bytes.all.current"));
  EXPECT_LE(stats.at("requested_bytes.all.current"), stats.at("allocated_bytes.all.current"));
  EXPECT_NE(memory_summary().find("reserved_bytes"), std::string::npos);
  reset_accumulated_memory_stats();
  EXPECT_EQ(memory_stats().at("allocation.all.freed"), 0);
}

using MemorySnapshot = MemoryTest;
TEST_F(MemorySnapshot, NamesTheLineOfEveryBlock) {
  Tensor a = made(4);
  auto doubled = compile([](Tensor x) { return x * 2; }, {.name = "doubled"});
  Tensor b = doubled(a);
  b.to_vector<float>();
  const std::string json = memory_snapshot();
  for (const char *key : {"\"segments\"", "\"address\"", "\"total_size\"", "\"allocated_size\"",
                          "\"active_size\"", "\"requested_size\"", "\"segment_type\"", "\"blocks\"",
                          "\"state\"", "\"frames\"", "\"active_allocated\""})
    EXPECT_NE(json.find(key), std::string::npos) << key;
  EXPECT_NE(json.find("MemoryTest.cpp\", \"line\": "), std::string::npos) << json.substr(0, 2000);
  EXPECT_NE(json.find("result 'result0' of 'doubled'"), std::string::npos) << json.substr(0, 2000);
}

using EmptyCache = MemoryTest;
TEST_F(EmptyCache, GivesBackWhatIsUnusedOnly) {
  Tensor live = made(24);
  {
    Tensor gone = made(40);
  }
  const uint64_t reserved = memory_reserved(), allocated = memory_allocated();
  EXPECT_GE(reserved, allocated + 40 * mebibyte);
  empty_cache();
  EXPECT_LE(memory_reserved(), reserved - 40 * mebibyte);
  EXPECT_EQ(memory_allocated(), allocated) << "live bytes stay";
  EXPECT_EQ(live.to_vector<float>()[0], 0);
  // Temporaries of streams go with trim().
  Tensor x = ones({512, 512});
  softmax(matmul(x, x) + 1, -1).to_vector<float>();
  trim();
  EXPECT_EQ(memory_stats().at("weft.arena_bytes.current"), 0);
}

using CachingRules = MemoryTest;
TEST_F(CachingRules, SegmentsHaveTheSizesOfPyTorch) {
  const auto reserved_by = [](int64_t bytes) {
    trim();
    const uint64_t before = memory_reserved();
    const std::vector<uint8_t> values(static_cast<size_t>(bytes));
    Tensor t = Tensor::from(values, {bytes});
    return memory_reserved() - before;
  };
  // If the process has other small blocks, the first may fit into their segment.
  EXPECT_TRUE(reserved_by(1) % (2 * mebibyte) == 0);
  EXPECT_EQ(reserved_by(9 * static_cast<int64_t>(mebibyte)), 20 * mebibyte);
  EXPECT_EQ(reserved_by(11 * static_cast<int64_t>(mebibyte)), 12 * mebibyte);
}

using OutOfMemory = MemoryTest;
// An optimiser makes state for its parameters in the first step: for all of them, or for none.
TEST_F(OutOfMemory, AFirstStepThatFailsLeavesNoState) {
  Tensor a = made(4).requires_grad_(), b = made(4).requires_grad_();
  optim::Adam adam({a, b}, {.lr = 0.5});
  (a.sum() + b.sum()).backward();
  const Tensor gradient = a.grad();
  gradient.to_bytes();
  b.grad().to_bytes();
  trim();
  const uint64_t limit = memory_limit();
  for (const int64_t room : {2, 6, 10, 14}) { // before the first of four pieces of 4 MiB, to before the last
    set_memory_limit(memory_allocated() + room * mebibyte);
    EXPECT_ERROR(adam.step(), "CPU out of memory");
    EXPECT_EQ(adam.state_dict().size(), optim::Adam({a, b}, {.lr = 0.5}).state_dict().size()) << room;
    trim();
  }
  set_memory_limit(limit);
  const float before = a.to_vector<float>()[3];
  adam.step();
  EXPECT_NEAR(a.to_vector<float>()[3], before - 0.5f, 1e-4f);
  EXPECT_EQ(adam.state_dict().size(), optim::Adam({a, b}, {.lr = 0.5}).state_dict().size() + 6)
      << "a count and two moments for each";
}

TEST_F(OutOfMemory, IsPredictedAndLeavesEverythingUsable) {
  Generator generator(0);
  Tensor large = made(16);
  auto step = compile([](Tensor x) { return x * 2 + 1; }, {.name = "step"});
  EXPECT_EQ(step(large).to_vector<float>()[0], 1);
  trim();
  const uint64_t limit = memory_limit();
  const int64_t ooms = memory_stats().at("num_ooms");
  set_memory_limit(memory_allocated() + 8 * mebibyte);
  const std::string message = errorOf([&] { step(large); });
  EXPECT_NE(message.find("CPU out of memory. Tried to allocate 16.00 MiB"), std::string::npos) << message;
  for (const char *part : {"total capacity of", "The limit is", "is allocated", "reserved but unallocated",
                           "planned peak", "Largest live buffers: 16.00 MiB tensor (", "MemoryTest.cpp:"})
    EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
  // Neither a line of the library nor a package that has no name.
  for (const char *part : {"Random.cpp", "<memory>"})
    EXPECT_EQ(message.find(part), std::string::npos) << part << "\n" << message;
  try {
    step(large);
    ADD_FAILURE() << "the limit still holds";
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), "WEFT-M001");
  }
  EXPECT_EQ(memory_stats().at("num_ooms"), ooms + 2);
  EXPECT_ERROR(made(16), "CPU out of memory");
  // A failed lazy value stays pending, and is computed once there is room.
  Tensor pending = large + 1;
  EXPECT_ERROR(pending.to_vector<float>(), "CPU out of memory");
  set_memory_limit(limit);
  EXPECT_EQ(pending.to_vector<float>()[5], 1);
  EXPECT_EQ(step(large).to_vector<float>()[0], 1);
  EXPECT_ERROR(set_per_process_memory_fraction(1.5), "above 0 and up to 1");
  set_per_process_memory_fraction(1);
  set_memory_limit(limit);
}

using MemoryReuse = MemoryTest;
TEST_F(MemoryReuse, APlanNeedsLessThanItsValues) {
  // 24 values of 4 mebibyte; in place and in the arena only a few are live at a time.
  Tensor x = made(4);
  auto chain = compile([](Tensor t) {
    for (int i = 0; i < 12; ++i)
      t = softmax(t.reshape({1024, 1024}), i % 2).reshape({1024 * 1024});
    return t;
  });
  chain(x).to_vector<float>();
  synchronize();
  trim();
  reset_peak_memory_stats();
  chain(x).to_vector<float>();
  EXPECT_LT(max_memory_allocated() - start, 24 * mebibyte);
  // State that is updated in place needs no further memory.
  Tensor state = made(8);
  auto update = compile([&](Tensor t) { state.copy_(state + t.sum()); });
  update(x);
  synchronize();
  trim();
  reset_peak_memory_stats();
  const uint64_t before = memory_allocated();
  update(x);
  synchronize();
  EXPECT_LT(max_memory_allocated() - before, mebibyte);
}

// Four products that are all there before the first sum, unless each is summed when it is made.
TEST(CompileMemoryLimit, ShrinksTheArenaAndChangesNoBit) {
  auto fn = [](Tensor a) {
    Tensor p = matmul(a, a), q = matmul(a, a.t()), r = matmul(a.t(), a), s = matmul(a.t(), a.t());
    return std::tuple(p.sum({1}), q.sum({1}), r.sum({1}), s.sum({1}));
  };
  Tensor x = rand({64, 64});
  auto bytes = [&](auto &f) {
    auto [p, q, r, s] = f(x);
    return std::vector{p.to_bytes(), q.to_bytes(), r.to_bytes(), s.to_bytes()};
  };
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "weft-memory-limit";
  std::filesystem::create_directories(folder);
  auto arena = [&](auto &f) {
    // A saved package keeps the limit too.
    const std::string path = (folder / "step.weft").string();
    f.save(path);
    std::shared_ptr<const runtime::Package> package = runtime::Package::open(path).value_or_throw();
    return runtime::Executable::load(package, "step").value_or_throw()->arena_bytes();
  };
  auto plain = compile(fn, {.name = "step"});
  auto limited = compile(fn, {.name = "step", .memory_limit = 40000});
  auto impossible = compile(fn, {.name = "step", .memory_limit = 0});
  const auto expected = bytes(plain);
  EXPECT_EQ(bytes(limited), expected);
  EXPECT_EQ(bytes(impossible), expected);
  const std::string before = plain.explain(), after = limited.explain(), least = impossible.explain();
  EXPECT_NE(before.find("arena peak    64.0 KiB"), std::string::npos) << before;
  EXPECT_EQ(before.find("the limit is"), std::string::npos) << before;
  EXPECT_EQ(after.find("arena peak    64.0 KiB"), std::string::npos) << after;
  EXPECT_NE(after.find("65536 bytes of temporaries at one time, the limit is 40000; in another order"),
            std::string::npos)
      << after;
  EXPECT_NE(least.find("the limit is 0; in another order"), std::string::npos) << least;
  EXPECT_EQ(arena(plain), 65536u);
  EXPECT_LE(arena(limited), 40000u);
  EXPECT_GT(arena(impossible), 0u);
  // One product and its sum have one order.
  auto single = compile([](Tensor a) { return matmul(a, a).sum({1}); }, {.memory_limit = 0});
  single(x);
  EXPECT_NE(single.explain().find("the limit is 0; no order was found that needs less"), std::string::npos)
      << single.explain();
  std::filesystem::remove_all(folder);
}
