//===- CApiStridesTest.cpp - Memory with strides in the C interface -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApiFixture.h"

#include "runtime/memory/Overlap.h"

#include <array>
#include <cstring>
#include <set>

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

// The plan copies the first 64 bytes of its argument's memory, so the result shows which memory was passed.
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

/// twice(x) -> y, z: two copies of x, which has four elements.
struct TwoOutputs {
  TwoOutputs() {
    PlanBuilder b("twice");
    b.argument("x", DType::f32, {4});
    for (uint32_t i = 0; i < 2; ++i) {
      b.result(i ? "z" : "y", DType::f32, {4});
      fb::CopyLaunchT copy;
      copy.source = b.buffer(fb::Storage::argument, 0, 0, 16);
      copy.destination = b.buffer(fb::Storage::result, i, 0, 16);
      b.launch("copy").op.Set(std::move(copy));
    }
    PackageWriter writer;
    b.add_to(writer, "twice");
    const std::vector<std::byte> bytes = writer.finish().value_or_throw();
    weft_package *package = nullptr;
    EXPECT_EQ(weft_package_open_memory(bytes.data(), bytes.size(), nullptr, &package), WEFT_OK);
    EXPECT_EQ(weft_executable_load(package, "twice", "cpu", &twice), WEFT_OK) << weft_last_error();
    weft_package_close(package);
  }
  ~TwoOutputs() { weft_executable_destroy(twice); }

  /// Four floats at `first`, `stride` elements from each other.
  struct Four {
    void *first;
    int64_t stride;
  };
  weft_status run(Four x, Four y, Four z) const {
    static const int64_t shape[] = {4};
    weft_buffer buffers[3];
    const Four *given[] = {&x, &y, &z};
    for (size_t i = 0; i < 3; ++i) {
      buffers[i] = nothing();
      buffers[i].data = given[i]->first;
      buffers[i].dtype = WEFT_F32;
      buffers[i].rank = 1;
      buffers[i].shape = shape;
      buffers[i].strides = &given[i]->stride;
    }
    const weft_status status = weft_executable_run(twice, nullptr, buffers, 1, buffers + 1, 2);
    return status == WEFT_OK ? weft_stream_synchronize(nullptr) : status;
  }
  weft_executable *twice = nullptr;
};

TEST(CApiSharing, AnOutputMayShareNoByteWithAnythingElse) {
  const TwoOutputs made;
  Values a(32), b(32), c(32);
  for (size_t i = 0; i < 4; ++i)
    a[i] = a[7 * i] = static_cast<float>(i);
  const Values a_before = a;
  char *const odd = reinterpret_cast<char *>(&b[8]) + 1;
  const struct {
    TwoOutputs::Four x, y, z;
    const char *text;
  } calls[] = {
      {{&a[0], 1}, {&a[0], 1}, {&c[0], 1}, "'twice': output 0 'y' shares memory with input 0 'x'"},
      {{&a[0], 1}, {&a[3], 7}, {&c[0], 1}, "'twice': output 0 'y' shares memory with input 0 'x'"},
      {{&a[0], 1}, {&b[0], 1}, {&a[9], -3}, "'twice': output 1 'z' shares memory with input 0 'x'"},
      {{&a[0], 7}, {&a[4], 1}, {&c[0], 1}, "'twice': output 0 'y' shares memory with input 0 'x'"},
      {{&a[0], 1}, {&b[0], 2}, {&b[3], 3}, "'twice': output 0 'y' shares memory with output 1 'z'"},
      {{&a[0], 1}, {&b[9], -3}, {&b[0], 2}, "'twice': output 0 'y' shares memory with output 1 'z'"},
      {{&a[0], 1}, {&b[0], 2}, {&b[2], 1}, "'twice': output 0 'y' shares memory with output 1 'z'"},
      {{&a[0], 1}, {&b[0], 1}, {&b[3], 1}, "'twice': output 0 'y' shares memory with output 1 'z'"},
      {{&a[0], 1}, {&b[8], 1}, {odd, 5}, "'twice': output 0 'y' shares memory with output 1 'z'"},
  };
  for (const auto &call : calls)
    EXPECT_STATUS(made.run(call.x, call.y, call.z), WEFT_ERROR_ARGUMENT, call.text);
  EXPECT_EQ(a, a_before) << "a call that is refused writes nothing";
  EXPECT_EQ(b, Values(32));
  EXPECT_EQ(c, Values(32));
}

TEST(CApiSharing, InterleavedOutputsAreWritten) {
  const TwoOutputs made;
  Values x = {1, 2, 3, 4}, b(32);
  // Every second element, and those between them; then between those of the input, from the other end.
  ASSERT_EQ(made.run({&x[0], 1}, {&b[0], 2}, {&b[1], 2}), WEFT_OK) << weft_last_error();
  EXPECT_EQ(Values(b.begin(), b.begin() + 8), (Values{1, 1, 2, 2, 3, 3, 4, 4}));
  ASSERT_EQ(made.run({&b[0], 2}, {&b[7], -2}, {&b[8], 1}), WEFT_OK) << weft_last_error();
  EXPECT_EQ(Values(b.begin(), b.begin() + 12), (Values{1, 4, 2, 3, 3, 2, 4, 1, 1, 2, 3, 4}));
  // Side by side.
  ASSERT_EQ(made.run({&x[0], 1}, {&b[0], 1}, {&b[4], 1}), WEFT_OK) << weft_last_error();
}

// Every layout of four elements against the set of bytes that it has.
TEST(Overlap, OfMemoryIsThatOfItsBytes) {
  const int64_t shape[] = {2, 2};
  std::vector<StridedMemory> all;
  static const int64_t choices[] = {-3, -1, 1, 2, 5};
  std::vector<std::array<int64_t, 2>> strides;
  for (const int64_t first : choices)
    for (const int64_t second : choices)
      strides.push_back({first, second});
  char *const base = reinterpret_cast<char *>(uintptr_t{1} << 20);
  for (const auto &both : strides)
    for (const size_t itemsize : {1, 2, 8})
      for (const int offset : {0, 3, 8})
        all.push_back({base + offset, shape, both, itemsize});
  const auto bytes_of = [](const StridedMemory &memory) {
    std::set<int64_t> bytes;
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 2; ++j)
        for (int64_t k = 0; k < static_cast<int64_t>(memory.itemsize); ++k)
          bytes.insert(static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory.data)) + k +
                       (i * memory.strides[0] + j * memory.strides[1]) *
                           static_cast<int64_t>(memory.itemsize));
    return bytes;
  };
  std::vector<std::set<int64_t>> sets;
  for (const StridedMemory &memory : all)
    sets.push_back(bytes_of(memory));
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      bool share = false;
      for (const int64_t byte : sets[i])
        share = share || sets[j].contains(byte);
      ASSERT_EQ(areDisjoint(all[i], all[j]), !share) << i << ", " << j;
    }
}

} // namespace
