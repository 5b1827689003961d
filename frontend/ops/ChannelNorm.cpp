//===- ChannelNorm.cpp - batch_norm, group_norm ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/ChannelNorm.h"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/Ops.h"
#include "weft/joining.hpp"
#include "weft/math.hpp"
#include "weft/reduce.hpp"
#include "weft/view_copies.hpp"

namespace weft {

using namespace frontend;

namespace {

/// The operand of a normalisation of channels, [batch, channels, extents..].
struct Channels {
  const char *name;
  Ref x;
  DType wide;
  Loc loc;

  Channels(const char *name, const Tensor &given, Loc loc) : name(name), x(use(given, loc)), loc(loc) {
    checkFloat(x, (std::string(name) + "()").c_str(), loc);
    if (rankOf(x) < 2)
      fail(std::string(name) + "(): Expected at least 2 dimensions for input tensor, but received " +
               shapeText(x.spec().shape),
           loc, {x});
    wide = itemsize(x.spec().dtype) == 2 ? DType::f32 : x.spec().dtype;
  }

  const Shape &shape() const { return x.spec().shape; }
  int64_t count() const { return shape()[1]; }

  /// Throws Error unless there is one number for each channel.
  void check(const Tensor &numbers, const char *what) const {
    if (!numbers.defined())
      return;
    Ref value = use(numbers, loc);
    if (value.spec().shape != Shape{count()})
      fail(std::string(name) + "(): " + what + " should contain " + sizeText(count()) + " elements not " +
               shapeText(value.spec().shape),
           loc, {value, x});
    if (value.spec().dtype != x.spec().dtype && value.spec().dtype != wide)
      fail(std::string(name) + "(): expected " + what + " of " + std::string(weft::name(x.spec().dtype)) +
               " or " + std::string(weft::name(wide)) + ", found " +
               std::string(weft::name(value.spec().dtype)),
           loc, {value, x});
  }

  /// Numbers of channels, as wide as the computation and with a shape that broadcasts.
  Tensor spread(const Tensor &numbers) const {
    Shape own(shape().size() - 1, 1);
    own[0] = count();
    return numbers.to(wide, loc).reshape(own, loc);
  }

  /// y weight + bias, with the operand's dtype.
  Tensor affine(Tensor y, const Tensor &weight, const Tensor &bias) const {
    if (weight.defined())
      y = mul({y, loc}, {spread(weight), loc});
    if (bias.defined())
      y = add({y, loc}, {spread(bias), loc});
    return y.to(x.spec().dtype, loc);
  }

