//===- ExecutableTest.cpp - Calls: arguments, order, failures -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/queue/Profiler.h"
#include "runtime/threads/Executor.h"
#include "test/unit/ReversedExecutor.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

// buffers: x, y; sizes unused. One task is 4 elements.
void double_values(const KernelFrame *frame, int64_t begin, int64_t end) {
  const auto *x = static_cast<const float *>(frame->buffers[0]);
  auto *y = static_cast<float *>(frame->buffers[1]);
  for (int64_t i = begin * 4; i < end * 4; ++i)
    y[i] = 2 * x[i];
}

// buffers: indices (i64), t; one task an index. Fails where an index is not below sizes[0]; uses scratch.
void check_indices(const KernelFrame *frame, int64_t begin, int64_t end) {
  const auto *indices = static_cast<const int64_t *>(frame->buffers[0]);
  auto *t = static_cast<int64_t *>(frame->buffers[1]);
  auto *scratch = static_cast<int64_t *>(frame->scratch);
  for (int64_t i = begin; i < end; ++i) {
    scratch[0] = indices[i];
    if ((scratch[0] < 0 || scratch[0] >= frame->sizes[0]) && i < frame->check->position)
      *frame->check = {1, i, scratch[0]};
    t[i] = scratch[0];
  }
}

// buffers: t (i64), state, state: state += t, in place.
void add_to_state(const KernelFrame *frame, int64_t begin, int64_t end) {
  const auto *t = static_cast<const int64_t *>(frame->buffers[0]);
  const auto *before = static_cast<const int64_t *>(frame->buffers[1]);
  auto *after = static_cast<int64_t *>(frame->buffers[2]);
  for (int64_t i = begin; i < end; ++i)
    after[i] = before[i] + t[i];
}

constexpr int64_t count = 64;

std::shared_ptr<Executable> load(const PlanBuilder &builder, std::span<const std::byte> constants = {}) {
  return Executable::load(builder.package(constants), builder.plan.function,
                          Image::from_functions({{"double_values", double_values},
                                                 {"check_indices", check_indices},
                                                 {"add_to_state", add_to_state}}))
      .value_or_throw();
}

std::shared_ptr<Executable> doubler(int64_t elements) {
  PlanBuilder b("twice");
  b.argument("x", DType::f32, {elements});
  b.result("y", DType::f32, {elements});
  const auto bytes = static_cast<uint64_t>(elements) * 4;
  b.kernel("double_values",
           {b.buffer(fb::Storage::argument, 0, 0, bytes), b.buffer(fb::Storage::result, 0, 0, bytes)}, 1,
           elements / 4, 64);
  return load(b);
}

// Checks the indices, then adds them to the state in place; also returns a fresh copy of the indices.
std::shared_ptr<Executable> stepper(int32_t recorded = -1, uint64_t flops = 0) {
  PlanBuilder b("step");
  b.argument("indices", DType::i64, {count});
  b.argument("state", DType::i64, {count}, true);
  b.result("state", DType::i64, {count}, 1);
  b.result("copy", DType::i64, {count});
  b.plan.arena_bytes = count * 8;
  const uint32_t indices = b.buffer(fb::Storage::argument, 0, 0, count * 8),
                 state = b.buffer(fb::Storage::argument, 1, 0, count * 8),
                 t = b.buffer(fb::Storage::arena, 0, 0, count * 8),
                 out = b.buffer(fb::Storage::result, 0, 0, count * 8),
                 copy = b.buffer(fb::Storage::result, 1, 0, count * 8);
  fb::LaunchT &check = b.kernel("check_indices", {indices, t}, 1, count, 4);
  b.check(100, "train.cpp", 12, 3).recorded = recorded;
  check.flops = flops;
  check.op.AsKernelLaunch()->sizes = {100};
  check.op.AsKernelLaunch()->scratch_bytes = 24;
  fb::CopyLaunchT move;
  move.source = t;
  move.destination = copy;
  b.launch("copy").op.Set(move);
  PlanBuilder::predicated(b.kernel("add_to_state", {t, state, out}, 2, count, 4));
  return load(b);
}

