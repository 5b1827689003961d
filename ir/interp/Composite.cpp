//===- Composite.cpp - The meaning of composites ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything inside an op is a double; only what it returns is rounded to the element type.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/interp/Rules.h"

#include <limits>

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// Softmax and its kind
//===----------------------------------------------------------------------===//

namespace {

/// The largest element of a row and the sum of the exponentials below it: what a stable softmax is made of. A
/// row of -inf has a sum of NaN, as every row that holds a NaN or +inf.
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

  std::vector<int64_t> row = offsets(logits.shape, logits.strides(), 1);
  double total = 0;
  int64_t counted = 0;
  for (int64_t i = 0; i < rows; ++i) {
    RowStatistics statistics(logits, i * classes, row);
    double lse = statistics.max + std::log(statistics.sum), loss = 0;
    results[1].setReal(i, lse);
    if (target.whole[i] != ignored) {
      loss = lse - logits.real[i * classes + target.whole[i]];
      ++counted;
    }
    total += loss;
    if (getReduction() == ReductionKind::none)
      results[0].setReal(i, loss);
  }
  if (getReduction() == ReductionKind::sum)
    results[0].setReal(0, total);
  else if (getReduction() == ReductionKind::mean)
    results[0].setReal(0, total / static_cast<double>(counted));
  return success();
}

//===----------------------------------------------------------------------===//
// Optimiser steps
//===----------------------------------------------------------------------===//

LogicalResult SgdStepOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &p = *operands[0], &g = *operands[1];
  const Literal *buf = getBuf() ? operands[2] : nullptr;
  ArrayRef<const Literal *> rest = operands.drop_front(buf ? 3 : 2);
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
