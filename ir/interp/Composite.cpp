//===- Composite.cpp - The meaning of composites ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside an op everything is computed in f64; only its results are rounded to the element type.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/interp/Rules.h"

#include <limits>

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// Softmax and related ops
//===----------------------------------------------------------------------===//

namespace {

/// The largest element of a row, and the sum of the exponentials of the differences from it, as in a stable
/// softmax. A row of -inf has a sum of NaN, as every row that holds a NaN or +inf.
struct RowStatistics {
  double max = -std::numeric_limits<double>::infinity(), sum = 0;
  RowStatistics(const Literal &in, int64_t base, ArrayRef<int64_t> row) {
    for (int64_t offset : row)
      max = larger(max, in.real[base + offset]);
    for (int64_t offset : row)
      sum += std::exp(in.real[base + offset] - max);
  }
};

/// Sets every element to `rule(element, statistics of its row)`.
template <typename Rule>
LogicalResult interpretRows(const Literal &in, int64_t dim, Literal &out, Rule rule) {
  auto strides = in.strides();
  auto row = offsets(in.shape, strides, dim);
  for (int64_t base : offsets(in.shape, strides, otherDims(in.rank(), dim))) {
    RowStatistics statistics(in, base, row);
    for (int64_t offset : row)
      out.setReal(base + offset, rule(in.real[base + offset], statistics));
  }
  return success();
}

} // namespace

LogicalResult SoftmaxOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  return interpretRows(*operands[0], getDim(), results[0],
                       [](double a, const RowStatistics &row) { return std::exp(a - row.max) / row.sum; });
}

LogicalResult LogSoftmaxOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  return interpretRows(*operands[0], getDim(), results[0],
                       [](double a, const RowStatistics &row) { return a - row.max - std::log(row.sum); });
}

LogicalResult CrossEntropyOp::interpret(ArrayRef<const Literal *> operands,
                                        MutableArrayRef<Literal> results) {
  const Literal &logits = *operands[0], &target = *operands[1];
  int64_t rows = logits.shape[0], classes = logits.shape[1];
  int64_t ignored = static_cast<int64_t>(getIgnoreIndex());
  for (int64_t i = 0; i < rows; ++i) {
    int64_t value = target.whole[i];
    if (value != ignored && (value < 0 || value >= classes))
      return emitOpError() << "target " << value << " at position [" << i << "] is outside [0, " << classes
                           << "), the number of classes, and is not the ignore_index, " << ignored;
  }

  const Literal *weight = getWeight() ? operands[2] : nullptr;
  auto weightOf = [&](int64_t c) { return weight ? weight->real[c] : 1.0; };
  double smoothing = getLabelSmoothing().convertToDouble();
  std::vector<int64_t> row = offsets(logits.shape, logits.strides(), 1);
  double total = 0, counted = 0;
  for (int64_t i = 0; i < rows; ++i) {
    RowStatistics statistics(logits, i * classes, row);
    double lse = statistics.max + std::log(statistics.sum), loss = 0;
    results[1].setReal(i, lse);
    if (int64_t t = target.whole[i]; t != ignored) {
      loss = (1 - smoothing) * weightOf(t) * (lse - logits.real[i * classes + t]);
      for (int64_t c = 0; smoothing > 0 && c < classes; ++c)
        loss += smoothing / static_cast<double>(classes) * weightOf(c) * (lse - logits.real[i * classes + c]);
      counted += weightOf(t);
    }
    total += loss;
    if (getReduction() == ReductionKind::none)
      results[0].setReal(i, loss);
  }
  if (getReduction() == ReductionKind::sum)
    results[0].setReal(0, total);
  else if (getReduction() == ReductionKind::mean)
    results[0].setReal(0, total / counted);
  return success();
}

//===----------------------------------------------------------------------===//
// layer_norm, dropout
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  const Literal *weight = getWeight() ? operands[1] : nullptr, *bias = getBias() ? operands.back() : nullptr;
  int64_t groups = 1, size = 1;
  for (int64_t dim = 0; dim < in.rank(); ++dim)
    (dim < static_cast<int64_t>(getAxis()) ? groups : size) *= in.shape[dim];
  double count = static_cast<double>(size);
  for (int64_t i = 0; i < groups; ++i) {
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < size; ++j)
      mean += in.real[i * size + j];
    mean /= count;
    for (int64_t j = 0; j < size; ++j)
      variance += (in.real[i * size + j] - mean) * (in.real[i * size + j] - mean);
    double rstd = 1 / std::sqrt(variance / count + getEps().convertToDouble());
    results[1].setReal(i, mean);
    results[2].setReal(i, rstd);
    for (int64_t j = 0; j < size; ++j) {
      double y = (in.real[i * size + j] - mean) * rstd * (weight ? weight->real[j] : 1);
      results[0].setReal(i * size + j, bias ? y + bias->real[j] : y);
    }
  }
  return success();
}

