//===- CtcLossTest.cpp - Losses of sequences, and bags of embeddings ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values and gradients are compared with PyTorch's over its samples in test/parity/test_ops.py; here are
// losses by enumeration of all alignments, and the ways to call the functions.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;
using Floats = std::vector<float>;
using Wholes = std::vector<int64_t>;

namespace {

Tensor wholes(Wholes values, Shape shape) { return Tensor::from(values, std::move(shape)); }

/// The labels of an alignment: repetitions count once, and blanks are left out.
Wholes labelsOf(const Wholes &alignment, int64_t blank) {
  Wholes labels;
  for (size_t i = 0; i < alignment.size(); ++i)
    if (alignment[i] != blank && (i == 0 || alignment[i] != alignment[i - 1]))
      labels.push_back(alignment[i]);
  return labels;
}

/// -log of the summed probabilities of all alignments of `steps` steps that have these labels.
double byEnumeration(const std::vector<double> &log_probs, int64_t steps, int64_t classes,
                     const Wholes &labels, int64_t blank) {
  double sum = 0;
  Wholes alignment(static_cast<size_t>(steps));
  for (int64_t number = 0; number < static_cast<int64_t>(std::pow(classes, steps)); ++number) {
    double log_prob = 0;
    for (int64_t step = 0, rest = number; step < steps; ++step, rest /= classes) {
      alignment[static_cast<size_t>(step)] = rest % classes;
      log_prob += log_probs[static_cast<size_t>(step * classes + rest % classes)];
    }
    if (labelsOf(alignment, blank) == labels)
      sum += std::exp(log_prob);
  }
  return -std::log(sum);
}

} // namespace

TEST(CtcLoss, IsTheSumOverAllAlignments) {
  manual_seed(0);
  const int64_t steps = 5, classes = 3;
  for (int64_t blank : {0, 2})
    for (const Wholes &labels : {Wholes{1}, Wholes{1, 1}, Wholes{1, 2 - blank, 1}, Wholes{}}) {
      for (int64_t length : {steps, steps - 2}) {
        const Tensor log_probs = randn({steps, 1, classes}, {.dtype = f64}).log_softmax(2);
        Wholes padded = labels;
        padded.resize(4, 1); // what is behind a target does not count
        const Tensor loss = nn::ctc_loss(log_probs, wholes(padded, {1, 4}), wholes({length}, {1}),
                                         wholes({static_cast<int64_t>(labels.size())}, {1}),
                                         {.blank = blank, .reduction = nn::Reduction::none});
        const double expected = byEnumeration(log_probs.to_vector<double>(), length, classes, labels, blank);
        EXPECT_NEAR(loss.item<double>(), expected, 1e-9) << blank << " " << labels.size() << " " << length;
      }
    }
}

TEST(CtcLoss, TargetsAreRowsOrOneAfterTheOther) {
  manual_seed(1);
  const Tensor log_probs = randn({6, 3, 4}).log_softmax(2);
  const Wholes inputs{6, 5, 4}, lengths{2, 0, 3};
  const Tensor rows = wholes({1, 2, 0, 0, 0, 0, 3, 3, 1}, {3, 3}), vector = wholes({1, 2, 3, 3, 1}, {5});
  const nn::CtcLossOptions none{.reduction = nn::Reduction::none};
  const Floats expected = nn::ctc_loss(log_probs, rows, inputs, lengths, none).to_vector<float>();
  EXPECT_EQ(nn::ctc_loss(log_probs, vector, inputs, lengths, none).to_vector<float>(), expected);
  const Tensor input_tensor = wholes(inputs, {3}), length_tensor = wholes(lengths, {3});
  EXPECT_EQ(nn::ctc_loss(log_probs, vector, input_tensor, length_tensor, none).to_vector<float>(), expected);
  const float sum =
      nn::ctc_loss(log_probs, rows, inputs, lengths, {.reduction = nn::Reduction::sum}).item<float>();
  EXPECT_NEAR(sum, expected[0] + expected[1] + expected[2], 1e-4);
  EXPECT_NEAR(nn::CTCLoss()(log_probs, rows, input_tensor, length_tensor).item<float>(),
              (expected[0] / 2 + expected[1] + expected[2] / 3) / 3, 1e-5);
  // Without a batch.
  const Tensor alone =
      nn::ctc_loss(log_probs.select(1, 2), wholes({3, 3, 1}, {3}), wholes({4}, {}), wholes({3}, {}), none);
  EXPECT_EQ(alone.dim(), 0);
  EXPECT_NEAR(alone.item<float>(), expected[2], 1e-5);
  const Tensor empty = nn::ctc_loss(log_probs, zeros({0}, {.dtype = i64}), inputs, {0, 0, 0}, none);
  EXPECT_NEAR(empty.to_vector<float>()[1], expected[1], 1e-5);
}

