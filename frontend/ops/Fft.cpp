//===- Fft.cpp - Fourier transforms -------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transform of a short length is a product with a matrix. A length with a divisor that is short is one of
// transforms of that length, factors, and transforms of the rest (Cooley and Tukey, 1965). A long prime is a
// convolution, which is computed by transforms of a power of 2 (Bluestein, 1970). Meanwhile all real parts of
// a signal lie before all imaginary ones, [rows, 2, n], so that products and copies have long rows.
//
//===----------------------------------------------------------------------===//
#include "weft/fft.hpp"

#include "frontend/ops/Expr.h"
#include "frontend/ops/Extents.h"
#include "weft/creation.hpp"
#include "weft/gather_scatter.hpp"
#include "weft/joining.hpp"
#include "weft/linear_algebra.hpp"
#include "weft/math.hpp"
#include "weft/view_copies.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

namespace weft {

using namespace frontend;
using Complex = std::complex<double>;

namespace {

/// A transform of this length is one product.
constexpr int64_t mostDirect = 16;
/// One without a short divisor is a product up to here, and a convolution beyond.
constexpr int64_t mostPrime = 256;

/// exp(2 pi i k / n), exact where a part is 0, 1 or -1, and with an argument of at most pi / 4.
Complex root(int64_t k, int64_t n) {
  k = ((k % n) + n) % n;
  const int64_t eighth = 8 * k / n;  // of the circle
  auto at = [&](int64_t numerator) { // the angle of numerator / (8 n) of the circle
    return static_cast<double>(numerator) * (std::numbers::pi / 4) / static_cast<double>(n);
  };
  const int64_t rest = 8 * k - eighth * n;
  auto low = [&](int64_t r) { return Complex(std::cos(at(r)), std::sin(at(r))); };
  switch (eighth) {
  case 0:
    return low(rest);
  case 1:
    return {low(n - rest).imag(), low(n - rest).real()};
  case 2:
    return {-low(rest).imag(), low(rest).real()};
  case 3:
    return {-low(n - rest).real(), low(n - rest).imag()};
  case 4:
    return -low(rest);
  case 5:
    return {-low(n - rest).imag(), -low(n - rest).real()};
  case 6:
    return {low(rest).imag(), -low(rest).real()};
  default:
    return {low(n - rest).real(), -low(n - rest).imag()};
  }
}

/// What is computed for one direction: the sign of the exponent, and where constants live.
struct Plan {
  int sign;
  TensorOptions options;
  Loc loc;

