//===- ModelsTest.cpp - The library of models -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Outputs and training are compared with PyTorch's in test/parity/test_models.py.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <weft/models.hpp>

using namespace weft;

namespace {

int64_t parameterCount(const nn::Module &module) {
  int64_t count = 0;
  for (const Tensor &parameter : module.parameters())
    count += parameter.numel();
  return count;
}

} // namespace

// The numbers that the papers' models have in torchvision and nanoGPT.
TEST(Models, HaveAsManyParametersAsTheOriginals) {
  EXPECT_EQ(parameterCount(models::resnet18()), 11'689'512);
  EXPECT_EQ(parameterCount(models::resnet34()), 21'797'672);
  EXPECT_EQ(parameterCount(models::resnet50()), 25'557'032);
  EXPECT_EQ(parameterCount(models::mobilenet_v2()), 3'504'872);
  EXPECT_EQ(parameterCount(models::vgg11({.hidden = 16})),
            9'220'480 + (25088 + 1) * 16 + 17 * 16 + 17 * 1000);
  EXPECT_EQ(parameterCount(models::ViT({.num_layers = 1})), 86'567'656 - 11 * 7'087'872);
  EXPECT_EQ(parameterCount(models::Gpt({.block_size = 1024, .vocab_size = 50257, .n_layer = 1})),
            124'439'808 - 11 * 7'087'872);
  EXPECT_EQ(parameterCount(models::lstm_lm({.vocab_size = 100, .embedding = 20, .hidden = 30})),
            100 * 20 + 120 * (20 + 30 + 2) + 120 * (30 + 30 + 2) + 100 * 31);
  EXPECT_EQ(parameterCount(models::DcganGenerator()), 3'576'704);
  EXPECT_EQ(parameterCount(models::DcganDiscriminator()), 2'765'568);
}

TEST(Models, RefuseWhatTheyCannotBe) {
  EXPECT_ERROR(models::ResNet(false, {2, 2, 2}),
               "models::ResNet needs 4 numbers of blocks above 0, found [2, 2, 2]");
  EXPECT_ERROR(models::Vgg({1, 1, 0, 1, 1}), "5 numbers of convolutions above 0, found [1, 1, 0, 1, 1]");
  EXPECT_ERROR(models::MobileNetV2({.width_mult = 0}), "width_mult above 0");
  EXPECT_ERROR(models::ViT({.image_size = 30, .patch_size = 16}), "multiple of patch_size, found 30 and 16");
  EXPECT_ERROR(models::Gpt({.n_head = 5, .n_embd = 32}), "multiple of n_head, found 32 and 5");
  EXPECT_ERROR(models::lstm_lm({.vocab_size = 0}), "LstmLm needs 4 sizes");
  EXPECT_ERROR(models::lstm_lm({.vocab_size = 9, .embedding = 4, .hidden = 5, .tie_weights = true}),
               "a hidden that is its embedding, found 5 and 4");
  EXPECT_ERROR(models::DcganGenerator({.size = 28}), "32 x 32 and 64 x 64, found size 28");
  const models::UNet net({.width = 2});
  EXPECT_ERROR(net(zeros({1, 3, 20, 32})), "multiples of 16, found 20 and 32");
  const models::Gpt gpt({.block_size = 4, .vocab_size = 5, .n_layer = 1, .n_head = 1, .n_embd = 4});
  EXPECT_ERROR(gpt(zeros({1, 5}, {.dtype = i64})), "4 tokens at most, found 5");
}

// Token by token, with the cache, a transformer gives the logits that it gives for all of them; one compiled
// function runs at every position.
TEST(Models, AGptWritesTokenByToken) {
  manual_seed(0);
  models::Gpt gpt({.block_size = 12, .vocab_size = 11, .n_layer = 2, .n_head = 2, .n_embd = 16});
  gpt.eval();
  NoGradGuard guard;
  const Tensor tokens = randint(0, 11, {3, 9});
  const Tensor expected = gpt(tokens);
  models::GptCache cache = gpt.cache(3);
  auto next = compile([&](Tensor token, Tensor position) { return gpt.next(token, position, cache); });
  for (int64_t i = 0; i < 9; ++i) {
    const Tensor logits = next(tokens.select(1, i), full({1}, i, {.dtype = i64}));
    EXPECT_LT((logits - expected.select(1, i)).abs().max().item<float>(), 1e-5) << i;
  }
  EXPECT_EQ(next.variants().size(), 1u);
}

// Dropout of probabilities takes another way through attention.
TEST(Models, AGptWithDropoutIsTheSameWithoutTraining) {
  manual_seed(0);
  models::Gpt gpt(
      {.block_size = 8, .vocab_size = 11, .n_layer = 1, .n_head = 2, .n_embd = 16, .dropout = 0.5});
  const Tensor tokens = randint(0, 11, {2, 8});
  NoGradGuard guard;
  const Tensor trained = gpt(tokens);
  EXPECT_GT((trained - gpt(tokens)).abs().max().item<float>(), 0);
  gpt.eval();
  models::Gpt plain({.block_size = 8, .vocab_size = 11, .n_layer = 1, .n_head = 2, .n_embd = 16});
  plain.load_state_dict(gpt.state_dict());
  EXPECT_EQ((plain(tokens) - gpt(tokens)).abs().max().item<float>(), 0);
}

// Token by token, an LSTM gives the logits that it gives for all of them; a text may go on in pieces.
TEST(Models, AnLstmWritesTokenByToken) {
  manual_seed(0);
  models::LstmLm model =
      models::lstm_lm({.vocab_size = 11, .embedding = 8, .hidden = 8, .dropout = 0.5, .tie_weights = true});
  EXPECT_EQ(model.parameters().size(), 10u); // decoder.weight is encoder.weight
  const Tensor tokens = randint(0, 11, {3, 6});
  NoGradGuard guard;
  EXPECT_GT((model(tokens).first - model(tokens).first).abs().max().item<float>(), 0);
  model.eval();
  const auto [expected, last] = model(tokens);
  auto next = compile([&](Tensor token, nn::LSTMState state) { return model.next(token, state); });
  nn::LSTMState state = model.state(3);
  for (int64_t i = 0; i < 6; ++i) {
    Tensor logits;
    std::tie(logits, state) = next(tokens.select(1, i), state);
    EXPECT_LT((logits - expected.select(1, i)).abs().max().item<float>(), 1e-5) << i;
  }
  EXPECT_EQ(next.variants().size(), 1u);
  EXPECT_LT((state.second - last.second).abs().max().item<float>(), 1e-5);
  const auto [begin, between] = model(tokens.narrow(1, 0, 2));
  const auto [rest, end] = model(tokens.narrow(1, 2, 4), between);
  EXPECT_LT((rest - expected.narrow(1, 2, 4)).abs().max().item<float>(), 1e-5);
}