std::vector<int64_t> filled(int64_t value) { return std::vector<int64_t>(count, value); }

struct Modes : testing::TestWithParam<QueueMode> {
  Queue queue;
  RunOptions options{&queue, GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Queue, Modes,
                         testing::Values(QueueMode::automatic, QueueMode::async, QueueMode::inlined),
                         [](const auto &info) {
                           return info.param == QueueMode::async     ? "async"
                                  : info.param == QueueMode::inlined ? "inlined"
                                                                     : "automatic";
                         });

TEST_P(Modes, ComputesSmallAndLarge) {
  for (int64_t elements : {8, 1 << 20}) {
    const auto executable = doubler(elements);
    std::vector<float> x(static_cast<size_t>(elements));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i % 1000);
    const std::shared_ptr<Buffer> arguments[] = {buffer_of(x)};
    std::shared_ptr<Buffer> results[1];
    ASSERT_TRUE(executable->run(arguments, results, options).ok());
    ASSERT_TRUE(results[0]->wait().ok());
    for (float &value : x)
      value *= 2;
    EXPECT_EQ(values_of<float>(*results[0]), x);
  }
}

TEST_P(Modes, TiedResultsAreWrittenInPlace) {
  const auto executable = stepper();
  const auto state = buffer_of(filled(1));
  const std::shared_ptr<Buffer> arguments[] = {buffer_of(filled(3)), state};
  std::shared_ptr<Buffer> results[2];
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(executable->run(arguments, results, options).ok());
    EXPECT_EQ(results[0], state);
  }
  ASSERT_TRUE(state->wait().ok());
  ASSERT_TRUE(results[1]->wait().ok());
  EXPECT_EQ(values_of<int64_t>(*state), filled(61));
  EXPECT_EQ(values_of<int64_t>(*results[1]), filled(3));
}

TEST_P(Modes, AFailedCallLeavesTheStateAndIsReportedOnce) {
  const auto executable = stepper();
  const auto state = buffer_of(filled(1));
  std::vector<int64_t> bad = filled(3);
  bad[40] = 140;
  bad[17] = -5;
  bad[63] = 163;
  const std::shared_ptr<Buffer> good_arguments[] = {buffer_of(filled(3)), state};
  const std::shared_ptr<Buffer> bad_arguments[] = {buffer_of(bad), state};
  std::shared_ptr<Buffer> results[2], failed[2], after[2];
  ASSERT_TRUE(executable->run(good_arguments, results, options).ok());
  Status status = executable->run(bad_arguments, failed, options);
  const char *const message = "call 2 of 'step' failed: index -5 is out of bounds for dimension 0 with size "
                              "100 (at position 17) (at train.cpp:12:3)";
  if (status.ok())
    status = state->wait(); // queued: the host sees it here
  EXPECT_FAILS(status, message);
  const FailureInfo &info = *status.info();
  EXPECT_EQ(info.check, FailedCheck::index);
  EXPECT_EQ(info.position, 17);
  EXPECT_EQ(info.value, -5);
  EXPECT_EQ(info.dimension, 0);
  EXPECT_EQ(info.size, 100);
  EXPECT_EQ(info.function, "step");
  EXPECT_EQ(info.call, 2u);
  EXPECT_EQ(info.file + ":" + std::to_string(info.line), "train.cpp:12");
  EXPECT_EQ(info.operation, -1);
  EXPECT_TRUE(state->wait().ok());
  EXPECT_EQ(values_of<int64_t>(*state), filled(4));
  if (failed[1])
    EXPECT_FAILS(failed[1]->wait(), message);
  EXPECT_TRUE(queue.synchronize().ok());
  ASSERT_TRUE(executable->run(good_arguments, after, options).ok());
  ASSERT_TRUE(state->wait().ok());
  EXPECT_EQ(values_of<int64_t>(*state), filled(7));
}

