//===- AveragingTest.cpp - Averages of a model's parameters ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Their values are compared with PyTorch's (test/parity/test_optim.py).
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;

namespace {

void setAll(nn::Linear &model, double value) {
  NoGradGuard guard;
  for (Tensor &parameter : model.parameters())
    parameter.fill_(value);
}

double firstOf(const nn::Module &model) { return model.parameters()[0].to_vector<float>()[0]; }

} // namespace

TEST(Averaging, TheFirstUpdateCopiesAndLaterOnesAverage) {
  nn::Linear model(2, 1);
  optim::AveragedModel mean(model), moving(model, {.decay = 0.75});
  for (const double value : {4.0, 8.0, 0.0}) {
    setAll(model, value);
    mean.update_parameters(model);
    moving.update_parameters(model);
  }
  EXPECT_EQ(firstOf(mean.module), 4);
  EXPECT_EQ(firstOf(moving.module), 0.75 * (0.75 * 4 + 0.25 * 8));
  EXPECT_EQ(mean.n_averaged.item<int64_t>(), 3);
  // The model is called through its average, and keeps its own parameters.
  EXPECT_EQ(mean(ones({1, 2})).item<float>(), 12);
  EXPECT_EQ(firstOf(model), 0);
}

TEST(Averaging, IsPartOfACompiledStep) {
  nn::Linear model(3, 2);
  optim::AveragedModel inside(model, {.decay = 0.9}), outside(model, {.decay = 0.9});
  optim::SGD sgd(model.parameters(), {.lr = 0.1});
  auto step = compile([&](Tensor x) {
    model(x).sum().backward();
    sgd.step();
    sgd.zero_grad();
    inside.update_parameters(model);
  });
  for (int i = 0; i < 4; ++i) {
    step(full({1, 3}, i + 1.0));
    outside.update_parameters(model);
  }
  EXPECT_EQ(bitsOf(inside.module.parameters()), bitsOf(outside.module.parameters()));
  EXPECT_EQ(inside.n_averaged.item<int64_t>(), 4);
}

TEST(Averaging, ItsStateResumes) {
  nn::Linear model(2, 2);
  optim::AveragedModel first(model), second(model);
  for (const double value : {1.0, 2.0}) {
    setAll(model, value);
    first.update_parameters(model);
  }
  second.load_state_dict(to_host(first.state_dict()));
  setAll(model, 6);
  first.update_parameters(model);
  second.update_parameters(model);
  EXPECT_EQ(firstOf(second.module), 3);
  EXPECT_EQ(bitsOf(second.module.parameters()), bitsOf(first.module.parameters()));
}

TEST(Averaging, BadOptionsAndOtherModelsAreErrors) {
  const nn::Linear model(2, 2);
  using Average = optim::AveragedModel<nn::Linear>;
  EXPECT_ERROR(Average(model, {.decay = 1.5}), "Invalid decay value 1.500000 provided");
  EXPECT_ERROR(Average(model, {.decay = NAN}), "in [0,1] range");
  EXPECT_ERROR(Average(model, {.decay = 0.5,
                               .avg_fn = [](const Tensor &a, const Tensor &, const Tensor &) { return a; }}),
               "Only one of decay and avg_fn");
  Average average(model);
  const auto before = bitsOf(average.module.parameters());
  EXPECT_ERROR(average.update_parameters(nn::Linear(2, 3)),
               "'weight' has the shape [3, 2], and in the average [2, 2]");
  EXPECT_ERROR(average.update_parameters(nn::Linear(2, 2, false)), "number 1 of its tensors is none");
  EXPECT_EQ(bitsOf(average.module.parameters()), before);
  EXPECT_EQ(average.n_averaged.item<int64_t>(), 0);
}
