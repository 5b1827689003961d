//===- CApiFixture.h - What the tests of the C interface share -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RUNTIME_CAPIFIXTURE_H
#define WEFT_TEST_RUNTIME_CAPIFIXTURE_H

#include "PlanFixture.h"

#include "runtime/plan/State.h"
#include "weft/weft.h"

#include <string>

namespace weft::runtime::test {

using Values = std::vector<float>;

/// step(x, state w, scalar lr) -> y = x * w, then w = x; all but lr are f32[4,4]. The package keeps w and lr.
inline std::vector<std::byte> step_package(bool with_state = true, const char *x_name = "x",
                                           const char *y_name = "y") {
  PlanBuilder b("step");
  b.argument(x_name, DType::f32, {4, 4});
  b.argument("fc.weight", DType::f32, {4, 4}, /*donated=*/true);
  b.argument("adam.lr", DType::f64, {});
  b.plan.arguments[1]->role = fb::Role::state;
  b.plan.arguments[2]->role = fb::Role::scalar;
  b.result(y_name, DType::f32, {4, 4});
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
  PlanBuilder::predicated(b.launch("copy")).op.Set(copy);
  PackageWriter writer;
  b.add_to(writer, "step");
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

inline Values counted(float first) {
  Values values(16);
  for (size_t i = 0; i < 16; ++i)
    values[i] = first + static_cast<float>(i);
  return values;
}

inline constexpr int64_t shape44[] = {4, 4};

inline weft_buffer describe(Values &values, const int64_t *strides = nullptr) {
  weft_buffer buffer = {};
  buffer.struct_size = sizeof buffer;
  buffer.data = values.data();
  buffer.dtype = WEFT_F32;
  buffer.rank = 2;
  buffer.shape = shape44;
  buffer.strides = strides;
  return buffer;
}

inline weft_buffer nothing() {
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

inline Values scaled(Values values, float by) {
  for (float &value : values)
    value *= by;
  return values;
}

} // namespace weft::runtime::test

#endif // WEFT_TEST_RUNTIME_CAPIFIXTURE_H
