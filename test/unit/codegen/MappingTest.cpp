//===- MappingTest.cpp - One skeleton, two mappings ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If a skeleton is shared by all targets, its kernels give the same bits whether a task is run by one thread,
// as on a CPU, or by the threads of a block. Fusions without such a skeleton have the fallback, or are
// refused.
//
//===----------------------------------------------------------------------===//
#include "FusionCases.h"
#include "RandomSchedule.h"
#include "codegen/emit/EmitKernel.h"
#include "codegen/emit/KernelBuilder.h"
#include "test/unit/TestLevel.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
namespace weft::testing {
namespace {

constexpr ThreadOrder orders[] = {ThreadOrder::ascending, ThreadOrder::descending};

bool hasSkeleton(const codegen::KernelTarget &target, ir::FusionOp fusion) {
  return target.skeletons[static_cast<size_t>(codegen::kernelForm(fusion))] != nullptr;
}

class Mappings : public ::testing::TestWithParam<FusionCase> {};

TEST_P(Mappings, BlocksOfThreadsGiveTheBitsOfACpu) {
  const FusionCase &each = GetParam();
  FusedProgram program(each.text, each.kind);
  ASSERT_TRUE(program.valid());
  const auto arguments = program.randomArguments(11, 0.1, 1.5);
  const auto expected = bytesOf(program.run(arguments, runnableTargets().front(), each.inPlace));
  const runtime::CheckRecord check = program.check;
  std::mt19937_64 random(2);
  int compared = 0;
  const ir::ScheduleAttr chosen = *program.fusion.getSchedule();
  for (int64_t threads : {32, 1, 7}) {
    const BlockTarget target(threads);
    if (!hasSkeleton(target.blocks, program.fusion)) {
      auto kernel = codegen::emitKernel(program.fusion, "k", target.blocks);
      ASSERT_FALSE(kernel);
      EXPECT_EQ(kernel.status().code(), "WEFT-E009");
      EXPECT_TRUE(kernel.status().message().starts_with(
          "cannot make kernel 'k': the target 'block' has no kernels of the kind '"))
          << kernel.status().message();
    } else {
      for (ThreadOrder order : orders) {
        ASSERT_EQ(bytesOf(program.runInBlocks(arguments, target, order, each.inPlace)), expected)
            << threads << " threads, " << textOf(*program.fusion.getSchedule()) << "\n"
            << program.kernelText;
        EXPECT_EQ(std::tie(program.check.check, program.check.position, program.check.value),
                  std::tie(check.check, check.position, check.value));
      }
      ++compared;
    }
    program.fusion.setScheduleAttr(chosen);
    program.fusion.setScheduleAttr(randomSchedule(program.fusion, random));
  }
  const bool isShared = each.kind == ir::FusionKind::loop || each.kind == ir::FusionKind::update ||
                        each.kind == ir::FusionKind::multi_tensor;
  EXPECT_EQ(compared > 0, isShared);
}

TEST_P(Mappings, EveryKindHasTheFallback) {
  const FusionCase &each = GetParam();
  FusedProgram program(each.text, each.kind);
  ASSERT_TRUE(program.valid());
  const auto arguments = program.randomArguments(12, 0.1, 1.5);
  const auto expected = bytesOf(program.run(arguments, runnableTargets().front(), each.inPlace));
  const auto device = ir::findDescription("cuda:sm_90");
  ASSERT_TRUE(device);
  program.fusion.setScheduleAttr(ir::chooseFallbackSchedule(program.fusion, *device));
  const BlockTarget target(5);
  EXPECT_EQ(bytesOf(program.runInBlocks(arguments, target, ThreadOrder::descending, each.inPlace)), expected)
      << textOf(*program.fusion.getSchedule()) << "\n"
      << program.kernelText;
}

INSTANTIATE_TEST_SUITE_P(Kinds, Mappings, ::testing::ValuesIn(fusionCases().begin(), fusionCases().end()),
                         [](const auto &info) { return std::string(info.param.name); });

/// The scalars of the step are those of a real one, because random ones would give NaN.
TEST(Mapping, AdamOverManyTensors) {
  FusedProgram program(
      R"(weft.func @main(%p: tensor<1000xf32, #cpu>, %g: tensor<1000xf32, #cpu>, %m: tensor<1000xf32, #cpu>, %v: tensor<1000xf32, #cpu>,
          %q: tensor<77xf32, #cpu>, %h: tensor<77xf32, #cpu>, %n: tensor<77xf32, #cpu>, %w: tensor<77xf32, #cpu>,
          %t: tensor<i64, #cpu>, %l: tensor<f64, #cpu>, %b: tensor<f64, #cpu>, %c: tensor<f64, #cpu>, %e: tensor<f64, #cpu>, %d: tensor<f64, #cpu>)
          -> (tensor<1000xf32, #cpu>, tensor<1000xf32, #cpu>, tensor<1000xf32, #cpu>, tensor<77xf32, #cpu>, tensor<77xf32, #cpu>, tensor<77xf32, #cpu>) {
      %0, %1, %2 = weft.adam_step(%p, %g, m %m, v %v, step %t, lr %l, betas %b, %c, eps %e, decay %d) : tensor<1000xf32, #cpu>, tensor<1000xf32, #cpu>, tensor<1000xf32, #cpu>, tensor<1000xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
      %3, %4, %5 = weft.adam_step(%q, %h, m %n, v %w, step %t, lr %l, betas %b, %c, eps %e, decay %d) : tensor<77xf32, #cpu>, tensor<77xf32, #cpu>, tensor<77xf32, #cpu>, tensor<77xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
      weft.return %0, %1, %2, %3, %4, %5 : tensor<1000xf32, #cpu>, tensor<1000xf32, #cpu>, tensor<1000xf32, #cpu>, tensor<77xf32, #cpu>, tensor<77xf32, #cpu>, tensor<77xf32, #cpu>
    })",
      ir::FusionKind::multi_tensor);
  ASSERT_TRUE(program.valid());
  auto arguments = program.randomArguments(3, 0.1, 1.5);
  const double numbers[] = {0.01, 0.9, 0.999, 1e-8, 0.1};
  for (size_t i = 0; i < std::size(numbers); ++i)
    arguments[9 + i].setReal(0, numbers[i]);
  const std::vector<int> inPlace = {0, 2, 3, 4, 6, 7};
  const auto expected = bytesOf(program.run(arguments, runnableTargets().front(), inPlace));
  for (int64_t threads : {32, 100}) {
    const BlockTarget target(threads);
    EXPECT_EQ(bytesOf(program.runInBlocks(arguments, target, ThreadOrder::descending, inPlace)), expected)
        << program.kernelText;
  }
}

TEST(Mapping, TheFirstFailureIsReportedWhateverThreadFindsIt) {
  FusedProgram program(
      R"(weft.func @main(%x: tensor<8xf32, #cpu>, %i: tensor<1000xi64, #cpu>) -> tensor<1000xf32, #cpu> {
      %0 = weft.gather %x, %i, dim = 0, kind = points : tensor<8xf32, #cpu>, tensor<1000xi64, #cpu>
      weft.return %0 : tensor<1000xf32, #cpu>
    })",
      ir::FusionKind::loop);
  ASSERT_TRUE(program.valid());
  auto arguments = program.randomArguments(5);
  for (int64_t at : {991, 418, 417, 700})
    arguments[1].setWhole(at, -at);
  const BlockTarget target(32);
  for (ThreadOrder order : orders) {
    program.runInBlocks(arguments, target, order);
    EXPECT_EQ(program.check.check, 1);
    EXPECT_EQ(program.check.position, 417);
    EXPECT_EQ(program.check.value, -417);
  }
}

