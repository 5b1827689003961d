//===- ContractionKernelTest.cpp - Matrix products of GPUs ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of contractions, compiled by NVRTC, on the engine that runs PTX (docs/cudasim.md), in race mode and
// in two orders of blocks and warps, which give equal bytes. Integers, f32 and f64 have to be the bits of one
// chain over k. Sums of halves by mma have to be within a bound of those in double precision: the engine adds
// each instruction's products exactly and rounds once.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/CudaCompiler.h"
#include "codegen/cuda/contractions/PrintContraction.h"
#include "test/cudasim/engine/Engine.h"
#include "test/unit/TestLevel.h"
#include "test/unit/codegen/Elements.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace weft::testing {
namespace {

using codegen::ContractionSchedule;
using codegen::CudaContraction;
using codegen::Extent;

ir::TargetDescription device(const char *name) { return *ir::findDescription(name); }
/// A device that is busy with one block, for which the largest tiles are chosen.
ir::TargetDescription smallDevice(const char *name) {
  ir::TargetDescription found = device(name);
  found.cores = 1;
  return found;
}

//===----------------------------------------------------------------------===//
// A contraction and its operands
//===----------------------------------------------------------------------===//

/// Elements that the strides reach.
int64_t reach(std::initializer_list<std::pair<int64_t, int64_t>> dims) {
  int64_t last = 0;
  for (auto [extent, stride] : dims) {
    if (extent == 0)
      return 0;
    last += (extent - 1) * stride;
  }
  return last + 1;
}

struct Product {
  CudaContraction c;
  Elements a{f32, 0}, b{f32, 0}, bias{f32, 0}, residual{f32, 0};

