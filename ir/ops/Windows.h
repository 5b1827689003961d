//===- Windows.h - How many windows fit -------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_OPS_WINDOWS_H
#define WEFT_IR_OPS_WINDOWS_H

#include "ir/Dialect.h"
#include "ir/Vjp.h"

namespace weft::ir {

/// Windows along one dimension: window n has the elements n stride + s dilation, for s in [0, size).
struct WindowPlaces {
  Size whole, size;
  int64_t stride = 1, dilation = 1;

  /// The elements from the first to the last of a window.
  Size extent() const { return (size - 1) * dilation + 1; }
};

/// How many windows fit. Emits an error that names the `i`-th windowed dimension if there is no such number.
/// Whether dynamic sizes leave room for a window is checked by `verifyWindowsFit`, which knows their ranges.
mlir::FailureOr<Size> countWindows(std::optional<mlir::Location> loc, llvm::StringRef op, size_t i,
                                   const WindowPlaces &places);

/// Whether at least one window fits for all values of the symbols. Emits an error otherwise.
mlir::LogicalResult verifyWindowsFit(mlir::Operation *op, size_t i, const WindowPlaces &places);

/// The element type in which elements of a tensor are added: f32 for f16 and bf16, otherwise its own.
mlir::Type sumType(mlir::RankedTensorType type);

/// `weft.pad` with zeros, if it changes anything.
Sym padded(Sym a, llvm::ArrayRef<Size> low, llvm::ArrayRef<Size> high, llvm::ArrayRef<int64_t> interior);

} // namespace weft::ir

#endif // WEFT_IR_OPS_WINDOWS_H
