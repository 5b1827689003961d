//===- CacheTest.cpp - The kernel cache in memory and on disk --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include "codegen/kernel/KernelCache.h"
#include "runtime/support/TemporaryFile.h"
#include "test/unit/TemporaryFolder.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <mutex>
#include <new>
#include <pthread.h>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

/// Fault injection: operator new and pthread_create of this program replace those of the C++ and C libraries
/// in the whole process.
namespace failing {
static std::atomic<int> allocations{-1}; // that helper threads still get; -1: all
static std::atomic<int> threads{-1};
[[maybe_unused]] static thread_local bool isHelper = true;
static const bool mainIsNone = isHelper = false;
static void allocationsFrom(int first) { allocations = first; }
static void threadsAfter(int count) { threads = count; }
/// Whether one of a limited number is left; the last stays taken.
[[maybe_unused]] static bool take(std::atomic<int> &left) {
  int now = left.load();
  while (now > 0 && !left.compare_exchange_weak(now, now - 1)) {
  }
  return now != 0;
}
} // namespace failing

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
void *operator new(size_t bytes) {
  void *memory =
      !failing::isHelper || failing::take(failing::allocations) ? std::malloc(bytes ? bytes : 1) : nullptr;
  if (!memory)
    throw std::bad_alloc();
  return memory;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

extern "C" __attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  static const auto next = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return failing::take(failing::threads) ? next(thread, attributes, body, argument) : EAGAIN;
}
#endif

namespace weft::testing {
namespace {

using codegen::CpuCompiler;
using codegen::CpuTarget;
using codegen::KernelCache;
const CpuCompiler v3({CpuTarget::v3}), v4({CpuTarget::v4});

codegen::KernelText textOf(mlir::ModuleOp kernel) { return *codegen::namedKernelText(kernel); }
namespace fs = std::filesystem;

class Cache : public ::testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/weft-cache-XXXXXX";
    root = ::mkdtemp(pattern);
    options.directory = root + "/deep/cache";
  }
  void TearDown() override {
    std::error_code ignored;
    fs::permissions(root, fs::perms::owner_all, ignored);
    fs::remove_all(root, ignored);
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const auto &entry : fs::directory_iterator(options.directory, ignored))
      found.push_back(entry.path());
    return found;
  }
  static mlir::OwningOpRef<mlir::ModuleOp> kernel(int variant, const std::string &name = "k") {
    return parse(mapKernel(name,
                           "%c = arith.constant dense<" + std::to_string(variant) +
                               ".5> : $T\n %y = arith.mulf %x0, %c : $T",
                           1, 8));
  }

  std::string root;
  KernelCache::Options options;
};

TEST_F(Cache, HitsInMemoryAndOnDisk) {
  auto one = kernel(1, "one"), same = kernel(1, "another");
  std::vector<char> bytes;
  {
    KernelCache cache(options);
    auto first = cache.get(*one, v4), second = cache.get(*same, v4);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->get(), second->get()) << "names are no part of a kernel";
    EXPECT_EQ(cache.counters().compiled, 1u);
    EXPECT_EQ(cache.counters().memoryHits, 1u);
    ASSERT_TRUE(cache.get(*one, v3));
    EXPECT_EQ(cache.counters().compiled, 2u) << "the target is";
    bytes = **first;
  }
  EXPECT_EQ(entries().size(), 2u);
  KernelCache cache(options);
  auto again = cache.get(*one, v4);
  ASSERT_TRUE(again);
  EXPECT_EQ(**again, bytes);
  EXPECT_EQ(cache.counters().diskHits, 1u);
  EXPECT_EQ(cache.counters().compiled, 0u);
}

/// A compiler whose code is the text that it was given.
class NamedCompiler : public codegen::KernelCompiler {
public:
  NamedCompiler(std::string name, std::string processor)
      : name(std::move(name)), processor(std::move(processor)) {}
  std::string identity() const override { return name; }
  std::string target() const override { return processor; }
  Expected<std::vector<char>> compile(llvm::StringRef text, llvm::StringRef,
                                      codegen::CompileStats *) const override {
    const std::string code = name + " " + processor + " " + text.str();
    return std::vector<char>(code.begin(), code.end());
  }

private:
  std::string name, processor;
};

