//===- parametrize.cpp - Weft's side of the comparison of parametrizations ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weft-parity-parametrize FOLDER: loads the states of the networks of test_parametrize.py by PyTorch's names,
// takes 20 compiled steps with its inputs, and writes the states and what the networks give in eval mode.
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <cstdio>
#include <map>

using namespace weft;
using namespace weft::nn::utils::parametrizations;
using nn::utils::parametrize::register_parametrization;

namespace {
using Named = std::map<std::string, Tensor>;

/// A matrix from its upper triangle.
struct Symmetric : nn::Module {
  Tensor operator()(const Tensor &x) const { return x.triu() + x.triu(1).t(); }
  Tensor right_inverse(const Tensor &x) const { return x.triu(); }
};

struct Tanh3 : nn::Module {
  Tensor operator()(const Tensor &x) const { return tanh(x) * 3; }
};

void train(const Named &in, const std::string &name, nn::Sequential net, StateDict &out) {
  for (const DType dtype : {f32, f64}) {
    net.to(dtype);
    StateDict state;
    for (const auto &[key, tensor] : in)
      if (key.starts_with(name + ".state."))
        state.emplace_back(key.substr(name.size() + 7), tensor);
    net.load_state_dict(state);
    net.train();
    optim::SGD sgd(net.parameters(), {.lr = 0.05, .momentum = 0.9});
    const auto step = compile([&](Tensor x) {
      const Tensor loss = (net(x) - 0.25).square().mean();
      loss.backward();
      sgd.step();
      sgd.zero_grad();
      return loss;
    });
    const Tensor inputs = in.at(name + ".inputs").to(dtype);
    std::vector<Tensor> losses;
    for (int64_t i = 0; i < inputs.size(0); ++i)
      losses.push_back(step(inputs[i]));
    const std::string prefix = name + (dtype == f32 ? ".f32." : ".f64.");
    out.emplace_back(prefix + "losses", stack(losses));
    net.eval();
    out.emplace_back(prefix + "eval", no_grad([&] { return net(inputs[0]); }));
    for (const auto &[key, tensor] : net.state_dict())
      out.emplace_back(prefix + "state." + key, tensor.detach().clone());
  }
}
} // namespace

int main(int argc, char **argv) try {
  if (argc != 2)
    return std::fprintf(stderr, "usage: weft-parity-parametrize FOLDER\n"), 2;
  const std::string folder = argv[1];
  Named in;
  for (auto &[name, tensor] : load_npz(folder + "/in.npz"))
    in[name] = tensor;
  StateDict out;
  train(in, "weight_norm",
        nn::Sequential(weight_norm(nn::Linear(6, 8)), nn::Tanh(), weight_norm(nn::Linear(8, 7), "weight", {}),
                       weight_norm(nn::Linear(7, 4), "weight", -1),
                       weight_norm(nn::Linear(4, 3), "weight", 1)),
        out);
  train(in, "spectral_norm",
        nn::Sequential(spectral_norm(nn::Conv2d(2, 4, 3)), nn::ReLU(),
                       spectral_norm(nn::ConvTranspose2d(4, 3, 3), "weight", 2), nn::Flatten(),
                       spectral_norm(spectral_norm(nn::Linear(75, 4)), "bias")),
        out);
  train(in, "orthogonal",
        nn::Sequential(orthogonal(nn::Linear(6, 6)), nn::Tanh(), orthogonal(nn::Linear(6, 3)), nn::Tanh(),
                       orthogonal(nn::Linear(3, 5), "weight", "cayley")),
        out);
  nn::Parametrized<nn::Linear> both(nn::Linear(4, 4));
  register_parametrization(both, "weight", Symmetric());
  register_parametrization(both, "weight", Tanh3());
  train(in, "own",
        nn::Sequential(both, nn::Tanh(), register_parametrization(nn::Linear(4, 2), "bias", Tanh3())), out);
  save_npz(folder + "/out.npz", out);
} catch (const Error &error) {
  std::fprintf(stderr, "weft-parity-parametrize: %s\n", error.what());
  return 1;
}
