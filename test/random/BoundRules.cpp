//===- BoundRules.cpp - Errors of reductions, contractions, steps ---------===//
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

using Operands = ArrayRef<const Bounded *>;

//===----------------------------------------------------------------------===//
// Elements that move
//===----------------------------------------------------------------------===//

/// Moves the errors of the operands `data` with their elements, by interpreting the op on the errors.
LogicalResult move(Operation *op, Operands operands, Bounded &result, ArrayRef<unsigned> data = {0}) {
  SmallVector<ir::Literal> literals;
  SmallVector<const ir::Literal *> pointers;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    literals.push_back(operand->value);
    if (!llvm::is_contained(data, static_cast<unsigned>(i)))
      continue;
    literals.back() = ir::Literal(DType::f64, operand->value.shape);
    literals.back().real = operand->error;
  }
  for (const ir::Literal &literal : literals)
    pointers.push_back(&literal);
  ir::Literal out(DType::f64, result.value.shape);
  if (failed(cast<ir::InterpretableOp>(op).interpret(pointers, out)))
    return failure();
  result.error = std::move(out.real);
  // If an index is uncertain, every element is.
  for (auto [i, operand] : llvm::enumerate(operands))
    if (!llvm::is_contained(data, static_cast<unsigned>(i)) && !llvm::all_of(operand->error, isKnown))
      result.error.assign(result.error.size(), kUnknown);
  return success();
}

LogicalResult moveAll(Operation *op, Operands operands, Bounded &result) {
  SmallVector<unsigned> all;
  for (unsigned i = 0; i < operands.size(); ++i)
    all.push_back(i);
  return move(op, operands, result, all);
}

bool isExact(const Bounded &value) {
  return llvm::all_of(value.error, [](double error) { return error == 0; });
}

/// Sums in a fixed order, with a rounding for each term. They are exact if the terms are. `data` has the
/// numbers of two operands: the base and the addends.
LogicalResult boundAdded(Operation *op, Operands operands, Bounded &result, std::array<unsigned, 2> data) {
  if (llvm::all_of(operands, [](const Bounded *operand) { return isExact(*operand); }))
    return success();
  // The error of a sum is the sum of its terms' errors and, if that is not 0, one rounding for each term,
  // relative to the sum of all magnitudes.
  auto added = [&](auto of) -> FailureOr<std::vector<double>> {
    SmallVector<ir::Literal> literals;
    SmallVector<const ir::Literal *> pointers;
    for (auto [i, operand] : llvm::enumerate(operands)) {
      literals.push_back(operand->value);
      if (!llvm::is_contained(data, static_cast<unsigned>(i)))
        continue;
      literals.back() = ir::Literal(DType::f64, operand->value.shape);
      for (int64_t at = 0, e = operand->value.count(); at < e; ++at)
        literals.back().real[at] = of(*operand, at);
    }
    for (const ir::Literal &literal : literals)
      pointers.push_back(&literal);
    ir::Literal out(DType::f64, result.value.shape);
    if (failed(cast<ir::InterpretableOp>(op).interpret(pointers, out)))
      return failure();
    return std::move(out.real);
  };
  auto errors = added([](const Bounded &x, int64_t at) { return x.error[at]; });
  auto terms = added([](const Bounded &, int64_t) { return 1.0; });
  auto sizes = added([](const Bounded &x, int64_t at) {
    double value = x.value.isReal() ? x.value.real[at] : 0;
    return std::isfinite(value) ? std::fabs(value) : HUGE_VAL;
  });
  if (failed(errors) || failed(terms) || failed(sizes))
    return failure();
  bool indexKnown = true;
  for (auto [i, operand] : llvm::enumerate(operands))
    indexKnown &= llvm::is_contained(data, static_cast<unsigned>(i)) || isExact(*operand);
  for (size_t i = 0; i < result.error.size(); ++i) {
    double error = (*errors)[i], most = (*sizes)[i] + error;
    if (!indexKnown || !isKnown(error) || (error > 0 && !result.value.isReal()) ||
        (error > 0 && !std::isfinite(ir::roundTo(result.value.dtype, 2 * most))))
      result.error[i] = kUnknown;
    else
      result.error[i] = error > 0 ? error + (*terms)[i] * ulp(result.value.dtype, most) : 0;
  }
  return success();
}

