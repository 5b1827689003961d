//===- CApiTest.cpp - Executables in the C interface -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApiFixture.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

/// The plan's executable, of a package without an image; null where it cannot be loaded.
weft_executable *loaded(const PlanBuilder &plan) {
  PackageWriter writer;
  plan.add_to(writer, plan.plan.function);
  const std::vector<std::byte> bytes = writer.finish().value_or_throw();
  weft_package *package = nullptr;
  if (weft_package_open_memory(bytes.data(), bytes.size(), nullptr, &package) != WEFT_OK)
    return nullptr;
  weft_executable *executable = nullptr;
  weft_executable_load(package, plan.plan.function.c_str(), nullptr, &executable);
  weft_package_close(package);
  return executable;
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
  // A program that was compiled with fewer fields gets only those.
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
  std::vector<int64_t> strides = {INT64_MAX, INT64_MIN, INT64_MAX / 3, int64_t{1} << 60};
// A sanitizer has memory nearly everywhere.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  strides.insert(strides.end(), {int64_t{1} << 40, -(int64_t{1} << 40), int64_t{1} << 35});
#endif
  for (const int64_t far : strides) {
    const int64_t wild[] = {far, 1};
    weft_buffer in[] = {describe(x, wild)}, out[] = {describe(y)};
    EXPECT_STATUS(weft_executable_run(step, nullptr, in, 1, out, 1), WEFT_ERROR_ARGUMENT,
                  "lead to addresses where the process has no memory");
    weft_buffer plain[] = {describe(x)}, far_out[] = {describe(y, wild)};
    EXPECT_STATUS(weft_executable_run(step, nullptr, plain, 1, far_out, 1), WEFT_ERROR_ARGUMENT,
                  "lead to addresses where the process has no memory");
  }
}

TEST_F(CApi, WhatHasNoNameIsCalledByItsNumber) {
  weft_package *unnamed = nullptr;
  weft_executable *function = nullptr;
  const std::vector<std::byte> bytes = step_package(true, /*x_name=*/"", /*y_name=*/"");
  ASSERT_EQ(weft_package_open_memory(bytes.data(), bytes.size(), nullptr, &unnamed), WEFT_OK);
  ASSERT_EQ(weft_executable_load(unnamed, "step", "cpu", &function), WEFT_OK) << weft_last_error();
  Values x = counted(1);
  weft_buffer in[] = {describe(x)}, out[] = {describe(x)};
  const auto run = [&] { return weft_executable_run(function, nullptr, in, 1, out, 1); };
  EXPECT_STATUS(run(), WEFT_ERROR_ARGUMENT, "'step': output 0 shares memory with input 0: an output needs");
  in[0].dtype = WEFT_F64;
  EXPECT_STATUS(run(), WEFT_ERROR_ARGUMENT, "'step': input 0 must be f32, found f64");
  in[0] = describe(x);
  in[0].rank = 1;
  EXPECT_STATUS(run(), WEFT_ERROR_ARGUMENT, "'step': input 0 must be of rank 2");
  EXPECT_EQ(std::string(weft_last_error()).find("''"), std::string::npos);
  weft_executable_destroy(function);
  weft_package_close(unnamed);
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
  EXPECT_STATUS(run(), WEFT_ERROR_ARGUMENT, "input 0 'x' must be on 'cpu', found 'cuda:0'");
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
  EXPECT_STATUS(run(), WEFT_ERROR_ARGUMENT, "'step': output 0 'y' shares memory with input 0 'x'");
  EXPECT_STATUS(weft_executable_run(nullptr, nullptr, in, 1, out, 1), WEFT_ERROR_ARGUMENT,
                "'executable' is NULL");
  EXPECT_EQ(weight()[0], 2) << "a failed call changes nothing";
  weft_executable *none = nullptr;
  EXPECT_STATUS(weft_executable_load(package, "stop", nullptr, &none), WEFT_ERROR_PACKAGE,
                "has no function 'stop'; it has 'step'");
  EXPECT_STREQ(weft_last_error_code(), "WEFT-L007");
  EXPECT_STATUS(weft_executable_load(package, "step", "cuda:97", &none), WEFT_ERROR_DEVICE, "device map: ");
  EXPECT_STREQ(weft_last_error_code(), "WEFT-E001");
  EXPECT_STATUS(weft_executable_load(package, "step", "cuda:0=cuda:97", &none), WEFT_ERROR_DEVICE,
                "'cuda:97' is not there");
  EXPECT_STATUS(weft_executable_load(package, "step", "cpu=cuda:97", &none), WEFT_ERROR_DEVICE,
                "the host stands for itself alone");
  EXPECT_STATUS(weft_executable_load(package, "step", "cuda:0=cpu,cuda=cpu", &none), WEFT_ERROR_DEVICE,
                "'cuda:0' is named twice");
  EXPECT_STATUS(weft_executable_load(package, "step", "cuda:0=cpu,cuda:1", &none), WEFT_ERROR_DEVICE,
                "expected logical=real, found 'cuda:1'");
  EXPECT_STREQ(weft_last_error_code(), "WEFT-E004");
  EXPECT_STATUS(weft_executable_load(package, "step", "cpu=", &none), WEFT_ERROR_DEVICE, "must not be empty");
  EXPECT_STREQ(weft_last_error_code(), "WEFT-E004");
  weft_package *missing = nullptr;
  EXPECT_STATUS(weft_package_open("there-is-no.weft", nullptr, &missing), WEFT_ERROR_PACKAGE,
                "there-is-no.weft");
  EXPECT_STREQ(weft_last_error_code(), "WEFT-L001");
  EXPECT_EQ(missing, nullptr);
}

