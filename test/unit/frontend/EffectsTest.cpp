//===- EffectsTest.cpp - What a compiled function does beside its results ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;

/// The text that `body` prints on standard output, including prints that the queue runs.
template <typename Body> static std::string printed(Body body) {
  testing::internal::CaptureStdout();
  body();
  synchronize();
  return testing::internal::GetCapturedStdout();
}

TEST(Effects, PrintsWhenComputedAtEveryCallInTheOrderOfTheProgram) {
  auto step = compile([](Tensor x) {
    print("before", x);
    Tensor y = x * 2.0;
    print(y);
    return y + 1.0;
  });
  Tensor a = tensor({1, 2}, {2}), b = tensor({3, 4}, {2});
  EXPECT_EQ(printed([&] { step(a); }), "before: tensor([1., 2.])\ntensor([2., 4.])\n");
  EXPECT_EQ(printed([&] { step(b); }), "before: tensor([3., 4.])\ntensor([6., 8.])\n");
}

TEST(Effects, AFunctionMayDoNothingButPrint) {
  auto show = compile([](Tensor x) { print("x", x); });
  EXPECT_EQ(printed([&] { show(tensor({5}, {1})); }), "x: tensor([5.])\n");
}

TEST(Effects, OutsideOfAFunctionPrintingIsAtOnce) {
  EXPECT_EQ(printed([&] { print("n", tensor({1, 2}, {2}) * 0.5); }), "n: tensor([0.5000, 1.0000])\n");
}

TEST(Effects, AnAssertionFailsTheCallAndUndoesTheStep) {
  Tensor state = tensor({1, 2, 3}, {3});
  auto step = compile([&](Tensor x) {
    state += x;
    assert_true(x == x, "the update is not a number");
    return state.sum();
  });
  EXPECT_EQ(step(tensor({1, 1, 1}, {3})).item<float>(), 9);
  synchronize();
  const auto before = bitsOf({state});
  std::string message = errorOf([&] {
    step(tensor({1, NAN, 1}, {3})).item<float>();
    synchronize();
  });
  EXPECT_NE(message.find("the update is not a number (the condition is false at position 1)"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("EffectsTest.cpp:"), std::string::npos) << message;
  EXPECT_EQ(bitsOf({state}), before);
  // The failure is removed once the host has reported it.
  EXPECT_EQ(step(tensor({1, 1, 1}, {3})).item<float>(), 12);
}

TEST(Effects, AnAssertionOutsideOfAFunction) {
  Tensor x = tensor({1, 2}, {2});
  assert_true(x > 0.0, "positive");
  EXPECT_ERROR(assert_true(x > 1.0, "above one"), "above one (the condition is false at position 0)");
  EXPECT_ERROR(assert_true(x, "no"), "assert_true takes a tensor of truth values (i1)");
}

TEST(Effects, StrictModesMakeRefusalsErrors) {
  auto strict = compile([](Tensor x) { print(x); }, {.name = "shown", .strict = Strict::capture});
  EXPECT_ERROR(strict(tensor({1}, {1})), "WEFT-C002, an error under strict=capture");
}

TEST(Effects, StrictRecompileNamesTheGuardThatMissed) {
  auto step = compile([](Tensor x) { return x + 1.0; }, {.name = "step", .strict = Strict::recompile});
  step(tensor({1, 2}, {2}));
  step(tensor({3, 4}, {2}));
  EXPECT_ERROR(step(tensor({1}, {1})), "argument 0 was tensor<2xf32, cpu> and is "
                                       "tensor<1xf32, cpu> (WEFT-R001");
  EXPECT_EQ(step.variants().size(), 1u);
}

// As in PyTorch, torch.tensor(2.) * cuda_tensor works, and so does no other mixture.
TEST(Effects, HostScalarsJoinTensorsOfAnotherDevice) {
  Tensor x = zeros({4}, {.device = "cuda:0"}), s = tensor({2}, {1}).reshape({});
  for (const Tensor &y : {x * s, s - x, where(x > s, x, s)}) {
    EXPECT_EQ(y.device(), Device("cuda:0"));
    EXPECT_EQ(y.sizes(), Shape({4}));
  }
  EXPECT_EQ((x > s).dtype(), DType::i1);
  Tensor g = zeros({}, {.device = "cuda:0"});
  EXPECT_EQ((s + g).device(), Device("cuda:0"));
  EXPECT_ERROR(tensor({1, 2, 3, 4}, {4}) * g, "WEFT-P001");
  EXPECT_ERROR(tensor({2}, {1}) * x, "WEFT-P001");
}