TEST_F(Cache, KnowsKernelsByTextCompilerAndTarget) {
  auto one = kernel(1), two = kernel(2);
  for (int round = 0; round < 2; ++round) {
    KernelCache cache(options);
    std::set<std::vector<char>> different;
    for (const char *compiler : {"nvrtc 13.0", "nvrtc 13.1"})
      for (const char *target : {"sm_80", "sm_90"})
        for (mlir::ModuleOp module : {*one, *two}) {
          auto code = cache.get(module, NamedCompiler(compiler, target));
          ASSERT_TRUE(code);
          const std::string start = std::string(compiler) + " " + target + " ";
          EXPECT_EQ(std::string((*code)->begin(), (*code)->end()).substr(0, start.size()), start);
          different.insert(**code);
        }
    EXPECT_EQ(different.size(), 8u);
    EXPECT_EQ(cache.counters().compiled, round == 0 ? 8u : 0u);
    EXPECT_EQ(cache.counters().diskHits, round == 0 ? 0u : 8u);
  }
  EXPECT_NE(KernelCache::keyOf("text", NamedCompiler("a", "b")),
            KernelCache::keyOf("text", NamedCompiler("ab", "")));
}

TEST_F(Cache, DamageIsAMissAndIsRepaired) {
  auto one = kernel(1);
  std::vector<char> bytes;
  {
    KernelCache cache(options);
    bytes = **cache.get(*one, v4);
  }
  ASSERT_EQ(entries().size(), 1u);
  fs::path path = entries()[0];
  const std::string good = test::contentOf(path);
  auto damage = [&](std::string content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    KernelCache cache(options);
    auto object = cache.get(*one, v4);
    ASSERT_TRUE(object);
    EXPECT_EQ(**object, bytes);
    EXPECT_EQ(cache.counters().damaged, 1u);
    EXPECT_EQ(cache.counters().compiled, 1u);
    EXPECT_EQ(test::contentOf(path), good);
  };
  damage("");
  damage("something else altogether");
  damage(good.substr(0, good.size() - 1));
  damage(good + "x");
  for (size_t at : {size_t(0), size_t(9), size_t(13), size_t(20), size_t(50), size_t(58), good.size() / 2,
                    good.size() - 1}) {
    std::string flipped = good;
    flipped[at] ^= 0x10;
    damage(flipped);
  }
}

TEST_F(Cache, AnEntryThatCannotBeReadStays) {
  auto one = kernel(1);
  {
    ASSERT_TRUE(KernelCache(options).get(*one, v4));
  }
  fs::path path = entries()[0];
  // A directory in its place opens but gives an I/O error on reading.
  fs::remove(path);
  fs::create_directory(path);
  KernelCache cache(options);
  ASSERT_TRUE(cache.get(*one, v4));
  EXPECT_EQ(cache.counters().damaged, 0u);
  EXPECT_TRUE(fs::is_directory(path));
}

TEST_F(Cache, APipeInPlaceOfAnEntryIsNotWaitedFor) {
  auto one = kernel(1);
  {
    ASSERT_TRUE(KernelCache(options).get(*one, v4));
  }
  fs::path path = entries()[0];
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  KernelCache cache(options);
  ASSERT_TRUE(cache.get(*one, v4));
  EXPECT_TRUE(fs::is_regular_file(path)) << "the entry is there again";
}

// The size in a file's header is not allocated before it is checked.
TEST_F(Cache, AnEntryOfATerabyteIsDamaged) {
  auto one = kernel(1);
  {
    ASSERT_TRUE(KernelCache(options).get(*one, v4));
  }
  fs::resize_file(entries()[0], uint64_t(1) << 40);
  KernelCache cache(options);
  ASSERT_TRUE(cache.get(*one, v4));
  EXPECT_EQ(cache.counters().damaged, 1u);
}

