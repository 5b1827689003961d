//===- Sort.cpp - The meaning of sort -------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/interp/Rules.h"

#include <numeric>

using namespace mlir;
namespace weft::ir {

LogicalResult SortOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  const int64_t extent = in.shape.back(), kept = results[0].shape.back();
  if (extent == 0 || kept == 0)
    return success();
  std::vector<int64_t> order(static_cast<size_t>(extent));
  for (int64_t row = 0, rows = in.count() / extent; row < rows; ++row) {
    const int64_t base = row * extent;
    auto isLess = [&](int64_t a, int64_t b) {
      if (!in.isReal())
        return in.whole[base + a] < in.whole[base + b];
      double x = in.real[base + a], y = in.real[base + b];
      return x < y || (std::isnan(y) && !std::isnan(x));
    };
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      if (isLess(a, b) || isLess(b, a))
        return isLess(a, b) != getDescending();
      return a < b;
    });
    for (int64_t i = 0; i < kept; ++i) {
      copyElement(results[0], row * kept + i, in, base + order[static_cast<size_t>(i)]);
      results[1].setWhole(row * kept + i, order[static_cast<size_t>(i)]);
    }
  }
  return success();
}

} // namespace weft::ir