  Tensor constant(const std::vector<double> &values, const Shape &shape) const {
    return Tensor::from(values, shape, {.dtype = DType::f64, .device = options.device}, loc)
        .to(*options.dtype, loc);
  }
  Complex power(int64_t k, int64_t n) const { return root(sign * (k % n), n); }
};

Tensor part(const Tensor &x, int64_t i, Loc loc) { return x.select(-1, i, loc); }
Tensor join(const Tensor &re, const Tensor &im, Loc loc) { return stack({re, im}, -1, loc); }
Tensor times(const Tensor &a, const Tensor &b, Loc loc) { return mul({a, loc}, {b, loc}); }
Tensor conjugate(const Tensor &x, Loc loc) { return join(part(x, 0, loc), neg({part(x, 1, loc), loc}), loc); }

/// The product of [rows, 2, ..] and numbers [2, ..], with the parts of the result as a new dimension `dim`.
Tensor product(const Tensor &a, const Tensor &b, int64_t dim, Loc loc) {
  Tensor ar = a.select(1, 0, loc), ai = a.select(1, 1, loc), br = b.select(0, 0, loc),
         bi = b.select(0, 1, loc);
  return stack({sub({times(ar, br, loc), loc}, {times(ai, bi, loc), loc}),
                add({times(ar, bi, loc), loc}, {times(ai, br, loc), loc})},
               dim, loc);
}

/// The matrix of all roots of parts and places: row (part, k), column (part, j).
Tensor matrixOf(int64_t n, const Plan &plan) {
  std::vector<double> matrix(static_cast<size_t>(4 * n * n));
  for (int64_t k = 0; k < n; ++k)
    for (int64_t j = 0; j < n; ++j) {
      const Complex w = plan.power(j * k, n);
      auto at = [&](int64_t to, int64_t from) -> double & {
        return matrix[static_cast<size_t>((to * n + k) * 2 * n + from * n + j)];
      };
      at(0, 0) = at(1, 1) = w.real();
      at(1, 0) = w.imag();
      at(0, 1) = -w.imag();
    }
  return plan.constant(matrix, {2 * n, 2 * n});
}

/// A transform as one product.
Tensor direct(const Tensor &x, int64_t n, const Plan &plan) {
  // The matrix of a transform is symmetric but for the places of its signs.
  Tensor all = matrixOf(n, plan).t(plan.loc);
  return matmul(x.reshape({-1, 2 * n}, plan.loc), all, plan.loc).reshape({-1, 2, n}, plan.loc);
}

Tensor transform(const Tensor &x, int64_t n, const Plan &plan);

/// Lengths a b: transforms of length a over elements b apart, factors, and transforms of length b.
Tensor divided(const Tensor &x, int64_t a, int64_t b, const Plan &plan) {
  const Loc loc = plan.loc;
  Tensor first = matmul(matrixOf(a, plan), x.reshape({-1, 2 * a, b}, loc), loc).reshape({-1, 2, a, b}, loc);
  std::vector<double> re, im;
  for (int64_t k = 0; k < a; ++k)
    for (int64_t j = 0; j < b; ++j) {
      const Complex w = plan.power(j * k, a * b);
      re.push_back(w.real());
      im.push_back(w.imag());
    }
  re.insert(re.end(), im.begin(), im.end());
  Tensor turned = product(first, plan.constant(re, {2, a, b}), 2, loc); // [rows, a, 2, b]
  Tensor rest = transform(turned.reshape({-1, 2, b}, loc), b, plan);
  return rest.reshape({-1, a, 2, b}, loc).permute({0, 2, 3, 1}, loc).reshape({-1, 2, a * b}, loc);
}

/// Bluestein: j k = (j^2 + k^2 - (k - j)^2) / 2, so the values are a convolution with exp(-pi i j^2 / n).
Tensor convolved(const Tensor &x, int64_t n, const Plan &plan) {
  const Loc loc = plan.loc;
  int64_t length = 1;
  while (length < 2 * n - 1)
    length *= 2;
  std::vector<double> chirp(static_cast<size_t>(2 * n)), filter(static_cast<size_t>(2 * length));
  for (int64_t j = 0; j < n; ++j) {
    const Complex w = root(plan.sign * ((j * j) % (2 * n)), 2 * n);
    chirp[static_cast<size_t>(j)] = w.real();
    chirp[static_cast<size_t>(n + j)] = w.imag();
    for (int64_t at : {j, (length - j) % length}) {
      filter[static_cast<size_t>(at)] = w.real();
      filter[static_cast<size_t>(length + at)] = -w.imag();
    }
  }
  Tensor wave = plan.constant(chirp, {2, n});
  Plan forward = plan, backward = plan;
  forward.sign = -1;
  backward.sign = 1;
  Tensor wide = pad(product(x, wave, 1, loc), {0, length - n}, {0.0, loc}, loc);
  Tensor spectrum = transform(plan.constant(filter, {1, 2, length}), length, forward).select(0, 0, loc);
  Tensor both = product(transform(wide, length, forward), spectrum, 1, loc);
  Tensor sums = transform(both, length, backward).narrow(2, 0, n, loc);
  return times(product(sums, wave, 1, loc), plan.constant({1.0 / static_cast<double>(length)}, {}), loc);
}

/// The transform of [rows, 2, n], without a factor.
Tensor transform(const Tensor &x, int64_t n, const Plan &plan) {
  if (n == 1)
    return x;
  if (n <= mostDirect)
    return direct(x, n, plan);
  for (int64_t a = mostDirect; a > 1; --a)
    if (n % a == 0)
      return divided(x, a, n / a, plan);
  return n <= mostPrime ? direct(x, n, plan) : convolved(x, n, plan);
}

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
std::string opposite(const std::string &norm) {
  return norm == "forward" ? "backward" : norm == "backward" ? "forward" : norm;
}
Tensor scaled(const Tensor &x, double factor, Loc loc) {
  return factor == 1 ? x : mul({x, loc}, {factor, loc});
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
  const int64_t size = x.size(dim, loc);
  if (n <= size)
    return x.narrow(dim, 0, n, loc);
  IntList sides;
  sides.assign(static_cast<size_t>(2 * (x.dim(loc) - dim)), 0);
  sides.back() = n - size;
  return pad(x, sides, {0.0, loc}, loc);
}

TensorOptions like(const Tensor &x, Loc loc) { return {.dtype = x.dtype(loc), .device = x.device(loc)}; }

/// The transform of all elements of a dimension of a complex tensor.
Tensor along(const Tensor &x, int64_t dim, int sign, Loc loc) {
  const int64_t n = x.size(dim, loc), last = x.dim(loc) - 2;
  Tensor moved = x.movedim(dim, last, loc);
  const Shape shape = moved.sizes(loc);
  Plan plan{sign, like(x, loc), loc};
  Tensor rows = moved.reshape({-1, n, 2}, loc).transpose(1, 2, loc).contiguous(loc);
  return transform(rows, n, plan).transpose(1, 2, loc).reshape(shape, loc).movedim(last, dim, loc);
}

Tensor complexTransform(const char *function, const Tensor &given, std::optional<int64_t> n, int64_t dim,
                        const std::string &norm, bool isForward, Loc loc) {
  GraphLock lock(graphMutex());
  Tensor x = pairs(function, given, loc);
  dim = place(function, dim, x.dim(loc) - 1, x, loc);
  const int64_t length = n.value_or(x.size(dim, loc));
  x = resized(function, x, dim, length, loc);
  const double factor = factorOf(function, norm, isForward, length, loc);
  return x.numel(loc) == 0 ? x : scaled(along(x, dim, isForward ? -1 : 1, loc), factor, loc);
}

Tensor fromReal(const char *function, const Tensor &given, std::optional<int64_t> n, int64_t dim,
                const std::string &norm, Loc loc) {
  GraphLock lock(graphMutex());
  Tensor x = real(function, given, loc);
  dim = place(function, dim, x.dim(loc), x, loc);
  const int64_t length = n.value_or(x.size(dim, loc));
  x = resized(function, x, dim, length, loc);
  const double factor = factorOf(function, norm, true, length, loc);
  x = join(x, zeros_like(x, loc), loc);
  if (x.numel(loc) > 0)
    x = scaled(along(x, dim, -1, loc), factor, loc);
  return x.narrow(dim, 0, length / 2 + 1, loc);
}

Tensor toReal(const char *function, const Tensor &given, std::optional<int64_t> n, int64_t dim,
              const std::string &norm, Loc loc) {
  GraphLock lock(graphMutex());
  Tensor x = pairs(function, given, loc);
  dim = place(function, dim, x.dim(loc) - 1, x, loc);
  const int64_t length = n.value_or(2 * (x.size(dim, loc) - 1));
  if (length < 1)
    fail(std::string(function) + ": Invalid number of data points (" + std::to_string(length) + ") specified",
         loc, {use(x, loc)});
  x = resized(function, x, dim, length / 2 + 1, loc);
  const double factor = factorOf(function, norm, false, length, loc);
  // The other half are the conjugates, in the opposite order. The imaginary part of what is its own conjugate
  // does not count.
  Tensor re = part(x, 0, loc), im = part(x, 1, loc);
  const int64_t others = (length - 1) / 2;
  auto mirrored = [&](const Tensor &t) { return t.narrow(dim, 1, others, loc).flip({dim}, loc); };
  Tensor inner = im.narrow(dim, 1, others, loc);
  Shape shape = re.sizes(loc);
  shape[static_cast<size_t>(dim)] = 1;
  Tensor nothing = zeros(shape, like(x, loc), loc);
  std::vector<Tensor> imaginary{nothing, inner};
  if (length % 2 == 0)
    imaginary.push_back(nothing);
  imaginary.push_back(neg({mirrored(im), loc}));
  Tensor whole = join(cat({re, mirrored(re)}, dim, loc), cat(imaginary, dim, loc), loc);
  if (whole.numel(loc) > 0)
    whole = along(whole, dim, 1, loc);
  return scaled(part(whole, 0, loc), factor, loc);
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
                   const std::string &norm, Loc loc) {
  const Extents extents = extentsOf(function, x, s, dims, x.dim(loc), loc);
  Tensor result = fromReal(function, x, extents.lengths.back(), extents.dims.back(), norm, loc);
  for (size_t i = 0; i + 1 < extents.dims.size(); ++i)
    result = complexTransform(function, result, extents.lengths[i], extents.dims[i], norm, true, loc);
  return result;
}
Tensor toRealOverAll(const char *function, const Tensor &given, const IntList &s, const IntList &dims,
                     const std::string &norm, Loc loc) {
  Tensor x = pairs(function, given, loc);
  const Extents extents = extentsOf(function, x, s, dims, x.dim(loc) - 1, loc);
  for (size_t i = 0; i + 1 < extents.dims.size(); ++i)
    x = complexTransform(function, x, extents.lengths[i], extents.dims[i], norm, false, loc);
  return toReal(function, x, extents.lengths.back(), extents.dims.back(), norm, loc);
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

Tensor fft(const Tensor &x, std::optional<int64_t> n, int64_t dim, const std::string &norm, Loc loc) {
  return complexTransform("fft", x, n, dim, norm, true, loc);
}
Tensor ifft(const Tensor &x, std::optional<int64_t> n, int64_t dim, const std::string &norm, Loc loc) {
  return complexTransform("ifft", x, n, dim, norm, false, loc);
}
Tensor rfft(const Tensor &x, std::optional<int64_t> n, int64_t dim, const std::string &norm, Loc loc) {
  return fromReal("rfft", x, n, dim, norm, loc);
}
Tensor irfft(const Tensor &x, std::optional<int64_t> n, int64_t dim, const std::string &norm, Loc loc) {
  return toReal("irfft", x, n, dim, norm, loc);
}
Tensor hfft(const Tensor &x, std::optional<int64_t> n, int64_t dim, const std::string &norm, Loc loc) {
  return toReal("hfft", conjugate(pairs("hfft", x, loc), loc), n, dim, opposite(norm), loc);
}
Tensor ihfft(const Tensor &x, std::optional<int64_t> n, int64_t dim, const std::string &norm, Loc loc) {
  return conjugate(fromReal("ihfft", x, n, dim, opposite(norm), loc), loc);
}

#define WEFT_SEVERAL(name)                                                                                   \
  Tensor name##n(const Tensor &x, IntList s, IntList dims, const std::string &norm, Loc loc) {               \
    return name##OverAll(#name "n", x, s, dims, norm, loc);                                                  \
  }                                                                                                          \
  Tensor name##2(const Tensor &x, IntList s, IntList dims, const std::string &norm, Loc loc) {               \
    return name##OverAll(#name "2", x, s, dims, norm, loc);                                                  \
  }
static Tensor fftOverAll(const char *function, const Tensor &x, const IntList &s, const IntList &dims,
                         const std::string &norm, Loc loc) {
  return complexOverAll(function, x, s, dims, norm, true, loc);
}
static Tensor ifftOverAll(const char *function, const Tensor &x, const IntList &s, const IntList &dims,
                          const std::string &norm, Loc loc) {
  return complexOverAll(function, x, s, dims, norm, false, loc);
}
static Tensor rfftOverAll(const char *function, const Tensor &x, const IntList &s, const IntList &dims,
                          const std::string &norm, Loc loc) {
  return realOverAll(function, x, s, dims, norm, loc);
}
static Tensor irfftOverAll(const char *function, const Tensor &x, const IntList &s, const IntList &dims,
                           const std::string &norm, Loc loc) {
  return toRealOverAll(function, x, s, dims, norm, loc);
}
static Tensor hfftOverAll(const char *function, const Tensor &x, const IntList &s, const IntList &dims,
                          const std::string &norm, Loc loc) {
  return toRealOverAll(function, conjugate(pairs(function, x, loc), loc), s, dims, opposite(norm), loc);
}
static Tensor ihfftOverAll(const char *function, const Tensor &x, const IntList &s, const IntList &dims,
                           const std::string &norm, Loc loc) {
  return conjugate(realOverAll(function, x, s, dims, opposite(norm), loc), loc);
}
WEFT_SEVERAL(fft)
WEFT_SEVERAL(ifft)
WEFT_SEVERAL(rfft)
WEFT_SEVERAL(irfft)
WEFT_SEVERAL(hfft)
WEFT_SEVERAL(ihfft)
#undef WEFT_SEVERAL

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
