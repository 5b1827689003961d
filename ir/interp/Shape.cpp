//===- Shape.cpp - The meaning of ops that move elements -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/interp/Rules.h"

#include <limits>

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

std::vector<int64_t> offsets(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> sizes;
  for (int64_t dim : dims)
    sizes.push_back(shape[dim]);
  std::vector<int64_t> result;
  forEachIndex(sizes, [&](ArrayRef<int64_t> index, int64_t) {
    int64_t offset = 0;
    for (auto [i, dim] : llvm::enumerate(dims))
      offset += index[i] * strides[dim];
    result.push_back(offset);
  });
  return result;
}

SmallVector<int64_t> otherDims(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> result;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      result.push_back(dim);
  return result;
}

//===----------------------------------------------------------------------===//
// Moving
//===----------------------------------------------------------------------===//

LogicalResult BroadcastInDimOp::interpret(ArrayRef<const Literal *> operands,
                                          MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  auto strides = in.strides();
  forEachIndex(results[0].shape, [&](ArrayRef<int64_t> index, int64_t linear) {
    int64_t from = 0;
    for (auto [i, dim] : llvm::enumerate(getDims()))
      if (in.shape[i] != 1)
        from += index[dim] * strides[i];
    copyElement(results[0], linear, in, from);
  });
  return success();
}

LogicalResult ReshapeOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  results[0].real = operands[0]->real;
  results[0].whole = operands[0]->whole;
  return success();
}

LogicalResult TransposeOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  auto strides = in.strides();
  forEachIndex(results[0].shape, [&](ArrayRef<int64_t> index, int64_t linear) {
    int64_t from = 0;
    for (auto [i, dim] : llvm::enumerate(getPerm()))
      from += index[i] * strides[dim];
    copyElement(results[0], linear, in, from);
  });
  return success();
}

LogicalResult SliceOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  auto strides = in.strides();
  auto start = concreteSizes(*this, getStart());
  if (failed(start))
    return failure();
  forEachIndex(results[0].shape, [&](ArrayRef<int64_t> index, int64_t linear) {
    int64_t from = 0;
    for (size_t i = 0; i < index.size(); ++i)
      from += ((*start)[i] + index[i] * getStep()[i]) * strides[i];
    copyElement(results[0], linear, in, from);
  });
  return success();
}

LogicalResult PadOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  Literal &out = results[0];
  if (getValue())
    for (int64_t i = 0, e = out.count(); i < e; ++i)
      copyElement(out, i, *operands[1], 0);
  auto low = concreteSizes(*this, getLow());
  if (failed(low))
    return failure();
  // Every element of the operand has one place in the result, or none.
  auto strides = out.strides();
  forEachIndex(operands[0]->shape, [&](ArrayRef<int64_t> index, int64_t linear) {
    int64_t to = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      int64_t at = (*low)[i] + index[i] * (getInterior()[i] + 1);
      if (at < 0 || at >= out.shape[i])
        return;
      to += at * strides[i];
    }
    copyElement(out, to, *operands[0], linear);
  });
  return success();
}

LogicalResult ConcatOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  auto strides = results[0].strides();
  int64_t dim = getDim(), before = 0;
  for (const Literal *part : operands) {
    forEachIndex(part->shape, [&](ArrayRef<int64_t> index, int64_t linear) {
      int64_t to = before * strides[dim];
      for (size_t i = 0; i < index.size(); ++i)
        to += index[i] * strides[i];
      copyElement(results[0], to, *part, linear);
    });
    before += part->shape[dim];
  }
  return success();
}

LogicalResult ReverseOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  auto strides = in.strides();
  forEachIndex(in.shape, [&](ArrayRef<int64_t> index, int64_t linear) {
    int64_t to = 0;
    for (int64_t i = 0; i < in.rank(); ++i)
      to += (llvm::is_contained(getDims(), i) ? in.shape[i] - 1 - index[i] : index[i]) * strides[i];
    copyElement(results[0], to, in, linear);
  });
  return success();
}

