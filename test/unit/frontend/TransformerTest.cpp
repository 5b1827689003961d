//===- TransformerTest.cpp - Attention with heads -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of layers are compared with PyTorch's in test/parity/test_models.py; here are the ways to call
// them.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;

namespace {

std::vector<std::string> namesOf(const nn::Module &module) {
  std::vector<std::string> names;
  for (const auto &[name, tensor] : module.named_parameters())
    names.push_back(name);
  return names;
}

double distance(const Tensor &a, const Tensor &b) { return (a - b).abs().max().item<float>(); }

/// What attention gives by its formula, head by head, with `added` [batch, heads, L, S] in the scores.
Tensor byFormula(const nn::MultiheadAttention &attention, const Tensor &q, const Tensor &k, const Tensor &v,
                 const Tensor &added, int64_t heads) {
  const int64_t embed = q.size(2), features = embed / heads;
  const auto projected = [&](const Tensor &x, int64_t part) {
    return matmul(x, attention.in_proj_weight.narrow(0, part * embed, embed).t()) +
           attention.in_proj_bias.narrow(0, part * embed, embed);
  };
  const Tensor qs = projected(q, 0), ks = projected(k, 1), vs = projected(v, 2);
  std::vector<Tensor> parts;
  for (int64_t head = 0; head < heads; ++head) {
    const auto of = [&](const Tensor &x) { return x.narrow(2, head * features, features); };
    const Tensor scores =
        matmul(of(qs), of(ks).transpose(1, 2)) / std::sqrt(double(features)) + added.select(1, head);
    parts.push_back(matmul(softmax(scores, 2), of(vs)));
  }
  return attention.out_proj(cat(parts, 2));
}

struct Operands {
  static constexpr int64_t batch = 2, length = 3, keys = 5, embed = 8, heads = 2;
  Operands() { manual_seed(3); }
  nn::MultiheadAttention attention{embed, heads, {.batch_first = true}};
  Tensor q = randn({batch, length, embed}), k = randn({batch, keys, embed}), v = randn({batch, keys, embed});
  Tensor nothing = zeros({batch, heads, length, keys});

  /// Compares both ways to compute it, and that of sequences first, with the formula.
  void expect(nn::AttentionCallOptions call, const Tensor &added) {
    const Tensor expected = byFormula(attention, q, k, v, added, heads);
    for (const bool need_weights : {true, false}) {
      call.need_weights = need_weights;
      auto [out, weights] = attention(q, k, v, call);
      EXPECT_EQ(out.sizes(), Shape({batch, length, embed}));
      EXPECT_LT(distance(out, expected), 1e-5);
      EXPECT_EQ(weights.defined(), need_weights);
      if (need_weights) {
        EXPECT_EQ(weights.sizes(), Shape({batch, length, keys}));
        EXPECT_LT(distance(weights.sum({2}), ones({batch, length})), 1e-5);
      }
    }
    nn::MultiheadAttention first(embed, heads);
    first.load_state_dict(attention.state_dict());
    const Tensor out =
        first(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1), call).first.transpose(0, 1);
    EXPECT_LT(distance(out, expected), 1e-5);
  }
};

} // namespace

TEST(MultiheadAttention, HasTheNamesOfPyTorch) {
  EXPECT_EQ(namesOf(nn::MultiheadAttention(8, 2)),
            (std::vector<std::string>{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}));
  EXPECT_EQ(namesOf(nn::MultiheadAttention(8, 2, {.bias = false, .kdim = 3})),
            (std::vector<std::string>{"q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"}));
}

TEST(MultiheadAttention, TakesMasks) {
  Operands o;
  o.expect({}, o.nothing);
  const Tensor numbers = randn({o.length, o.keys});
  o.expect({.attn_mask = numbers}, o.nothing + numbers);
  const Tensor ofHeads = randn({o.batch * o.heads, o.length, o.keys});
  o.expect({.attn_mask = ofHeads}, ofHeads.reshape({o.batch, o.heads, o.length, o.keys}));
  // True takes no part.
  const Tensor left_out = numbers > 0.5, none = full({}, -INFINITY);
  o.expect({.attn_mask = left_out}, o.nothing + where(left_out, none, zeros({})));
  const Tensor padding = arange(o.keys) >= Tensor::from(std::vector<int64_t>{5, 2}, {2, 1});
  const Tensor ofKeys = where(padding, none, zeros({})).reshape({o.batch, 1, 1, o.keys});
  o.expect({.key_padding_mask = padding}, o.nothing + ofKeys);
  o.expect({.key_padding_mask = padding, .attn_mask = numbers}, o.nothing + ofKeys + numbers);
  o.expect({.is_causal = true},
           o.nothing + where(ones({o.length, o.keys}, {.dtype = i1}).triu(1), none, zeros({})));
}