TEST_F(Cache, WhatKilledWritersLeftGoes) {
  const pid_t gone = ::fork();
  if (gone == 0)
    ::_exit(0);
  ASSERT_EQ(::waitpid(gone, nullptr, 0), gone);
  fs::create_directories(options.directory);
  auto left = [&](pid_t pid, uint64_t start, std::chrono::seconds age) {
    fs::path path = options.directory + "/.tmp-" + std::to_string(pid) + "-" + std::to_string(start) + "-" +
                    std::to_string(age.count());
    std::ofstream(path) << "x";
    fs::last_write_time(path, fs::file_time_type::clock::now() - age);
    return path;
  };
  using namespace std::chrono_literals;
  const uint64_t start = runtime::process_start();
  fs::path dead = left(gone, 1, 2h), fresh = left(gone, 1, 0s), alive = left(::getpid(), start, 2h),
           old = left(::getpid(), start, 48h), before = left(::getpid(), start - 1, 2h);
  auto one = kernel(1);
  ASSERT_TRUE(KernelCache(options).get(*one, v4));
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_FALSE(fs::exists(before)) << "a process that had our number before us";
}

TEST_F(Cache, NamesThatAreTakenDoNotStopAWriter) {
  fs::create_directories(options.directory);
  const std::string number = options.directory + "/.tmp-" + std::to_string(::getpid()) + "-";
  for (int i = 0; i < 90; ++i) {
    const std::string count = std::to_string(i);
    std::ofstream(number + count) << "x";
    std::ofstream(number + std::to_string(runtime::process_start()) + "-" + count) << "x";
  }
  std::ofstream(number + "probe") << "x";
  EXPECT_EQ(KernelCache::inspect(options).problem, "");
  KernelCache cache(options);
  auto one = kernel(1);
  ASSERT_TRUE(cache.get(*one, v4));
  EXPECT_EQ(cache.diskProblem(), "");
  EXPECT_EQ(entries().size(), 182u) << "the entry, and what was there";
}

// Every allocation of a helper thread fails in its turn: entries are read from the disk there, so that all of
// them are ours and none is LLVM's.
TEST_F(Cache, NoMemoryInAHelperThreadIsAStatus) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer has an operator new and a pthread_create of its own";
#endif
  std::vector<codegen::KernelText> kernels;
  for (int i = 0; i < 8; ++i)
    kernels.push_back(textOf(*kernel(i, "k" + std::to_string(i))));
  {
    ASSERT_TRUE(KernelCache(options).compile(kernels, v4, 1));
  }
  // If the caller has read all kernels before a helper thread starts, nothing fails.
  constexpr int allocations = 60, mostSweeps = 100, enough = 6;
  int refused = 0;
  for (int turn = 0; turn < allocations || (refused < enough && turn < allocations * mostSweeps); ++turn) {
    KernelCache cache(options);
    failing::allocationsFrom(turn % allocations);
    auto objects = cache.compile(kernels, v4, 4);
    failing::allocationsFrom(-1);
    if (!objects) {
      ++refused;
      EXPECT_EQ(objects.status().code(), "WEFT-M001") << objects.status().message();
    }
    // There is memory again, and no thread waits for a kernel that no thread compiles.
    objects = cache.compile(kernels, v4, 4);
    ASSERT_TRUE(objects) << objects.status().message();
    ASSERT_EQ(objects->size(), 8u);
  }
  EXPECT_GE(refused, enough);
}

TEST_F(Cache, WithoutThreadsTheCallerCompilesAll) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer has an operator new and a pthread_create of its own";
#endif
  std::vector<codegen::KernelText> kernels;
  for (int i = 0; i < 3; ++i)
    kernels.push_back(textOf(*kernel(i, "k" + std::to_string(i))));
  for (int after : {0, 1}) {
    options.directory.clear();
    KernelCache cache(options);
    failing::threadsAfter(after);
    auto objects = cache.compile(kernels, v4, 3);
    failing::threadsAfter(-1);
    ASSERT_TRUE(objects) << objects.status().message();
    EXPECT_EQ(cache.counters().compiled, 3u);
  }
}

TEST_F(Cache, AnUnwritableDirectoryLeavesMemory) {
  // Also refuses root, who may write into any directory.
  std::ofstream(root + "/file") << "in the way";
  options.directory = root + "/file/cache";
  KernelCache cache(options);
  auto one = kernel(1), two = kernel(2);
  ::testing::internal::CaptureStderr();
  ASSERT_TRUE(cache.get(*one, v4));
  ASSERT_TRUE(cache.get(*two, v4));
  ASSERT_TRUE(cache.get(*one, v4));
  std::string message = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(message.find(options.directory), std::string::npos) << message;
  EXPECT_EQ(message.find("weft:"), message.rfind("weft:")) << "one message only: " << message;
  EXPECT_FALSE(cache.diskProblem().empty());
  EXPECT_EQ(cache.counters().memoryHits, 1u);
}

