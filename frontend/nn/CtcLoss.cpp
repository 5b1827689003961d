//===- CtcLoss.cpp - Connectionist temporal classification ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The labels of a sequence, with a blank before, between and behind them, are 2 S + 1 states. `alpha` has,
// for each state, the logarithm of the probability of all alignments that are in it after a step. A step
// stays in its state, or goes to the next one, or to the one after a blank between two labels that differ.
// Before the first step all alignments are in the first state.
//
//===----------------------------------------------------------------------===//
#include "weft/ctc_loss.hpp"

#include "frontend/ops/Losses.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/Term.h"
#include "weft/dim.hpp"
#include "weft/gather_scatter.hpp"
#include "weft/joining.hpp"
#include "weft/loops.hpp"
#include "weft/reduce.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace weft::nn {

using namespace frontend;

constexpr double never = -std::numeric_limits<double>::infinity();

/// Targets that are one after the other as rows, [batch, longest]; what is behind an end is any class.
static Tensor rowsOf(const Tensor &targets, const std::vector<int64_t> &lengths, Loc loc) {
  const int64_t count = std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  if (count > targets.numel(loc) || std::ranges::any_of(lengths, [](int64_t length) { return length < 0; }))
    fail("ctc_loss: the target_lengths " + shapeText(lengths) + " do not lie in the " +
             std::to_string(targets.numel(loc)) + " targets",
         loc, {use(targets, loc)});
  const int64_t longest = lengths.empty() ? 0 : *std::ranges::max_element(lengths);
  const auto batch = static_cast<int64_t>(lengths.size());
  if (longest == 0)
    return zeros({batch, 0}, {targets.dtype(loc), targets.device(loc)}, loc);
  std::vector<int64_t> places;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    for (int64_t i = 0; i < longest; ++i)
      places.push_back(i < length ? begin + i : 0);
    begin += length;
  }
  const Tensor index = Tensor::from(places, {batch * longest}, {.device = targets.device(loc)}, loc);
  return index_select(targets, 0, index, loc).reshape({batch, longest}, loc);
}

/// The class of each state, [batch, 2 S + 1]: blanks, and labels at odd places within the length.
static Tensor statesOf(const Tensor &targets, const Tensor &lengths, int64_t blank, Loc loc) {
  const int64_t labels = targets.size(1, loc), states = 2 * labels + 1;
  const Device device = targets.device(loc);
  const Size batch = targets.sym_size(0, loc);
  const Tensor blanks = full(shape({batch, Size(states)}), Arg(blank, loc), {DType::i64, device}, loc);
  if (labels == 0)
    return blanks;
  std::vector<int64_t> label(static_cast<size_t>(states));
  for (size_t i = 0; i < label.size(); ++i)
    label[i] = i / 2 < static_cast<size_t>(labels) ? static_cast<int64_t>(i / 2) : labels - 1;
  const Tensor spread = index_select(targets.to(DType::i64, loc), 1,
                                     Tensor::from(label, {states}, {.device = device}, loc), loc);
  const Term place{arange(states, {.device = device}, loc), loc};
  const Term isLabel = place - Term{floor_divide(place, {2, loc}), loc} * int64_t(2) == int64_t(1);
  const Term ends{(Term{lengths.unsqueeze(1, loc), loc} * int64_t(2)).tensor, loc};
  return where((isLabel && place < ends).tensor, {spread, loc}, {blanks, loc}, loc);
}

/// a[.., i - count], and `filler` for the first `count`.
static Tensor shifted(const Tensor &a, int64_t count, double filler, Loc loc) {
  const int64_t states = a.size(1, loc);
  return pad(a, {count, 0}, {filler, loc}, loc).narrow(1, 0, states, loc);
}

/// The negative log-likelihoods, [batch].
static Tensor losses(const Tensor &log_probs, const Tensor &targets, const Tensor &input_lengths,
                     const Tensor &target_lengths, int64_t blank, Loc loc) {
  const int64_t steps = log_probs.size(0, loc);
  const Tensor states = statesOf(targets, target_lengths, blank, loc);
  const int64_t count = states.size(1, loc);
  const Device device = log_probs.device(loc);
  const Tensor places = arange(count, {.device = device}, loc);
  // The class of a label differs from that of the label before.
  const Term skips = Term{states, loc} != Term{shifted(states, 2, -1, loc), loc};
  const Tensor first = eq({places, loc}, {0, loc}).expand(states.sizes(loc), loc);
  const Tensor begin = where(first, {0.0, loc}, {never, loc}, loc).to(log_probs.dtype(loc), loc);
  Shape all = states.sizes(loc);
  all.insert(all.begin(), steps);
  const Tensor emitted = gather(log_probs, 2, states.unsqueeze(0, loc).expand(all, loc), loc);
  const Tensor step = arange(steps, {.device = device}, loc).reshape({steps, 1, 1}, loc);
  const Tensor present = lt({step, loc}, {input_lengths.unsqueeze(-1, loc), loc});
  const auto body = [&](const Tensor &alpha, const std::pair<Tensor, Tensor> &now) {
    const Tensor skipped = where(skips.tensor, {shifted(alpha, 2, never, loc), loc}, {never, loc}, loc);
    const Tensor before =
        stack({alpha, shifted(alpha, 1, never, loc), skipped}, 2, loc).logsumexp({2}, false, loc);
    const Tensor after = add({before, loc}, {now.first, loc});
    return std::pair(where(now.second, {after, loc}, {alpha, loc}, loc), std::tuple<>{});
  };
  const Tensor last = scan(body, begin, std::pair(emitted, present), {}, loc).first;
  // Alignments end in the last label, or in the blank behind it.
  const Term ends = Term{target_lengths.unsqueeze(1, loc), loc} * int64_t(2);
  const Term place{places, loc};
  const Term isEnd = place == ends || place == ends - int64_t(1);
  return neg({where(isEnd.tensor, {last, loc}, {never, loc}, loc).logsumexp({1}, false, loc), loc});
}