/// Products and extremes, which are exact if all operands are.
LogicalResult boundExact(Operands operands, Bounded &result) {
  if (!llvm::all_of(operands, [](const Bounded *operand) { return isExact(*operand); }))
    result.error.assign(result.error.size(), kUnknown);
  return success();
}

LogicalResult boundScatter(ir::ScatterOp op, Operands operands, Bounded &result) {
  if (op.getKind() == ir::ScatterKind::set)
    return move(op, operands, result, {0, 2});
  if (op.getKind() == ir::ScatterKind::add)
    return boundAdded(op, operands, result, {0, 2});
  return boundExact(operands, result);
}

/// The sign of a zero and the bits of a NaN are not part of a value's bounds.
LogicalResult boundBits(Operands operands, Bounded &result) {
  const Bounded &in = *operands[0];
  bool certain =
      isExact(in) && llvm::none_of(in.value.real, [](double x) { return x == 0 || std::isnan(x); });
  // If such bits are uncertain, so are all elements of the result.
  if (!certain)
    result.error.assign(result.error.size(), kUnknown);
  return success();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

LogicalResult boundSum(ir::SumOp op, const Bounded &in, Bounded &result) {
  auto strides = in.value.strides();
  auto kept = ir::offsets(in.value.shape, strides, ir::otherDims(in.value.rank(), op.getDims()));
  auto reduced = ir::offsets(in.value.shape, strides, op.getDims());
  for (auto [i, base] : llvm::enumerate(kept)) {
    Sum sum;
    for (int64_t offset : reduced)
      sum.add(in.value.isReal() ? in.value.real[base + offset] : 0, in.error[base + offset]);
    if (in.value.isReal())
      result.error[i] = sum.bound(in.value.dtype, result.value.real[i], 0);
    else
      result.error[i] = sum.errors == 0 ? 0 : kUnknown;
  }
  return success();
}

/// Every value of a line depends on all of its elements, with factors of at most `scale`, or twice that.
void boundFft(ir::FftOp op, const Bounded &in, Bounded &result) {
  const auto n = static_cast<int64_t>(op.getLength()), dim = static_cast<int64_t>(op.getDim());
  const int64_t from = op.getKind() == ir::FourierKind::r2c ? 1 : 2,
                to = op.getKind() == ir::FourierKind::c2r ? 1 : 2;
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < in.value.rank() - (from - 1); ++d)
    inner *= in.value.shape[static_cast<size_t>(d)];
  const int64_t extent = in.value.shape[static_cast<size_t>(dim)],
                made = result.value.shape[static_cast<size_t>(dim)];
  const double scale = std::fabs(op.getScale().convertToDouble());
  const DType dtype = in.value.dtype;
  const auto each = [&](int64_t line, int64_t size, int64_t parts, auto visit) {
    for (int64_t i = 0; i < size * parts; ++i)
      visit(static_cast<size_t>(((line / inner * size + i / parts) * inner + line % inner) * parts +
                                i % parts));
  };
  for (int64_t line = 0, lines = in.value.count() / (extent * from); line < lines; ++line) {
    double magnitude = 0, errors = 0;
    each(line, extent, from, [&](size_t at) {
      magnitude += std::fabs(in.value.real[at]); // NaN and infinities make the line unknown
      errors += in.error[at];
    });
    const double length = static_cast<double>(n), most = 4 * (magnitude + errors) * std::max(scale, 1.0),
                 roundings = length + 8 * std::log2(length) + 64;
    double error = 2 * scale * (errors + roundings * unitRoundoff(dtype) * (magnitude + errors)) +
                   roundings * std::max(scale, 1.0) * ulp(dtype, 0);
    if (!std::isfinite(ir::roundTo(dtype, most)))
      error = kUnknown;
    each(line, made, to, [&](size_t at) { result.error[at] = error; });
  }
}

