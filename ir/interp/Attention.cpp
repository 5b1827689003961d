//===- Attention.cpp - The meaning of attention ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every score is computed in doubles whenever it is needed; the blocks and running maxima of kernels have no
// counterpart here. Values with probability 0 do not contribute, even if they are infinite or NaN.
//
//===----------------------------------------------------------------------===//
#include "ir/Attention.h"
#include "ir/interp/Rules.h"
#include "ir/ops/Common.h"

#include <limits>

using namespace mlir;
namespace weft::ir {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// A matrix in a literal, for one batch index.
struct Matrix {
  const Literal *literal = nullptr;
  int64_t base = 0, row = 0, column = 0;
  explicit operator bool() const { return literal != nullptr; }
  int64_t at(int64_t i, int64_t j) const { return base + i * row + j * column; }
  double operator()(int64_t i, int64_t j) const { return literal->real[at(i, j)]; }
};

/// The sizes and attributes of an attention.
struct Attention {
  AttentionExtents extents;
  double scale;
  bool causal;

  Matrix matrix(const Literal *literal, const AttentionView &view, ArrayRef<int64_t> batch) const {
    if (!literal)
      return {};
    Matrix made{literal, view.offset, view.strides[batch.size()], view.strides[batch.size() + 1]};
    for (auto [index, stride] : llvm::zip(batch, view.strides))
      made.base += index * stride;
    return made;
  }

  /// The scores of a row; -inf for masked keys.
  std::vector<double> scores(const Matrix &q, const Matrix &k, const Matrix &mask, int64_t i) const {
    std::vector<double> p(extents.keys, -inf);
    for (int64_t j = 0; j < extents.keys; ++j) {
      if (causal && j > i)
        continue;
      double sum = 0;
      for (int64_t e = 0; e < extents.features; ++e)
        sum += q(i, e) * k(j, e);
      sum *= scale;
      if (mask && !mask.literal->isReal())
        sum = mask.literal->whole[mask.at(i, j)] ? sum : -inf;
      else if (mask)
        sum += mask(i, j);
      p[j] = sum;
    }
    return p;
  }

  /// The largest score, and the sum of the exponentials of what the scores are above it.
  static std::pair<double, double> topAndTotal(ArrayRef<double> scores) {
    double top = -inf, total = 0;
    for (double score : scores)
      top = larger(top, score);
    if (top != -inf)
      for (double score : scores)
        total += std::exp(score - top);
    return {top, total};
  }

  /// The probability of each score; 0 in a row in which all keys are masked.
  static void toProbabilities(std::vector<double> &scores, double lse) {
    for (double &score : scores)
      score = lse == -inf ? 0 : std::exp(score - lse);
  }

  void forward(const Matrix &q, const Matrix &k, const Matrix &v, const Matrix &mask, const Matrix &out,
               Literal &result, Literal &lse, int64_t firstRow) const {
    for (int64_t i = 0; i < extents.rows; ++i) {
      std::vector<double> p = scores(q, k, mask, i);
      // The logarithm of the sum would be lost beside a large score, and is only for `lse`.
      const auto [top, total] = topAndTotal(p);
      lse.setReal(firstRow + i, top == -inf ? top : top + std::log(total));
      for (double &score : p)
        score = top == -inf ? 0 : std::exp(score - top) / total;
      for (int64_t e = 0; e < extents.values; ++e) {
        double value = 0;
        for (int64_t j = 0; j < extents.keys; ++j)
          value += p[j] == 0 ? 0 : p[j] * v(j, e);
        result.setReal(out.at(i, e), value);
      }
    }
  }

