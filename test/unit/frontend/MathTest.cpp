//===- MathTest.cpp - Elementwise functions of the interface ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules of Weft, errors, and writes in place, which are not compared with PyTorch.
// test/parity/test_elementwise.py compares values and gradients of every function.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>
#include <limits>

using namespace weft;

namespace {
constexpr float inf = std::numeric_limits<float>::infinity(),
                notANumber = std::numeric_limits<float>::quiet_NaN();

Tensor whole(std::vector<int64_t> values) {
  Shape shape{static_cast<int64_t>(values.size())};
  return Tensor::from(values, shape);
}
using Wholes = std::vector<int64_t>;
} // namespace

TEST(Math, IntegersByZeroDoNotTrap) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  Tensor a = whole({7, -7, 0, least, least}), b = whole({0, 0, 0, -1, 0});
  EXPECT_EQ(div(a, b, "trunc").to_vector<int64_t>(), (Wholes{-1, -1, -1, least, -1}));
  EXPECT_EQ(floor_divide(a, b).to_vector<int64_t>(), (Wholes{-1, -1, -1, least, -1}));
  EXPECT_EQ((a % b).to_vector<int64_t>(), (Wholes{7, -7, 0, 0, least}));
  EXPECT_EQ(fmod(a, b).to_vector<int64_t>(), (Wholes{7, -7, 0, 0, least}));
}

TEST(Math, DivisionRoundsDownOrTowardZero) {
  Tensor a = whole({7, -7, 7, -7, 6}), b = whole({2, 2, -2, -2, -3});
  EXPECT_EQ(div(a, b, "floor").to_vector<int64_t>(), (Wholes{3, -4, -4, 3, -2}));
  EXPECT_EQ(div(a, b, "trunc").to_vector<int64_t>(), (Wholes{3, -3, -3, 3, -2}));
  EXPECT_EQ(div(a, b, "").dtype(), f32);
  EXPECT_EQ((a % b).to_vector<int64_t>(), (Wholes{1, 1, -1, -1, 0}));
  EXPECT_EQ(fmod(a, b).to_vector<int64_t>(), (Wholes{1, -1, 1, -1, 0}));
  // 1 / 0.1 is 10 in f32, but a tenth is a little more than 0.1.
  EXPECT_EQ(floor_divide(tensor({1, -1}, {2}), 0.1).to_vector<float>(), (Floats{9, -10}));
  EXPECT_ERROR(div(a, b, "up"), "'rounding_mode' must be \"\", \"trunc\" or \"floor\", found \"up\"");
  EXPECT_ERROR(floor_divide(a == b, a == b), "division of two bool tensors");
}

TEST(Math, OperatorsOnBits) {
  Tensor a = whole({12, -1}), b = whole({10, 6});
  EXPECT_EQ((a & b).to_vector<int64_t>(), (Wholes{8, 6}));
  EXPECT_EQ((a | b).to_vector<int64_t>(), (Wholes{14, -1}));
  EXPECT_EQ((a ^ b).to_vector<int64_t>(), (Wholes{6, -7}));
  EXPECT_EQ((~a).to_vector<int64_t>(), (Wholes{-13, 0}));
  EXPECT_EQ((!a).to_vector<uint8_t>(), (std::vector<uint8_t>{0, 0}));
  EXPECT_EQ(logical_xor(a, whole({0, 6})).to_vector<uint8_t>(), (std::vector<uint8_t>{1, 0}));
  EXPECT_ERROR(tensor({1}, {1}) & 1, "\"bitwise_and\" not implemented for 'f32'");
  EXPECT_ERROR(bitwise_not(1), "expected a tensor, found a number");
}

TEST(Math, PowersKeepIntegers) {
  Tensor a = whole({0, 1, -1, 3});
  EXPECT_EQ(pow(a, 5).dtype(), i64);
  EXPECT_EQ(pow(a, 5).to_vector<int64_t>(), (Wholes{0, 1, -1, 243}));
  EXPECT_EQ(pow(a, whole({-1, -2, -3, 2})).to_vector<int64_t>(), (Wholes{0, 1, -1, 9}));
  EXPECT_EQ(pow(2, a.to(f32)).to_vector<float>(), (Floats{1, 2, 0.5, 8}));
  EXPECT_EQ(pow(a, 2.0).dtype(), f32);
  EXPECT_ERROR(pow(a, -1), "Integers to negative integer powers are not allowed");
}

