//===- TraceStressTest.cpp - Traces beside everything else ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread traces and calls functions all the time, in which its state has values, types, gradients, modes
// and optimiser state that it never has between calls. Another one uses the same library in every other way,
// and looks at the first one's state. Each must compute what it computes alone, and see nothing of a trace.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"
#include "test/unit/TestLevel.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <random>
#include <thread>

using namespace weft;

namespace {
/// Two threads add to it, each in its own way.
struct Shared {
  Tensor total = zeros({6}), part = total.slice(0, 2, 4);
  /// How often the thread that does not trace came by.
  std::atomic<int> beats{0};
};

/// In the middle of what a trace does: lets the other thread do something first, if it is there.
void pause(const std::atomic<int> *beats) {
  if (!beats)
    return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  for (const int before = *beats; *beats == before && std::chrono::steady_clock::now() < end;)
    std::this_thread::yield();
}

/// The state of one thread, and what it computed.
struct Worker {
  explicit Worker(uint32_t seed) : generator(seed), random(seed) {
    const NoGradGuard guard;
    layer.weight.copy_(rand({4, 6}, generator) - 0.5);
    layer.bias.fill_(0.25);
  }
  nn::Linear layer{6, 4};
  Generator generator;
  Tensor w = full({6}, 2.0).requires_grad_(), v = full({4}, 1.0).requires_grad_(),
         half = w.detach().slice(0, 0, 3);
  Tensor sum = zeros({4}), table = ones({4, 3});
  std::optional<optim::Adam> adam;
  std::mt19937 random;
  std::vector<Floats> found;
  const std::atomic<int> *beats = nullptr; ///< set while another thread is there and this one traces

  uint32_t pick(uint32_t count) { return random() % count; }
  void note(const Tensor &tensor) { found.push_back(tensor.to_vector<float>()); }
  /// Everything that is left at the end.
  std::vector<std::vector<std::byte>> bits() {
    std::vector<Tensor> all{layer.weight, layer.bias, w, v, half, sum, table, generator.get_state()};
    if (adam)
      for (const auto &[name, tensor] : adam->state_dict())
        all.push_back(tensor);
    return bitsOf(all);
  }

