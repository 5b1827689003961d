//===- TensorTest.cpp - Operations on tensors -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;

TEST(Tensor, TruthValuesAreVectorsOfBool) {
  Tensor x = weft::tensor({-1., 0., 2., NAN});
  EXPECT_EQ((x > 0).to_vector<bool>(), (std::vector<bool>{false, false, true, false}));
  EXPECT_EQ(x.to_vector<bool>(), (std::vector<bool>{true, false, true, true})); // as bool(x) in Python
  EXPECT_EQ(zeros({0}).to_vector<bool>(), std::vector<bool>());
  std::vector<bool> flags{true, false, true, true};
  EXPECT_EQ(Tensor::from(flags, {2, 2}).dtype(), i1);
  EXPECT_EQ(Tensor::from(flags, {2, 2}).to_vector<bool>(), flags);
  EXPECT_EQ(weft::tensor(flags).dtype(), i1);
  EXPECT_EQ(weft::tensor(flags, {.dtype = f32}).to_vector<float>(), (std::vector<float>{1, 0, 1, 1}));
  EXPECT_ERROR(Tensor::from(flags, {3}), "the data has 4 elements, but the shape [3] needs 3");
}

TEST(Tensor, RangesTakeAllOptions) {
  Tensor x = arange(3, {.dtype = f32, .requires_grad = true});
  EXPECT_TRUE(x.requires_grad());
  (x * x).sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 2, 4}));
  EXPECT_ERROR(arange(3, {.requires_grad = true}),
               "only Tensors of floating point dtype can require gradients");
}

TEST(Tensor, CreationHasTheDtypesOfPyTorch) {
  EXPECT_EQ(zeros({2}).dtype(), f32);
  EXPECT_EQ(arange(3).dtype(), i64);
  EXPECT_EQ(Tensor::from(std::vector<int64_t>{1, 2}, {2}).dtype(), i64);
  EXPECT_EQ(Tensor::from(std::vector<double>{1, 2}, {2}).dtype(), f64);
  EXPECT_EQ(arange(4).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(full({2, 2}, 7.0).to_vector<float>(), (std::vector<float>{7, 7, 7, 7}));
  EXPECT_EQ(full({2}, 7.0).dtype(), f32);
  EXPECT_EQ(full({2}, 7).dtype(), i64);
  EXPECT_EQ(full({2}, true).dtype(), i1);
  EXPECT_EQ(full({2}, tensor(7.0, {.dtype = f64})).dtype(), f64);
  EXPECT_EQ(full({1}, 7, {.dtype = f16}).dtype(), f16);
  const std::pair<DType, DType> names[] = {{int8, i8},     {int16, i16},     {int32, i32},
                                           {int64, i64},   {uint8, u8},      {float16, f16},
                                           {float32, f32}, {bfloat16, bf16}, {float64, f64}};
  for (const auto &[name, dtype] : names)
    EXPECT_EQ(zeros({1}, name).dtype(), dtype);
  const int64_t odd = (int64_t(1) << 62) + 1; // no double has it
  EXPECT_EQ(full({1}, odd).item<int64_t>(), odd);
  EXPECT_EQ(full_like(arange(1), odd).item<int64_t>(), odd);
  EXPECT_ERROR(full({2}, tensor({1., 2.})), "a number or a 0-dimensional tensor");
}

TEST(Tensor, AFractionIsTrue) {
  EXPECT_EQ(full({1}, 0.5, {.dtype = i1}).to_vector<bool>(), std::vector<bool>{true});
  Tensor mask = zeros({2}, i1);
  mask[1].fill_(double(NAN));
  EXPECT_EQ(mask.to_vector<bool>(), (std::vector<bool>{false, true}));
  mask.fill_(-0.0);
  EXPECT_EQ(mask.to_vector<bool>(), (std::vector<bool>{false, false}));
  EXPECT_EQ(pad(mask, {1, 0}, 0.25).to_vector<bool>(), (std::vector<bool>{true, false, false}));
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

// Programs without operands differ only in their types: a cached program of another size must not run.
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
  Tensor a = zeros({2}), b = zeros({2}, {.device = "cuda:97"});
  std::string message = errorOf([&] { (void)(a + b); });
  EXPECT_EQ(
      message.find("Expected all tensors to be on the same device, but found at least two devices, cpu and "
                   "cuda:97!"),
      0u)
      << message;
  EXPECT_NE(message.find("WEFT-P001"), std::string::npos);
  EXPECT_NE(message.find("operand 1 is tensor<2xf32, cuda:97>"), std::string::npos) << message;
  EXPECT_EQ((a.to("cuda:97") + b).device(),
            Device("cuda:97")); // recorded and checked, though there is no such device
  EXPECT_ERROR(b.to_vector<float>(), "'cuda:97' is not there (WEFT-E001)");
  Tensor back = b.to("cpu");
  EXPECT_ERROR(back.to_vector<float>(), "WEFT-E001");
  EXPECT_EQ(ones({1}).item<float>(), 1); // what does not need the device goes on
}

// `to` is the tensor itself where nothing changes; gradients go back to the source's dtype and device.
TEST(Tensor, MovesThatChangeNothingAreTheTensorItself) {
  Tensor x = zeros({2});
  for (const Tensor &same : {x.to(f32), x.to("cpu"), x.to(Device("cpu"), f32), x.cpu()}) {
    Tensor handle = same;
    handle += 1;
  }
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{4, 4}));
  x.to(f64).fill_(9);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{4, 4})) << "a copy is a copy";
  Tensor half = ones({2}, {.dtype = f16, .requires_grad = true});
  (half.to(f64) * 3).sum().backward();
  EXPECT_EQ(half.grad().dtype(), f16);
  EXPECT_EQ(half.grad().to_vector<float>(), (std::vector<float>{3, 3}));
  Tensor host = ones({2}, {.requires_grad = true}), moved = host.to("cuda:1", f16);
  EXPECT_EQ(moved.device(), Device("cuda:1"));
  EXPECT_EQ(moved.dtype(), f16);
  moved.sum().backward();
  EXPECT_EQ(host.grad().device(), Device("cpu"));
  EXPECT_EQ(host.grad().dtype(), f32);
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

