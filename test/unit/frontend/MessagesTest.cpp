//===- MessagesTest.cpp - The first words of errors, and where they point --===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mistake in a program is found by its author with the words that PyTorch has for it, and no message of the
// interface speaks of ops of the IR.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <sstream>

using namespace weft;

namespace {

/// The message begins with these words and names a line of this file.
#define EXPECT_WORDS(expression, words)                                                                      \
  do {                                                                                                       \
    std::string message = errorOf([&] { (void)(expression); });                                              \
    EXPECT_EQ(message.substr(0, std::string(words).size()), words) << message;                               \
    EXPECT_NE(message.find("MessagesTest.cpp:"), std::string::npos) << message;                              \
  } while (false)

/// The fields of an error's FailureInfo.
template <typename Function> FailureInfo infoOf(Function function) {
  try {
    function();
  } catch (const Error &error) {
    return error.info();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

TEST(ErrorInfo, OfAnIndexHasPositionValueAndLine) {
  Tensor table = arange(8).view({4, 2}), index = Tensor::from(std::vector<int64_t>{0, 3, 9}, {3});
  unsigned line = 0;
  for (bool again : {false, true}) { // the second time from a program that is kept
    line = __LINE__ + 1;
    FailureInfo info = infoOf([&] { (table.index_select(0, index) + 1).to_vector<float>(); });
    EXPECT_EQ(info.check, FailedCheck::index) << again;
    EXPECT_EQ(info.position, 2);
    EXPECT_EQ(info.value, 9);
    EXPECT_EQ(info.dimension, 0);
    EXPECT_EQ(info.size, 4);
    EXPECT_NE(info.file.find("MessagesTest.cpp"), std::string::npos) << info.file;
    EXPECT_EQ(info.line, line);
    EXPECT_EQ(info.call, 0u);
  }
}

TEST(ErrorInfo, OfACompiledCallHasFunctionAndNumber) {
  Tensor table = arange(8).view({4, 2});
  unsigned line = __LINE__ + 1;
  auto look = compile([&](Tensor index) { return table.index_select(0, index); }, {.name = "look"});
  look(Tensor::from(std::vector<int64_t>{0, 3}, {2}));
  FailureInfo info =
      infoOf([&] { look(Tensor::from(std::vector<int64_t>{0, -7}, {2})).to_vector<int64_t>(); });
  EXPECT_EQ(info.function, "look");
  EXPECT_EQ(info.call, 2u);
  EXPECT_EQ(info.check, FailedCheck::index);
  EXPECT_EQ(info.value, -7);
  EXPECT_EQ(info.size, 4);
  EXPECT_EQ(info.line, line) << "of the operation, and not of the call";
}

// A dynamic size is the number that the call gave it.
TEST(ErrorInfo, OfADynamicSizeHasTheNumber) {
  Dim n("n", 1, 64);
  auto look = compile([](Tensor table, Tensor index) { return table.index_select(0, index); },
                      {spec({n, 2}), spec({2}, i64)});
  Tensor bad = Tensor::from(std::vector<int64_t>{0, 5}, {2});
  FailureInfo info = infoOf([&] { look(ones({5, 2}), bad).to_vector<float>(); });
  EXPECT_EQ(info.check, FailedCheck::index);
  EXPECT_EQ(info.size, 5);
  EXPECT_NE(info.str().find("5 is out of bounds"), std::string::npos) << info.str();
  EXPECT_EQ(look(ones({6, 2}), bad).to_vector<float>().size(), 4u);
}

TEST(ErrorInfo, OfARefusalHasItsCode) {
  auto strided = compile(
      [](Tensor x) {
        Tensor y = softmax(x, 1);
        return std::make_pair(y, y);
      },
      {.strict = Strict::donate});
  FailureInfo info = infoOf([&] { strided(ones({4, 4})); });
  EXPECT_EQ(info.code, "WEFT-D005") << info.str();
}

TEST(Messages, JoiningTensorsOfOtherSizes) {
  Tensor a = ones({2, 3}), b = ones({4, 5}), none = zeros({0});
  EXPECT_WORDS(cat({a, none, b}),
               "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 5 for tensor "
               "number 2 in the list.");
  EXPECT_WORDS(cat({a, ones({3})}), "Tensors must have same number of dimensions: got 2 and 1");
}

TEST(Messages, IndicesThatDoNotFit) {
  Tensor a = ones({2, 3}), index = zeros({2, 5}, i64), row = zeros({3}, i64);
  EXPECT_WORDS(a.gather(0, row), "Index tensor must have the same number of dimensions as input tensor");
  EXPECT_WORDS(
      a.gather(0, index),
      "Size does not match: expected index [2, 5] to be no larger than self [2, 3] apart from dimension 0");
  EXPECT_WORDS(a.scatter(0, row, a), "Index tensor must have the same number of dimensions as self tensor");
  EXPECT_WORDS(a.scatter_add(0, zeros({2, 3}, i64), ones({3})),
               "Index tensor must have the same number of dimensions as src tensor");
  EXPECT_WORDS(
      a.scatter(0, zeros({2, 3}, i64), ones({1, 1})),
      "Expected index [2, 3] to be no larger than self [2, 3] apart from dimension 0 and to be no larger "
      "size than src [1, 1]");
}

TEST(Messages, ShapesThatDoNotExpand) {
  Tensor a = ones({2, 3});
  EXPECT_WORDS(
      a.expand({3, 3}),
      "The expanded size of the tensor (3) must match the existing size (2) at non-singleton dimension 0.  "
      "Target sizes: [3, 3].  Tensor sizes: [2, 3]");
  EXPECT_WORDS(a.expand({2}),
               "expand: the number of sizes provided (1) must be greater or equal to the number of "
               "dimensions in the tensor (2)");
  EXPECT_WORDS(layer_norm(a, {3}, ones({3}), ones({4, 5})),
               "Expected bias to be of same shape as normalized_shape, but got bias of shape [4, 5] and "
               "normalized_shape = [3]");
  EXPECT_WORDS(zeros({0, 3}).argmax(0), "argmax(): Expected reduction dim 0 to have non-zero size");
}

TEST(Messages, TypesThatAnOperationDoesNotTake) {
  Tensor a = ones({2, 3}), mask = a > 0;
  EXPECT_WORDS(a & a, "\"bitwise_and\" not implemented for 'f32'");
  EXPECT_WORDS(mask | 1.5, "\"bitwise_or\" not implemented for a real number");
  EXPECT_WORDS(~a, "\"bitwise_not\" not implemented for 'f32'");
  EXPECT_WORDS(-mask,
               "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
               "mask, use the `~` or `logical_not()` operator instead.");
  EXPECT_WORDS(abs(mask), "\"abs\" not implemented for 'Bool'");
}

TEST(Messages, WhatIsNoTensorHasAPlaceToo) {
  EXPECT_WORDS(Device("gpu"), "Expected one of cpu, cuda device type at start of device string: 'gpu'");
  EXPECT_WORDS(ones({2}).to("cuda:x"), "Invalid device string: 'cuda:x'");
  EXPECT_WORDS(zeros({2}, {.device = "cpu:1"}), "there is one CPU device");
  EXPECT_WORDS(Dim("n", 5, 1), "Dim 'n' needs 0 <= min <= max, found 5 and 1");
  EXPECT_WORDS(nn::GELU("none at all"), "nn::GELU: approximate must be");
  nn::Linear layer(2, 3);
  EXPECT_WORDS(layer.register_parameter("weight", ones({1})),
               "the module has a tensor named 'weight' already");
  EXPECT_WORDS(layer.register_module("a.b", nn::ReLU()),
               "the name 'a.b' of a module's part must not be empty");
  EXPECT_WORDS(layer.get_parameter("wait"), "the module has no parameter 'wait'; it has: weight, bias");
}

TEST(Messages, NothingWasCompiledYet) {
  auto f = compile([](Tensor x) { return x; });
  EXPECT_WORDS(f.save("never.weft"), "this compiled function has not run yet");
  EXPECT_ERROR(f.mlir(), "or give compile() the specs of its arguments");
}

TEST(Messages, OfDevicesMoveWhatWasForgotten) {
  Tensor weight = ones({3, 2}, {.device = "cuda:0"}).requires_grad_(), input = ones({2, 3});
  EXPECT_ERROR(matmul(input, weight), "to fix, move operand 0: .to(\"cuda:0\")");
  EXPECT_ERROR(matmul(weight, input), "to fix, move operand 1: .to(\"cuda:0\")");
  // Of two that were moved, the one that is no parameter.
  Tensor other = ones({2, 3}, {.device = "cuda:1"});
  EXPECT_ERROR(matmul(other, weight), "to fix, move operand 0: .to(\"cuda:0\")");
  EXPECT_ERROR(matmul(weight, other), "to fix, move operand 1: .to(\"cuda:0\")");
}

TEST(Messages, OfAGradientThatIsNone) {
  nn::Linear layer(2, 2);
  EXPECT_WORDS(layer.weight.grad().sum(),
               "this tensor is undefined: nothing was assigned to it, or it is the missing gradient "
               "of 'weight', read by grad() at ");
  EXPECT_ERROR(layer.weight.grad().sum(), "no backward() has reached it");
  Tensor x = ones({2});
  EXPECT_ERROR(x.grad().item<float>(), "it does not require one, or is no leaf");
  layer(ones({1, 2})).sum().backward();
  layer.weight.grad().sum().item<float>();
}

TEST(Messages, APrintedValueInAFunctionIsTheUsersLine) {
  std::ostringstream out;
  auto f = compile([&](Tensor x) {
    out << x; // this line
    return x;
  });
  const std::string line = "MessagesTest.cpp:" + std::to_string(__LINE__ - 3);
  EXPECT_ERROR(f(ones({2})), line);
  EXPECT_ERROR(f(ones({2})), "which runs as one list of launches (WEFT-C001)");
  out << ones({1});
  EXPECT_EQ(out.str(), to_string(ones({1})));
}

TEST(Messages, OfMetadataListTheNames) {
  const Metadata metadata = {{"step", "12"}, {"made by", "a test"}};
  EXPECT_EQ(metadata.at("step"), "12");
  EXPECT_TRUE(metadata.contains("made by"));
  EXPECT_WORDS(metadata.at("epoch"), "the metadata has no 'epoch'; it has: 'step', 'made by'");
  EXPECT_ERROR(Metadata().at("epoch"), "it has: none");
}

// One option needs no braces, as in libtorch.
TEST(Messages, OfSizesAndTypesSpeakOfWhatWasWritten) {
  EXPECT_ERROR(full({2}, 300, i8), "full() was given 300, and i8 holds -128 to 127");
  EXPECT_ERROR(one_hot(weft::tensor({0, 1}, i64), int64_t(1) << 62),
               "[2, 4611686018427387904] has more than 2^63 bytes");
  EXPECT_ERROR(pad(ones({2}), {0, INT64_MAX}), "is more than a dimension can have, at dimension 0");
  EXPECT_ERROR(pad(ones({2}), {0, INT64_MAX / 2}), "has more than 2^63 bytes");
  EXPECT_ERROR(matmul(ones({2, 2}, u8), ones({2, 2})), "ui8 != f32; to convert one, write .to(weft::f32)");
  EXPECT_ERROR(optim::SGD({}, {.lr = 1}), "register_module()");
  const Dim n("n", 0, 4);
  auto f =
      compile([](Tensor x, Tensor rows) { return x.index_select(0, rows); }, {spec({n, 3}), spec({2}, i64)});
  EXPECT_ERROR(f(ones({3, 3}), weft::tensor({0, 1}, i64)),
               "an index reads along dimension 0, whose size n may be 0: give its Dim a min of 1");
}

TEST(Messages, OfDtypesSayWhatToConvert) {
  EXPECT_ERROR(nn::Linear(2, 1)(ones({1, 2}, f64)),
               "but got: f64 != f32; to convert the input to the dtype of the weight, write .to(weft::f32)");
  const Tensor logits = ones({2, 3});
  EXPECT_ERROR(nn::functional::cross_entropy(logits, one_hot(weft::tensor({0, 1}), 3)),
               "If the target holds probabilities of the classes, they need a floating-point dtype: write "
               "target.to(weft::f32)");
  EXPECT_ERROR(nn::functional::cross_entropy(logits, weft::tensor({0., 1.})),
               "needs class numbers as targets, an integer tensor, found f32: write target.to(weft::i64)");
}

TEST(Messages, OneOptionStandsForItself) {
  EXPECT_EQ(zeros({2}, i64).dtype(), i64);
  EXPECT_EQ(ones({2}, Device("cuda:0")).device(), Device("cuda:0"));
  EXPECT_EQ(empty(3, f16).dtype(), f16);
  EXPECT_EQ(arange(3, f32).dtype(), f32);
  EXPECT_EQ(weft::tensor({1, 2}, f64).dtype(), f64);
  EXPECT_EQ(weft::tensor(std::vector<int>{1, 2}, u8).dtype(), u8);
  EXPECT_EQ(scalar(3, i32).item<int32_t>(), 3);
  EXPECT_EQ(rand({2}, f64).dtype(), f64);
  EXPECT_EQ(randn({2}, bf16).dtype(), bf16);
  EXPECT_EQ(zeros({2}, {}).dtype(), f32);
  EXPECT_EQ(linspace(0, 1, 3, f64).to_vector<double>(), (std::vector<double>{0, 0.5, 1}));
  EXPECT_EQ(logspace(0, 2, 3, f64).to_vector<double>(), (std::vector<double>{1, 10, 100}));
  EXPECT_EQ(logspace(0, 2, 3, 2, f64).to_vector<double>(), (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(eye(2, f64).to_vector<double>(), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(eye(1, 2, i64).to_vector<int64_t>(), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(eye(2, Device("cuda:0")).device(), Device("cuda:0"));
  EXPECT_EQ(arange(0, 3, f16).dtype(), f16);
  EXPECT_EQ(arange(0, 5, 2, f32).to_vector<float>(), (std::vector<float>{0, 2, 4}));
  EXPECT_EQ(randperm(3, i32).dtype(), i32);
  EXPECT_EQ(randint(5, {2}, i32).dtype(), i32);
  EXPECT_EQ(randint(2, 5, {2}, f32).dtype(), f32);
  EXPECT_EQ(normal(0, 1, {2}, f64).dtype(), f64);
  EXPECT_EQ(scalar_tensor(2, f64).dtype(), f64);
}

} // namespace