static void checkOperands(const Tensor &log_probs, const Tensor &targets, int64_t blank, Loc loc) {
  if (!is_floating_point(log_probs.dtype(loc)) || is_floating_point(targets.dtype(loc)))
    fail("ctc_loss needs log_probs that are floating-point and targets that are integers, found " +
             std::string(name(log_probs.dtype(loc))) + " and " + std::string(name(targets.dtype(loc))),
         loc, {use(log_probs, loc), use(targets, loc)});
  const int64_t classes = log_probs.size(2, loc);
  if (blank < 0 || blank >= classes)
    fail("blank must be in label range: found " + std::to_string(blank) + " of " + std::to_string(classes) +
             " classes",
         loc, {use(log_probs, loc)});
}

static void checkLengths(const Tensor &lengths, const char *what, const Size &batch, int64_t most, Loc loc) {
  if (is_floating_point(lengths.dtype(loc)) || lengths.sizes(loc) != shape({batch}))
    fail(std::string("ctc_loss needs ") + what + " that are integers, one for each of the " + batch.str() +
             " sequences, found shape " + shapeText(lengths.sizes(loc)) + " of " +
             std::string(name(lengths.dtype(loc))),
         loc, {use(lengths, loc)});
  const Term length{lengths, loc};
  assert_true((length >= int64_t(0) && length <= most).tensor,
              std::string("ctc_loss: expected ") + what + " from 0 to " + std::to_string(most), loc);
}

Tensor ctc_loss(const Tensor &given, const Tensor &targets, const Tensor &input_lengths,
                const Tensor &target_lengths, CtcLossOptions options, Loc loc) {
  const bool batched = given.dim(loc) == 3;
  if (!batched && given.dim(loc) != 2)
    fail("ctc_loss needs log_probs of [T, batch, classes] or [T, classes], found " +
             shapeText(given.sizes(loc)),
         loc, {use(given, loc)});
  const Tensor probs = batched ? given : given.unsqueeze(1, loc);
  const Tensor inputs = batched ? input_lengths : input_lengths.reshape({1}, loc);
  const Tensor ends = batched ? target_lengths : target_lengths.reshape({1}, loc);
  checkOperands(probs, targets, options.blank, loc);
  const Size batch = probs.sym_size(1, loc);
  if (targets.dim(loc) != 1 && targets.dim(loc) != 2)
    fail("ctc_loss needs targets of [batch, S], or one after the other in a vector, found " +
             shapeText(targets.sizes(loc)),
         loc, {use(targets, loc)});
  const Tensor rows = targets.dim(loc) == 2 ? targets
                      : batched             ? rowsOf(targets, ends.to_vector<int64_t>(loc), loc)
                                            : targets.unsqueeze(0, loc);
  if (rows.sym_size(0, loc) != batch)
    fail("ctc_loss needs targets of the " + batch.str() + " sequences of log_probs, found " +
             shapeText(targets.sizes(loc)),
         loc, {use(targets, loc)});
  checkLengths(inputs, "input_lengths", batch, probs.size(0, loc), loc);
  checkLengths(ends, "target_lengths", batch, rows.size(1, loc), loc);
  const Tensor wide = widened(probs, loc);
  Tensor loss = losses(wide, rows, inputs, ends, options.blank, loc);
  // PyTorch's gradient has the probabilities themselves in it, which log_softmax takes out again. They are
  // added as a number that is 0.
  const int64_t steps = wide.size(0, loc);
  const Term step{arange(steps, {.device = wide.device(loc)}, loc).reshape({steps, 1}, loc), loc};
  const Tensor present = (step < Term{inputs, loc}).tensor.unsqueeze(2, loc);
  const Term probabilities = exp(Term{where(present, {wide, loc}, {never, loc}, loc), loc});
  const Tensor sums = probabilities.tensor.sum({0, 2}, false, loc);
  const Tensor held = where(isfinite(sums, loc), {sums, loc}, {0.0, loc}, loc);
  loss = add({loss, loc}, {sub({held, loc}, {held.detach(loc), loc}), loc});
  if (options.zero_infinity)
    loss = where(eq({loss, loc}, {-never, loc}), {0.0, loc}, {loss, loc}, loc);
  if (options.reduction == Reduction::mean)
    loss = div({loss, loc}, {clamp_min(ends, {1, loc}).to(loss.dtype(loc), loc), loc});
  loss = loss.to(given.dtype(loc), loc);
  if (!batched)
    loss = loss.squeeze({0}, loc);
  return reduced(loss, options.reduction, "ctc_loss", loc);
}

Tensor ctc_loss(const Tensor &log_probs, const Tensor &targets, const std::vector<int64_t> &input_lengths,
                const std::vector<int64_t> &target_lengths, CtcLossOptions options, Loc loc) {
  const auto lengths = [&](const std::vector<int64_t> &numbers) {
    return Tensor::from(numbers, {static_cast<int64_t>(numbers.size())}, {.device = log_probs.device(loc)},
                        loc);
  };
  const bool isRow = targets.dim(loc) == 1 && log_probs.dim(loc) == 3;
  return ctc_loss(log_probs, isRow ? rowsOf(targets, target_lengths, loc) : targets, lengths(input_lengths),
                  lengths(target_lengths), options, loc);
}

} // namespace weft::nn