LogicalResult boundDot(ir::DotGeneralOp op, Operands operands, Bounded &result) {
  const Bounded &a = *operands[0], &b = *operands[1];
  const Bounded *bias = op.getBias() ? operands[2] : nullptr;
  const Bounded *residual = op.getResidual() ? operands[bias ? 3 : 2] : nullptr;
  Operands more = operands.take_back(op.getMore().size());
  auto side = [](const Bounded &x, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    SmallVector<int64_t> used(batch);
    llvm::append_range(used, contract);
    auto strides = x.value.strides();
    return std::array{ir::offsets(x.value.shape, strides, batch),
                      ir::offsets(x.value.shape, strides, ir::otherDims(x.value.rank(), used)),
                      ir::offsets(x.value.shape, strides, contract)};
  };
  auto [batchA, freeA, sumA] = side(a, op.getBatchA(), op.getContractA());
  auto [batchB, freeB, sumB] = side(b, op.getBatchB(), op.getContractB());
  size_t i = 0, width = result.value.shape.empty() ? 1 : static_cast<size_t>(result.value.shape.back());
  bool real = result.value.isReal();
  for (size_t n = 0; n < batchA.size(); ++n)
    for (int64_t row : freeA)
      for (int64_t column : freeB) {
        Sum sum;
        double value = 0, unbiased = 0, alone = 0;
        // A fused multiply-add does not round its product: one beyond the range of f64 may be finite in the
        // sum.
        bool overflows = false;
        auto multiply = [&](double left, double right) {
          const double product = left * right;
          overflows |= std::isinf(product) && std::isfinite(left) && std::isfinite(right);
          return product;
        };
        for (size_t k = 0; k < sumA.size(); ++k) {
          int64_t x = batchA[n] + row + sumA[k], y = batchB[n] + column + sumB[k];
          double left = real ? a.value.real[x] : 1, right = real ? b.value.real[y] : 1;
          const double term = multiply(left, right);
          value += term;
          sum.add(term, productError(left, a.error[x], right, b.error[y]));
        }
        if (bias) {
          unbiased = value;
          value += real ? bias->value.real[i % width] : 0;
          sum.add(real ? bias->value.real[i % width] : 0, bias->error[i % width]);
        }
        if (residual) {
          alone = value;
          value += real ? residual->value.real[i] : 0;
          sum.add(real ? residual->value.real[i] : 0, residual->error[i]);
        }
        for (size_t pair = 0; pair < more.size(); pair += 2) {
          const Bounded &left = *more[pair], &right = *more[pair + 1];
          double product = 0;
          for (size_t k = 0; k < sumA.size(); ++k) {
            int64_t x = batchA[n] + row + sumA[k], y = batchB[n] + column + sumB[k];
            const double term = multiply(left.value.real[x], right.value.real[y]);
            product += term;
            sum.add(term,
                    productError(left.value.real[x], left.error[x], right.value.real[y], right.error[y]));
          }
          // Each product is rounded, and so is each sum.
          if (std::isfinite(value))
            sum.errors += ulp(result.value.dtype, value);
          if (std::isfinite(product))
            sum.errors += ulp(result.value.dtype, product);
          value += product;
        }
        if (real) {
          // The sum may be rounded before the bias or the residual is added.
          if (bias && std::isfinite(unbiased))
            sum.errors += ulp(result.value.dtype, unbiased);
          if (residual && std::isfinite(alone))
            sum.errors += ulp(result.value.dtype, alone);
          // The bound is that of the sum before relu: relu returns NaN for NaN, and 0 for -inf.
          double error = sum.bound(result.value.dtype, ir::roundTo(result.value.dtype, value), 1);
          result.error[i] = overflows ? kUnknown : error;
        } else {
          result.error[i] = sum.errors == 0 ? 0 : kUnknown;
        }
        ++i;
      }
  return success();
}

//===----------------------------------------------------------------------===//
// Extremes
//===----------------------------------------------------------------------===//

LogicalResult boundExtreme(Operation *op, ArrayRef<int64_t> dims, bool largest, const Bounded &in,
                           Bounded &result) {
  auto strides = in.value.strides();
  auto kept = ir::offsets(in.value.shape, strides, ir::otherDims(in.value.rank(), dims));
  auto reduced = ir::offsets(in.value.shape, strides, dims);
  for (auto [i, base] : llvm::enumerate(kept)) {
    double low = -kUnknown, high = -kUnknown, error = 0, sign = largest ? 1 : -1;
    bool exact = true, unknown = false;
    for (int64_t offset : reduced) {
      error = in.error[base + offset];
      exact &= error == 0;
      unknown |= !isKnown(error);
      if (!in.value.isReal() || unknown)
        continue;
      double value = sign * in.value.real[base + offset];
      low = std::max(low, value - error);
      high = std::max(high, value + error);
    }
    if (exact)
      continue;
    double value = in.value.isReal() ? sign * result.value.real[i] : 0;
    result.error[i] = unknown ? kUnknown : std::isfinite(value) ? std::max(value - low, high - value) : 0;
  }
  return success();
}