  void fillOperands(Values values, std::mt19937 &random) {
    auto operand = [&](const Extent &rows, const Extent &columns, const std::array<Extent, 3> &strides) {
      return reach({{c.batch.value, strides[0].value},
                    {rows.value, strides[1].value},
                    {columns.value, strides[2].value}});
    };
    a = randomElements(c.dtype, operand(c.m, c.k, c.aStrides), values, random);
    b = randomElements(c.dtype, operand(c.k, c.n, c.bStrides), values, random);
    bias = randomElements(c.dtype, c.bias ? c.n.value : 0, values, random);
    residual = randomElements(c.dtype, c.residual ? resultCount() : 0, values, random);
  }
  int64_t resultCount() const {
    return reach({{c.batch.value, c.cStrides[0].value},
                  {c.m.value, c.cStrides[1].value},
                  {c.n.value, c.cStrides[2].value}});
  }
};

/// Dense matrices, a and b as they are or transposed.
Product denseProduct(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, bool transposeA = false,
                     bool transposeB = false) {
  Product p;
  auto number = Extent::number;
  p.c.dtype = dtype;
  p.c.batch = number(batch);
  p.c.m = number(m);
  p.c.n = number(n);
  p.c.k = number(k);
  p.c.aStrides = {number(m * k), number(transposeA ? 1 : k), number(transposeA ? m : 1)};
  p.c.bStrides = {number(k * n), number(transposeB ? 1 : n), number(transposeB ? k : 1)};
  p.c.cStrides = {number(m * n), number(n), number(1)};
  return p;
}

/// Any shape and strides; some are parameters of the launch.
Product randomProduct(DType dtype, std::mt19937 &random) {
  auto upTo = [&](int64_t most) { return int64_t(random() % uint64_t(most + 1)); };
  const int64_t lengths[] = {1, 7, 16, 33, 64, 100, 130};
  auto length = [&] { return lengths[random() % 7] + (random() % 2 ? 0 : upTo(3)); };
  const int64_t batch = 1 + upTo(2), m = length(), n = length(), k = length();
  Product p = denseProduct(dtype, batch, m, n, k, random() % 2, random() % 2);
  CudaContraction &c = p.c;
  c.bias = random() % 2;
  c.residual = random() % 3 == 0;
  c.relu = random() % 2;
  // Rows with room between them, matrices that are not contiguous along any dimension, and repeated ones.
  auto spread = [&](std::array<Extent, 3> &strides, int64_t rows, int64_t columns, bool mayRepeat) {
    const bool byRows = strides[2].value == 1;
    int64_t inner = 1, outer = byRows ? columns : rows;
    if (random() % 3 == 0)
      outer += random() % 2 ? upTo(9) : 8 * upTo(2);
    if (random() % 5 == 0) {
      inner = 2 + upTo(1);
      outer *= inner;
    }
    strides[byRows ? 2 : 1].value = inner;
    strides[byRows ? 1 : 2].value = outer;
    strides[0].value = outer * (byRows ? rows : columns) + (random() % 3 ? 0 : upTo(7));
    if (mayRepeat && random() % 6 == 0)
      strides[random() % 3].value = 0;
  };
  spread(c.aStrides, m, k, true);
  spread(c.bStrides, k, n, true);
  spread(c.cStrides, m, n, false);
  if (random() % 3 == 0)
    for (Extent *extent : {&c.m, &c.n, &c.k, &c.aStrides[0], &c.aStrides[1], &c.aStrides[2], &c.bStrides[0],
                           &c.bStrides[1], &c.bStrides[2], &c.cStrides[0], &c.cStrides[1]})
      if (random() % 2) {
        const int64_t divisor = extent->value % 8 == 0 ? 8 : extent->value % 2 == 0 ? 2 : 1;
        *extent = Extent::parameter(extent->value, divisor);
      }
  return p;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

struct Compiled {
  ContractionSchedule schedule;
  codegen::CudaKernel kernel;
  std::string text;
};

std::optional<Compiled> compileFor(const CudaContraction &c, const ir::TargetDescription &target,
                                   const ContractionSchedule *chosen = nullptr) {
  Compiled made;
  if (chosen) {
    made.schedule = *chosen;
  } else {
    auto schedule = codegen::chooseContractionSchedule(c, target);
    if (!schedule) {
      ADD_FAILURE() << schedule.status().message();
      return {};
    }
    made.schedule = *schedule;
  }
  auto text = codegen::printContraction(c, made.schedule, target);
  auto compiler = codegen::CudaTextCompiler::make(target.name);
  if (!text || !compiler) {
    ADD_FAILURE() << (text ? compiler.status() : text.status()).message();
    return {};
  }
  made.text = *text;
  auto object = compiler->compile(*text, "contraction", nullptr);
  if (!object) {
    ADD_FAILURE() << object.status().message() << "\n" << *text;
    return {};
  }
  made.kernel = *codegen::CudaKernel::deserialize(*object);
  EXPECT_EQ(made.kernel.threads, made.schedule.threads());
  return made;
}

struct Modes {
  std::vector<cudasim::Order> orders = {cudasim::Order::forward, cudasim::Order::shuffled};
  bool race = true;
  bool residualIsResult = false;
  size_t shift = 0; ///< elements by which each tensor is misplaced
};

/// The result as the engine computes it: the bytes of the whole allocation of c, of which gaps are 0xFF.
Elements launch(const Product &p, const Compiled &made, const Modes &modes = {}) {
  const CudaContraction &c = p.c;
  auto parsed = cudasim::Module::parse(made.kernel.ptx);
  Elements result(c.dtype, static_cast<size_t>(p.resultCount()));
  if (!parsed) {
    ADD_FAILURE() << parsed.error.str() << "\n" << made.text;
    return result;
  }
  auto blocks = codegen::contractionBlocks(made.schedule, c.batch.value, c.m.value, c.n.value);
  if (!blocks || *blocks == 0) {
    EXPECT_TRUE(blocks);
    return result;
  }
  std::vector<std::byte> first;
  for (cudasim::Order order : modes.orders) {
    cudasim::Memory memory;
    EXPECT_TRUE(parsed.module->load(memory));
    const size_t shift = modes.shift * itemsize(c.dtype);
    auto upload = [&](const Elements &elements) {
      const size_t size = elements.bytes.size();
      const uint64_t address = memory.allocate(std::max<size_t>(size, 1) + shift) + shift;
      if (size)
        std::memcpy(memory.host(address, size), elements.bytes.data(), size);
      return address;
    };
    std::vector<uint64_t> parameters = {upload(p.a), upload(p.b)};
    if (c.bias)
      parameters.push_back(upload(p.bias));
    Elements empty(c.dtype, result.count());
    std::memset(empty.bytes.data(), 0xFF, empty.bytes.size());
    const uint64_t out = upload(modes.residualIsResult ? p.residual : empty);
    if (c.residual)
      parameters.push_back(modes.residualIsResult ? out : upload(p.residual));
    parameters.push_back(out);
    for (const Extent *extent : c.sizes())
      if (extent->isParameter)
        parameters.push_back(uint64_t(extent->value));
    cudasim::LaunchOptions options;
    options.grid = {uint32_t(*blocks)};
    options.block = {uint32_t(made.schedule.threads())};
    options.dynamicShared = uint32_t(made.schedule.sharedBytes(c.dtype));
    options.order = order;
    options.seed = 11;
    options.race = modes.race;
    auto ran =
        cudasim::launch(*parsed.module, "weft_kernel", memory, options, std::as_bytes(std::span(parameters)));
    if (!ran.ok()) {
      ADD_FAILURE() << ran.fault->str() << "\n" << made.schedule.str() << "\n" << made.text;
      return result;
    }
    std::memcpy(result.bytes.data(), memory.host(out, result.bytes.size()), result.bytes.size());
    if (first.empty())
      first = result.bytes;
    EXPECT_EQ(result.bytes, first) << "the order of blocks and warps must not matter\n"
                                   << made.schedule.str();
  }
  return result;
}

//===----------------------------------------------------------------------===//
// References
//===----------------------------------------------------------------------===//

/// One chain of fused multiply-adds, then bias, residual and relu in the same type.
template <typename T> T chain(const Product &p, int64_t a, int64_t b, int64_t column, int64_t at) {
  T sum = 0;
  for (int64_t i = 0; i < p.c.k.value; ++i)
    sum =
        std::fma(T(p.a.real(a + i * p.c.aStrides[2].value)), T(p.b.real(b + i * p.c.bStrides[1].value)), sum);
  if (p.c.bias)
    sum += T(p.bias.real(column));
  if (p.c.residual)
    sum += T(p.residual.real(at));
  return p.c.relu && sum < 0 ? T(0) : sum;
}

uint64_t wrapping(const Product &p, int64_t a, int64_t b, int64_t column, int64_t at) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < p.c.k.value; ++i)
    sum += p.a.integer(a + i * p.c.aStrides[2].value) * p.b.integer(b + i * p.c.bStrides[1].value);
  if (p.c.bias)
    sum += p.bias.integer(column);
  if (p.c.residual)
    sum += p.residual.integer(at);
  const unsigned unused = unsigned(64 - 8 * itemsize(p.c.dtype));
  if (p.c.relu && p.c.dtype != DType::ui8 && int64_t(sum << unused) < 0)
    return 0;
  return sum << unused >> unused;
}