TEST(CtcLoss, IsInfiniteWhereNoAlignmentFitsOrZero) {
  manual_seed(2);
  Tensor log_probs = randn({3, 2, 4}).log_softmax(2);
  log_probs.requires_grad_();
  const Tensor targets = wholes({1, 1, 2, 3}, {2, 2}); // two equal labels need a blank between
  const Tensor inputs = wholes({2, 3}, {2}), lengths = wholes({2, 2}, {2});
  const Floats infinite =
      nn::ctc_loss(log_probs, targets, inputs, lengths, {.reduction = nn::Reduction::none})
          .to_vector<float>();
  EXPECT_TRUE(std::isinf(infinite[0]));
  EXPECT_TRUE(std::isfinite(infinite[1]));
  const Tensor loss = nn::ctc_loss(log_probs, targets, inputs, lengths,
                                   {.reduction = nn::Reduction::sum, .zero_infinity = true});
  EXPECT_EQ(loss.item<float>(), infinite[1]);
  loss.backward();
  EXPECT_EQ(log_probs.grad().select(1, 0).abs().sum().item<float>(), 0);
  EXPECT_GT(log_probs.grad().select(1, 1).abs().sum().item<float>(), 0);
}

TEST(CtcLoss, LengthsAreDataOfACompiledFunction) {
  manual_seed(3);
  const auto run = [](Tensor logits, Tensor targets, Tensor inputs, Tensor lengths) {
    return grad(nn::ctc_loss(logits.log_softmax(2), targets, inputs, lengths), {logits})[0];
  };
  auto compiled = compile(run);
  const Tensor targets = randint(1, 4, {2, 3});
  Tensor logits = randn({6, 2, 4});
  logits.requires_grad_();
  for (const auto &[inputs, lengths] :
       {std::pair{Wholes{6, 5}, Wholes{3, 2}}, std::pair{Wholes{4, 6}, Wholes{1, 3}}}) {
    const Tensor a = compiled(logits, targets, wholes(inputs, {2}), wholes(lengths, {2}));
    const Tensor b = run(logits, targets, wholes(inputs, {2}), wholes(lengths, {2}));
    EXPECT_LT((a - b).abs().max().item<float>(), 1e-6);
  }
  EXPECT_EQ(compiled.variants().size(), 1U);
  EXPECT_ERROR(compiled(logits, targets, wholes({7, 5}, {2}), wholes({3, 2}, {2})),
               "input_lengths from 0 to 6");
  auto reads = compile([](Tensor p, Tensor t, Tensor l) { return nn::ctc_loss(p, t, l, l); });
  EXPECT_ERROR(reads(logits, wholes({1, 2}, {2}), wholes({1, 1}, {2})), "WEFT-C001");
}

TEST(CtcLoss, SaysWhatDoesNotFit) {
  const Tensor p = zeros({5, 2, 3}), targets = ones({2, 3}, {.dtype = i64}), lengths = wholes({3, 2}, {2});
  EXPECT_ERROR(nn::ctc_loss(zeros({5}), targets, lengths, lengths), "[T, batch, classes] or [T, classes]");
  EXPECT_ERROR(nn::ctc_loss(p, zeros({2, 3}), lengths, lengths),
               "targets that are integers, found f32 and f32");
  EXPECT_ERROR(nn::ctc_loss(p, targets, lengths, lengths, {.blank = 3}), "blank must be in label range");
  EXPECT_ERROR(nn::ctc_loss(p, targets.unsqueeze(0), lengths, lengths), "targets of [batch, S]");
  EXPECT_ERROR(nn::ctc_loss(p, ones({3, 3}, {.dtype = i64}), lengths, lengths), "targets of the 2 sequences");
  EXPECT_ERROR(nn::ctc_loss(p, targets, wholes({3}, {1}), lengths), "input_lengths that are integers");
  EXPECT_ERROR(nn::ctc_loss(p, targets, lengths, wholes({4, 1}, {2})).item<float>(),
               "target_lengths from 0 to 3");
  EXPECT_ERROR(nn::ctc_loss(p, ones({4}, {.dtype = i64}), Wholes{3, 3}, Wholes{3, 2}),
               "do not lie in the 4 targets");
  EXPECT_ERROR(nn::ctc_loss(p, full({2, 3}, 7, {.dtype = i64}), lengths, lengths).item<float>(), "7");
}