// The last wrong element is found first, and each earlier one by another range of tasks, so that the log of
// the call is full before the first one is found.
TEST_P(Modes, TheFirstViolationIsReportedInWhateverOrderTasksRun) {
  const weft::test::ReversedExecutor reversed;
  const auto executable = stepper(/*recorded=*/-1, /*flops=*/1 << 24);
  std::vector<int64_t> indices = filled(3);
  for (size_t i = 9; i < indices.size(); ++i)
    indices[i] = 1000 + static_cast<int64_t>(i);
  const auto state = buffer_of(filled(1));
  const std::shared_ptr<Buffer> arguments[] = {buffer_of(indices), state};
  std::shared_ptr<Buffer> results[2];
  Status status = executable->run(arguments, results, options);
  if (status.ok())
    status = state->wait();
  EXPECT_FAILS(status, "index 1009 is out of bounds for dimension 0 with size 100 (at position 9)");
  EXPECT_TRUE(state->wait().ok());
  EXPECT_EQ(values_of<int64_t>(*state), filled(1));
}

// Programs of the same structure share an executable, so the caller provides the source lines and the
// operations.
TEST(Executable, AFailureNamesTheLineThatItsCallerGives) {
  const auto executable = stepper(/*recorded=*/1);
  const std::shared_ptr<Buffer> arguments[] = {buffer_of(filled(500)), buffer_of(filled(1))};
  std::shared_ptr<Buffer> results[2];
  RunOptions options;
  options.mode = QueueMode::inlined;
  CallOrigin origin;
  origin.caller = 77;
  origin.lines = std::make_shared<std::vector<SourceLine>>(
      std::vector<SourceLine>{{"other.cpp", 3, 1}, {"mine.cpp", 8, 5}});
  options.origin = origin;
  const Status status = executable->run(arguments, results, options);
  EXPECT_FAILS(status, "(at mine.cpp:8:5)");
  EXPECT_EQ(status.message().find("train.cpp"), std::string::npos) << status.message();
  EXPECT_EQ(status.info()->caller, 77u);
  EXPECT_EQ(status.info()->operation, 1);
  EXPECT_EQ(status.info()->call, 0u) << "nobody counts";
  EXPECT_EQ(status.info()->file, "mine.cpp");
  EXPECT_EQ(status.info()->line, 8u);
  EXPECT_EQ(status.info()->column, 5u);
}

// Calls that were queued before the host saw the failure do nothing.
TEST(Executable, FailuresAreSticky) {
  Queue queue;
  const RunOptions options{&queue, QueueMode::async};
  const auto executable = stepper();
  const auto state = buffer_of(filled(1)), other = buffer_of(filled(10));
  const auto ones = buffer_of(filled(1)), bad = buffer_of(filled(1000));
  std::atomic<bool> open{false};
  queue.submit([&] {
    while (!open)
      std::this_thread::yield();
  });
  const auto call = [&](const std::shared_ptr<Buffer> &indices, const std::shared_ptr<Buffer> &target) {
    const std::shared_ptr<Buffer> arguments[] = {indices, target};
    std::shared_ptr<Buffer> results[2];
    EXPECT_TRUE(executable->run(arguments, results, options).ok());
    return results[1];
  };
  const auto before = call(ones, state), failed = call(bad, state), skipped = call(ones, state);
  const auto apart = call(ones, other);
  // A call that reads what the failed call should have made is skipped too.
  const auto depends = call(failed, other);
  open = true;
  EXPECT_FAILS(skipped->wait(), "call 2 of 'step' failed: index 1000");
  EXPECT_TRUE(before->wait().ok());
  EXPECT_TRUE(apart->wait().ok());
  EXPECT_TRUE(state->wait().ok()) << "seen at the wait above";
  EXPECT_FAILS(depends->wait(), "call 2");
  EXPECT_TRUE(queue.synchronize().ok());
  EXPECT_EQ(values_of<int64_t>(*state), filled(2));
  EXPECT_TRUE(other->wait().ok());
  EXPECT_EQ(values_of<int64_t>(*other), filled(11));
}