/// The offset of a window of `sizes` in `whole`. Each start is clamped so that the window is inside.
static int64_t windowOffset(const Literal &whole, ArrayRef<int64_t> sizes, ArrayRef<const Literal *> starts) {
  auto strides = whole.strides();
  int64_t offset = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    offset += std::clamp<int64_t>(starts[i]->whole[0], 0, whole.shape[i] - sizes[i]) * strides[i];
  return offset;
}

LogicalResult DynamicSliceOp::interpret(ArrayRef<const Literal *> operands,
                                        MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  auto sizes = concreteSizes(*this, getSizes());
  if (failed(sizes))
    return failure();
  int64_t offset = windowOffset(in, *sizes, operands.drop_front());
  auto strides = in.strides();
  forEachIndex(*sizes, [&](ArrayRef<int64_t> index, int64_t linear) {
    int64_t from = offset;
    for (size_t i = 0; i < index.size(); ++i)
      from += index[i] * strides[i];
    copyElement(results[0], linear, in, from);
  });
  return success();
}

LogicalResult DynamicUpdateSliceOp::interpret(ArrayRef<const Literal *> operands,
                                              MutableArrayRef<Literal> results) {
  const Literal &window = *operands[1];
  Literal &out = results[0] = *operands[0];
  int64_t offset = windowOffset(out, window.shape, operands.drop_front(2));
  auto strides = out.strides();
  forEachIndex(window.shape, [&](ArrayRef<int64_t> index, int64_t linear) {
    int64_t to = offset;
    for (size_t i = 0; i < index.size(); ++i)
      to += index[i] * strides[i];
    copyElement(out, to, window, linear);
  });
  return success();
}

LogicalResult BitcastOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  std::vector<std::byte> bytes(static_cast<size_t>(in.count()) * itemsize(in.dtype));
  in.toBytes(bytes.data());
  results[0] = Literal::fromBytes(results[0].dtype, results[0].shape, bytes.data());
  return success();
}

LogicalResult TransferOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  results[0] = *operands[0];
  return success();
}

LogicalResult SelectOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  for (int64_t i = 0, e = results[0].count(); i < e; ++i)
    copyElement(results[0], i, *operands[operands[0]->whole[i] ? 1 : 2], i);
  return success();
}

//===----------------------------------------------------------------------===//
// convert
//===----------------------------------------------------------------------===//

/// Toward zero, saturating at the bounds of the integer type; NaN gives 0.
static int64_t toWhole(DType dtype, double value) {
  if (dtype == DType::i1)
    return value != 0;
  if (std::isnan(value))
    return 0;
  // For a type of n bits, 2^(n-1) (unsigned: 2^n) is exact in f64; the largest value of i64 is not.
  int bits = static_cast<int>(itemsize(dtype)) * 8 - (dtype == DType::ui8 ? 0 : 1);
  double limit = std::ldexp(1.0, bits), lowest = dtype == DType::ui8 ? 0 : -limit;
  value = std::trunc(value);
  if (value >= limit)
    return static_cast<int64_t>((uint64_t{1} << bits) - 1);
  if (value <= lowest)
    return dtype == DType::ui8 ? 0 : -static_cast<int64_t>((uint64_t{1} << bits) - 1) - 1;
  return static_cast<int64_t>(value);
}

LogicalResult ConvertOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  Literal &out = results[0];
  for (int64_t i = 0, e = out.count(); i < e; ++i) {
    if (out.isReal())
      out.real[i] = in.isReal() ? roundTo(out.dtype, in.real[i]) : roundWholeTo(out.dtype, in.whole[i]);
    else if (in.isReal())
      out.whole[i] = toWhole(out.dtype, in.real[i]);
    else
      out.whole[i] = out.dtype == DType::i1 ? in.whole[i] != 0 : wrapTo(out.dtype, in.whole[i]);
  }
  return success();
}

} // namespace weft::ir
