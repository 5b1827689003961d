//===- Literal.h - A tensor on the host, in double precision ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_INTERP_LITERAL_H
#define WEFT_IR_INTERP_LITERAL_H

#include "weft/dtype.hpp"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/FunctionExtras.h"
#include <vector>

namespace weft::ir {

/// A row-major tensor whose floating-point elements are doubles that are exact in `dtype`, and whose integers
/// are 64-bit. Only the vector that fits the dtype is filled.
struct Literal {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<double> real;
  std::vector<int64_t> whole;

  Literal() = default;
  /// Zeros.
  Literal(DType dtype, llvm::ArrayRef<int64_t> shape);
  explicit Literal(mlir::RankedTensorType type);

  bool isReal() const { return is_floating_point(dtype); }
  int64_t count() const;
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  /// Row-major strides, in elements.
  std::vector<int64_t> strides() const;
  /// Stores a value as a number of `dtype`: rounded to nearest even, or wrapped.
  void setReal(int64_t index, double value);
  void setWhole(int64_t index, int64_t value);

  /// Conversion from and to the memory of a row-major tensor.
  static Literal fromBytes(DType dtype, llvm::ArrayRef<int64_t> shape, const void *data);
  void toBytes(void *data) const;
};

/// `value` rounded to the type, to nearest even, as a double.
double roundTo(DType dtype, double value);
/// `value` wrapped to the type's width; i1 keeps its lowest bit.
int64_t wrapTo(DType dtype, int64_t value);

/// Calls `body(index, linear)` for every index of `shape` in row-major order.
void forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>, int64_t)> body);

inline int64_t wrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrapSub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
/// a^b; a negative exponent gives 0 unless the base is 1 or -1.
inline int64_t wrapPow(int64_t a, int64_t b) {
  if (b < 0)
    return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  int64_t result = 1;
  for (; b != 0; b /= 2, a = wrapMul(a, a))
    if (b % 2 != 0)
      result = wrapMul(result, a);
  return result;
}

/// The reference rule of an elementwise op. The result of a comparison of reals is an integer.
template <typename Real, typename Whole>
mlir::LogicalResult interpretElementwise(mlir::Operation *, Real real, Whole whole,
                                         llvm::ArrayRef<const Literal *> in, Literal &out) {
  auto at = [&](size_t i) { return in[i < in.size() ? i : 0]; };
  bool realIn = in[0]->isReal();
  for (int64_t i = 0, e = out.count(); i < e; ++i) {
    if (realIn) {
      double value = real(at(0)->real[i], at(1)->real[i], at(2)->real[i]);
      if (out.isReal())
        out.setReal(i, value);
      else
        out.setWhole(i, value != 0);
    } else {
      out.setWhole(i, whole(at(0)->whole[i], at(1)->whole[i], at(2)->whole[i]));
    }
  }
  return mlir::success();
}

} // namespace weft::ir

#endif // WEFT_IR_INTERP_LITERAL_H
