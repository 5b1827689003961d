//===- Compositions.cpp - Functions that are made of others -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/compositions.hpp"

#include "frontend/ops/Expr.h"
#include "weft/gather_scatter.hpp"
#include "weft/joining.hpp"
#include "weft/linear_algebra.hpp"
#include "weft/math.hpp"
#include "weft/pooling.hpp"
#include "weft/random.hpp"
#include "weft/reduce.hpp"

#include <array>
#include <cmath>

namespace weft {

using namespace frontend;

//===----------------------------------------------------------------------===//
// Draws
//===----------------------------------------------------------------------===//

/// Whether elements are dropped. In evaluation every tensor is returned as it is.
static bool drops(const char *function, const Tensor &x, double p, bool training, Loc loc) {
  if (!(p >= 0 && p <= 1))
    fail(std::string(function) + ": dropout probability has to be between 0 and 1, but got " +
             std::to_string(p),
         loc);
  if (!training || p == 0)
    return false;
  if (!x.is_floating_point(loc))
    fail(std::string(function) + " takes a floating-point tensor, found " + std::string(name(x.dtype(loc))),
         loc, {use(x, loc)});
  return true;
}

/// The shape of one number for each channel.
static Shape ofChannels(const char *function, const Tensor &x, bool isBatched, Loc loc) {
  Shape shape = x.sizes(loc);
  if (shape.size() < (isBatched ? 2U : 1U))
    fail(std::string(function) + " takes a tensor of batch and channels, found shape " + shapeText(shape),
         loc, {use(x, loc)});
  for (size_t i = isBatched ? 2 : 1; i < shape.size(); ++i)
    shape[i] = 1;
  return shape;
}

static Tensor dropChannels(const char *function, const Tensor &x, double p, bool training, bool isBatched,
                           Loc loc) {
  if (!drops(function, x, p, training, loc))
    return x;
  Shape shape = ofChannels(function, x, isBatched, loc);
  Tensor mask = dropout(ones(shape, {.dtype = x.dtype(loc), .device = x.device(loc)}, loc), p, true, loc);
  return mul({x, loc}, {mask, loc});
}

Tensor dropout1d(const Tensor &x, double p, bool training, Loc loc) {
  return dropChannels("dropout1d", x, p, training, x.dim(loc) != 2, loc);
}
Tensor dropout2d(const Tensor &x, double p, bool training, Loc loc) {
  return dropChannels("dropout2d", x, p, training, true, loc);
}
Tensor dropout3d(const Tensor &x, double p, bool training, Loc loc) {
  return dropChannels("dropout3d", x, p, training, x.dim(loc) != 4, loc);
}

/// 1 with probability 1 - p, else 0, in the shape, and in the dtype and on the device of a tensor.
static Tensor keptMask(const Tensor &x, const Shape &shape, double p, Loc loc) {
  Tensor odds = full(shape, {1 - p, loc}, {.dtype = DType::f32, .device = x.device(loc)}, loc);
  return bernoulli(odds, loc).to(x.dtype(loc), loc);
}

static Tensor alphaDropout(const Tensor &x, const Shape &shape, double p, Loc loc) {
  if (p == 1)
    return mul({x, loc}, {0, loc});
  // The limit of selu at minus infinity, and the map that gives mean 0 and variance 1 again.
  const double limit = -1.7580993408473766, a = 1 / std::sqrt((1 - p) * (1 + p * limit * limit));
  Tensor kept = keptMask(x, shape, p, loc);
  Tensor dropped = mul({sub({1, loc}, {kept, loc}), loc}, {a * limit, loc});
  Tensor scaled = mul({mul({x, loc}, {kept, loc}), loc}, {a, loc});
  return add({scaled, loc}, {add({dropped, loc}, {-a * limit * p, loc}), loc});
}

Tensor alpha_dropout(const Tensor &x, double p, bool training, Loc loc) {
  return drops("alpha_dropout", x, p, training, loc) ? alphaDropout(x, x.sizes(loc), p, loc) : x;
}
Tensor feature_alpha_dropout(const Tensor &x, double p, bool training, Loc loc) {
  if (!drops("feature_alpha_dropout", x, p, training, loc))
    return x;
  return alphaDropout(x, ofChannels("feature_alpha_dropout", x, true, loc), p, loc);
}

Tensor rrelu(const Tensor &x, double lower, double upper, bool training, Loc loc) {
  if (!(lower <= upper))
    fail("rrelu: Lower bound should be less than or equal to the upper bound, found " +
             std::to_string(lower) + " and " + std::to_string(upper),
         loc);
  if (!training)
    return leaky_relu(x, (lower + upper) / 2, loc);
  Tensor slope = lerp(full(x.sizes(loc), {lower, loc}, {.dtype = x.dtype(loc), .device = x.device(loc)}, loc),
                      full(x.sizes(loc), {upper, loc}, {.dtype = x.dtype(loc), .device = x.device(loc)}, loc),
                      {rand_like(x, loc), loc});
  return where(gt({x, loc}, {0, loc}), {x, loc}, {mul({x, loc}, {slope, loc}), loc}, loc);
}

Tensor gumbel_softmax(const Tensor &logits, double tau, bool hard, int64_t dim, Loc loc) {
  if (!(tau > 0))
    fail("gumbel_softmax: tau must be positive, found " + std::to_string(tau), loc);
  // Minus the logarithm of a draw from the exponential distribution, which is not 0 but of a probability
  // below the smallest number of f32.
  Tensor draw = zeros_like(logits, loc).exponential_(1, loc);
  Tensor gumbel = neg({log(draw, loc), loc});
  Tensor soft = softmax(div({add({logits, loc}, {gumbel, loc}), loc}, {tau, loc}), dim, loc);
  if (!hard)
    return soft;
  Tensor place = soft.argmax(dim, true, loc);
  Tensor chosen = scatter(zeros_like(logits, loc), dim, place, {1.0, loc}, loc);
  return add({sub({chosen, loc}, {soft.detach(loc), loc}), loc}, {soft, loc});
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

static Tensor lpPool(const Tensor &x, double norm, const IntList &kernel, const LpPoolOptions &options,
                     size_t extents, Loc loc) {
  double elements = 1;
  for (size_t i = 0; i < extents; ++i)
    elements *= static_cast<double>(kernel.size() == 1 || kernel.size() <= i ? kernel.at(0) : kernel[i]);
  AvgPoolOptions windows{.stride = options.stride, .ceil_mode = options.ceil_mode};
  Tensor powers = pow({x, loc}, {norm, loc});
  Tensor mean = extents == 1   ? avg_pool1d(powers, kernel, windows, loc)
                : extents == 2 ? avg_pool2d(powers, kernel, windows, loc)
                               : avg_pool3d(powers, kernel, windows, loc);
  Tensor sum = mul({mul({sign(mean, loc), loc}, {relu(abs(mean, loc), loc), loc}), loc}, {elements, loc});
  return pow({sum, loc}, {1 / norm, loc});
}

Tensor lp_pool1d(const Tensor &x, double norm_type, IntList kernel_size, LpPoolOptions options, Loc loc) {
  return lpPool(x, norm_type, kernel_size, options, 1, loc);
}
Tensor lp_pool2d(const Tensor &x, double norm_type, IntList kernel_size, LpPoolOptions options, Loc loc) {
  return lpPool(x, norm_type, kernel_size, options, 2, loc);
}
Tensor lp_pool3d(const Tensor &x, double norm_type, IntList kernel_size, LpPoolOptions options, Loc loc) {
  return lpPool(x, norm_type, kernel_size, options, 3, loc);
}

/// A number or two as two.
static std::array<int64_t, 2> pairOf(const char *what, const IntList &given, int64_t least, Loc loc) {
  if (given.size() != 1 && given.size() != 2)
    fail(std::string("fold takes one number or two as ") + what + ", found " + shapeText(given), loc);
  std::array<int64_t, 2> pair{given[0], given.back()};
  for (int64_t number : pair)
    if (number < least)
      fail(std::string("fold takes a ") + what + " of at least " + std::to_string(least) + ", found " +
               shapeText(given),
           loc);
  return pair;
}

Tensor fold(const Tensor &x, IntList output_size, IntList kernel_size, IntList dilation, IntList padding,
            IntList stride, Loc loc) {
  GraphLock lock(graphMutex());
  const auto size = pairOf("output_size", output_size, 1, loc),
             kernel = pairOf("kernel_size", kernel_size, 1, loc), step = pairOf("stride", stride, 1, loc),
             gap = pairOf("dilation", dilation, 1, loc), border = pairOf("padding", padding, 0, loc);
  const Shape shape = x.sizes(loc);
  if (shape.size() == 2)
    return fold(x.unsqueeze(0, loc), output_size, kernel_size, dilation, padding, stride, loc)
        .squeeze(0, loc);
  std::array<int64_t, 2> windows{}, padded{};
  for (size_t i = 0; i < 2; ++i) {
    padded[i] = size[i] + 2 * border[i];
    windows[i] = (padded[i] - gap[i] * (kernel[i] - 1) - 1) / step[i] + 1;
  }
  const int64_t elements = kernel[0] * kernel[1];
  if (shape.size() != 3 || shape[1] % elements != 0 || windows[0] < 1 || windows[1] < 1 ||
      shape[2] != windows[0] * windows[1])
    fail("fold takes [batch, channels * " + std::to_string(elements) + ", " +
             std::to_string(windows[0] * windows[1]) + "] for this output_size, found " + shapeText(shape),
         loc, {use(x, loc)});
  // The place in the padded image of each element of each window, [kernel, kernel, windows, windows].
  const TensorOptions whole{.dtype = DType::i64, .device = x.device(loc)};
  auto places = [&](size_t i) {
    Tensor first = mul({arange(windows[i], whole, loc), loc}, {step[i], loc});
    Tensor within = mul({arange(kernel[i], whole, loc).unsqueeze(1, loc), loc}, {gap[i], loc});
    return add({within, loc}, {first, loc});
  };
  Tensor rows = places(0).reshape({kernel[0], 1, windows[0], 1}, loc),
         columns = places(1).reshape({1, kernel[1], 1, windows[1]}, loc);
  Tensor place = add({mul({rows, loc}, {padded[1], loc}), loc}, {columns, loc}).reshape({-1}, loc);
  const int64_t channels = shape[1] / elements;
  Tensor image = zeros({shape[0] * channels, padded[0] * padded[1]},
                       {.dtype = x.dtype(loc), .device = x.device(loc)}, loc);
  image = index_add(image, 1, place, x.reshape({shape[0] * channels, elements * shape[2]}, loc), 1, loc);
  return image.reshape({shape[0], channels, padded[0], padded[1]}, loc)
      .narrow(2, border[0], size[0], loc)
      .narrow(3, border[1], size[1], loc);
}

Tensor affine_grid(const Tensor &theta, IntList size, bool align_corners, Loc loc) {
  GraphLock lock(graphMutex());
  const Shape shape = theta.sizes(loc);
  const size_t extents = size.size() - 2;
  if ((size.size() != 4 && size.size() != 5) || shape.size() != 3 || shape[0] != size[0] ||
      shape[1] != static_cast<int64_t>(extents) || shape[2] != static_cast<int64_t>(extents) + 1)
    fail("affine_grid takes theta [n, 2, 3] and a size [n, c, h, w], or [n, 3, 4] and [n, c, d, h, w], "
         "found " +
             shapeText(shape) + " and " + shapeText(size),
         loc, {use(theta, loc)});
  const TensorOptions options{.dtype = theta.dtype(loc), .device = theta.device(loc)};
  const Shape inner(size.begin() + 2, size.end());
  // The coordinates of a place are those of the last dimension first, and 1.
  std::vector<Tensor> coordinates;
  for (size_t i = extents; i-- > 0;) {
    const auto count = static_cast<double>(inner[i]);
    const double edge = inner[i] == 1 ? 0 : align_corners ? 1 : (count - 1) / count;
    Shape along(extents, 1);
    along[i] = inner[i];
    coordinates.push_back(
        linspace(-edge, edge, inner[i], options, loc).reshape(along, loc).expand(inner, loc));
  }
  coordinates.push_back(ones(inner, options, loc));
  Tensor base = stack(coordinates, -1, loc).reshape({1, -1, shape[2]}, loc).expand({size[0], -1, -1}, loc);
  Shape result{size[0]};
  result.insert(result.end(), inner.begin(), inner.end());
  result.push_back(static_cast<int64_t>(extents));
  return bmm(base, theta.mT(loc), loc).reshape(result, loc);
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

Tensor nn::multilabel_margin_loss(const Tensor &input, const Tensor &target, Reduction reduction, Loc loc) {
  GraphLock lock(graphMutex());
  const Shape shape = input.sizes(loc);
  if (shape.empty() && target.sizes(loc).empty())
    return multilabel_margin_loss(input.reshape({1}, loc), target.reshape({1}, loc), reduction, loc);
  if (shape.empty() || shape.size() > 2 || target.sizes(loc) != shape || is_floating_point(target.dtype(loc)))
    fail("multilabel_margin_loss takes [n, classes] or [classes] and class numbers of that shape, found " +
             shapeText(shape) + " and " + shapeText(target.sizes(loc)) + " of " +
             std::string(name(target.dtype(loc))),
         loc, {use(input, loc), use(target, loc)});
  if (reduction == Reduction::batchmean)
    fail("multilabel_margin_loss reduces by none, mean or sum", loc);
  const int64_t classes = shape.back();
  // Which entries of the target count: those before the first -1.
  Tensor isEnd = lt({target, loc}, {0, loc}).to(DType::i64, loc);
  Tensor counts = eq({isEnd.cumsum(-1, loc), loc}, {0, loc});
  Tensor number = where(counts, {target, loc}, {0, loc}, loc).to(DType::i64, loc);
  // How often each class is a target.
  Tensor isTarget = scatter_add(zeros(shape, {.dtype = DType::i64, .device = input.device(loc)}, loc), -1,
                                number, counts.to(DType::i64, loc), loc);
  Tensor own = gather(input, -1, number, loc).unsqueeze(-1, loc);
  Tensor margin = relu(add({sub({input.unsqueeze(-2, loc), loc}, {own, loc}), loc}, {1, loc}), loc);
  Tensor pairs =
      logical_and({counts.unsqueeze(-1, loc), loc}, {eq({isTarget, loc}, {0, loc}).unsqueeze(-2, loc), loc});
  Tensor losses =
      div({where(pairs, {margin, loc}, {zeros_like(margin, loc), loc}, loc).sum({-2, -1}, false, loc), loc},
          {classes, loc});
  return reduction == Reduction::none  ? losses
         : reduction == Reduction::sum ? losses.sum({}, false, loc)
                                       : losses.mean({}, false, loc);
}

} // namespace weft
