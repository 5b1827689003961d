//===- more_losses.hpp - Losses as modules --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The losses of margin_losses.hpp and losses.hpp that have a module in torch.nn. A weight is a buffer.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_MORE_LOSSES_HPP
#define WEFT_MORE_LOSSES_HPP

#include "weft/compositions.hpp"
#include "weft/losses.hpp"
#include "weft/margin_losses.hpp"

namespace weft::nn {

class WEFT_API CosineEmbeddingLoss : public Module {
public:
  explicit CosineEmbeddingLoss(double margin = 0, Reduction reduction = Reduction::mean);
  Tensor operator()(const Tensor &a, const Tensor &b, const Tensor &target, Loc loc = Loc::current()) const {
    return cosine_embedding_loss(a, b, target, margin_, reduction_, loc);
  }

private:
  double margin_;
  Reduction reduction_;
};
class WEFT_API MarginRankingLoss : public Module {
public:
  explicit MarginRankingLoss(double margin = 0, Reduction reduction = Reduction::mean);
  Tensor operator()(const Tensor &a, const Tensor &b, const Tensor &target, Loc loc = Loc::current()) const {
    return margin_ranking_loss(a, b, target, margin_, reduction_, loc);
  }

private:
  double margin_;
  Reduction reduction_;
};
class WEFT_API HingeEmbeddingLoss : public Module {
public:
  explicit HingeEmbeddingLoss(double margin = 1, Reduction reduction = Reduction::mean);
  Tensor operator()(const Tensor &input, const Tensor &target, Loc loc = Loc::current()) const {
    return hinge_embedding_loss(input, target, margin_, reduction_, loc);
  }

private:
  double margin_;
  Reduction reduction_;
};
class WEFT_API SoftMarginLoss : public Module {
public:
  explicit SoftMarginLoss(Reduction reduction = Reduction::mean);
  Tensor operator()(const Tensor &input, const Tensor &target, Loc loc = Loc::current()) const {
    return soft_margin_loss(input, target, reduction_, loc);
  }

private:
  Reduction reduction_;
};
class WEFT_API MultiLabelMarginLoss : public Module {
public:
  explicit MultiLabelMarginLoss(Reduction reduction = Reduction::mean);
  Tensor operator()(const Tensor &input, const Tensor &target, Loc loc = Loc::current()) const {
    return multilabel_margin_loss(input, target, reduction_, loc);
  }

private:
  Reduction reduction_;
};
class WEFT_API PoissonNLLLoss : public Module {
public:
  explicit PoissonNLLLoss(PoissonNllOptions options = {});
  Tensor operator()(const Tensor &input, const Tensor &target, Loc loc = Loc::current()) const {
    return poisson_nll_loss(input, target, options_, loc);
  }

private:
  PoissonNllOptions options_;
};
class WEFT_API GaussianNLLLoss : public Module {
public:
  explicit GaussianNLLLoss(GaussianNllOptions options = {});
  Tensor operator()(const Tensor &input, const Tensor &target, const Tensor &variance,
                    Loc loc = Loc::current()) const {
    return gaussian_nll_loss(input, target, variance, options_, loc);
  }

private:
  GaussianNllOptions options_;
};
class WEFT_API TripletMarginLoss : public Module {
public:
  explicit TripletMarginLoss(TripletMarginOptions options = {});
  Tensor operator()(const Tensor &anchor, const Tensor &positive, const Tensor &negative,
                    Loc loc = Loc::current()) const {
    return triplet_margin_loss(anchor, positive, negative, options_, loc);
  }

private:
  TripletMarginOptions options_;
};
class WEFT_API TripletMarginWithDistanceLoss : public Module {
public:
  explicit TripletMarginWithDistanceLoss(DistanceFunction distance, TripletMarginOptions options = {});
  Tensor operator()(const Tensor &anchor, const Tensor &positive, const Tensor &negative,
                    Loc loc = Loc::current()) const {
    return triplet_margin_with_distance_loss(anchor, positive, negative, distance_, options_, loc);
  }

private:
  DistanceFunction distance_;
  TripletMarginOptions options_;
};
class WEFT_API MultiLabelSoftMarginLoss : public Module {
public:
  explicit MultiLabelSoftMarginLoss(Tensor weight = {}, Reduction reduction = Reduction::mean);
  Tensor operator()(const Tensor &input, const Tensor &target, Loc loc = Loc::current()) const {
    return multilabel_soft_margin_loss(input, target, weight, reduction_, loc);
  }
  Parameter weight; ///< undefined if there is none

private:
  Reduction reduction_;
};
class WEFT_API MultiMarginLoss : public Module {
public:
  explicit MultiMarginLoss(MultiMarginOptions options = {});
  Tensor operator()(const Tensor &input, const Tensor &target, Loc loc = Loc::current()) const;
  Parameter weight; ///< undefined if there is none

private:
  MultiMarginOptions options_; ///< without the weight
};

} // namespace weft::nn

#endif // WEFT_MORE_LOSSES_HPP