// The texts of torch.Tensor's repr for these, with Weft's names of dtypes.
TEST(Tensor, PrintingIsThatOfPyTorch) {
  const std::vector<std::pair<Tensor, const char *>> cases{
      {zeros({0}), "tensor([])"},
      {zeros({0, 3}), "tensor([], size=(0, 3))"},
      {zeros({2, 0}, {.dtype = i64}), "tensor([], size=(2, 0), dtype=i64)"},
      {zeros({0}, {.dtype = i1}), "tensor([], dtype=i1)"},
      {zeros({}), "tensor(0.)"},
      {scalar(3.14159), "tensor(3.1416)"},
      {scalar(1e10), "tensor(1.0000e+10)"},
      {scalar(NAN), "tensor(nan)"},
      // Zeros and numbers that are not finite do not make a column wider.
      {tensor({1, NAN, INFINITY, -INFINITY}, {4}), "tensor([1., nan, inf, -inf])"},
      {tensor({0, -0.0f}, {2}), "tensor([0., -0.])"},
      {tensor({16777216, 3}, {2}), "tensor([1.6777e+07, 3.0000e+00])"},
      {tensor({1000, 1.5}, {2}), "tensor([1000.0000,    1.5000])"},
      {tensor({1001.5, 0.5}, {2}), "tensor([1.0015e+03, 5.0000e-01])"},
      {tensor({1e8, 2e8}, {2}), "tensor([1.0000e+08, 2.0000e+08])"},
      {tensor({-5, 100}), "tensor([ -5, 100])"},
      {arange(6).to(bf16) / 7, "tensor([0.0000, 0.1426, 0.2852, 0.4277, 0.5703, 0.7148], dtype=bf16)"},
      {arange(2000).to(f32), "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n"
                             "        1.9990e+03])"},
      {arange(40).reshape({2, 20}),
       "tensor([[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
       "         18, 19],\n"
       "        [20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37,\n"
       "         38, 39]])"},
      {arange(1001).reshape({1001, 1}), "tensor([[   0],\n        [   1],\n        [   2],\n        ...,\n"
                                        "        [ 998],\n        [ 999],\n        [1000]])"},
      {arange(8).reshape({2, 2, 2}),
       "tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])"},
      {ones({2}, {.requires_grad = true}), "tensor([1., 1.], requires_grad=True)"},
      // The dtype begins a new line if the last line has no room for it.
      {zeros({12}, {.requires_grad = true}),
       "tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.], requires_grad=True)"},
      {zeros({13}, {.requires_grad = true}), "tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.],\n"
                                             "       requires_grad=True)"},
      {zeros({1, 22}, {.dtype = i32}),
       "tensor([[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],\n"
       "       dtype=i32)"},
  };
  for (const auto &[value, text] : cases)
    EXPECT_EQ(to_string(value), text);
}

TEST(Device, StringsFollowTheGrammar) {
  EXPECT_EQ(Device("cuda:3").str(), "cuda:3");
  EXPECT_FALSE(Device("cuda") == Device("cuda:0"));
  for (const char *bad :
       {"cuda:",    "cuda:01",  "cuda:00", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:1 ",  " cuda",
        "cuda ",    "cuda\n",   ":0",      ":",       "cuda:x",  "cu da",   "cuda:0:1", "cuda::1",
        "cuda:1.0", "cuda:0x1", "cuda,0",  "cuda0",   "cuda-0",  "tpu:01",  "cpu:00",   "c\xc3\xbc"})
    EXPECT_ERROR(Device(bad), std::string("Invalid device string: '") + bad + "'");
  EXPECT_ERROR(Device(""), "Device string must not be empty");
  for (const char *unknown : {"tpu", "CUDA", "cuda_", "meta:0"})
    EXPECT_ERROR(Device(unknown), "Expected one of cpu, cuda");
  for (const char *large : {"cuda:128", "cuda:300", "cuda:99999999999999999999"})
    EXPECT_ERROR(Device(large), "larger than 127");
  EXPECT_ERROR(Device("cpu:1"), "there is one CPU device");
}

// A CUDA tensor's device has a number, a CPU tensor's has none, however the device was named.
TEST(Device, NumbersAreChecked) {
  EXPECT_EQ(Device("cpu:0"), Device("cpu"));
  EXPECT_EQ(Device(DeviceType::cpu, 0), Device("cpu"));
  EXPECT_EQ(zeros({1}, {.device = Device(DeviceType::cpu, 0)}).device(), Device("cpu"));
  EXPECT_EQ(zeros({1}, {.device = "cuda"}).device(), Device("cuda:0"));
  EXPECT_FALSE(zeros({1}, {.device = "cuda"}).device() == Device("cuda"));
  constexpr Device third(DeviceType::cuda, 3);
  EXPECT_EQ(third.str(), "cuda:3");
  EXPECT_ERROR(Device(DeviceType::cpu, 1), "there is one CPU device");
  for (int wrong : {-1, 128})
    EXPECT_ERROR(Device(DeviceType::cuda, wrong), "from 0 to 127, found " + std::to_string(wrong));
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
