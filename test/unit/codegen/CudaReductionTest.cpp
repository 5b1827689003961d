//===- CudaReductionTest.cpp - Reductions of a GPU on the PTX engine ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels whose threads combine values are compiled by NVRTC, and their PTX is run by test/cudasim in every
// order of warps and blocks, with and without race mode. All runs give the same bytes, and these agree with
// the interpreter's results for the same program in f64, within bounds that follow from the order of the
// reduction.
//
//===----------------------------------------------------------------------===//
#include "CudaHarness.h"
#include "ExecuteHarness.h"

#include "ir/CudaReductions.h"
#include "ir/CudaSchedule.h"
#include "ir/Schedule.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace mlir;
namespace weft::testing {

namespace {

using Bytes = std::vector<std::vector<std::byte>>;
using Field = ir::ScheduleField;

/// Runs a kernel whose blocks have a task each. `results` may be null.
cudasim::LaunchResult launchOnEngine(FusedProgram &program, const EngineKernel &ptx,
                                     const std::vector<ir::Literal> &arguments, const EngineMode &mode,
                                     Bytes *results) {
  cudasim::Memory memory(uint64_t(1) << 30);
  std::vector<uint64_t> buffers;
  for (const ir::Literal &argument : arguments) {
    const size_t bytes = static_cast<size_t>(argument.count()) * itemsize(argument.dtype);
    buffers.push_back(memory.allocate(bytes));
    argument.toBytes(memory.host(buffers.back(), bytes));
  }
  auto sizeOf = [](Type type) { return static_cast<uint64_t>(ir::bytesOf(type).asNumber()); };
  for (Type type : program.fusion.getResultTypes())
    buffers.push_back(memory.allocate(sizeOf(type)));
  KernelParameters parameters;
  for (int64_t slot : ptx.slots)
    parameters.add(buffers[static_cast<size_t>(slot)]);
  const int64_t blocks = program.fusion.getSchedule()->getTasks().asNumber();
  cudasim::LaunchResult result = launchBlocks(ptx, memory, blocks, mode, parameters);
  for (auto [i, type] : llvm::enumerate(program.fusion.getResultTypes())) {
    const std::byte *from = memory.host(buffers[arguments.size() + i], sizeOf(type));
    if (results)
      results->emplace_back(from, from + sizeOf(type));
  }
  return result;
}

/// The results of the kernel with the fusion's schedule: the same in every mode.
Bytes runEveryMode(FusedProgram &program, const std::vector<ir::Literal> &arguments) {
  std::optional<EngineKernel> ptx = compileForEngine(program.fusion);
  if (!ptx)
    return {};
  EXPECT_EQ(ptx->kernel.resources.spillStoreBytes, 0u) << ptx->kernel.ptx;
  Bytes first;
  for (const EngineMode &mode : everyEngineMode()) {
    Bytes found;
    const cudasim::LaunchResult result = launchOnEngine(program, *ptx, arguments, mode, &found);
    EXPECT_TRUE(result.ok()) << result.fault->str() << "\n" << ptx->kernel.ptx;
    if (first.empty())
      first = found;
    EXPECT_EQ(found, first) << mode.str();
  }
  return first;
}

/// Sets the schedule that is chosen for a GPU. It must be one that threads share.
void choose(FusedProgram &program) {
  program.fusion.setScheduleAttr(ir::chooseCudaSchedule(program.fusion, hopper()));
  EXPECT_TRUE(ir::isShared(program.fusion.getSchedule()->toSchedule()));
  EXPECT_TRUE(succeeded(ir::verifySchedule(program.fusion, *program.fusion.getSchedule())));
}

std::vector<ir::Literal> literalsOf(FusedProgram &program, const Bytes &bytes) {
  std::vector<ir::Literal> results;
  for (auto [type, data] : llvm::zip_equal(program.fusion.getResultTypes(), bytes))
    results.push_back(
        ir::Literal::fromBytes(ir::dtypeOf(type), cast<RankedTensorType>(type).getShape(), data.data()));
  return results;
}

/// The same numbers for a program whose f32 are f64.
std::vector<ir::Literal> widened(const std::vector<ir::Literal> &arguments) {
  std::vector<ir::Literal> wide = arguments;
  for (ir::Literal &literal : wide)
    if (literal.isReal())
      literal.dtype = DType::f64;
  return wide;
}

/// An element of a result in f32, and the largest error that rounding can have made.
void expectNear(const ir::Literal &found, const ir::Literal &expected, size_t i, double bound) {
  const double a = found.real[i], b = expected.real[i];
  EXPECT_TRUE((std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= bound)
      << "element " << i << ": " << a << ", expected " << b << " within " << bound;
}

constexpr double unit = 1.0 / (1 << 24); ///< the relative error of one rounding to f32

/// The most additions that a value takes part in: those of a thread, and those of the tree.
double additionsOfRow(int64_t length) {
  const auto team = static_cast<double>(ir::rowTeam(length));
  return std::ceil(static_cast<double>(length) / (team * ir::teamVector)) + std::log2(team) + 4;
}

constexpr const char *softmaxText =
    R"(weft.func @main(%x: tensor<ROWSxNxf32, #weft.device<cuda:0>>, %w: tensor<Nxf32, #weft.device<cuda:0>>) -> tensor<ROWSxNxf32, #weft.device<cuda:0>> {
      %b = weft.broadcast_in_dim %w, dims = [1] : tensor<Nxf32, #weft.device<cuda:0>> -> tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %1 = weft.rmax %x, dims = [1] : tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<ROWSxf32, #weft.device<cuda:0>> -> tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %3 = weft.sub %x, %2 : tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %4 = weft.exp %3 : tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %5 = weft.sum %4, dims = [1] : tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %6 = weft.broadcast_in_dim %5, dims = [0] : tensor<ROWSxf32, #weft.device<cuda:0>> -> tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %7 = weft.div %4, %6 : tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %8 = weft.mul %7, %b : tensor<ROWSxNxf32, #weft.device<cuda:0>>
      weft.return %8 : tensor<ROWSxNxf32, #weft.device<cuda:0>>
    })";

constexpr const char *statisticsText =
    R"(weft.func @main(%x: tensor<ROWSxNxf32, #weft.device<cuda:0>>, %i: tensor<ROWSxNxi32, #weft.device<cuda:0>>)
        -> (tensor<ROWSxf32, #weft.device<cuda:0>>, tensor<ROWSxf64, #weft.device<cuda:0>>, tensor<ROWSxf64, #weft.device<cuda:0>>, tensor<ROWSxi64, #weft.device<cuda:0>>, tensor<ROWSxi32, #weft.device<cuda:0>>, tensor<ROWSxi1, #weft.device<cuda:0>>) {
      %0 = weft.sum %x, dims = [1] : tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %1 = weft.convert %x to f64 : tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %mean, %m2, %n = weft.welford %1, dims = [1] : tensor<ROWSxNxf64, #weft.device<cuda:0>>
      %2 = weft.argmax %x, dim = 1 : tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %3 = weft.sum %i, dims = [1] : tensor<ROWSxNxi32, #weft.device<cuda:0>>
      %4 = weft.eq %i, %i : tensor<ROWSxNxi32, #weft.device<cuda:0>>
      %5 = weft.any %4, dims = [1] : tensor<ROWSxNxi1, #weft.device<cuda:0>>
      weft.return %0, %mean, %m2, %2, %3, %5 : tensor<ROWSxf32, #weft.device<cuda:0>>, tensor<ROWSxf64, #weft.device<cuda:0>>, tensor<ROWSxf64, #weft.device<cuda:0>>, tensor<ROWSxi64, #weft.device<cuda:0>>, tensor<ROWSxi32, #weft.device<cuda:0>>, tensor<ROWSxi1, #weft.device<cuda:0>>
    })";

