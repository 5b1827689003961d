//===- StepRows.cpp - A training step, small calls, alternation -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include <weft/weft.hpp>

#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace weft::bench {
namespace {

struct Mlp : nn::Module {
  nn::Linear fc1 = register_module("fc1", nn::Linear(784, 512));
  nn::Linear fc2 = register_module("fc2", nn::Linear(512, 256));
  nn::Linear fc3 = register_module("fc3", nn::Linear(256, 10));
  Tensor operator()(Tensor x) { return fc3(relu(fc2(relu(fc1(x))))); }
};

/// The step of the demo: a batch of 128 images and labels of no meaning, forward, backward, Adam.
class Training {
public:
  Training() : adam_(model_.parameters(), {.lr = 1e-3}) {
    std::vector<uint8_t> images(128 * 28 * 28);
    std::vector<int64_t> labels(128);
    uint32_t state = 7;
    const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 16; };
    for (uint8_t &pixel : images)
      pixel = static_cast<uint8_t>(next());
    for (int64_t &label : labels)
      label = next() % 10;
    images_ = Tensor::from(images, {128, 28, 28});
    labels_ = Tensor::from(labels, {128});
  }

  auto compiled() {
    return compile(
        [this](Tensor images, Tensor labels) {
          Tensor logits = model_(images.flatten(1).to(f32) / 255);
          Tensor loss = nn::cross_entropy(logits, labels);
          loss.backward();
          adam_.step();
          adam_.zero_grad();
          return loss;
        },
        {.name = "mlp_step"});
  }

  const Tensor &images() const { return images_; }
  const Tensor &labels() const { return labels_; }

private:
  Mlp model_;
  optim::Adam adam_;
  Tensor images_, labels_;
};

/// Sum of the durations of launches in a Chrome trace, in microseconds, and their number.
std::pair<double, int> launches(const std::string &trace) {
  const std::string kind = "\"cat\": \"launch\"", key = "\"dur\": ";
  double total = 0;
  int count = 0;
  for (size_t at = trace.find(kind); at != std::string::npos; at = trace.find(kind, at), ++count) {
    at = trace.find(key, at) + key.size();
    total += std::strtod(trace.c_str() + at, nullptr);
  }
  return {total, count};
}

Tensor normal(Shape shape, double scale) { return randn(std::move(shape)) * scale; }

} // namespace

RowResult run_mlp_step() {
  manual_seed(0);
  Training training;
  const auto step = training.compiled();
  const auto call = [&] {
    const Tensor loss = step(training.images(), training.labels());
    synchronize();
  };
  const float before = step(training.images(), training.labels()).item<float>();
  RowResult result;
  result.samples = alternate({{"weft", call}}, {.alternations = 15, .block_ms = 60});

  // What the caller's thread is held up for, on an idle queue.
  std::vector<double> returns;
  for (int i = 0; i < 200; ++i) {
    const double start = milliseconds_now();
    const Tensor loss = step(training.images(), training.labels());
    returns.push_back((milliseconds_now() - start) * 1e3);
    synchronize();
  }
  // What of a step's time lies outside its launches.
  constexpr int profiled = 200;
  double wall = 0;
  const Profile profile = weft::profile([&] {
    const double start = milliseconds_now();
    for (int i = 0; i < profiled; ++i)
      call();
    wall = milliseconds_now() - start;
  });
  const auto [inside, count] = launches(profile.chrome_trace());
  const float after = step(training.images(), training.labels()).item<float>();
  if (!(after < before))
    throw std::runtime_error("the loss did not fall: " + std::to_string(before) + " before, " +
                             std::to_string(after) + " after");
  result.figures = {{"return_us", median(std::move(returns))},
                    {"host_us", wall / profiled * 1e3 - inside / profiled},
                    {"launches", static_cast<double>(count) / profiled}};
  result.note = "loss " + number(before) + " at first, " + number(after) + " at the end";
  return result;
}

