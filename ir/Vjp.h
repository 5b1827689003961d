//===- Vjp.h - Writes derivatives ------------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_VJP_H
#define WEFT_IR_VJP_H

#include "ir/Size.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

namespace weft::ir {

class VjpBuilder;

/// A tensor value in a derivative rule: `g * (1.0 - y * y)` builds the ops. A number becomes a constant of
/// the type of the other operand.
struct Sym {
  mlir::Value value;
  VjpBuilder *vjp = nullptr;
  explicit operator bool() const { return static_cast<bool>(value); }
  mlir::RankedTensorType type() const { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
};
Sym operator+(Sym a, Sym b);
Sym operator-(Sym a, Sym b);
Sym operator*(Sym a, Sym b);
Sym operator/(Sym a, Sym b);
Sym operator-(Sym a);
Sym operator+(Sym a, double b);
Sym operator-(Sym a, double b);
Sym operator-(double a, Sym b);
Sym operator*(Sym a, double b);

/// Collects the cotangents of one op's operands. Ops are built at the insertion point of `builder`, with the
/// forward op's location.
class VjpBuilder {
public:
  /// `cotangents` has one value per result, null for a result without a gradient; `needs` has one flag per
  /// operand.
  VjpBuilder(mlir::OpBuilder &builder, mlir::Operation *op, llvm::ArrayRef<mlir::Value> cotangents,
             llvm::ArrayRef<bool> needs);

  Sym operand(unsigned i) { return {op->getOperand(i), this}; }
  Sym result(unsigned i) { return {op->getResult(i), this}; }
  bool hasCotangent(unsigned i) const { return static_cast<bool>(cotangents[i]); }
  /// The cotangent of result i; zeros if it has no gradient.
  Sym cotangent(unsigned i);
  bool needs(unsigned i) const { return needed[i]; }
  void set(unsigned i, Sym cotangent);
  llvm::ArrayRef<mlir::Value> operandCotangents() const { return gradients; }

  template <typename Op, typename... Args> Sym make(Args &&...args) {
    return {builder.create<Op>(loc, std::forward<Args>(args)...)->getResult(0), this};
  }
  template <typename Op> Sym unary(Sym a) { return make<Op>(a.value); }
  template <typename Op> Sym binary(Sym a, Sym b) { return make<Op>(a.value, b.value); }
  template <typename Op> Sym compare(Sym a, Sym b) { return make<Op>(a.value, b.value); }
  Sym select(Sym condition, Sym a, Sym b);
  /// A constant of the type of `a`.
  Sym like(Sym a, double value);
  Sym convert(Sym a, mlir::Type element);
  Sym sum(Sym a, llvm::ArrayRef<int64_t> dims);
  Sym reshape(Sym a, llvm::ArrayRef<Size> shape);
  /// The same index, with a check that it is in [0, size). If it is not, computing this value fails the call,
  /// whatever other ops do with the index. The message calls the index `name`; if that is empty, it names
  /// dimension `dim`.
  Sym checkedIndex(Sym index, Size size, llvm::StringRef name, int64_t dim = 0);
  /// Inserts the dimensions that a reduction over `dims` removed, and broadcasts to `shape`.
  Sym broadcastBack(Sym a, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<Size> shape);

  mlir::OpBuilder &builder;
  mlir::Operation *op;
  mlir::Location loc;

private:
  llvm::SmallVector<mlir::Value> cotangents, gradients;
  llvm::SmallVector<bool> needed;
};

} // namespace weft::ir

#endif // WEFT_IR_VJP_H