TEST(MultiheadAttention, WorksWithoutABatchAndWithOtherFeatures) {
  Operands o;
  auto [whole, weights] = o.attention(o.q, o.k, o.v, {.average_attn_weights = false});
  EXPECT_EQ(weights.sizes(), Shape({o.batch, o.heads, o.length, o.keys}));
  auto [one, of_one] = o.attention(o.q.select(0, 1), o.k.select(0, 1), o.v.select(0, 1));
  EXPECT_EQ(of_one.sizes(), Shape({o.length, o.keys}));
  EXPECT_LT(distance(one, whole.select(0, 1)), 1e-6);
  EXPECT_LT(distance(of_one, weights.select(0, 1).mean({0})), 1e-6);
  nn::MultiheadAttention other(8, 2, {.batch_first = true, .kdim = 3, .vdim = 4});
  EXPECT_EQ(other(o.q, randn({2, 5, 3}), randn({2, 5, 4})).first.sizes(), Shape({2, 3, 8}));
}

TEST(MultiheadAttention, DropsProbabilitiesInTrainingAlone) {
  manual_seed(0);
  nn::MultiheadAttention attention(8, 2, {.dropout = 0.5, .batch_first = true});
  const Tensor x = randn({2, 6, 8});
  EXPECT_GT(distance(attention(x, x, x).first, attention(x, x, x).first), 0);
  const Tensor dropped = attention(x, x, x).second;
  EXPECT_GT((dropped == 0).sum().item<int64_t>(), 0);
  attention.eval();
  EXPECT_EQ(distance(attention(x, x, x).first, attention(x, x, x).first), 0);
}

TEST(MultiheadAttention, RefusesWhatDoesNotFit) {
  EXPECT_ERROR(nn::MultiheadAttention(8, 3), "embed_dim divisible by num_heads, found 8 and 3");
  EXPECT_ERROR(nn::MultiheadAttention(-8, 2), "above 0");
  EXPECT_ERROR(nn::MultiheadAttention(8, 2, {.kdim = 0}), "kdim and vdim above 0, found 0 and 8");
  Operands o;
  EXPECT_ERROR(o.attention(o.q, o.k.narrow(2, 0, 7), o.v),
               "needs a key of [batch, length, 8], found (2, 5, 7)");
  EXPECT_ERROR(o.attention(o.q, o.k, o.v.select(0, 0)), "needs a value of [batch, length, 8]");
  EXPECT_ERROR(o.attention(o.q, o.k, o.v, {.attn_mask = zeros({5})}), "[batch * heads, L, S]");
  EXPECT_ERROR(o.attention(o.q, o.k, o.v, {.key_padding_mask = zeros({5})}),
               "key_padding_mask of [batch, S]");
  EXPECT_ERROR(nn::TransformerEncoderLayer(8, 2, {.activation = "tanh"}),
               "\"relu\" or \"gelu\", found \"tanh\"");
  EXPECT_ERROR(nn::TransformerEncoder(nn::TransformerEncoderLayer(8, 2), -1), "not negative, found -1");
}

// Each layer of a stack has weights of its own, equal at first.
TEST(TransformerEncoder, CopiesItsLayer) {
  nn::TransformerEncoderLayer layer(8, 2, {.dim_feedforward = 16, .dropout = 0, .batch_first = true});
  nn::TransformerEncoder encoder(layer, 2);
  const auto parameters = encoder.named_parameters();
  ASSERT_EQ(parameters.size(), 2 * layer.parameters().size());
  EXPECT_EQ(parameters.front().first, "layers.0.self_attn.in_proj_weight");
  const size_t half = parameters.size() / 2;
  EXPECT_EQ(distance(parameters[0].second, parameters[half].second), 0);
  {
    NoGradGuard guard;
    Tensor weight = parameters[0].second;
    weight.mul_(2);
  }
  EXPECT_GT(distance(parameters[0].second, parameters[half].second), 0);
  const Tensor x = randn({2, 3, 8}), mask = nn::generate_square_subsequent_mask(3);
  EXPECT_LT(distance(encoder(x, mask), encoder(x, {}, {}, /*is_causal=*/true)), 1e-5);
}
