//===- MarginLosses.cpp - Losses of margins and rankings ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/margin_losses.hpp"

#include "frontend/ops/Losses.h"
#include "frontend/ops/Ops.h"
#include "weft/distances.hpp"
#include "weft/math.hpp"

namespace weft::nn {

using namespace frontend;

static Tensor atLeastZero(const Tensor &a, Loc loc) { return clamp_min(a, {0, loc}); }

Tensor margin_ranking_loss(const Tensor &a, const Tensor &b, const Tensor &target, double margin,
                           Reduction reduction, Loc loc) {
  Tensor wrong = mul({neg({target, loc}), loc}, {sub({a, loc}, {b, loc}), loc});
  return reduced(atLeastZero(add({wrong, loc}, {margin, loc}), loc), reduction, "margin_ranking_loss", loc);
}

Tensor hinge_embedding_loss(const Tensor &input, const Tensor &target, double margin, Reduction reduction,
                            Loc loc) {
  Tensor hinge = atLeastZero(sub({margin, loc}, {input, loc}), loc);
  // As in PyTorch a target that is neither 1 nor -1 has both parts.
  Tensor far = where(ne({target, loc}, {1, loc}), {hinge, loc}, {0, loc}, loc);
  Tensor near = where(ne({target, loc}, {-1, loc}), {input, loc}, {0, loc}, loc);
  return reduced(add({far, loc}, {near, loc}), reduction, "hinge_embedding_loss", loc);
}

Tensor soft_margin_loss(const Tensor &input, const Tensor &target, Reduction reduction, Loc loc) {
  warnOfBroadcast(input, target, loc);
  return reduced(neg({logsigmoid(mul({target, loc}, {input, loc}), loc), loc}), reduction, "soft_margin_loss",
                 loc);
}

Tensor cosine_embedding_loss(const Tensor &a, const Tensor &b, const Tensor &target, double margin,
                             Reduction reduction, Loc loc) {
  if (target.dim(loc) > 1 || a.dim(loc) != target.dim(loc) + 1 || b.dim(loc) != target.dim(loc) + 1)
    fail("cosine_embedding_loss: " + std::to_string(target.dim(loc)) + "D target tensor expects " +
             std::to_string(target.dim(loc) + 1) + "D input tensors, but found inputs with sizes " +
             shapeText(a.sizes(loc)) + " and " + shapeText(b.sizes(loc)) + ".",
         loc);
  auto product = [&](const Tensor &x, const Tensor &y) {
    return mul({x, loc}, {y, loc}).sum({-1}, false, loc);
  };
  auto square = [&](const Tensor &x) { return add({product(x, x), loc}, {1e-12, loc}); };
  Tensor lengths = mul({square(a), loc}, {square(b), loc}).sqrt(loc);
  Tensor cosine = div({product(a, b), loc}, {lengths, loc});
  Tensor same = where(eq({target, loc}, {1, loc}), {sub({1, loc}, {cosine, loc}), loc}, {0, loc}, loc);
  Tensor other = where(eq({target, loc}, {-1, loc}),
                       {atLeastZero(sub({cosine, loc}, {margin, loc}), loc), loc}, {0, loc}, loc);
  return reduced(add({same, loc}, {other, loc}), reduction, "cosine_embedding_loss", loc);
}

Tensor multilabel_soft_margin_loss(const Tensor &input, const Tensor &target, const Tensor &weight,
                                   Reduction reduction, Loc loc) {
  Tensor hit = mul({target, loc}, {logsigmoid(input, loc), loc});
  Tensor miss = mul({sub({1, loc}, {target, loc}), loc}, {logsigmoid(neg({input, loc}), loc), loc});
  Tensor loss = neg({add({hit, loc}, {miss, loc}), loc});
  if (weight.defined())
    loss = mul({loss, loc}, {weight, loc});
  return reduced(loss.mean({-1}, false, loc), reduction, "multilabel_soft_margin_loss", loc);
}

Tensor multi_margin_loss(const Tensor &input, const Tensor &target, MultiMarginOptions options, Loc loc) {
  if (options.p != 1 && options.p != 2)
    fail("multi_margin_loss: only p == 1 and p == 2 are supported, found " + std::to_string(options.p), loc);
  if (input.dim(loc) > 2)
    fail("multi_margin_loss: Expected non-empty vector or matrix with optional 0-dim batch size, but got: " +
             shapeText(input.sizes(loc)),
         loc, {use(input, loc)});
  Tensor rows = input.dim(loc) < 2 ? input.reshape({1, -1}, loc) : input;
  int64_t classes = rows.size(1, loc);
  Tensor index = target.reshape({-1, 1}, loc);
  if (index.sizes(loc)[0] != rows.sizes(loc)[0])
    fail("multi_margin_loss: inconsistent target size, expected " + shapeText({rows.sizes(loc)[0]}) +
             " but got " + shapeText(target.sizes(loc)),
         loc, {use(target, loc)});
  if (options.weight.defined() && options.weight.sizes(loc) != Shape{classes})
    fail("multi_margin_loss: inconsistent weight size, expected " + shapeText({classes}) + " but got " +
             shapeText(options.weight.sizes(loc)),
         loc, {use(options.weight, loc)});
  Tensor chosen = rows.gather(1, index, loc);
  // As in PyTorch a class exactly at the margin has no gradient.
  Tensor excess = relu(add({sub({rows, loc}, {chosen, loc}), loc}, {options.margin, loc}), loc);
  if (options.p == 2)
    excess = mul({excess, loc}, {excess, loc});
  if (options.weight.defined())
    excess = mul({excess, loc},
                 {options.weight.index_select(0, index.reshape({-1}, loc), loc).unsqueeze(1, loc), loc});
  Tensor number = arange(classes, {.dtype = index.dtype(loc), .device = input.device(loc)}, loc);
  Tensor others = where(ne({number, loc}, {index, loc}), {excess, loc}, {0, loc}, loc);
  Tensor loss = div({others.sum({1}, false, loc), loc}, {static_cast<double>(classes), loc});
  if (input.dim(loc) < 2)
    loss = loss.squeeze(IntList{0}, loc);
  return reduced(loss, options.reduction, "multi_margin_loss", loc);
}

Tensor triplet_margin_with_distance_loss(const Tensor &anchor, const Tensor &positive, const Tensor &negative,
                                         const DistanceFunction &distance, TripletMarginOptions options,
                                         Loc loc) {
  if (anchor.dim(loc) != positive.dim(loc) || anchor.dim(loc) != negative.dim(loc))
    fail("triplet_margin_loss: The anchor, positive, and negative tensors are expected to have the same "
         "number of dimensions, but got: anchor " +
             std::to_string(anchor.dim(loc)) + "D, positive " + std::to_string(positive.dim(loc)) +
             "D, and negative " + std::to_string(negative.dim(loc)) + "D inputs",
         loc);
  Tensor near = distance(anchor, positive), far = distance(anchor, negative);
  if (options.swap)
    far = minimum({far, loc}, {distance(positive, negative), loc});
  Tensor loss = add({sub({near, loc}, {far, loc}), loc}, {options.margin, loc});
  return reduced(atLeastZero(loss, loc), options.reduction, "triplet_margin_loss", loc);
}

Tensor triplet_margin_loss(const Tensor &anchor, const Tensor &positive, const Tensor &negative,
                           TripletMarginOptions options, Loc loc) {
  return triplet_margin_with_distance_loss(
      anchor, positive, negative,
      [&](const Tensor &a, const Tensor &b) {
        return pairwise_distance(a, b, options.p, options.eps, false, loc);
      },
      options, loc);
}

} // namespace weft::nn
