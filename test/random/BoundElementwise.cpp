//===- BoundElementwise.cpp - Errors of ops on single elements ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There are no rules for single ops. The reference of an op is evaluated in double, without rounding, over
// the intervals of its operands, and the accuracy from the op's definition is added.
//
//===----------------------------------------------------------------------===//
#include "BoundRules.h"
#include "BoundedReal.h"

#include <algorithm>

using namespace mlir;
namespace weft::randomtest {

namespace {

/// Whether the op returns one of its operands, or one with another sign or the number of its sign, so that
/// nothing is rounded.
bool onlyChooses(Operation *op) {
  return isa<ir::NegOp, ir::AbsOp, ir::SignOp, ir::MaxOp, ir::MinOp, ir::SelectOp>(op);
}

constexpr double kCritical[] = {-1, -0.0, 0.0, 1};

/// The sample points of one operand. The first is its value.
SmallVector<double> candidates(double value, double error, bool monotone) {
  SmallVector<double> points{value};
  if (error == 0)
    return points;
  double low = value - error, high = value + error;
  points.append({low, high});
  for (double point : kCritical)
    if (point >= low && point <= high)
      points.push_back(point);
  for (int i = 1; !monotone && i < 8; ++i)
    points.push_back(low + (high - low) * i / 8);
  return points;
}

enum class Kind { finite, nan, positive, negative };
Kind kindOf(double value) {
  return std::isfinite(value) ? Kind::finite
         : std::isnan(value)  ? Kind::nan
         : value > 0          ? Kind::positive
                              : Kind::negative;
}

/// The samples of one element, as a range of rows of the tables that the op is evaluated on.
struct Samples {
  int64_t element;
  size_t begin, end;
};

class ElementwiseBound {
public:
  ElementwiseBound(ir::ElementwiseOp op, ArrayRef<const Bounded *> operands, Bounded &result,
                   Reference reference)
      : op(op), operands(operands), result(result), reference(reference), ulps(op.accuracy().ulps),
        monotone(op.accuracy().monotone) {}

  LogicalResult run() {
    for (const Bounded *operand : operands)
      tables.emplace_back(operand->value.isReal() ? DType::f64 : operand->value.dtype, ArrayRef<int64_t>());
    for (ir::Literal &table : tables) {
      table.real.clear();
      table.whole.clear();
    }
    for (int64_t i = 0, e = result.value.count(); i < e; ++i)
      collect(i);
    return samples.empty() ? success() : evaluate();
  }

private:
  bool isExact(int64_t i) const {
    return llvm::all_of(operands, [&](const Bounded *operand) { return operand->error[i] == 0; });
  }

  /// Whether the sign of operand 1 is known. Passes and kernels may change that of a NaN, and that of a zero
  /// which was computed: a sum of one zero has its sign, or that of the zero where the sum begins.
  bool isSigned(int64_t i) const {
    const double from = operands[1]->value.real[i];
    const Operation *maker = op->getOperand(1).getDefiningOp();
    return !std::isnan(from) && (from != 0 || !maker || isa<ir::ConstantOp>(maker));
  }

  void collect(int64_t i) {
    if (auto select = dyn_cast<ir::SelectOp>(op.getOperation()); select && operands[0]->error[i] == 0) {
      result.error[i] = operands[operands[0]->value.whole[i] ? 1 : 2]->error[i];
      return;
    }
    if (isa<ir::CopysignOp>(op.getOperation()) && !isSigned(i)) {
      result.error[i] = kUnknown;
      return;
    }
    for (const Bounded *operand : operands)
      if (!isKnown(operand->error[i]) || (!monotone && operand->error[i] > 0.125)) {
        result.error[i] = kUnknown;
        return;
      }
    if (isExact(i) && !result.value.isReal())
      return;
    if (isExact(i) && ulps == 0 && (reference == Reference::interpreter || onlyChooses(op)))
      return;
    size_t begin = rows;
    SmallVector<SmallVector<double>, 3> points;
    for (const Bounded *operand : operands)
      points.push_back(operand->value.isReal()
                           ? candidates(operand->value.real[i], operand->error[i], monotone)
                           : SmallVector<double>{0.0});
    SmallVector<size_t, 3> at(points.size(), 0);
    for (bool more = true; more;) {
      SmallVector<double, 3> row;
      for (size_t k = 0; k < at.size(); ++k)
        row.push_back(points[k][at[k]]);
      addRow(i, row);
      size_t k = 0;
      while (k < at.size() && ++at[k] == points[k].size())
        at[k++] = 0;
      more = k < at.size();
    }
    addEqual(i);
    samples.push_back({i, begin, rows});
  }

