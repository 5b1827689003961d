//===- CheckpointTest.cpp - Saved runs, archives, snapshots --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"
#include "test/unit/TemporaryFolder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace weft;

namespace {
using weft::test::TemporaryFolder;

struct Net : TwoLayers {
  Net() : TwoLayers(6, 8, 3) {}
  nn::Parameter seen = register_buffer("seen", zeros({}, {.dtype = i64}));
};

/// A whole run: model, Adam, a shuffling loader, and noise from the default generator.
struct Training {
  Net model;
  optim::Adam adam{model.parameters(), {.lr = 0.01}};
  data::DataLoader loader{
      data::TensorDataset(sin(arange(41 * 6).to(f32)).reshape({41, 6}), randint(0, 3, {41}, labels())),
      {.batch_size = 8, .shuffle = true, .seed = 4}};
  std::vector<float> losses;
  size_t steps = 0;

  static Generator &labels() {
    static Generator generator;
    return generator.manual_seed(6);
  }
  Tensor body(Tensor images, Tensor classes) {
    Tensor loss = nn::cross_entropy(model(images + 0.01 * randn(images.sizes())), classes);
    loss.backward();
    adam.step();
    adam.zero_grad();
    NoGradGuard guard;
    model.seen += 1;
    return loss;
  }
  CompiledFunction<Tensor, std::tuple<Tensor, Tensor>> step =
      compile([this](Tensor images, Tensor classes) { return body(images, classes); });

  std::vector<CheckpointItem> items() {
    return {{"model", model}, {"adam", adam}, {"rng", default_generator()}, {"loader", loader}};
  }
  /// Trains up to the end of pass `epochs`; saves after step `at`, and stops there if told to.
  void train(int64_t epochs, size_t at = 0, const std::string &path = {}, bool stop = false) {
    for (int64_t epoch = loader.epoch(); epoch < epochs; ++epoch)
      for (auto &[images, classes] : loader) {
        adam.set_lr(0.01 / static_cast<double>(1 + steps));
        losses.push_back(step(images, classes).item<float>());
        if (++steps == at) {
          save_checkpoint(path, items(), {{"step", std::to_string(steps)}});
          if (stop)
            return;
        }
      }
  }
};
} // namespace

// A run that is stopped and resumed at any step gives the bits of a run that was not stopped.
TEST(Checkpoint, AResumedRunIsTheRunThatNeverStopped) {
  TemporaryFolder folder;
  std::string path = folder / "run.safetensors";
  for (size_t at : {size_t{4}, size_t{6}, size_t{9}}) { // 6 batches a pass: in one, at its end, in the next
    manual_seed(1);
    Training whole;
    whole.train(4);
    manual_seed(1);
    Training first;
    first.train(4, at, path, /*stop=*/true);
    manual_seed(99); // another process: nothing is as it was
    Training second;
    Metadata metadata = load_checkpoint(path, second.items());
    ASSERT_EQ(metadata.size(), 1u);
    EXPECT_EQ(metadata[0].second, std::to_string(at));
    second.steps = at;
    second.train(4);
    std::vector<float> losses = first.losses;
    losses.insert(losses.end(), second.losses.begin(), second.losses.end());
    EXPECT_EQ(losses, whole.losses) << at;
    EXPECT_EQ(bitsOf(second.model.parameters()), bitsOf(whole.model.parameters()));
    EXPECT_EQ(second.model.seen.item<int64_t>(), 24);
    EXPECT_EQ(second.adam.lr(), whole.adam.lr());
    EXPECT_EQ(second.step.variants().size(), 2u) << "the full batch and the short one";
  }
}

// Loading into a run that has already taken steps: the same slots are written, so nothing is compiled again.
TEST(Checkpoint, GoingBackInARunCompilesNothing) {
  TemporaryFolder folder;
  std::string path = folder / "run.safetensors";
  manual_seed(2);
  Training run;
  run.train(3, 7, path);
  Tensor weight = run.model.fc1.weight;
  std::vector<float> losses(run.losses.begin() + 7, run.losses.end());
  auto bits = bitsOf(run.model.parameters());
  uint64_t before = compile_count();
  load_checkpoint(path, run.items());
  run.losses.clear();
  run.steps = 7;
  run.train(3);
  EXPECT_EQ(compile_count(), before);
  EXPECT_EQ(run.losses, losses);
  EXPECT_EQ(bitsOf(run.model.parameters()), bits);
  EXPECT_EQ(weight.to_bytes(), run.model.fc1.weight.to_bytes());
}

