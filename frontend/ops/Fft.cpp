//===- Fft.cpp - Fourier transforms -------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every function is made of `weft.fft` (ir/Fourier.td) over one dimension after the other. What is beside
// that is PyTorch's: lengths, norms, and errors.
//
//===----------------------------------------------------------------------===//
#include "weft/fft.hpp"

#include "frontend/ops/Expr.h"
#include "frontend/ops/Extents.h"
#include "weft/creation.hpp"
#include "weft/gather_scatter.hpp"
#include "weft/joining.hpp"
#include "weft/math.hpp"
#include "weft/view_copies.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

using namespace frontend;

namespace {

Tensor join(const Tensor &re, const Tensor &im, Loc loc) { return stack({re, im}, -1, loc); }
Tensor times(const Tensor &a, const Tensor &b, Loc loc) { return mul({a, loc}, {b, loc}); }

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// A real tensor of f32 or f64.
Tensor real(const char *function, const Tensor &x, Loc loc) {
  if (!x.is_floating_point(loc))
    return x.to(DType::f32, loc);
  if (isHalf(x.dtype(loc)))
    fail(std::string(function) + " takes f32 or f64, found " + std::string(name(x.dtype(loc))), loc,
         {use(x, loc)});
  return x;
}
/// A complex one.
Tensor pairs(const char *function, const Tensor &x, Loc loc) {
  const Shape &shape = x.sizes(loc);
  if (shape.size() < 2 || shape.back() != 2)
    fail(std::string(function) +
             " takes a complex tensor: the last dimension has the real and the imaginary part, found shape " +
             shapeText(shape) + "; complex(real, imag) makes one",
         loc, {use(x, loc)});
  return real(function, x, loc);
}

/// What the values are multiplied with; `isForward`: the transform to frequencies.
double factorOf(const char *function, const std::string &norm, bool isForward, int64_t n, Loc loc) {
  const auto length = static_cast<double>(n);
  if (norm == "ortho")
    return 1 / std::sqrt(length);
  if (norm == "forward" || norm == "backward")
    return (norm == "forward") == isForward ? 1 / length : 1;
  fail(std::string(function) + R"( takes "backward", "forward" or "ortho" as norm, found ")" + norm + '"',
       loc);
}

/// A dimension among `rank` ones as a number from 0 on.
int64_t place(const char *function, int64_t dim, int64_t rank, const Tensor &x, Loc loc) {
  if (dim < -rank || dim >= rank)
    fail(std::string(function) + ": dimension " + std::to_string(dim) + " is out of range for shape " +
             shapeText(x.sizes(loc)),
         loc, {use(x, loc)});
  return dim < 0 ? dim + rank : dim;
}

/// Cut or extended by zeros to n elements of a dimension.
Tensor resized(const char *function, const Tensor &x, int64_t dim, int64_t n, Loc loc) {
  if (n < 1)
    fail(std::string(function) + ": Invalid number of data points (" + std::to_string(n) + ") specified", loc,
         {use(x, loc)});
  if (n > int64_t(1) << 40)
    fail(std::string(function) + ": " + std::to_string(n) + " data points, more than 2^40", loc,
         {use(x, loc)});
  const int64_t size = x.size(dim, loc);
  if (n <= size)
    return n == size ? x : x.narrow(dim, 0, n, loc);
  IntList sides;
  sides.assign(static_cast<size_t>(2 * (x.dim(loc) - dim)), 0);
  sides.back() = n - size;
  return pad(x, sides, {0.0, loc}, loc);
}

TensorOptions like(const Tensor &x, Loc loc) { return {.dtype = x.dtype(loc), .device = x.device(loc)}; }

/// The transform over `dim` of what has the elements of `length` already.
Tensor along(const Tensor &x, const char *kind, int64_t dim, int64_t length, double scale, bool inverse,
             Loc loc) {
  return wrap(record1("fft", {use(x, loc)},
                      {{"kind", std::string(kind)},
                       {"dim", dim},
                       {"length", length},
                       {"scale", scale},
                       {"inverse", inverse}},
                      loc),
              loc);
}

Tensor complexTransform(const char *function, const Tensor &given, std::optional<int64_t> n, int64_t dim,
                        const std::string &norm, bool isForward, Loc loc) {
  GraphLock lock(graphMutex());
  Tensor x = pairs(function, given, loc);
  dim = place(function, dim, x.dim(loc) - 1, x, loc);
  const int64_t length = n.value_or(x.size(dim, loc));
  x = resized(function, x, dim, length, loc);
  return along(x, "c2c", dim, length, factorOf(function, norm, isForward, length, loc), !isForward, loc);
}

