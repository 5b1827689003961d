//===- models.cpp - The models library beside PyTorch -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weft-parity-models FOLDER [MODEL...]: writes, for each model at a small size, its initial weights
// (MODEL.safetensors), two operands (MODEL.x.npy, MODEL.y.npy), and what it gives for them (MODEL.npz): its
// outputs in eval mode, and the losses of 20 compiled training steps, of three lazy ones, and of three that
// are compiled for a `Dim` as batch. test_models.py computes the same in PyTorch. It runs on the device of
// WEFT_TEST_DEVICE.
//
//===----------------------------------------------------------------------===//
#include "weft/models.hpp"
#include "weft/weft.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace weft;

namespace {

Device device;
std::string folder;

/// One step of training, and how many of them: state is of the module and the optimiser.
struct Training {
  nn::Module module;
  std::function<Tensor(Tensor, Tensor)> output; ///< compared before training
  std::function<Tensor(Tensor, Tensor)> step;   ///< gives the loss
};

std::vector<float> losses(const std::function<Tensor(Tensor, Tensor)> &step, const Tensor &x, const Tensor &y,
                          int count) {
  std::vector<float> found;
  for (int i = 0; i < count; ++i)
    found.push_back(step(x, y).item<float>());
  return found;
}

Tensor listOf(const std::vector<float> &values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size())});
}

/// The spec of an operand with any number of rows.
ArgumentSpec anyRows(const Tensor &x, const Dim &rows) {
  ArgumentSpec made = spec({rows}, x.dtype(), x.device());
  for (size_t i = 1; i < x.sizes().size(); ++i)
    made.shape.push_back(x.sizes()[i]);
  return made;
}

/// `make` builds a model and its optimiser, so that each way of running begins anew.
void run(const std::string &name, const std::function<Training()> &make, Tensor x, Tensor y) {
  const std::string path = folder + "/" + name;
  save_npy(path + ".x.npy", x);
  save_npy(path + ".y.npy", y);
  manual_seed(0);
  const StateDict initial = to_host(make().module.state_dict());
  save_safetensors(path + ".safetensors", initial);
  x = x.to(device);
  y = y.to(device);
  const auto fresh = [&] {
    Training training = make();
    training.module.load_state_dict(initial);
    training.module.to(device);
    return training;
  };
  StateDict found;
  {
    Training training = fresh();
    training.module.eval();
    auto output = compile([&](Tensor a, Tensor b) {
      NoGradGuard guard;
      return training.output(a, b);
    });
    found.emplace_back("output", output(x, y).cpu());
  }
  {
    Training training = fresh();
    auto step = compile([&](Tensor a, Tensor b) { return training.step(a, b); });
    found.emplace_back("compiled", listOf(losses([&](Tensor a, Tensor b) { return step(a, b); }, x, y, 20)));
  }
  {
    Training training = fresh();
    found.emplace_back("lazy", listOf(losses(training.step, x, y, 3)));
  }
  {
    Training training = fresh();
    const Dim rows("rows", 1, 64);
    auto step = compile([&](Tensor a, Tensor b) { return training.step(a, b); },
                        {anyRows(x, rows), anyRows(y, rows)});
    found.emplace_back("dim", listOf(losses([&](Tensor a, Tensor b) { return step(a, b); }, x, y, 3)));
  }
  save_npz(path + ".npz", found);
  std::printf("%s\n", name.c_str());
}

/// A model that is trained to tell classes apart.
template <typename Model> Training classifier(Model model, double lr = 0.01) {
  auto sgd = std::make_shared<optim::SGD>(model.parameters(), optim::SGDOptions{.lr = lr, .momentum = 0.9});
  return {model, [model](Tensor x, Tensor) mutable { return model(x); },
          [model, sgd](Tensor x, Tensor y) mutable {
            Tensor loss = nn::cross_entropy(model(x), y);
            loss.backward();
            sgd->step();
            sgd->zero_grad();
            return loss;
          }};
}

Tensor labels(IntList shape, int64_t classes) { return randint(0, classes, shape); }

using Run = std::function<void(const std::string &)>;

template <typename Make> Run images(Make make, int64_t batch, int64_t extent, double lr = 0.01) {
  return [=](const std::string &name) {
    manual_seed(1);
    const Tensor x = randn({batch, 3, extent, extent}), y = labels({batch}, 10);
    run(name, [=] { return classifier(make(), lr); }, x, y);
  };
}