TEST(Executable, TheNextCallOnTheStateReportsTheFailure) {
  Queue queue;
  const RunOptions options{&queue, QueueMode::async};
  const auto executable = stepper();
  const auto state = buffer_of(filled(1));
  const std::shared_ptr<Buffer> bad[] = {buffer_of(filled(-1)), state},
                                good[] = {buffer_of(filled(1)), state};
  std::shared_ptr<Buffer> results[2];
  ASSERT_TRUE(executable->run(bad, results, options).ok());
  queue.submit([] {}).wait();
  EXPECT_FAILS(executable->run(good, results, options), "call 1 of 'step' failed: index -1");
  ASSERT_TRUE(executable->run(good, results, options).ok());
  ASSERT_TRUE(results[0]->wait().ok());
  EXPECT_EQ(values_of<int64_t>(*state), filled(2));
  ASSERT_TRUE(executable->run(bad, results, options).ok());
  EXPECT_FAILS(queue.synchronize(), "call 3 of 'step' failed");
  EXPECT_TRUE(state->wait().ok());
}

TEST(Executable, RefusesArgumentsThatDoNotFit) {
  const auto executable = stepper();
  const auto indices = buffer_of(filled(1)), state = buffer_of(filled(1));
  std::shared_ptr<Buffer> results[2], one[1];
  const auto run = [&](std::initializer_list<std::shared_ptr<Buffer>> arguments) {
    const std::vector<std::shared_ptr<Buffer>> list = arguments;
    return executable->run(list, results);
  };
  EXPECT_FAILS(run({indices}), "'step' takes 2 arguments and gives 2 results, found 1 and room for 2");
  EXPECT_FAILS(executable->run(std::vector{indices, state}, one), "room for 1");
  EXPECT_FAILS(run({indices, nullptr}), "argument 1 'state' is missing");
  EXPECT_FAILS(run({buffer_of(std::vector<int64_t>(3)), state}),
               "argument 0 'indices' takes 512 bytes, found a buffer of 24");
  EXPECT_FAILS(run({state, state}),
               "argument 1 'state' is donated and shares memory with argument 0 'indices'");
  std::vector<int64_t> memory(2 * count);
  const auto at = [&](size_t byte) {
    return Buffer::wrap(reinterpret_cast<char *>(memory.data()) + byte, count * 8);
  };
  EXPECT_FAILS(run({at(3), state}), "no multiple of its element size 8");
  EXPECT_FAILS(run({at(0), at(count * 8 - 8)}), "shares memory");
  EXPECT_TRUE(run({at(0), at(count * 8)}).ok());
  EXPECT_TRUE(Queue::get_default().synchronize().ok());
}

TEST(Executable, QueuesAreOrderedByTheirBuffers) {
  Queue first, second;
  const auto executable = stepper();
  const auto ones = buffer_of(filled(1)), state = buffer_of(filled(0));
  const std::shared_ptr<Buffer> arguments[] = {ones, state};
  std::shared_ptr<Buffer> results[2];
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(executable->run(arguments, results, {i % 2 ? &first : &second, QueueMode::async}).ok());
  ASSERT_TRUE(state->wait().ok());
  EXPECT_EQ(values_of<int64_t>(*state), filled(50));
  EXPECT_TRUE(first.synchronize().ok());
  EXPECT_TRUE(second.synchronize().ok());
}

