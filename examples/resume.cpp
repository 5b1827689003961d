//===- resume.cpp - A run that is stopped, and goes on ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trains for some steps, saves everything that the run consists of, and ends; called again it goes on from
// there. The numbers are those of a run that was never stopped, bit for bit:
//   resume --steps 40; resume --steps 100      prints the same last line as      resume --steps 100
//
//===----------------------------------------------------------------------===//
#include "common/digits.h"
#include "common/options.h"

#include <weft/weft.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

using namespace weft;

struct Mlp : nn::Module {
  nn::Linear fc1 = register_module("fc1", nn::Linear(784, 128));
  nn::Linear fc2 = register_module("fc2", nn::Linear(128, 10));
  Tensor operator()(Tensor x) { return fc2(relu(fc1(x))); }
};

static int train(const example::Arguments &arguments) {
  const int64_t last = arguments.integer("steps", 1);
  const std::string path = arguments.text("file");
  manual_seed(0);
  Mlp model;
  optim::Adam adam(model.parameters());
  auto step = compile([&](Tensor images, Tensor labels) {
    Tensor x = data::normalize(images, {0.1307}, {0.3081}).flatten(1);
    Tensor loss =
        nn::cross_entropy(model(x + 0.1 * randn(x.sizes())), labels); // some noise, to be resumed too
    loss.backward();
    nn::utils::clip_grad_norm_(model.parameters(), 1.0);
    adam.step();
    adam.zero_grad();
    return loss;
  });
  data::DataLoader loader(example::drawn_digits(data::Split::train, 4000),
                          {.batch_size = 128, .shuffle = true, .num_workers = 2});

  std::vector<CheckpointItem> run{
      {"model", model}, {"adam", adam}, {"rng", default_generator()}, {"loader", loader}};
  int64_t done = 0;
  if (std::filesystem::exists(path)) {
    for (auto &[key, value] : load_checkpoint(path, run))
      if (key == "step")
        done = std::atoll(value.c_str());
    std::printf("resumed after step %lld\n", (long long)done);
  }
  Metric running; // one step late, so that the loop never waits for the step under way
  Tensor loss;
  while (done < last)
    for (auto &[images, labels] : loader) {
      adam.set_lr(optim::warmup_cosine_lr(1e-3, done, 10, 100, 1e-5));
      running.update(loss = step(images, labels));
      if (++done % 20 == 0)
        std::printf("step %3lld  mean loss %.4f\n", (long long)done, running.value());
      if (done >= last)
        break;
    }
  save_checkpoint(path, run, {{"step", std::to_string(done)}});
  if (loss.defined())
    std::printf("after step %lld: loss %.9g, saved to %s\n", (long long)done, loss.item<float>(),
                path.c_str());
  return 0;
}

int main(int argc, char **argv) {
  return example::run_program(
      argc, argv, "resume --steps 40",
      {{"steps", "N", "how many steps the run has done in the end", "100"},
       {"file", "FILE", "where the run is kept between the calls", "run.safetensors"}},
      train);
}
