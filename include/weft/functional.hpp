//===- functional.hpp - PyTorch's torch.nn.functional ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of torch.nn.functional under one name, for programs that begin with
//
//   namespace F = weft::nn::functional;
//
// Each is declared, and described, in the header of its kind.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FUNCTIONAL_HPP
#define WEFT_FUNCTIONAL_HPP

#include "weft/attention.hpp"
#include "weft/compositions.hpp"
#include "weft/convolution.hpp"
#include "weft/ctc_loss.hpp"
#include "weft/distances.hpp"
#include "weft/embedding_bag.hpp"
#include "weft/gather_scatter.hpp"
#include "weft/joining.hpp"
#include "weft/layers.hpp"
#include "weft/margin_losses.hpp"
#include "weft/math.hpp"
#include "weft/normalization.hpp"
#include "weft/other_names.hpp"
#include "weft/pooling.hpp"
#include "weft/reduce.hpp"
#include "weft/resampling.hpp"

namespace weft::nn::functional {

// Activations.
using weft::celu;
using weft::elu;
using weft::gelu;
using weft::glu;
using weft::hardshrink;
using weft::hardsigmoid;
using weft::hardswish;
using weft::hardtanh;
using weft::leaky_relu;
using weft::log_softmax;
using weft::logsigmoid;
using weft::mish;
using weft::prelu;
using weft::relu;
using weft::relu6;
using weft::selu;
using weft::sigmoid;
using weft::silu;
using weft::softmax;
using weft::softmin;
using weft::softplus;
using weft::softshrink;
using weft::softsign;
using weft::tanh;
using weft::tanhshrink;
using weft::threshold;

// In place.
using weft::celu_;
using weft::elu_;
using weft::hardtanh_;
using weft::leaky_relu_;
using weft::relu_;
using weft::selu_;
using weft::threshold_;

// Layers.
using nn::linear;
using weft::alpha_dropout;
using weft::bilinear;
using weft::cosine_similarity;
using weft::dropout;
using weft::dropout1d;
using weft::dropout2d;
using weft::dropout3d;
using weft::embedding;
using weft::embedding_bag;
using weft::feature_alpha_dropout;
using weft::gumbel_softmax;
using weft::layer_norm;
using weft::normalize;
using weft::one_hot;
using weft::pairwise_distance;
using weft::pdist;
using weft::rms_norm;
using weft::rrelu;
using weft::scaled_dot_product_attention;

// Convolutions, pooling and norms of channels.
using weft::adaptive_avg_pool1d;
using weft::adaptive_avg_pool2d;
using weft::adaptive_avg_pool3d;
using weft::adaptive_max_pool1d;
using weft::adaptive_max_pool1d_with_indices;
using weft::adaptive_max_pool2d;
using weft::adaptive_max_pool2d_with_indices;
using weft::adaptive_max_pool3d;
using weft::adaptive_max_pool3d_with_indices;
using weft::avg_pool1d;
using weft::avg_pool2d;
using weft::avg_pool3d;
using weft::batch_norm;
using weft::conv1d;
using weft::conv2d;
using weft::conv3d;
using weft::conv_transpose1d;
using weft::conv_transpose2d;
using weft::conv_transpose3d;
using weft::group_norm;
using weft::instance_norm;
using weft::local_response_norm;
using weft::lp_pool1d;
using weft::lp_pool2d;
using weft::lp_pool3d;
using weft::max_pool1d;
using weft::max_pool1d_with_indices;
using weft::max_pool2d;
using weft::max_pool2d_with_indices;
using weft::max_pool3d;
using weft::max_pool3d_with_indices;
using weft::max_unpool1d;
using weft::max_unpool2d;
using weft::max_unpool3d;

// Images.
using weft::affine_grid;
using weft::channel_shuffle;
using weft::fold;
using weft::grid_sample;
using weft::interpolate;
using weft::pad;
using weft::pixel_shuffle;
using weft::pixel_unshuffle;
using weft::upsample;
using weft::upsample_bilinear;
using weft::upsample_nearest;

/// Windows as columns; weft::unfold(x, dim, size, step) is a function of its own.
inline Tensor unfold(const Tensor &x, IntList kernel_size, IntList dilation = 1, IntList padding = 0,
                     IntList stride = 1, Loc loc = Loc::current()) {
  return weft::unfold(x, std::move(kernel_size), std::move(dilation), std::move(padding), std::move(stride),
                      loc);
}

// Losses.
using nn::binary_cross_entropy;
using nn::binary_cross_entropy_with_logits;
using nn::cosine_embedding_loss;
using nn::cross_entropy;
using nn::ctc_loss;
using nn::gaussian_nll_loss;
using nn::hinge_embedding_loss;
using nn::huber_loss;
using nn::kl_div;
using nn::l1_loss;
using nn::margin_ranking_loss;
using nn::mse_loss;
using nn::multi_margin_loss;
using nn::multilabel_margin_loss;
using nn::multilabel_soft_margin_loss;
using nn::nll_loss;
using nn::poisson_nll_loss;
using nn::smooth_l1_loss;
using nn::soft_margin_loss;
using nn::triplet_margin_loss;
using nn::triplet_margin_with_distance_loss;

} // namespace weft::nn::functional

#endif // WEFT_FUNCTIONAL_HPP