TEST(Math, ClampPassesTheGradientAtItsBounds) {
  Tensor x = tensor({-2, -1, 0, 2, 3}, {5}).requires_grad_();
  clamp(x, -1, 2).sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{0, 1, 1, 1, 0}));
  x.set_grad({});
  hardtanh(x, -1, 2).sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{0, 0, 1, 0, 0}));
  EXPECT_TRUE(std::isnan(clamp(tensor({notANumber}, {1}), 0, 1).item<float>()));
  EXPECT_EQ(clamp(tensor({-5, 0, 5}, {3}), 2, 1).to_vector<float>(), (Floats{1, 1, 1}));
}

TEST(Math, KindsOfNumbers) {
  Tensor x = tensor({0.0f, -0.0f, inf, -inf, notANumber, -1}, {6});
  using Bools = std::vector<uint8_t>;
  EXPECT_EQ(isinf(x).to_vector<uint8_t>(), (Bools{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(isfinite(x).to_vector<uint8_t>(), (Bools{1, 1, 0, 0, 0, 1}));
  EXPECT_EQ(signbit(tensor({0.0f, -0.0f, -inf, 2}, {4})).to_vector<uint8_t>(), (Bools{0, 1, 1, 0}));
  EXPECT_EQ(isinf(whole({1, 2})).to_vector<uint8_t>(), (Bools{0, 0}));
  EXPECT_EQ(isfinite(whole({1, 2})).to_vector<uint8_t>(), (Bools{1, 1}));
  EXPECT_EQ(signbit(whole({-1, 2})).to_vector<uint8_t>(), (Bools{1, 0}));
  EXPECT_EQ(nan_to_num(x, 5).to_vector<float>(),
            (Floats{0, 0, 3.4028234663852886e38f, -3.4028234663852886e38f, 5, -1}));
}

TEST(Math, WritesInPlaceKeepTheDtype) {
  Tensor x = tensor({1, 4, 9}, {3}), same = x;
  x.sqrt_().add_(1).mul_(2);
  EXPECT_EQ(same.to_vector<float>(), (Floats{4, 6, 8})); // one slot under two names
  x.clamp_(5, 7).fill_(3);
  EXPECT_EQ(x.to_vector<float>(), (Floats{3, 3, 3}));
  x.addcmul_(x, x, 0.5).remainder_(2);
  EXPECT_EQ(x.to_vector<float>(), (Floats{1.5, 1.5, 1.5}));
  Tensor halves = zeros({2}, {.dtype = f16});
  halves.add_(tensor({1, 2}, {2}));
  EXPECT_EQ(halves.dtype(), f16);
  EXPECT_ERROR(x.add_(zeros({2, 3})), "output with shape [3] doesn't match the broadcast shape [2, 3]");
  Tensor n = whole({1, 2});
  EXPECT_ERROR(n.div_(2), "result type f32 can't be cast to the desired output type i64");
  EXPECT_ERROR((n == n).add_(n), "result type i64 can't be cast to the desired output type i1");
  EXPECT_EQ(n.floor_divide_(2).to_vector<int64_t>(), (Wholes{0, 1}));
  EXPECT_ERROR(x.fill_(zeros({2})), "fill_ takes a number or a 0-dimensional tensor, found one of shape [2]");
  EXPECT_ERROR(ones({2}).requires_grad_().exp_(),
               "a leaf Variable that requires grad is being used in an in-place");
}

TEST(Math, WritesInPlaceInACompiledFunction) {
  Tensor state = tensor({1, 2}, {2});
  auto step = compile([&](Tensor x) {
    state.mul_(x).clamp_max_(5);
    return state + 0;
  });
  EXPECT_EQ(step(tensor({2, 2}, {2})).to_vector<float>(), (Floats{2, 4}));
  EXPECT_EQ(step(tensor({2, 2}, {2})).to_vector<float>(), (Floats{4, 5}));
  EXPECT_EQ(state.to_vector<float>(), (Floats{4, 5}));
}

TEST(Math, ActivationsSayWhatTheyTake) {
  EXPECT_ERROR(silu(whole({1})), "silu: expected a tensor of a floating-point type, found i64");
  EXPECT_ERROR(relu6(whole({1}) == 1), "relu6: expected a tensor of numbers, found i1");
  EXPECT_ERROR(softshrink(tensor({1}, {1}), -1), "'lambda' must not be below 0");
  EXPECT_ERROR(hardtanh(tensor({1}, {1}), 2, 1), "'min' must not be above 'max'");
  EXPECT_ERROR(celu(tensor({1}, {1}), 0), "'alpha' is 0");
  EXPECT_ERROR(lerp(whole({1}), whole({2}), 0.5),
               "lerp: expected tensors of a floating-point type, found i64");
  EXPECT_ERROR(add(whole({1}), whole({2}), 0.5), "'alpha' must be a whole number, found 0.5");
  EXPECT_EQ(add(whole({1}), whole({2}), 3).to_vector<int64_t>(), (Wholes{7}));
}