void segmentation(const std::string &name) {
  manual_seed(1);
  const Tensor x = randn({2, 3, 32, 32}), y = labels({2, 32, 32}, 3);
  run(name, [] { return classifier(models::UNet({.num_classes = 3, .width = 8})); }, x, y);
}

void text(const std::string &name) {
  manual_seed(1);
  const Tensor x = labels({4, 32}, 65), y = labels({4, 32}, 65);
  run(
      name,
      [] {
        models::Gpt model({.block_size = 32, .vocab_size = 65, .n_layer = 2, .n_head = 2, .n_embd = 32});
        auto adam = std::make_shared<optim::AdamW>(model.parameters(), optim::AdamWOptions{.lr = 1e-3});
        return Training{model, [model](Tensor tokens, Tensor) { return model(tokens); },
                        [model, adam](Tensor tokens, Tensor targets) {
                          Tensor loss = model.loss(tokens, targets);
                          loss.backward();
                          adam->step();
                          adam->zero_grad();
                          return loss;
                        }};
      },
      x, y);
}

template <bool isTied> void recurrentText(const std::string &name) {
  manual_seed(1);
  const Tensor x = labels({4, 16}, 65), y = labels({4, 16}, 65);
  run(
      name,
      [] {
        models::LstmLm model = models::lstm_lm({.vocab_size = 65,
                                                .embedding = 32,
                                                .hidden = isTied ? 32 : 24,
                                                .num_layers = 2,
                                                .dropout = 0,
                                                .tie_weights = isTied});
        auto sgd = std::make_shared<optim::SGD>(model.parameters(), optim::SGDOptions{.lr = 0.5});
        return Training{model, [model](Tensor tokens, Tensor) { return model(tokens).first; },
                        [model, sgd](Tensor tokens, Tensor targets) {
                          Tensor loss = model.loss(tokens, targets);
                          loss.backward();
                          sgd->step();
                          sgd->zero_grad();
                          return loss;
                        }};
      },
      x, y);
}

/// The second operand is the noise.
void autoEncoder(const std::string &name) {
  manual_seed(1);
  const Tensor x = rand({8, 64}), noise = randn({8, 5});
  run(
      name,
      [] {
        models::Vae model({.features = 64, .hidden = 32, .latent = 5});
        auto adam = std::make_shared<optim::Adam>(model.parameters(), optim::AdamOptions{.lr = 1e-3});
        return Training{model, [model](Tensor a, Tensor b) { return model(a, b).reconstruction; },
                        [model, adam](Tensor a, Tensor b) {
                          Tensor loss = models::Vae::loss(model(a, b), a);
                          loss.backward();
                          adam->step();
                          adam->zero_grad();
                          return loss;
                        }};
      },
      x, noise);
}

struct Gan : nn::Module {
  models::DcganOptions options{.latent = 16, .width = 8, .size = 32};
  models::DcganGenerator generator = register_module("generator", models::DcganGenerator(options));
  models::DcganDiscriminator discriminator =
      register_module("discriminator", models::DcganDiscriminator(options));
};

/// Real images and noise; the loss is the sum of both networks'.
void adversaries(const std::string &name) {
  manual_seed(1);
  const Tensor x = rand({4, 3, 32, 32}) * 2 - 1, noise = randn({4, 16, 1, 1});
  run(
      name,
      [] {
        Gan gan;
        const optim::AdamOptions options{.lr = 2e-4, .betas = {0.5, 0.999}};
        auto of_d = std::make_shared<optim::Adam>(gan.discriminator.parameters(), options);
        auto of_g = std::make_shared<optim::Adam>(gan.generator.parameters(), options);
        return Training{gan, [gan](Tensor, Tensor z) { return gan.generator(z); },
                        [gan, of_d, of_g](Tensor real, Tensor z) {
                          const auto loss = [](const Tensor &logits, bool is_real) {
                            return nn::binary_cross_entropy_with_logits(logits, is_real ? ones_like(logits)
                                                                                        : zeros_like(logits));
                          };
                          const Tensor fake = gan.generator(z);
                          Tensor loss_d = loss(gan.discriminator(real), true) +
                                          loss(gan.discriminator(fake.detach()), false);
                          loss_d.backward();
                          of_d->step();
                          of_d->zero_grad();
                          Tensor loss_g = loss(gan.discriminator(fake), true);
                          loss_g.backward();
                          of_g->step();
                          of_g->zero_grad();
                          of_d->zero_grad();
                          return loss_d.detach() + loss_g.detach();
                        }};
      },
      x, noise);
}