RowResult run_small_call() {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, {8});
  const Tensor y = Tensor::from(std::vector<float>{8, 7, 6, 5, 4, 3, 2, 1}, {8});
  const auto f = compile([](Tensor x, Tensor y) { return x * 2 + y * y - x; }, {.name = "small"});
  const std::vector<float> values = f(x, y).to_vector<float>();
  for (int i = 0; i < 8; ++i)
    if (const float expected = static_cast<float>(i + 1 + (8 - i) * (8 - i));
        values[static_cast<size_t>(i)] != expected)
      throw std::runtime_error("element " + std::to_string(i) + " is " +
                               std::to_string(values[static_cast<size_t>(i)]) + ", expected " +
                               std::to_string(expected));
  RowResult result;
  result.samples = alternate({{"weft", [&] { const Tensor r = f(x, y); }, [] { synchronize(); }}},
                             {.alternations = 15, .block_ms = 20});
  return result;
}

RowResult run_alternating() {
  constexpr int pairs = 8;
  manual_seed(0);
  const Tensor x = normal({2048, 128}, 1), w = normal({128, 128}, 0.1);
  const auto body = [](const Tensor &z, const Tensor &x) { return tanh(z) * sigmoid(z) + x; };
  const auto whole = compile(
      [&body](Tensor x, Tensor w) {
        Tensor h = x;
        for (int i = 0; i < pairs; ++i)
          h = body(matmul(h, w), x);
        return h;
      },
      {.name = "alternating"});
  const auto product =
      compile([](Tensor h, Tensor w) { return matmul(h, w); }, {.name = "alternating_product"});
  const auto kernel =
      compile([&body](Tensor z, Tensor x) { return body(z, x); }, {.name = "alternating_kernel"});

  Tensor h = x;
  for (int i = 0; i < pairs; ++i)
    h = kernel(product(h, w), x);
  const std::vector<float> expected = h.to_vector<float>(), found = whole(x, w).to_vector<float>();
  for (size_t i = 0; i < found.size(); ++i)
    if (!(std::abs(found[i] - expected[i]) <= 1e-4f * (1 + std::abs(expected[i]))))
      throw std::runtime_error("element " + std::to_string(i) + " is " + std::to_string(found[i]) +
                               ", but its parts give " + std::to_string(expected[i]));

  const Tensor z = product(x, w);
  RowResult result;
  const auto finished = [](Tensor) { synchronize(); };
  std::vector<Samples> samples = alternate({{"weft", [&] { finished(whole(x, w)); }},
                                            {"product", [&] { finished(product(x, w)); }},
                                            {"kernel", [&] { finished(kernel(z, x)); }}});
  Samples parts{"parts", {}, 1};
  for (size_t i = 0; i < samples[0].ms.size(); ++i)
    parts.ms.push_back(pairs * (samples[1].ms[i] + samples[2].ms[i]));
  result.figures = {{"product_ms", samples[1].median()}, {"kernel_ms", samples[2].median()}};
  result.samples = {samples[0], std::move(parts)};
  return result;
}

std::string first_step() {
  manual_seed(0);
  const double begin = milliseconds_now();
  Training training;
  synchronize();
  // Initial values are random numbers, which are computed (and their kernels compiled) when they are first
  // needed.
  const Tensor warm = randn({8}) + 1.0;
  (void)warm.to_vector<float>();
  const double start = milliseconds_now();
  const auto step = training.compiled();
  double times[3];
  double last = start;
  for (double &time : times) {
    const Tensor loss = step(training.images(), training.labels());
    synchronize();
    const double now = milliseconds_now();
    time = now - last;
    last = now;
  }
  const std::vector<VariantInfo> variants = step.variants();
  return "{\"column\": \"weft\", \"setup_ms\": " + number(start - begin) +
         ", \"first_ms\": " + number(times[0]) + ", \"third_ms\": " + number(times[2]) +
         ", \"compile_ms\": " + number(variants.empty() ? NAN : variants[0].compile_ms) + "}";
}

} // namespace weft::bench