/// A sum of mma, with its bound: each instruction adds exactly and rounds to f32 once, and so does each op of
/// the epilogue; then the result is rounded to its type.
void expectHalf(const Product &p, int64_t a, int64_t b, int64_t column, int64_t at, double found) {
  double sum = 0, magnitude = 0;
  for (int64_t i = 0; i < p.c.k.value; ++i) {
    const double term = p.a.real(a + i * p.c.aStrides[2].value) * p.b.real(b + i * p.c.bStrides[1].value);
    sum += term;
    magnitude += std::abs(term);
  }
  for (const auto &[has, value] : {std::pair(p.c.bias, p.c.bias ? p.bias.real(column) : 0.0),
                                   std::pair(p.c.residual, p.c.residual ? p.residual.real(at) : 0.0)})
    if (has) {
      sum += value;
      magnitude += std::abs(value);
    }
  if (p.c.relu && sum < 0)
    sum = 0;
  if (std::isnan(sum) || std::isinf(sum)) {
    EXPECT_TRUE(std::isnan(sum) ? std::isnan(found) : found == sum) << found << " instead of " << sum;
    return;
  }
  const int64_t instructions = p.c.k.value / 8 + 1;
  const double roundings = double(instructions + 3);
  const double unit = p.c.dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
  const double bound = roundings * 0x1p-24 * magnitude * 1.01 + unit * std::abs(sum) * 1.01 + 0x1p-25;
  EXPECT_LE(std::abs(found - sum), bound) << found << " instead of " << sum;
}

