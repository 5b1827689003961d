//===- Scan.cpp - The meaning of running sums, products and extremes -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/interp/Rules.h"

using namespace mlir;
namespace weft::ir {

/// Walks every line along the op's dimension, in its direction.
template <typename Op, typename Real, typename Whole>
static LogicalResult interpretScan(Op op, const Literal &in, Literal &out, double realStart,
                                   int64_t wholeStart, Real real, Whole whole) {
  auto dim = static_cast<int64_t>(op.getDim());
  auto strides = in.strides();
  std::vector<int64_t> line = offsets(in.shape, strides, dim);
  if (op.getReverse())
    std::reverse(line.begin(), line.end());
  for (int64_t base : offsets(in.shape, strides, otherDims(in.rank(), dim))) {
    double sum = realStart;
    int64_t total = wholeStart;
    for (int64_t offset : line) {
      int64_t at = base + offset;
      if (in.isReal()) {
        double next = real(sum, in.real[at]);
        out.setReal(at, op.getExclusive() ? sum : next);
        sum = next;
      } else {
        int64_t next = whole(total, in.whole[at]);
        out.setWhole(at, op.getExclusive() ? total : next);
        total = next;
      }
    }
  }
  return success();
}

LogicalResult CumsumOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  return interpretScan(
      *this, *operands[0], results[0], 0, 0, [](double a, double b) { return a + b; }, wrapAdd);
}

LogicalResult CumprodOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  return interpretScan(
      *this, *operands[0], results[0], 1, 1, [](double a, double b) { return a * b; }, wrapMul);
}

/// The smallest, or the largest, value of an integer type.
static int64_t wholeLimit(DType dtype, bool largest) {
  if (dtype == DType::ui8)
    return largest ? wrapTo(dtype, -1) : 0;
  const int64_t most = static_cast<int64_t>(~uint64_t(0) >> (65 - 8 * itemsize(dtype)));
  return largest ? most : -most - 1;
}

LogicalResult CummaxOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  return interpretScan(*this, in, results[0], -std::numeric_limits<double>::infinity(),
                       in.isReal() ? 0 : wholeLimit(in.dtype, false), larger,
                       [](int64_t a, int64_t b) { return std::max(a, b); });
}

LogicalResult CumminOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  return interpretScan(*this, in, results[0], std::numeric_limits<double>::infinity(),
                       in.isReal() ? 0 : wholeLimit(in.dtype, true), smaller,
                       [](int64_t a, int64_t b) { return std::min(a, b); });
}

} // namespace weft::ir
