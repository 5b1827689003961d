//===- IssuedCallTest.cpp - Calls that overlap on a device ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans that are made here, on a device whose memory the host cannot read. Programs from text are in
// test/unit/codegen/DeviceFailuresTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/plan/PlanSegments.h"
#include "test/unit/codegen/SeparateDevice.h"

#include <numeric>
#include <random>
#include <thread>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;
using weft::testing::SeparateDevice;

namespace {

constexpr int64_t elements = 16;

/// y = x + x, and a failure for every element below 0.
void check_and_double(const KernelFrame *frame, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float x = static_cast<const float *>(frame->buffers[0])[i];
    static_cast<float *>(frame->buffers[1])[i] = x + x;
    if (x < 0 && frame->check->check == 0)
      *frame->check = {1, i, static_cast<int64_t>(x)};
  }
}

/// s = s + x
void add_to_state(const KernelFrame *frame, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(frame->buffers[1])[i] += static_cast<const float *>(frame->buffers[0])[i];
}

/// A step that checks x, and then adds it to state.
PlanBuilder step() {
  PlanBuilder b("step");
  b.argument("x", DType::f32, {elements});
  b.argument("s", DType::f32, {elements}, true);
  b.result("y", DType::f32, {elements});
  b.result("s", DType::f32, {elements}, 1);
  for (fb::TensorTypeT *type : {b.plan.arguments[0]->type.get(), b.plan.arguments[1]->type.get(),
                                b.plan.results[0]->type.get(), b.plan.results[1]->type.get()})
    type->device = "cuda:0";
  auto part = std::make_unique<fb::DevicePartT>();
  part->name = "cuda:0";
  b.plan.devices.push_back(std::move(part));
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, 4 * elements),
                 s = b.buffer(fb::Storage::argument, 1, 0, 4 * elements),
                 y = b.buffer(fb::Storage::result, 0, 0, 4 * elements);
  b.kernel("check_and_double", {x, y}, 1, elements);
  b.check(1 << 20, "step.cpp", 7, 3);
  PlanBuilder::predicated(b.kernel("add_to_state", {x, s}, 1, elements));
  auto segment = std::make_unique<fb::SegmentT>();
  segment->launches = 2;
  b.plan.segments.push_back(std::move(segment));
  return b;
}

std::shared_ptr<Executable> load(const PlanBuilder &plan, Device &device) {
  return Executable::load(
             plan.package(), "step",
             Image::from_functions({{"check_and_double", check_and_double}, {"add_to_state", add_to_state}}),
             {{"cuda:0", &device}})
      .value_or_throw();
}

std::shared_ptr<Buffer> on(Device &device, float value) {
  const std::vector<float> values(elements, value);
  auto buffer = Buffer::allocate(4 * elements, 0, device).value_or_throw();
  EXPECT_TRUE(buffer->write(0, std::as_bytes(std::span(values))).ok());
  return buffer;
}

std::vector<float> read(const Buffer &buffer) {
  std::vector<float> values(elements);
  EXPECT_TRUE(buffer.read(0, std::as_writable_bytes(std::span(values))).ok());
  return values;
}

// A call happens or it does not: state is the sum of what was given to the calls whose results are there,
// whoever waits, and whenever.
TEST(IssuedCall, HappensOrDoesNotForManyThreads) {
  SeparateDevice &device = SeparateDevice::get(0);
  const auto executable = load(step(), device);
  Queue shared;
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    Queue own;
    Queue *const queues[] = {&shared, &own};
    const auto state = on(device, 0);
    float expected = 0;
    std::vector<std::pair<std::shared_ptr<Buffer>, float>> made;
    const auto settle = [&] {
      for (const auto &[y, value] : made)
        if (y->wait().ok()) {
          EXPECT_EQ(read(*y), std::vector<float>(elements, 2 * value));
          expected += value;
        }
      made.clear();
    };
    for (int i = 0; i < 60; ++i) {
      const float value = random() % 8 == 0 ? -1.0f : static_cast<float>(1 + random() % 4);
      std::vector<std::shared_ptr<Buffer>> results(2);
      const QueueMode mode = random() % 3 == 0   ? QueueMode::async
                             : random() % 8 == 0 ? QueueMode::inlined
                                                 : QueueMode::automatic;
      const Status status =
          executable->run(std::vector{on(device, value), state}, results, {queues[random() % 2], mode});
      if (status.ok())
        made.emplace_back(results[0], value);
      if (random() % 6 == 0)
        settle();
      if (random() % 10 == 0)
        (void)queues[random() % 2]->synchronize();
    }
    settle();
    (void)state->wait_unused();
    EXPECT_EQ(read(*state), std::vector<float>(elements, expected));
    (void)own.synchronize();
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 3; ++seed)
    threads.emplace_back(work, seed);
  for (std::thread &thread : threads)
    thread.join();
  (void)shared.synchronize();
}