  /// If two operands may be equal, adds a sample in which they are.
  void addEqual(int64_t i) {
    if (operands.size() != 2 || !operands[0]->value.isReal() || isExact(i))
      return;
    double low = -kUnknown, high = kUnknown;
    for (const Bounded *operand : operands) {
      low = std::max(low, operand->value.real[i] - operand->error[i]);
      high = std::min(high, operand->value.real[i] + operand->error[i]);
    }
    double middle = low / 2 + high / 2;
    if (low <= high && std::isfinite(middle))
      addRow(i, {middle, middle});
  }

  void addRow(int64_t i, ArrayRef<double> row) {
    for (auto [k, table] : llvm::enumerate(tables)) {
      if (table.isReal())
        table.real.push_back(row[k]);
      else
        table.whole.push_back(operands[k]->value.whole[i]);
    }
    ++rows;
  }

  LogicalResult evaluate() {
    SmallVector<const ir::Literal *> pointers;
    for (ir::Literal &table : tables) {
      table.shape = {static_cast<int64_t>(rows)};
      pointers.push_back(&table);
    }
    ir::Literal out(result.value.isReal() ? DType::f64 : result.value.dtype, {static_cast<int64_t>(rows)});
    auto rule = cast<ir::InterpretableOp>(op.getOperation());
    if (failed(rule.interpret(pointers, out)))
      return failure();
    for (const Samples &range : samples) {
      if (!result.value.isReal())
        result.error[range.element] = boundWhole(out, range);
      else
        result.error[range.element] = boundReal(out, range);
    }
    return success();
  }

  static double boundWhole(const ir::Literal &out, const Samples &range) {
    for (size_t row = range.begin; row < range.end; ++row)
      if (out.whole[row] != out.whole[range.begin])
        return kUnknown;
    return 0;
  }

  double boundReal(const ir::Literal &out, const Samples &range) const {
    DType dtype = result.value.dtype;
    double middle = out.real[range.begin], spread = 0, largest = 0;
    for (size_t row = range.begin; row < range.end; ++row) {
      double value = out.real[row];
      if (kindOf(value) != kindOf(middle))
        return kUnknown;
      if (std::isfinite(value)) {
        spread = std::max(spread, std::fabs(value - middle));
        largest = std::max(largest, std::fabs(value));
      } else if (std::isinf(value)) {
        largest = kUnknown;
      }
    }
    if (!std::isfinite(middle))
      return 0;
    double error = spread;
    if (ulps > 0) {
      // Operands of 16 bits are computed in f32.
      DType computed = itemsize(dtype) == 2 ? DType::f32 : dtype;
      error += ulps * ulp(computed, largest);
    }
    bool rounds =
        reference == Reference::realNumbers
            ? !onlyChooses(op) && (dtype == DType::f64 || ir::roundTo(dtype, middle) != middle || error > 0)
            : error > 0;
    if (rounds && !(onlyChooses(op) && ulps == 0))
      error += ulp(dtype, largest + error);
    // Near the largest number of the type, only one end of the interval may overflow.
    if (error > 0 &&
        kindOf(ir::roundTo(dtype, largest - error)) != kindOf(ir::roundTo(dtype, largest + error)))
      return kUnknown;
    return std::isfinite(result.value.real[range.element]) ? error : 0;
  }

  ir::ElementwiseOp op;
  ArrayRef<const Bounded *> operands;
  Bounded &result;
  Reference reference;
  double ulps;
  bool monotone;
  size_t rows = 0;
  SmallVector<ir::Literal, 3> tables;
  std::vector<Samples> samples;
};

} // namespace

LogicalResult boundElementwise(ir::ElementwiseOp op, ArrayRef<const Bounded *> operands, Bounded &result,
                               Reference reference) {
  return ElementwiseBound(op, operands, result, reference).run();
}

} // namespace weft::randomtest
