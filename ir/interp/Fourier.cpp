//===- Fourier.cpp - The meaning of Fourier transforms ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/interp/Rules.h"

#include <complex>
#include <numbers>

using namespace mlir;
namespace weft::ir {

using Complex = std::complex<double>;

/// All n values of a line, of which a real side is given by its elements, and a half one by the first
/// n / 2 + 1 values.
static std::vector<Complex> lineOf(FftOp op, const Literal &in, int64_t first, int64_t step, int64_t inner) {
  const auto n = static_cast<int64_t>(op.getLength());
  std::vector<Complex> line(static_cast<size_t>(n));
  auto number = [&](int64_t j) {
    const int64_t at = (first + j * step) * inner;
    return inner == 2 ? Complex(in.real[static_cast<size_t>(at)], in.real[static_cast<size_t>(at + 1)])
                      : Complex(in.real[static_cast<size_t>(at)]);
  };
  const bool isHalf = op.getKind() == FourierKind::c2r;
  for (int64_t j = 0; j < n; ++j) {
    const bool isGiven = !isHalf || j <= n / 2;
    Complex value = isGiven ? number(j) : std::conj(number(n - j));
    if (isHalf && (j == 0 || 2 * j == n))
      value.imag(0);
    else if (isHalf && op.getAdjoint())
      value *= 0.5;
    line[static_cast<size_t>(j)] = value;
  }
  return line;
}

LogicalResult FftOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  const auto n = static_cast<int64_t>(getLength()), dim = static_cast<int64_t>(getDim());
  const bool isReal = getKind() == FourierKind::c2r, isHalf = getKind() == FourierKind::r2c;
  const int64_t pairs = isHalf ? 1 : 2, extent = in.shape[static_cast<size_t>(dim)];
  int64_t outer = 1, step = 1;
  for (int64_t d = 0; d < in.rank() - (pairs - 1); ++d)
    if (d != dim)
      (d < dim ? outer : step) *= in.shape[static_cast<size_t>(d)];
  std::vector<Complex> roots(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k)
    roots[static_cast<size_t>(k)] = std::polar(1.0, (getInverse() ? 2 : -2) * std::numbers::pi *
                                                        static_cast<double>(k) / static_cast<double>(n));
  const int64_t made = isHalf ? n / 2 + 1 : n;
  const double scale = getScale().convertToDouble();
  for (int64_t at = 0; at < outer * step; ++at) {
    const int64_t block = at / step, place = at % step;
    const std::vector<Complex> line = lineOf(*this, in, block * extent * step + place, step, pairs);
    for (int64_t k = 0; k < made; ++k) {
      Complex sum = 0;
      for (int64_t j = 0; j < n; ++j)
        sum += line[static_cast<size_t>(j)] * roots[static_cast<size_t>(j * k % n)];
      sum *= scale * (isHalf && getAdjoint() && k != 0 && 2 * k != n ? 2 : 1);
      const int64_t to = block * made * step + k * step + place;
      if (isReal) {
        results[0].setReal(to, sum.real());
      } else {
        results[0].setReal(2 * to, sum.real());
        results[0].setReal(2 * to + 1, sum.imag());
      }
    }
  }
  return success();
}

} // namespace weft::ir
