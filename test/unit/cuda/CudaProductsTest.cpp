//===- CudaProductsTest.cpp - Contractions by cuBLASLt --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/Devices.h"
#include "runtime/device/Device.h"
#include "runtime/execution/Executable.h"
#include "runtime/gemm/Contraction.h"
#include "runtime/package/Package.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/queue/Buffer.h"
#include "test/unit/TemporaryFolder.h"
#include "test/unit/cuda/ChildProcess.h"
#include "test/unit/frontend/DeviceTraining.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace weft;

namespace {
using weft::test::TemporaryFolder;
using weft::testing::callsIn;
using weft::testing::Child;
using weft::testing::namesIn;
using weft::testing::numbers;
using weft::testing::runChild;

/// What the device says of a product of 64 x 32 by 32 x 48, with changes.
template <typename Change> runtime::DeviceContraction ask(Change change) {
  runtime::ContractionShape shape;
  shape.m = 64, shape.n = 48, shape.k = 32;
  shape.a_strides = {0, 32, 1};
  shape.b_strides = {0, 48, 1};
  shape.c_strides = {0, 48, 1};
  runtime::ContractionChoice choice{"cublaslt", 0, 1 << 20};
  runtime::ContractionAlignment alignment{16, 16, 16, 16};
  change(shape, choice, alignment);
  auto device = runtime::cuda_device(0);
  EXPECT_TRUE(bool(device)) << device.status().message();
  auto found = (*device)->contraction(shape, choice, alignment);
  EXPECT_TRUE(bool(found)) << found.status().message();
  EXPECT_EQ(found->contraction == nullptr, !found->refusal.empty());
  return *found;
}

bool hasLibrary() {
  return ask([](auto &, auto &, auto &) {}).contraction != nullptr;
}

} // namespace

TEST(CudaProducts, TheLibraryTakesWhatItComputesAsItIsAsked) {
  if (!hasLibrary())
    GTEST_SKIP() << "there is no cuBLASLt";
  for (const DType dtype : {f32, f64, f16, bf16})
    for (const bool bias : {false, true})
      for (const bool a_columns : {false, true})
        for (const bool b_columns : {false, true}) {
          if (bias && dtype == f64) // no plan asks for that
            continue;
          const auto found = ask([&](auto &shape, auto &, auto &) {
            shape.dtype = dtype;
            shape.bias = bias;
            if (a_columns)
              shape.a_strides = {0, 1, 64};
            if (b_columns)
              shape.b_strides = {0, 1, 32};
          });
          ASSERT_TRUE(found.contraction) << found.refusal;
          EXPECT_TRUE(found.contraction->implementation().starts_with("cublaslt:"));
          EXPECT_LE(found.contraction->workspace_bytes(), size_t(1) << 20);
        }
}

TEST(CudaProducts, WhatItDoesNotTakeHasAReason) {
  if (!hasLibrary())
    GTEST_SKIP() << "there is no cuBLASLt";
  const auto refusal = [](auto change) { return ask(change).refusal; };
  const auto says = [&](const std::string &part, auto change) {
    EXPECT_TRUE(mentions(refusal(change), part)) << refusal(change);
  };
  says("does not multiply i8", [](auto &shape, auto &, auto &) { shape.dtype = i8; });
  says("the plan names 'weft'", [](auto &, auto &choice, auto &) { choice.library = "weft"; });
  says("smaller than the plan gives", [](auto &, auto &choice, auto &) { choice.library_flops = 1 << 30; });
  says("nothing to multiply", [](auto &shape, auto &, auto &) { shape.m = 0; });
  says("its strides", [](auto &shape, auto &, auto &) { shape.a_strides = {0, 64, 2}; });
  says("its strides", [](auto &shape, auto &, auto &) { shape.b_strides = {0, 0, 1}; });
  says("its strides", [](auto &shape, auto &, auto &) { shape.c_strides = {0, 1, 64}; });
  says("residual", [](auto &shape, auto &, auto &) { shape.residual = true; });
  says("relu", [](auto &shape, auto &, auto &) { shape.relu = true; });
  says("sum of products", [](auto &shape, auto &, auto &) { shape.more = 2; });
  says("multiples of 16", [](auto &shape, auto &, auto &alignment) {
    shape.bias = true;
    alignment.bias = 4;
  });
}

