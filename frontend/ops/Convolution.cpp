//===- Convolution.cpp - Convolutions and their transposes -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/convolution.hpp"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/Extents.h"
#include "frontend/ops/Ops.h"
#include "weft/joining.hpp"

namespace weft {

using namespace frontend;

namespace {

/// What all convolutions of a number of extents check.
struct Convolution {
  const char *name;
  size_t extents;
  Loc loc;

  /// One number for each extent, at least `least`.
  std::vector<int64_t> numbers(const IntList &given, const char *what, int64_t least) const {
    if (given.size() != 1 && given.size() != extents)
      fail(std::string(name) + "(): expected " + what + " to be a single integer value or a list of " +
               std::to_string(extents) + " values to match the convolution dimensions, but got " + what +
               "=" + shapeText(given),
           loc);
    return atEachExtent(name, given, extents, what, least, loc);
  }

  /// The operand with a batch.
  Ref batched(const Ref &x) const {
    auto rank = static_cast<size_t>(rankOf(x));
    if (rank != extents + 1 && rank != extents + 2)
      fail("Expected " + std::to_string(extents + 1) + "D (unbatched) or " + std::to_string(extents + 2) +
               "D (batched) input to " + name + ", but got input of size: " + shapeText(x.spec().shape),
           loc, {x});
    if (rank == extents + 2)
      return x;
    Shape shape = x.spec().shape;
    shape.insert(shape.begin(), 1);
    return reshapeTo(x, shape, loc);
  }

  /// `ofGroup` is the dimension of the weights that is divided among the groups.
  void checkWeight(const Ref &x, const Ref &weight, int64_t groups, bool transposed) const {
    const Shape &shape = x.spec().shape, &w = weight.spec().shape;
    if (x.spec().dtype != weight.spec().dtype)
      fail(std::string(name) + "(): Input type (" + std::string(weft::name(x.spec().dtype)) +
               ") and weight type (" + std::string(weft::name(weight.spec().dtype)) + ") should be the same",
           loc, {x, weight});
    if (x.spec().dtype == DType::i1)
      fail(std::string(name) + "(): \"" + name + "\" not implemented for 'Bool'", loc, {x});
    if (w.size() != extents + 2)
      fail(std::string(name) + "(): expected weight to be " + std::to_string(extents + 2) +
               "-dimensional, but got weight of size " + shapeText(w),
           loc, {weight});
    if (groups < 1)
      fail(std::string(name) + "(): groups must be at least 1, found " + std::to_string(groups), loc);
    auto channels = sizeOf(shape[1]);
    bool fits = transposed ? channels == sizeOf(w[0]) : channels == sizeOf(w[1]) * ir::Size(groups);
    if (!fits)
      fail("Given " + std::string(transposed ? "transposed=1, " : "") + "groups=" + std::to_string(groups) +
               ", weight of size " + shapeText(w) + ", expected input" + shapeText(shape) + " to have " +
               ir::sizeText(transposed ? sizeOf(w[0]) : sizeOf(w[1]) * ir::Size(groups)) +
               " channels, but got " + sizeText(shape[1]) + " channels instead",
           loc, {x, weight});
    if (!ir::divide(sizeOf(w[0]), groups))
      fail("Given groups=" + std::to_string(groups) + ", expected weight to be divisible by " +
               std::to_string(groups) + " at dimension 0, but got weight of size " + shapeText(w) +
               " instead",
           loc, {weight});
    for (size_t i = 0; i < extents; ++i)
      if (w[2 + i] == 0 || shape[2 + i] == 0)
        fail(std::string(name) +
                 "(): expected extents and windows of at least 1 element, but got input of size " +
                 shapeText(shape) + " and weight of size " + shapeText(w),
             loc, {x, weight});
  }

