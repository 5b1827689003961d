//===- SortKernelTest.cpp - Sorts on GPUs ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of sorts, compiled by NVRTC, on the engine that runs PTX (docs/cudasim.md), in race mode and in two
// orders of blocks and warps. Their results are those of comparisons of elements and then of places, bit for
// bit.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/CudaCompiler.h"
#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/sorts/PrintSort.h"
#include "test/cudasim/engine/Engine.h"
#include "test/unit/codegen/Elements.h"

#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>

namespace weft::testing {
namespace {

using codegen::CudaSort;

mlir::Type typeOf(mlir::MLIRContext &context, DType dtype) {
  mlir::Builder builder(&context);
  switch (dtype) {
  case DType::f16:
    return builder.getF16Type();
  case DType::bf16:
    return builder.getBF16Type();
  case DType::f32:
    return builder.getF32Type();
  case DType::f64:
    return builder.getF64Type();
  case DType::i1:
    return builder.getI1Type();
  default:
    return builder.getIntegerType(static_cast<unsigned>(8 * itemsize(dtype)));
  }
}

/// The sort of rows of this length.
CudaSort describe(DType dtype, int64_t extent, int64_t count, bool descending) {
  mlir::MLIRContext context;
  const auto block = ir::blockSort(typeOf(context, dtype), extent, count);
  EXPECT_TRUE(block) << extent;
  return {dtype, count, descending, *block};
}

/// Few different elements, so that many are equal; of reals also NaN, infinities and zeros of both signs.
Elements someElements(DType dtype, size_t count, std::mt19937 &random) {
  Elements made(dtype, count);
  for (size_t i = 0; i < count; ++i) {
    const auto at = static_cast<int64_t>(i);
    const uint32_t kind = random() % 16;
    if (is_floating_point(dtype)) {
      constexpr double most = std::numeric_limits<double>::infinity();
      const double special[] = {0.0, -0.0, most, -most, std::nan(""), -std::nan("")};
      made.putReal(at, kind < 6 ? special[kind] : static_cast<double>(random() % 201) - 100);
      continue;
    }
    uint64_t bits = dtype == DType::i1 ? kind % 2 : kind < 12 ? random() % 50 - 25 : random();
    if (kind == 15 && dtype != DType::i1)
      bits = uint64_t(1) << (8 * itemsize(dtype) - 1); // the least number, of those with a sign
    std::memcpy(made.bytes.data() + i * itemsize(dtype), &bits, itemsize(dtype));
  }
  return made;
}

/// Whether element `a` comes before `b` of another value.
bool isBefore(const Elements &x, int64_t a, int64_t b, bool descending) {
  if (is_floating_point(x.dtype)) {
    double first = x.real(a), second = x.real(b);
    if (descending)
      std::swap(first, second);
    return first < second || (std::isnan(second) && !std::isnan(first));
  }
  const auto number = [&](int64_t at) -> int64_t {
    switch (x.dtype) {
    case DType::i8:
      return x.get<int8_t>(at);
    case DType::i16:
      return x.get<int16_t>(at);
    case DType::i32:
      return x.get<int32_t>(at);
    case DType::i64:
      return x.get<int64_t>(at);
    default:
      return x.get<uint8_t>(at);
    }
  };
  return descending ? number(b) < number(a) : number(a) < number(b);
}

struct Sorted {
  std::vector<std::byte> values;
  std::vector<int64_t> indices;
};

Sorted expectedOf(const CudaSort &sort, const Elements &source, int64_t rows) {
  Sorted made;
  const size_t item = itemsize(sort.dtype);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t begin = row * sort.block.extent;
    std::vector<int64_t> places(static_cast<size_t>(sort.block.extent));
    std::iota(places.begin(), places.end(), 0);
    std::ranges::sort(places, [&](int64_t a, int64_t b) {
      const bool isFirst = isBefore(source, begin + a, begin + b, sort.descending);
      return isFirst || (!isBefore(source, begin + b, begin + a, sort.descending) && a < b);
    });
    for (int64_t i = 0; i < sort.count; ++i) {
      const int64_t place = places[static_cast<size_t>(i)];
      const std::byte *at = source.bytes.data() + static_cast<size_t>(begin + place) * item;
      made.values.insert(made.values.end(), at, at + item);
      made.indices.push_back(place);
    }
  }
  return made;
}

/// Runs a kernel, and compares its results.
void expectSorted(const CudaSort &sort, const codegen::CudaKernel &kernel, int64_t rows,
                  std::mt19937 &random) {
  auto parsed = cudasim::Module::parse(kernel.ptx);
  ASSERT_TRUE(parsed) << parsed.error.str();
  const Elements source = someElements(sort.dtype, static_cast<size_t>(rows * sort.block.extent), random);
  const Sorted expected = expectedOf(sort, source, rows);
  for (cudasim::Order order : {cudasim::Order::forward, cudasim::Order::shuffled}) {
    cudasim::Memory memory;
    ASSERT_TRUE(parsed.module->load(memory));
    const size_t indexBytes = expected.indices.size() * sizeof(int64_t);
    uint64_t parameters[] = {memory.allocate(source.bytes.size()), memory.allocate(expected.values.size()),
                             memory.allocate(indexBytes), static_cast<uint64_t>(rows)};
    std::memcpy(memory.host(parameters[0], source.bytes.size()), source.bytes.data(), source.bytes.size());
    cudasim::LaunchOptions options;
    options.grid = {static_cast<uint32_t>((rows + sort.block.rows - 1) / sort.block.rows)};
    options.block = {static_cast<uint32_t>(sort.block.threads())};
    options.order = order;
    options.seed = 7;
    options.race = true;
    const auto ran =
        cudasim::launch(*parsed.module, "weft_kernel", memory, options, std::as_bytes(std::span(parameters)));
    ASSERT_TRUE(ran.ok()) << ran.fault->str() << "\n" << sort.str();
    EXPECT_EQ(std::memcmp(memory.host(parameters[1], expected.values.size()), expected.values.data(),
                          expected.values.size()),
              0)
        << sort.str();
    EXPECT_EQ(std::memcmp(memory.host(parameters[2], indexBytes), expected.indices.data(), indexBytes), 0)
        << sort.str();
  }
}

class SortKernels : public ::testing::TestWithParam<DType> {
protected:
  void SetUp() override {
    if (!codegen::Nvrtc::get())
      GTEST_SKIP() << codegen::Nvrtc::get().status().message();
  }
  static std::optional<codegen::CudaKernel> compile(const CudaSort &sort, const char *target) {
    auto compiler = codegen::CudaTextCompiler::make(target);
    auto object = compiler->compile(codegen::printSort(sort), "sort", nullptr);
    if (!object) {
      ADD_FAILURE() << object.status().message() << "\n" << codegen::printSort(sort);
      return {};
    }
    auto kernel = codegen::CudaKernel::deserialize(*object);
    EXPECT_EQ(kernel->resources.spillStoreBytes + kernel->resources.spillLoadBytes, 0u)
        << target << ": " << sort.str();
    EXPECT_EQ(kernel->threads, sort.block.threads());
    return *kernel;
  }
  std::mt19937 random{static_cast<unsigned>(GetParam())};
};

/// On either side of each decision of the schedule.
TEST_P(SortKernels, GiveTheResultOfAStableSort) {
  const struct {
    int64_t extent, count, rows;
  } shapes[] = {{1, 1, 130},   {2, 1, 65},  {7, 7, 40},    {32, 32, 5},    {33, 20, 5},
                {128, 128, 3}, {129, 1, 2}, {500, 500, 2}, {1024, 100, 1}, {2049, 2049, 1}};
  unsigned number = 0;
  for (const auto &[extent, count, rows] : shapes) {
    const CudaSort sort = describe(GetParam(), extent, count, ++number % 2 == 0);
    const char *const targets[] = {"sm_90", "sm_80", "sm_100", "sm_75"};
    if (const auto kernel = compile(sort, targets[number % 4]))
      expectSorted(sort, *kernel, rows, random);
  }
}

/// The longest rows fit the registers of a block on every target.
TEST_P(SortKernels, HoldRowsOfAnyLengthInRegisters) {
  const int64_t most = itemsize(GetParam()) <= 2 ? 16384 : 8192;
  mlir::MLIRContext context;
  EXPECT_FALSE(ir::blockSort(typeOf(context, GetParam()), most + 1, 1));
  EXPECT_FALSE(ir::blockSort(typeOf(context, GetParam()), 0, 0));
  for (const char *target : {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"})
    for (const int64_t extent : {most, most / 2, most / 4}) {
      const auto kernel = compile(describe(GetParam(), extent, extent, false), target);
      ASSERT_TRUE(kernel);
      EXPECT_LE(kernel->resources.sharedBytes, 32u << 10);
    }
}

INSTANTIATE_TEST_SUITE_P(Types, SortKernels,
                         ::testing::Values(DType::i1, DType::ui8, DType::i8, DType::i16, DType::i32,
                                           DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64),
                         [](const auto &info) { return std::string(name(info.param)); });

} // namespace
} // namespace weft::testing
