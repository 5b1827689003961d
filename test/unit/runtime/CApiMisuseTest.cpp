//===- CApiMisuseTest.cpp - The C interface, called as it should not be ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApiFixture.h"

#include <atomic>
#include <string>
#include <thread>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

/// copy(x: f32[2,3]) -> y, and w: f32[2,3] of the state.
std::vector<std::byte> copy_package() {
  PlanBuilder b("copy");
  b.argument("x", DType::f32, {2, 3});
  b.argument("w", DType::f32, {2, 3}, /*donated=*/true);
  b.plan.arguments[1]->role = fb::Role::state;
  b.result("y", DType::f32, {2, 3});
  b.result("w", DType::f32, {2, 3}, /*tied_to=*/1);
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, 24), w = b.buffer(fb::Storage::argument, 1, 0, 24),
                 y = b.buffer(fb::Storage::result, 0, 0, 24);
  for (const uint32_t to : {y, w}) {
    fb::CopyLaunchT copy;
    copy.source = x;
    copy.destination = to;
    fb::LaunchT &launch = b.launch("copy");
    launch.op.Set(copy);
    if (to == w)
      PlanBuilder::predicated(launch);
  }
  PackageWriter writer;
  b.add_to(writer, "copy");
  return writer.finish().value_or_throw();
}

