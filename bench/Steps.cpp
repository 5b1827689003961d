//===- Steps.cpp - The training steps of the benchmark --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written as a user of PyTorch would write them. The peers' steps (bench/peer_torch.py, bench/peer_jax.py)
// have the same sizes; the values are of no meaning.
//
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include <stdexcept>

namespace weft::bench {
namespace {

/// Whole numbers below `limit`, without a kernel.
template <typename T> Tensor whole(Shape shape, uint32_t limit, uint32_t seed) {
  int64_t count = 1;
  for (const int64_t size : shape)
    count *= size;
  std::vector<T> values(static_cast<size_t>(count));
  for (T &value : values)
    value = static_cast<T>(((seed = seed * 1664525u + 1013904223u) >> 16) % limit);
  return Tensor::from(values, std::move(shape));
}

/// Numbers in [-1, 1), without a kernel.
Tensor uniform(Shape shape, uint32_t seed) {
  int64_t count = 1;
  for (const int64_t size : shape)
    count *= size;
  std::vector<float> values(static_cast<size_t>(count));
  for (float &value : values)
    value = static_cast<float>((seed = seed * 1664525u + 1013904223u) >> 8) * 0x1p-23f - 1.0f;
  return Tensor::from(values, std::move(shape));
}

/// Forward, loss, backward, update.
template <typename Model, typename Optimizer, typename Loss>
Step training(std::string name, Model model, Optimizer optimizer, Loss loss_of, Tensor x, Tensor y) {
  return {std::move(name),
          [=](Tensor x, Tensor y) mutable {
            Tensor loss = loss_of(model, x, y);
            loss.backward();
            optimizer.step();
            optimizer.zero_grad();
            return loss;
          },
          std::move(x), std::move(y)};
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

struct Deep : nn::Module {
  static constexpr int64_t depth = 20, width = 64, batch = 32;
  nn::ModuleList<nn::Linear> layers;
  Deep() {
    for (int64_t i = 0; i < depth; ++i)
      layers.push_back(nn::Linear(width, width));
    register_module("layers", layers);
  }
  Tensor operator()(Tensor x) {
    for (size_t i = 0; i < layers.size(); ++i)
      x = i ? layers[i](relu(x)) : layers[i](x);
    return x;
  }
};

/// From linear layers, step by step.
struct Lstm : nn::Module {
  static constexpr int64_t batch = 32, length = 20, features = 64, hidden = 128, classes = 10;
  nn::Linear input = register_module("input", nn::Linear(features, 4 * hidden));
  nn::Linear state = register_module("state", nn::Linear(hidden, 4 * hidden));
  nn::Linear head = register_module("head", nn::Linear(hidden, classes));
  Tensor operator()(Tensor x) {
    Tensor h = zeros({x.size(0), hidden}), c = zeros({x.size(0), hidden});
    for (const Tensor &now : x.unbind(1)) {
      std::vector<Tensor> gates = (input(now) + state(h)).chunk(4, 1);
      c = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
      h = sigmoid(gates[3]) * tanh(c);
    }
    return head(h);
  }
};

/// Two layers of nn::LSTM.
struct LayeredLstm : nn::Module {
  static constexpr int64_t batch = 32, length = 64, width = 256, classes = 10;
  nn::LSTM lstm = register_module("lstm", nn::LSTM(width, width, {.num_layers = 2, .batch_first = true}));
  nn::Linear head = register_module("head", nn::Linear(width, classes));
  Tensor operator()(const Tensor &x) { return head(lstm(x).first.select(1, -1)); }
};

constexpr int64_t gptWidth = 128, gptHeads = 4, gptDepth = 4, gptWords = 65;
constexpr int64_t gptHead = gptWidth / gptHeads;

struct Block : nn::Module {
  nn::LayerNorm before = register_module("before", nn::LayerNorm(gptWidth));
  nn::Linear qkv = register_module("qkv", nn::Linear(gptWidth, 3 * gptWidth));
  nn::Linear out = register_module("out", nn::Linear(gptWidth, gptWidth));
  nn::LayerNorm after = register_module("after", nn::LayerNorm(gptWidth));
  nn::Linear up = register_module("up", nn::Linear(gptWidth, 4 * gptWidth));
  nn::Linear down = register_module("down", nn::Linear(4 * gptWidth, gptWidth));

  Tensor attend(const Tensor &x) {
    const int64_t batch = x.size(0), length = x.size(1);
    const auto split = [&](const Tensor &t) {
      return t.reshape({batch, length, gptHeads, gptHead}).transpose(1, 2);
    };
    std::vector<Tensor> parts = qkv(x).chunk(3, -1);
    const Tensor q = split(parts[0]), k = split(parts[1]), v = split(parts[2]);
    const Tensor mixed = scaled_dot_product_attention(q, k, v, {.causal = true});
    return out(mixed.transpose(1, 2).reshape({batch, length, gptWidth}));
  }
  Tensor operator()(Tensor x) {
    x = x + attend(before(x));
    return x + down(gelu(up(after(x)), "tanh"));
  }
};

struct Gpt : nn::Module {
  nn::Embedding word = register_module("word", nn::Embedding(gptWords, gptWidth));
  nn::Embedding place;
  nn::ModuleList<Block> blocks;
  nn::LayerNorm last = register_module("last", nn::LayerNorm(gptWidth));
  nn::Linear head = register_module("head", nn::Linear(gptWidth, gptWords, false));
  explicit Gpt(int64_t length) : place(register_module("place", nn::Embedding(length, gptWidth))) {
    for (int64_t i = 0; i < gptDepth; ++i)
      blocks.push_back(Block());
    register_module("blocks", blocks);
  }
  Tensor operator()(Tensor ids) {
    Tensor x = word(ids) + place(arange(ids.size(1)));
    for (Block &block : blocks)
      x = block(x);
    return head(last(x));
  }
};

/// Of a residual network: two convolutions and the input, which a convolution of single pixels brings to the
/// same shape where it has another.
struct Residual : nn::Module {
  nn::Conv2d conv1, conv2, shortcut;
  nn::BatchNorm2d bn1, bn2, shortcut_bn;
  bool changes;
  Residual(int64_t in, int64_t out, int64_t stride)
      : conv1(register_module("conv1", nn::Conv2d(in, out, 3, {.stride = stride, .padding = 1}, false))),
        conv2(register_module("conv2", nn::Conv2d(out, out, 3, {.padding = 1}, false))),
        shortcut(nn::Conv2d(in, out, 1, {.stride = stride}, false)),
        bn1(register_module("bn1", nn::BatchNorm2d(out))), bn2(register_module("bn2", nn::BatchNorm2d(out))),
        shortcut_bn(nn::BatchNorm2d(out)), changes(stride != 1 || in != out) {
    if (changes) {
      register_module("shortcut", shortcut);
      register_module("shortcut_bn", shortcut_bn);
    }
  }
  Tensor operator()(const Tensor &x) {
    const Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
    return relu(y + (changes ? shortcut_bn(shortcut(x)) : x));
  }
};

/// ResNet-18 for images of 32 x 32.
struct ResNet : nn::Module {
  static constexpr int64_t batch = 32, classes = 10;
  nn::Conv2d stem = register_module("stem", nn::Conv2d(3, 64, 3, {.padding = 1}, false));
  nn::BatchNorm2d bn = register_module("bn", nn::BatchNorm2d(64));
  nn::ModuleList<Residual> blocks;
  nn::Linear head = register_module("head", nn::Linear(512, classes));
  ResNet() {
    int64_t in = 64;
    for (const int64_t width : {64, 128, 256, 512})
      for (const int64_t number : {0, 1}) {
        blocks.push_back(Residual(in, width, number == 0 && width > 64 ? 2 : 1));
        in = width;
      }
    register_module("blocks", blocks);
  }
  Tensor operator()(Tensor x) {
    x = relu(bn(stem(x)));
    for (Residual &block : blocks)
      x = block(x);
    return head(adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }
};

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Step mlp_step() {
  Mlp model;
  return training(
      "mlp_step", model, optim::Adam(model.parameters(), {.lr = 1e-3}),
      [](Mlp &model, Tensor images, Tensor labels) {
        return nn::cross_entropy(model(images.flatten(1).to(f32) / 255), labels);
      },
      whole<uint8_t>({128, 28, 28}, 256, 7), whole<int64_t>({128}, 10, 8));
}

Step deep_step() {
  Deep model;
  return training(
      "deep_step", model, optim::Adam(model.parameters(), {.lr = 1e-3}),
      [](Deep &model, Tensor x, Tensor target) { return nn::mse_loss(model(x), target); },
      uniform({Deep::batch, Deep::width}, 1), uniform({Deep::batch, Deep::width}, 2));
}

Step lstm_step() {
  Lstm model;
  return training(
      "lstm_step", model, optim::Adam(model.parameters(), {.lr = 1e-3}),
      [](Lstm &model, Tensor x, Tensor labels) { return nn::cross_entropy(model(x), labels); },
      uniform({Lstm::batch, Lstm::length, Lstm::features}, 1),
      whole<int64_t>({Lstm::batch}, Lstm::classes, 2));
}

Step lstm_layers_step() {
  using Model = LayeredLstm;
  Model model;
  return training(
      "lstm_layers_step", model, optim::Adam(model.parameters(), {.lr = 1e-3}),
      [](Model &model, Tensor x, Tensor labels) { return nn::cross_entropy(model(x), labels); },
      uniform({Model::batch, Model::length, Model::width}, 1),
      whole<int64_t>({Model::batch}, Model::classes, 2));
}

/// So many texts of `length` words.
Step gpt_step(const std::string &name, int64_t batch, int64_t length) {
  Gpt model(length);
  return training(
      name, model, optim::AdamW(model.parameters(), {.lr = 1e-3}),
      [](Gpt &model, Tensor ids, Tensor next) {
        return nn::cross_entropy(model(ids).reshape({-1, gptWords}), next.flatten());
      },
      whole<int64_t>({batch, length}, gptWords, 1), whole<int64_t>({batch, length}, gptWords, 2));
}

Step resnet_step() {
  ResNet model;
  return training(
      "resnet_step", model, optim::SGD(model.parameters(), {.lr = 1e-2, .momentum = 0.9}),
      [](ResNet &model, Tensor images, Tensor labels) { return nn::cross_entropy(model(images), labels); },
      uniform({ResNet::batch, 3, 32, 32}, 1), whole<int64_t>({ResNet::batch}, ResNet::classes, 2));
}

} // namespace

Step make_step(const std::string &name) {
  manual_seed(0);
  if (name == "mlp_step")
    return mlp_step();
  if (name == "deep_step")
    return deep_step();
  if (name == "lstm_step")
    return lstm_step();
  if (name == "lstm_layers_step")
    return lstm_layers_step();
  if (name == "gpt_step")
    return gpt_step(name, 16, 128);
  if (name == "gpt_long_step")
    return gpt_step(name, 4, 512);
  if (name == "resnet_step")
    return resnet_step();
  throw std::runtime_error("there is no step '" + name + "'");
}

static std::vector<Tensor> matrices(int64_t count, uint32_t seed) {
  std::vector<Tensor> made;
  for (int64_t i = 0; i < count; ++i)
    made.push_back(uniform({64, 64}, seed + static_cast<uint32_t>(i)));
  return made;
}

static std::vector<Tensor> trained(std::vector<Tensor> parameters, const std::vector<Tensor> &gradients) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].requires_grad_();
    parameters[i].set_grad(gradients[i]);
  }
  return parameters;
}

Update::Update(int64_t count)
    : gradients(matrices(count, 100000)), parameters(trained(matrices(count, 1), gradients)),
      adam(parameters, {.lr = 1e-3}) {}

} // namespace weft::bench
