//===- Literal.cpp - Rounding, wrapping, and memory ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/interp/Literal.h"
#include "ir/Dialect.h"

#include "llvm/ADT/APFloat.h"
#include <cstring>

using namespace mlir;
namespace weft::ir {

namespace {

/// The formats that a double does not convert to with a cast.
const llvm::fltSemantics &halfSemantics(DType dtype) {
  return dtype == DType::bf16 ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf();
}

llvm::APFloat toHalf(DType dtype, double value) {
  llvm::APFloat half(value);
  bool losesInfo = false;
  half.convert(halfSemantics(dtype), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return half;
}

template <typename T> T load(const void *data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T> void store(void *data, int64_t index, T value) {
  std::memcpy(static_cast<char *>(data) + index * sizeof(T), &value, sizeof(T));
}

} // namespace

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

double roundTo(DType dtype, double value) {
  switch (dtype) {
  case DType::f16:
  case DType::bf16:
    return toHalf(dtype, value).convertToDouble();
  case DType::f32:
    return static_cast<float>(value);
  default:
    return value;
  }
}

double roundWholeTo(DType dtype, int64_t value) {
  switch (dtype) {
  case DType::f16:
  case DType::bf16: {
    llvm::APFloat half(halfSemantics(dtype));
    half.convertFromAPInt(llvm::APInt(64, static_cast<uint64_t>(value), /*isSigned=*/true), /*IsSigned=*/true,
                          llvm::APFloat::rmNearestTiesToEven);
    return half.convertToDouble();
  }
  case DType::f32:
    return static_cast<float>(value);
  default:
    return static_cast<double>(value);
  }
}

int64_t wrapTo(DType dtype, int64_t value) {
  switch (dtype) {
  case DType::i1:
    return value & 1;
  case DType::i8:
    return static_cast<int8_t>(value);
  case DType::i16:
    return static_cast<int16_t>(value);
  case DType::i32:
    return static_cast<int32_t>(value);
  case DType::ui8:
    return static_cast<uint8_t>(value);
  default:
    return value;
  }
}

//===----------------------------------------------------------------------===//
// Literal
//===----------------------------------------------------------------------===//

Literal::Literal(DType dtype, ArrayRef<int64_t> shape) : dtype(dtype), shape(shape.begin(), shape.end()) {
  if (isReal())
    real.assign(count(), 0.0);
  else
    whole.assign(count(), 0);
}

Literal::Literal(RankedTensorType type) : Literal(dtypeOf(type), type.getShape()) {}

int64_t Literal::count() const {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

std::vector<int64_t> Literal::strides() const {
  std::vector<int64_t> result(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    result[i] = stride;
    stride *= shape[i];
  }
  return result;
}

void Literal::setReal(int64_t index, double value) { real[index] = roundTo(dtype, value); }
void Literal::setWhole(int64_t index, int64_t value) { whole[index] = wrapTo(dtype, value); }

Literal Literal::fromBytes(DType dtype, ArrayRef<int64_t> shape, const void *data) {
  Literal result(dtype, shape);
  for (int64_t i = 0, e = result.count(); i < e; ++i) {
    switch (dtype) {
    case DType::i1:
      result.whole[i] = load<uint8_t>(data, i) != 0;
      break;
    case DType::i8:
      result.whole[i] = load<int8_t>(data, i); // NOLINT(bugprone-signed-char-misuse): it is a signed number
      break;
    case DType::i16:
      result.whole[i] = load<int16_t>(data, i);
      break;
    case DType::i32:
      result.whole[i] = load<int32_t>(data, i);
      break;
    case DType::i64:
      result.whole[i] = load<int64_t>(data, i);
      break;
    case DType::ui8:
      result.whole[i] = load<uint8_t>(data, i);
      break;
    case DType::f16:
    case DType::bf16:
      result.real[i] =
          llvm::APFloat(halfSemantics(dtype), llvm::APInt(16, load<uint16_t>(data, i))).convertToDouble();
      break;
    case DType::f32:
      result.real[i] = load<float>(data, i);
      break;
    case DType::f64:
      result.real[i] = load<double>(data, i);
      break;
    }
  }
  return result;
}

void Literal::toBytes(void *data) const {
  for (int64_t i = 0, e = count(); i < e; ++i) {
    switch (dtype) {
    case DType::i1:
    case DType::i8:
    case DType::ui8:
      store(data, i, static_cast<uint8_t>(whole[i]));
      break;
    case DType::i16:
      store(data, i, static_cast<int16_t>(whole[i]));
      break;
    case DType::i32:
      store(data, i, static_cast<int32_t>(whole[i]));
      break;
    case DType::i64:
      store(data, i, whole[i]);
      break;
    case DType::f16:
    case DType::bf16:
      store(data, i, static_cast<uint16_t>(toHalf(dtype, real[i]).bitcastToAPInt().getZExtValue()));
      break;
    case DType::f32:
      store(data, i, static_cast<float>(real[i]));
      break;
    case DType::f64:
      store(data, i, real[i]);
      break;
    }
  }
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

void forEachIndex(ArrayRef<int64_t> shape, llvm::function_ref<void(ArrayRef<int64_t>, int64_t)> body) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t linear = 0;; ++linear) {
    body(index, linear);
    // Counts up like an odometer; running over the first dimension ends it.
    size_t dim = shape.size();
    while (dim > 0 && ++index[dim - 1] == shape[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

} // namespace weft::ir
