//===- CudaProgramsTest.cpp - Programs whose tensors lie on a GPU ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/frontend/Helpers.h"

using namespace weft;

namespace {

Tensor numbers(int64_t count) { return sin(arange(count).to(f32)); }

struct Net : TwoLayers {
  Net() : TwoLayers(6, 8, 3) {}
};

/// A model, Adam and its data on one device. The seed makes runs on all devices begin with the same numbers.
struct Training {
  explicit Training(Device on) : on(on) {
    model.to(on);
    adam.emplace(model.parameters(), optim::AdamOptions{.lr = 0.01});
  }
  Tensor body(Tensor x, Tensor classes) {
    Tensor loss = nn::cross_entropy(model(x), classes);
    loss.backward();
    adam->step();
    adam->zero_grad();
    return loss;
  }
  Tensor images() { return numbers(16 * 6).reshape({16, 6}).to(on); }
  Tensor labels() { return (arange(16) % 3).to(on); }

  Device on;
  Net model;
  std::optional<optim::Adam> adam;
};

Training seeded(Device on) {
  manual_seed(3);
  return Training(on);
}

} // namespace

TEST(CudaPrograms, ValuesAreReadAndPrinted) {
  Tensor x = tensor({1, 2, 3, 4}, {2, 2}).to("cuda:0");
  EXPECT_EQ(x.device(), Device("cuda:0"));
  EXPECT_EQ(floats(x), Floats({1, 2, 3, 4}));
  EXPECT_EQ(x[1][0].item<float>(), 3);
}

TEST(CudaPrograms, ElementwiseResultsAreTheHosts) {
  Tensor x = numbers(1000);
  EXPECT_EQ(floats(exp(x.to("cuda:0")) * 2 + 1), floats(exp(x) * 2 + 1));
}

TEST(CudaPrograms, SumsAndProducts) {
  Tensor x = numbers(64 * 32).reshape({64, 32}), y = cos(arange(32 * 48).to(f32)).reshape({32, 48});
  EXPECT_NEAR(x.to("cuda:0").sum().item<double>(), x.sum().item<double>(), 1e-4);
  const Floats expected = floats(matmul(x, y)), found = floats(matmul(x.to("cuda:0"), y.to("cuda:0")));
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-5);
}

TEST(CudaPrograms, ACompiledStepTrains) {
  const auto losses = [](Device on) {
    Training training = seeded(on);
    auto step = compile([&](Tensor x, Tensor classes) { return training.body(x, classes); });
    std::vector<float> all;
    Tensor images = training.images(), labels = training.labels();
    for (int i = 0; i < 5; ++i)
      all.push_back(step(images, labels).item<float>());
    return all;
  };
  const std::vector<float> host = losses("cpu"), device = losses("cuda:0");
  for (size_t i = 0; i < host.size(); ++i)
    EXPECT_NEAR(device[i], host[i], 1e-5);
}