TEST(CudaProducts, CandidatesAreCheckedAndNothingElseIsAsked) {
  if (!hasLibrary())
    GTEST_SKIP() << "there is no cuBLASLt";
  const runtime::DeviceContraction asked = ask([](auto &, auto &, auto &) {});
  ASSERT_TRUE(asked.candidates);
  ASSERT_GE(asked.candidates->algorithms.size(), 2U);
  EXPECT_EQ(asked.candidates->device, 90U);
  const auto with = [&](auto change) {
    return ask([&](auto &, auto &choice, auto &) {
      choice.candidates = *asked.candidates;
      change(choice.candidates);
    });
  };
  const runtime::DeviceContraction same = with([](auto &) {});
  ASSERT_TRUE(same.contraction) << same.refusal;
  EXPECT_EQ(same.contraction->implementation(), asked.contraction->implementation());
  EXPECT_FALSE(same.candidates) << "the library was asked again";
  // The second, if the library does not take the first.
  const auto spoil = [](runtime::ContractionAlgorithm &algorithm) { algorithm.words.fill(~uint64_t(0)); };
  const runtime::DeviceContraction second = with([&](auto &candidates) { spoil(candidates.algorithms[0]); });
  ASSERT_TRUE(second.contraction) << second.refusal;
  const runtime::DeviceContraction alone =
      with([&](auto &candidates) { candidates.algorithms.erase(candidates.algorithms.begin()); });
  EXPECT_EQ(second.contraction->implementation(), alone.contraction->implementation());
  // Our own kernel behind all of them.
  const runtime::DeviceContraction none =
      with([&](auto &candidates) { std::ranges::for_each(candidates.algorithms, spoil); });
  EXPECT_TRUE(none.refuses_candidates);
  EXPECT_TRUE(mentions(none.refusal, "takes none of the")) << none.refusal;
  const runtime::DeviceContraction newer = with([](auto &candidates) { ++candidates.release; });
  EXPECT_TRUE(newer.refuses_candidates);
  EXPECT_TRUE(mentions(newer.refusal, "compile the package again with this library")) << newer.refusal;
  // Those of another GPU say nothing.
  const runtime::DeviceContraction other = with([](auto &candidates) { candidates.device = 80; });
  ASSERT_TRUE(other.contraction) << other.refusal;
  EXPECT_TRUE(other.candidates);
}

TEST(CudaProducts, ValuesAreThoseOfTheHost) {
  const auto check = [](Tensor a, Tensor b, const Tensor &bias, double bound) {
    const auto program = [&](const char *device) {
      Tensor product = matmul(a.to(device), b.to(device));
      return bias.defined() ? product + bias.to(device) : product;
    };
    const Floats found = floats(program("cuda:0").cpu().to(f32)), expected = floats(program("cpu").to(f32));
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], expected[i], bound * (1 + std::abs(expected[i]))) << "element " << i;
  };
  for (const auto &[dtype, bound] : {std::pair{f32, 1e-5}, {f64, 1e-6}, {f16, 4e-3}, {bf16, 3e-2}}) {
    SCOPED_TRACE(std::string(name(dtype)));
    Tensor x = numbers(3 * 17 * 24).to(dtype), w = numbers(24 * 40).to(dtype) * 0.25;
    Tensor batch = x.reshape({3, 17, 24}), one = batch[1], wide = w.reshape({24, 40});
    check(one, wide, {}, bound);
    check(one, wide, numbers(40).to(dtype), bound);
    check(batch, wide, {}, bound);
    check(batch, batch.transpose(1, 2), {}, bound);
    check(one.t(), one, {}, bound);
    check(wide.t(), one.t(), {}, bound);
    check(wide.t(), w.reshape({40, 24}).t(), {}, bound);
    check(one[3], wide, {}, bound);
    check(one, one[3], {}, bound);
    check(one.slice(1, 8, 24), wide.slice(0, 0, 16), {}, bound);
  }
}