/// Compares all elements; gaps between them must be as they were. True if all is right.
bool check(const Product &p, const Compiled &made, const Elements &found) {
  const CudaContraction &c = p.c;
  std::vector<bool> written(found.count());
  int wrong = 0;
  for (int64_t i = 0; i < c.batch.value; ++i)
    for (int64_t row = 0; row < c.m.value; ++row)
      for (int64_t column = 0; column < c.n.value && wrong < 3; ++column) {
        const int64_t a = i * c.aStrides[0].value + row * c.aStrides[1].value;
        const int64_t b = i * c.bStrides[0].value + column * c.bStrides[2].value;
        const int64_t at = i * c.cStrides[0].value + row * c.cStrides[1].value + column * c.cStrides[2].value;
        written[size_t(at)] = true;
        const std::string place = "batch " + std::to_string(i) + ", row " + std::to_string(row) +
                                  ", column " + std::to_string(column);
        SCOPED_TRACE(place);
        if (codegen::isHalf(c.dtype)) {
          expectHalf(p, a, b, column, at, found.real(at));
          wrong += ::testing::Test::HasFailure() ? 1 : 0;
          continue;
        }
        if (!is_floating_point(c.dtype)) {
          Elements one(c.dtype, 1);
          const uint64_t expected = wrapping(p, a, b, column, at);
          std::memcpy(one.bytes.data(), &expected, one.bytes.size());
          EXPECT_EQ(found.integer(at), one.integer(0)) << (++wrong, "");
          continue;
        }
        const double expected = c.dtype == DType::f32 ? double(chain<float>(p, a, b, column, at))
                                                      : chain<double>(p, a, b, column, at);
        const bool same = std::isnan(expected)
                              ? std::isnan(found.real(at))
                              : std::bit_cast<uint64_t>(found.real(at)) == std::bit_cast<uint64_t>(expected);
        EXPECT_TRUE(same) << found.real(at) << " instead of " << expected << (++wrong, "");
      }
  if (wrong) {
    ADD_FAILURE() << made.schedule.str() << "\n" << made.text;
    return false;
  }
  const size_t size = itemsize(c.dtype);
  for (size_t at = 0; at < written.size(); ++at)
    for (size_t l = 0; !written[at] && l < size; ++l)
      EXPECT_EQ(found.bytes[at * size + l], std::byte(0xFF)) << "a gap of the result was written at " << at;
  return true;
}

/// What the kernel for a target computes, of the operands that `p` has; nothing if it is wrong.
std::optional<Elements> computed(const Product &p, const ir::TargetDescription &target,
                                 const Modes &modes = {}) {
  const auto made = compileFor(p.c, target);
  if (!made)
    return std::nullopt;
  Elements found = launch(p, *made, modes);
  if (!check(p, *made, found))
    return std::nullopt;
  return found;
}

void computesRight(Product &p, const ir::TargetDescription &target, std::mt19937 &random,
                   Values values = Values::random, const Modes &modes = {}) {
  p.fillOperands(values, random);
  (void)computed(p, target, modes);
}

/// Tests whose kernels run on the engine.
class ContractionLaunch : public ::testing::Test {
protected:
  void SetUp() override {
    if (!codegen::Nvrtc::get())
      GTEST_SKIP() << codegen::Nvrtc::get().status().message();
  }
};

class ContractionKernels : public ContractionLaunch, public ::testing::WithParamInterface<DType> {
protected:
  std::mt19937 random{static_cast<unsigned>(GetParam())};
};

const char *const targets[] = {"sm_90", "sm_80", "sm_100", "sm_75"};

TEST_P(ContractionKernels, AnyShapeStridesAndEpilogue) {
  for (int i = 0; i < 12 && !HasFailure(); ++i) {
    Product p = randomProduct(GetParam(), random);
    const char *target = targets[i % 4];
    SCOPED_TRACE(std::string(target) + ", number " + std::to_string(i));
    computesRight(p, i % 2 ? device(target) : smallDevice(target), random);
  }
}

/// Each order of a and b in memory with the largest tiles, whose last ones are not full, and over several
/// turns through all stages.
TEST_P(ContractionKernels, LargeTilesOfEveryLayout) {
  for (int layout = 0; layout < 4 && !HasFailure(); ++layout) {
    Product p = denseProduct(GetParam(), 1, 136, 144, 272, layout & 1, layout & 2);
    SCOPED_TRACE("layout " + std::to_string(layout));
    computesRight(p, smallDevice("sm_90"), random, Values::smallIntegers);
  }
}

