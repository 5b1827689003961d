//===- CApiTest.cpp - The C interface -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/Executor.h"
#include "runtime/State.h"
#include "weft/weft.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

using Values = std::vector<float>;

/// step(x, state w, scalar lr) -> y = x * w, then w = x; all but lr are f32[4,4]. The package keeps w and lr.
std::vector<std::byte> step_package(bool with_state = true) {
  PlanBuilder b("step");
  b.argument("x", DType::f32, {4, 4});
  b.argument("fc.weight", DType::f32, {4, 4}, /*donated=*/true);
  b.argument("adam.lr", DType::f64, {});
  b.plan.arguments[1]->role = fb::Role::state;
  b.plan.arguments[2]->role = fb::Role::scalar;
  b.result("y", DType::f32, {4, 4});
  b.result("fc.weight", DType::f32, {4, 4}, /*tied_to=*/1);
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, 64), w = b.buffer(fb::Storage::argument, 1, 0, 64);
  fb::ContractionLaunchT product;
  product.dtype = static_cast<uint8_t>(DType::f32);
  product.m = product.n = product.k = 4;
  product.a = x;
  product.b = w;
  product.c = b.buffer(fb::Storage::result, 0, 0, 64);
  product.a_strides = product.b_strides = product.c_strides = {16, 4, 1};
  b.launch("matmul").op.Set(std::move(product));
  fb::CopyLaunchT copy;
  copy.source = x;
  copy.destination = w;
  b.launch("copy").op.Set(std::move(copy));
  PackageWriter writer;
  writer.add("plan.step.cpu", b.bytes());
  if (with_state) {
    Values weight(16);
    for (size_t i = 0; i < 16; i += 5)
      weight[i] = 2; // twice the identity
    const double lr = 0.5;
    const StateValue values[] = {{"fc.weight", DType::f32, {4, 4}, std::as_bytes(std::span(weight))},
                                 {"adam.lr", DType::f64, {}, std::as_bytes(std::span(&lr, 1))}};
    add_state(writer, "step", values).throw_if_failed();
  }
  return writer.finish().value_or_throw();
}

Values counted(float first) {
  Values values(16);
  for (size_t i = 0; i < 16; ++i)
    values[i] = first + static_cast<float>(i);
  return values;
}

constexpr int64_t shape44[] = {4, 4};

weft_buffer describe(Values &values, const int64_t *strides = nullptr) {
  weft_buffer buffer = {};
  buffer.struct_size = sizeof buffer;
  buffer.data = values.data();
  buffer.dtype = WEFT_F32;
  buffer.rank = 2;
  buffer.shape = shape44;
  buffer.strides = strides;
  return buffer;
}

weft_buffer nothing() {
  weft_buffer buffer = {};
  buffer.struct_size = sizeof buffer;
  return buffer;
}

#define EXPECT_STATUS(call, kind, part)                                                                      \
  do {                                                                                                       \
    EXPECT_EQ(call, kind) << weft_last_error();                                                              \
    EXPECT_NE(std::string(weft_last_error()).find(part), std::string::npos) << weft_last_error();            \
  } while (false)

struct CApi : testing::Test {
  void SetUp() override {
    const std::vector<std::byte> bytes = step_package();
    ASSERT_EQ(weft_package_open_memory(bytes.data(), bytes.size(), nullptr, &package), WEFT_OK);
    ASSERT_EQ(weft_executable_load(package, "step", "cpu", &step), WEFT_OK) << weft_last_error();
  }
  void TearDown() override {
    weft_executable_destroy(step);
    weft_package_close(package);
  }
  Values weight() {
    Values values(16);
    EXPECT_EQ(weft_executable_state_get(step, "fc.weight", values.data(), 64), WEFT_OK) << weft_last_error();
    return values;
  }
  weft_package *package = nullptr;
  weft_executable *step = nullptr;
};

Values scaled(Values values, float by) {
  for (float &value : values)
    value *= by;
  return values;
}