TEST(CudaProducts, NanIsNotLost) {
  Tensor x = numbers(32 * 32).reshape({32, 32}).to("cuda:0") * 1;
  x[3][4] = std::numeric_limits<float>::quiet_NaN();
  Tensor w = numbers(32 * 16).reshape({32, 16}).to("cuda:0"), bias = numbers(16).to("cuda:0");
  auto layer = compile([&](Tensor in) { return relu(matmul(in, w) + bias); });
  const Floats found = floats(layer(x).cpu());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(std::isnan(found[i]), i / 16 == 3) << i;
}

/// Calls of a product with an argument at ever other addresses, whose results are kept. Writes whether they
/// are those of the host.
int weft::testing::multiplyForCounts() {
  std::vector<Tensor> arguments, results;
  Tensor w = (numbers(24 * 20).reshape({24, 20}) * 0.25).to("cuda:0");
  // A product alone is no graph.
  auto product = compile([&](Tensor x) { return std::pair(matmul(x, w), cos(x)); });
  for (int i = 0; i < 12; ++i) {
    arguments.push_back((numbers(16 * 24).reshape({16, 24}) + i).to("cuda:0"));
    results.push_back(product(arguments.back()).first);
  }
  double most = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const Floats found = floats(results[i].cpu()), expected = floats(matmul(arguments[i].cpu(), w.cpu()));
    for (size_t j = 0; j < found.size(); ++j)
      most = std::max<double>(most, std::abs(found[j] - expected[j]) / (1 + std::abs(expected[j])));
  }
  std::printf("%s, difference %g\n", most < 1e-5 ? "right" : "wrong", most);
  return 0;
}

TEST(CudaProducts, OperandsThatMoveAreCopiedIntoTheGraph) {
  TemporaryFolder folder;
  const Child child =
      runChild("--multiply", "WEFT_TEST_CUBLASLT=1 CUSIM_RACE=1 CUSIM_LOG=" + (folder / "log"));
  EXPECT_EQ(child.code, 0);
  EXPECT_TRUE(child.output.starts_with("right")) << child.output;
  std::map<std::string, int> calls = callsIn(folder / "log");
  // Two calls are launches, ten are the graph's, which has the product between two copies, and a kernel.
  EXPECT_EQ(calls["cuGraphInstantiate"], 1);
  EXPECT_EQ(calls["cuGraphLaunch"], 10);
  EXPECT_EQ(calls["cublasLtMatmul"], 3);
  EXPECT_EQ(calls["cuGraphAddMemcpyNode"], 2);
  EXPECT_GE(calls["cuGraphExecMemcpyNodeSetParams"], 18);
}

/// Calls `powers` with factors at ever other addresses, and with i trips in call i. Writes whether the
/// results are those of the host.
template <typename Powers> static int compareForCounts(const Powers &powers, int64_t calls) {
  auto run = compile(powers);
  std::vector<Tensor> kept;
  double most = 0;
  for (int64_t i = 0; i < calls; ++i) {
    const Tensor x = numbers(16 * 24).reshape({16, 24}) + i,
                 w = numbers(24 * 24).reshape({24, 24}) * 0.1 + i * 0.01, trips = full({}, i, {.dtype = i64});
    for (const Tensor &each : {x, w})
      kept.push_back(each.to("cuda:0"));
    kept.push_back(run(kept[kept.size() - 2], kept.back(), trips.to("cuda:0")));
    const Floats found = floats(kept.back().cpu()), expected = floats(powers(x, w, trips));
    for (size_t j = 0; j < found.size(); ++j)
      most = std::max<double>(most, std::abs(found[j] - expected[j]) / (1 + std::abs(expected[j])));
  }
  std::printf("%s, difference %g\n", most < 1e-4 ? "right" : "wrong", most);
  return 0;
}