TEST_P(ContractionKernels, EmptyAndSingleExtents) {
  const int64_t shapes[][4] = {{1, 1, 1, 1}, {1, 5, 7, 0},   {2, 0, 3, 4},   {0, 3, 3, 3},
                               {1, 3, 0, 2}, {1, 1, 300, 9}, {1, 300, 1, 9}, {3, 1, 1, 200}};
  for (const auto &shape : shapes) {
    Product p = denseProduct(GetParam(), shape[0], shape[1], shape[2], shape[3]);
    p.c.bias = p.c.relu = true;
    SCOPED_TRACE(std::to_string(shape[0]) + " x " + std::to_string(shape[1]) + " x " +
                 std::to_string(shape[2]) + " x " + std::to_string(shape[3]));
    computesRight(p, device("sm_90"), random);
    if (HasFailure())
      return;
  }
}

/// Sums of small integers are exact in every order, so the result is known to the bit.
TEST_P(ContractionKernels, SmallIntegersAreExact) {
  Product p = denseProduct(GetParam(), 2, 50, 70, 90);
  p.fillOperands(Values::smallIntegers, random);
  const std::optional<Elements> found = computed(p, device("sm_80"));
  ASSERT_TRUE(found);
  if (!is_floating_point(GetParam()))
    return;
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t row = 0; row < 50; ++row)
      for (int64_t column = 0; column < 70; ++column) {
        double sum = 0;
        for (int64_t l = 0; l < 90; ++l)
          sum += p.a.real(i * 4500 + row * 90 + l) * p.b.real(i * 6300 + l * 70 + column);
        Elements rounded(GetParam(), 1);
        rounded.putReal(0, sum);
        ASSERT_EQ(found->real(i * 3500 + row * 70 + column), rounded.real(0));
      }
}

/// Tensors at odd addresses, of which the description says so.
TEST_P(ContractionKernels, AddressesMayBeMultiplesOfOneElementOnly) {
  Product p = denseProduct(GetParam(), 1, 40, 48, 64);
  p.c.aAlignment = p.c.bAlignment = p.c.cAlignment = int64_t(itemsize(GetParam()));
  p.c.residual = true;
  Modes modes;
  modes.shift = 1;
  computesRight(p, device("sm_90"), random, Values::random, modes);
}

/// Results whose rows allow accesses of 2, 4 and 8 elements, of which the last tile has a part; so does the
/// residual.
TEST_P(ContractionKernels, ResultsInAccessesOfEachWidth) {
  for (const int64_t n : {74, 68, 72}) {
    Product p = denseProduct(GetParam(), 1, 40, n, 33);
    p.c.bias = p.c.residual = p.c.relu = true;
    SCOPED_TRACE("n " + std::to_string(n));
    computesRight(p, smallDevice("sm_90"), random);
    if (codegen::isHalf(GetParam()))
      EXPECT_EQ(codegen::chooseContractionSchedule(p.c, smallDevice("sm_90"))->vectorC, n == 74   ? 2
                                                                                        : n == 68 ? 4
                                                                                                  : 8);
  }
}

/// A further product is added to the result in place.
TEST_P(ContractionKernels, TheResidualMayBeTheResult) {
  Product p = denseProduct(GetParam(), 1, 70, 64, 33);
  p.c.residual = true;
  Modes modes;
  modes.residualIsResult = true;
  computesRight(p, device("sm_90"), random, Values::random, modes);
}

/// All extents and strides but those of 1 become parameters, multiples of `divisor`.
void makeDynamic(CudaContraction &c, int64_t divisor) {
  for (Extent *extent : {&c.m, &c.n, &c.k, &c.aStrides[0], &c.aStrides[1], &c.aStrides[2], &c.bStrides[0],
                         &c.bStrides[1], &c.bStrides[2], &c.cStrides[0], &c.cStrides[1]})
    if (!extent->is(1))
      *extent = Extent::parameter(extent->value, divisor);
}

