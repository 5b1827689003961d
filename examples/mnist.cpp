//===- mnist.cpp - The demo: MNIST, with everything shown -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trains the network of train_mlp.cpp on real digits if there are any, and shows what the compiler did with
// it:
//   mnist [--data DIR] [--epochs N] [--peer-ms NAME=MS] [--output DIR]
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

using namespace weft;

struct Mlp : nn::Module {
  nn::Linear fc1 = register_module("fc1", nn::Linear(784, 512));
  nn::Linear fc2 = register_module("fc2", nn::Linear(512, 256));
  nn::Linear fc3 = register_module("fc3", nn::Linear(256, 10));
  Tensor operator()(Tensor x) { return fc3(relu(fc2(relu(fc1(x))))); }
};

/// The folder with MNIST: asked for, from the environment, or beside the project; empty where there is none.
static std::string findData(std::string asked) {
  if (asked.empty() && std::getenv("WEFT_DATA_DIR"))
    asked = std::getenv("WEFT_DATA_DIR");
  if (asked.empty() && std::filesystem::exists("../shared/data/mnist"))
    asked = "../shared/data";
  return !asked.empty() && std::filesystem::exists(asked + "/mnist") ? asked + "/mnist" : asked;
}

static data::Dataset load(const std::string &folder, data::Split split) {
  if (folder.empty())
    return data::DrawnDigits({.split = split, .count = split == data::Split::train ? 8000 : 2000});
  return data::Mnist(folder, {.split = split});
}

static double now() { // milliseconds
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static void run(const std::string &folder, int epochs, const std::map<std::string, double> &peers,
                const std::string &output) {
  manual_seed(0);
  Device device = default_device();
  Mlp model;
  model.to(device);
  optim::Adam adam(model.parameters(), {.lr = 1e-3});
  auto step = compile([&](Tensor images, Tensor labels) {
    Tensor loss = nn::cross_entropy(model(images.flatten(1).to(f32) / 255), labels);
    loss.backward();
    adam.step();
    adam.zero_grad();
    return loss;
  });
  auto correct = compile([&](Tensor images, Tensor labels) {
    NoGradGuard no_grad;
    return (model(images.flatten(1).to(f32) / 255).argmax(1) == labels).sum();
  });

  data::Dataset digits = load(folder, data::Split::train);
  std::printf("data: %s\n",
              folder.empty() ? "digits drawn by this program (no MNIST found; see --data)" : folder.c_str());
  if (!digits.note().empty())
    std::printf("      %s\n", digits.note().c_str());
  data::DataLoader loader(digits, {.batch_size = 128, .shuffle = true, .device = device});
  Curve curve{"training loss", {}};
  Progress progress("training", epochs * loader.size());
  std::vector<double> times;
  std::string explanation; // of the full batch: the last one of an epoch is shorter, and a variant of its own
  int64_t count = 0;
  for (int epoch = 0; epoch < epochs; ++epoch)
    for (auto &[images, labels] : loader) {
      double start = now();
      float loss = step(images, labels).item<float>();
      if (images.size(0) == 128)
        times.push_back(now() - start);
      if (explanation.empty())
        explanation = step.explain();
      curve.points.emplace_back(count, loss);
      progress.update(++count, "loss " + std::to_string(loss));
    }
  progress.finish();

  model.eval();
  data::Dataset held = load(folder, data::Split::test);
  int64_t hits = 0;
  for (auto &[images, labels] : data::DataLoader(held, {.batch_size = 500, .device = device}))
    hits += correct(images, labels).item<int64_t>();

  std::sort(times.begin(), times.end());
  std::printf("\ntest accuracy: %.2f %% of %lld images\n",
              100.0 * static_cast<double>(hits) / static_cast<double>(held.size()),
              static_cast<long long>(held.size()));
  std::printf("time per step: %.2f ms (median of %zu, batch 128, compiled once in %.0f ms)\n",
              times[times.size() / 2], times.size(), step.variants().back().compile_ms);
  for (const auto &[name, ms] : peers)
    std::printf("               %.2f ms in %s: Weft takes %.2f of its time\n", ms, name.c_str(),
                times[times.size() / 2] / ms);
  std::filesystem::create_directories(output);
  save_curves(output + "/loss.svg", "MLP on handwritten digits", "step", "cross entropy", {curve});
  save_safetensors(output + "/mlp.safetensors", model.state_dict());
  std::printf("loss curve:    %s/loss.svg\nweights:       %s/mlp.safetensors\n\n", output.c_str(),
              output.c_str());
  std::printf("what the compiler made of one training step:\n%s\n", explanation.c_str());
}

int main(int argc, char **argv) {
  std::string data, output = "demo-output";
  int epochs = 10;
  std::map<std::string, double> peers;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--help" || value.empty()) {
      std::printf("usage: mnist [--data DIR] [--epochs N] [--peer-ms NAME=MS] [--output DIR]\n"
                  "example: mnist --data ~/datasets/mnist --epochs 3\n");
      return flag == "--help" ? 0 : 2;
    }
    ++i;
    if (flag == "--data")
      data = value;
    else if (flag == "--epochs")
      epochs = std::atoi(value.c_str());
    else if (flag == "--output")
      output = value;
    else if (flag == "--peer-ms" && value.find('=') != std::string::npos)
      peers[value.substr(0, value.find('='))] = std::atof(value.substr(value.find('=') + 1).c_str());
    else
      return std::fprintf(stderr, "mnist: unknown option '%s'; see mnist --help\n", flag.c_str()), 2;
  }
  try {
    if (epochs < 1)
      throw Error("--epochs needs a number of at least 1");
    run(findData(data), epochs, peers, output);
  } catch (const Error &error) {
    std::fprintf(stderr, "mnist: %s\n", error.what());
    return 1;
  }
}