//===----------------------------------------------------------------------===//
// A skeleton of one target
//===----------------------------------------------------------------------===//

constexpr int64_t rowLength = 203;

/// Each row in reverse, divided by its sum. A row's elements are in scratch, where threads read elements that
/// other threads wrote. Each thread adds pairs of elements, at a distance of twice the number of threads.
Status emitReversedRows(codegen::KernelBuilder &kernel) {
  const auto &mapping = static_cast<const BlockMapping &>(kernel.mapping);
  Type f32 = kernel.builder.getF32Type();
  auto pair = VectorType::get({2}, f32);
  Value row = kernel.scratchView(0, rowLength + 1, f32), length = kernel.index(rowLength);
  Value thread = kernel.create<gpu::ThreadIdOp>(gpu::Dimension::x);
  Value zero = kernel.create<arith::ConstantOp>(kernel.builder.getF32FloatAttr(0));
  kernel.forTasks([&](Value task) {
    Value base = kernel.mul(task, rowLength);
    kernel.parallelFor(kernel.index(0), length, 2, /*exact=*/false, [&](Value at, bool vector) {
      Value from = kernel.add(base, at);
      if (vector)
        kernel.create<vector::StoreOp>(
            kernel.create<vector::LoadOp>(pair, kernel.operand(0), ValueRange{from}).getResult(), row,
            ValueRange{at});
      else
        kernel.create<memref::StoreOp>(
            kernel.create<memref::LoadOp>(kernel.operand(0), ValueRange{from}).getResult(), row,
            ValueRange{at});
    });
    // The row is one element longer, so that its length is even.
    kernel.create<memref::StoreOp>(zero, row, ValueRange{length});
    mapping.barrier(kernel);
    Value none = kernel.create<arith::ConstantOp>(DenseElementsAttr::get(pair, 0.0f));
    Value from = kernel.mul(thread, 2);
    auto sums =
        kernel.forLoop(from, length, 2 * mapping.threads, ValueRange{none}, [&](Value at, ValueRange sum) {
          Value next = kernel.create<vector::LoadOp>(pair, row, ValueRange{at});
          next = kernel.create<arith::AddFOp>(sum[0], next);
          return SmallVector<Value>{next};
        });
    using State = codegen::Mapping::State;
    const State total = mapping.reduce(kernel, {sums[0]}, [&](const State &a, const State &b) {
      return State{kernel.create<arith::AddFOp>(a[0], b[0]).getResult()};
    });
    kernel.parallelFor(kernel.index(0), length, 1, /*exact=*/true, [&](Value at, bool) {
      Value other = kernel.create<arith::SubIOp>(kernel.index(rowLength - 1), at);
      Value element = kernel.create<memref::LoadOp>(row, ValueRange{other});
      kernel.create<memref::StoreOp>(kernel.create<arith::DivFOp>(element, total[0]).getResult(),
                                     kernel.result(0), ValueRange{kernel.add(base, at)});
    });
  });
  return {};
}