std::string rowsText(const char *text, int64_t rows, int64_t length) {
  return replaced(text, {{"ROWS", std::to_string(rows)},
                         {"xN", "x" + std::to_string(length)},
                         {"<N", "<" + std::to_string(length)}});
}

/// Other schedules that the verifier accepts: the row in registers, in shared memory or in neither, one
/// element of it at a time, and other blocks of teams.
void expectSameWithOthers(FusedProgram &program, const std::vector<ir::Literal> &arguments,
                          const Bytes &expected) {
  const ir::Schedule chosen = program.fusion.getSchedule()->toSchedule();
  auto tryWith = [&](ir::Schedule other) {
    other.tasks = ir::tasksOf(program.fusion, other);
    other[Field::scratch] = ir::scratchOf(program.fusion, other);
    auto schedule = ir::ScheduleAttr::get(program.fusion.getContext(), other);
    ASSERT_TRUE(succeeded(ir::verifySchedule(program.fusion, schedule)));
    program.fusion.setScheduleAttr(schedule);
    EXPECT_EQ(runEveryMode(program, arguments), expected);
  };
  ir::Schedule loop = chosen;
  loop[Field::chunk] = loop[Field::block] = ir::noNumber;
  if (chosen.has(Field::chunk) || chosen.has(Field::block))
    tryWith(loop);
  const int64_t length = ir::rowLength(program.fusion).asNumber();
  ir::Schedule byElement = loop;
  byElement[Field::vector] = byElement[Field::resident] = 1;
  tryWith(byElement);
  ir::Schedule shared = loop;
  shared[Field::block] = length / ir::teamVector * ir::teamVector;
  if (!chosen.has(Field::block) && chosen[Field::lanes] > ir::warpThreads)
    tryWith(shared);
  ir::Schedule blocks = chosen;
  blocks[Field::threads] = chosen[Field::threads] == 32 ? 96 : 32;
  if (chosen[Field::lanes] <= ir::warpThreads && 96 % chosen[Field::lanes] == 0)
    tryWith(blocks);
}