  /// The windows must fit. Symbolic sizes are left to the op's verifier.
  void checkWindow(const Ref &x, const Ref &weight, const std::vector<int64_t> &low,
                   const std::vector<int64_t> &high, const std::vector<int64_t> &dilation) const {
    const Shape &shape = x.spec().shape, &w = weight.spec().shape;
    Shape padded, window;
    bool known = true, fits = true;
    for (size_t i = 0; i < extents; ++i) {
      known &= !isSymbolic(shape[2 + i]) && !isSymbolic(w[2 + i]);
      if (!known)
        return;
      __int128 whole = static_cast<__int128>(shape[2 + i]) + low[i] + high[i],
               reach = static_cast<__int128>(w[2 + i] - 1) * dilation[i] + 1;
      if (whole > INT64_MAX || reach > INT64_MAX)
        fail(std::string(name) + "(): padding or dilation make extent " + std::to_string(i) +
                 " larger than 2^63",
             loc, {x, weight});
      padded.push_back(static_cast<int64_t>(whole));
      window.push_back(static_cast<int64_t>(reach));
      fits &= whole >= reach;
    }
    if (!fits)
      fail("Calculated padded input size per channel: " + shapeText(padded) + ". Kernel size: " +
               shapeText(window) + ". Kernel size can't be greater than actual input size",
           loc, {x, weight});
  }

