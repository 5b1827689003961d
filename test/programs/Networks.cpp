//===- Networks.cpp - The modules and optimisers of a program ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Networks.h"

#include <algorithm>
#include <stdexcept>

namespace weft::programs {

/// Parameters or buffers in the order of their names.
static std::vector<Tensor> sorted(StateDict named) {
  std::sort(named.begin(), named.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<Tensor> tensors;
  for (const auto &[name, tensor] : named)
    tensors.push_back(tensor);
  return tensors;
}

template <typename M, typename Run> void Networks::add(M module, Run run) {
  networks_.push_back({module, [module, run](const Tensor &x) { return run(module, x); }});
}

void Networks::make(std::string_view name) {
  const auto plain = [](const auto &module, const Tensor &x) { return module(x); };
  const auto sequence = [](const auto &module, const Tensor &x) { return module(x).first; };
  if (name == "Linear")
    add(nn::Linear(size, size), plain);
  else if (name == "LayerNorm")
    add(nn::LayerNorm(size), plain);
  else if (name == "RMSNorm")
    add(nn::RMSNorm(size), plain);
  else if (name == "Embedding")
    add(nn::Embedding(5, size), [](const nn::Embedding &module, const Tensor &x) {
      return module(Tensor::from(std::vector<int64_t>{0, 3, 1, 3}, {size})) * x;
    });
  else if (name == "Conv2d")
    add(nn::Conv2d(1, 2, 3, {.padding = 1}), [](const nn::Conv2d &module, const Tensor &x) {
      return module(x.reshape({1, 1, size, size})).sum({0, 1});
    });
  else if (name == "BatchNorm1d")
    add(nn::BatchNorm1d(size), plain);
  else if (name == "GroupNorm")
    add(nn::GroupNorm(2, size), plain);
  else if (name == "PReLU")
    add(nn::PReLU(size), plain);
  else if (name == "MLP")
    add(nn::Sequential(nn::Linear(size, 6), nn::GELU(), nn::Linear(6, size)), plain);
  else if (name == "RNN")
    add(nn::RNN(size, size), sequence);
  else if (name == "GRU")
    add(nn::GRU(size, size), sequence);
  else if (name == "LSTM")
    add(nn::LSTM(size, size), sequence);
  else if (name == "MultiheadAttention")
    add(nn::MultiheadAttention(size, 2),
        [](const nn::MultiheadAttention &module, const Tensor &x) { return module(x, x, x).first; });
  else
    throw std::invalid_argument("no module has the name " + std::string(name));
}

static optim::Optimizer optimizerOf(std::string_view name, const std::vector<Tensor> &parameters) {
  if (name == "SGD")
    return optim::SGD(parameters, {.lr = 0.125});
  if (name == "SGD with momentum")
    return optim::SGD(parameters, {.lr = 0.125, .momentum = 0.75, .dampening = 0.25});
  if (name == "SGD with Nesterov")
    return optim::SGD(parameters, {.lr = 0.125, .momentum = 0.75, .weight_decay = 0.125, .nesterov = true});
  if (name == "Adam")
    return optim::Adam(parameters, {.lr = 0.125, .eps = 1e-3, .weight_decay = 0.125});
  if (name == "AdamW")
    return optim::AdamW(parameters, {.lr = 0.125, .eps = 1e-3});
  if (name == "AMSGrad")
    return optim::AdamW(parameters, {.lr = 0.125, .eps = 1e-3, .amsgrad = true, .maximize = true});
  if (name == "RMSprop")
    return optim::RMSprop(parameters, {.lr = 0.125, .eps = 1e-3, .momentum = 0.5, .centered = true});
  if (name == "Adagrad")
    return optim::Adagrad(parameters, {.lr = 0.125, .lr_decay = 0.25, .eps = 1e-3});
  if (name == "Adamax")
    return optim::Adamax(parameters, {.lr = 0.125, .eps = 1e-3});
  if (name == "NAdam")
    return optim::NAdam(parameters, {.lr = 0.125, .eps = 1e-3});
  if (name == "Adadelta")
    return optim::Adadelta(parameters, {.lr = 0.5, .eps = 1e-3});
  if (name == "RAdam")
    return optim::RAdam(parameters, {.lr = 0.125, .eps = 1e-3, .weight_decay = 0.125});
  throw std::invalid_argument("no optimiser has the name " + std::string(name));
}

Networks::Networks(const Program &program) {
  for (int name : program.modules)
    make(moduleNames[name]);
  const NoGradGuard guard;
  for (size_t m = 0; m < networks_.size(); ++m) {
    int64_t number = 0;
    for (Tensor &parameter : sorted(networks_[m].module.named_parameters())) {
      const std::vector<float> values = weightsOf(static_cast<int64_t>(m), number++, parameter.numel());
      parameter.copy_(Tensor::from(values, parameter.sizes()));
    }
  }
  for (const OptimizerOf &optimizer : program.optimizers) {
    std::vector<Tensor> parameters;
    for (int m : optimizer.modules)
      for (const Tensor &parameter : sorted(networks_[static_cast<size_t>(m)].module.named_parameters()))
        parameters.push_back(parameter);
    optimizers_.push_back(optimizerOf(optimizerNames[optimizer.name], parameters));
  }
}

Tensor Networks::execute(const Instruction &in, const Tensor &a) {
  const auto at = static_cast<size_t>(in.b);
  switch (in.op) {
  case Op::call:
    return networks_[at].run(a);
  case Op::parameter: {
    const std::vector<Tensor> parameters = sorted(networks_[at].module.named_parameters());
    return parameters[static_cast<size_t>(in.i) % parameters.size()];
  }
  case Op::train:
    networks_[at].module.train(in.i != 0);
    return {};
  case Op::freeze:
    networks_[at].module.requires_grad_(in.i != 0);
    return {};
  case Op::clip:
    return nn::utils::clip_grad_norm_(networks_[at].module.parameters(), in.number);
  case Op::step:
    optimizers_[at].step();
    return {};
  default: // zeroGrad
    optimizers_[at].zero_grad(in.i != 0);
    return {};
  }
}

void Networks::requireGradients() {
  for (Network &network : networks_)
    network.module.requires_grad_();
}

int Networks::numberOf(const Instruction &in) const {
  const size_t count = networks_[static_cast<size_t>(in.b)].module.parameters().size();
  return in.b * 8 + static_cast<int>(static_cast<size_t>(in.i) % count);
}

std::vector<Tensor> Networks::state() const {
  std::vector<Tensor> all, buffers;
  for (const Network &network : networks_) {
    const std::vector<Tensor> parameters = sorted(network.module.named_parameters()),
                              own = sorted(network.module.named_buffers());
    all.insert(all.end(), parameters.begin(), parameters.end());
    buffers.insert(buffers.end(), own.begin(), own.end());
  }
  all.insert(all.end(), buffers.begin(), buffers.end());
  return all;
}

std::string Networks::signature() const {
  std::string text;
  for (const Network &network : networks_) {
    text += network.module.is_training() ? " train" : " eval";
    for (const Tensor &parameter : network.module.parameters())
      text += std::string(parameter.requires_grad() ? "g" : "-") + (parameter.grad().defined() ? "d" : "");
  }
  return text;
}

} // namespace weft::programs