/// The sum that the skeleton computes, in the same order.
float sumInBlockOrder(const std::vector<float> &row, int64_t threads) {
  std::vector<float> sums;
  for (int64_t thread = 0; thread < threads; ++thread) {
    float low = 0, high = 0;
    for (int64_t i = 2 * thread; i < rowLength; i += 2 * threads) {
      low += row[static_cast<size_t>(i)];
      high += i + 1 < rowLength ? row[static_cast<size_t>(i) + 1] : 0;
    }
    sums.push_back(low + high);
  }
  for (size_t count = sums.size(); count > 1; count = (count + 1) / 2)
    for (size_t i = 0, half = (count + 1) / 2; i + half < count; ++i)
      sums[i] += sums[i + half];
  return sums[0];
}

TEST(Mapping, ASkeletonOfATargetReducesAcrossThreadsAndReadsWhatOthersWrote) {
  FusedProgram program(
      R"(weft.func @main(%x: tensor<9x203xf32, #cpu>) -> tensor<9x203xf32, #cpu> {
      %0 = weft.sum %x, dims = [1] : tensor<9x203xf32, #cpu>
      %1 = weft.broadcast_in_dim %0, dims = [0] : tensor<9xf32, #cpu> -> tensor<9x203xf32, #cpu>
      %2 = weft.reverse %x, dims = [1] : tensor<9x203xf32, #cpu>
      %3 = weft.div %2, %1 : tensor<9x203xf32, #cpu>
      weft.return %3 : tensor<9x203xf32, #cpu>
    })",
      ir::FusionKind::row);
  ASSERT_TRUE(program.valid());
  ir::Schedule schedule = program.fusion.getSchedule()->toSchedule();
  schedule[ir::ScheduleField::scratch] = 4 * (rowLength + 1);
  program.fusion.setScheduleAttr(ir::ScheduleAttr::get(program.fusion.getContext(), schedule));
  const auto arguments = program.randomArguments(8, 0.1, 1.5);
  for (int64_t threads : {32, 5, 1, 128})
    for (ThreadOrder order : orders) {
      const BlockTarget target(threads, emitReversedRows);
      const auto results = program.runInBlocks(arguments, target, order);
      ASSERT_EQ(results.size(), 1u);
      for (int64_t r = 0; r < 9; ++r) {
        std::vector<float> row;
        for (int64_t i = 0; i < rowLength; ++i)
          row.push_back(static_cast<float>(arguments[0].real[static_cast<size_t>(r * rowLength + i)]));
        const float sum = sumInBlockOrder(row, threads);
        for (int64_t i = 0; i < rowLength; ++i)
          ASSERT_EQ(results[0].real[static_cast<size_t>(r * rowLength + i)],
                    static_cast<double>(row[static_cast<size_t>(rowLength - 1 - i)] / sum))
              << threads << " threads, row " << r << ", " << i;
      }
    }
}

Status emitForeignOp(codegen::KernelBuilder &kernel) {
  Value zero = kernel.create<arith::ConstantOp>(kernel.builder.getF32FloatAttr(0));
  kernel.create<math::CbrtOp>(zero);
  return {};
}

TEST(Mapping, AnOpThatNoPrinterKnowsIsRefused) {
  FusedProgram program(
      R"(weft.func @main(%x: tensor<9x203xf32, #cpu>) -> tensor<9xf32, #cpu> {
      %0 = weft.sum %x, dims = [1] : tensor<9x203xf32, #cpu>
      weft.return %0 : tensor<9xf32, #cpu>
    })",
      ir::FusionKind::row);
  ASSERT_TRUE(program.valid());
  const BlockTarget target(32, emitForeignOp);
  EXPECT_EQ(
      codegen::emitKernel(program.fusion, "k", target.blocks).status().message(),
      "kernel 'k' has 'math.cbrt', which is no op of kernel IR; this is an error of Weft: please report it "
      "with the program");
}

} // namespace
} // namespace weft::testing
