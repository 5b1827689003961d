//===- ContractionTest.cpp - Products against plain loops -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContractionFixture.h"

#include "runtime/gemm/ContractionBlocks.h"
#include "runtime/gemm/Gemm.h"
#include "runtime/plan/Image.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

TEST(Contraction, EveryTypeAndManyShapesByOurOwnKernel) {
  const int64_t shapes[][4] = {{1, 1, 1, 1},    {1, 3, 5, 7},    {2, 17, 33, 9},  {1, 97, 193, 5},
                               {1, 8, 32, 300}, {3, 1, 40, 260}, {1, 100, 1, 30}, {1, 130, 200, 64}};
  for (DType dtype : dtypes)
    for (const auto &[batch, m, n, k] : shapes)
      for (int epilogue = 0; epilogue < 8; ++epilogue) {
        ContractionShape shape = Problem::dense(dtype, batch, m, n, k);
        shape.bias = epilogue & 1;
        shape.relu = epilogue & 2;
        shape.residual = epilogue & 4;
        Problem problem(shape);
        const auto own = Contraction::make_own(shape).value_or_throw();
        ASSERT_TRUE(problem.run(*own).ok());
        problem.expect_right();
        if (HasFatalFailure())
          FAIL() << name(dtype) << " " << batch << "x" << m << "x" << n << "x" << k << " " << epilogue;
      }
}

TEST(Contraction, WhatIsChosenIsRight) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64})
    for (int layout = 0; layout < 4; ++layout)
      for (int epilogue = 0; epilogue < 8; ++epilogue) {
        ContractionShape shape = Problem::dense(dtype, layout == 3 ? 3 : 1, 70, 90, 130);
        if (layout == 1) // a transposed
          shape.a_strides = {70 * 130, 1, 70};
        if (layout == 2) // b transposed, rows of c further apart
          shape.b_strides = {0, 1, 130}, shape.c_strides = {0, 100, 1};
        shape.bias = epilogue & 1;
        shape.relu = epilogue & 2;
        shape.residual = epilogue & 4;
        Problem problem(shape);
        const auto chosen = Contraction::get(shape).value_or_throw();
        if (dtype == DType::f32 && !has_own_kernel(shape))
          EXPECT_EQ(chosen->implementation().substr(0, 6), "onednn") << chosen->implementation();
        ASSERT_TRUE(problem.run(*chosen).ok());
        problem.expect_right();
        if (HasFatalFailure())
          FAIL() << name(dtype) << " layout " << layout << " " << chosen->implementation();
      }
}

// An epilogue gives the bits of the single ops: products, then the bias, then the residual, then relu.
TEST(Contraction, EpiloguesRoundAsSingleOps) {
  std::mt19937 random(7);
  for (DType dtype : {DType::f32, DType::f64})
    for (int round = 0; round < 40; ++round) {
      const auto extent = [&] { return static_cast<int64_t>(1 + random() % (round % 2 ? 300 : 70)); };
      ContractionShape shape = Problem::dense(dtype, round % 5 == 0 ? 3 : 1, extent(), extent(), extent());
      if (round % 3 == 1)
        shape.a_strides = {shape.m * shape.k, 1, shape.m};
      if (round % 4 == 1)
        shape.b_strides = {shape.k * shape.n, 1, shape.k};
      const ContractionShape alone = shape;
      shape.bias = round & 1;
      shape.residual = true;
      shape.relu = round & 2;
      Problem whole(shape), parts(shape);
      const auto chosen = Contraction::get(shape).value_or_throw(),
                 plain = Contraction::get(alone).value_or_throw();
      EXPECT_EQ(chosen->implementation(), plain->implementation());
      ASSERT_TRUE(whole.run(*chosen).ok());
      ASSERT_TRUE(parts.run(*plain).ok());
      const auto finish = [&]<typename T>(T) {
        for (int64_t i = 0; i < shape.batch * shape.m * shape.n; ++i) {
          T value = parts.c.at<T>(i);
          if (shape.bias)
            value += parts.bias.at<T>(i % shape.n);
          value += parts.residual.at<T>(i);
          parts.c.at<T>(i) = shape.relu && value < 0 ? 0 : value;
        }
      };
      dtype == DType::f32 ? finish(0.0f) : finish(0.0);
      EXPECT_EQ(whole.c.bytes, parts.c.bytes) << name(dtype) << " " << shape.batch << "x" << shape.m << "x"
                                              << shape.n << "x" << shape.k << " " << chosen->implementation();
    }
}

