//===- CApiStridesTest.cpp - Memory with strides in the C interface -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApiFixture.h"

#include <cstring>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

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

/// copy(x) -> y: the first elements of the memory of x, which has these strides, as many as y has.
std::vector<std::byte> strided_package(std::vector<int64_t> strides, std::vector<int64_t> shape) {
  int64_t bytes = sizeof(float);
  for (int64_t extent : shape)
    bytes *= extent;
  PlanBuilder b("copy");
  b.argument("x", DType::f32, {4, 4});
  b.plan.arguments[0]->strides = std::move(strides);
  b.result("y", DType::f32, std::move(shape));
  fb::CopyLaunchT copy;
  copy.source = b.buffer(fb::Storage::argument, 0, 0, bytes);
  copy.destination = b.buffer(fb::Storage::result, 0, 0, bytes);
  b.launch("copy").op.Set(std::move(copy));
  PackageWriter writer;
  b.add_to(writer, "copy");
  return writer.finish().value_or_throw();
}

struct Strided {
  explicit Strided(std::vector<int64_t> strides, std::vector<int64_t> result = {4, 4}) {
    const std::vector<std::byte> bytes = strided_package(std::move(strides), std::move(result));
    EXPECT_EQ(weft_package_open_memory(bytes.data(), bytes.size(), nullptr, &package), WEFT_OK);
    EXPECT_EQ(weft_executable_load(package, "copy", "cpu", &copy), WEFT_OK) << weft_last_error();
  }
  ~Strided() {
    weft_executable_destroy(copy);
    weft_package_close(package);
  }
  weft_package *package = nullptr;
  weft_executable *copy = nullptr;
};

// The plan copies the first 64 bytes of the memory that it is given, which shows what that was.
TEST(CApiStrides, AnInputOfTheSignaturesStridesIsReadInPlace) {
  Strided made({1, 6});
  weft_tensor_info info = {};
  info.struct_size = sizeof info;
  ASSERT_EQ(weft_executable_input(made.copy, 0, &info), WEFT_OK);
  ASSERT_NE(info.strides, nullptr);
  EXPECT_EQ(info.strides[1], 6);
  EXPECT_EQ(info.bytes, 22 * sizeof(float)) << "from the first element to the last";
  Values x(22), y(16);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i);
  const int64_t strides[] = {1, 6};
  weft_buffer in[] = {describe(x, strides)}, out[] = {describe(y)};
  ASSERT_EQ(weft_executable_run(made.copy, nullptr, in, 1, out, 1), WEFT_OK) << weft_last_error();
  EXPECT_STREQ(weft_executable_note(), "");
  ASSERT_EQ(weft_stream_synchronize(nullptr), WEFT_OK);
  EXPECT_EQ(y, Values(x.begin(), x.begin() + 16));
}

TEST(CApiStrides, AnInputOfOtherStridesIsCopiedToThem) {
  Strided made({1, 4});
  Values x = counted(0), y(16), wide(22);
  weft_buffer in[] = {describe(x)}, out[] = {describe(y)};
  ASSERT_EQ(weft_executable_run(made.copy, nullptr, in, 1, out, 1), WEFT_OK) << weft_last_error();
  EXPECT_STREQ(weft_executable_note(),
               "WEFT-D013: 'copy': input 0 'x' is row-major, and the function was compiled "
               "for the strides [1, 4]: 64 bytes were copied\n");
  ASSERT_EQ(weft_stream_synchronize(nullptr), WEFT_OK);
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j)
      EXPECT_EQ(y[4 * j + i], x[4 * i + j]);
  const int64_t rows[] = {6, 1};
  for (size_t i = 0; i < wide.size(); ++i)
    wide[i] = static_cast<float>(i);
  in[0] = describe(wide, rows);
  ASSERT_EQ(weft_executable_run(made.copy, nullptr, in, 1, out, 1), WEFT_OK) << weft_last_error();
  ASSERT_EQ(weft_stream_synchronize(nullptr), WEFT_OK);
  EXPECT_EQ(y[4 * 2 + 3], wide[6 * 3 + 2]);
}

TEST(CApiStrides, WhatIsCompiledForRepeatedElementsTakesNothingElse) {
  Strided made({0, 1}, {4});
  Values x = counted(0);
  weft_buffer in[] = {describe(x)}, out[] = {nothing()};
  EXPECT_STATUS(weft_executable_run(made.copy, nullptr, in, 1, out, 1), WEFT_ERROR_ARGUMENT,
                "compiled for the strides [0, 1], which repeat elements");
}

} // namespace