class CudaRows : public ::testing::TestWithParam<int64_t> {
protected:
  void SetUp() override {
    if (const std::string why = whyNoEngine(); !why.empty())
      GTEST_SKIP() << why;
  }
};

} // namespace

TEST_P(CudaRows, SoftmaxIsThatOfDoublePrecision) {
  const int64_t length = GetParam(), rows = 5;
  FusedProgram program(rowsText(softmaxText, rows, length), ir::FusionKind::row);
  FusedProgram wide(replaced(rowsText(softmaxText, rows, length), {{"f32", "f64"}}), ir::FusionKind::row);
  ASSERT_TRUE(program.valid() && wide.valid());
  const auto arguments = program.randomArguments(3);
  const auto expected = wide.interpret(widened(arguments));
  choose(program);
  const Bytes bytes = runEveryMode(program, arguments);
  ASSERT_FALSE(bytes.empty());
  const ir::Literal found = literalsOf(program, bytes)[0];
  // The difference from the maximum is at most 4, the error of exp two units; quotient and product.
  const double relative = (additionsOfRow(length) + 2 * (4 + 2) + 2) * unit;
  for (size_t i = 0; i < found.real.size(); ++i)
    expectNear(found, expected[0], i, relative * std::abs(expected[0].real[i]) + 1e-37);
  expectSameWithOthers(program, arguments, bytes);
}

TEST_P(CudaRows, StatisticsOfEveryKind) {
  const int64_t length = GetParam(), rows = 37;
  FusedProgram program(rowsText(statisticsText, rows, length), ir::FusionKind::row);
  ASSERT_TRUE(program.valid());
  auto arguments = program.randomArguments(4);
  // The first of equal values and the first NaN, in different vectors and threads.
  arguments[0].real[0] = arguments[0].real[static_cast<size_t>(length - 1)] = 8;
  arguments[0].real[static_cast<size_t>(2 * length - 1)] = std::nan("");
  arguments[0].real[static_cast<size_t>(length + length / 2)] = std::nan("");
  choose(program);
  const Bytes bytes = runEveryMode(program, arguments);
  ASSERT_FALSE(bytes.empty());
  const auto found = literalsOf(program, bytes), expected = program.interpret(arguments);
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0, magnitude = 0;
    for (int64_t i = 0; i < length; ++i) {
      sum += arguments[0].real[static_cast<size_t>(r * length + i)];
      magnitude += std::abs(arguments[0].real[static_cast<size_t>(r * length + i)]);
    }
    ir::Literal wide = expected[0];
    const auto at = static_cast<size_t>(r);
    wide.real[at] = sum;
    expectNear(found[0], wide, at, additionsOfRow(length) * unit * magnitude);
    expectNear(found[1], expected[1], at, 1e-12 * magnitude);
    expectNear(found[2], expected[2], at, 1e-11 * magnitude + 1e-12);
  }
  for (size_t i : {3u, 4u, 5u})
    EXPECT_EQ(found[i].whole, expected[i].whole) << "result " << i;
  expectSameWithOthers(program, arguments, bytes);
}

