//===- Indexing.cpp - The meaning of reads and writes by index -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/Updates.h"
#include "ir/interp/Rules.h"
#include "ir/ops/PooledGather.h"

using namespace mlir;
namespace weft::ir {

/// The index in range: clipped or checked. All elements are checked before any is used, also those that an
/// empty result would not read.
static FailureOr<std::vector<int64_t>> indexInRange(Operation *op, const Literal &index, IndexMode mode,
                                                    int64_t size, int64_t dim) {
  std::vector<int64_t> values = index.whole;
  LogicalResult inRange = success();
  forEachIndex(index.shape, [&](ArrayRef<int64_t> position, int64_t linear) {
    int64_t &value = values[static_cast<size_t>(linear)];
    if (failed(inRange) || (value >= 0 && value < size))
      return;
    if (mode == IndexMode::clip && size > 0) {
      value = std::clamp<int64_t>(value, 0, size - 1);
      return;
    }
    const StringRef name = indexNameOf(op);
    auto error = op->emitOpError() << (name.empty() ? "index" : name) << " " << value << " at position [";
    llvm::interleaveComma(position, error);
    error << "] of the index tensor is outside [0, " << size << "), the size of dimension " << dim;
    inRange = error;
  });
  if (failed(inRange))
    return failure();
  return values;
}

LogicalResult GatherOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0], &index = *operands[1];
  Literal &out = results[0];
  int64_t dim = getDim();
  auto strides = in.strides();
  auto values = indexInRange(*this, index, getMode(), in.shape[dim], dim);
  if (failed(values) || failed(verifyInWindows(*this, *values)))
    return failure();
  auto indexStrides = index.strides();
  bool along = getKind() == GatherKind::along;
  forEachIndex(out.shape, [&](ArrayRef<int64_t> position, int64_t linear) {
    int64_t from = 0, entry = 0;
    if (along) {
      for (int64_t d = 0; d < in.rank(); ++d)
        from += d == dim ? 0 : position[d] * strides[d];
      entry = linear;
    } else {
      // The result has the operand's dimensions before `dim`, those of the index, and the rest of the
      // operand's.
      for (int64_t d = 0; d < dim; ++d)
        from += position[d] * strides[d];
      for (int64_t d = 0; d < index.rank(); ++d)
        entry += position[dim + d] * indexStrides[d];
      for (int64_t d = dim + 1; d < in.rank(); ++d)
        from += position[d - 1 + index.rank()] * strides[d];
    }
    copyElement(out, linear, in, from + (*values)[entry] * strides[dim]);
  });
  return success();
}

/// Combines one element; the result is rounded after every step.
static void combineElement(ScatterKind kind, Literal &out, int64_t to, const Literal &in, int64_t from) {
  auto both = [&](auto real, auto whole) {
    if (out.isReal())
      out.setReal(to, real(out.real[to], in.real[from]));
    else
      out.setWhole(to, whole(out.whole[to], in.whole[from]));
  };
  switch (kind) {
  case ScatterKind::set:
    return copyElement(out, to, in, from);
  case ScatterKind::add:
    return both([](double a, double b) { return a + b; }, wrapAdd);
  case ScatterKind::mul:
    return both([](double a, double b) { return a * b; }, wrapMul);
  case ScatterKind::max:
    return both(larger, [](int64_t a, int64_t b) { return std::max(a, b); });
  case ScatterKind::min:
    return both(smaller, [](int64_t a, int64_t b) { return std::min(a, b); });
  }
}

/// The base of a write by index, in `out`, and the index.
template <typename Op>
static FailureOr<std::vector<int64_t>> beginWrite(Op op, const Literal &base, const Literal &index,
                                                  Literal &out) {
  auto dim = static_cast<int64_t>(op.getDim());
  auto values = indexInRange(op, index, op.getMode(), base.shape[dim], dim);
  if (succeeded(values))
    out = base;
  return values;
}

LogicalResult ScatterOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &index = *operands[1], &u = *operands[2];
  Literal &out = results[0];
  int64_t dim = getDim();
  auto values = beginWrite(*this, *operands[0], index, out);
  if (failed(values))
    return failure();
  auto strides = out.strides(), updateStrides = u.strides();
  forEachIndex(index.shape, [&](ArrayRef<int64_t> position, int64_t linear) {
    int64_t to = (*values)[linear] * strides[dim], from = 0;
    for (int64_t d = 0; d < out.rank(); ++d) {
      to += d == dim ? 0 : position[d] * strides[d];
      from += position[d] * updateStrides[d];
    }
    combineElement(getKind(), out, to, u, from);
  });
  return success();
}

LogicalResult IndexUpdateOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &u = *operands[1], &index = *operands[2];
  Literal &out = results[0];
  int64_t dim = getDim();
  auto values = beginWrite(*this, *operands[0], index, out);
  if (failed(values))
    return failure();
  auto strides = out.strides(), indexStrides = index.strides();
  ScatterKind kind = getAccumulate() ? ScatterKind::add : ScatterKind::set;
  forEachIndex(u.shape, [&](ArrayRef<int64_t> position, int64_t linear) {
    int64_t to = 0, entry = 0;
    for (int64_t d = 0; d < dim; ++d)
      to += position[d] * strides[d];
    for (int64_t d = 0; d < index.rank(); ++d)
      entry += position[dim + d] * indexStrides[d];
    for (int64_t d = dim + 1; d < out.rank(); ++d)
      to += position[d - 1 + index.rank()] * strides[d];
    combineElement(kind, out, to + (*values)[entry] * strides[dim], u, linear);
  });
  return success();
}

} // namespace weft::ir