LogicalResult DropoutOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  auto low = [](uint64_t value) { return static_cast<uint32_t>(value); };
  auto high = [](uint64_t value) { return static_cast<uint32_t>(value >> 32); };
  const Literal &in = *operands[0];
  uint64_t key = operands[1]->whole[0], counter = operands[2]->whole[0], stream = getStream();
  double p = getP().convertToDouble();
  double scale = roundTo(in.dtype == DType::f64 ? DType::f64 : DType::f32, 1 / (1 - p));
  for (int64_t i = 0, e = in.count(); i < e; ++i) {
    uint64_t block = counter + static_cast<uint64_t>(i / 4);
    uint32_t bits =
        philox4x32({low(block), high(block), low(stream), high(stream)}, {low(key), high(key)})[i % 4];
    bool kept = std::ldexp(static_cast<double>(bits >> 8), -24) >= p;
    results[0].setReal(i, kept ? in.real[i] * scale : 0);
  }
  results[1].setWhole(0, wrapAdd(operands[2]->whole[0], (in.count() + 3) / 4));
  return success();
}

//===----------------------------------------------------------------------===//
// Optimiser steps
//===----------------------------------------------------------------------===//

/// A step that is skipped leaves everything unchanged. `before` has one operand per result.
static void keepBefore(ArrayRef<const Literal *> before, MutableArrayRef<Literal> results) {
  for (auto [literal, result] : llvm::zip(before, results))
    result.real = literal->real;
}

LogicalResult SgdStepOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &p = *operands[0], &g = *operands[1];
  const Literal *buf = getBuf() ? operands[2] : nullptr;
  ArrayRef<const Literal *> rest = operands.drop_front(buf ? 3 : 2);
  if (getFoundInf() && operands.back()->whole[0]) {
    keepBefore({&p, buf}, results);
    return success();
  }
  int64_t step = rest[0]->whole[0];
  double lr = rest[1]->real[0], momentum = rest[2]->real[0], dampening = rest[3]->real[0],
         decay = rest[4]->real[0];
  for (int64_t i = 0, e = p.count(); i < e; ++i) {
    double d = (getMaximize() ? -g.real[i] : g.real[i]) + decay * p.real[i];
    if (buf) {
      double next = step == 0 ? d : momentum * buf->real[i] + (1 - dampening) * d;
      results[1].setReal(i, next);
      d = getNesterov() ? d + momentum * next : next;
    }
    results[0].setReal(i, p.real[i] - lr * d);
  }
  return success();
}

LogicalResult AdamStepOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &p = *operands[0], &g = *operands[1], &m = *operands[2], &v = *operands[3];
  const Literal *vmax = getVmax() ? operands[4] : nullptr;
  ArrayRef<const Literal *> rest = operands.drop_front(vmax ? 5 : 4);
  if (getFoundInf() && operands.back()->whole[0]) {
    keepBefore({&p, &m, &v, vmax}, results);
    return success();
  }
  double t = static_cast<double>(rest[0]->whole[0]) + 1;
  double lr = rest[1]->real[0], beta1 = rest[2]->real[0], beta2 = rest[3]->real[0], eps = rest[4]->real[0],
         decay = rest[5]->real[0];
  double stepSize = lr / (1 - std::pow(beta1, t)), correction = std::sqrt(1 - std::pow(beta2, t));
  for (int64_t i = 0, e = p.count(); i < e; ++i) {
    double gradient = getMaximize() ? -g.real[i] : g.real[i], parameter = p.real[i];
    if (getDecoupled())
      parameter *= 1 - lr * decay;
    else
      gradient += decay * parameter;
    double first = m.real[i] + (1 - beta1) * (gradient - m.real[i]);
    double second = beta2 * v.real[i] + (1 - beta2) * gradient * gradient;
    results[1].setReal(i, first);
    results[2].setReal(i, second);
    if (vmax) {
      second = larger(vmax->real[i], second);
      results[3].setReal(i, second);
    }
    results[0].setReal(i, parameter - stepSize * first / (std::sqrt(second) / correction + eps));
  }
  return success();
}

} // namespace weft::ir
