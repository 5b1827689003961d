//===- StepRows.cpp - Training steps and what is near them ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "Steps.h"

#include <weft/models.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

namespace weft::bench {
namespace {

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

void expect_near(double found, double expected, double tolerance, const std::string &what) {
  if (!(std::abs(found - expected) <= tolerance * (1 + std::abs(expected))))
    throw std::runtime_error(what + " is " + number(found) + ", expected " + number(expected));
}

/// A step that was compiled, has the same first losses as without compile(), and was timed.
class TimedStep {
public:
  explicit TimedStep(const std::string &name, Numerics numerics = Numerics::eager)
      : fast_(numerics == Numerics::fast), step_(make_step(name)), compiled_(step_.compiled(numerics)) {
    const Step plain = make_step(name); // from the same initial values
    for (int i = 0; i < 3; ++i) {
      const double expected = plain.body(plain.x, plain.y).item<float>();
      const double found = compiled_(step_.x, step_.y).item<float>();
      expect_near(found, expected, fast_ ? 1e-4 : 1e-6,
                  "loss " + std::to_string(i) + " of the compiled step");
      first_ = i ? first_ : found;
    }
  }
  Tensor operator()() const { return compiled_(step_.x, step_.y); }
  Contender contender() const {
    return {"weft", [this] {
              const Tensor loss = (*this)();
              synchronize();
            }};
  }
  /// Fails if the training changed nothing, because a step that does nothing is fast.
  std::string losses() const {
    const double last = (*this)().item<float>();
    if (!(last < first_))
      throw std::runtime_error("the loss did not fall: " + number(first_) + " before, " + number(last) +
                               " after");
    return "loss " + number(first_) + " at first, " + number(last) + " at the end";
  }
  const Step &step() const { return step_; }

private:
  bool fast_;
  Step step_;
  decltype(step_.compiled()) compiled_;
  double first_ = 0;
};

/// The parts of a step's time. `return_us` is the time until the call returns, on an idle queue; `host_us` is
/// the time outside of launches.
std::vector<std::pair<std::string, double>> parts(const TimedStep &step, int calls) {
  const std::function<void()> call = step.contender().call;
  std::vector<double> returns;
  for (int i = 0; i < calls; ++i) {
    const double start = milliseconds_now();
    const Tensor loss = step();
    returns.push_back((milliseconds_now() - start) * 1e3);
    synchronize();
  }
  double wall = 0;
  const Profile profile = weft::profile([&] {
    const double start = milliseconds_now();
    for (int i = 0; i < calls; ++i)
      call();
    wall = milliseconds_now() - start;
  });
  const auto [inside, count] = launches(profile.chrome_trace());
  return {{"return_us", median(std::move(returns))},
          {"host_us", (wall * 1e3 - inside) / calls},
          {"launches", static_cast<double>(count) / calls}};
}

RowResult run_step(const std::string &name, Schedule schedule, int profiled,
                   Numerics numerics = Numerics::eager) {
  const TimedStep step(name, numerics);
  RowResult result;
  result.samples = alternate({step.contender()}, schedule);
  result.figures = parts(step, profiled);
  result.note = step.losses();
  return result;
}

/// Parameters after `steps` of Adam with gradients that stay as they are: each step moves by the learning
/// rate in the gradient's direction.
void check(const Update &update, const Update &fresh, int steps) {
  for (const size_t i : {size_t(0), update.parameters.size() - 1}) {
    const std::vector<float> found = update.parameters[i].detach().to_vector<float>(),
                             before = fresh.parameters[i].detach().to_vector<float>(),
                             gradient = fresh.gradients[i].to_vector<float>();
    for (size_t k = 0; k < found.size(); ++k)
      expect_near(found[k], before[k] - steps * 1e-3 * gradient[k] / (std::abs(gradient[k]) + 1e-8), 1e-5,
                  "element " + std::to_string(k) + " of matrix " + std::to_string(i));
  }
}

RowResult run_adam(int64_t count) {
  const Update update(count);
  const auto step = update.compiled();
  for (int i = 0; i < 3; ++i)
    step();
  check(update, Update(count), 3);
  RowResult result;
  result.samples = alternate({{"weft",
                               [&] {
                                 step();
                                 synchronize();
                               }}},
                             {.alternations = 15, .block_ms = 20});
  result.note = std::to_string(step.variants().size()) + " variants";
  return result;
}

} // namespace

RowResult run_mlp_step() { return run_step("mlp_step", {.alternations = 15, .block_ms = 60}, 200); }
RowResult run_deep_step() { return run_step("deep_step", {.alternations = 15, .block_ms = 40}, 200); }
RowResult run_lstm_step() { return run_step("lstm_step", {.alternations = 15, .block_ms = 60}, 50); }
RowResult run_lstm_layers_step() {
  return run_step("lstm_layers_step", {.alternations = 9, .block_ms = 300}, 5);
}
RowResult run_gpt_step() { return run_step("gpt_step", {.alternations = 9, .block_ms = 300}, 5); }
RowResult run_gpt_long_step() { return run_step("gpt_long_step", {.alternations = 9, .block_ms = 300}, 5); }
RowResult run_resnet_step() { return run_step("resnet_step", {.alternations = 9, .block_ms = 400}, 3); }
RowResult run_resnet_fast_step() {
  return run_step("resnet_step", {.alternations = 9, .block_ms = 400}, 3, Numerics::fast);
}
RowResult run_adam_300() { return run_adam(300); }
RowResult run_adam_3000() { return run_adam(3000); }

RowResult run_one_row() {
  manual_seed(0);
  Mlp model;
  const Tensor x = normal({1, 784}, 1);
  const auto f = compile(
      [model](Tensor x) mutable {
        NoGradGuard no_grad;
        return model(x);
      },
      {.name = "one_row"});
  std::vector<double> h;
  for (const float value : x.to_vector<float>())
    h.push_back(value);
  for (const nn::Linear &layer : {model.fc1, model.fc2, model.fc3}) {
    const std::vector<float> weight = layer.weight.detach().to_vector<float>(),
                             bias = layer.bias.detach().to_vector<float>();
    std::vector<double> next(bias.begin(), bias.end());
    for (size_t i = 0; i < next.size(); ++i) {
      for (size_t j = 0; j < h.size(); ++j)
        next[i] += weight[i * h.size() + j] * h[j];
      if (next.size() != 10)
        next[i] = std::max(next[i], 0.0);
    }
    h = std::move(next);
  }
  const std::vector<float> found = f(x).to_vector<float>();
  for (size_t i = 0; i < h.size(); ++i)
    expect_near(found[i], h[i], 1e-5, "element " + std::to_string(i));
  RowResult result;
  result.samples = alternate({{"weft",
                               [&] {
                                 const Tensor y = f(x);
                                 synchronize();
                               }}},
                             {.alternations = 15, .block_ms = 20});
  return result;
}

RowResult run_gpt_token() {
  manual_seed(0);
  constexpr int64_t length = 256, place = 128;
  models::Gpt model({.block_size = length, .vocab_size = 65, .n_layer = 4, .n_head = 4, .n_embd = 128});
  model.eval();
  models::GptCache cache = model.cache(1);
  const auto next = compile(
      [&](Tensor token, Tensor position) {
        NoGradGuard no_grad;
        return model.next(token, position, cache);
      },
      {.name = "gpt_token"});
  std::vector<int64_t> words;
  for (int64_t i = 0; i <= place; ++i)
    words.push_back(i * 7 % 65);
  // Token by token it gives what the whole text gives.
  Tensor last;
  for (int64_t i = 0; i <= place; ++i)
    last = next(full({1}, words[static_cast<size_t>(i)], {.dtype = i64}), full({1}, i, {.dtype = i64}));
  NoGradGuard no_grad;
  const std::vector<float> found = last.to_vector<float>(),
                           expected =
                               model(Tensor::from(words, {1, place + 1})).select(1, place).to_vector<float>();
  for (size_t i = 0; i < found.size(); ++i)
    expect_near(found[i], expected[i], 1e-4, "logit " + std::to_string(i));
  const Tensor token = full({1}, 3, {.dtype = i64}), position = full({1}, place, {.dtype = i64});
  RowResult result;
  result.samples = alternate({{"weft",
                               [&] {
                                 const Tensor logits = next(token, position);
                                 synchronize();
                               }}},
                             {.alternations = 15, .block_ms = 40});
  return result;
}

RowResult run_loader_step() {
  // One step for both, so that the loader's part is all that differs.
  const TimedStep step("mlp_step");
  constexpr int64_t batches = 64;
  std::vector<Tensor> images, labels;
  for (int64_t i = 0; i < batches; ++i) {
    images.push_back(step.step().x);
    labels.push_back(step.step().y);
  }
  const data::TensorDataset set(cat(images, 0), cat(labels, 0));
  data::DataLoader loader(set, {.batch_size = 128, .shuffle = true, .num_workers = 2});
  const auto compiled = step.step().compiled();
  auto at = loader.begin();
  const auto loaded = [&] {
    if (at == loader.end())
      at = loader.begin();
    const Tensor loss = compiled((*at).images, (*at).labels);
    ++at;
    synchronize();
  };
  RowResult result;
  result.samples =
      alternate({{"weft", loaded}, {"plain", step.contender().call}}, {.alternations = 15, .block_ms = 60});
  result.note = step.losses();
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

/// The time of a phase of the compilation, from explain(), in milliseconds.
static double phase_ms(const std::string &explanation, const std::string &phase) {
  const size_t place = explanation.find(phase + " ");
  return place == std::string::npos ? NAN : std::stod(explanation.substr(place + phase.size() + 1));
}

/// The processor time of this process, in all of its threads.
static double processor_milliseconds() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string first_step(const std::string &name) {
  const double begin = milliseconds_now();
  std::function<void()> call;
  std::function<std::vector<VariantInfo>()> variants;
  std::function<std::string()> explain;
  if (name.starts_with("adam_")) {
    const auto update = std::make_shared<Update>(std::stoll(name.substr(5)));
    const auto step = std::make_shared<decltype(update->compiled())>(update->compiled());
    call = [update, step] { (*step)(); };
    variants = [step] { return step->variants(); };
    explain = [step] { return step->explain(); };
  } else {
    const auto made = std::make_shared<Step>(make_step(name));
    const auto step = std::make_shared<decltype(made->compiled())>(made->compiled());
    call = [made, step] { (void)(*step)(made->x, made->y); };
    variants = [step] { return step->variants(); };
    explain = [step] { return step->explain(); };
    // Initial values are random numbers, which are computed (and their kernels compiled) when they are first
    // needed.
    const Tensor warm = randn({8}) + 1.0;
    (void)warm.to_vector<float>();
  }
  synchronize();
  const double start = milliseconds_now();
  double times[3], processor[3];
  for (int i = 0; i < 3; ++i) {
    const double from = milliseconds_now(), processor_from = processor_milliseconds();
    call();
    synchronize();
    times[i] = milliseconds_now() - from;
    processor[i] = processor_milliseconds() - processor_from;
  }
  const std::vector<VariantInfo> made = variants();
  const std::string explanation = explain();
  return "{\"column\": \"weft\", \"setup_ms\": " + number(start - begin) +
         ", \"first_ms\": " + number(times[0]) + ", \"third_ms\": " + number(times[2]) +
         ", \"processor_ms\": " + number(processor[0] - processor[2]) +
         ", \"compile_ms\": " + number(made.empty() ? NAN : made[0].compile_ms) +
         ", \"pass_ms\": " + number(phase_ms(explanation, "passes")) +
         ", \"machine_code_ms\": " + number(phase_ms(explanation, "machine code")) + "}";
}

} // namespace weft::bench