// The plan determines which library computes a contraction, and how much workspace it may use.
TEST(Contraction, ThePlanChooses) {
  const ContractionShape shape = Problem::dense(DType::f32, 1, 64, 64, 64);
  const auto by = [](const ContractionShape &s, const ContractionChoice &choice) {
    return Contraction::select(s, choice).value_or_throw().library;
  };
  EXPECT_EQ(by(shape, {}), "onednn");
  EXPECT_EQ(by(shape, {.library_flops = INT64_MAX}), "weft");
  const ContractionSupport support = Contraction::ask_library(shape);
  ASSERT_TRUE(support.taken) << support.refusal;
  ContractionShape transposed = Problem::dense(DType::f32, 1, 300, 300, 300);
  transposed.a_strides = {90000, 1, 300};
  const ContractionSupport needy = Contraction::ask_library(transposed);
  if (needy.workspace_bytes > 0) {
    const auto granted = static_cast<int64_t>(needy.workspace_bytes);
    EXPECT_EQ(by(transposed, {.workspace_bytes = granted}), "onednn");
    EXPECT_EQ(by(transposed, {.workspace_bytes = granted - 1}), "weft");
  }
  EXPECT_NE(Contraction::ask_library(Problem::dense(DType::f64, 1, 64, 64, 64)).refusal.find("f64"),
            std::string::npos);
}

// oneDNN counts in 32 bits and must not get such a shape. Nothing is allocated here: the implementation is
// chosen from the shape, and the contraction that is made has the same one.
TEST(Contraction, IsSelectedApartFromBeingRun) {
  const ContractionShape shape = Problem::dense(DType::f32, 1, 64, 64, 64);
  const ContractionSelection library = Contraction::select(shape).value_or_throw();
  EXPECT_EQ(library.library, "onednn");
  EXPECT_EQ(library.refusal, "");
  EXPECT_NE(library.prepared, nullptr);
  EXPECT_EQ(Contraction::make(shape, library).value_or_throw()->implementation(), library.implementation);
  const auto own = [&](const ContractionShape &shape, const ContractionChoice &choice) {
    const ContractionSelection selection = Contraction::select(shape, choice).value_or_throw();
    EXPECT_EQ(selection.library, "weft");
    EXPECT_EQ(selection.prepared, nullptr);
    EXPECT_EQ(Contraction::make(shape, selection).value_or_throw()->implementation(),
              selection.implementation);
    return selection.refusal;
  };
  EXPECT_EQ(own(shape, {.library = "weft"}), "") << "the plan asks for it";
  EXPECT_EQ(own(shape, {.library_flops = INT64_MAX}), "too few operations for a library to be called");
  EXPECT_NE(own(Problem::dense(DType::f64, 1, 64, 64, 64), {.library = "onednn"}), "");
  const ContractionSupport support = Contraction::ask_library(shape);
  EXPECT_EQ(support.workspace_bytes, library.workspace_bytes);
  EXPECT_FAILS(Contraction::select(Problem::dense(DType::f32, 1, -1, 1, 1)).status(), "negative extent -1");
}

// A contraction on the host has no stream.
TEST(Contraction, OfTheHostRefusesAStream) {
  ContractionShape lying = Problem::dense(DType::f32, 2, 64, 64, 64);
  lying.c_strides = {64 * 100, 100, 1};
  for (const ContractionShape &shape : {Problem::dense(DType::f32, 1, 64, 64, 64), lying})
    for (const auto &contraction :
         {Contraction::make_own(shape).value_or_throw(), Contraction::make_library(shape).value_or_throw()}) {
      int stream = 0;
      EXPECT_FAILS(contraction->run({}, {false, &stream}), "cannot be issued to a stream of a device");
    }
}

TEST(Contraction, HugeExtentsAreNotForTheLibrary) {
  for (int64_t huge : {int64_t{1} << 31, int64_t{1} << 40})
    for (ContractionShape shape :
         {Problem::dense(DType::f32, 1, huge, 16, 32), Problem::dense(DType::f32, 1, 16, huge, 32),
          Problem::dense(DType::f32, 1, 16, 32, huge), Problem::dense(DType::f32, huge, 2, 2, 2)})
      EXPECT_NE(Contraction::ask_library(shape).refusal.find("2^31"), std::string::npos);
}

