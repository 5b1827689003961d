//===- Padding.cpp - Padding from the tensor itself, and turned or shuffled images ===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/Ops.h"
#include "weft/joining.hpp"

namespace weft {

using namespace frontend;

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// `count` slices of dimension `dim` before (after) the first (last) one; `size` is that of the dimension.
using Border = Tensor (*)(const Tensor &a, int64_t dim, int64_t size, int64_t count, bool before, Loc loc);

static Tensor reflected(const Tensor &a, int64_t dim, int64_t size, int64_t count, bool before, Loc loc) {
  if (count >= size)
    fail("Padding size should be less than the corresponding input dimension, but got: padding " +
             std::to_string(count) + " at dimension " + std::to_string(dim) + " of input " +
             shapeText(a.sizes(loc)),
         loc, {use(a, loc)});
  return flip(a.narrow(dim, before ? 1 : size - 1 - count, count, loc), {dim}, loc);
}

static Tensor replicated(const Tensor &a, int64_t dim, int64_t size, int64_t count, bool before, Loc loc) {
  if (size == 0)
    fail("Padding by the edge elements needs a dimension with elements, but dimension " +
             std::to_string(dim) + " of input " + shapeText(a.sizes(loc)) + " has none",
         loc, {use(a, loc)});
  Tensor edge = a.narrow(dim, before ? 0 : size - 1, 1, loc);
  Shape wide = edge.sizes(loc);
  wide[static_cast<size_t>(dim)] = count;
  return edge.expand(wide, loc);
}

static Tensor wrapped(const Tensor &a, int64_t dim, int64_t size, int64_t count, bool before, Loc loc) {
  if (count > size)
    fail("Padding value causes wrapping around more than once: padding " + std::to_string(count) +
             " at dimension " + std::to_string(dim) + " of input " + shapeText(a.sizes(loc)),
         loc, {use(a, loc)});
  return a.narrow(dim, before ? size - count : 0, count, loc);
}

Tensor pad(const Tensor &a, IntList padding, const std::string &mode, double value, Loc loc) {
  if (mode == "constant")
    return pad(a, padding, {value, loc}, loc);
  Border border = mode == "reflect"     ? reflected
                  : mode == "replicate" ? replicated
                  : mode == "circular"  ? wrapped
                                        : nullptr;
  if (!border)
    fail("pad: 'mode' must be \"constant\", \"reflect\", \"replicate\" or \"circular\", found \"" + mode +
             "\"",
         loc);
  auto pairs = static_cast<int64_t>(padding.size() / 2);
  int64_t rank = a.dim(loc);
  if (padding.size() % 2 != 0 || pairs < 1 || pairs > 3 || rank < pairs + 1 || rank > pairs + 2)
    fail("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported: \"" + mode +
             "\" pads the last one, two or three dimensions of a tensor with one or two dimensions more, "
             "found padding " +
             shapeText(padding) + " for " + shapeText(a.sizes(loc)),
         loc, {use(a, loc)});
  Tensor result = a;
  for (int64_t i = 0; i < pairs; ++i) {
    int64_t dim = rank - 1 - i, size = a.size(dim, loc);
    int64_t low = padding[static_cast<size_t>(2 * i)], high = padding[static_cast<size_t>(2 * i + 1)];
    int64_t begin = low < 0 ? -low : 0, end = high < 0 ? size + high : size;
    if (end < begin)
      fail("The negative padding " + std::to_string(low) + " and " + std::to_string(high) +
               " takes more than the input size " + std::to_string(size) + " away at dimension " +
               std::to_string(dim),
           loc, {use(a, loc)});
    Tensor inner = result.slice(dim, begin, end, 1, loc);
    // As in PyTorch mirrors and edges are those of the whole dimension, but the other end is what is left of
    // it.
    const Tensor &from = border == wrapped ? inner : result;
    int64_t extent = border == wrapped ? end - begin : size;
    std::vector<Tensor> parts;
    if (low > 0)
      parts.push_back(border(from, dim, extent, low, true, loc));
    parts.push_back(inner);
    if (high > 0)
      parts.push_back(border(from, dim, extent, high, false, loc));
    result = parts.size() == 1 ? inner : cat(parts, dim, loc);
  }
  return result.contiguous(loc);
}

//===----------------------------------------------------------------------===//
// Turning
//===----------------------------------------------------------------------===//

Tensor fliplr(const Tensor &a, Loc loc) {
  if (a.dim(loc) < 2)
    fail("Input must be >= 2-d.", loc, {use(a, loc)});
  return flip(a, {1}, loc);
}
Tensor flipud(const Tensor &a, Loc loc) {
  if (a.dim(loc) < 1)
    fail("Input must be >= 1-d.", loc, {use(a, loc)});
  return flip(a, {0}, loc);
}

Tensor rot90(const Tensor &a, int64_t k, IntList dims, Loc loc) {
  if (dims.size() != 2)
    fail("expected total rotation dims == 2, but got dims = " + std::to_string(dims.size()), loc);
  if (a.dim(loc) < 2)
    fail("expected total dims >= 2, but got total dims = " + std::to_string(a.dim(loc)), loc, {use(a, loc)});
  int64_t from = wrapDim(dims[0], a.dim(loc), loc), to = wrapDim(dims[1], a.dim(loc), loc);
  if (from == to)
    fail("expected rotation dims to be different, but got dim0 = " + std::to_string(dims[0]) +
             " and dim1 = " + std::to_string(dims[1]),
         loc);
  switch ((k % 4 + 4) % 4) {
  case 1:
    return flip(a, {to}, loc).transpose(from, to, loc);
  case 2:
    return flip(a, {from, to}, loc);
  case 3:
    return flip(a, {from}, loc).transpose(from, to, loc);
  default:
    return a.clone(loc);
  }
}

//===----------------------------------------------------------------------===//
// Shuffles
//===----------------------------------------------------------------------===//

/// The shape in front of the last three dimensions.
static Shape batchOf(const char *function, const Tensor &a, int64_t factor, Loc loc) {
  if (a.dim(loc) < 3)
    fail(std::string(function) + " expects input to have at least 3 dimensions, but got input with " +
             std::to_string(a.dim(loc)) + " dimension(s)",
         loc, {use(a, loc)});
  if (factor <= 0)
    fail(std::string(function) + " expects a positive factor, but got " + std::to_string(factor), loc);
  const Shape &shape = a.sizes(loc);
  return {shape.begin(), shape.end() - 3};
}

/// The batch, then `inner`.
static Shape joined(Shape batch, std::initializer_list<int64_t> inner) {
  batch.insert(batch.end(), inner);
  return batch;
}

/// The dimensions of a batch in order, then those of `inner`, counted from the batch's rank.
static std::vector<int64_t> behind(size_t batch, std::initializer_list<int64_t> inner) {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < batch; ++i)
    dims.push_back(static_cast<int64_t>(i));
  for (int64_t dim : inner)
    dims.push_back(static_cast<int64_t>(batch) + dim);
  return dims;
}

