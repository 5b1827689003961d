//===- AttentionKernelTest.cpp - Attention on GPUs ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of attention, compiled by NVRTC, on the engine that runs PTX (docs/cudasim.md), in race mode and in
// two orders of blocks and warps, which give equal bytes. Results are compared with those of plain loops in
// double precision, within bounds that follow from the roundings of each step.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/CudaCompiler.h"
#include "codegen/cuda/attention/PrintAttention.h"
#include "test/cudasim/engine/Engine.h"
#include "test/unit/TestLevel.h"
#include "test/unit/codegen/AttentionCases.h"

#include "gtest/gtest.h"

#include <limits>

namespace weft::testing {
namespace {

using codegen::AttentionOperand;
using codegen::AttentionSchedule;
using codegen::CudaAttention;

constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

struct Compiled {
  AttentionSchedule schedule;
  codegen::CudaKernel kernel;
  std::string text;
};

std::optional<Compiled> compileFor(const CudaAttention &a, const ir::TargetDescription &target,
                                   const AttentionSchedule *chosen = nullptr) {
  Compiled made;
  Expected<AttentionSchedule> schedule =
      chosen ? Expected<AttentionSchedule>(*chosen) : codegen::chooseAttentionSchedule(a, target);
  if (!schedule) {
    ADD_FAILURE() << schedule.status().message();
    return {};
  }
  made.schedule = *schedule;
  auto text = codegen::printAttention(a, made.schedule, target);
  auto compiler = codegen::CudaTextCompiler::make(target.name);
  if (!text || !compiler) {
    ADD_FAILURE() << (text ? compiler.status() : text.status()).message();
    return {};
  }
  made.text = *text;
  auto object = compiler->compile(*text, "attention", nullptr);
  if (!object) {
    ADD_FAILURE() << object.status().message() << "\n" << *text;
    return {};
  }
  made.kernel = *codegen::CudaKernel::deserialize(*object);
  EXPECT_EQ(made.kernel.threads, made.schedule.threads());
  return made;
}

/// Runs the kernel; what it writes is then in the tensors. False after a failure.
bool launch(const CudaAttention &a, const Compiled &made, Tensors &tensors) {
  auto parsed = cudasim::Module::parse(made.kernel.ptx);
  if (!parsed) {
    ADD_FAILURE() << parsed.error.str() << "\n" << made.text;
    return false;
  }
  Tensors first;
  for (cudasim::Order order : {cudasim::Order::forward, cudasim::Order::shuffled}) {
    cudasim::Memory memory;
    EXPECT_TRUE(parsed.module->load(memory));
    std::vector<uint64_t> parameters;
    for (const AttentionOperand &operand : a.operands) {
      const Elements &elements = tensors.at(operand.name);
      // As little aligned as the description says.
      const uint64_t shift = operand.alignment < 16 ? itemsize(operand.dtype) : 0;
      const uint64_t address = memory.allocate(elements.bytes.size() + shift) + shift;
      std::byte *at = memory.host(address, elements.bytes.size());
      if (operand.isWritten)
        std::memset(at, 0xFF, elements.bytes.size());
      else
        std::memcpy(at, elements.bytes.data(), elements.bytes.size());
      parameters.push_back(address);
    }
    cudasim::LaunchOptions options;
    options.grid = {uint32_t(codegen::attentionBlocks(made.schedule, a))};
    options.block = {uint32_t(made.schedule.threads())};
    options.dynamicShared = uint32_t(made.schedule.sharedBytes(a));
    options.order = order;
    options.seed = 11;
    options.race = true;
    auto ran =
        cudasim::launch(*parsed.module, "weft_kernel", memory, options, std::as_bytes(std::span(parameters)));
    if (!ran.ok()) {
      ADD_FAILURE() << ran.fault->str() << "\n" << made.schedule.str() << "\n" << made.text;
      return false;
    }
    for (size_t i = 0; i < a.operands.size(); ++i) {
      Elements &elements = tensors.at(a.operands[i].name);
      const std::byte *at = memory.host(parameters[i], elements.bytes.size());
      if (!a.operands[i].isWritten)
        EXPECT_EQ(std::memcmp(at, elements.bytes.data(), elements.bytes.size()), 0)
            << a.operands[i].name << " was written";
      std::memcpy(elements.bytes.data(), at, elements.bytes.size());
    }
    if (first.empty())
      first = tensors;
    for (const auto &[name, elements] : first)
      EXPECT_EQ(elements.bytes, tensors.at(name).bytes)
          << name << ": the order of blocks and warps must not matter\n"
          << made.schedule.str();
  }
  return true;
}

void computesRight(DType dtype, const AttentionCase &c, const char *target, std::mt19937 &random) {
  const CudaAttention a = makeAttention(dtype, c);
  const auto made = compileFor(a, *ir::findDescription(target));
  if (!made)
    return;
  Tensors tensors = randomTensors(a, random);
  if (c.backward)
    fillForward(a, made->schedule, tensors);
  if (!launch(a, *made, tensors))
    return;
  const std::string wrong = differences(a, made->schedule, tensors);
  EXPECT_EQ(wrong, "") << made->schedule.str() << "\n" << made->text;
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

class AttentionKernels : public ::testing::TestWithParam<DType> {
protected:
  void SetUp() override {
    if (!codegen::Nvrtc::get())
      GTEST_SKIP() << codegen::Nvrtc::get().status().message();
  }
  std::mt19937 random{static_cast<unsigned>(GetParam())};
};

const char *const targets[] = {"sm_90", "sm_80", "sm_100", "sm_75"};

AttentionCase randomCase(DType dtype, std::mt19937 &random) {
  const int64_t lengths[] = {1, 7, 16, 33, 64, 100, 130}, columns[] = {1, 3, 8, 20, 24, 40, 64};
  AttentionCase c;
  c.batch = random() % 2 ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{int64_t(1 + random() % 2)};
  c.rows = lengths[random() % 7];
  c.keys = random() % 2 ? c.rows : lengths[random() % 7];
  c.features = columns[random() % 7];
  c.values = random() % 2 ? c.features : columns[random() % 7];
  c.causal = random() % 3 == 0;
  c.backward = random() % 2;
  const std::optional<DType> masks[] = {std::nullopt, std::nullopt, DType::i1, f32, dtype};
  c.mask = masks[random() % 5];
  c.maskRepeats = random() % 2;
  c.roundsScores = random() % 3 == 0;
  c.layout = Layout(random() % 5);
  c.turns = random() % 2 ? int(random() % 5) : 0;
  c.aligned = random() % 4 != 0;
  return c;
}

std::string textOf(const AttentionCase &c) {
  std::string text = std::to_string(c.rows) + " x " + std::to_string(c.keys) + ", " +
                     std::to_string(c.features) + " and " + std::to_string(c.values) + " columns, layout " +
                     std::to_string(int(c.layout));
  return text + (c.causal ? ", causal" : "") + (c.backward ? ", backward" : "") +
         (c.roundsScores ? ", rounded" : "") + (c.mask ? ", mask of " + std::string(name(*c.mask)) : "");
}

TEST_P(AttentionKernels, AnyShapeMaskAndLayout) {
  // Halves take twice as long, and their two types have one text but for conversions.
  const int all = GetParam() == f32 || testLevel() == "full" ? 32 : 16;
  const int count = testLevel() == "quick" ? 12 : all;
  for (int i = 0; i < count && !HasFailure(); ++i) {
    const AttentionCase c = randomCase(GetParam(), random);
    SCOPED_TRACE(std::string(targets[i % 4]) + ", number " + std::to_string(i) + ", " + textOf(c));
    computesRight(GetParam(), c, targets[i % 4], random);
  }
}

/// Scores of NaN and of infinity, keys that nobody sees, and rows that see nothing.
TEST_P(AttentionKernels, WhatIsNoNumberStaysInItsRows) {
  AttentionCase c;
  c.rows = c.keys = 40;
  c.features = c.values = 16;
  c.mask = DType::i1;
  const CudaAttention a = makeAttention(GetParam(), c);
  const auto made = compileFor(a, *ir::findDescription("sm_90"));
  ASSERT_TRUE(made);
  Tensors tensors = randomTensors(a, random);
  auto put = [&](const char *name, int64_t row, int64_t column, double value) {
    tensors.at(name).putReal(placeOf(a, *a.find(name), 0, row, column), value);
  };
  std::memset(tensors.at("mask").bytes.data(), 1, tensors.at("mask").bytes.size());
  std::memset(tensors.at("mask").bytes.data() + 3 * 40, 0, 40); // row 3 sees nothing
  put("q", 5, 2, std::nan(""));
  put("q", 7, 0, infinity);
  put("v", 9, 4, infinity);
  ASSERT_TRUE(launch(a, *made, tensors));
  for (int64_t row = 0; row < 40; ++row)
    for (int64_t column = 0; column < 16; ++column) {
      const double found = tensors.at("out").real(row * 16 + column);
      SCOPED_TRACE("row " + std::to_string(row) + ", column " + std::to_string(column));
      if (row == 5 || row == 7 || (row == 3 && column == 4)) // in row 3, infinity is multiplied by 0
        EXPECT_TRUE(std::isnan(found)) << found;
      else if (row == 3)
        EXPECT_EQ(found, 0);
      else if (column == 4)
        EXPECT_EQ(found, infinity);
      else
        EXPECT_TRUE(std::isfinite(found)) << found;
    }
  EXPECT_EQ(tensors.at("lse").real(3), -infinity);
  EXPECT_TRUE(std::isnan(tensors.at("lse").real(5)));
}

/// Small and large tiles; the same text for f16 and bf16 but for conversions, so that f16 has sm_90 alone
/// below `full`.
TEST_P(AttentionKernels, NoSpillsForThreeTargets) {
  if (GetParam() == f16 && testLevel() == "quick")
    GTEST_SKIP() << "as bf16";
  const int modes = GetParam() != f32 && testLevel() != "quick" ? 4 : 2;
  for (const char *target : {"sm_80", "sm_90", "sm_100"}) {
    if (GetParam() == f16 && testLevel() != "full" && target != std::string("sm_90"))
      continue;
    for (int mode = 0; mode < modes; ++mode)
      for (auto [columns, rows] :
           {std::pair(32, 4096), std::pair(64, 4096), std::pair(128, 40), std::pair(256, 4096)}) {
        AttentionCase c;
        c.batch = {8, 16};
        c.rows = c.keys = rows;
        c.features = c.values = columns;
        c.backward = mode & 1;
        c.roundsScores = mode & 2;
        c.causal = columns == 64;
        c.layout = Layout::interleaved;
        const CudaAttention a = makeAttention(GetParam(), c);
        const ir::TargetDescription device = *ir::findDescription(target);
        const auto made = compileFor(a, device);
        ASSERT_TRUE(made);
        const codegen::CudaResources &used = made->kernel.resources;
        EXPECT_EQ(used.spillStoreBytes, 0u) << target << ": " << made->schedule.str();
        EXPECT_EQ(used.sharedBytes, 0u) << "all shared memory is what the launch asks for";
        EXPECT_GE(ir::residentBlocks(device, made->schedule.threads(), used.registers,
                                     made->schedule.sharedBytes(a)),
                  made->schedule.resident);
      }
  }
}

/// Sums have an infinity where the exact sum has one, whatever the probability that multiplies it.
TEST_P(AttentionKernels, InfinitiesAreResults) {
  for (int64_t keys : {1, 5})
    for (bool backward : {false, true}) {
      AttentionCase c;
      c.rows = 20;
      c.keys = keys;
      c.features = c.values = 16;
      c.backward = backward;
      const CudaAttention a = makeAttention(GetParam(), c);
      const auto made = compileFor(a, *ir::findDescription("sm_90"));
      ASSERT_TRUE(made);
      Tensors tensors = randomTensors(a, random);
      for (int64_t row = 0; row < c.rows; ++row)
        for (int64_t column = 0; column < 16; ++column) // equal scores
          tensors.at("q").putReal(row * 16 + column, 0);
      if (backward)
        fillForward(a, made->schedule, tensors);
      tensors.at(backward ? "grad" : "v").putReal(3, infinity);
      ASSERT_TRUE(launch(a, *made, tensors));
      SCOPED_TRACE(std::to_string(keys) + " keys" + (backward ? ", backward" : ""));
      const Elements &result = tensors.at(backward ? "dv" : "out");
      for (int64_t row = 0; row < (backward ? keys : c.rows); ++row)
        EXPECT_EQ(result.real(row * 16 + 3), infinity);
      EXPECT_TRUE(std::isfinite(result.real(4)));
    }
}

/// Rows that fill a tile do not exist: what they would see of a key is in no sum, even if it is no number.
TEST_P(AttentionKernels, KeysThatNoRowSeesHaveNoGradient) {
  for (bool causal : {false, true}) {
    AttentionCase c;
    c.rows = 5;
    c.keys = 9;
    c.features = c.values = 16;
    c.backward = true;
    c.causal = causal;
    c.mask = causal ? std::nullopt : std::optional(DType::i1);
    const CudaAttention a = makeAttention(GetParam(), c);
    const auto made = compileFor(a, *ir::findDescription("sm_90"));
    ASSERT_TRUE(made);
    Tensors tensors = randomTensors(a, random);
    const int64_t hidden = 7;
    if (!causal)
      for (int64_t row = 0; row < c.rows; ++row)
        for (int64_t key = 0; key < c.keys; ++key)
          tensors.at("mask").bytes[size_t(row * c.keys + key)] = std::byte(key != hidden);
    fillForward(a, made->schedule, tensors);
    tensors.at("k").putReal(hidden * 16 + 2, std::nan(""));
    ASSERT_TRUE(launch(a, *made, tensors));
    for (int64_t column = 0; column < 16; ++column) {
      EXPECT_EQ(tensors.at("dk").real(hidden * 16 + column), 0) << (causal ? "causal" : "masked");
      EXPECT_EQ(tensors.at("dv").real(hidden * 16 + column), 0) << (causal ? "causal" : "masked");
    }
  }
}

/// Loops that random cases rarely have: one stage, and offsets of 64 bits.
TEST_P(AttentionKernels, OneStageAndWideOffsets) {
  for (bool backward : {false, true}) {
    AttentionCase c;
    c.rows = 37;
    c.keys = 50;
    c.features = 24;
    c.values = 40;
    c.backward = backward;
    c.layout = Layout::interleaved;
    const CudaAttention a = makeAttention(GetParam(), c);
    const ir::TargetDescription device = *ir::findDescription("sm_90");
    AttentionSchedule schedule = *codegen::chooseAttentionSchedule(a, device);
    schedule.stages = 1;
    schedule.wideIndex = true;
    const auto made = compileFor(a, device, &schedule);
    ASSERT_TRUE(made);
    EXPECT_NE(made->text.find("typedef long long index;"), std::string::npos);
    Tensors tensors = randomTensors(a, random);
    if (backward)
      fillForward(a, made->schedule, tensors);
    ASSERT_TRUE(launch(a, *made, tensors));
    EXPECT_EQ(differences(a, made->schedule, tensors), "");
  }
}

TEST(AttentionSchedules, LargeStridesNeed64Bits) {
  AttentionCase c;
  c.rows = c.keys = 3;
  c.features = c.values = 8;
  CudaAttention a = makeAttention(f32, c);
  for (int64_t stride : {int64_t(1) << 20, int64_t(1) << 31}) {
    for (AttentionOperand &operand : a.operands)
      if (operand.name == "k")
        operand.view.strides[1] = stride;
    auto schedule = codegen::chooseAttentionSchedule(a, *ir::findDescription("sm_90"));
    ASSERT_TRUE(schedule) << schedule.status().message();
    EXPECT_EQ(schedule->wideIndex, stride > INT32_MAX);
  }
}

/// Which f64 holds and f32 does not.
TEST(AttentionSchedules, AScaleMayBeInfiniteInF32) {
  AttentionCase c;
  c.rows = c.keys = c.features = c.values = 8;
  CudaAttention a = makeAttention(f32, c);
  a.scale = -1e300;
  const ir::TargetDescription device = *ir::findDescription("sm_90");
  auto text = codegen::printAttention(a, *codegen::chooseAttentionSchedule(a, device), device);
  ASSERT_TRUE(text) << text.status().message();
  EXPECT_NE(text->find("product * __uint_as_float(0xff800000u)"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, AttentionKernels, ::testing::Values(f32, f16, bf16),
                         [](const auto &info) { return std::string(name(info.param)); });

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Every attention that the passes make a launch has a kernel on every device.
TEST(AttentionSchedules, EverySizeHasOne) {
  for (const char *target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"})
    for (DType dtype : {f32, f16, bf16})
      for (int64_t features : {1, 8, 31, 64, 100, 128, 200, 255, 256})
        for (int64_t values : {1, 16, 64, 160, 256})
          for (int64_t rows : {int64_t(1), int64_t(17), int64_t(1024), int64_t(1) << 30})
            for (bool backward : {false, true}) {
              AttentionCase c;
              c.rows = rows;
              c.keys = rows == 17 ? 3 : rows;
              c.features = features;
              c.values = values;
              c.backward = backward;
              c.mask = features == 31 ? std::optional(DType::i1) : std::nullopt;
              c.roundsScores = values == 64;
              c.causal = features == 100;
              c.layout = Layout(features % 5);
              c.turns = values % 5;
              const CudaAttention a = makeAttention(dtype, c);
              auto schedule = codegen::chooseAttentionSchedule(a, *ir::findDescription(target));
              ASSERT_TRUE(schedule) << target << ", " << textOf(c) << ": " << schedule.status().message();
            }
}

/// One number at a time.
TEST(AttentionSchedules, WrongNumbersAreRefused) {
  AttentionCase c;
  c.rows = c.keys = 200;
  c.features = c.values = 64;
  c.layout = Layout::interleaved;
  const ir::TargetDescription device = *ir::findDescription("sm_90");
  const CudaAttention a = makeAttention(f16, c);
  const AttentionSchedule right = *codegen::chooseAttentionSchedule(a, device);
  ASSERT_TRUE(right.matrixUnits);
  auto refused = [&](const char *words, auto change, const char *target = "sm_90") {
    AttentionSchedule s = right;
    change(s);
    const Status status = codegen::verifyAttentionSchedule(s, a, *ir::findDescription(target));
    EXPECT_FALSE(status.ok()) << s.str();
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    EXPECT_FALSE(codegen::printAttention(a, s, *ir::findDescription(target)));
  };
  refused("from 1 to 1024 threads", [](AttentionSchedule &s) { s.warps = 0; });
  refused("from 1 to 1024 threads", [](AttentionSchedule &s) { s.warps = 33; });
  refused("a tile is too small", [](AttentionSchedule &s) { s.rowsOfThread = 0; });
  refused("a tile is too small", [](AttentionSchedule &s) { s.others = 2048; });
  refused("1 or 2 stages", [](AttentionSchedule &s) { s.stages = 3; });
  refused("another number of accesses", [](AttentionSchedule &s) { s.accesses.pop_back(); });
  refused("multiplies no matrices", [](AttentionSchedule &) {}, "sm_75");
  refused("a thread has two rows", [](AttentionSchedule &s) { s.rowsOfThread = 4; });
  refused("whole in the threads of a warp", [](AttentionSchedule &s) { s.others = 24; });
  refused("1, 2, 4, 8 or 16 bytes", [](AttentionSchedule &s) { s.accesses[0].vector = 16; });
  refused("1, 2, 4, 8 or 16 bytes", [](AttentionSchedule &s) { s.accesses[0].vector = 3; });
  refused("cp.async copies", [](AttentionSchedule &s) { s.accesses[0].vector = 1; });
  refused("cp.async copies", [](AttentionSchedule &s) { s.accesses[3].async = true; });
  refused("read one by one", [](AttentionSchedule &s) { s.accesses[4].vector = 2; });
  refused("a vector lies along the columns", [](AttentionSchedule &s) { s.accesses[1].down = true; });
  refused("bytes of shared memory", [](AttentionSchedule &s) {
    s.warps = 32;
    s.others = 512;
  });
  refused("no room beside each other", [](AttentionSchedule &s) { s.resident = 20; });
  refused("registers", [](AttentionSchedule &s) {
    s.others = 512;
    s.stages = 1;
    s.resident = 1;
  });
  AttentionCase odd = c;
  odd.layout = Layout::spread;
  const CudaAttention spread = makeAttention(f16, odd);
  AttentionSchedule s = *codegen::chooseAttentionSchedule(spread, device);
  s.accesses[0].vector = 8;
  EXPECT_NE(codegen::verifyAttentionSchedule(s, spread, device).message().find("strides or alignment"),
            std::string::npos);
  AttentionCase part = c;
  part.layout = Layout::padded;
  part.values = 60;
  const CudaAttention padded = makeAttention(f16, part);
  s = *codegen::chooseAttentionSchedule(padded, device);
  EXPECT_EQ(s.accesses[3].vector, 4);
  s.accesses[3].vector = 8;
  EXPECT_NE(codegen::verifyAttentionSchedule(s, padded, device).message().find("not so many columns"),
            std::string::npos);
}

TEST(AttentionSchedules, WhatNoKernelComputesIsRefused) {
  const ir::TargetDescription device = *ir::findDescription("sm_90");
  AttentionCase c;
  c.rows = c.keys = 16;
  c.features = c.values = 257;
  EXPECT_NE(
      codegen::chooseAttentionSchedule(makeAttention(f32, c), device).status().message().find("257 features"),
      std::string::npos);
  c.features = c.values = 16;
  EXPECT_NE(codegen::chooseAttentionSchedule(makeAttention(f64, c), device).status().message().find("f64"),
            std::string::npos);
  EXPECT_NE(codegen::chooseAttentionSchedule(makeAttention(f32, c), *ir::findDescription("cpu"))
                .status()
                .message()
                .find("CUDA devices"),
            std::string::npos);
  CudaAttention infinite = makeAttention(f32, c);
  infinite.scale = infinity;
  EXPECT_NE(codegen::chooseAttentionSchedule(infinite, device).status().message().find("not finite"),
            std::string::npos);
}

} // namespace
} // namespace weft::testing