/// The first half of the values of real signals; with `conjugated`, as ihfft, their conjugates.
Tensor fromReal(const char *function, const Tensor &given, std::optional<int64_t> n, int64_t dim,
                const std::string &norm, bool conjugated, Loc loc) {
  GraphLock lock(graphMutex());
  Tensor x = real(function, given, loc);
  dim = place(function, dim, x.dim(loc), x, loc);
  const int64_t length = n.value_or(x.size(dim, loc));
  x = resized(function, x, dim, length, loc);
  return along(x, "r2c", dim, length, factorOf(function, norm, !conjugated, length, loc), conjugated, loc);
}

/// The real signals with these values; with `conjugated`, as hfft, with their conjugates.
Tensor toReal(const char *function, const Tensor &given, std::optional<int64_t> n, int64_t dim,
              const std::string &norm, bool conjugated, Loc loc) {
  GraphLock lock(graphMutex());
  Tensor x = pairs(function, given, loc);
  dim = place(function, dim, x.dim(loc) - 1, x, loc);
  const int64_t length = n.value_or(2 * (x.size(dim, loc) - 1));
  if (length < 1)
    fail(std::string(function) + ": Invalid number of data points (" + std::to_string(length) + ") specified",
         loc, {use(x, loc)});
  x = resized(function, x, dim, length / 2 + 1, loc);
  return along(x, "c2r", dim, length, factorOf(function, norm, conjugated, length, loc), !conjugated, loc);
}

/// The dimensions, from 0 on, and the lengths of a transform over several; a length of -1 is that of the
/// operand.
struct Extents {
  std::vector<int64_t> dims;
  std::vector<std::optional<int64_t>> lengths;
};
Extents extentsOf(const char *function, const Tensor &x, const IntList &s, const IntList &dims, int64_t rank,
                  Loc loc) {
  Extents result;
  if (!s.empty() && !dims.empty() && s.size() != dims.size())
    fail(std::string(function) + ": When given, dim and shape arguments must have the same length, found " +
             shapeText(dims) + " and " + shapeText(s),
         loc, {use(x, loc)});
  if (static_cast<int64_t>(s.size()) > rank)
    fail(std::string(function) + ": Got shape with " + std::to_string(s.size()) +
             " values but input tensor has " + std::to_string(rank) + " dimensions.",
         loc, {use(x, loc)});
  const int64_t count = !dims.empty() ? static_cast<int64_t>(dims.size())
                        : !s.empty()  ? static_cast<int64_t>(s.size())
                                      : rank;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    result.dims.push_back(dims.empty() ? rank - count + i : place(function, dims[at], rank, x, loc));
    result.lengths.push_back(s.empty() || s[at] == -1 ? std::optional<int64_t>() : s[at]);
  }
  std::vector<int64_t> sorted = result.dims;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    fail(std::string(function) + ": FFT dims must be unique, found " + shapeText(dims), loc, {use(x, loc)});
  if (result.dims.empty())
    fail(std::string(function) + " must transform at least one axis", loc, {use(x, loc)});
  return result;
}

Tensor complexOverAll(const char *function, const Tensor &given, const IntList &s, const IntList &dims,
                      const std::string &norm, bool isForward, Loc loc) {
  Tensor x = pairs(function, given, loc);
  const Extents extents = extentsOf(function, x, s, dims, x.dim(loc) - 1, loc);
  for (size_t i = 0; i < extents.dims.size(); ++i)
    x = complexTransform(function, x, extents.lengths[i], extents.dims[i], norm, isForward, loc);
  return x;
}
Tensor realOverAll(const char *function, const Tensor &x, const IntList &s, const IntList &dims,
                   const std::string &norm, bool conjugated, Loc loc) {
  const Extents extents = extentsOf(function, x, s, dims, x.dim(loc), loc);
  Tensor result = fromReal(function, x, extents.lengths.back(), extents.dims.back(), norm, conjugated, loc);
  for (size_t i = 0; i + 1 < extents.dims.size(); ++i)
    result = complexTransform(function, result, extents.lengths[i], extents.dims[i], norm, !conjugated, loc);
  return result;
}
Tensor toRealOverAll(const char *function, const Tensor &given, const IntList &s, const IntList &dims,
                     const std::string &norm, bool conjugated, Loc loc) {
  Tensor x = pairs(function, given, loc);
  const Extents extents = extentsOf(function, x, s, dims, x.dim(loc) - 1, loc);
  for (size_t i = 0; i + 1 < extents.dims.size(); ++i)
    x = complexTransform(function, x, extents.lengths[i], extents.dims[i], norm, conjugated, loc);
  return toReal(function, x, extents.lengths.back(), extents.dims.back(), norm, conjugated, loc);
}

} // namespace

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