  /// The channels first, so that what is normalised over comes last.
  Tensor channelsFirst() const { return wrap(convertTo(x, wide, loc), loc).transpose(0, 1, loc); }
};

/// (a - mean) / sqrt(variance + eps) over the dimensions from `axis` on.
Tensor normalized(const Tensor &a, int64_t axis, double eps, Loc loc) {
  const Shape &shape = a.sizes(loc);
  return layer_norm(a, Shape(shape.begin() + axis, shape.end()), {}, {}, eps, loc);
}

/// running = (1 - share) running + share new.
void blend(Tensor running, const Tensor &now, const Arg &share, Loc loc) {
  NoGradGuard guard;
  Arg rest = share.is_number ? Arg(1 - share.real, loc) : Arg(sub({1, loc}, share), loc);
  Tensor next = add({mul({running.to(now.dtype(loc), loc), loc}, rest), loc}, {mul({now, loc}, share), loc});
  running.copy_(next.to(running.dtype(loc), loc), loc);
}

/// Moves the running statistics towards those of the batch.
void updateStatistics(const Channels &c, const Tensor &first, const Tensor &mean, const Tensor &variance,
                      const Arg &share) {
  ir::Size count = 1;
  std::vector<int64_t> dims;
  for (size_t i = 0; i < c.shape().size(); ++i) {
    if (i != 1)
      count *= sizeOf(c.shape()[i]);
    if (i != 0)
      dims.push_back(static_cast<int64_t>(i));
  }
  Loc loc = c.loc;
  if (count.isNumber() && count.asNumber() <= 1)
    fail("Expected more than 1 value per channel when training, got input size " + shapeText(c.shape()), loc,
         {c.x});
  auto node = record("welford", {use(first.detach(loc), loc)}, {{"dims", dims}}, loc);
  if (mean.defined())
    blend(mean, wrap({node, 0}, loc), share, loc);
  if (!variance.defined())
    return;
  Tensor squares = wrap({node, 1}, loc);
  if (count.isNumber())
    squares = div({squares, loc}, {static_cast<double>(count.asNumber()) - 1, loc});
  else
    squares = div({squares, loc},
                  {sub({numberOf(entryOf(count, loc), c.wide, c.x.spec().device, loc), loc}, {1, loc}), loc});
  blend(variance, squares, share, loc);
}

} // namespace

Tensor frontend::batchNorm(const Tensor &x, const Tensor &running_mean, const Tensor &running_var,
                           const BatchNormOptions &options, const Arg &share, Loc loc) {
  GraphLock lock(graphMutex());
  Channels c("batch_norm", x, loc);
  c.check(running_mean, "running_mean");
  c.check(running_var, "running_var");
  c.check(options.weight, "weight");
  c.check(options.bias, "bias");
  if (!options.training) {
    if (!running_mean.defined() || !running_var.defined())
      fail("Expected running_mean and running_var to be defined when training=false", loc);
    Tensor scale = rsqrt(add({c.spread(running_var), loc}, {options.eps, loc}), loc);
    Tensor y = sub({wrap(convertTo(c.x, c.wide, loc), loc), loc}, {c.spread(running_mean), loc});
    return c.affine(mul({y, loc}, {scale, loc}), options.weight, options.bias);
  }
  Tensor first = c.channelsFirst();
  updateStatistics(c, first, running_mean, running_var, share);
  return c.affine(normalized(first, 1, options.eps, loc).transpose(0, 1, loc), options.weight, options.bias);
}

Tensor batch_norm(const Tensor &x, const Tensor &running_mean, const Tensor &running_var,
                  BatchNormOptions options, Loc loc) {
  return batchNorm(x, running_mean, running_var, options, {options.momentum, loc}, loc);
}

Tensor group_norm(const Tensor &x, int64_t num_groups, const Tensor &weight, const Tensor &bias, double eps,
                  Loc loc) {
  GraphLock lock(graphMutex());
  Channels c("group_norm", x, loc);
  c.check(weight, "weight");
  c.check(bias, "bias");
  auto ofGroup = num_groups < 1 ? std::nullopt : ir::divide(sizeOf(c.count()), num_groups);
  if (!ofGroup)
    fail("Expected number of channels in input to be divisible by num_groups, but got input of shape " +
             shapeText(c.shape()) + " and num_groups=" + std::to_string(num_groups),
         loc, {c.x});
  Shape grouped = c.shape();
  grouped[1] = entryOf(*ofGroup, loc);
  grouped.insert(grouped.begin() + 1, num_groups);
  Tensor a = wrap(reshapeTo(convertTo(c.x, c.wide, loc), grouped, loc), loc);
  return c.affine(normalized(a, 2, eps, loc).reshape(c.shape(), loc), weight, bias);
}

Tensor instance_norm(const Tensor &x, const Tensor &running_mean, const Tensor &running_var,
                     BatchNormOptions options, Loc loc) {
  Channels c("instance_norm", x, loc);
  if (!options.training)
    return batch_norm(x, running_mean, running_var, options, loc);
  int64_t count = 1;
  for (size_t d = 2; d < c.shape().size(); ++d)
    count *= numberOr(c.shape()[d], "instance_norm(): an extent", loc);
  if (count == 1)
    fail("Expected more than 1 spatial element when training, got input size " + shapeText(c.shape()), loc,
         {c.x});
  // Each element of the batch has channels of its own.
  const int64_t batch = numberOr(c.shape()[0], "instance_norm(): the batch", loc);
  Shape together = c.shape();
  together[0] = 1;
  together[1] = batch * c.count();
  auto repeated = [&](const Tensor &numbers) {
    return numbers.defined() ? numbers.repeat({batch}, loc) : numbers;
  };
  Tensor means = repeated(running_mean), variances = repeated(running_var);
  BatchNormOptions each = options;
  each.weight = repeated(options.weight);
  each.bias = repeated(options.bias);
  Tensor y = batch_norm(x.reshape(together, loc), means, variances, each, loc).reshape(c.shape(), loc);
  NoGradGuard guard;
  for (auto [running, made] : {std::pair(running_mean, means), std::pair(running_var, variances)})
    if (running.defined())
      running.copy_(made.reshape({batch, -1}, loc).mean({0}, false, loc), loc);
  return y;
}

Tensor local_response_norm(const Tensor &x, int64_t size, double alpha, double beta, double k, Loc loc) {
  checkFloat(use(x, loc), "local_response_norm()", loc);
  if (x.dim(loc) < 3)
    fail("Expected 3D or higher dimensionality input (got " + std::to_string(x.dim(loc)) + " dimensions)",
         loc, {use(x, loc)});
  if (size < 1)
    fail("local_response_norm(): size must be at least 1, found " + std::to_string(size), loc);
  if (x.numel(loc) == 0)
    return x;
  Tensor wide = widened(x, loc), squares = mul({wide, loc}, {wide, loc});
  // The sum of neighbours: windows of the padded channels.
  std::vector<int64_t> padding(2 * (static_cast<size_t>(x.dim(loc)) - 1), 0);
  padding[padding.size() - 2] = size / 2;
  padding[padding.size() - 1] = (size - 1) / 2;
  Tensor windows = unfold(pad(squares, padding, {0.0, loc}, loc), 1, size, 1, loc);
  Tensor mean = div({windows.sum({-1}, false, loc), loc}, {static_cast<double>(size), loc});
  Tensor scale = pow({add({mul({mean, loc}, {alpha, loc}), loc}, {k, loc}), loc}, {beta, loc});
  return div({wide, loc}, {scale, loc}).to(x.dtype(loc), loc);
}

} // namespace weft
