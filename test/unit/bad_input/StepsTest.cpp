//===- StepsTest.cpp - Data that fail a step: the step is undone ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step fails: an index or label is out of range, an assertion is false, or there is too little memory.
// Afterwards parameters, moments, step counts and the generator have the same bits as before, compiled or
// not, and the next step gives the same bits as in a program without the failed step.
//
//===----------------------------------------------------------------------===//
#include "BadInput.h"

namespace weft::bad_input {
namespace {

struct Net : nn::Module {
  nn::Embedding table = register_module("table", nn::Embedding(6, 4));
  nn::Linear fc = register_module("fc", nn::Linear(4, 3));
  nn::Dropout drop = register_module("drop", nn::Dropout(0.25));
  Tensor operator()(Tensor words) { return fc(drop(table(words))); }
};

std::vector<std::byte> bits(const StateDict &state) {
  std::vector<std::byte> all;
  for (const auto &[name, tensor] : state) {
    const std::vector<std::byte> bytes = tensor.to_bytes();
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

struct Fault {
  std::string name;
  std::vector<int64_t> words, labels;
  float scale; ///< above 1 the step's own assertion fails
  std::vector<std::string> message;
};

class Step : public ::testing::TestWithParam<std::tuple<Fault, bool>> {};

TEST_P(Step, IsUndone) {
  const auto &[fault, compiled] = GetParam();
  const auto indices = [](const std::vector<int64_t> &values) {
    return Tensor::from(values, {static_cast<int64_t>(values.size())});
  };
  // The losses of five good steps, with a bad one after the second, or without.
  const auto train = [&](bool disturbed) {
    manual_seed(11);
    Net net;
    optim::Adam adam(net.parameters(), {.lr = 0.1});
    const auto body = [&](Tensor words, Tensor labels, Tensor scale) {
      assert_true((scale <= 1).all(), "the scale is sane");
      Tensor loss = nn::cross_entropy(net(words) * scale, labels);
      loss.backward();
      adam.step();
      adam.zero_grad();
      return loss;
    };
    const auto fast = compile(body, {.name = "step"});
    const auto step = [&](Tensor words, Tensor labels, Tensor scale) {
      return compiled ? fast(words, labels, scale) : body(words, labels, scale);
    };
    const auto everything = [&] {
      std::vector<std::vector<std::byte>> state = {bits(net.state_dict()), bits(adam.state_dict()),
                                                   bits(default_generator().state_dict())};
      return state;
    };
    std::vector<float> losses;
    for (int i = 0; i < 5; ++i) {
      if (disturbed && i == 2) {
        const auto before = everything();
        StateDict generator;
        for (const auto &[name, tensor] : default_generator().state_dict())
          generator.emplace_back(name, tensor.clone());
        std::string message;
        try {
          step(indices(fault.words), indices(fault.labels), scalar(fault.scale)).item<float>();
          ADD_FAILURE() << "no error was thrown";
        } catch (const Error &error) {
          message = error.what();
        }
        for (const std::string &word : fault.message)
          EXPECT_NE(message.find(word), std::string::npos) << "no '" << word << "' in: " << message;
        auto after = everything();
        // Without compile, numbers that were drawn before the operation that failed are drawn.
        if (!compiled && fault.name.starts_with("Label")) {
          EXPECT_NE(after.back(), before.back());
          default_generator().load_state_dict(generator);
          after.back() = before.back();
        }
        EXPECT_EQ(after, before);
        expectUsable();
      }
      losses.push_back(step(indices({0, 5, 3}), indices({2, 0, 1}), scalar(1)).item<float>());
    }
    return losses;
  };
  const std::vector<float> good = train(false), disturbed = train(true);
  for (size_t i = 0; i < disturbed.size(); ++i)
    EXPECT_EQ(disturbed[i], good[i]) << "step " << i;
}

const Fault faults[] = {
    {"IndexTooLarge",
     {0, 6, 3},
     {2, 0, 1},
     1,
     {"index 6 is out of bounds for dimension 0 with size 6", "position 1", "StepsTest.cpp:"}},
    {"IndexNegative", {0, -1, 3}, {2, 0, 1}, 1, {"index -1 is out of bounds for dimension 0 with size 6"}},
    {"IndexHuge", {INT64_MAX, 5, 3}, {2, 0, 1}, 1, {"9223372036854775807", "position 0"}},
    {"IndexSmallest", {INT64_MIN, 5, 3}, {2, 0, 1}, 1, {"-9223372036854775808"}},
    {"LabelTooLarge", {0, 5, 3}, {2, 3, 1}, 1, {"3", "[0, 3)", "position 1"}},
    {"LabelNegative", {0, 5, 3}, {-5, 0, 1}, 1, {"-5"}},
    {"AssertionFails", {0, 5, 3}, {2, 0, 1}, 2, {"the scale is sane"}},
};

INSTANTIATE_TEST_SUITE_P(Faults, Step, ::testing::Combine(::testing::ValuesIn(faults), ::testing::Bool()),
                         [](const auto &info) {
                           return std::get<0>(info.param).name +
                                  (std::get<1>(info.param) ? "Compiled" : "Lazy");
                         });

// Memory is allocated before the first launch, so a call without enough memory writes nothing.
TEST(StepWithoutMemory, IsUndone) {
  Tensor state = ones({1 << 20});
  auto step = compile(
      [&](Tensor x) {
        state += 1;
        return matmul(softmax(x, 1), x.t());
      },
      {.name = "grow"});
  step(ones({64, 64})).to_bytes();
  const auto before = state.to_bytes();
  synchronize();
  trim();
  const uint64_t limit = memory_limit();
  Tensor large = ones({2048, 1024});
  large.to_bytes();
  set_memory_limit(memory_allocated() + (4 << 20));
  try {
    step(large).to_bytes();
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), "WEFT-M001") << error.what();
  }
  set_memory_limit(limit);
  EXPECT_EQ(state.to_bytes(), before);
  step(large).to_bytes();
  EXPECT_EQ(state[0].item<float>(), 3);
  expectUsable();
}

} // namespace
} // namespace weft::bad_input