/// All for sm_90. Below `full`, of the others each has every third of them, and another third.
TEST_P(ContractionKernels, NoSpillsForThreeTargets) {
  struct Size {
    int64_t extent, divisor; // 0: a number
  };
  static constexpr Size sizes[] = {{2048, 0}, {1023, 0}, {96, 0}, {1, 0}, {2044, 0}, {2048, 16}, {2048, 1}};
  for (const char *target : {"sm_80", "sm_90", "sm_100"})
    for (int layout = 0; layout < 4; ++layout)
      for (const Size &size : sizes) {
        // The last take most registers where a lies across k and b along k.
        if (&size > &sizes[3] && layout != 3)
          continue;
        const int turn = (layout + int(&size - sizes)) % 3;
        if (testLevel() != "full" && target != std::string("sm_90") &&
            turn != (target == std::string("sm_80")))
          continue;
        const int64_t rest = size.extent == 1 ? 1024 : size.extent;
        Product p = denseProduct(GetParam(), 1, size.extent, rest, size.extent, layout & 1, layout & 2);
        p.c.bias = p.c.relu = true;
        if (size.divisor)
          makeDynamic(p.c, size.divisor);
        auto made = compileFor(p.c, device(target));
        ASSERT_TRUE(made);
        const codegen::CudaResources &used = made->kernel.resources;
        EXPECT_EQ(used.spillStoreBytes, 0u) << target << ": " << made->schedule.str();
        EXPECT_EQ(used.sharedBytes, 0u) << "all shared memory is what the launch asks for";
        EXPECT_GE(ir::residentBlocks(device(target), made->schedule.threads(), used.registers,
                                     made->schedule.sharedBytes(GetParam())),
                  made->schedule.resident);
      }
}

/// The largest tiles have four warps for each of the four parts of a multiprocessor, and three if a product
/// is several instructions. Those of bytes that are transposed on their way to shared memory are smaller.
TEST_P(ContractionKernels, SixteenWarpsOfLargeTilesAreResident) {
  for (const char *target : {"sm_80", "sm_90", "sm_100"}) {
    const Product p = denseProduct(GetParam(), 1, 4096, 4096, 4096, false, /*transposeB=*/true);
    auto schedule = codegen::chooseContractionSchedule(p.c, device(target));
    ASSERT_TRUE(schedule) << schedule.status().message();
    EXPECT_EQ(schedule->resident * schedule->threads() / 32, GetParam() == i64 ? 12 : 16) << schedule->str();
    EXPECT_EQ(schedule->stages, 3) << schedule->str();
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, ContractionKernels,
                         ::testing::Values(f32, f64, f16, bf16, i8, u8, i16, i32, i64),
                         [](const auto &info) { return std::string(name(info.param)); });

//===----------------------------------------------------------------------===//
// Single cases
//===----------------------------------------------------------------------===//

TEST_F(ContractionLaunch, NansAndInfinitiesStayInTheirRowsAndColumns) {
  std::mt19937 random(3);
  for (DType dtype : {f32, f64, f16, bf16}) {
    Product p = denseProduct(dtype, 1, 45, 37, 19);
    p.c.bias = p.c.relu = true;
    p.fillOperands(Values::random, random);
    p.a.putReal(3 * 19 + 18, NAN);
    p.a.putReal(44 * 19 + 5, INFINITY);
    p.b.putReal(18 * 37 + 36, -INFINITY);
    p.bias.putReal(7, NAN);
    const std::optional<Elements> found = computed(p, device("sm_90"));
    ASSERT_TRUE(found);
    EXPECT_TRUE(std::isnan(found->real(3 * 37))) << "relu keeps a NaN";
    EXPECT_TRUE(std::isnan(found->real(7)));
    EXPECT_FALSE(std::isnan(found->real(2 * 37)));
  }
}

/// Rows of a lie 2^31 elements apart, of which only those pages are touched that have elements.
TEST_F(ContractionLaunch, OffsetsBeyond32Bits) {
  CudaContraction c = denseProduct(i8, 1, 3, 8, 16).c;
  const int64_t far = int64_t(1) << 31;
  c.aStrides[1] = Extent::number(far);
  auto made = compileFor(c, device("sm_90"));
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->schedule.wideIndex);
  EXPECT_FALSE(
      codegen::chooseContractionSchedule(denseProduct(i8, 1, 3, 8, 16).c, device("sm_90"))->wideIndex);
  auto parsed = cudasim::Module::parse(made->kernel.ptx);
  ASSERT_TRUE(parsed) << parsed.error.str();
  cudasim::Memory memory;
  ASSERT_TRUE(parsed.module->load(memory));
  const uint64_t a = memory.allocate(uint64_t(2 * far + 16)), b = memory.allocate(16 * 8),
                 out = memory.allocate(24);
  ASSERT_TRUE(a && b && out);
  for (int64_t row = 0; row < 3; ++row)
    std::memset(memory.host(a + uint64_t(row * far), 16), int(row + 1), 16);
  std::memset(memory.host(b, 128), 1, 128);
  const std::vector<uint64_t> parameters = {a, b, out};
  cudasim::LaunchOptions options;
  options.grid = {1};
  options.block = {uint32_t(made->schedule.threads())};
  options.dynamicShared = uint32_t(made->schedule.sharedBytes(i8));
  options.race = true;
  auto ran =
      cudasim::launch(*parsed.module, "weft_kernel", memory, options, std::as_bytes(std::span(parameters)));
  ASSERT_TRUE(ran.ok()) << ran.fault->str();
  for (int row = 0; row < 3; ++row)
    EXPECT_EQ(int(*memory.host(out + uint64_t(row) * 8, 1)), 16 * (row + 1));
}