  /// The result with the bias, and without the batch if the operand had none.
  Tensor finish(const Ref &result, const Tensor &bias, bool hadBatch) const {
    Shape shape = result.spec().shape;
    Ref y = result;
    if (bias.defined()) {
      Ref b = use(bias, loc);
      if (b.spec().shape != Shape{shape[1]} || b.spec().dtype != result.spec().dtype)
        fail("Given weight of " + sizeText(shape[1]) + " outputs, expected bias to be 1-dimensional with " +
                 sizeText(shape[1]) + " elements of " + std::string(weft::name(result.spec().dtype)) +
                 ", but got bias of size " + shapeText(b.spec().shape) + " of " +
                 std::string(weft::name(b.spec().dtype)) + " instead",
             loc, {b});
      Shape own(extents + 1, 1);
      own[0] = shape[1];
      y = record1("add", {y, broadcastTo(reshapeTo(b, own, loc), shape, loc)}, {}, loc);
    }
    if (!hadBatch)
      shape.erase(shape.begin());
    return wrap(reshapeTo(y, shape, loc), loc);
  }
};

Tensor convolve(const Convolution &c, const Tensor &x, const Tensor &weight, const Tensor &bias,
                const ConvOptions &options) {
  GraphLock lock(graphMutex());
  Ref given = use(x, c.loc), w = use(weight, c.loc), a = c.batched(given);
  c.checkWeight(a, w, options.groups, /*transposed=*/false);
  std::vector<int64_t> stride = c.numbers(options.stride, "stride", 1),
                       dilation = c.numbers(options.dilation, "dilation", 1), low(c.extents, 0), high(low);
  const std::string &word = options.padding.word;
  if (word == "same") {
    for (size_t i = 0; i < c.extents; ++i) {
      if (stride[i] != 1)
        fail("padding='same' is not supported for strided convolutions, found stride " +
                 shapeText(options.stride),
             c.loc);
      int64_t zeros = dilation[i] * (numberOr(w.spec().shape[2 + i], "padding='same'", c.loc) - 1);
      low[i] = zeros / 2;
      high[i] = zeros - low[i];
    }
  } else if (word.empty()) {
    low = high = c.numbers(options.padding.zeros, "padding", 0);
  } else if (word != "valid") {
    fail(std::string(c.name) + "(): padding must be numbers, \"same\" or \"valid\", found \"" + word + "\"",
         c.loc);
  }
  c.checkWindow(a, w, low, high, dilation);
  Ref y = record1("convolution", {a, w},
                  {{"stride", stride},
                   {"low", low},
                   {"high", high},
                   {"base_dilation", std::vector<int64_t>(c.extents, 1)},
                   {"window_dilation", dilation},
                   {"groups", options.groups}},
                  c.loc);
  return c.finish(y, bias, rankOf(given) == rankOf(a));
}

/// [groups c, o, window..] as [groups o, c, window..], with the windows reversed.
Ref turned(const Convolution &c, const Ref &weight, int64_t groups) {
  const Shape &w = weight.spec().shape;
  Shape apart{groups, entryOf(*ir::divide(sizeOf(w[0]), groups), c.loc), w[1]},
      together{entryOf(sizeOf(w[1]) * ir::Size(groups), c.loc), apart[1]};
  std::vector<int64_t> perm{0, 2, 1}, dims;
  for (size_t i = 0; i < c.extents; ++i) {
    apart.push_back(w[2 + i]);
    together.push_back(w[2 + i]);
    perm.push_back(static_cast<int64_t>(3 + i));
    dims.push_back(static_cast<int64_t>(2 + i));
  }
  Ref moved = record1("transpose", {reshapeTo(weight, apart, c.loc)}, {{"perm", perm}}, c.loc);
  return record1("reverse", {reshapeTo(moved, together, c.loc)}, {{"dims", dims}}, c.loc);
}

Tensor transposed(const Convolution &c, const Tensor &x, const Tensor &weight, const Tensor &bias,
                  const ConvTransposeOptions &options) {
  GraphLock lock(graphMutex());
  Ref given = use(x, c.loc), w = use(weight, c.loc), a = c.batched(given);
  c.checkWeight(a, w, options.groups, /*transposed=*/true);
  std::vector<int64_t> stride = c.numbers(options.stride, "stride", 1),
                       padding = c.numbers(options.padding, "padding", 0),
                       more = c.numbers(options.output_padding, "output_padding", 0),
                       dilation = c.numbers(options.dilation, "dilation", 1), low, high;
  for (size_t i = 0; i < c.extents; ++i) {
    if (more[i] >= stride[i] && more[i] >= dilation[i])
      fail("output padding must be smaller than either stride or dilation, but got output_padding: " +
               shapeText(more) + ", stride: " + shapeText(stride) + ", dilation: " + shapeText(dilation),
           c.loc);
    int64_t window = numberOr(w.spec().shape[2 + i], "the window of a transposed convolution", c.loc),
            reach = 0;
    if (__builtin_mul_overflow(dilation[i], window - 1, &reach))
      fail(std::string(c.name) + "(): dilation makes extent " + std::to_string(i) + " larger than 2^63",
           c.loc);
    low.push_back(reach - padding[i]);
    high.push_back(reach - padding[i] + more[i]);
    const int64_t extent = a.spec().shape[2 + i];
    if (!isSymbolic(extent) &&
        static_cast<__int128>(extent - 1) * stride[i] + 1 + low[i] + high[i] - reach < 1)
      fail(std::string(c.name) + "(): Given input size per channel: " + shapeText(a.spec().shape) +
               ". Calculated output size per channel is too small: padding " + shapeText(padding) +
               " leaves nothing of extent " + std::to_string(i),
           c.loc, {a});
  }
  Ref y = record1("convolution", {a, turned(c, w, options.groups)},
                  {{"stride", std::vector<int64_t>(c.extents, 1)},
                   {"low", low},
                   {"high", high},
                   {"base_dilation", stride},
                   {"window_dilation", dilation},
                   {"groups", options.groups}},
                  c.loc);
  return c.finish(y, bias, rankOf(given) == rankOf(a));
}

} // namespace

#define WEFT_CONVOLUTION(extents)                                                                            \
  Tensor conv##extents##d(const Tensor &x, const Tensor &weight, const Tensor &bias, ConvOptions options,    \
                          Loc loc) {                                                                         \
    return convolve({"conv" #extents "d", extents, loc}, x, weight, bias, options);                          \
  }                                                                                                          \
  Tensor conv_transpose##extents##d(const Tensor &x, const Tensor &weight, const Tensor &bias,               \
                                    ConvTransposeOptions options, Loc loc) {                                 \
    return transposed({"conv_transpose" #extents "d", extents, loc}, x, weight, bias, options);              \
  }
WEFT_CONVOLUTION(1)
WEFT_CONVOLUTION(2)
WEFT_CONVOLUTION(3)

} // namespace weft