TEST_F(CApi, ListsFunctionsAndSignatures) {
  size_t count = 0;
  const char *name = nullptr;
  ASSERT_EQ(weft_package_function_count(package, &count), WEFT_OK);
  EXPECT_EQ(count, 1u);
  ASSERT_EQ(weft_package_function_name(package, 0, &name), WEFT_OK);
  EXPECT_STREQ(name, "step");
  EXPECT_STATUS(weft_package_function_name(package, 1, &name), WEFT_ERROR_ARGUMENT, "there is no function 1");
  ASSERT_EQ(weft_package_argument_count(package, "step", &count), WEFT_OK);
  EXPECT_EQ(count, 3u);
  weft_tensor_info info = {};
  EXPECT_STATUS(weft_package_argument(package, "step", 1, &info), WEFT_ERROR_ARGUMENT, "struct_size");
  info.struct_size = sizeof info;
  ASSERT_EQ(weft_package_argument(package, "step", 1, &info), WEFT_OK);
  EXPECT_STREQ(info.name, "fc.weight");
  EXPECT_STREQ(info.device, "cpu");
  EXPECT_EQ(info.dtype, WEFT_F32);
  EXPECT_EQ(info.role, WEFT_ROLE_STATE);
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.shape[1], 4);
  EXPECT_EQ(info.bytes, 64u);
  EXPECT_EQ(info.donated, 1);
  ASSERT_EQ(weft_package_result_count(package, "step", &count), WEFT_OK);
  EXPECT_EQ(count, 2u);
  ASSERT_EQ(weft_package_result(package, "step", 1, &info), WEFT_OK);
  EXPECT_EQ(info.tied_to, 1);
  EXPECT_STATUS(weft_package_result(package, "step", 2, &info), WEFT_ERROR_ARGUMENT, "there are 2");
  EXPECT_STATUS(weft_package_argument_count(package, "stop", &count), WEFT_ERROR_PACKAGE, "plan.stop.cpu");
  // A program that knows fewer fields gets those.
  weft_tensor_info old = {};
  old.struct_size = offsetof(weft_tensor_info, bytes);
  old.bytes = 99;
  ASSERT_EQ(weft_package_argument(package, "step", 0, &old), WEFT_OK);
  EXPECT_STREQ(old.name, "x");
  EXPECT_EQ(old.bytes, 99u);
}

TEST_F(CApi, RunsAndKeepsState) {
  Values x = counted(1), next = counted(100), y(16);
  weft_buffer in[] = {describe(x)}, out[] = {nothing()};
  EXPECT_EQ(weight()[0], 2);
  ASSERT_EQ(weft_executable_run(step, nullptr, in, 1, out, 1), WEFT_OK) << weft_last_error();
  EXPECT_STREQ(weft_executable_note(), "");
  ASSERT_EQ(weft_buffer_wait(&out[0]), WEFT_OK);
  EXPECT_EQ(out[0].dtype, WEFT_F32);
  EXPECT_EQ(out[0].rank, 2);
  const auto *values = static_cast<float *>(out[0].data);
  EXPECT_EQ(Values(values, values + 16), scaled(x, 2));
  EXPECT_EQ(weight(), x);
  weft_buffer_release(&out[0]);
  EXPECT_EQ(out[0].data, nullptr);
  // Into the caller's memory; the state goes on.
  weft_buffer into[] = {describe(y)};
  in[0] = describe(next);
  ASSERT_EQ(weft_executable_run(step, nullptr, in, 1, into, 1), WEFT_OK) << weft_last_error();
  ASSERT_EQ(weft_stream_synchronize(nullptr), WEFT_OK);
  EXPECT_EQ(y[0], 100 * 1 + 101 * 5 + 102 * 9 + 103 * 13);
  EXPECT_EQ(weight(), next);
  // A second load has state of its own.
  weft_executable *other = nullptr;
  ASSERT_EQ(weft_executable_load(package, "step", "cuda:0=cpu", &other), WEFT_OK) << weft_last_error();
  Values fresh(16);
  ASSERT_EQ(weft_executable_state_get(other, "fc.weight", fresh.data(), 64), WEFT_OK);
  EXPECT_EQ(fresh[5], 2);
  weft_executable_destroy(other);
}