TEST(EmbeddingBag, RowsAndBagsOneAfterTheOtherAreTheSame) {
  manual_seed(4);
  for (const char *mode : {"sum", "mean", "max"}) {
    const EmbeddingBagOptions options{.mode = mode};
    const Tensor weight = randn({7, 3}), index = randint(0, 7, {4, 2});
    const Floats rows = embedding_bag(index, weight, {}, options).to_vector<float>();
    EXPECT_EQ(embedding_bag(index.flatten(), weight, wholes({0, 2, 4, 6}, {4}), options).to_vector<float>(),
              rows);
    EmbeddingBagOptions ends = options;
    ends.include_last_offset = true;
    EXPECT_EQ(embedding_bag(index.flatten(), weight, wholes({0, 2, 4, 6, 8}, {5}), ends).to_vector<float>(),
              rows);
    // Bags without elements are zeros, and elements that are padding are in none.
    const Tensor some = embedding_bag(index.flatten(), weight, wholes({0, 0, 8}, {3}), options);
    EXPECT_EQ(some.select(0, 0).abs().sum().item<float>(), 0);
    EXPECT_EQ(some.select(0, 2).abs().sum().item<float>(), 0);
    EmbeddingBagOptions padded = options;
    padded.padding_idx = -1;
    EXPECT_EQ(embedding_bag(wholes({6, 2, 6, 6}, {2, 2}), weight, {}, padded).to_vector<float>(),
              embedding_bag(wholes({2}, {1}), weight, wholes({0, 1}, {2}), options).to_vector<float>());
  }
}

TEST(EmbeddingBag, AsAModuleAndCompiled) {
  manual_seed(5);
  nn::EmbeddingBag bag(5, 3, {.mode = "max", .padding_idx = 1});
  EXPECT_EQ(bag.weight.select(0, 1).abs().sum().item<float>(), 0);
  EXPECT_TRUE(bag.weight.requires_grad());
  EXPECT_TRUE(bag.weight.is_leaf());
  auto compiled = compile([&](Tensor index, Tensor offsets) { return bag(index, offsets); });
  for (const Wholes &offsets : {Wholes{0, 2}, Wholes{0, 4}}) {
    const Tensor index = randint(0, 5, {6});
    EXPECT_EQ(compiled(index, wholes(offsets, {2})).to_vector<float>(),
              bag(index, wholes(offsets, {2})).to_vector<float>());
  }
  EXPECT_EQ(compiled.variants().size(), 1U);
  const Dim rows("rows", 1, 16);
  auto any = compile([&](Tensor index) { return bag(index); }, {spec({rows, 4}, i64)});
  const Tensor index = randint(0, 5, {3, 4});
  EXPECT_EQ(any(index).to_vector<float>(), bag(index).to_vector<float>());
}

TEST(EmbeddingBag, WithoutElementsIsZeros) {
  for (const char *mode : {"sum", "mean", "max"}) {
    nn::EmbeddingBag bag(3, 2, {.mode = mode});
    Tensor made = bag(zeros({0}, {.dtype = i64}), wholes({0, 0}, {2}));
    EXPECT_EQ(made.to_vector<float>(), (std::vector<float>(4, 0))) << mode;
    made.sum().backward();
    EXPECT_EQ(bag.weight.grad().to_vector<float>(), (std::vector<float>(6, 0))) << mode;
  }
}

TEST(EmbeddingBag, SaysWhatDoesNotFit) {
  const Tensor weight = ones({4, 2}), index = zeros({3}, {.dtype = i64}), offsets = wholes({0, 1}, {2});
  EXPECT_ERROR(embedding_bag(index, weight), "offsets has to be a 1D Tensor");
  EXPECT_ERROR(embedding_bag(index.unsqueeze(0), weight, offsets),
               "if input is 2D, then offsets has to be None");
  EXPECT_ERROR(embedding_bag(zeros({1, 1, 1}, {.dtype = i64}), weight),
               "1D or 2D Tensor, but got Tensor of dimension 3");
  EXPECT_ERROR(embedding_bag(index, weight, offsets, {.mode = "median"}), "one of sum, mean or max");
  EXPECT_ERROR(nn::EmbeddingBag(3, 2, {.mode = "median"}), "one of sum, mean or max");
  EXPECT_ERROR(embedding_bag(index, weight, offsets, {}, ones({3})),
               "only supported for mode='sum' (got mode='mean')");
  EXPECT_ERROR(embedding_bag(index, weight, offsets, {.mode = "sum"}, ones({2})),
               "the same shape as the input ([3])");
  EXPECT_ERROR(embedding_bag(index, weight, offsets, {.padding_idx = 4}), "padding_idx must be within");
  EXPECT_ERROR(embedding_bag(index, weight, wholes({1, 2}, {2})).sum().item<float>(),
               "offsets[0] has to be 0");
  EXPECT_ERROR(embedding_bag(index, weight, wholes({}, {0}), {.include_last_offset = true}), "at least 1");
}