TEST(Contraction, EmptyExtentsAndRepeatedOperands) {
  for (DType dtype : dtypes) {
    for (const auto &[m, n, k] : {std::array<int64_t, 3>{0, 4, 4}, {4, 0, 4}, {4, 4, 0}, {0, 0, 0}}) {
      ContractionShape shape = Problem::dense(dtype, 1, m, n, k);
      shape.bias = shape.relu = true;
      Problem problem(shape);
      ASSERT_TRUE(problem.run(*Contraction::get(shape).value_or_throw()).ok());
      problem.expect_right(); // k of 0: the bias, relu applied
    }
    ContractionShape repeated = Problem::dense(dtype, 3, 40, 50, 60);
    repeated.a_strides = {0, 60, 1}; // one a for the whole batch
    repeated.b_strides = {3000, 50, 0};
    Problem problem(repeated);
    ASSERT_TRUE(problem.run(*Contraction::get(repeated).value_or_throw()).ok());
    problem.expect_right();
  }
}

TEST(Contraction, OfNothingMayHaveExtentsWhoseProductOverflows) {
  for (const int empty : {0, 1, 2}) {
    ContractionShape shape;
    shape.batch = empty == 0 ? 0 : INT64_MAX;
    shape.m = empty == 1 ? 0 : INT64_MAX;
    shape.n = empty == 2 ? 0 : INT64_MAX;
    shape.k = 1;
    for (const int64_t more : {0, 2}) {
      shape.more = more;
      const auto made = Contraction::get(shape);
      ASSERT_TRUE(made.ok()) << made.status().message();
      EXPECT_EQ((*made)->implementation().substr(0, 5), "weft:");
      EXPECT_TRUE((*made)->run({}).ok()) << "without any memory";
    }
  }
}

TEST(Contraction, ANotANumberPassesRelu) {
  for (int64_t size : {4, 64}) {
    ContractionShape shape = Problem::dense(DType::f32, 1, size, size, size);
    shape.relu = true;
    Problem problem(shape);
    problem.a.at<float>(0) = NAN;
    const auto chosen = Contraction::get(shape).value_or_throw();
    ASSERT_TRUE(problem.run(*chosen).ok());
    EXPECT_TRUE(std::isnan(problem.c.at<float>(0))) << chosen->implementation();
  }
}

TEST(Contraction, AnOddSumOfHalvesRunsOnEveryProcessor) {
  for (const int64_t m : {129, 144, 195, 198, 200, 204})
    for (const int64_t n : {10, 22, 31, 63})
      for (const int64_t k : {31, 63, 65, 127}) {
        Problem problem(Problem::dense(DType::bf16, 1, m, n, k));
        ASSERT_TRUE(problem.run(*Contraction::get(problem.shape).value_or_throw()).ok());
        problem.expect_right();
      }
}

TEST(Contraction, BlocksCoverTheProductAndFollowFromItsShape) {
  std::mt19937 random(11);
  const auto pieces = [](int64_t extent, int64_t of) { return (extent + of - 1) / of; };
  for (int round = 0; round < 2000; ++round) {
    const auto extent = [&](int bits) {
      return static_cast<int64_t>(1 + random() % (1u << random() % bits));
    };
    ContractionShape shape = Problem::dense(DType::f32, extent(8), extent(14), extent(14), extent(14));
    const BlockCut cut = round % 2 ? BlockCut::anywhere : BlockCut::rows;
    const ContractionBlocks block = contraction_blocks(shape, cut);
    const auto what = ::testing::Message()
                      << shape.batch << "x" << shape.m << "x" << shape.n << "x" << shape.k;
    for (const auto &[whole, part] :
         {std::pair{shape.batch, block.batch}, {shape.m, block.m}, {shape.n, block.n}, {shape.k, block.k}}) {
      ASSERT_GE(part, 1) << what;
      ASSERT_LE(part, whole) << what;
    }
    for (const auto &[whole, part] : {std::pair{shape.m, block.m}, {shape.n, block.n}, {shape.k, block.k}})
      EXPECT_TRUE(part == whole || part % 16 == 0) << what;
    EXPECT_LE(pieces(shape.batch, block.batch) * pieces(shape.m, block.m) * pieces(shape.n, block.n) *
                  pieces(shape.k, block.k),
              64)
        << what;
    if (cut == BlockCut::rows)
      EXPECT_TRUE(block.n == shape.n && block.k == shape.k) << what;
    // A sum is split only if no other dimension is.
    if (block.k < shape.k)
      EXPECT_TRUE(block.m == shape.m && block.n == shape.n && shape.batch == 1) << what;
    shape.bias = shape.residual = shape.relu = true;
    const ContractionBlocks with = contraction_blocks(shape, cut);
    EXPECT_TRUE(with.batch == block.batch && with.m == block.m && with.n == block.n && with.k == block.k)
        << what;
  }
  const auto count = [&](const ContractionShape &shape, BlockCut cut = BlockCut::anywhere) {
    const ContractionBlocks block = contraction_blocks(shape, cut);
    return pieces(shape.m, block.m) * pieces(shape.n, block.n) * pieces(shape.k, block.k);
  };
  EXPECT_EQ(count(Problem::dense(DType::f32, 1, 64, 64, 64)), 1);
  EXPECT_EQ(count(Problem::dense(DType::f32, 1, 128, 256, 512)), 4);
  EXPECT_EQ(count(Problem::dense(DType::f32, 1, 1024, 1024, 1024)), 64);
  EXPECT_EQ(count(Problem::dense(DType::f32, 1, 8, 16, 100000)), 4);
  EXPECT_EQ(count(Problem::dense(DType::f32, 1, 64, 512, 784), BlockCut::rows), 4);
  EXPECT_EQ(count(Problem::dense(DType::f32, 1, 8, 16, 100000), BlockCut::rows), 1);
}