TEST_F(CApi, StateIsListedReadAndSetByName) {
  size_t count = 0;
  ASSERT_EQ(weft_executable_state_count(step, &count), WEFT_OK);
  ASSERT_EQ(count, 2u);
  weft_tensor_info info = {};
  info.struct_size = sizeof info;
  ASSERT_EQ(weft_executable_state(step, 0, &info), WEFT_OK);
  EXPECT_STREQ(info.name, "adam.lr");
  EXPECT_EQ(info.role, WEFT_ROLE_SCALAR);
  EXPECT_EQ(info.written, 0);
  ASSERT_EQ(weft_executable_state(step, 1, &info), WEFT_OK);
  EXPECT_EQ(info.written, 1);
  ASSERT_EQ(weft_executable_input_count(step, &count), WEFT_OK);
  EXPECT_EQ(count, 1u);
  ASSERT_EQ(weft_executable_output(step, 0, &info), WEFT_OK);
  EXPECT_STREQ(info.name, "y");
  double lr = 0;
  ASSERT_EQ(weft_executable_state_get(step, "adam.lr", &lr, 8), WEFT_OK);
  EXPECT_EQ(lr, 0.5);
  ASSERT_EQ(weft_executable_scalar_set(step, "adam.lr", 0.25), WEFT_OK);
  ASSERT_EQ(weft_executable_state_get(step, "adam.lr", &lr, 8), WEFT_OK);
  EXPECT_EQ(lr, 0.25);
  const Values set = counted(7);
  ASSERT_EQ(weft_executable_state_set(step, "fc.weight", set.data(), 64), WEFT_OK);
  EXPECT_EQ(weight(), set);
  EXPECT_STATUS(weft_executable_state_set(step, "fc.weight", set.data(), 60), WEFT_ERROR_ARGUMENT,
                "with 64 bytes, found 60");
  EXPECT_STATUS(weft_executable_scalar_set(step, "adam.rate", 1), WEFT_ERROR_ARGUMENT,
                "has no state 'adam.rate'");
  EXPECT_STREQ(weft_last_error_code(), "");
  EXPECT_STATUS(weft_executable_state_get(step, "fc.weight", &lr, 8), WEFT_ERROR_ARGUMENT,
                "found room for 8");
  EXPECT_STATUS(weft_executable_state_get(step, "fc.bias", &lr, 8), WEFT_ERROR_ARGUMENT,
                "has no state 'fc.bias'; it has 'adam.lr', 'fc.weight'");
  EXPECT_STATUS(weft_executable_scalar_set(step, "fc.weight", 1), WEFT_ERROR_ARGUMENT, "no single number");
}

// Reaching an element must not overflow; a stride that is never taken may be anything.
TEST_F(CApi, StridesBeyondAnyMemoryAreAnErrorOfTheArgument) {
  Values x = counted(1), y(16);
  for (int64_t far : {INT64_MAX, INT64_MIN, INT64_MAX / 3, int64_t{1} << 60}) {
    const int64_t wild[] = {far, 1};
    weft_buffer in[] = {describe(x, wild)}, out[] = {describe(y)};
    EXPECT_STATUS(weft_executable_run(step, nullptr, in, 1, out, 1), WEFT_ERROR_ARGUMENT,
                  "reach beyond any memory");
    weft_buffer plain[] = {describe(x)}, far_out[] = {describe(y, wild)};
    EXPECT_STATUS(weft_executable_run(step, nullptr, plain, 1, far_out, 1), WEFT_ERROR_ARGUMENT,
                  "reach beyond any memory");
  }
}

