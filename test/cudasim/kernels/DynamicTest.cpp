//===- DynamicTest.cpp - Reductions and scans of dynamic length -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel whose length only the call knows has to give the bits of the kernel that was made for this length.
// Its team is looked up when it runs, so there is a case on either side of each entry of the tables. All run
// in race mode.
//
//===----------------------------------------------------------------------===//
#include "CheckKernels.h"

#include "codegen/cuda/Nvrtc.h"
#include "ir/Parse.h"

#include "gtest/gtest.h"

using namespace mlir;
namespace weft::cudasim {
namespace {

/// A number of lines, and the elements of each. Symbols have it as their least value, so that it is tried.
struct Sizes {
  int64_t lines, length;
  int64_t most = 100000; ///< the largest length of the kernel's calls
};

class Dynamic : public ::testing::TestWithParam<Sizes> {
protected:
  Dynamic() : context(dialects(), MLIRContext::Threading::DISABLED) {}
  void SetUp() override {
    if (auto nvrtc = codegen::Nvrtc::get(); !nvrtc)
      GTEST_SKIP() << nvrtc.status().message();
  }
  static DialectRegistry dialects() {
    DialectRegistry registry;
    ir::registerDialect(registry);
    return registry;
  }
  /// Checks a program over %x, whose lines are `line` long: m lines of n elements.
  void expectSameBits(std::string text) {
    const Sizes sizes = GetParam();
    auto replace = [&](const std::string &from, const std::string &to) {
      for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    };
    // Static columns of several thousand rows are cut into pieces if there are many elements, and have
    // another order then (passes/SplitReductions.cpp).
    replace("MOST_LINES", std::to_string(sizes.length < 2048 ? 1000 : sizes.lines));
    replace("LINES", std::to_string(sizes.lines));
    replace("LENGTH", std::to_string(sizes.length));
    replace("MOST", std::to_string(sizes.most));
    auto module = ir::parseModule(context, aliases + text, "case");
    ASSERT_TRUE(module) << module.status().message();
    nameArguments(**module, /*special=*/false);
    CheckOptions options;
    options.raceEvery = 1;
    KernelChecker checker(options);
    const auto failure = checker.check(**module, 5);
    EXPECT_FALSE(failure) << failure->stage << ": " << failure->message;
    if (sizes.length > 0)
      EXPECT_EQ(checker.counts().fallbacks, 0u);
  }