// Parts of a warp, a warp, blocks, rows beyond the registers; with and without a rest of a vector or a team.
INSTANTIATE_TEST_SUITE_P(Lengths, CudaRows,
                         ::testing::Values(1, 3, 4, 11, 16, 17, 32, 61, 64, 128, 131, 256, 1000, 1024, 1026,
                                           1536, 5000, 8192, 16384, 20483, 40000),
                         [](const auto &info) { return std::to_string(info.param); });

// Operands of several types in shared memory, of which some are read in one pass alone, and one backwards.
TEST(CudaHeldRows, OperandsOfEveryWidth) {
  if (const std::string why = whyNoEngine(); !why.empty())
    GTEST_SKIP() << why;
  const int64_t length = 16395, rows = 3;
  FusedProgram program(
      rowsText(
          R"(weft.func @main(%x: tensor<ROWSxNxf16, #weft.device<cuda:0>>, %y: tensor<ROWSxNxf32, #weft.device<cuda:0>>, %m: tensor<ROWSxNxi1, #weft.device<cuda:0>>, %z: tensor<ROWSxNxf32, #weft.device<cuda:0>>)
        -> (tensor<ROWSxNxf32, #weft.device<cuda:0>>, tensor<ROWSxf32, #weft.device<cuda:0>>) {
      %0 = weft.convert %x to f32 : tensor<ROWSxNxf16, #weft.device<cuda:0>>
      %1 = weft.reverse %y, dims = [1] : tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %2 = weft.select %m, %0, %1 : tensor<ROWSxNxi1, #weft.device<cuda:0>>, tensor<ROWSxNxf32, #weft.device<cuda:0>>, tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %3 = weft.rmax %2, dims = [1] : tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %4 = weft.broadcast_in_dim %3, dims = [0] : tensor<ROWSxf32, #weft.device<cuda:0>> -> tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %5 = weft.sub %2, %4 : tensor<ROWSxNxf32, #weft.device<cuda:0>>
      %6 = weft.add %5, %z : tensor<ROWSxNxf32, #weft.device<cuda:0>>
      weft.return %6, %3 : tensor<ROWSxNxf32, #weft.device<cuda:0>>, tensor<ROWSxf32, #weft.device<cuda:0>>
    })",
          rows, length),
      ir::FusionKind::row);
  ASSERT_TRUE(program.valid());
  const auto arguments = program.randomArguments(6);
  choose(program);
  EXPECT_EQ(ir::heldOperands(program.fusion), (SmallVector<unsigned>{0, 1, 2}));
  EXPECT_EQ((*program.fusion.getSchedule()).number(Field::block), 16392);
  const Bytes bytes = runEveryMode(program, arguments);
  ASSERT_FALSE(bytes.empty());
  // No operation of this program depends on an order.
  const auto found = literalsOf(program, bytes), expected = program.interpret(arguments);
  for (size_t i : {0u, 1u})
    EXPECT_EQ(found[i].real, expected[i].real) << "result " << i;
  expectSameWithOthers(program, arguments, bytes);
}

struct Matrix {
  int64_t outer, rows, inner;
};
void PrintTo(const Matrix &m, std::ostream *os) { *os << m.outer << "x" << m.rows << "x" << m.inner; }