TEST_F(CApi, StridesAreCopiedWithANote) {
  const int64_t transposed[] = {1, 4}, repeated[] = {0, 1};
  Values x = counted(1), y(16);
  weft_buffer in[] = {describe(x, transposed)}, out[] = {describe(y, transposed)};
  ASSERT_EQ(weft_executable_run(step, nullptr, in, 1, out, 1), WEFT_OK) << weft_last_error();
  EXPECT_STREQ(
      weft_executable_note(),
      "WEFT-D013: 'step': input 0 'x' has the strides [1, 4] and is not row-major: 64 bytes were copied\n"
      "WEFT-D013: 'step': output 0 'y' has the strides [1, 4] and is not row-major: 64 bytes were copied\n");
  ASSERT_EQ(weft_stream_synchronize(nullptr), WEFT_OK);
  EXPECT_EQ(y, scaled(x, 2)) << "transposed twice";
  EXPECT_EQ(weight()[1], x[4]);
  in[0] = describe(x, repeated);
  out[0] = nothing();
  ASSERT_EQ(weft_executable_run(step, nullptr, in, 1, out, 1), WEFT_OK) << weft_last_error();
  EXPECT_EQ(weight(), (Values{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}));
  weft_buffer_release(&out[0]);
  out[0] = describe(y, repeated);
  EXPECT_STATUS(weft_executable_run(step, nullptr, in, 1, out, 1), WEFT_ERROR_ARGUMENT, "elements overlap");
  // An odd address is copied too.
  std::vector<char> odd(65);
  std::memcpy(odd.data() + 1, x.data(), 64);
  in[0] = describe(x);
  in[0].data = odd.data() + 1;
  out[0] = nothing();
  ASSERT_EQ(weft_executable_run(step, nullptr, in, 1, out, 1), WEFT_OK) << weft_last_error();
  EXPECT_NE(std::string(weft_executable_note()).find("no multiple of its element size"), std::string::npos);
  EXPECT_EQ(weight(), x);
  weft_buffer_release(&out[0]);
}

TEST_F(CApi, WhatDoesNotFitIsNamed) {
  Values x = counted(1);
  weft_buffer in[] = {describe(x), describe(x)}, out[] = {nothing()};
  const auto run = [&](size_t inputs = 1) { return weft_executable_run(step, nullptr, in, inputs, out, 1); };
  EXPECT_STATUS(run(2), WEFT_ERROR_ARGUMENT, "'step' has 1 inputs, found 2");
  in[0].dtype = WEFT_F64;
  EXPECT_STATUS(run(), WEFT_ERROR_ARGUMENT, "input 0 'x' must be f32, found f64");
  in[0] = describe(x);
  in[0].rank = 1;
  EXPECT_STATUS(run(), WEFT_ERROR_ARGUMENT, "must be of rank 2 and shape [4, 4], found rank 1");
  in[0] = describe(x);
  in[0].device = "cuda:0";
  EXPECT_STATUS(run(), WEFT_ERROR_DEVICE, "is on 'cuda:0' and the executable runs on 'cpu'");
  in[0].device = "tpu:0";
  EXPECT_STATUS(run(), WEFT_ERROR_DEVICE, "Expected one of cpu, cuda");
  in[0] = describe(x);
  in[0].data = nullptr;
  EXPECT_STATUS(run(), WEFT_ERROR_ARGUMENT, "has no data");
  in[0] = describe(x);
  in[0].struct_size = 0;
  EXPECT_STATUS(run(), WEFT_ERROR_ARGUMENT, "set it to sizeof");
  in[0] = describe(x);
  out[0] = describe(x);
  EXPECT_STATUS(run(), WEFT_ERROR, "the memory for result 0 'y' shares memory with argument 0 'x'");
  EXPECT_STATUS(weft_executable_run(nullptr, nullptr, in, 1, out, 1), WEFT_ERROR_ARGUMENT,
                "'executable' is NULL");
  EXPECT_EQ(weight()[0], 2) << "a failed call changes nothing";
  weft_executable *none = nullptr;
  EXPECT_STATUS(weft_executable_load(package, "stop", nullptr, &none), WEFT_ERROR_PACKAGE,
                "has no function 'stop'; it has 'step'");
  EXPECT_STREQ(weft_last_error_code(), "WEFT-L007");
  EXPECT_STATUS(weft_executable_load(package, "step", "cuda:0", &none), WEFT_ERROR_DEVICE, "no CUDA backend");
  EXPECT_STATUS(weft_executable_load(package, "step", "cuda:0=cuda:1", &none), WEFT_ERROR_DEVICE, "'cuda:1'");
  EXPECT_STATUS(weft_executable_load(package, "step", "cpu=", &none), WEFT_ERROR_DEVICE, "must not be empty");
  EXPECT_STREQ(weft_last_error_code(), "WEFT-E004");
  weft_package *missing = nullptr;
  EXPECT_STATUS(weft_package_open("there-is-no.weft", nullptr, &missing), WEFT_ERROR_PACKAGE,
                "there-is-no.weft");
  EXPECT_STREQ(weft_last_error_code(), "WEFT-L001");
  EXPECT_EQ(missing, nullptr);
}