TEST_F(CApi, AFailureIsThereAsData) {
  PlanBuilder b("guard");
  b.argument("fine", DType::i1, {4});
  fb::LaunchT &launch = b.require(b.buffer(fb::Storage::argument, 0, 0, 4), {4}, "all is well");
  launch.place = std::make_unique<fb::PlaceT>();
  launch.place->file = "step.cpp";
  launch.place->line = 7;
  launch.place->column = 3;
  weft_executable *guard = loaded(b);
  ASSERT_NE(guard, nullptr) << weft_last_error();
  std::array<uint8_t, 4> fine = {1, 1, 0, 0};
  const int64_t shape[] = {4};
  weft_buffer in[] = {nothing()};
  in[0].data = fine.data();
  in[0].dtype = WEFT_BOOL;
  in[0].rank = 1;
  in[0].shape = shape;
  // A call on a queue fails when somebody waits for it, one on its caller at once.
  const auto run = [&] {
    const weft_status status = weft_executable_run(guard, nullptr, in, 1, nullptr, 0);
    return status == WEFT_OK ? weft_stream_synchronize(nullptr) : status;
  };
  EXPECT_STATUS(
      run(), WEFT_ERROR,
      "call 1 of 'guard' failed: all is well (the condition is false at position 2) (at step.cpp:7:3)");
  weft_failure failure = {};
  failure.struct_size = sizeof failure;
  ASSERT_EQ(weft_last_failure(&failure), WEFT_OK);
  EXPECT_EQ(failure.check, WEFT_CHECK_CONDITION);
  EXPECT_EQ(failure.position, 2);
  EXPECT_EQ(failure.value_known, 1);
  EXPECT_EQ(failure.dimension, -1);
  EXPECT_STREQ(failure.file, "step.cpp");
  EXPECT_EQ(failure.line, 7u);
  EXPECT_EQ(failure.column, 3u);
  EXPECT_STREQ(failure.function, "guard");
  EXPECT_EQ(failure.call, 1u);
  weft_executable_destroy(guard);
  // Failures that are no checks, and errors of the caller.
  EXPECT_EQ(weft_device_parse("gpu", nullptr), WEFT_ERROR_DEVICE);
  ASSERT_EQ(weft_last_failure(&failure), WEFT_OK);
  EXPECT_EQ(failure.check, WEFT_CHECK_NONE);
  EXPECT_EQ(failure.position, -1);
  EXPECT_STREQ(failure.function, "");
  EXPECT_STATUS(weft_last_failure(nullptr), WEFT_ERROR_ARGUMENT, "'failure' is NULL");
  failure.struct_size = 3;
  EXPECT_STATUS(weft_last_failure(&failure), WEFT_ERROR_ARGUMENT, "struct_size of 'failure' is 3");
}