constexpr const char *middleSoftmaxText =
    R"(weft.func @main(%x: tensor<OxRxIxf32, #weft.device<cuda:0>>) -> tensor<OxRxIxf32, #weft.device<cuda:0>> {
      %1 = weft.rmax %x, dims = [1] : tensor<OxRxIxf32, #weft.device<cuda:0>>
      %2 = weft.broadcast_in_dim %1, dims = [0, 2] : tensor<OxIxf32, #weft.device<cuda:0>> -> tensor<OxRxIxf32, #weft.device<cuda:0>>
      %3 = weft.sub %x, %2 : tensor<OxRxIxf32, #weft.device<cuda:0>>
      %4 = weft.exp %3 : tensor<OxRxIxf32, #weft.device<cuda:0>>
      %5 = weft.sum %4, dims = [1] : tensor<OxRxIxf32, #weft.device<cuda:0>>
      %6 = weft.broadcast_in_dim %5, dims = [0, 2] : tensor<OxIxf32, #weft.device<cuda:0>> -> tensor<OxRxIxf32, #weft.device<cuda:0>>
      %7 = weft.div %4, %6 : tensor<OxRxIxf32, #weft.device<cuda:0>>
      weft.return %7 : tensor<OxRxIxf32, #weft.device<cuda:0>>
    })";

constexpr const char *columnStatisticsText =
    R"(weft.func @main(%x: tensor<OxRxIxf32, #weft.device<cuda:0>>, %i: tensor<OxRxIxi32, #weft.device<cuda:0>>)
        -> (tensor<OxIxf32, #weft.device<cuda:0>>, tensor<OxIxf64, #weft.device<cuda:0>>, tensor<OxIxf64, #weft.device<cuda:0>>, tensor<OxIxi64, #weft.device<cuda:0>>, tensor<OxIxi32, #weft.device<cuda:0>>, tensor<OxIxi1, #weft.device<cuda:0>>) {
      %0 = weft.sum %x, dims = [1] : tensor<OxRxIxf32, #weft.device<cuda:0>>
      %1 = weft.convert %x to f64 : tensor<OxRxIxf32, #weft.device<cuda:0>>
      %mean, %m2, %n = weft.welford %1, dims = [1] : tensor<OxRxIxf64, #weft.device<cuda:0>>
      %2 = weft.argmax %x, dim = 1 : tensor<OxRxIxf32, #weft.device<cuda:0>>
      %3 = weft.sum %i, dims = [1] : tensor<OxRxIxi32, #weft.device<cuda:0>>
      %4 = weft.eq %i, %i : tensor<OxRxIxi32, #weft.device<cuda:0>>
      %5 = weft.any %4, dims = [1] : tensor<OxRxIxi1, #weft.device<cuda:0>>
      weft.return %0, %mean, %m2, %2, %3, %5 : tensor<OxIxf32, #weft.device<cuda:0>>, tensor<OxIxf64, #weft.device<cuda:0>>, tensor<OxIxf64, #weft.device<cuda:0>>, tensor<OxIxi64, #weft.device<cuda:0>>, tensor<OxIxi32, #weft.device<cuda:0>>, tensor<OxIxi1, #weft.device<cuda:0>>
    })";

std::string matrixText(const char *text, const Matrix &m) {
  return replaced(text, {{"<OxRxIx", "<" + std::to_string(m.outer) + "x" + std::to_string(m.rows) + "x" +
                                         std::to_string(m.inner) + "x"},
                         {"<OxIx", "<" + std::to_string(m.outer) + "x" + std::to_string(m.inner) + "x"}});
}

double additionsOfColumn(int64_t rows) {
  const auto shares = static_cast<double>(ir::columnShares(rows));
  return std::ceil(static_cast<double>(rows) / shares) + std::log2(shares);
}