/// Calls of a loop of products, one of whose factors is the same in each trip.
int weft::testing::multiplyInLoopForCounts() {
  const auto powers = [](const Tensor &x, const Tensor &w, const Tensor &trips) {
    return std::get<0>(
        while_loop([](const Tensor &, const Tensor &left) { return left > 0; },
                   [&](const Tensor &at, const Tensor &left) { return std::tuple(matmul(at, w), left - 1); },
                   std::tuple(x, trips)));
  };
  return compareForCounts(powers, 8);
}

/// The functions of driver and library that a part of the program has called, whose results are right.
static std::vector<std::string> callsOf(const char *part) {
  TemporaryFolder folder;
  const Child child = runChild(part, "WEFT_TEST_CUBLASLT=1 CUSIM_RACE=1 CUSIM_LOG=" + (folder / "log"));
  EXPECT_EQ(child.code, 0);
  EXPECT_TRUE(child.output.starts_with("right")) << child.output;
  return namesIn(folder / "log");
}

TEST(CudaProducts, OperandsOfALoopThatMoveAreCopiedOnceBeforeIt) {
  const std::vector<std::string> names = callsOf("--multiply-in-loop");
  // The last loop that was added, which is that of the function, and not that of the device's trial.
  const auto loop = std::ranges::find(names.rbegin(), names.rend(), "cuGraphAddNode").base();
  const auto begin = std::find(std::make_reverse_iterator(loop), names.rend(), "cuGraphCreate").base();
  const auto end = std::find(loop, names.end(), "cuGraphInstantiate");
  EXPECT_EQ(std::count(loop, end, "cublasLtMatmul"), 1);
  // Before it both carries, and the factor that is the same in each trip; in each trip the other one, the
  // result, and the carry that is counted.
  EXPECT_EQ(std::count(begin, loop, "cuGraphAddMemcpyNode"), 3);
  EXPECT_EQ(std::count(loop, end, "cuGraphAddMemcpyNode"), 3);
}

/// Calls of a loop in a loop, between two other products. The result, a carry of the outer loop, is a factor
/// in each trip of the inner one, beside one that is the same in all trips.
int weft::testing::multiplyNestedForCounts() {
  const auto powers = [](const Tensor &x, const Tensor &w, const Tensor &trips) {
    const auto goesOn = [](const Tensor &, const Tensor &left) { return left > 0; };
    return std::get<0>(while_loop(
        goesOn,
        [&](const Tensor &at, const Tensor &left) {
          const Tensor inner = std::get<0>(while_loop(
              goesOn,
              [&](const Tensor &each, const Tensor &left) {
                return std::tuple(matmul(matmul(each, at), w), left - 1);
              },
              std::tuple(matmul(x, at), left)));
          return std::tuple(at * 0.5 + matmul(x.t(), inner) * 0.01, left - 1);
        },
        std::tuple(w, trips)));
  };
  return compareForCounts(powers, 6);
}

TEST(CudaProducts, OperandsThatAnOuterLoopWritesAreCopiedBeforeTheInnerOne) {
  const std::vector<std::string> names = callsOf("--multiply-nested");
  const auto inner = std::ranges::find(names.rbegin(), names.rend(), "cuGraphAddNode").base();
  const auto outer = std::find(std::make_reverse_iterator(inner - 1), names.rend(), "cuGraphAddNode").base();
  const auto begin = std::find(std::make_reverse_iterator(outer), names.rend(), "cuGraphCreate").base();
  const auto end = std::find(inner, names.end(), "cuGraphInstantiate");
  EXPECT_EQ(std::count(outer, inner, "cublasLtMatmul"), 1);
  EXPECT_EQ(std::count(inner, end, "cublasLtMatmul"), 3);
  // Before the outer loop both carries, and what is the same in all trips: x for two products, and w.
  EXPECT_EQ(std::count(begin, outer, "cuGraphAddMemcpyNode"), 5);
  // In its trips the factor for the product before the inner loop, and for the one in it; both inner carries.
  EXPECT_EQ(std::count(outer, inner, "cuGraphAddMemcpyNode"), 4);
  // The carries of both loops behind their trips, and nothing else in the inner one.
  EXPECT_EQ(std::count(inner, end, "cuGraphAddMemcpyNode"), 4);
}