// step(x, fine, state w) -> y, z: y = x, then the check, then z = x and w = x.
TEST(CApiFailure, KeepsTheStateAndLeavesAnythingInTheMemoryOfOutputs) {
  PlanBuilder b("step");
  const uint32_t x = (b.argument("x", DType::f32, {4}), b.buffer(fb::Storage::argument, 0, 0, 16));
  const uint32_t fine = (b.argument("fine", DType::i1, {4}), b.buffer(fb::Storage::argument, 1, 0, 4));
  const uint32_t w = (b.argument("w", DType::f32, {4}, true), b.buffer(fb::Storage::argument, 2, 0, 16));
  b.plan.arguments[2]->role = fb::Role::state;
  const auto copy_to = [&](uint32_t destination) -> fb::LaunchT & {
    fb::CopyLaunchT copy;
    copy.source = x;
    copy.destination = destination;
    fb::LaunchT &launch = b.launch("copy");
    launch.op.Set(copy);
    return launch;
  };
  b.result("y", DType::f32, {4});
  b.result("z", DType::f32, {4});
  b.result("w", DType::f32, {4}, /*tied_to=*/2);
  copy_to(b.buffer(fb::Storage::result, 0, 0, 16));
  b.require(fine, {4}, "all is well");
  copy_to(b.buffer(fb::Storage::result, 1, 0, 16));
  PlanBuilder::predicated(copy_to(w));
  weft_executable *step = loaded(b);
  ASSERT_NE(step, nullptr) << weft_last_error();
  const Values kept = {7, 8, 9, 10}, given = {1, 2, 3, 4}, untouched(4, -1);
  ASSERT_EQ(weft_executable_state_set(step, "w", kept.data(), 16), WEFT_OK) << weft_last_error();

  const int64_t shape[] = {4}, strides[] = {2};
  Values values = given, y(4, -1), z(8, -1);
  std::array<uint8_t, 4> condition = {1, 1, 0, 1};
  weft_buffer in[] = {describe(values), nothing()}, out[] = {describe(y), describe(z, strides)};
  for (weft_buffer *buffer : {&in[0], &in[1], &out[0], &out[1]}) {
    buffer->rank = 1;
    buffer->shape = shape;
  }
  in[1].data = condition.data();
  in[1].dtype = WEFT_BOOL;
  const auto run = [&] {
    const weft_status status = weft_executable_run(step, nullptr, in, 2, out, 2);
    return status == WEFT_OK ? weft_stream_synchronize(nullptr) : status;
  };
  const auto state = [&] {
    Values found(4);
    EXPECT_EQ(weft_executable_state_get(step, "w", found.data(), 16), WEFT_OK) << weft_last_error();
    return found;
  };
  const auto between = [&] { return Values{z[1], z[3], z[5], z[7]}; };
  EXPECT_STATUS(run(), WEFT_ERROR, "all is well");
  // The content of the outputs is not defined now, since y was written before the check.
  EXPECT_EQ(state(), kept);
  EXPECT_EQ(values, given);
  EXPECT_EQ(between(), untouched) << "what is no element of an output";
  condition.fill(1);
  ASSERT_EQ(run(), WEFT_OK) << weft_last_error();
  EXPECT_EQ(state(), given);
  EXPECT_EQ(y, given);
  EXPECT_EQ((Values{z[0], z[2], z[4], z[6]}), given);
  EXPECT_EQ(between(), untouched);
  // A call that is refused before it runs writes nothing at all.
  in[0].dtype = WEFT_F64;
  y = untouched;
  EXPECT_STATUS(run(), WEFT_ERROR_ARGUMENT, "must be f32");
  EXPECT_EQ(y, untouched);
  weft_executable_destroy(step);
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

} // namespace