TEST_P(Modes, TwoThreadsCallOneExecutable) {
  const auto executable = stepper();
  const auto ones = buffer_of(filled(1));
  std::vector<std::shared_ptr<Buffer>> states = {buffer_of(filled(0)), buffer_of(filled(100))};
  std::vector<std::thread> threads;
  for (const auto &state : states)
    threads.emplace_back([&, state] {
      const std::shared_ptr<Buffer> arguments[] = {ones, state};
      std::shared_ptr<Buffer> results[2];
      for (int i = 0; i < 200; ++i)
        EXPECT_TRUE(executable->run(arguments, results, options).ok());
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const auto &state : states)
    ASSERT_TRUE(state->wait().ok());
  EXPECT_EQ(values_of<int64_t>(*states[0]), filled(200));
  EXPECT_EQ(values_of<int64_t>(*states[1]), filled(300));
}

// constants * x through a contraction, with the profiler on.
TEST_P(Modes, ContractionsAndConstants) {
  PlanBuilder b("product");
  b.argument("x", DType::f32, {4, 4});
  b.result("y", DType::f32, {4, 4});
  fb::ContractionLaunchT product;
  product.dtype = static_cast<uint8_t>(DType::f32);
  product.m = product.n = product.k = 4;
  product.a = b.buffer(fb::Storage::constant, 0, 64, 64);
  product.b = b.buffer(fb::Storage::argument, 0, 0, 64);
  product.c = b.buffer(fb::Storage::result, 0, 0, 64);
  product.a_strides = product.b_strides = product.c_strides = {16, 4, 1};
  b.launch("matmul").op.Set(std::move(product));
  std::vector<float> constants(32), x(16);
  for (size_t i = 0; i < 16; ++i) {
    constants[16 + i] = i % 5 == 0 ? 3.0f : 0.0f; // three times the identity
    x[i] = static_cast<float>(i);
  }
  const auto executable = load(b, std::as_bytes(std::span(constants)));
  const std::shared_ptr<Buffer> arguments[] = {buffer_of(x)};
  std::shared_ptr<Buffer> results[1];
  Profiler::get().clear();
  Profiler::get().start();
  ASSERT_TRUE(executable->run(arguments, results, options).ok());
  ASSERT_TRUE(results[0]->wait().ok());
  Profiler::get().stop();
  for (float &value : x)
    value *= 3;
  EXPECT_EQ(values_of<float>(*results[0]), x);
  const auto rows = Profiler::get().rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "matmul");
  EXPECT_EQ(rows[0].location, "step.cpp:7:3");
  EXPECT_EQ(rows[0].bytes, 192u);
  EXPECT_EQ(rows[0].flops, 128u);
}

TEST(Executable, MemoryIsSecuredBeforeTheFirstLaunch) {
  const auto executable = stepper();
  const auto state = buffer_of(filled(1));
  const std::shared_ptr<Buffer> arguments[] = {buffer_of(filled(1)), state};
  std::shared_ptr<Buffer> results[2];
  Queue queue;
  CachingAllocator &allocator = CachingAllocator::get();
  allocator.empty_cache();
  // All free small blocks are taken, and no new segment is allowed.
  const uint64_t limit = allocator.limit();
  allocator.set_limit(0);
  std::vector<MemoryBlock> blocks;
  for (size_t bytes : {1u << 20, 1u << 16, 4096u, 512u})
    for (;;) {
      Expected<MemoryBlock> block = allocator.allocate(bytes);
      if (!block)
        break;
      blocks.push_back(*block);
    }
  const Status status = executable->run(arguments, results, {&queue, QueueMode::inlined});
  for (const MemoryBlock &block : blocks)
    allocator.free(block);
  allocator.set_limit(limit);
  EXPECT_EQ(status.code(), "WEFT-M001");
  EXPECT_FAILS(status, "the results and temporaries of 'step' (planned peak ");
  EXPECT_EQ(values_of<int64_t>(*state), filled(1));
  EXPECT_EQ(results[0], nullptr);
  ASSERT_TRUE(executable->run(arguments, results, {&queue, QueueMode::inlined}).ok());
}