TEST(CudaProducts, ATrainingStepMultipliesByTheLibrary) {
  TemporaryFolder folder;
  const Child with =
      runChild("--train", "WEFT_TEST_CUBLASLT=1 WEFT_TEST_STEPS=6 CUSIM_LOG=" + (folder / "log"));
  EXPECT_TRUE(mentions(with.output, "works finite")) << with.output;
  std::map<std::string, int> calls = callsIn(folder / "log");
  // Each of the step's five products in two calls, and in the capture.
  EXPECT_EQ(calls["cublasLtMatmul"], 15);
  // Twice for what writes arguments in these two calls, and once for all of a call.
  EXPECT_EQ(calls["cuGraphInstantiate"], 3);
  // The library has no product of the step any more if it would not compute in f32.
  TemporaryFolder other;
  const Child without =
      runChild("--train",
               "WEFT_TEST_CUBLASLT=1 NVIDIA_TF32_OVERRIDE=1 WEFT_TEST_STEPS=6 CUSIM_LOG=" + (other / "log"));
  EXPECT_TRUE(mentions(without.output, "works finite")) << without.output;
  EXPECT_FALSE(callsIn(other / "log").contains("cublasLtMatmul"));
}

TEST(CudaProducts, AnErrorOfTheLibraryNamesTheLaunch) {
  const Child child = runChild("--train", "WEFT_TEST_CUBLASLT=1 CUSIM_FAIL=cublasLtMatmul:2:13");
  EXPECT_TRUE(mentions(child.output, "CUBLAS_STATUS_EXECUTION_FAILED")) << child.output;
  EXPECT_TRUE(mentions(child.output, "running 'matmul 16x8x3 + bias'")) << child.output;
  EXPECT_TRUE(mentions(child.output, "Helpers.h:")) << child.output;
  EXPECT_TRUE(mentions(child.output, "works finite")) << child.output;
}

TEST(CudaProducts, ExplainSaysWhoMultipliesIfTheLibraryDoesNot) {
  Tensor x = numbers(3 * 8 * 16).reshape({3, 8, 16}).to("cuda:0") * 1;
  auto products = compile([](Tensor a) { return matmul(a[0], a[1].t()); });
  products(x);
  const std::string refused = "WEFT-N004: kernels of Weft compute 1 contraction, first 'matmul";
  EXPECT_EQ(mentions(products.explain(), refused), !hasLibrary()) << products.explain();
  EXPECT_EQ(mentions(products.explain(), "libcublasLt.so.13 was not found"), !hasLibrary());
  // A bias 4 bytes behind a multiple of 16.
  Tensor parameters = numbers(9).to("cuda:0") * 1, w = numbers(16 * 8).reshape({16, 8}).to("cuda:0") * 1;
  auto layer = compile([](Tensor a, Tensor b, Tensor bias) { return matmul(a, b) + bias; });
  const Floats found = floats(layer(x[0], w, parameters.slice(0, 1, 9)).cpu()),
               expected = floats(matmul(x[0].cpu(), w.cpu()) + parameters.slice(0, 1, 9).cpu());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-4) << i;
  EXPECT_TRUE(mentions(layer.explain(), refused)) << layer.explain();
  EXPECT_TRUE(mentions(layer.explain(), "multiples of 16")) << layer.explain();
}