/// An encoder layer on [length, batch, features], after and before norms.
struct Layers : nn::Module {
  nn::TransformerEncoder encoder =
      register_module("encoder", nn::TransformerEncoder(nn::TransformerEncoderLayer(16, 4,
                                                                                    {.dim_feedforward = 32,
                                                                                     .dropout = 0,
                                                                                     .activation = "gelu",
                                                                                     .batch_first = true,
                                                                                     .norm_first = true}),
                                                        2, nn::LayerNorm(16)));
  nn::TransformerDecoder decoder = register_module(
      "decoder",
      nn::TransformerDecoder(
          nn::TransformerDecoderLayer(16, 2, {.dim_feedforward = 32, .dropout = 0, .batch_first = true}), 1));
  nn::Linear head = register_module("head", nn::Linear(16, 5));
  Tensor operator()(const Tensor &x) const {
    const Tensor memory = encoder(x, {}, {}, /*is_causal=*/true);
    return head(decoder(x, memory).mean({1}));
  }
};

void transformerLayers(const std::string &name) {
  manual_seed(1);
  const Tensor x = randn({3, 7, 16}), y = labels({3}, 5);
  run(name, [] { return classifier(Layers()); }, x, y);
}

/// A source and the part of it that is the target, on which each row sees those before it.
struct Translator : nn::Module {
  nn::Transformer transformer = register_module(
      "transformer", nn::Transformer({.d_model = 16,
                                      .nhead = 4,
                                      .num_encoder_layers = 2,
                                      .num_decoder_layers = 2,
                                      .layer = {.dim_feedforward = 32, .dropout = 0, .batch_first = true}}));
  nn::Linear head = register_module("head", nn::Linear(16, 5));
  Tensor operator()(const Tensor &x) const {
    return head(
        transformer(x, x.narrow(1, 1, 5), {.tgt_mask = nn::generate_square_subsequent_mask(5)}).mean({1}));
  }
};

void translator(const std::string &name) {
  manual_seed(1);
  const Tensor x = randn({3, 7, 16}), y = labels({3}, 5);
  run(name, [] { return classifier(Translator()); }, x, y);
}

// Of networks that are deep for such small images, batch norm amplifies rounding: a smaller rate keeps f32
// near f64.
constexpr double deepRate = 1e-4;

models::ResNet smallResNet18() { return models::resnet18({.num_classes = 10, .width = 8}); }
models::ResNet smallResNet50() {
  return models::resnet50({.num_classes = 10, .width = 8, .small_images = true});
}
models::Vgg smallVgg() {
  return models::vgg11({.num_classes = 10, .batch_norm = true, .dropout = 0, .width = 8, .hidden = 32});
}
models::MobileNetV2 smallMobileNet() {
  return models::mobilenet_v2({.num_classes = 10, .width_mult = 0.25, .dropout = 0});
}
models::ViT smallViT() {
  models::ViTOptions options{.image_size = 32, .patch_size = 8, .num_layers = 2, .num_heads = 2};
  options.hidden_dim = 32;
  options.mlp_dim = 64;
  options.num_classes = 10;
  return models::ViT(options);
}

const std::vector<std::pair<std::string, Run>> &all() {
  static const std::vector<std::pair<std::string, Run>> list = {
      {"resnet18", images(smallResNet18, 8, 64, deepRate)},
      {"resnet50", images(smallResNet50, 8, 32, deepRate / 10)},
      {"vgg11", images(smallVgg, 4, 32)},
      {"mobilenet_v2", images(smallMobileNet, 16, 64, deepRate)},
      {"vit", images(smallViT, 4, 32)},
      {"unet", segmentation},
      {"gpt", text},
      {"lstm_lm", recurrentText<false>},
      {"lstm_lm_tied", recurrentText<true>},
      {"vae", autoEncoder},
      {"dcgan", adversaries},
      {"transformer", transformerLayers},
      {"translator", translator},
  };
  return list;
}

} // namespace

int main(int argc, char **argv) try {
  if (argc < 2)
    return std::fprintf(stderr, "usage: weft-parity-models FOLDER [MODEL...]\n"), 2;
  folder = argv[1];
  if (const char *name = std::getenv("WEFT_TEST_DEVICE"))
    device = Device(name);
  const std::vector<std::string> asked(argv + 2, argv + argc);
  for (const auto &[name, run_one] : all())
    if (asked.empty() || std::ranges::find(asked, name) != asked.end())
      run_one(name);
} catch (const Error &error) {
  std::fprintf(stderr, "weft-parity-models: %s\n", error.what());
  return 1;
}