// A limit in the plan has the same effect on a machine with more threads, and no byte after the scratch is
// written.
TEST(Contraction, ScratchIsWhatWasPromised) {
  for (const auto &[m, n, k] : {std::array<int64_t, 3>{8, 16, 100000}, {300, 300, 300}, {1, 1000, 2000}}) {
    const ContractionShape shape = Problem::dense(DType::f32, 1, m, n, k);
    const auto needed = static_cast<int64_t>(Contraction::ask_library(shape).workspace_bytes);
    const auto chosen = Contraction::get(shape, {.workspace_bytes = needed}).value_or_throw();
    if (!has_own_kernel(shape))
      EXPECT_EQ(chosen->implementation().substr(0, 6), "onednn");
    EXPECT_EQ(static_cast<int64_t>(chosen->workspace_bytes()), needed);
    if (needed > 0)
      EXPECT_EQ(Contraction::get(shape, {.workspace_bytes = needed - 1})
                    .value_or_throw()
                    ->implementation()
                    .substr(0, 4),
                "weft");
    for (const int width : {1, 2, 4, 64})
      EXPECT_LE(static_cast<int64_t>(chosen->scratch_bytes(width)), needed) << width;
    constexpr size_t behind = 4096;
    const size_t bytes = chosen->scratch_bytes(executor().width());
    const auto scratch = Buffer::allocate(bytes + behind).value_or_throw();
    std::memset(static_cast<std::byte *>(scratch->data()) + bytes, 0x5a, behind);
    Problem problem(shape);
    ASSERT_TRUE(chosen
                    ->run({problem.a.bytes.data(), problem.b.bytes.data(), problem.c.bytes.data(), nullptr,
                           nullptr, scratch->data()})
                    .ok());
    problem.expect_right();
    EXPECT_EQ(std::count(static_cast<std::byte *>(scratch->data()) + bytes,
                         static_cast<std::byte *>(scratch->data()) + bytes + behind, std::byte{0x5a}),
              static_cast<std::ptrdiff_t>(behind));
  }
}

TEST(Contraction, RefusesWhatMakesNoSense) {
  ContractionShape shape = Problem::dense(DType::i1, 1, 4, 4, 4);
  EXPECT_FAILS(Contraction::get(shape).status(), "element type i1");
  shape = Problem::dense(DType::f32, 1, 4, 4, 4);
  shape.m = -1;
  EXPECT_FAILS(Contraction::get(shape).status(), "negative extent -1");
  shape.m = 4;
  shape.a_strides[1] = -4;
  EXPECT_FAILS(Contraction::get(shape).status(), "negative stride -4");
  EXPECT_FAILS(Contraction::make_library(Problem::dense(DType::f64, 1, 4, 4, 4)).status(),
               "element type f64");
  EXPECT_FAILS(Contraction::make_library(Problem::dense(DType::f32, 1, 4, 0, 4)).status(), "an extent of 0");
}