/// The bits are those of one chain whatever the schedule: the order of a sum is no number of it.
TEST_F(ContractionLaunch, SchedulesDoNotChangeBits) {
  std::mt19937 random(9);
  for (DType dtype : {f32, f16}) {
    Product p = denseProduct(dtype, 1, 96, 80, 200);
    p.fillOperands(Values::random, random);
    auto large = compileFor(p.c, smallDevice("sm_90")), small = compileFor(p.c, device("sm_90"));
    ASSERT_TRUE(large && small);
    EXPECT_NE(large->schedule.blockM, small->schedule.blockM);
    EXPECT_EQ(launch(p, *large).bytes, launch(p, *small).bytes);
  }
}

/// The text is a function of what is multiplied, and has neither headers nor names of its program.
TEST(ContractionKernel, TheTextIsStable) {
  const CudaContraction c = denseProduct(f16, 1, 256, 256, 256).c;
  auto schedule = codegen::chooseContractionSchedule(c, device("sm_90"));
  ASSERT_TRUE(schedule) << schedule.status().message();
  auto once = codegen::printContraction(c, *schedule, device("sm_90"));
  auto again = codegen::printContraction(c, *schedule, device("sm_90"));
  ASSERT_TRUE(once && again);
  EXPECT_EQ(*once, *again);
  EXPECT_EQ(once->find("#include"), std::string::npos);
  EXPECT_EQ(once->find('$'), std::string::npos);
  for (const char *part :
       {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "ldmatrix.sync.aligned.m8n8.x4.trans",
        "cp.async.cg.shared.global", "cp.async.wait_group"})
    EXPECT_NE(once->find(part), std::string::npos) << part;
}

//===----------------------------------------------------------------------===//
// Schedules that are wrong
//===----------------------------------------------------------------------===//

struct WrongSchedule {
  const char *name;
  void (*change)(ContractionSchedule &schedule, CudaContraction &contraction);
  const char *message;
};

class WrongSchedules : public ::testing::TestWithParam<WrongSchedule> {};

TEST_P(WrongSchedules, AreRefused) {
  CudaContraction c = denseProduct(f32, 1, 1024, 1024, 1024).c;
  auto schedule = codegen::chooseContractionSchedule(c, device("sm_90"));
  ASSERT_TRUE(schedule) << schedule.status().message();
  GetParam().change(*schedule, c);
  const Status status = codegen::verifyContractionSchedule(*schedule, c, device("sm_90"));
  ASSERT_FALSE(status);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
  EXPECT_FALSE(codegen::printContraction(c, *schedule, device("sm_90")));
}