// An executable exists only if every kernel of the plan has been found.
TEST(Executable, KernelsAreSecuredBeforeTheFirstLaunch) {
  PlanBuilder b("step");
  b.argument("state", DType::f32, {8}, true);
  b.result("state", DType::f32, {8}, 0);
  const uint32_t in = b.buffer(fb::Storage::argument, 0, 0, 32),
                 out = b.buffer(fb::Storage::result, 0, 0, 32);
  PlanBuilder::predicated(b.kernel("double_values", {in, out}, 1, 2));
  PlanBuilder::predicated(b.kernel("half_values", {in, out}, 1, 2));
  const auto package = b.package();
  const auto part = Image::from_functions({{"double_values", double_values}});
  EXPECT_FAILS(Executable::load(package, "step", part).status(), "no kernel 'half_values'");
  const auto whole =
      Image::from_functions({{"double_values", double_values}, {"half_values", double_values}});
  const auto executable = Executable::load(package, "step", whole).value_or_throw();
  const std::shared_ptr<Buffer> state[] = {buffer_of(std::vector<float>(8, 1))};
  std::shared_ptr<Buffer> results[1];
  ASSERT_TRUE(executable->run(state, results).ok());
  ASSERT_TRUE(results[0]->wait().ok());
  EXPECT_EQ(values_of<float>(*results[0]), std::vector<float>(8, 4));
}

TEST(Executable, LoadingNamesWhatIsMissing) {
  PlanBuilder b("twice");
  b.argument("x", DType::f32, {8});
  b.result("y", DType::f32, {8});
  b.kernel("double_values",
           {b.buffer(fb::Storage::argument, 0, 0, 32), b.buffer(fb::Storage::result, 0, 0, 32)}, 1, 2);
  const auto package = b.package();
  EXPECT_FAILS(Executable::load(package, "thrice").status(), "has no section 'plan.thrice.cpu'");
  EXPECT_FAILS(Executable::load(package, "twice").status(), "has no kernels");
  EXPECT_FAILS(Executable::load(package, "twice", Image::from_functions({})).status(),
               "no kernel 'double_values'");
  PackageWriter writer;
  b.add_to(writer, "other");
  writer.add("plan.damaged.cpu", std::vector<std::byte>(100));
  const auto renamed = Package::from_memory(writer.finish().value_or_throw()).value_or_throw();
  const auto image = Image::from_functions({{"double_values", double_values}});
  EXPECT_FAILS(Executable::load(renamed, "other", image).status(), "holds the plan of 'twice'");
  EXPECT_FAILS(Executable::load(renamed, "damaged", image).status(), "no valid plan");
  const auto executable = Executable::load(package, "twice", image).value_or_throw();
  EXPECT_EQ(executable->signature().arguments[0].name, "x");
  EXPECT_EQ(executable->signature().arguments[0].type.shape, std::vector<int64_t>{8});
  EXPECT_EQ(executable->signature().results[0].type.bytes, 32u);
  EXPECT_LT(executable->estimated_ns(), Executable::serialCostNs);
}

// A measurement, not a check: run with --gtest_also_run_disabled_tests.
TEST(Executable, DISABLED_CallOverhead) {
  const auto executable = doubler(8);
  const std::shared_ptr<Buffer> arguments[] = {buffer_of(std::vector<float>(8, 1.0f))};
  std::shared_ptr<Buffer> results[1];
  for (QueueMode mode : {QueueMode::automatic, QueueMode::inlined, QueueMode::async})
    for (int round = 0; round < 3; ++round) {
      const int calls = mode == QueueMode::async ? 20000 : 200000;
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) {
        (void)executable->run(arguments, results, {nullptr, mode});
        (void)results[0]->wait();
      }
      const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
      std::printf("call and read, mode %d: %.0f ns\n", static_cast<int>(mode), time.count() / calls);
    }
}

} // namespace