TEST_F(CApi, StateWithoutAValueMustBeSet) {
  const std::vector<std::byte> bytes = step_package(/*with_state=*/false);
  weft_package *bare = nullptr;
  weft_executable *own = nullptr;
  ASSERT_EQ(weft_package_open_memory(bytes.data(), bytes.size(), nullptr, &bare), WEFT_OK);
  ASSERT_EQ(weft_executable_load(bare, "step", nullptr, &own), WEFT_OK) << weft_last_error();
  weft_package_close(bare); // the executable keeps what it needs
  Values x = counted(1);
  weft_buffer in[] = {describe(x)}, out[] = {nothing()};
  EXPECT_STATUS(weft_executable_run(own, nullptr, in, 1, out, 1), WEFT_ERROR_PACKAGE,
                "the state 'adam.lr' has no value");
  EXPECT_STREQ(weft_last_error_code(), "WEFT-L014");
  EXPECT_EQ(weft_executable_scalar_set(own, "adam.lr", 1), WEFT_OK);
  EXPECT_EQ(weft_executable_state_set(own, "fc.weight", x.data(), 64), WEFT_OK);
  EXPECT_EQ(weft_executable_run(own, nullptr, in, 1, out, 1), WEFT_OK) << weft_last_error();
  weft_buffer_release(&out[0]);
  weft_executable_destroy(own);
  EXPECT_EQ(weft_synchronize(), WEFT_OK);
}

TEST_F(CApi, EightThreadsOneExecutable) {
  // On one stream, and on one of eight each: every step replaces the whole state, so no mixture may show.
  for (const bool several : {false, true}) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        weft_stream *stream = nullptr;
        if (several && weft_stream_create("cpu", &stream) != WEFT_OK)
          ++wrong;
        Values x(16, static_cast<float>(t + 1)), state(16), y(16);
        weft_buffer in[] = {describe(x)}, out[] = {describe(y)};
        for (int i = 0; i < 50; ++i) {
          wrong += weft_executable_run(step, stream, in, 1, out, 1) != WEFT_OK;
          wrong += weft_executable_state_get(step, "fc.weight", state.data(), 64) != WEFT_OK;
          wrong += state != Values(16, state[0]) && state[1] != 0;
          wrong += weft_stream_synchronize(stream) != WEFT_OK;
          wrong += y != Values(16, y[0]) && y[1] == 0;
        }
        weft_stream_destroy(stream);
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(wrong, 0) << weft_last_error();
  }
  EXPECT_EQ(weft_trim(), WEFT_OK);
  weft_memory_info info = {};
  info.struct_size = sizeof info;
  ASSERT_EQ(weft_memory_get(&info), WEFT_OK);
  EXPECT_EQ(info.arenas, 0u) << "trim gives the temporaries of all streams back";
}

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
  EXPECT_STATUS(weft_stream_create("cuda:0", &again), WEFT_ERROR_DEVICE, "no CUDA backend");
  for (weft_event *event : {start, end, untimed})
    weft_event_destroy(event);
  for (weft_stream *stream : others)
    weft_stream_destroy(stream);
  weft_stream_destroy(first);
  weft_stream_destroy(again);
}