/// Saves a product as a package, if the file is not there, and calls the package's function. Writes its
/// result, and what the library refuses.
int weft::testing::useCandidates() {
  const std::string path = std::getenv("WEFT_TEST_PACKAGE");
  const auto operand = [](int64_t rows, int64_t columns) {
    return numbers(rows * columns).reshape({rows, columns});
  };
  Tensor x = operand(48, 96), w = operand(96, 64);
  if (!std::filesystem::exists(path)) {
    auto product = compile([](Tensor a, Tensor b) { return matmul(a, b); }, {.name = "product"});
    product(x.to("cuda:0"), w.to("cuda:0"));
    product.save(path, {.targets = {"cpu", "cuda:sm_90"}});
  }
  auto package = runtime::Package::open(path).value_or_throw();
  const auto summary = runtime::summarize_plan(*package, "product", "cuda:sm_90").value_or_throw();
  std::printf("%u of release %llu\n", summary.contractions_with_candidates,
              static_cast<unsigned long long>(summary.library_release));
  auto executable =
      runtime::Executable::load(package, "product", nullptr, {{"cuda:0", *runtime::cuda_device(0)}})
          .value_or_throw();
  for (const runtime::RefusedContraction &refused : executable->refused_contractions())
    std::printf("%srefused: %s\n", refused.refuses_candidates ? "recorded, " : "", refused.refusal.c_str());
  std::vector<std::shared_ptr<runtime::Buffer>> in, out(1);
  for (const Tensor &operand : {x, w}) {
    const Floats values = floats(operand);
    in.push_back(runtime::Buffer::allocate(values.size() * sizeof(float), 0, **runtime::cuda_device(0))
                     .value_or_throw());
    in.back()->write(0, std::as_bytes(std::span(values))).throw_if_failed();
  }
  executable->run(in, out).throw_if_failed();
  out[0]->wait().throw_if_failed();
  Floats found(48 * 64);
  out[0]->read(0, std::as_writable_bytes(std::span(found))).throw_if_failed();
  const Floats expected = floats(matmul(x, w));
  bool right = true;
  for (size_t i = 0; i < found.size(); ++i)
    right &= std::abs(found[i] - expected[i]) < 1e-4;
  std::printf("%s %a %a\n", right ? "right" : "wrong", found[7], found[1000]);
  return 0;
}

TEST(CudaProducts, APackageHasTheAlgorithmsOfItsLibrary) {
  if (!hasLibrary())
    GTEST_SKIP() << "there is no cuBLASLt";
  TemporaryFolder folder;
  const std::string common =
      "WEFT_TEST_CUBLASLT=1 WEFT_TEST_PACKAGE=" + (folder / "product.weft") + " CUSIM_LOG=";
  const Child made = runChild("--candidates", common + (folder / "made"));
  EXPECT_TRUE(made.output.starts_with("1 of release 13")) << made.output;
  EXPECT_TRUE(mentions(made.output, "right")) << made.output;
  // Another process asks for no algorithm, and computes the same bits.
  const Child again = runChild("--candidates", common + (folder / "again"));
  EXPECT_EQ(again.output, made.output);
  std::map<std::string, int> calls = callsIn(folder / "again");
  EXPECT_EQ(calls["cublasLtMatmulAlgoGetHeuristic"], 0);
  EXPECT_EQ(calls["cublasLtMatmulAlgoCheck"], 1);
  EXPECT_EQ(calls["cublasLtMatmul"], 1);
  // Of another release, and if the check fails, our own kernel computes it.
  for (const std::string &setting :
       {std::string("CUSIM_CUBLASLT=139900 "), std::string("CUSIM_FAIL=cublasLtMatmulAlgoCheck:1:15 ")}) {
    const Child own = runChild("--candidates", setting + common + (folder / "own"));
    const bool is_release = setting.starts_with("CUSIM_CUBLASLT");
    EXPECT_TRUE(mentions(own.output, "right")) << own.output;
    if (is_release)
      EXPECT_TRUE(mentions(own.output, "recorded, refused: the package has algorithms of cuBLASLt"))
          << own.output;
    if (is_release)
      EXPECT_TRUE(mentions(own.output, "(WEFT-N012)")) << own.output;
    EXPECT_EQ(callsIn(folder / "own")["cublasLtMatmulAlgoGetHeuristic"], 0);
    EXPECT_EQ(callsIn(folder / "own")["cublasLtMatmul"], is_release ? 0 : 1);
  }
}