/// Narrower and wider blocks, and vectors of another width.
void expectSameInOtherBlocks(FusedProgram &program, const std::vector<ir::Literal> &arguments,
                             const Bytes &expected) {
  const ir::Schedule chosen = program.fusion.getSchedule()->toSchedule();
  for (const auto [vector, across] : {std::pair<int64_t, int64_t>(1, 32), {2, 32}}) {
    ir::Schedule other = chosen;
    const int64_t shares = chosen[Field::rows];
    other[Field::vector] = vector;
    other[Field::block] = vector * across;
    other[Field::threads] = across * shares;
    other.tasks = ir::tasksOf(program.fusion, other);
    other[Field::scratch] = ir::scratchOf(program.fusion, other);
    if (ir::columnShape(program.fusion).inner.asNumber() % vector != 0 ||
        other[Field::scratch] > ir::mostSharedBytes)
      continue;
    auto schedule = ir::ScheduleAttr::get(program.fusion.getContext(), other);
    ASSERT_TRUE(succeeded(ir::verifySchedule(program.fusion, schedule)));
    program.fusion.setScheduleAttr(schedule);
    EXPECT_EQ(runEveryMode(program, arguments), expected);
  }
}

class CudaColumns : public ::testing::TestWithParam<Matrix> {
protected:
  void SetUp() override {
    if (const std::string why = whyNoEngine(); !why.empty())
      GTEST_SKIP() << why;
  }
};

TEST_P(CudaColumns, SoftmaxIsThatOfDoublePrecision) {
  const Matrix m = GetParam();
  FusedProgram program(matrixText(middleSoftmaxText, m), ir::FusionKind::column);
  FusedProgram wide(replaced(matrixText(middleSoftmaxText, m), {{"f32", "f64"}}), ir::FusionKind::column);
  ASSERT_TRUE(program.valid() && wide.valid());
  const auto arguments = program.randomArguments(3);
  const auto expected = wide.interpret(widened(arguments));
  choose(program);
  const Bytes bytes = runEveryMode(program, arguments);
  ASSERT_FALSE(bytes.empty());
  const ir::Literal found = literalsOf(program, bytes)[0];
  const double relative = (additionsOfColumn(m.rows) + 2 * (4 + 2) + 1) * unit;
  for (size_t i = 0; i < found.real.size(); ++i)
    expectNear(found, expected[0], i, relative * std::abs(expected[0].real[i]) + 1e-37);
  expectSameInOtherBlocks(program, arguments, bytes);
}

TEST_P(CudaColumns, StatisticsOfEveryKind) {
  const Matrix m = GetParam();
  FusedProgram program(matrixText(columnStatisticsText, m), ir::FusionKind::column);
  ASSERT_TRUE(program.valid());
  auto arguments = program.randomArguments(4);
  // The first of equal values, and the first NaN.
  arguments[0].real[0] = arguments[0].real[static_cast<size_t>((m.rows - 1) * m.inner)] = 8;
  if (m.inner > 1) {
    arguments[0].real[static_cast<size_t>((m.rows - 1) * m.inner + 1)] = std::nan("");
    arguments[0].real[static_cast<size_t>(m.rows / 2 * m.inner + 1)] = std::nan("");
  }
  choose(program);
  const Bytes bytes = runEveryMode(program, arguments);
  ASSERT_FALSE(bytes.empty());
  const auto found = literalsOf(program, bytes), expected = program.interpret(arguments);
  for (int64_t o = 0; o < m.outer; ++o)
    for (int64_t c = 0; c < m.inner; ++c) {
      double sum = 0, magnitude = 0;
      for (int64_t r = 0; r < m.rows; ++r) {
        const double value = arguments[0].real[static_cast<size_t>((o * m.rows + r) * m.inner + c)];
        sum += value;
        magnitude += std::abs(value);
      }
      const auto at = static_cast<size_t>(o * m.inner + c);
      ir::Literal wide = expected[0];
      wide.real[at] = sum;
      expectNear(found[0], wide, at, additionsOfColumn(m.rows) * unit * magnitude);
      expectNear(found[1], expected[1], at, 1e-12 * magnitude);
      expectNear(found[2], expected[2], at, 1e-11 * magnitude + 1e-12);
    }
  for (size_t i : {3u, 4u, 5u})
    EXPECT_EQ(found[i].whole, expected[i].whole) << "result " << i;
  expectSameInOtherBlocks(program, arguments, bytes);
}