Tensor pixel_shuffle(const Tensor &a, int64_t upscale_factor, Loc loc) {
  int64_t r = upscale_factor;
  Shape batch = batchOf("pixel_shuffle", a, r, loc);
  int64_t channels = a.size(-3, loc), h = a.size(-2, loc), w = a.size(-1, loc);
  if (channels % (r * r) != 0)
    fail("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
         "upscale_factor, but input.size(-3)=" +
             std::to_string(channels) + " is not divisible by " + std::to_string(r * r),
         loc, {use(a, loc)});
  int64_t c = channels / (r * r);
  return a.reshape(joined(batch, {c, r, r, h, w}), loc)
      .permute(behind(batch.size(), {0, 3, 1, 4, 2}), loc)
      .reshape(joined(batch, {c, h * r, w * r}), loc);
}

Tensor pixel_unshuffle(const Tensor &a, int64_t downscale_factor, Loc loc) {
  int64_t r = downscale_factor;
  Shape batch = batchOf("pixel_unshuffle", a, r, loc);
  int64_t c = a.size(-3, loc), h = a.size(-2, loc), w = a.size(-1, loc);
  if (h % r != 0 || w % r != 0)
    fail("pixel_unshuffle expects height and width to be divisible by downscale_factor, but " +
             std::to_string(h) + " x " + std::to_string(w) + " is not divisible by " + std::to_string(r),
         loc, {use(a, loc)});
  return a.reshape(joined(batch, {c, h / r, r, w / r, r}), loc)
      .permute(behind(batch.size(), {0, 2, 4, 1, 3}), loc)
      .reshape(joined(batch, {c * r * r, h / r, w / r}), loc);
}

Tensor channel_shuffle(const Tensor &a, int64_t groups, Loc loc) {
  if (a.dim(loc) < 3)
    fail("channel_shuffle expects input with > 2 dims, but got input with sizes " + shapeText(a.sizes(loc)),
         loc, {use(a, loc)});
  int64_t channels = a.size(1, loc);
  if (groups <= 0 || channels % groups != 0)
    fail("Number of channels must be divisible by groups. Got " + std::to_string(channels) +
             " channels and " + std::to_string(groups) + " groups.",
         loc, {use(a, loc)});
  return a.unflatten(1, {groups, channels / groups}, loc).transpose(1, 2, loc).flatten(1, 2, loc);
}

} // namespace weft