  static inline const std::string aliases =
      "#m = #weft.device<cpu, [m]>\n#n = #weft.device<cpu, [n]>\n#mn = #weft.device<cpu, [m, n]>\n"
      "#nm = #weft.device<cpu, [n, m]>\n";
  MLIRContext context;
};

} // namespace

TEST_P(Dynamic, Rows) {
  expectSameBits(R"(
    weft.func @main(%x: tensor<?x?xf32, #mn>, %i: tensor<?x?xi32, #mn>, %w: tensor<?xf32, #n>)
        -> (tensor<?x?xf32, #mn>, tensor<?xf32, #m>, tensor<?xf64, #m>, tensor<?xf64, #m>, tensor<?xi32, #m>, tensor<?xf16, #m>)
        attributes {weft.symbols = [#weft.symbol<"m", LINES, 1000>, #weft.symbol<"n", LENGTH, MOST>]} {
      %b = weft.broadcast_in_dim %w, dims = [1] : tensor<?xf32, #n> -> tensor<?x?xf32, #mn>
      %0 = weft.softmax %x, dim = 1 : tensor<?x?xf32, #mn>
      %1 = weft.mul %0, %b : tensor<?x?xf32, #mn>
      %2 = weft.sum %x, dims = [1] : tensor<?x?xf32, #mn>
      %3 = weft.convert %x to f64 : tensor<?x?xf32, #mn>
      %mean, %m2, %c = weft.welford %3, dims = [1] : tensor<?x?xf64, #mn>
      %4 = weft.sum %i, dims = [1] : tensor<?x?xi32, #mn>
      %5 = weft.convert %x to f16 : tensor<?x?xf32, #mn>
      %6 = weft.sum %5, dims = [1] : tensor<?x?xf16, #mn>
      weft.return %1, %2, %mean, %m2, %4, %6 : tensor<?x?xf32, #mn>, tensor<?xf32, #m>, tensor<?xf64, #m>, tensor<?xf64, #m>, tensor<?xi32, #m>, tensor<?xf16, #m>
    })");
}

TEST_P(Dynamic, Columns) {
  expectSameBits(R"(
    weft.func @main(%x: tensor<?x?xf32, #nm>, %y: tensor<2x?x4xf32, #n>, %w: tensor<?xf32, #m>)
        -> (tensor<?x?xf32, #nm>, tensor<?xf32, #m>, tensor<?xf64, #m>, tensor<?xf64, #m>, tensor<2x4xf32, #weft.device<cpu>>)
        attributes {weft.symbols = [#weft.symbol<"m", LINES, MOST_LINES>, #weft.symbol<"n", LENGTH, MOST>]} {
      %b = weft.broadcast_in_dim %w, dims = [1] : tensor<?xf32, #m> -> tensor<?x?xf32, #nm>
      %0 = weft.softmax %x, dim = 0 : tensor<?x?xf32, #nm>
      %1 = weft.mul %0, %b : tensor<?x?xf32, #nm>
      %2 = weft.sum %x, dims = [0] : tensor<?x?xf32, #nm>
      %3 = weft.convert %x to f64 : tensor<?x?xf32, #nm>
      %mean, %m2, %c = weft.welford %3, dims = [0] : tensor<?x?xf64, #nm>
      %4 = weft.sum %y, dims = [1] : tensor<2x?x4xf32, #n>
      weft.return %1, %2, %mean, %m2, %4 : tensor<?x?xf32, #nm>, tensor<?xf32, #m>, tensor<?xf64, #m>, tensor<?xf64, #m>, tensor<2x4xf32, #weft.device<cpu>>
    })");
}

TEST_P(Dynamic, Scans) {
  expectSameBits(R"(
    weft.func @main(%x: tensor<?x?xf32, #mn>, %y: tensor<?x?xf16, #mn>, %z: tensor<3x?x8xf32, #n>, %q: tensor<?x?xf32, #nm>)
        -> (tensor<?x?xf32, #mn>, tensor<?x?xf16, #mn>, tensor<3x?x8xf32, #n>, tensor<?x?xf32, #nm>)
        attributes {weft.symbols = [#weft.symbol<"m", LINES, 1000>, #weft.symbol<"n", LENGTH, MOST>]} {
      %0 = weft.cumsum %x, dim = 1 : tensor<?x?xf32, #mn>
      %1 = weft.exp %y : tensor<?x?xf16, #mn>
      %2 = weft.cumsum %1, dim = 1 reverse exclusive : tensor<?x?xf16, #mn>
      %3 = weft.cumsum %z, dim = 1 reverse : tensor<3x?x8xf32, #n>
      %4 = weft.cumprod %q, dim = 0 : tensor<?x?xf32, #nm>
      weft.return %0, %2, %3, %4 : tensor<?x?xf32, #mn>, tensor<?x?xf16, #mn>, tensor<3x?x8xf32, #n>, tensor<?x?xf32, #nm>
    })");
}

TEST_P(Dynamic, Positions) {
  if (GetParam().length == 0)
    GTEST_SKIP() << "there is no position in nothing";
  expectSameBits(R"(
    weft.func @main(%x: tensor<?x?xf32, #mn>, %y: tensor<?x?xf32, #nm>) -> (tensor<?xi64, #m>, tensor<?xi64, #m>)
        attributes {weft.symbols = [#weft.symbol<"m", LINES, 1000>, #weft.symbol<"n", LENGTH, MOST>]} {
      %0 = weft.argmax %x, dim = 1 : tensor<?x?xf32, #mn>
      %1 = weft.argmin %y, dim = 0 : tensor<?x?xf32, #nm>
      weft.return %0, %1 : tensor<?xi64, #m>, tensor<?xi64, #m>
    })");
}

/// Writes to places that share fewer elements than a warp has threads.
class DynamicUpdates : public Dynamic {};

TEST_P(DynamicUpdates, FewElements) {
  expectSameBits(R"(
    weft.func @main(%x: tensor<100x?xf32, #n>, %i: tensor<?xi64, #m> {weft.name = "index:1:100"}, %u: tensor<?x?xf32, #mn>,
                    %j: tensor<?x?xi64, #mn> {weft.name = "index:3:40"}, %y: tensor<3x100x?xf16, #n>, %v: tensor<3x?x?xf16, #mn>)
        -> (tensor<100x?xf32, #n>, tensor<100x?xf32, #n>, tensor<3x100x?xf16, #n>)
        attributes {weft.symbols = [#weft.symbol<"m", LINES, 1000>, #weft.symbol<"n", LENGTH, MOST>]} {
      %0 = weft.index_update %x, %u, %i, dim = 0 accumulate mode = clip : tensor<100x?xf32, #n>, tensor<?x?xf32, #mn>, tensor<?xi64, #m>
      %1 = weft.scatter %x, %j, %u, dim = 0, kind = mul mode = clip : tensor<100x?xf32, #n>, tensor<?x?xi64, #mn>, tensor<?x?xf32, #mn>
      %2 = weft.index_update %y, %v, %i, dim = 1 mode = clip : tensor<3x100x?xf16, #n>, tensor<3x?x?xf16, #mn>, tensor<?xi64, #m>
      weft.return %0, %1, %2 : tensor<100x?xf32, #n>, tensor<100x?xf32, #n>, tensor<3x100x?xf16, #n>
    })");
}

INSTANTIATE_TEST_SUITE_P(Sizes, DynamicUpdates,
                         ::testing::Values(Sizes{5, 0, 31}, Sizes{200, 1, 31}, Sizes{70, 7, 31},
                                           Sizes{33, 31, 31}, Sizes{0, 3, 8}),
                         [](const auto &info) {
                           return std::to_string(info.param.lines) + "x" + std::to_string(info.param.length) +
                                  "of" + std::to_string(info.param.most);
                         });

// Each side of each entry of the tables; lengths that give all threads as many elements; and kernels that
// have no more threads than their range of lengths needs.
INSTANTIATE_TEST_SUITE_P(Sizes, Dynamic,
                         ::testing::Values(Sizes{2, 0}, Sizes{33, 7}, Sizes{9, 15, 15}, Sizes{70, 16},
                                           Sizes{17, 32}, Sizes{5, 40}, Sizes{6, 64, 64}, Sizes{5, 127},
                                           Sizes{40, 128, 1000}, Sizes{3, 384}, Sizes{7, 1024},
                                           Sizes{9, 1027}, Sizes{4, 1536, 4000}, Sizes{3, 4096},
                                           Sizes{5, 4099}, Sizes{2, 8192, 8192}, Sizes{3, 8195}),
                         [](const auto &info) {
                           return std::to_string(info.param.lines) + "x" + std::to_string(info.param.length) +
                                  "of" + std::to_string(info.param.most);
                         });

} // namespace weft::cudasim