// One, eight and 32 threads a column; with and without a rest of rows, of a block, and of a vector.
INSTANTIATE_TEST_SUITE_P(Shapes, CudaColumns,
                         ::testing::Values(Matrix{1, 1, 8}, Matrix{2, 3, 130}, Matrix{1, 15, 1},
                                           Matrix{3, 16, 66}, Matrix{1, 37, 410}, Matrix{1, 100, 256},
                                           Matrix{2, 128, 33}, Matrix{1, 131, 100}, Matrix{1, 256, 64},
                                           Matrix{1, 1000, 7}),
                         [](const auto &info) {
                           const Matrix &m = info.param;
                           return std::to_string(m.outer) + "_" + std::to_string(m.rows) + "_" +
                                  std::to_string(m.inner);
                         });

constexpr const char *lineText =
    R"(weft.func @main(%x: tensor<OxRxIxf32, #weft.device<cuda:0>>) -> tensor<OxRxIxf32, #weft.device<cuda:0>> {
      %1 = weft.cumsum %x, dim = 1 : tensor<OxRxIxf32, #weft.device<cuda:0>>
      weft.return %1 : tensor<OxRxIxf32, #weft.device<cuda:0>>
    })";

class CudaScans : public ::testing::TestWithParam<Matrix> {
protected:
  void SetUp() override {
    if (const std::string why = whyNoEngine(); !why.empty())
      GTEST_SKIP() << why;
  }
};

/// Sums of f32 and products of i16, in both directions, with and without the element itself.
TEST_P(CudaScans, RunningSumsAndProducts) {
  const Matrix m = GetParam();
  for (const char *flags : {"", " exclusive", " reverse", " reverse exclusive"})
    for (const bool whole : {false, true}) {
      const std::string type =
          std::string("tensor<OxRxIx") + (whole ? "i16" : "f32") + ", #weft.device<cuda:0>>";
      const std::string text = "weft.func @main(%x: " + type + ") -> " + type +
                               " {\n  %0 = weft.neg %x : " + type + "\n  %1 = weft." +
                               (whole ? "cumprod" : "cumsum") + " %0, dim = 1" + flags + " : " + type +
                               "\n  %2 = weft.neg %1 : " + type + "\n  weft.return %2 : " + type + "\n}";
      FusedProgram program(matrixText(text.c_str(), m), ir::FusionKind::scan);
      ASSERT_TRUE(program.valid()) << text;
      const auto arguments = program.randomArguments(9);
      choose(program);
      const Bytes bytes = runEveryMode(program, arguments);
      ASSERT_FALSE(bytes.empty());
      const ir::Literal found = literalsOf(program, bytes)[0];
      if (whole) {
        EXPECT_EQ(found.whole, program.interpret(arguments)[0].whole) << flags;
        continue;
      }
      FusedProgram wide(replaced(matrixText(text.c_str(), m), {{"f32", "f64"}}), ir::FusionKind::scan);
      const auto expected = wide.interpret(widened(arguments));
      // An element takes part in its thread's sum, in those of the shifts and of the warps, and in all
      // carries.
      const double chunk = static_cast<double>(ir::scanTeam(m.rows) * ir::scanVector(m.rows));
      const double additions =
          m.inner == 1 ? static_cast<double>(m.rows) / chunk + 24 : static_cast<double>(m.rows);
      for (size_t i = 0; i < found.real.size(); ++i) {
        // The magnitude of what is added is at most 2 for each element of a line.
        expectNear(found, expected[0], i, additions * unit * 2 * static_cast<double>(m.rows));
      }
    }
}

// Parts of a warp, a warp and blocks, with and without vectors and a rest of a chunk; columns.
INSTANTIATE_TEST_SUITE_P(Shapes, CudaScans,
                         ::testing::Values(Matrix{1, 1, 1}, Matrix{5, 3, 1}, Matrix{3, 4, 1},
                                           Matrix{7, 130, 1}, Matrix{133, 128, 1}, Matrix{2, 1000, 1},
                                           Matrix{2, 1024, 1}, Matrix{1, 1025, 1}, Matrix{1, 3072, 1},
                                           Matrix{2, 5000, 1}, Matrix{3, 17, 205}, Matrix{1, 40, 512},
                                           Matrix{2, 1, 6}),
                         [](const auto &info) {
                           const Matrix &m = info.param;
                           return std::to_string(m.outer) + "_" + std::to_string(m.rows) + "_" +
                                  std::to_string(m.inner);
                         });