TEST(Checkpoint, WhatDoesNotFitIsOneErrorAndChangesNothing) {
  TemporaryFolder folder;
  std::string path = folder / "run.safetensors";
  Training run;
  run.train(1);
  save_checkpoint(path, run.items());
  nn::Linear other(6, 8);
  struct Wide : nn::Module {
    nn::Linear fc1 = register_module("fc1", nn::Linear(6, 9));
    nn::Linear fc3 = register_module("fc3", nn::Linear(9, 3));
  } wide;
  optim::SGD sgd(wide.parameters(), {.momentum = 0.9});
  Generator generator(123);
  auto bits = bitsOf(wide.parameters());
  std::string message =
      errorOf([&] { load_checkpoint(path, {{"model", wide}, {"adam", sgd}, {"rng", generator}}); });
  for (const char *part : {"in 'model': size mismatch: fc1.weight has shape [9, 6], the state has [8, 6]",
                           "in 'model': missing: fc3.bias", "in 'model': unexpected: fc2.weight",
                           "in 'adam': missing: group0.momentum", "in 'adam': unexpected: fc1.weight.exp_avg",
                           "unexpected: 'loader.epoch'"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(bitsOf(wide.parameters()), bits);
  EXPECT_EQ(generator.initial_seed(), 123u);
  EXPECT_ERROR(load_checkpoint(folder / "none.safetensors", {{"model", wide}}), "none.safetensors");
  save_safetensors(folder / "weights.safetensors", wide.state_dict());
  EXPECT_ERROR(load_checkpoint(folder / "weights.safetensors", {{"model", wide}}), "is not a checkpoint");
  EXPECT_ERROR(save_checkpoint(path, {{"a", wide}, {"a", sgd}}), "two parts named 'a'");
  EXPECT_ERROR(save_checkpoint(path, {{"a.b", wide}}), "must not be empty or contain a dot");
  message = errorOf([&] { load_checkpoint(folder / "none.safetensors", {{"model", wide}}); });
  EXPECT_NE(message.find("CheckpointTest.cpp:" + std::to_string(__LINE__ - 1)), std::string::npos) << message;
  message = errorOf([&] { wide.load_state_dict({}); });
  EXPECT_NE(message.find("CheckpointTest.cpp:" + std::to_string(__LINE__ - 1)), std::string::npos) << message;
}

TEST(Io, EveryDtypeSurvivesSafetensorsAndMetadataToo) {
  TemporaryFolder folder;
  StateDict state;
  for (DType dtype : {i1, i8, u8, i16, i32, i64, f16, bf16, f32, f64})
    state.emplace_back(std::string(name(dtype)), (arange(5) - 2).to(dtype).reshape({5, 1}));
  save_safetensors(folder / "s.safetensors", state, {{"made by", "a \"test\""}, {"empty", ""}});
  Metadata metadata = safetensors_metadata(folder / "s.safetensors");
  std::sort(metadata.begin(), metadata.end());
  EXPECT_EQ(metadata, (Metadata{{"empty", ""}, {"made by", "a \"test\""}}));
  StateDict loaded = load_safetensors(folder / "s.safetensors");
  ASSERT_EQ(loaded.size(), state.size());
  for (const auto &[name, value] : loaded) {
    auto it = std::find_if(state.begin(), state.end(), [&](const auto &e) { return e.first == name; });
    ASSERT_NE(it, state.end());
    EXPECT_EQ(value.dtype(), it->second.dtype());
    EXPECT_EQ(value.sizes(), (Shape{5, 1}));
    EXPECT_EQ(value.to_bytes(), it->second.to_bytes());
  }
}

TEST(Io, NpzRoundTrip) {
  TemporaryFolder folder;
  StateDict state{{"a", arange(3)}, {"layer.weight", tensor({1, 2}, {2, 1})}, {"empty", zeros({0, 2})}};
  save_npz(folder / "a.npz", state);
  StateDict loaded = load_npz(folder / "a.npz");
  ASSERT_EQ(loaded.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(loaded[i].first, state[i].first);
    EXPECT_EQ(loaded[i].second.sizes(), state[i].second.sizes());
    EXPECT_EQ(loaded[i].second.to_bytes(), state[i].second.to_bytes());
  }
  EXPECT_ERROR(save_npz(folder / "b.npz", {{"b", zeros({1}, {.dtype = bf16})}}), "bf16");
  EXPECT_ERROR(load_npz(folder / "missing.npz"), "missing.npz");
}

TEST(Io, CopiesOnTheHostAreSnapshots) {
  Tensor total = zeros({2});
  StateDict before = to_host(StateDict{{"total", total}});
  total += 1;
  Tensor after = to_host(total);
  total += 1;
  EXPECT_EQ(before[0].second.to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(after.to_vector<float>(), (std::vector<float>{1, 1}));
}