TEST_F(Cache, AReadOnlyDirectoryStillServes) {
  auto one = kernel(1), two = kernel(2);
  {
    ASSERT_TRUE(KernelCache(options).get(*one, v4));
  }
  fs::permissions(options.directory, fs::perms::owner_read | fs::perms::owner_exec);
  if (::access(options.directory.c_str(), W_OK) == 0)
    GTEST_SKIP() << "this user may write into a read-only directory";
  KernelCache cache(options);
  ASSERT_TRUE(cache.get(*one, v4));
  ASSERT_TRUE(cache.get(*two, v4));
  EXPECT_EQ(cache.counters().diskHits, 1u);
  EXPECT_FALSE(cache.diskProblem().empty());
  fs::permissions(options.directory, fs::perms::owner_all);
}

// A limit on the size of files stands in for a full disk: a write stops in the middle, with an error.
TEST_F(Cache, AFullDiskLeavesMemory) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    // The limit is one of the process, so the test runs in a separate process.
    ::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small = {100, 100};
    ::setrlimit(RLIMIT_FSIZE, &small);
    KernelCache cache(options);
    auto one = kernel(1), two = kernel(2);
    bool good = bool(cache.get(*one, v4)) && bool(cache.get(*two, v4)) && bool(cache.get(*one, v4));
    good = good && cache.counters().memoryHits == 1 && cache.counters().compiled == 2;
    good = good && cache.diskProblem().find("File too large") != std::string::npos;
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(entries().empty()) << "half an entry was left";
  // Once there is room again a process writes as ever.
  KernelCache cache(options);
  ASSERT_TRUE(cache.get(*kernel(1), v4));
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(Cache, IsBoundedInBytes) {
  uint64_t entry;
  {
    KernelCache cache(options);
    ASSERT_TRUE(cache.get(*kernel(0), v4));
    entry = fs::file_size(entries()[0]);
  }
  options.maxBytes = entry * 5 + 100;
  KernelCache cache(options);
  for (int i = 1; i < 12; ++i) {
    ASSERT_TRUE(cache.get(*kernel(i), v4));
    uint64_t total = 0;
    for (const fs::path &path : entries())
      total += fs::file_size(path);
    EXPECT_LE(total, options.maxBytes);
  }
  EXPECT_GT(cache.counters().evicted, 0u);
  EXPECT_GE(entries().size(), 3u);
}