struct CApiMisuse : testing::Test {
  void SetUp() override {
    const std::vector<std::byte> bytes = copy_package();
    ASSERT_EQ(weft_package_open_memory(bytes.data(), bytes.size(), nullptr, &package), WEFT_OK);
    ASSERT_EQ(weft_executable_load(package, "copy", nullptr, &copy), WEFT_OK) << weft_last_error();
    const float zeros[6] = {};
    ASSERT_EQ(weft_executable_state_set(copy, "w", zeros, sizeof zeros), WEFT_OK) << weft_last_error();
  }
  void TearDown() override {
    works();
    weft_executable_destroy(copy);
    weft_package_close(package);
  }
  weft_buffer input() {
    weft_buffer buffer = {};
    buffer.struct_size = sizeof buffer;
    buffer.data = values;
    buffer.dtype = WEFT_F32;
    buffer.rank = 2;
    buffer.shape = shape;
    return buffer;
  }
  /// The executable still works after the error.
  void works() {
    weft_buffer in[] = {input()}, out[] = {nothing()};
    ASSERT_EQ(weft_executable_run(copy, nullptr, in, 1, out, 1), WEFT_OK) << weft_last_error();
    ASSERT_EQ(weft_buffer_wait(&out[0]), WEFT_OK);
    EXPECT_EQ(static_cast<float *>(out[0].data)[4], 5);
    weft_buffer_release(&out[0]);
  }
  float values[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {2, 3};
  weft_package *package = nullptr;
  weft_executable *copy = nullptr;
};

#define REFUSED(call)                                                                                        \
  do {                                                                                                       \
    EXPECT_EQ(call, WEFT_ERROR_ARGUMENT) << #call << ": " << weft_last_error();                              \
    EXPECT_NE(std::string(weft_last_error()), "") << #call;                                                  \
  } while (false)

TEST_F(CApiMisuse, NullIsRefusedEverywhere) {
  size_t count = 0;
  const char *name = nullptr;
  int32_t flag = 0;
  double milliseconds = 0;
  float number = 0;
  weft_tensor_info info = {};
  info.struct_size = sizeof info;
  weft_device device = {};
  device.struct_size = sizeof device;
  weft_package *made = nullptr;
  weft_executable *loaded = nullptr;
  weft_event *event = nullptr;
  ASSERT_EQ(weft_event_create(1, &event), WEFT_OK);

  REFUSED(weft_device_parse(nullptr, &device));
  REFUSED(weft_device_parse("cpu", nullptr));
  REFUSED(weft_device_count(WEFT_CPU, nullptr));
  REFUSED(weft_device_count(static_cast<weft_device_type>(7), &flag));
  REFUSED(weft_buffer_wait(nullptr));
  REFUSED(weft_package_open(nullptr, nullptr, &made));
  REFUSED(weft_package_open("a.weft", nullptr, nullptr));
  REFUSED(weft_package_open_memory(nullptr, 10, nullptr, &made));
  REFUSED(weft_package_open_memory("x", 1, nullptr, nullptr));
  REFUSED(weft_package_function_count(nullptr, &count));
  REFUSED(weft_package_function_count(package, nullptr));
  REFUSED(weft_package_function_name(nullptr, 0, &name));
  REFUSED(weft_package_function_name(package, 0, nullptr));
  REFUSED(weft_package_function_name(package, SIZE_MAX, &name));
  REFUSED(weft_package_argument_count(nullptr, "copy", &count));
  REFUSED(weft_package_argument_count(package, nullptr, &count));
  REFUSED(weft_package_argument_count(package, "copy", nullptr));
  REFUSED(weft_package_argument(nullptr, "copy", 0, &info));
  REFUSED(weft_package_argument(package, nullptr, 0, &info));
  REFUSED(weft_package_argument(package, "copy", 0, nullptr));
  REFUSED(weft_package_argument(package, "copy", SIZE_MAX, &info));
  REFUSED(weft_package_result_count(nullptr, "copy", &count));
  REFUSED(weft_package_result_count(package, "copy", nullptr));
  REFUSED(weft_package_result(nullptr, "copy", 0, &info));
  REFUSED(weft_package_result(package, "copy", 0, nullptr));
  REFUSED(weft_package_result(package, "copy", 2, &info));
  REFUSED(weft_stream_create("cpu", nullptr));
  weft_stream *stream = nullptr;
  REFUSED(weft_stream_create_external(nullptr, nullptr, &stream));
  REFUSED(weft_stream_create_native("cpu", nullptr, nullptr));
  REFUSED(weft_stream_create_native("cpu", nullptr, &stream));
  REFUSED(weft_stream_query(nullptr, nullptr));
  REFUSED(weft_stream_wait_event(nullptr, nullptr));
  REFUSED(weft_event_create(0, nullptr));
  REFUSED(weft_event_record(nullptr, nullptr));
  REFUSED(weft_event_synchronize(nullptr));
  REFUSED(weft_event_query(nullptr, &flag));
  REFUSED(weft_event_query(event, nullptr));
  REFUSED(weft_event_elapsed_ms(nullptr, event, &milliseconds));
  REFUSED(weft_event_elapsed_ms(event, nullptr, &milliseconds));
  REFUSED(weft_event_elapsed_ms(event, event, nullptr));
  REFUSED(weft_executable_load(nullptr, "copy", nullptr, &loaded));
  REFUSED(weft_executable_load(package, nullptr, nullptr, &loaded));
  REFUSED(weft_executable_load(package, "copy", nullptr, nullptr));
  REFUSED(weft_executable_input_count(nullptr, &count));
  REFUSED(weft_executable_input_count(copy, nullptr));
  REFUSED(weft_executable_input(nullptr, 0, &info));
  REFUSED(weft_executable_input(copy, 0, nullptr));
  REFUSED(weft_executable_input(copy, 1, &info));
  REFUSED(weft_executable_output_count(nullptr, &count));
  REFUSED(weft_executable_output_count(copy, nullptr));
  REFUSED(weft_executable_output(nullptr, 0, &info));
  REFUSED(weft_executable_output(copy, 0, nullptr));
  REFUSED(weft_executable_output(copy, 1, &info));
  REFUSED(weft_executable_state_count(nullptr, &count));
  REFUSED(weft_executable_state_count(copy, nullptr));
  REFUSED(weft_executable_state(nullptr, 0, &info));
  REFUSED(weft_executable_state(copy, 0, nullptr));
  REFUSED(weft_executable_state(copy, 1, &info));
  REFUSED(weft_executable_state_get(nullptr, "w", &number, 4));
  REFUSED(weft_executable_state_get(copy, nullptr, &number, 4));
  REFUSED(weft_executable_state_get(copy, "w", nullptr, 24));
  REFUSED(weft_executable_state_set(nullptr, "w", &number, 4));
  REFUSED(weft_executable_state_set(copy, nullptr, &number, 4));
  REFUSED(weft_executable_state_set(copy, "w", nullptr, 24));
  REFUSED(weft_executable_scalar_set(nullptr, "w", 1));
  REFUSED(weft_executable_scalar_set(copy, nullptr, 1));
  REFUSED(weft_memory_get(nullptr));
  REFUSED(weft_memory_stats_json(nullptr));
  REFUSED(weft_memory_snapshot_json(nullptr));
  REFUSED(weft_profiler_table(nullptr));
  REFUSED(weft_profiler_chrome_trace(nullptr));
  weft_buffer in[] = {input()}, out[] = {nothing()};
  REFUSED(weft_executable_run(nullptr, nullptr, in, 1, out, 1));
  REFUSED(weft_executable_run(copy, nullptr, nullptr, 1, out, 1));
  REFUSED(weft_executable_run(copy, nullptr, in, 1, nullptr, 1));
  REFUSED(weft_executable_run(copy, nullptr, in, 0, out, 1));
  REFUSED(weft_executable_run(copy, nullptr, in, 1, out, 0));
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(loaded, nullptr);
  weft_event_destroy(event);
}

TEST_F(CApiMisuse, GivingBackNothingDoesNothing) {
  weft_text_free(nullptr);
  weft_package_close(nullptr);
  weft_executable_destroy(nullptr);
  weft_stream_destroy(nullptr);
  weft_event_destroy(nullptr);
  weft_buffer_release(nullptr);
  EXPECT_EQ(weft_stream_synchronize(nullptr), WEFT_OK);
  // A released buffer is empty, so that releasing it again does nothing.
  weft_buffer in[] = {input()}, out[] = {nothing()};
  ASSERT_EQ(weft_executable_run(copy, nullptr, in, 1, out, 1), WEFT_OK) << weft_last_error();
  for (int i = 0; i < 3; ++i) {
    weft_buffer_release(&out[0]);
    EXPECT_EQ(out[0].data, nullptr);
    EXPECT_EQ(out[0].owner, nullptr);
  }
  // Memory of the caller's is not touched.
  weft_buffer own = input();
  weft_buffer_release(&own);
  EXPECT_EQ(own.data, values);
}

TEST_F(CApiMisuse, RanksShapesAndTypesThatCannotBe) {
  const auto refused = [&](const char *part, auto change) {
    weft_buffer in[] = {input()}, out[] = {nothing()};
    change(in[0]);
    REFUSED(weft_executable_run(copy, nullptr, in, 1, out, 1));
    EXPECT_NE(std::string(weft_last_error()).find(part), std::string::npos) << weft_last_error();
    EXPECT_EQ(out[0].data, nullptr);
  };
  static int64_t negative[] = {-2, -3}, huge[] = {int64_t(1) << 62, 8}, other[] = {3, 2};
  static int64_t steps[] = {INT64_MAX, INT64_MIN};
  refused("rank", [](weft_buffer &b) { b.rank = -1; });
  refused("rank", [](weft_buffer &b) { b.rank = INT32_MAX; });
  refused("rank", [](weft_buffer &b) { b.rank = 0; });
  refused("shape", [](weft_buffer &b) { b.shape = nullptr; });
  refused("shape", [](weft_buffer &b) { b.shape = negative; });
  refused("shape", [](weft_buffer &b) { b.shape = huge; });
  refused("shape", [](weft_buffer &b) { b.shape = other; });
  refused("stride", [](weft_buffer &b) { b.strides = steps; });
  refused("f32", [](weft_buffer &b) { b.dtype = static_cast<weft_dtype>(77); });
  refused("f32", [](weft_buffer &b) { b.dtype = WEFT_I32; });
  refused("data", [](weft_buffer &b) { b.data = nullptr; });
  refused("sizeof", [](weft_buffer &b) { b.struct_size = 3; });
}

// Each thread has its own last error, and all share one executable, one package and the memory.
TEST_F(CApiMisuse, ManyThreadsMakeMistakes) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      const std::string name = "nothing" + std::to_string(t);
      for (int i = 0; i < 40; ++i) {
        weft_executable *loaded = nullptr;
        wrong += weft_executable_load(package, name.c_str(), nullptr, &loaded) != WEFT_ERROR_PACKAGE;
        wrong += std::string(weft_last_error()).find(name) == std::string::npos;
        weft_buffer in[] = {input()}, out[] = {nothing()};
        if (i % 2)
          in[0].rank = 1;
        wrong += (weft_executable_run(copy, nullptr, in, 1, out, 1) == WEFT_OK) != (i % 2 == 0);
        wrong += i % 2 && std::string(weft_last_error()).find("rank") == std::string::npos;
        weft_buffer_release(&out[0]);
        wrong += weft_executable_load(package, "copy", nullptr, &loaded) != WEFT_OK;
        weft_executable_destroy(loaded);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(weft_synchronize(), WEFT_OK);
}

} // namespace