LogicalResult boundArg(int64_t dim, bool largest, const Bounded &in, Bounded &result) {
  auto strides = in.value.strides();
  SmallVector<int64_t> dims{dim};
  double sign = largest ? 1 : -1;
  auto kept = ir::offsets(in.value.shape, strides, ir::otherDims(in.value.rank(), dims));
  auto reduced = ir::offsets(in.value.shape, strides, dims);
  for (auto [i, base] : llvm::enumerate(kept)) {
    int64_t best = base + reduced[result.value.whole[i]];
    for (int64_t offset : reduced) {
      int64_t other = base + offset;
      double error = in.error[other] + in.error[best];
      // Another element may be the extreme one, or equal to it, in which case the first one is chosen.
      if (!isKnown(error) || (other != best && error > 0 && in.value.isReal() &&
                              !(sign * in.value.real[other] + error < sign * in.value.real[best]) &&
                              !std::isnan(in.value.real[best])))
        result.error[i] = kUnknown;
    }
  }
  return success();
}

/// Errors up to e change the i-th element in order by e at most. Its place is known if both neighbours in the
/// order are further away than that.
void boundSort(bool descending, const Bounded &in, MutableArrayRef<Bounded> results) {
  const int64_t extent = in.value.shape.back(), kept = results[0].value.shape.back();
  if (extent == 0 || kept == 0)
    return;
  for (int64_t row = 0, rows = in.value.count() / extent; row < rows; ++row) {
    double error = 0;
    SmallVector<double> ordered;
    for (int64_t i = row * extent; i < (row + 1) * extent; ++i) {
      error = std::max(error, in.error[i]);
      ordered.push_back(in.value.isReal() ? in.value.real[i] : static_cast<double>(in.value.whole[i]));
    }
    const bool isNaN = llvm::any_of(ordered, [](double x) { return std::isnan(x); });
    if (error > 0 && !isNaN)
      std::sort(ordered.begin(), ordered.end(),
                [&](double a, double b) { return descending ? a > b : a < b; });
    auto isApart = [&](int64_t a, int64_t b) {
      return a < 0 || b >= extent ||
             std::abs(ordered[static_cast<size_t>(a)] - ordered[static_cast<size_t>(b)]) > 2 * error;
    };
    for (int64_t i = 0; i < kept; ++i) {
      const int64_t at = row * kept + i;
      const bool isKnownOrder = in.value.isReal() && isKnown(error) && !isNaN;
      results[0].error[at] = error == 0 ? 0 : isKnownOrder ? error : kUnknown;
      results[1].error[at] =
          error == 0 || (isKnownOrder && isApart(i - 1, i) && isApart(i, i + 1)) ? 0 : kUnknown;
    }
  }
}