/// An embedder's executor: one thread that runs what is posted, and what the embedder puts between.
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

TEST(CApiMemory, LimitsStatisticsAndCallbacks) {
  ASSERT_EQ(weft_trim(), WEFT_OK);
  weft_memory_info info = {};
  info.struct_size = sizeof info;
  ASSERT_EQ(weft_memory_get(&info), WEFT_OK);
  ASSERT_EQ(info.allocated, 0u) << "other tests leave nothing behind";
  struct Counter {
    size_t allocated = 0, freed = 0;
  } counter;
  weft_allocator allocator = {};
  allocator.struct_size = sizeof allocator;
  EXPECT_STATUS(weft_set_allocator(&allocator), WEFT_ERROR_ARGUMENT, "both functions");
  allocator.user = &counter;
  allocator.allocate = [](void *user, size_t bytes, size_t alignment) {
    static_cast<Counter *>(user)->allocated += bytes;
    return std::aligned_alloc(alignment, bytes);
  };
  allocator.free = [](void *user, void *data, size_t bytes) {
    static_cast<Counter *>(user)->freed += bytes;
    std::free(data);
  };
  ASSERT_EQ(weft_set_allocator(&allocator), WEFT_OK) << weft_last_error();
  {
    const auto buffer = Buffer::allocate(3 << 20).value_or_throw();
    EXPECT_EQ(counter.allocated, 20u << 20);
    EXPECT_STATUS(weft_set_allocator(nullptr), WEFT_ERROR_MEMORY, "cannot change while 3.00 MiB are in use");
    char *text = nullptr;
    ASSERT_EQ(weft_memory_stats_json(&text), WEFT_OK);
    EXPECT_NE(std::string(text).find("\"allocated_bytes.all.current\": 3145728"), std::string::npos) << text;
    weft_text_free(text);
    ASSERT_EQ(weft_memory_snapshot_json(&text), WEFT_OK);
    EXPECT_NE(std::string(text).find("\"active_allocated\""), std::string::npos);
    weft_text_free(text);
  }
  ASSERT_EQ(weft_memory_empty_cache(), WEFT_OK);
  EXPECT_EQ(counter.freed, counter.allocated);
  ASSERT_EQ(weft_set_allocator(nullptr), WEFT_OK);
  // A limit below what the step needs: an error before it runs, and all is well once it is gone.
  const uint64_t limit = info.limit;
  const std::vector<std::byte> bytes = step_package();
  weft_package *package = nullptr;
  weft_executable *step = nullptr;
  ASSERT_EQ(weft_package_open_memory(bytes.data(), bytes.size(), nullptr, &package), WEFT_OK);
  ASSERT_EQ(weft_executable_load(package, "step", nullptr, &step), WEFT_OK);
  ASSERT_EQ(weft_memory_get(&info), WEFT_OK);
  ASSERT_EQ(weft_memory_set_limit(info.allocated), WEFT_OK);
  Values x = counted(1), state(16);
  weft_buffer in[] = {describe(x)}, out[] = {nothing()};
  EXPECT_STATUS(weft_executable_run(step, nullptr, in, 1, out, 1), WEFT_ERROR_MEMORY, "CPU out of memory");
  EXPECT_STREQ(weft_last_error_code(), "WEFT-M001");
  EXPECT_NE(std::string(weft_last_error()).find("state 'fc.weight' of 'step'"), std::string::npos)
      << weft_last_error();
  ASSERT_EQ(weft_memory_set_limit(limit), WEFT_OK);
  ASSERT_EQ(weft_executable_state_get(step, "fc.weight", state.data(), 64), WEFT_OK);
  EXPECT_EQ(state[0], 2);
  EXPECT_EQ(weft_executable_run(step, nullptr, in, 1, out, 1), WEFT_OK) << weft_last_error();
  weft_buffer_release(&out[0]);
  weft_executable_destroy(step);
  weft_package_close(package);
  EXPECT_EQ(weft_synchronize(), WEFT_OK);
}