Tensor complex(const Tensor &re, const Tensor &im, Loc loc) {
  if (re.dtype(loc) != im.dtype(loc) || !re.is_floating_point(loc))
    fail("complex takes two tensors of one floating-point dtype, found " + std::string(name(re.dtype(loc))) +
             " and " + std::string(name(im.dtype(loc))),
         loc, {use(re, loc), use(im, loc)});
  std::vector<Tensor> both = broadcast_tensors({re, im}, loc);
  return join(both[0], both[1], loc);
}
Tensor polar(const Tensor &abs, const Tensor &angle, Loc loc) {
  return complex(times(abs, cos(angle, loc), loc), times(abs, sin(angle, loc), loc), loc);
}

namespace fft {

// How a function is computed over one dimension and over several, and its direction.
#define WEFT_TRANSFORM(name, one, several, direction)                                                        \
  Tensor name(const Tensor &x, std::optional<int64_t> n, int64_t dim, const std::string &norm, Loc loc) {    \
    return one(#name, x, n, dim, norm, direction, loc);                                                      \
  }                                                                                                          \
  Tensor name##n(const Tensor &x, IntList s, IntList dims, const std::string &norm, Loc loc) {               \
    return several(#name "n", x, s, dims, norm, direction, loc);                                             \
  }                                                                                                          \
  Tensor name##2(const Tensor &x, IntList s, IntList dims, const std::string &norm, Loc loc) {               \
    return several(#name "2", x, s, dims, norm, direction, loc);                                             \
  }
WEFT_TRANSFORM(fft, complexTransform, complexOverAll, true)
WEFT_TRANSFORM(ifft, complexTransform, complexOverAll, false)
WEFT_TRANSFORM(rfft, fromReal, realOverAll, false)
WEFT_TRANSFORM(ihfft, fromReal, realOverAll, true)
WEFT_TRANSFORM(irfft, toReal, toRealOverAll, false)
WEFT_TRANSFORM(hfft, toReal, toRealOverAll, true)
#undef WEFT_TRANSFORM

static Tensor frequencies(const char *function, int64_t n, double d, int64_t count, int64_t wrap,
                          TensorOptions options, Loc loc) {
  if (n < 1)
    fail(std::string(function) + " takes a length of at least 1, found " + std::to_string(n), loc);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>(i < wrap ? i : i - n) / (static_cast<double>(n) * d));
  Tensor all = Tensor::from(values, {count}, {.dtype = DType::f64, .device = options.device}, loc);
  return all.to(options.dtype.value_or(DType::f32), loc).requires_grad_(options.requires_grad, loc);
}
Tensor fftfreq(int64_t n, double d, TensorOptions options, Loc loc) {
  return frequencies("fftfreq", n, d, n, (n + 1) / 2, options, loc);
}
Tensor rfftfreq(int64_t n, double d, TensorOptions options, Loc loc) {
  return frequencies("rfftfreq", n, d, n / 2 + 1, n, options, loc);
}

/// Rolled by half of each dimension, rounded down or up.
static Tensor rolled(const char *function, const Tensor &x, IntList dims, int64_t sign, Loc loc) {
  if (dims.empty())
    for (int64_t i = 0; i < x.dim(loc); ++i)
      dims.push_back(i);
  IntList shifts;
  for (int64_t &dim : dims) {
    dim = place(function, dim, x.dim(loc), x, loc);
    shifts.push_back(sign > 0 ? x.size(dim, loc) / 2 : (x.size(dim, loc) + 1) / 2);
  }
  return dims.empty() ? x : roll(x, shifts, dims, loc);
}
Tensor fftshift(const Tensor &x, IntList dims, Loc loc) {
  return rolled("fftshift", x, std::move(dims), 1, loc);
}
Tensor ifftshift(const Tensor &x, IntList dims, Loc loc) {
  return rolled("ifftshift", x, std::move(dims), -1, loc);
}

} // namespace fft

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