// What calls under way hold is waited for, and not missed.
TEST(IssuedCall, WaitsForMemoryOfEarlierCalls) {
  SeparateDevice &device = SeparateDevice::get(1);
  const auto executable = load(step(), device);
  Queue queue;
  const auto x = on(device, 1), state = on(device, 0);
  const auto call = [&] {
    std::vector<std::shared_ptr<Buffer>> results(2);
    return executable->run(std::vector{x, state}, results, {&queue, {}});
  };
  ASSERT_TRUE(call().ok());
  ASSERT_TRUE(queue.synchronize().ok());
  device.allocator().empty_cache();
  device.allocator().set_limit(device.allocator().memory_reserved());
  std::vector<std::shared_ptr<Buffer>> held;
  while (auto more = Buffer::allocate(512, 0, device))
    held.push_back(*more);
  held.pop_back(); // room for the results of one call
  device.delayUs = 2000;
  device.stalls = 0;
  for (int i = 0; i < 3; ++i) {
    const Status status = call();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  EXPECT_GE(device.stalls, 1u);
  device.delayUs = 0;
  EXPECT_TRUE(queue.synchronize().ok());
  device.allocator().set_limit(UINT64_MAX);
  EXPECT_EQ(read(*state), std::vector<float>(elements, 4));
}

TEST(IssuedCall, NamesTheCheckThatFailed) {
  SeparateDevice &device = SeparateDevice::get(0);
  const auto executable = load(step(), device);
  Queue queue;
  std::vector<std::shared_ptr<Buffer>> results(2);
  ASSERT_TRUE(executable->run(std::vector{on(device, -3), on(device, 1)}, results, {&queue, {}}).ok());
  EXPECT_FAILS(queue.synchronize(), "call 1 of 'step' failed: index -3 is out of bounds for dimension 0 with "
                                    "size 1048576 (at position 0) (at step.cpp:7:3)");
  EXPECT_EQ(read(*results[1]), std::vector<float>(elements, 1));
  EXPECT_GE(executable->planned_memory().temporaries, 64u) << "the record is counted";
}

/// Calls of `step` on one queue, whose results are dropped.
Status call(const std::shared_ptr<Executable> &executable, Queue &queue, const std::shared_ptr<Buffer> &x,
            const std::shared_ptr<Buffer> &state, QueueMode mode = QueueMode::automatic) {
  std::vector<std::shared_ptr<Buffer>> results(2);
  return executable->run(std::vector{x, state}, results, {&queue, mode});
}

// A call that failed on the device, and then could not be issued whole, has set the flags of what it writes.
TEST(IssuedCall, LeavesNoFlagsWhereTheDeviceEndsIt) {
  SeparateDevice &device = SeparateDevice::get(0);
  const auto executable = load(step(), device);
  for (QueueMode mode : {QueueMode::automatic, QueueMode::async}) {
    Queue queue;
    const auto wrong = on(device, -1), x = on(device, 1), state = on(device, 0);
    ASSERT_TRUE(call(executable, queue, x, state, mode).ok());
    ASSERT_TRUE(queue.synchronize().ok());
    device.recordsLeft = 0;
    Status status = call(executable, queue, wrong, state, mode);
    if (mode == QueueMode::async)
      status = queue.synchronize();
    EXPECT_FAILS(status, "'separate:0' can record no point");
    device.recordsLeft = INT_MAX;
    status = call(executable, queue, x, state, mode);
    EXPECT_TRUE(status.ok()) << status.message();
    status = queue.synchronize();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(read(*state), std::vector<float>(elements, 2));
    // A failure that nobody has seen still stops what comes after such a call.
    device.delayUs = 5000;
    ASSERT_TRUE(call(executable, queue, wrong, state, mode).ok());
    if (mode == QueueMode::automatic) {
      device.recordsLeft = 0;
      EXPECT_FAILS(call(executable, queue, x, state, mode), "'separate:0' can record no point");
      device.recordsLeft = INT_MAX;
    }
    status = call(executable, queue, x, state, mode);
    device.delayUs = 0;
    if (status.ok())
      status = queue.synchronize();
    EXPECT_FAILS(status, "index -1 is out of bounds");
    EXPECT_EQ(read(*state), std::vector<float>(elements, 2));
    EXPECT_TRUE(call(executable, queue, x, state, mode).ok());
    EXPECT_TRUE(queue.synchronize().ok());
    EXPECT_EQ(read(*state), std::vector<float>(elements, 3));
  }
}

// To grow the memory of temporaries, the device records a point in the stream that the call is issued to.
TEST(IssuedCall, HasANewStreamWhereTheOldOneCannotTellItsEnd) {
  SeparateDevice &device = SeparateDevice::get(0);
  PlanBuilder larger = step();
  larger.plan.launches[1]->op.AsKernelLaunch()->scratch_bytes = 1 << 22;
  const auto small = load(step(), device), large = load(larger, device);
  for (QueueMode mode : {QueueMode::automatic, QueueMode::async}) {
    Queue queue;
    const auto x = on(device, 1), state = on(device, 0);
    device.delayUs = 2000;
    ASSERT_TRUE(call(small, queue, x, state, mode).ok());
    if (mode == QueueMode::async)
      EXPECT_TRUE(queue.synchronize().ok());
    device.recordsLeft = 0;
    Status status = call(large, queue, x, state, mode);
    if (mode == QueueMode::async)
      status = queue.synchronize();
    EXPECT_FAILS(status, "'separate:0' can record no point");
    device.recordsLeft = INT_MAX;
    device.delayUs = 0;
    const auto other = on(device, 5);
    EXPECT_TRUE(call(large, queue, x, other, mode).ok());
    status = queue.synchronize();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(read(*other), std::vector<float>(elements, 6));
  }
}

// The streams of two queues wait for each other, and the host for none of them.
TEST(IssuedCall, IsIssuedBehindCallsOfOtherQueues) {
  SeparateDevice &device = SeparateDevice::get(0);
  const auto executable = load(step(), device);
  for (QueueMode mode : {QueueMode::automatic, QueueMode::async}) {
    Queue first, second, third;
    const auto x = on(device, 1), state = on(device, 0);
    device.delayUs = 5000;
    const uint64_t runs = device.runs;
    device.stalls = 0;
    for (Queue *queue : {&first, &second, &first, &third})
      ASSERT_TRUE(call(executable, *queue, x, state, mode).ok());
    Event event;
    event.record(third);
    event.wait(first);
    second.wait_for(third);
    EXPECT_EQ(device.stalls, 0u);
    // What only waits is done when what it waits for is.
    EXPECT_TRUE(second.synchronize().ok());
    EXPECT_TRUE(event.query());
    EXPECT_EQ(device.runs, runs + 4);
    device.delayUs = 0;
    EXPECT_TRUE(first.synchronize().ok() && third.synchronize().ok());
    EXPECT_EQ(read(*state), std::vector<float>(elements, 4));
  }
}

// A stream that is made later waits, too.
TEST(IssuedCall, WaitsForEventsThatCameBeforeItsStream) {
  SeparateDevice &device = SeparateDevice::get(0);
  const auto executable = load(step(), device);
  Queue first, second;
  const auto x = on(device, 1), state = on(device, 0), other = on(device, 0);
  device.delayUs = 20000;
  ASSERT_TRUE(call(executable, first, x, state).ok());
  second.wait_for(first);
  // So does an event of a queue that only waits.
  Queue waits;
  Event before, after;
  before.record(first);
  before.wait(waits);
  after.record(waits);
  after.synchronize();
  EXPECT_TRUE(before.query());
  device.delayUs = 20000;
  ASSERT_TRUE(call(executable, first, x, state).ok());
  second.wait_for(first);
  ASSERT_TRUE(call(executable, second, on(device, 2), other).ok());
  device.delayUs = 0;
  EXPECT_TRUE(other->wait().ok());
  EXPECT_EQ(read(*state), std::vector<float>(elements, 2)) << "without a wait for it";
  EXPECT_TRUE(first.synchronize().ok() && second.synchronize().ok());
}

/// Waits until the device has carried out all work of a queue, which nobody finishes.
void await_device(SeparateDevice &device, uint64_t runs) {
  while (device.runs < runs)
    std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

// An error of the device, of which the flags say nothing, is that of what depends on the call.
TEST(IssuedCall, FailsWithTheCallOfAnotherQueueThatItUses) {
  SeparateDevice &device = SeparateDevice::get(0);
  const auto executable = load(step(), device);
  Queue first, second;
  const auto x = on(device, 1), state = on(device, 0);
  const uint64_t runs = device.runs;
  device.runsLeft = 0;
  ASSERT_TRUE(call(executable, first, x, state).ok());
  await_device(device, runs + 1);
  device.runsLeft = INT_MAX;
  ASSERT_TRUE(call(executable, second, x, state).ok());
  EXPECT_FAILS(state->wait(), "'separate:0' has failed");
  EXPECT_TRUE(first.synchronize().ok() && second.synchronize().ok()) << "it was reported";
}

// Passed calls of a queue that nobody uses any more hold their results and arguments.
TEST(IssuedCall, GivesItsMemoryBackToWhoeverNeedsIt) {
  SeparateDevice &device = SeparateDevice::get(1);
  const auto executable = load(step(), device);
  Queue queue;
  const auto state = on(device, 0);
  ASSERT_TRUE(call(executable, queue, on(device, 1), state).ok());
  ASSERT_TRUE(queue.synchronize().ok());
  device.allocator().empty_cache();
  device.allocator().set_limit(device.allocator().memory_reserved());
  std::vector<std::shared_ptr<Buffer>> held;
  while (auto more = Buffer::allocate(512, 0, device))
    held.push_back(*more);
  const int64_t ooms = device.allocator().stats().at("num_ooms");
  held.resize(held.size() - 3); // an argument, a result, and one more
  ASSERT_TRUE(call(executable, queue, on(device, 1), state).ok());
  await_device(device, 2);
  for (int i = 0; i < 3; ++i) {
    auto more = Buffer::allocate(512, 0, device);
    ASSERT_TRUE(more) << more.status().message();
    held.push_back(*more);
  }
  EXPECT_EQ(device.allocator().stats().at("num_ooms"), ooms);
  EXPECT_FALSE(Buffer::allocate(512, 0, device));
  device.allocator().set_limit(UINT64_MAX);
  EXPECT_TRUE(queue.synchronize().ok());
  EXPECT_EQ(read(*state), std::vector<float>(elements, 2));
}

/// A function of the host: y = x + x.
std::shared_ptr<Executable> on_the_host() {
  PlanBuilder b("double");
  b.argument("x", DType::f32, {elements});
  b.result("y", DType::f32, {elements});
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, 4 * elements),
                 y = b.buffer(fb::Storage::result, 0, 0, 4 * elements);
  b.kernel("check_and_double", {x, y}, 1, elements);
  b.check(1 << 20, "double.cpp", 1, 1);
  return Executable::load(b.package(), "double",
                          Image::from_functions({{"check_and_double", check_and_double}}))
      .value_or_throw();
}

// Memory that goes back to its owner may make the owner call functions, on any thread.
TEST(IssuedCall, IsFinishedWhileOthersTakeTheirPlaces) {
  SeparateDevice &device = SeparateDevice::get(0);
  const auto executable = load(step(), device), other = on_the_host();
  Queue queue, another;
  const auto run = [&](Queue &on_queue) {
    auto x = on(host_device(), 1);
    std::vector<std::shared_ptr<Buffer>> results(1);
    return other->run(std::vector{x}, results, {&on_queue, QueueMode::automatic}).ok();
  };
  std::thread caller;
  std::atomic<bool> called{false}, in_time{false};
  const auto memory = on(device, 1), state = on(device, 0);
  auto x = Buffer::wrap(
      memory->data(), memory->bytes(),
      [&](void *) {
        caller = std::thread([&] { called = run(another); });
        for (int i = 0; i < 200 && !called; ++i)
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        in_time = called.load();
      },
      device);
  ASSERT_TRUE(call(executable, queue, x, state).ok());
  x.reset();
  await_device(device, 1);
  EXPECT_TRUE(run(queue));
  ASSERT_TRUE(caller.joinable()) << "the call of the device was finished";
  caller.join();
  EXPECT_TRUE(in_time);
  EXPECT_TRUE(queue.synchronize().ok());
  EXPECT_TRUE(another.synchronize().ok());
}

// Memory that goes back to its owner may make the owner destroy the queue. Its other calls end as they would.
TEST(IssuedCall, OutlivesAQueueThatItsMemoryDestroys) {
  SeparateDevice &device = SeparateDevice::get(0);
  const auto executable = load(step(), device);
  for (const QueueMode mode : {QueueMode::automatic, QueueMode::async}) {
    auto queue = std::make_unique<Queue>();
    const auto memory = on(device, 1), state = on(device, 0);
    auto x = Buffer::wrap(memory->data(), memory->bytes(), [&](void *) { queue.reset(); }, device);
    device.delayUs = 5000;
    const uint64_t runs = device.runs;
    std::vector<std::shared_ptr<Buffer>> first(2), failed(2), stopped(2);
    ASSERT_TRUE(executable->run(std::vector{x, state}, first, {queue.get(), mode}).ok());
    x.reset();
    first.clear();
    ASSERT_TRUE(executable->run(std::vector{on(device, -1), state}, failed, {queue.get(), mode}).ok());
    ASSERT_TRUE(executable->run(std::vector{on(device, 1), state}, stopped, {queue.get(), mode}).ok());
    if (mode == QueueMode::async) // all three are with the device
      await_device(device, runs + 3);
    // Whoever waits for one of them finishes the first.
    EXPECT_FAILS(failed[0]->wait(), "index -1 is out of bounds");
    EXPECT_EQ(queue, nullptr);
    EXPECT_FAILS(stopped[0]->wait(), "index -1 is out of bounds");
    device.delayUs = 0;
    EXPECT_EQ(read(*state), std::vector<float>(elements, 1));
    Queue other;
    EXPECT_TRUE(call(executable, other, on(device, 1), state).ok());
    EXPECT_TRUE(other.synchronize().ok());
    EXPECT_EQ(read(*state), std::vector<float>(elements, 2));
  }
}

// A device may make a graph of the launches of a region.
TEST(IssuedCall, RegionsAreIssuedAtOnce) {
  SeparateDevice &device = SeparateDevice::get(0);
  PlanBuilder b = step();
  for (auto &launch : b.plan.launches)
    launch->region = 0;
  const auto executable = load(b, device);
  Queue queue;
  for (int i = 0; i < 3; ++i) {
    std::vector<std::shared_ptr<Buffer>> results(2);
    ASSERT_TRUE(executable->run(std::vector{on(device, 2), on(device, 1)}, results, {&queue, {}}).ok());
    EXPECT_TRUE(results[0]->wait().ok());
    EXPECT_EQ(read(*results[0]), std::vector<float>(elements, 4));
    EXPECT_EQ(read(*results[1]), std::vector<float>(elements, 3));
  }
  EXPECT_EQ(device.regions, 3u);
}

} // namespace