  /// \name What may be in a trace, or happen at once
  /// Before and after each, there is no gradient, the layer trains and is f32, and `sum` has whole numbers.
  /// @{
  Tensor step(const Tensor &x, bool both) {
    Tensor loss = (w * x).sum() + (layer(x.unsqueeze(0)) * v).sum();
    (both ? loss : (w * x * x).sum()).backward();
    pause(beats);
    adam->step();
    pause(beats);
    clear();
    return loss.detach();
  }
  void clear() {
    adam->zero_grad();
    layer.zero_grad();
  }
  Tensor changeTypes(const Tensor &x) {
    layer.to(f64);
    pause(beats);
    Tensor y = layer(x.to(f64).unsqueeze(0)).to(f32);
    layer.to(f32);
    return y.detach();
  }
  Tensor changeModes(const Tensor &x) {
    layer.eval();
    pause(beats);
    Tensor y = layer.is_training() ? x * 2 : x * 3;
    layer.train();
    return y;
  }
  Tensor accumulate(const Tensor &x) {
    sum += 0.25;
    Tensor part = sum.slice(0, 1, 3);
    part += 0.5;
    pause(beats);
    sum += 0.75;
    part += 0.5;
    return x + sum.sum();
  }
  Tensor draw(const Tensor &x) {
    Tensor first = rand({6}, generator);
    pause(beats);
    return x + first * rand({6}, generator);
  }
  Tensor differentiate(const Tensor &x) {
    Tensor part = w.slice(0, 0, 3), y = (part * part).sum() * x;
    pause(beats);
    return grad(y.sum(), {part})[0] + half;
  }
  Tensor act(uint32_t kind, const Tensor &x) {
    switch (kind) {
    case 0:
      return step(x, true);
    case 1:
      return step(x, false);
    case 2:
      return changeTypes(x);
    case 3:
      return changeModes(x);
    case 4:
      return accumulate(x);
    case 5:
      return draw(x);
    default:
      return differentiate(x);
    }
  }
  static constexpr uint32_t kinds = 7;
  /// @}
};

/// One action in a function that is traced now and called.
void traceOnce(Worker &own, Shared &shared) {
  const uint32_t first = own.pick(Worker::kinds), other = own.pick(Worker::kinds), fails = own.pick(4);
  // Two steps of one function are of the same parameters.
  const uint32_t second = first <= 1 && other <= 1 ? first : other;
  const double factor = 1 + own.pick(4);
  if (!own.adam || own.pick(8) == 0) // its state is made in a trace
    own.adam.emplace(std::vector<Tensor>{own.w, own.v}, optim::AdamOptions{.lr = 0.125});
  auto inner = compile([&](Tensor x) { return own.act(second, x); });
  auto f = compile([&](Tensor x) {
    Tensor y = own.act(first, x * factor);
    shared.total += 1;
    Tensor z = inner(x);
    shared.part += 1;
    if (fails == 0)
      throw std::runtime_error("in vain");
    return cat({y.reshape({-1}), z.reshape({-1})});
  });
  const Tensor x = full({6}, 0.5);
  if (fails == 0) {
    EXPECT_THROW(f(x), std::runtime_error);
  } else {
    for (uint32_t calls = own.pick(2) + 1; calls > 0; --calls)
      own.note(f(x));
  }
}

/// One action that is no trace, on the own state.
void actOnce(Worker &own, Shared &shared) {
  if (!own.adam)
    own.adam.emplace(std::vector<Tensor>{own.w, own.v}, optim::AdamOptions{.lr = 0.125});
  const Tensor x = full({6}, 0.5);
  switch (own.pick(10)) {
  case 0: {
    Tensor bad = own.table.index_select(0, Tensor::from(std::vector<int64_t>{7}, {1}));
    own.table += bad.sum();
    EXPECT_ERROR(own.table.to_vector<float>(), "index 7 is out of bounds");
    break;
  }
  case 1:
    shared.part += 2;
    break;
  case 2: {
    const NoGradGuard guard;
    nn::Linear copy = clone(own.layer);
    own.layer.weight.copy_(copy.weight * 0.5);
    break;
  }
  case 3:
    synchronize();
    break;
  case 4:
    own.adam->load_state_dict(own.adam->state_dict());
    break;
  default:
    own.note(own.act(own.pick(Worker::kinds), x));
  }
}

/// Looks at the state of a thread that traces. `views` are parts of that.
void look(Worker &other, const Shared &shared, const std::vector<Tensor> &views, std::mt19937 &random) {
  switch (random() % 9) {
  case 8:
    for (const Tensor &view : views) {
      EXPECT_EQ(view.dtype(), f32);
      EXPECT_EQ(view.to_vector<float>().size(), static_cast<size_t>(view.numel()));
    }
    break;
  case 0: {
    const nn::Linear copy = clone(other.layer);
    EXPECT_EQ(copy.weight.dtype(), f32);
    EXPECT_EQ(copy.weight.to_vector<float>().size(), 24u);
    break;
  }
  case 1:
    EXPECT_FALSE(other.w.grad().defined());
    EXPECT_FALSE(other.layer.weight.grad().defined());
    break;
  case 2:
    EXPECT_EQ(other.layer.weight.dtype(), f32);
    EXPECT_EQ(other.layer.weight.sizes(), (Shape{4, 6}));
    EXPECT_TRUE(other.layer.is_training());
    break;
  case 3:
    for (const float sum : other.sum.to_vector<float>())
      EXPECT_EQ(sum, static_cast<float>(static_cast<int>(sum)));
    break;
  case 4: {
    Tensor view = other.w.detach().slice(0, 1, 5).reshape({2, 2});
    EXPECT_EQ((view * 2).to_vector<float>().size(), 4u);
    EXPECT_EQ(other.half.to_vector<float>().size(), 3u);
    break;
  }
  case 5:
    EXPECT_EQ(other.generator.get_state().to_vector<int64_t>().size(), 2u);
    break;
  case 6:
    EXPECT_TRUE(mentions(to_string(other.layer), "28 parameters (28 trained)"));
    for (const auto &[name, tensor] : other.layer.state_dict())
      EXPECT_GT(tensor.numel(), 0);
    break;
  default:
    EXPECT_EQ(shared.total.slice(0, 0, 2).to_vector<float>().size(), 2u);
  }
}

struct Outcome {
  std::vector<Floats> traced, computed;
  std::vector<std::vector<std::byte>> tracedState, computedState;
  Floats total;
};

/// With `bothTrace`, the second thread traces as well.
Outcome run(uint32_t seed, int actions, bool bothTrace, bool atOnce) {
  Worker traces(seed), computes(seed + 1000);
  Shared shared;
  const std::vector<Tensor> views{traces.layer.weight.detach().slice(0, 1, 3), traces.w.detach().view({2, 3}),
                                  traces.sum.slice(0, 0, 2).detach()};
  const auto trace = [&] {
    for (int i = 0; i < actions; ++i)
      traceOnce(traces, shared);
  };
  const auto compute = [&] {
    std::mt19937 random(seed);
    for (int i = 0; i < (bothTrace ? actions : 4 * actions); ++i) {
      bothTrace ? traceOnce(computes, shared) : actOnce(computes, shared);
      if (atOnce)
        look(traces, shared, views, random);
      ++shared.beats;
    }
  };
  if (atOnce) {
    traces.beats = &shared.beats;
    std::thread other(compute);
    trace();
    other.join();
  } else {
    trace();
    compute();
  }
  return {traces.found, computes.found, traces.bits(), computes.bits(), shared.total.to_vector<float>()};
}
} // namespace

static void compare(bool bothTrace) {
  const bool isQuick = weft::testing::testLevel() == "quick";
  const uint32_t seeds = isQuick ? 2 : 10;
  constexpr int actions = 12;
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
    const Outcome alone = run(seed, actions, bothTrace, false),
                  together = run(seed, actions, bothTrace, true);
    ASSERT_EQ(together.traced, alone.traced) << "seed " << seed;
    ASSERT_EQ(together.computed, alone.computed) << "seed " << seed;
    ASSERT_EQ(together.tracedState, alone.tracedState) << "seed " << seed;
    ASSERT_EQ(together.computedState, alone.computedState) << "seed " << seed;
    ASSERT_EQ(together.total, alone.total) << "seed " << seed;
  }
}

TEST(TraceStress, EachComputesWhatItComputesAlone) { compare(/*bothTrace=*/false); }

TEST(TraceStress, TwoTraceWhatTheyTraceAlone) { compare(/*bothTrace=*/true); }