const WrongSchedule wrongSchedules[] = {
    {"warp", [](auto &s, auto &) { s.warpM = 24; }, "not made of whole warps"},
    {"lanes", [](auto &s, auto &) { s.warpN = 4; }, "4 x 8 threads"},
    {"empty", [](auto &s, auto &) { s.blockK = 0; }, "has nothing to do"},
    {"threads",
     [](auto &s, auto &) {
       s.warpM = 4;
       s.warpN = 8;
       s.blockM = s.blockN = 128;
     },
     "threads, more than"},
    {"oneStage", [](auto &s, auto &) { s.stages = 1; }, "2 to 8 stages"},
    {"shared",
     [](auto &s, auto &) {
       s.blockK = 512;
       s.stages = 8;
     },
     "bytes of shared memory"},
    {"units", [](auto &s, auto &) { s.matrixUnits = true; }, "multiplies no matrices of this type"},
    {"depth", [](auto &s, auto &) { s.depth = 8; }, "no more than one access"},
    {"unroll", [](auto &s, auto &) { s.unroll = 3; }, "depth and unroll must divide"},
    {"noBlock", [](auto &s, auto &) { s.resident = 0; }, "holds 1 to 32 blocks"},
    {"residentRegisters", [](auto &s, auto &) { s.resident = 5; }, "registers, of"},
    {"residentShared",
     [](auto &s, auto &) {
       s.stages = 8;
       s.resident = 4;
     },
     "no shared memory for 4 blocks"},
    {"vector", [](auto &s, auto &) { s.a.vector = 8; }, "an access has"},
    {"strides", [](auto &, auto &c) { c.aStrides[1].value = 1025; }, "do not allow accesses of 4 elements"},
    {"alignment", [](auto &, auto &c) { c.aAlignment = 8; }, "do not allow accesses of 4 elements"},
    {"conflicts", [](auto &s, auto &) { s.a.pad = 0; }, "bank conflicts"},
    {"pitch", [](auto &s, auto &) { s.a.pad = 1; }, "not aligned to 16 bytes"},
    {"async",
     [](auto &s, auto &) {
       s.a.vector = 1;
       s.b.turned = true;
       s.b.vector = 1;
     },
     "cp.async copies"},
    {"early", [](auto &s, auto &) { s.a.early = true; }, "leaves nothing in registers"},
    {"result", [](auto &, auto &c) { c.cStrides[2].value = 2; }, "the result cannot be written"},
    {"columns",
     [](auto &s, auto &c) {
       c.n.value = 1023;
       s.b.vector = 1;
       s.b.async = true;
     },
     "cannot be written"},
    {"index", [](auto &, auto &c) { c.cStrides[1].value = int64_t(1) << 33; }, "do not fit into 32 bits"},
    {"grid",
     [](auto &s, auto &c) {
       c.batch.value = int64_t(1) << 40;
       s.wideIndex = true;
     },
     "more than 2^31 - 1 blocks"},
    {"registers",
     [](auto &s, auto &) {
       s.warpM = s.warpN = s.blockM = s.blockN = 128;
       s.stages = 2;
     },
     "registers, of"},
    {"negative", [](auto &, auto &c) { c.k.value = -1; }, "negative extent"},
    {"exchanged",
     [](auto &s, auto &c) {
       c.dtype = f16;
       s = *codegen::chooseContractionSchedule(c, device("sm_90"));
       s.warpN = 16;
       s.warpM = 32;
     },
     "the lanes of a row have not so many columns"},
    {"i1", [](auto &, auto &c) { c.dtype = i1; }, "no contraction of element type i1"},
};
INSTANTIATE_TEST_SUITE_P(Numbers, WrongSchedules, ::testing::ValuesIn(wrongSchedules),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(ContractionKernel, OlderDevicesHaveNoAsyncCopiesNorLargeMatrices) {
  const CudaContraction c = denseProduct(f16, 1, 256, 256, 256).c;
  auto schedule = codegen::chooseContractionSchedule(c, device("sm_75"));
  ASSERT_TRUE(schedule) << schedule.status().message();
  EXPECT_FALSE(schedule->matrixUnits || schedule->a.async || schedule->b.async);
  schedule->a.async = true;
  EXPECT_FALSE(codegen::verifyContractionSchedule(*schedule, c, device("sm_75")));
  EXPECT_FALSE(codegen::chooseContractionSchedule(c, *ir::findDescription("cpu")));
}

} // namespace
} // namespace weft::testing
