//===- TensorTest.cpp - Operations on tensors -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;

TEST(Tensor, CreationHasTheDtypesOfPyTorch) {
  EXPECT_EQ(zeros({2}).dtype(), f32);
  EXPECT_EQ(arange(3).dtype(), i64);
  EXPECT_EQ(Tensor::from(std::vector<int64_t>{1, 2}, {2}).dtype(), i64);
  EXPECT_EQ(Tensor::from(std::vector<double>{1, 2}, {2}).dtype(), f64);
  EXPECT_EQ(arange(4).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(full({2, 2}, 7).to_vector<float>(), (std::vector<float>{7, 7, 7, 7}));
}

TEST(Tensor, OperatorsBroadcastAndTakeNumbersOnEitherSide) {
  Tensor a = tensor({1, 2, 3, 4}, {2, 2}), row = tensor({10, 20}, {2});
  EXPECT_EQ((a + row).to_vector<float>(), (std::vector<float>{11, 22, 13, 24}));
  EXPECT_EQ((2 - a).to_vector<float>(), (std::vector<float>{1, 0, -1, -2}));
  EXPECT_EQ((a / 2).to_vector<float>(), (std::vector<float>{0.5, 1, 1.5, 2}));
  EXPECT_EQ((-a * a).to_vector<float>(), (std::vector<float>{-1, -4, -9, -16}));
  Tensor column = row.unsqueeze(1);
  EXPECT_EQ((column + row).sizes(), (Shape{2, 2}));
  EXPECT_EQ((column + row).to_vector<float>(), (std::vector<float>{20, 30, 30, 40}));
}

// What is computed from nothing differs by its type alone: a kept function of another size must not run.
TEST(Tensor, RangesOfTwoSizesAreTwoFunctions) {
  EXPECT_EQ(arange(3).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(arange(5).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

TEST(Tensor, Promotion) {
  Tensor integers = arange(3), halves = zeros({3}, {.dtype = f16}), brains = zeros({3}, {.dtype = bf16});
  EXPECT_EQ((integers + 1).dtype(), i64);
  EXPECT_EQ((integers + 1.5).dtype(), f32); // a number of a higher category gives the default float
  EXPECT_EQ((integers / 2).dtype(), f32);   // true division
  EXPECT_EQ((halves + 1.5).dtype(), f16);
  EXPECT_EQ((halves + brains).dtype(), f32);
  EXPECT_EQ((halves + scalar(1, {.dtype = f64})).dtype(), f16); // 0-dimensional tensors count less
  EXPECT_EQ((integers == integers).dtype(), i1);
  EXPECT_EQ(((integers == integers) + (integers == integers)).dtype(), i1); // bool add is or
  EXPECT_EQ((integers > 0).sum().item<int64_t>(), 2);
  EXPECT_ERROR((integers == integers) - (integers == integers),
               "Subtraction, the `-` operator, with two bool");
}

TEST(Tensor, ShapesFollowPyTorch) {
  Tensor a = arange(24).to(f32).reshape({2, 3, -1});
  EXPECT_EQ(a.sizes(), (Shape{2, 3, 4}));
  EXPECT_EQ(a.flatten(1).sizes(), (Shape{2, 12}));
  EXPECT_EQ(a.permute({2, 0, 1}).sizes(), (Shape{4, 2, 3}));
  EXPECT_EQ(a.transpose(0, -1).select(0, 1).to_vector<float>(), (std::vector<float>{1, 13, 5, 17, 9, 21}));
  EXPECT_EQ(a.slice(2, -3, -1).slice(0, 1).to_vector<float>(), (std::vector<float>{13, 14, 17, 18, 21, 22}));
  EXPECT_EQ(a.slice(1, 0, 100, 2).sizes(), (Shape{2, 2, 4}));
  EXPECT_ERROR(a.reshape({5, -1}), "shape '[5, -1]' is invalid for input of size 24");
  EXPECT_ERROR(a.reshape({-1, -1}), "only one dimension can be inferred");
  EXPECT_ERROR(a.size(3), "Dimension out of range (expected to be in range of [-3, 2], but got 3)");
  EXPECT_ERROR(a.select(0, 2), "index 2 out of range");
  EXPECT_ERROR(zeros({-1}), "negative dimension -1");
  EXPECT_ERROR(zeros({INT64_MAX, INT64_MAX}), "more than 2^63 bytes");
}

TEST(Tensor, Reductions) {
  Tensor a = tensor({1, 5, 2, 4, 3, 6}, {2, 3});
  EXPECT_EQ(a.sum().item<float>(), 21);
  EXPECT_EQ(a.sum({0}).to_vector<float>(), (std::vector<float>{5, 8, 8}));
  EXPECT_EQ(a.sum({-1}, true).sizes(), (Shape{2, 1}));
  EXPECT_EQ(a.mean({1}).to_vector<float>(), (std::vector<float>{8.0f / 3, 13.0f / 3}));
  EXPECT_EQ(a.amax({1}).to_vector<float>(), (std::vector<float>{5, 6}));
  EXPECT_EQ(a.argmax(1).to_vector<int64_t>(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(zeros({0, 3}).sum({0}).to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_ERROR(zeros({0, 3}).amax({0}),
               "amax(): Expected reduction dim 0 to have non-zero size, found shape [0, 3]");
  EXPECT_ERROR(arange(3).mean(), "could not infer output dtype");
  EXPECT_ERROR(a.sum({0, 0}), "appears multiple times");
}

TEST(Tensor, SoftmaxRowsSumToOne) {
  Tensor a = tensor({1000, 1001, 1002, -1000, 0, 1}, {2, 3});
  std::vector<float> y = softmax(a, -1).to_vector<float>();
  double z = std::exp(-2.0) + std::exp(-1.0) + 1;
  EXPECT_NEAR(y[0], std::exp(-2.0) / z, 1e-7);
  EXPECT_NEAR(y[3] + y[4] + y[5], 1, 1e-6);
  EXPECT_NEAR(log_softmax(a, 1).to_vector<float>()[2], -std::log(z), 1e-6);
}

TEST(Tensor, MatmulTakesVectorsMatricesAndBatches) {
  Tensor a = arange(6).to(f32).reshape({2, 3}), b = arange(6).to(f32).reshape({3, 2});
  EXPECT_EQ(matmul(a, b).to_vector<float>(), (std::vector<float>{10, 13, 28, 40}));
  EXPECT_EQ(matmul(a, tensor({1, 1, 1}, {3})).to_vector<float>(), (std::vector<float>{3, 12}));
  EXPECT_EQ(matmul(tensor({1, 1}, {2}), a).to_vector<float>(), (std::vector<float>{3, 5, 7}));
  Tensor batch = arange(12).to(f32).reshape({2, 2, 3});
  EXPECT_EQ(matmul(batch, b).sizes(), (Shape{2, 2, 2}));
  EXPECT_EQ(matmul(batch, b.unsqueeze(0)).to_vector<float>(), matmul(batch, b).to_vector<float>());
  EXPECT_EQ(matmul(zeros({2, 0}), zeros({0, 3})).to_vector<float>(), std::vector<float>(6, 0));
}

TEST(Tensor, WrongShapesNameBothOperands) {
  Tensor a = zeros({2, 3});
  Tensor b = zeros({4});
  std::string message = errorOf([&] { (void)(a + b); });
  EXPECT_EQ(message.find("The size of tensor a (3) must match the size of tensor b (4)"), 0u) << message;
  EXPECT_NE(message.find("operand 0 is tensor<2x3xf32, cpu>, made at"), std::string::npos) << message;
  EXPECT_NE(message.find("Tensor b = zeros({4});"), std::string::npos) << message; // the source line itself
  EXPECT_ERROR(matmul(a, a), "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
}

TEST(Tensor, MixedDevicesAreAnErrorThatNamesBoth) {
  Tensor a = zeros({2}), b = zeros({2}, {.device = "cuda:0"});
  std::string message = errorOf([&] { (void)(a + b); });
  EXPECT_EQ(
      message.find("Expected all tensors to be on the same device, but found at least two devices, cpu and "
                   "cuda:0!"),
      0u)
      << message;
  EXPECT_NE(message.find("WEFT-P001"), std::string::npos);
  EXPECT_NE(message.find("operand 1 is tensor<2xf32, cuda:0>"), std::string::npos) << message;
  EXPECT_EQ((a.to("cuda:0") + b).device(),
            Device("cuda:0")); // recorded and checked, though it cannot run here
  EXPECT_ERROR(b.to_vector<float>(), "has no CUDA backend (WEFT-E001)");
  Tensor back = b.to("cpu");
  EXPECT_ERROR(back.to_vector<float>(), "WEFT-E001");
  EXPECT_EQ(ones({1}).item<float>(), 1); // what does not need the device goes on
}

TEST(Tensor, HandlesShareASlotAndCopyWritesIt) {
  Tensor a = zeros({2});
  Tensor alias = a;
  alias += 3;
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{3, 3}));
  a = ones({2}); // rebinds the handle only
  EXPECT_EQ(alias.to_vector<float>(), (std::vector<float>{3, 3}));
  alias.copy_(scalar(9));
  EXPECT_EQ(alias.to_vector<float>(), (std::vector<float>{9, 9}));
  Tensor integers = arange(2);
  EXPECT_ERROR(integers += 0.5, "can't be cast to the desired output type i64");
  EXPECT_ERROR(alias += zeros({3, 2}), "doesn't match the broadcast shape");
}

TEST(Tensor, UndefinedTensorsAndWrongDataAreErrors) {
  Tensor nothing;
  EXPECT_ERROR(nothing + 1, "undefined");
  EXPECT_ERROR(nothing.sizes(), "undefined");
  EXPECT_ERROR(tensor({1, 2, 3}, {2}), "the data has 3 elements, but the shape [2] needs 2");
  EXPECT_ERROR(zeros({2}).item<float>(), "a Tensor with 2 elements cannot be converted to Scalar");
}

TEST(Tensor, Printing) {
  EXPECT_EQ(to_string(tensor({1, 2.5, -3, 4}, {2, 2})),
            "tensor([[ 1.0000,  2.5000],\n        [-3.0000,  4.0000]])");
  EXPECT_EQ(to_string(tensor({1, 2}, {2})), "tensor([1., 2.])");
  EXPECT_EQ(to_string(arange(3)), "tensor([0, 1, 2])");
  EXPECT_EQ(to_string(arange(2) == arange(2)), "tensor([True, True])");
  EXPECT_EQ(to_string(arange(2) == 0), "tensor([ True, False])");
  EXPECT_EQ(to_string(tensor({1e-6f, 1}, {2})), "tensor([1.0000e-06, 1.0000e+00])");
  EXPECT_EQ(to_string(zeros({2000})), "tensor([0., 0., 0.,  ..., 0., 0., 0.])");
  EXPECT_EQ(to_string(scalar(2, {.dtype = f64})), "tensor(2., dtype=f64)");
}

TEST(Device, StringsFollowTheGrammar) {
  EXPECT_EQ(Device("cuda:3").str(), "cuda:3");
  EXPECT_FALSE(Device("cuda") == Device("cuda:0"));
  for (const char *bad : {"cuda:", "cuda:01", "cuda:-1", ":0", "cuda:x", "cu da", "cuda:0:1"})
    EXPECT_ERROR(Device(bad), std::string("Invalid device string: '") + bad + "'");
  EXPECT_ERROR(Device(""), "Device string must not be empty");
  EXPECT_ERROR(Device("tpu"), "Expected one of cpu, cuda");
  EXPECT_ERROR(Device("cuda:300"), "larger than 127");
}

TEST(Random, SeedsRepeatAndStayInRange) {
  manual_seed(7);
  std::vector<float> a = rand({1000}).to_vector<float>(), b = rand({1000}).to_vector<float>();
  manual_seed(7);
  EXPECT_EQ(rand({1000}).to_vector<float>(), a);
  EXPECT_EQ(rand({1000}).to_vector<float>(), b);
  EXPECT_NE(a, b);
  double mean = 0;
  for (float v : a) {
    EXPECT_GE(v, 0);
    EXPECT_LT(v, 1);
    mean += v / 1000;
  }
  EXPECT_NEAR(mean, 0.5, 0.05);
  std::vector<float> n = randn({4000}).to_vector<float>();
  double variance = 0;
  for (float v : n)
    variance += v * v / 4000.0;
  EXPECT_NEAR(variance, 1, 0.1);
}