// Every kernel of ours against the plain one, over all bit patterns: sums wrap.
TEST(Contraction, IntegersOfAllSizesWrapAlikeOnEveryLevel) {
  std::vector<const GemmTable *> tables;
  if (cpu_level() >= CpuLevel::v3)
    tables.push_back(&gemmV3);
  if (cpu_level() >= CpuLevel::v4)
    tables.push_back(&gemmV4);
  if (cpu_level() >= CpuLevel::v4 && __builtin_cpu_supports("avx512vnni"))
    tables.push_back(&gemmVnni);
  const auto scratch = Buffer::allocate(gemmScratchBytes).value_or_throw();
  std::mt19937 random(3);
  for (DType dtype : {DType::i8, DType::ui8, DType::i16, DType::i32, DType::i64})
    for (const auto &[m, n, k] : std::vector<std::array<int64_t, 3>>{
             {1, 1, 1}, {8, 32, 2}, {9, 33, 7}, {13, 70, 300}, {96, 192, 257}, {5, 5, 0}})
      for (const bool transposed : {false, true}) {
        Matrix a(dtype, m * k + 1), b(dtype, k * n + 1), bias(dtype, n), expected(dtype, m * n),
            found(dtype, m * n);
        for (Matrix *matrix : {&a, &b, &bias})
          for (std::byte &byte : matrix->bytes)
            byte = static_cast<std::byte>(random());
        GemmTile tile = {};
        tile.a = a.bytes.data();
        tile.b = b.bytes.data();
        tile.bias = bias.bytes.data();
        tile.scratch = scratch->data();
        tile.m = m;
        tile.n = n;
        tile.k = k;
        tile.a_m = transposed ? 1 : k;
        tile.a_k = transposed ? m : 1;
        tile.b_k = transposed ? 1 : n;
        tile.b_n = transposed ? k : 1;
        tile.c_m = n;
        tile.c_n = 1;
        tile.relu = transposed;
        tile.c = expected.bytes.data();
        gemmBaseline.functions[static_cast<size_t>(dtype)](&tile);
        tile.c = found.bytes.data();
        for (const GemmTable *table : tables)
          if (const GemmTileFn function = table->functions[static_cast<size_t>(dtype)]) {
            std::ranges::fill(found.bytes, std::byte{0x55});
            function(&tile);
            EXPECT_EQ(found.bytes, expected.bytes) << name(dtype) << " " << m << " x " << n << " x " << k;
          }
      }
}

TEST(Contraction, CacheIsSharedAndBounded) {
  const ContractionShape shape = Problem::dense(DType::f32, 1, 64, 64, 64);
  EXPECT_EQ(Contraction::get(shape).value_or_throw(), Contraction::get(shape).value_or_throw());
  for (int64_t n = 1; n < 1100; ++n)
    ASSERT_TRUE(Contraction::get(Problem::dense(DType::i32, 1, 1, n, 1)).ok());
  EXPECT_EQ(Contraction::cached(), 1024u);
}

TEST(Contraction, SeveralThreadsAtOnce) {
  const ContractionShape shape = Problem::dense(DType::f32, 1, 96, 96, 96);
  const auto chosen = Contraction::get(shape).value_or_throw();
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Problem>> problems;
  for (unsigned t = 0; t < 3; ++t)
    problems.push_back(std::make_unique<Problem>(shape, t));
  for (auto &problem : problems)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(problem->run(*chosen).ok());
    });
  for (std::thread &thread : threads)
    thread.join();
  for (auto &problem : problems)
    problem->expect_right();
}

// A measurement, not a check: run with --gtest_also_run_disabled_tests.
TEST(Contraction, DISABLED_Speed) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i32, DType::i8})
    for (int64_t size : {8, 16, 24, 32, 48, 64, 128, 256, 512, 1024, 2048}) {
      const ContractionShape shape = Problem::dense(dtype, 1, size, size, size);
      for (int which = 0; which < 2; ++which) {
        Expected<std::shared_ptr<const Contraction>> contraction =
            which ? Contraction::make_library(shape) : Contraction::make_own(shape);
        if (!contraction)
          continue;
        Problem problem(shape);
        const auto scratch =
            Buffer::allocate((*contraction)->scratch_bytes(executor().width())).value_or_throw();
        double best = 1e30;
        const int inner = std::max<int>(1, static_cast<int>(2e6 / static_cast<double>(size * size * size)));
        for (int round = 0; round < 8; ++round) {
          const auto begin = std::chrono::steady_clock::now();
          for (int i = 0; i < inner; ++i)
            (void)(*contraction)
                ->run({problem.a.bytes.data(), problem.b.bytes.data(), problem.c.bytes.data(), nullptr,
                       nullptr, scratch->data()});
          best = std::min(
              best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / inner);
        }
        std::printf("%-5s %5ld %-28s %10.2f us %8.1f GFLOP/s\n", std::string(name(dtype)).c_str(), long(size),
                    (*contraction)->implementation().c_str(), best * 1e6,
                    2.0 * static_cast<double>(size * size * size) / best * 1e-9);
      }
    }
}

} // namespace
