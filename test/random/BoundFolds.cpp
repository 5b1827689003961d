//===- BoundFolds.cpp - The error of products, moments and scans -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BoundRules.h"
#include "BoundedReal.h"

#include "ir/interp/Rules.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
namespace weft::randomtest {

namespace {

DType accumulatorOf(DType dtype) { return itemsize(dtype) == 2 ? DType::f32 : dtype; }

/// The factors of one product, in any order of multiplications.
struct Product {
  double most = 1, plain = 1;    ///< the product of all magnitudes, with and without their errors
  double largest = 1, least = 1; ///< bounds of partial products: of the factors above one, and below one
  int64_t factors = 0;
  bool unknown = false, isNan = false, hasZero = false;

  void add(double value, double error) {
    ++factors;
    unknown |= !isKnown(error) || std::isinf(value) || (std::isnan(value) && error != 0);
    isNan |= std::isnan(value) && error == 0;
    double high = std::fabs(value) + error, low = std::fabs(value) - error;
    hasZero |= value == 0 && error == 0;
    most *= high;
    plain *= std::fabs(value);
    largest *= std::max(high, 1.0);
    if (value != 0 || error != 0)
      least *= low > 0 ? std::min(low, 1.0) : 0;
  }

  double bound(DType dtype, double value) const {
    DType accumulator = accumulatorOf(dtype);
    if (isNan)
      return unknown ? kUnknown : 0; // NaN, whatever the other factors are
    if (unknown ||
        !std::isfinite(ir::roundTo(accumulator, largest * (1 + static_cast<double>(factors) * 1e-6))))
      return kUnknown;
    if (hasZero)
      return 0;
    // A partial product below the smallest normal number may lose all digits.
    if (least < (accumulator == DType::f64 ? 1e-300 : 1e-36) && factors > 1)
      return kUnknown;
    auto roundings = static_cast<double>(std::max<int64_t>(factors - 1, 0));
    double error = most - plain + roundings * unitRoundoff(accumulator) * most * 2;
    if (error > 0 || dtype != accumulator)
      error += error > 0 ? ulp(dtype, std::fabs(value) + error) : 0;
    if (!std::isfinite(value))
      return error == 0 ? 0 : kUnknown;
    return error > 0 && !std::isfinite(ir::roundTo(dtype, std::fabs(value) + error)) ? kUnknown : error;
  }
};

/// Offsets of the elements that are reduced to each result: result `i` has the elements `kept[i] +
/// reduced[j]`.
struct Lines {
  std::vector<int64_t> kept, reduced;
  Lines(const Bounded &in, ArrayRef<int64_t> dims) {
    auto strides = in.value.strides();
    kept = ir::offsets(in.value.shape, strides, ir::otherDims(in.value.rank(), dims));
    reduced = ir::offsets(in.value.shape, strides, dims);
  }
};

LogicalResult boundProd(ArrayRef<int64_t> dims, const Bounded &in, Bounded &result) {
  Lines lines(in, dims);
  for (auto [i, base] : llvm::enumerate(lines.kept)) {
    Product product;
    bool exact = true;
    for (int64_t offset : lines.reduced) {
      exact &= in.error[base + offset] == 0;
      product.add(in.value.isReal() ? in.value.real[base + offset] : 1, in.error[base + offset]);
    }
    result.error[i] = in.value.isReal() ? product.bound(in.value.dtype, result.value.real[i])
                      : exact           ? 0
                                        : kUnknown;
  }
  return success();
}

LogicalResult boundAny(ArrayRef<int64_t> dims, const Bounded &in, Bounded &result) {
  Lines lines(in, dims);
  for (auto [i, base] : llvm::enumerate(lines.kept)) {
    bool sure = false, unsure = false;
    for (int64_t offset : lines.reduced) {
      sure |= in.value.whole[base + offset] && in.error[base + offset] == 0;
      unsure |= in.error[base + offset] != 0;
    }
    result.error[i] = unsure && !sure ? kUnknown : 0;
  }
  return success();
}

/// The order of updates and merges is free. Each rounds a few times, relative to the range of the elements.
LogicalResult boundWelford(ArrayRef<int64_t> dims, const Bounded &in, MutableArrayRef<Bounded> results) {
  Lines lines(in, dims);
  DType dtype = results[0].value.dtype;
  double u = unitRoundoff(dtype);
  auto n = static_cast<double>(lines.reduced.size());
  for (auto [i, base] : llvm::enumerate(lines.kept)) {
    double low = INFINITY, high = -INFINITY, error = 0, largest = 0, m2 = results[1].value.real[i];
    bool finite = true;
    for (int64_t offset : lines.reduced) {
      double value = in.value.real[base + offset], own = in.error[base + offset];
      finite &= std::isfinite(value) && isKnown(own);
      low = std::min(low, value - own);
      high = std::max(high, value + own);
      error = std::max(error, own);
      largest = std::max(largest, std::fabs(value) + own);
    }
    if (lines.reduced.empty())
      continue;
    double range = high - low;
    double meanError = error + 8 * n * u * largest + ulp(dtype, largest);
    double m2Error = n * (2 * range * error + error * error) +
                     n * (8 * u * range * range + 4 * range * meanError) + 4 * n * u * m2 +
                     n * meanError * meanError + n * ulp(dtype, 0) + ulp(dtype, m2);
    // For one element, the mean is the element and m2 is 0.
    if (lines.reduced.size() == 1 && error == 0)
      meanError = m2Error = 0;
    bool inRange = std::isfinite(ir::roundTo(dtype, 2 * n * range * range)) &&
                   std::isfinite(ir::roundTo(dtype, 2 * n * largest));
    results[0].error[i] = finite && inRange ? meanError : kUnknown;
    results[1].error[i] = finite && inRange ? m2Error : kUnknown;
  }
  return success();
}

/// Each element of a scan is bounded as the sum or product of the elements up to it.
template <typename Fold, typename Op> LogicalResult boundScan(Op op, const Bounded &in, Bounded &result) {
  Lines lines(in, {static_cast<int64_t>(op.getDim())});
  if (op.getReverse())
    std::reverse(lines.reduced.begin(), lines.reduced.end());
  for (int64_t base : lines.kept) {
    Fold fold{};
    bool exact = true;
    for (int64_t offset : lines.reduced) {
      int64_t at = base + offset;
      auto take = [&] {
        exact &= in.error[at] == 0;
        fold.add(in.value.isReal() ? in.value.real[at] : 0, in.error[at]);
      };
      if (!op.getExclusive())
        take();
      if (!in.value.isReal())
        result.error[at] = exact ? 0 : kUnknown;
      else if constexpr (std::is_same_v<Fold, Sum>)
        result.error[at] = fold.bound(in.value.dtype, result.value.real[at], 0);
      else
        result.error[at] = fold.bound(in.value.dtype, result.value.real[at]);
      if (op.getExclusive())
        take();
    }
  }
  return success();
}

} // namespace

LogicalResult boundFold(Operation *op, const Bounded &in, MutableArrayRef<Bounded> results) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ir::ProdOp prod) { return boundProd(prod.getDims(), in, results[0]); })
      .Case([&](ir::AnyOp any) { return boundAny(any.getDims(), in, results[0]); })
      .Case([&](ir::WelfordOp welford) { return boundWelford(welford.getDims(), in, results); })
      .Case([&](ir::CumsumOp scan) { return boundScan<Sum>(scan, in, results[0]); })
      .Case([&](ir::CumprodOp scan) { return boundScan<Product>(scan, in, results[0]); });
}

} // namespace weft::randomtest