/// A kernel without one of its barriers has a race, which race mode finds.
TEST(CudaReductions, EveryBarrierIsNeeded) {
  if (const std::string why = whyNoEngine(); !why.empty())
    GTEST_SKIP() << why;
  for (const auto &[text, kind] :
       {std::pair(rowsText(softmaxText, 2, 2000), ir::FusionKind::row),
        std::pair(matrixText(middleSoftmaxText, {1, 40, 32}), ir::FusionKind::column),
        std::pair(matrixText(lineText, {1, 3000, 1}), ir::FusionKind::scan)}) {
    FusedProgram program(text, kind);
    ASSERT_TRUE(program.valid());
    const auto arguments = program.randomArguments(6);
    choose(program);
    std::optional<EngineKernel> ptx = compileForEngine(program.fusion);
    ASSERT_TRUE(ptx);
    size_t barriers = 0;
    for (size_t at = 0; (at = ptx->kernel.ptx.find("bar.sync", at)) != std::string::npos; ++at, ++barriers) {
      std::string without = ptx->kernel.ptx;
      without.replace(at, without.find(';', at) + 1 - at, "");
      cudasim::ParseResult parsed = cudasim::Module::parse(without);
      ASSERT_TRUE(bool(parsed)) << parsed.error.str();
      EngineKernel mutant{std::move(parsed.module), ptx->kernel, ptx->slots};
      const cudasim::LaunchResult result =
          launchOnEngine(program, mutant, arguments, {cudasim::Order::forward, /*race=*/true}, nullptr);
      EXPECT_FALSE(result.ok()) << "without barrier " << barriers << "\n" << ptx->kernel.ptx;
      EXPECT_TRUE(result.ok() || result.fault->kind == cudasim::FaultKind::sharedRace ||
                  result.fault->kind == cudasim::FaultKind::uninitialized);
    }
    EXPECT_GE(barriers, 2u);
  }
}

/// The order of a reduction is that of its shape: neither other operands nor how a value is loaded change it.
TEST(CudaRow, OtherOpsOfAFusionDoNotChangeASum) {
  if (const std::string why = whyNoEngine(); !why.empty())
    GTEST_SKIP() << why;
  Bytes first;
  for (const char *more : {"%s", "%s, %h, %d"}) {
    const bool alone = more[2] == '\0';
    const std::string
        type = "tensor<7xf32, #weft.device<cuda:0>>",
        others = ", tensor<7x900xf16, #weft.device<cuda:0>>, tensor<7x900xf64, #weft.device<cuda:0>>";
    FusedProgram program("weft.func @main(%x: tensor<7x900xf16, #weft.device<cuda:0>>) -> (" + type +
                             (alone ? "" : others) +
                             ") {\n"
                             "  %c = weft.convert %x to f32 : tensor<7x900xf16, #weft.device<cuda:0>>\n"
                             "  %s = weft.sum %c, dims = [1] : tensor<7x900xf32, #weft.device<cuda:0>>\n"
                             "  %h = weft.neg %x : tensor<7x900xf16, #weft.device<cuda:0>>\n"
                             "  %d = weft.convert %x to f64 : tensor<7x900xf16, #weft.device<cuda:0>>\n"
                             "  weft.return " +
                             more + " : " + type + (alone ? "" : others) + "\n}",
                         ir::FusionKind::row);
    ASSERT_TRUE(program.valid());
    choose(program);
    const Bytes found = runEveryMode(program, program.randomArguments(8));
    ASSERT_FALSE(found.empty());
    if (first.empty())
      first = found;
    EXPECT_EQ(found[0], first[0]);
  }
}

} // namespace weft::testing
