//===- margin_losses.hpp - Losses of margins and rankings -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The losses of torch.nn.functional that compare with a margin, or have targets 1 and -1.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_MARGIN_LOSSES_HPP
#define WEFT_MARGIN_LOSSES_HPP

#include "weft/losses.hpp"

#include <functional>

namespace weft::nn {

/// max(0, margin - target (a - b)).
WEFT_API Tensor margin_ranking_loss(const Tensor &a, const Tensor &b, const Tensor &target, double margin = 0,
                                    Reduction reduction = Reduction::mean, Loc loc = Loc::current());
/// `input` where the target is 1, max(0, margin - input) where it is -1.
WEFT_API Tensor hinge_embedding_loss(const Tensor &input, const Tensor &target, double margin = 1,
                                     Reduction reduction = Reduction::mean, Loc loc = Loc::current());
/// log(1 + exp(-target input)).
WEFT_API Tensor soft_margin_loss(const Tensor &input, const Tensor &target,
                                 Reduction reduction = Reduction::mean, Loc loc = Loc::current());
/// With c the cosine between vectors [n, k] or [k]: 1 - c where the target is 1, max(0, c - margin) where it
/// is -1.
WEFT_API Tensor cosine_embedding_loss(const Tensor &a, const Tensor &b, const Tensor &target,
                                      double margin = 0, Reduction reduction = Reduction::mean,
                                      Loc loc = Loc::current());
/// The mean over the last dimension of the binary cross entropy of sigmoid(input), for targets 0 and 1.
WEFT_API Tensor multilabel_soft_margin_loss(const Tensor &input, const Tensor &target,
                                            const Tensor &weight = {}, Reduction reduction = Reduction::mean,
                                            Loc loc = Loc::current());

struct MultiMarginOptions {
  int64_t p = 1; ///< 1 or 2
  double margin = 1;
  Tensor weight = {}; ///< one per class
  Reduction reduction = Reduction::mean;
};
/// The mean over classes other than the target of max(0, margin - input[target] + input)^p. `input` is [n,
/// classes] or [classes], the target [n] or [].
WEFT_API Tensor multi_margin_loss(const Tensor &input, const Tensor &target, MultiMarginOptions options = {},
                                  Loc loc = Loc::current());

struct TripletMarginOptions {
  double margin = 1;
  double p = 2;      ///< of the norm
  double eps = 1e-6; ///< as in pairwise_distance
  bool swap = false; ///< whether the distance of the positive to the negative counts if it is smaller
  Reduction reduction = Reduction::mean;
};
/// max(0, margin + d(anchor, positive) - d(anchor, negative)), with distances over the last dimension.
WEFT_API Tensor triplet_margin_loss(const Tensor &anchor, const Tensor &positive, const Tensor &negative,
                                    TripletMarginOptions options = {}, Loc loc = Loc::current());
/// The same with a distance of the user's, whose `p` and `eps` do not count.
using DistanceFunction = std::function<Tensor(const Tensor &, const Tensor &)>;
WEFT_API Tensor triplet_margin_with_distance_loss(const Tensor &anchor, const Tensor &positive,
                                                  const Tensor &negative, const DistanceFunction &distance,
                                                  TripletMarginOptions options = {},
                                                  Loc loc = Loc::current());

} // namespace weft::nn

#endif // WEFT_MARGIN_LOSSES_HPP