/// Errors up to e change the largest of some elements by e at most.
template <typename Op> LogicalResult boundRunningExtreme(Op op, const Bounded &in, Bounded &result) {
  auto strides = in.value.strides();
  SmallVector<int64_t> dims{static_cast<int64_t>(op.getDim())};
  auto line = ir::offsets(in.value.shape, strides, dims);
  if (op.getReverse())
    std::reverse(line.begin(), line.end());
  for (int64_t base : ir::offsets(in.value.shape, strides, ir::otherDims(in.value.rank(), dims))) {
    double error = 0;
    for (int64_t offset : line) {
      const double next = std::max(error, in.error[base + offset]);
      result.error[base + offset] = op.getExclusive() ? error : next;
      error = next;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Optimiser steps
//===----------------------------------------------------------------------===//

/// Whether a step is skipped. If so, sets the errors of the results to those of the values `before`.
bool skipped(Value foundInf, Operands operands, ArrayRef<const Bounded *> before,
             MutableArrayRef<Bounded> results) {
  if (!foundInf || !operands.back()->value.whole[0] || operands.back()->error[0] != 0)
    return false;
  for (auto [operand, result] : llvm::zip(before, results))
    result.error = operand->error;
  return true;
}

/// The formulas of optimiser steps with errors. Scalars are computed in f64 and then rounded.
class StepBound {
public:
  explicit StepBound(DType dtype) : computed(itemsize(dtype) == 2 ? DType::f32 : dtype), stored(dtype) {}

  BoundedReal tensor(const Bounded *operand, int64_t i) const {
    return {operand->value.real[i], operand->error[i], computed};
  }
  /// `relative`: the relative error of the computation in f64.
  BoundedReal scalar(double value, double relative = 0) const {
    return {value, settle(value, ulp(computed, value) + std::fabs(value) * relative), computed};
  }
  double store(BoundedReal x) const {
    double error = x.error + ulp(stored, std::fabs(x.value) + x.error);
    return std::isfinite(ir::roundTo(stored, std::fabs(x.value) + error)) ? error : kUnknown;
  }

private:
  DType computed, stored;
};

/// Whether the numbers of a step are known, and none is so large that f32, in which a step may compute, has
/// infinity for a product of two: with a value of 0 that is NaN, and 0 in the interpreter's double.
bool scalarsKnown(Operands scalars) {
  return llvm::all_of(scalars, [](const Bounded *scalar) {
    const double value = scalar->value.isReal() ? scalar->value.real[0] : 0;
    return scalar->error[0] == 0 &&
           (!std::isfinite(value) || std::isfinite(ir::roundTo(DType::f32, value * value)));
  });
}

LogicalResult boundSgd(ir::SgdStepOp op, Operands operands, MutableArrayRef<Bounded> results) {
  const Bounded *p = operands[0], *g = operands[1], *buf = op.getBuf() ? operands[2] : nullptr;
  Operands rest = operands.drop_front(buf ? 3 : 2);
  if (skipped(op.getFoundInf(), operands, {p, buf}, results))
    return success();
  StepBound bound(p->value.dtype);
  auto scalar = [&](size_t i) { return rest[i]->value.real[0]; };
  bool known = scalarsKnown(rest);
  BoundedReal lr = bound.scalar(scalar(1)), momentum = bound.scalar(scalar(2)),
              undamped = bound.scalar(1 - scalar(3), 1e-15), decay = bound.scalar(scalar(4));
  for (int64_t i = 0, e = p->value.count(); i < e; ++i) {
    BoundedReal parameter = bound.tensor(p, i), d = bound.tensor(g, i);
    if (op.getMaximize())
      d.value = -d.value;
    d = d + decay * parameter;
    if (buf) {
      BoundedReal next = rest[0]->value.whole[0] == 0 ? d : momentum * bound.tensor(buf, i) + undamped * d;
      results[1].error[i] = known ? bound.store(next) : kUnknown;
      d = op.getNesterov() ? d + momentum * next : next;
    }
    results[0].error[i] = known ? bound.store(parameter - lr * d) : kUnknown;
  }
  return success();
}

LogicalResult boundAdam(ir::AdamStepOp op, Operands operands, MutableArrayRef<Bounded> results) {
  const Bounded *p = operands[0], *g = operands[1], *m = operands[2], *v = operands[3],
                *vmax = op.getVmax() ? operands[4] : nullptr;
  Operands rest = operands.drop_front(vmax ? 5 : 4);
  if (skipped(op.getFoundInf(), operands, {p, m, v, vmax}, results))
    return success();
  StepBound bound(p->value.dtype);
  auto scalar = [&](size_t i) { return rest[i]->value.real[0]; };
  bool known = scalarsKnown(rest);
  double t = static_cast<double>(rest[0]->value.whole[0]) + 1;
  double left1 = 1 - std::pow(scalar(2), t), left2 = 1 - std::pow(scalar(3), t);
  BoundedReal stepSize = bound.scalar(scalar(1) / left1, 1e-15 / left1),
              correction = bound.scalar(std::sqrt(left2), 1e-15 / left2),
              gain1 = bound.scalar(1 - scalar(2), 1e-15), gain2 = bound.scalar(1 - scalar(3), 1e-15),
              beta2 = bound.scalar(scalar(3)), eps = bound.scalar(scalar(4)), decay = bound.scalar(scalar(5)),
              shrink = bound.scalar(1 - scalar(1) * scalar(5), 1e-15);
  for (int64_t i = 0, e = p->value.count(); i < e; ++i) {
    BoundedReal parameter = bound.tensor(p, i), gradient = bound.tensor(g, i), first = bound.tensor(m, i);
    if (op.getMaximize())
      gradient.value = -gradient.value;
    if (op.getDecoupled())
      parameter = parameter * shrink;
    else
      gradient = gradient + decay * parameter;
    first = first + gain1 * (gradient - first);
    BoundedReal second = beta2 * bound.tensor(v, i) + gain2 * gradient * gradient;
    results[1].error[i] = known ? bound.store(first) : kUnknown;
    results[2].error[i] = known ? bound.store(second) : kUnknown;
    if (vmax) {
      BoundedReal other = bound.tensor(vmax, i);
      double larger = ir::larger(other.value, second.value);
      second = {larger, settle(larger, std::max(other.error, second.error)), second.dtype};
      results[3].error[i] = known ? bound.store(second) : kUnknown;
    }
    BoundedReal root = sqrt(second);
    results[0].error[i] =
        known ? bound.store(parameter - stepSize * first / (root / correction + eps)) : kUnknown;
  }
  return success();
}

} // namespace

LogicalResult boundOp(Operation *op, Operands operands, MutableArrayRef<Bounded> results, Reference) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ir::FullOp, ir::BroadcastInDimOp, ir::ReshapeOp, ir::TransposeOp, ir::SliceOp, ir::ReverseOp,
            ir::WindowsOp, ir::GatherOp, ir::DynamicSliceOp, ir::TransferOp, ir::AliasOp, ir::ToHostScalarOp>(
          [&](auto) { return move(op, operands, results[0]); })
      .Case<ir::ConcatOp, ir::PadOp>([&](auto) { return moveAll(op, operands, results[0]); })
      .Case([&](ir::DynamicUpdateSliceOp) { return move(op, operands, results[0], {0, 1}); })
      .Case([&](ir::IndexUpdateOp update) {
        return update.getAccumulate() ? boundAdded(op, operands, results[0], {0, 1})
                                      : move(op, operands, results[0], {0, 1});
      })
      .Case([&](ir::ScatterOp scatter) { return boundScatter(scatter, operands, results[0]); })
      .Case([&](ir::BitcastOp) { return boundBits(operands, results[0]); })
      .Case([&](ir::UndefOp) {
        results[0].error.assign(results[0].error.size(), kUnknown);
        return success();
      })
      .Case([&](ir::CopyIntoOp) {
        results[0].error = operands[1]->error;
        return success();
      })
      .Case([&](ir::AssertOp) { return success(); })
      .Case([&](ir::SumOp sum) { return boundSum(sum, *operands[0], results[0]); })
      .Case([&](ir::RmaxOp extreme) {
        return boundExtreme(op, extreme.getDims(), /*largest=*/true, *operands[0], results[0]);
      })
      .Case([&](ir::RminOp extreme) {
        return boundExtreme(op, extreme.getDims(), /*largest=*/false, *operands[0], results[0]);
      })
      .Case([&](ir::ArgmaxOp argmax) {
        return boundArg(static_cast<int64_t>(argmax.getDim()), /*largest=*/true, *operands[0], results[0]);
      })
      .Case([&](ir::ArgminOp argmin) {
        return boundArg(static_cast<int64_t>(argmin.getDim()), /*largest=*/false, *operands[0], results[0]);
      })
      .Case<ir::FactorizeOp, ir::TriangularSolveOp>([&](auto) {
        // The errors are those of the condition, which is not known.
        for (Bounded &result : results)
          result.error.assign(result.error.size(), kUnknown);
        return success();
      })
      .Case([&](ir::FftOp fft) {
        boundFft(fft, *operands[0], results[0]);
        return success();
      })
      .Case([&](ir::SortOp sort) {
        boundSort(sort.getDescending(), *operands[0], results);
        return success();
      })
      .Case([&](ir::CummaxOp scan) { return boundRunningExtreme(scan, *operands[0], results[0]); })
      .Case([&](ir::CumminOp scan) { return boundRunningExtreme(scan, *operands[0], results[0]); })
      .Case<ir::ProdOp, ir::AnyOp, ir::WelfordOp, ir::CumsumOp, ir::CumprodOp>(
          [&](auto) { return boundFold(op, *operands[0], results); })
      .Case([&](ir::DotGeneralOp dot) { return boundDot(dot, operands, results[0]); })
      .Case([&](ir::SgdStepOp step) { return boundSgd(step, operands, results); })
      .Case([&](ir::AdamStepOp step) { return boundAdam(step, operands, results); })
      .Case([&](ir::RngBitsPhiloxOp) {
        bool known = llvm::all_of(operands, [](const Bounded *operand) { return operand->error[0] == 0; });
        for (Bounded &result : results)
          result.error.assign(result.error.size(), known ? 0 : kUnknown);
        return success();
      })
      .Default([&](Operation *) {
        return op->emitOpError("has no rule for its error: add one to test/random/BoundRules.cpp");
      });
}

} // namespace weft::randomtest
