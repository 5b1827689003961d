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
  forEachIndex(results[0].shape, [&](ArrayRef<int64_t> index, int64_t linear) {
    int64_t from = 0;
    for (size_t i = 0; i < index.size(); ++i)
      from += (getStart()[i] + index[i] * getStep()[i]) * strides[i];
    copyElement(results[0], linear, in, from);
  });
  return success();
}

LogicalResult PadOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  // The result is zeros already; every element of the operand has one place in it.
  auto strides = results[0].strides();
  forEachIndex(operands[0]->shape, [&](ArrayRef<int64_t> index, int64_t linear) {
    int64_t to = 0;
    for (size_t i = 0; i < index.size(); ++i)
      to += (getLow()[i] + index[i] * (getInterior()[i] + 1)) * strides[i];
    copyElement(results[0], to, *operands[0], linear);
  });
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
  // Of a type of n bits, 2^(n-1) (or 2^n, unsigned) is exact as a double; the largest value of i64 is not.
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