TEST(CApiMisc, DevicesVersionExecutorAndProfiler) {
  weft_device device = {};
  device.struct_size = sizeof device;
  ASSERT_EQ(weft_device_parse("cuda:3", &device), WEFT_OK);
  EXPECT_EQ(device.type, WEFT_CUDA);
  EXPECT_EQ(device.index, 3);
  ASSERT_EQ(weft_device_parse("cuda", &device), WEFT_OK);
  EXPECT_EQ(device.index, -1);
  for (const char *wrong :
       {"cuda:", "cuda:01", "cuda:-1", ":0", "CUDA:0 ", "cuda:0:1", "gpu", "cpu:1", "cuda:999"})
    EXPECT_EQ(weft_device_parse(wrong, &device), WEFT_ERROR_DEVICE) << wrong;
  EXPECT_STATUS(weft_device_parse("", &device), WEFT_ERROR_DEVICE, "Device string must not be empty");
  EXPECT_STATUS(weft_device_parse("cuda:01", &device), WEFT_ERROR_DEVICE, "Invalid device string: 'cuda:01'");
  int32_t count = -1;
  ASSERT_EQ(weft_device_count(WEFT_CPU, &count), WEFT_OK);
  EXPECT_EQ(count, 1);
  ASSERT_EQ(weft_device_count(WEFT_CUDA, &count), WEFT_OK);
  EXPECT_EQ(count, 0);
  EXPECT_STREQ(weft_version(), "0.1.0");
  EXPECT_EQ(weft_version_number(), 1000);

  struct Threads {
    std::atomic<int> calls{0};
  } threads;
  weft_executor executor = {};
  executor.struct_size = sizeof executor;
  executor.user = &threads;
  EXPECT_STATUS(weft_set_executor(&executor), WEFT_ERROR_ARGUMENT, "width of at least 1");
  executor.width = 2;
  executor.parallel_for = [](void *user, int64_t tasks, int64_t grain,
                             void (*run)(void *, int64_t, int64_t, int32_t), void *work) {
    ++static_cast<Threads *>(user)->calls;
    const int64_t middle = tasks / 2 / grain * grain;
    std::thread other([&] { run(work, 0, middle, 1); });
    run(work, middle, tasks, 0);
    other.join();
  };
  ASSERT_EQ(weft_set_executor(&executor), WEFT_OK);
  std::atomic<int64_t> covered{0};
  runtime::executor().parallel_for(100, 3, [&](int64_t begin, int64_t end, int) { covered += end - begin; });
  EXPECT_EQ(covered, 100);
  EXPECT_EQ(threads.calls, 1);
  ASSERT_EQ(weft_set_executor(nullptr), WEFT_OK);

  ASSERT_EQ(weft_profiler_clear(), WEFT_OK);
  ASSERT_EQ(weft_profiler_start(), WEFT_OK);
  ASSERT_EQ(weft_profiler_stop(), WEFT_OK);
  char *text = nullptr;
  ASSERT_EQ(weft_profiler_table(&text), WEFT_OK);
  EXPECT_NE(std::string(text).find("GB/s"), std::string::npos);
  weft_text_free(text);
  ASSERT_EQ(weft_profiler_chrome_trace(&text), WEFT_OK);
  EXPECT_NE(std::string(text).find("traceEvents"), std::string::npos);
  weft_text_free(text);
  EXPECT_STATUS(weft_profiler_table(nullptr), WEFT_ERROR_ARGUMENT, "is NULL");
}

// The same header and library from C11.
TEST(CApiMisc, AProgramInC) {
  const std::string path = "/tmp/weft-capi-" + std::to_string(::getpid()) + ".weft";
  const std::vector<std::byte> bytes = step_package();
  FILE *file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
  std::fclose(file);
  EXPECT_EQ(std::system((std::string(WEFT_C_PROGRAM) + " " + path).c_str()), 0);
  std::remove(path.c_str());
}

} // namespace
