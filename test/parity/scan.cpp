//===- scan.cpp - Loops, for test_scan.py -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weft-parity-scan INPUTS OUTPUTS MODE: an LSTM, a running sum and a reader of tokens by scan, steps that
// choose a branch by cond, and loops by while_loop, on the tensors of an .npz file; the values and the
// gradients of their losses go to a safetensors file. MODE is lazy, compiled, or called: then a loss is the
// result of a function that was compiled for any batch, through which the gradients flow.
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <cstdio>
#include <map>
#include <string>

using namespace weft;

using Named = std::map<std::string, Tensor>;

/// torch.nn.LSTM of one layer, whose weights are those of linear layers.
static Tensor lstm(Named &in) {
  auto [last, ys] = scan(
      [&](const std::tuple<Tensor, Tensor> &state, const Tensor &x) {
        const auto &[h, c] = state;
        std::vector<Tensor> gates =
            (nn::linear(x, in["w"], in["b"]) + nn::linear(h, in["u"], in["v"])).chunk(4, 1);
        Tensor next = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
        Tensor out = sigmoid(gates[3]) * tanh(next);
        return std::pair(std::tuple(out, next), out);
      },
      std::tuple(in["h"], in["c"]), in["x"]);
  return (ys * in["weigh"]).sum() + (std::get<1>(last) * std::get<1>(last)).sum();
}

/// s = s * decay + x from the last row to the first, where decay is a row of the xs, too.
static Tensor decayed(Named &in) {
  auto [last, ys] = scan(
      [&](const Tensor &s, const std::tuple<Tensor, Tensor> &row) {
        Tensor next = s * sigmoid(std::get<1>(row)) + std::get<0>(row);
        return std::pair(next, next);
      },
      in["s"], std::tuple(in["x"], in["decay"]), {.reverse = true});
  return (ys * ys * in["weigh"]).sum();
}

/// Steps, each of which is chosen by what the last one made.
static Tensor chosen(Named &in) {
  Tensor x = in["x"], sum = zeros({});
  for (int64_t i = 0; i < in["limits"].size(0); ++i) {
    auto [next, added] = cond(
        x.sum() > in["limits"][i],
        [&](const Tensor &at, const Tensor &scale) {
          Tensor y = tanh(matmul(at, in["w"]) + in["b"]);
          return std::pair(y, (y * scale).sum());
        },
        [&](const Tensor &at, const Tensor &scale) { return std::pair(at * scale - in["b"], at.mean()); },
        std::tuple(x, in["scale"]));
    x = next;
    sum = sum + added;
  }
  return (x * x * in["weigh"]).sum() + sum;
}

/// As many products as it takes until the elements are large.
static Tensor grown(Named &in) {
  auto [last, trips] = while_loop(
      [&](const Tensor &x, const Tensor &) { return x.abs().sum() < in["limit"]; },
      [&](const Tensor &x, const Tensor &trips) { return std::tuple(matmul(x, in["w"]) + x, trips + 1); },
      std::tuple(in["x"], zeros({}, {.dtype = i64})));
  return (last * in["y"]).sum() * trips;
}

/// As many trips as an input says, from some to more than the rows of the stacks of their derivative. The sum
/// begins without a gradient.
static Tensor waved(Named &in) {
  auto [x, sum, left] =
      while_loop([](const Tensor &, const Tensor &, const Tensor &left) { return left > 0; },
                 [&](const Tensor &x, const Tensor &sum, const Tensor &left) {
                   Tensor next = sin(x * in["w"]) + x * in["b"];
                   return std::tuple(next, sum + next * next, left - 1);
                 },
                 std::tuple(in["x"], zeros_like(in["x"]), in["trips"]));
  return (x * in["weigh"]).sum() + sum.mean();
}

/// A reader of tokens: a trip reads an embedding by index, and adds the loss of the next token.
static Tensor read(Named &in) {
  const nn::CrossEntropyOptions options{.ignore_index = 2, .weight = in["weigh"], .label_smoothing = 0.1};
  auto [last, states] = scan(
      [&](const std::tuple<Tensor, Tensor> &before, const std::tuple<Tensor, Tensor> &row) {
        const auto &[h, sum] = before;
        Tensor next = tanh(embedding(std::get<0>(row), in["table"]) + matmul(h, in["w"]));
        Tensor loss = nn::cross_entropy(matmul(next, in["head"]), std::get<1>(row), options);
        return std::pair(std::tuple(next, sum + loss), next);
      },
      std::tuple(in["h"], zeros({})), std::tuple(in["tokens"], in["targets"]));
  return std::get<1>(last) + (states * states).sum();
}

/// The dimension of each tensor that is the batch, of the programs whose batch may be any size.
static const std::map<std::string, std::map<std::string, int64_t>> batches = {
    {"lstm", {{"x", 1}, {"h", 0}, {"c", 0}, {"weigh", 1}}},
    {"chosen", {{"x", 0}, {"weigh", 0}}},
    {"grown", {{"x", 0}, {"y", 0}}},
    {"waved", {{"x", 0}, {"weigh", 0}}},
    {"read", {{"h", 0}, {"tokens", 1}, {"targets", 1}}}};

/// The loss by a call of a function that is compiled for any batch.
static Tensor called(const std::string &what, Tensor (*run)(Named &), Named &in) {
  const auto known = batches.find(what);
  if (known == batches.end())
    return run(in);
  const Dim batch("batch", 1, 64);
  std::vector<Tensor> tensors;
  std::vector<std::string> names;
  std::vector<ArgumentSpec> specs;
  for (const auto &[name, tensor] : in) {
    ArgumentSpec own{.shape = tensor.sizes(), .dtype = tensor.dtype(), .device = {}, .dims = {}};
    if (const auto at = known->second.find(name); at != known->second.end()) {
      own.shape[static_cast<size_t>(at->second)] = spec({batch}).shape[0];
      own.dims = {batch};
    }
    specs.push_back(std::move(own));
    names.push_back(name);
    tensors.push_back(tensor);
  }
  const auto function = [&](const std::vector<Tensor> &given) {
    Named own;
    for (size_t i = 0; i < names.size(); ++i)
      own[names[i]] = given[i];
    return run(own);
  };
  return compile(function, {.specs = specs})(tensors);
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  const std::string mode = argv[3];
  Named given, made;
  for (auto &[name, tensor] : load_npz(argv[1]))
    given[name] = tensor;
  for (const auto &[what, run] : {std::pair("lstm", &lstm),
                                  {"decayed", &decayed},
                                  {"chosen", &chosen},
                                  {"grown", &grown},
                                  {"waved", &waved},
                                  {"read", &read}}) {
    Named in;
    const std::string prefix = std::string(what) + ".";
    for (auto &[name, tensor] : given)
      if (name.starts_with(prefix)) {
        in[name.substr(prefix.size())] = tensor;
        if (is_floating_point(tensor.dtype()) && !name.ends_with("weigh") && !name.ends_with("limit") &&
            !name.ends_with("limits"))
          in[name.substr(prefix.size())].requires_grad_();
      }
    const auto step = [&] {
      for (auto &[name, tensor] : in)
        tensor.set_grad({});
      Tensor loss = mode == "called" ? called(what, run, in) : run(in);
      loss.backward();
      return loss.detach();
    };
    made[prefix + "loss"] = mode == "compiled" ? compile(step)() : step();
    for (auto &[name, tensor] : in)
      if (tensor.requires_grad() && tensor.grad().defined())
        made[prefix + name] = tensor.grad();
  }
  StateDict state;
  for (auto &[name, tensor] : made)
    state.emplace_back(name, tensor);
  save_safetensors(argv[2], state);
}