  void backward(const std::array<Matrix, 6> &operands, const Literal &lse, int64_t firstRow,
                const std::array<Matrix, 3> &places, MutableArrayRef<Literal> results) const {
    const auto &[q, k, v, mask, out, grad] = operands;
    const auto &[dqPlace, dkPlace, dvPlace] = places;
    std::vector<double> dk(extents.keys * extents.features), dv(extents.keys * extents.values);
    for (int64_t i = 0; i < extents.rows; ++i) {
      std::vector<double> p = scores(q, k, mask, i);
      toProbabilities(p, lse.real[firstRow + i]);
      double inner = 0;
      for (int64_t e = 0; e < extents.values; ++e)
        inner += grad(i, e) * out(i, e);
      std::vector<double> dq(extents.features);
      for (int64_t j = 0; j < extents.keys; ++j) {
        double dp = 0;
        for (int64_t e = 0; e < extents.values; ++e) {
          dp += grad(i, e) * v(j, e);
          dv[j * extents.values + e] += p[j] == 0 ? 0 : p[j] * grad(i, e);
        }
        double ds = p[j] == 0 ? 0 : p[j] * (dp - inner) * scale;
        for (int64_t e = 0; e < extents.features; ++e) {
          dq[e] += ds * k(j, e);
          dk[j * extents.features + e] += ds * q(i, e);
        }
      }
      for (int64_t e = 0; e < extents.features; ++e)
        results[0].setReal(dqPlace.at(i, e), dq[e]);
    }
    for (int64_t j = 0; j < extents.keys; ++j) {
      for (int64_t e = 0; e < extents.features; ++e)
        results[1].setReal(dkPlace.at(j, e), dk[j * extents.features + e]);
      for (int64_t e = 0; e < extents.values; ++e)
        results[2].setReal(dvPlace.at(j, e), dv[j * extents.values + e]);
    }
  }
};

/// The operands of an attention with their views; null for absent operands.
struct Operands {
  struct Part {
    const Literal *literal = nullptr;
    AttentionView view;
  };
  Part q, k, v, mask, out, grad;
  const Literal *lse = nullptr;          ///< always row-major
  SmallVector<AttentionView, 3> results; ///< of all results except lse
};

LogicalResult run(const Attention &attention, const Operands &operands, MutableArrayRef<Literal> results) {
  const AttentionExtents &extents = attention.extents;
  forEachIndex(extents.batch, [&](ArrayRef<int64_t> batch, int64_t linear) {
    auto matrix = [&](const Operands::Part &part) {
      return attention.matrix(part.literal, part.view, batch);
    };
    auto place = [&](size_t i) { return attention.matrix(&results[i], operands.results[i], batch); };
    if (operands.grad.literal)
      attention.backward({matrix(operands.q), matrix(operands.k), matrix(operands.v), matrix(operands.mask),
                          matrix(operands.out), matrix(operands.grad)},
                         *operands.lse, linear * extents.rows, {place(0), place(1), place(2)}, results);
    else
      attention.forward(matrix(operands.q), matrix(operands.k), matrix(operands.v), matrix(operands.mask),
                        place(0), results[0], results[1], linear * extents.rows);
  });
  return success();
}

/// The view of row-major memory, with stride 0 in dimensions of size 1, along which it repeats.
AttentionView viewOf(const Literal &literal) {
  AttentionView view = orderedView(literal.shape, allDims(literal.rank()));
  for (auto [stride, extent] : llvm::zip(view.strides, literal.shape))
    stride = extent == 1 ? 0 : stride;
  return view;
}

/// Runs sdpa or its derivative, whose tensors are row-major.
template <typename Op>
LogicalResult interpretRowMajor(Op op, ArrayRef<const Literal *> operands, Operands parts,
                                MutableArrayRef<Literal> results) {
  const Literal &q = *operands[0], &k = *operands[1], &v = *operands[2];
  SmallVector<int64_t> shape(ArrayRef<int64_t>(q.shape).drop_back());
  shape.append({k.shape[k.rank() - 2], q.shape.back(), v.shape.back()});
  for (auto [part, literal] : {std::pair(&parts.q, &q), {&parts.k, &k}, {&parts.v, &v}})
    part->literal = literal;
  if (op.getMask())
    parts.mask.literal = operands.back();
  for (Operands::Part *part : {&parts.q, &parts.k, &parts.v, &parts.mask, &parts.out, &parts.grad})
    if (part->literal)
      part->view = viewOf(*part->literal);
  for (const Literal &result : results)
    parts.results.push_back(viewOf(result));
  return run({AttentionExtents(shape), op.getScale().convertToDouble(), op.getCausal()}, parts, results);
}

} // namespace

LogicalResult SdpaOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  return interpretRowMajor(*this, operands, {}, results);
}

LogicalResult SdpaBackwardOp::interpret(ArrayRef<const Literal *> operands,
                                        MutableArrayRef<Literal> results) {
  Operands parts;
  parts.out.literal = operands[3];
  parts.grad.literal = operands[5];
  parts.lse = operands[4];
  return interpretRowMajor(*this, operands, parts, results);
}

LogicalResult AttentionOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  Attention attention{AttentionExtents(getShape()), getScale().convertToDouble(), getCausal()};
  const AttentionExtents &extents = attention.extents;
  Operands parts;
  parts.q = {operands[0], AttentionView::read(getQView())};
  parts.k = {operands[1], AttentionView::read(getKView())};
  parts.v = {operands[2], AttentionView::read(getVView())};
  if (getMask())
    parts.mask = {operands[3], AttentionView::read(*getMaskView())};
  auto place = [&](int64_t rows, int64_t columns) {
    parts.results.push_back(orderedView(extents.matrix(rows, columns), getOrder()));
  };
  if (getGrad()) {
    parts.out = {operands[operands.size() - 3], AttentionView::read(*getOutView())};
    parts.grad = {operands.back(), AttentionView::read(*getGradView())};
    parts.lse = operands[operands.size() - 2];
    place(extents.rows, extents.features);
    place(extents.keys, extents.features);
    place(extents.keys, extents.values);
  } else {
    place(extents.rows, extents.values);
  }
  return run(attention, parts, results);
}

} // namespace weft::ir