TEST_F(Cache, ThreadsCompileAKernelOnce) {
  KernelCache cache(options);
  std::string text = mapKernel("k", "%y = math.tanh %x0 : $T", 1, 16);
  auto module = parse(text);
  std::vector<std::thread> threads;
  std::vector<codegen::KernelObject> objects(6);
  for (auto &object : objects)
    threads.emplace_back([&] {
      if (auto got = cache.get(*module, v4))
        object = *got;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (auto &object : objects)
    EXPECT_EQ(object, objects[0]);
  EXPECT_NE(objects[0], nullptr);
  EXPECT_EQ(cache.counters().compiled, 1u);
}

/// A compiler that ends only when two of its compilations are under way.
class PairCompiler : public NamedCompiler {
public:
  PairCompiler() : NamedCompiler("pair", "any") {}
  Expected<std::vector<char>> compile(llvm::StringRef text, llvm::StringRef name,
                                      codegen::CompileStats *stats) const override {
    std::unique_lock<std::mutex> lock(mutex);
    ++begun;
    changed.notify_all();
    if (!changed.wait_for(lock, std::chrono::seconds(60), [&] { return begun >= 2; }))
      return Status::error("no second compilation began beside that of " + name.str());
    return NamedCompiler::compile(text, name, stats);
  }

private:
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  mutable int begun = 0;
};

TEST_F(Cache, TextsAreCompiledBesideEachOther) {
  KernelCache cache(options);
  const codegen::KernelText texts[] = {{"first", "a"}, {"second", "b"}, {"first", "c"}};
  auto objects = cache.compile(texts, PairCompiler(), 2);
  ASSERT_TRUE(objects) << objects.status().message();
  ASSERT_EQ(objects->size(), 3u);
  auto code = [&](size_t i) { return std::string((*objects)[i]->begin(), (*objects)[i]->end()); };
  EXPECT_EQ(code(0), "pair any first");
  EXPECT_EQ(code(1), "pair any second");
  EXPECT_EQ((*objects)[2], (*objects)[0]);
  EXPECT_EQ(cache.counters().compiled, 2u);
}

TEST_F(Cache, TextsAreCompiledBesideKernels) {
  KernelCache cache(options);
  const PairCompiler compiler;
  const codegen::KernelText kernels[] = {textOf(*kernel(1))};
  const codegen::KernelText texts[] = {{"text", "a"}};
  auto objects = cache.compile(kernels, compiler, texts, compiler, 2);
  ASSERT_TRUE(objects) << objects.status().message();
  EXPECT_EQ(objects->size(), 1u);
  EXPECT_EQ(cache.counters().compiled, 2u);
  auto found = cache.compile(texts, compiler, 1);
  ASSERT_TRUE(found) << found.status().message();
  EXPECT_EQ(std::string((*found)[0]->begin(), (*found)[0]->end()), "pair any text");
  EXPECT_EQ(cache.counters().compiled, 2u);
  EXPECT_EQ(cache.counters().memoryHits, 1u);
  const codegen::KernelText wrong[] = {{"no kernel", "wrong"}};
  EXPECT_NE(cache.compile(kernels, compiler, wrong, v4, 2).status().message().find("wrong"),
            std::string::npos);
}

TEST_F(Cache, TwoProcessesMayRace) {
  std::vector<pid_t> children;
  for (int child = 0; child < 2; ++child) {
    pid_t pid = ::fork();
    if (pid == 0) {
      bool good = true;
      for (int round = 0; round < 3 && good; ++round) {
        KernelCache cache(options);
        for (int i = 0; i < 3; ++i)
          good &= bool(cache.get(*kernel(i), v4));
        good &= cache.counters().damaged == 0;
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(entries().size(), 3u) << "no temporary file is left";
  KernelCache cache(options);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(cache.get(*kernel(i), v4));
  EXPECT_EQ(cache.counters().diskHits, 3u);
}

TEST_F(Cache, ErrorsAreNotCached) {
  KernelCache cache(options);
  auto bad = parse(mapKernel("k", "%y = func.call @mystery(%x0) : (f32) -> f32", 1, 0) +
                   "func.func private @mystery(f32) -> f32\n");
  for (int i = 0; i < 2; ++i) {
    auto object = cache.get(*bad, v4);
    ASSERT_FALSE(object);
    EXPECT_NE(object.status().message().find("mystery"), std::string::npos);
  }
  EXPECT_TRUE(entries().empty());
}

TEST_F(Cache, CompilesTwentyKernels) {
  const char *ops[] = {"math.exp", "math.log", "math.tanh", "math.sqrt", "math.erf"};
  std::vector<codegen::KernelText> kernels;
  for (int i = 0; i < 20; ++i)
    kernels.push_back(
        textOf(*parse(mapKernel("k" + std::to_string(i),
                                "%c = arith.constant dense<" + std::to_string(i) + ".0> : $T\n" +
                                    "%z = arith.addf %x0, %c : $T\n %y = " + ops[i % 5] + " %z : $T",
                                1, 16))));
  kernels.push_back(kernels[3]);
  options.directory.clear();
  for (unsigned threads : {1u, 2u}) {
    KernelCache cache(options);
    auto start = std::chrono::steady_clock::now();
    auto objects = cache.compile(kernels, v4, threads);
    double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    ASSERT_TRUE(objects) << objects.status().message();
    ASSERT_EQ(objects->size(), 21u);
    EXPECT_EQ((*objects)[3], (*objects)[20]);
    EXPECT_EQ(cache.counters().compiled, 20u);
    std::printf("20 kernels for x86-64-v4, %u thread(s): %.0f ms\n", threads, ms);
  }
}

} // namespace
} // namespace weft::testing
