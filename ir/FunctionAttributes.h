//===- FunctionAttributes.h - Attributes of functions -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_FUNCTIONATTRIBUTES_H
#define WEFT_IR_FUNCTIONATTRIBUTES_H

#include "ir/ArgumentRole.h"
#include "ir/Dialect.h"

namespace weft::ir {

namespace attr {
/// Of an argument: the strides, in elements, of the tensor that calls pass. After weft-normalize-layouts the
/// argument's type is that of the underlying row-major memory; then `callerShape` is the shape of the tensor.
inline constexpr llvm::StringLiteral strides = "weft.strides", callerShape = "weft.shape";
/// Of an argument: a number of bytes that its address is a multiple of in each call (ir/Alignment.h).
inline constexpr llvm::StringLiteral alignment = "weft.alignment";
/// Of a function: "eager" or "fast". docs/numerics.md lists the deviations that "fast" allows.
inline constexpr llvm::StringLiteral numerics = "weft.numerics";
/// Of a fusion under fast numerics: its kernel may round a * b + c once.
inline constexpr llvm::StringLiteral contract = "contract";
/// Of a `weft.assert` that `weft-record-checks` made for the check of an index, until `weft-elide-checks`.
inline constexpr llvm::StringLiteral recordedCheck = "weft.recorded_check";
} // namespace attr

/// The role of an argument; empty if the attribute names no role, which is a verifier error.
inline std::optional<ArgumentRole> roleOf(FuncOp func, unsigned argument) {
  // Read the attributes directly: MLIR's function interface is slow for thousands of arguments.
  std::optional<mlir::ArrayAttr> all = func.getArgAttrs();
  mlir::Attribute role =
      all ? llvm::cast<mlir::DictionaryAttr>((*all)[argument]).get(attr::role) : mlir::Attribute();
  if (!role)
    return ArgumentRole::argument;
  auto word = llvm::dyn_cast<mlir::StringAttr>(role);
  return word ? parseArgumentRole(word.getValue()) : std::nullopt;
}

/// Whether the function that `op` is, or is in, has fast numerics.
inline bool hasFastNumerics(mlir::Operation *op) {
  auto func = llvm::dyn_cast<FuncOp>(op);
  auto mode = (func ? func : op->getParentOfType<FuncOp>())->getAttrOfType<mlir::StringAttr>(attr::numerics);
  return mode && mode.getValue() == "fast";
}

} // namespace weft::ir

#endif // WEFT_IR_FUNCTIONATTRIBUTES_H