namespace {

struct Frames {
  int64_t hop;
  Tensor window; ///< [n_fft]
};
Frames framesOf(const char *function, const Tensor &x, int64_t n_fft, const StftOptions &options, Loc loc) {
  const int64_t hop = options.hop_length.value_or(n_fft / 4), length = options.win_length.value_or(n_fft);
  if (n_fft < 1 || hop < 1 || length < 1 || length > n_fft)
    fail(std::string(function) +
             " takes n_fft, hop_length and win_length of at least 1, and win_length at most " +
             "n_fft, found " + std::to_string(n_fft) + ", " + std::to_string(hop) + " and " +
             std::to_string(length),
         loc);
  Tensor window =
      options.window.defined() ? options.window.to(x.dtype(loc), loc) : ones({length}, like(x, loc), loc);
  if (window.sizes(loc) != Shape{length})
    fail(std::string(function) + " takes a window of shape [" + std::to_string(length) + "], found " +
             shapeText(window.sizes(loc)),
         loc, {use(window, loc)});
  const int64_t left = (n_fft - length) / 2;
  return {hop, pad(window, {left, n_fft - length - left}, {0.0, loc}, loc)};
}

/// Frames [rows, count, n] that are added where they overlap: [rows, (count - 1) hop + n].
Tensor overlapped(const Tensor &frames, int64_t hop, Loc loc) {
  const int64_t rows = frames.size(0, loc), count = frames.size(1, loc), n = frames.size(2, loc);
  const TensorOptions whole{.dtype = DType::i64, .device = frames.device(loc)};
  Tensor first = mul({arange(count, whole, loc).unsqueeze(1, loc), loc}, {hop, loc});
  Tensor place = add({first, loc}, {arange(n, whole, loc), loc}).reshape({-1}, loc);
  Tensor nothing = zeros({rows, (count - 1) * hop + n}, like(frames, loc), loc);
  return index_add(nothing, 1, place, frames.reshape({rows, -1}, loc), 1, loc);
}

} // namespace

Tensor stft(const Tensor &given, int64_t n_fft, StftOptions options, Loc loc) {
  GraphLock lock(graphMutex());
  Tensor x = real("stft", given, loc);
  if (x.dim(loc) == 1)
    return stft(x.unsqueeze(0, loc), n_fft, options, loc).squeeze(0, loc);
  if (x.dim(loc) != 2)
    fail("stft takes [length] or [batch, length], found shape " + shapeText(x.sizes(loc)), loc,
         {use(x, loc)});
  const Frames frames = framesOf("stft", x, n_fft, options, loc);
  if (options.center)
    x = pad(x, {n_fft / 2, n_fft / 2}, options.pad_mode, 0, loc);
  if (x.size(1, loc) < n_fft)
    fail("stft takes a signal that is as long as a frame, found " + std::to_string(x.size(1, loc)) +
             " for n_fft=" + std::to_string(n_fft),
         loc, {use(x, loc)});
  Tensor cut = times(unfold(x, 1, n_fft, frames.hop, loc), frames.window, loc);
  Tensor values = fft::rfft(cut, {}, -1, options.normalized ? "ortho" : "backward", loc);
  return values.transpose(1, 2, loc);
}

Tensor istft(const Tensor &given, int64_t n_fft, StftOptions options, std::optional<int64_t> length,
             Loc loc) {
  GraphLock lock(graphMutex());
  Tensor x = pairs("istft", given, loc);
  if (x.dim(loc) == 3)
    return istft(x.unsqueeze(0, loc), n_fft, options, length, loc).squeeze(0, loc);
  if (x.dim(loc) != 4 || x.size(1, loc) != n_fft / 2 + 1)
    fail("istft takes [.., n_fft / 2 + 1, frames, 2], found shape " + shapeText(x.sizes(loc)) +
             " for n_fft=" + std::to_string(n_fft),
         loc, {use(x, loc)});
  const Frames frames = framesOf("istft", x, n_fft, options, loc);
  Tensor cut = fft::irfft(x.transpose(1, 2, loc), n_fft, -1, options.normalized ? "ortho" : "backward", loc);
  Tensor sums = overlapped(times(cut, frames.window, loc), frames.hop, loc);
  Tensor squares = times(frames.window, frames.window, loc).expand({1, x.size(2, loc), n_fft}, loc);
  Tensor weights = overlapped(squares, frames.hop, loc);
  const int64_t start = options.center ? n_fft / 2 : 0, all = sums.size(1, loc);
  const int64_t end = length ? std::min(start + *length, all) : options.center ? all - n_fft / 2 : all;
  if (end <= start)
    fail("istft: no element is left of " + std::to_string(all) + " without the halves of frames at both ends",
         loc, {use(x, loc)});
  Tensor signal =
      div({sums.narrow(1, start, end - start, loc), loc}, {weights.narrow(1, start, end - start, loc), loc});
  return length && *length > end - start ? pad(signal, {0, *length - (end - start)}, {0.0, loc}, loc)
                                         : signal;
}

} // namespace weft
