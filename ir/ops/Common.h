//===- Common.h - Helpers shared by the op families ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_OPS_COMMON_H
#define WEFT_IR_OPS_COMMON_H

#include "ir/Dialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace weft::ir {

/// Appends a type like that of `like`, with the dimensions `shape` and optionally another element type, after
/// checking that the sizes are valid for dimensions and that the bytes fit into 63 bits.
mlir::LogicalResult inferShaped(std::optional<mlir::Location> loc, llvm::StringRef op, mlir::Value like,
                                llvm::ArrayRef<Size> shape, llvm::SmallVectorImpl<mlir::Type> &types,
                                mlir::Type element = {});

/// Whether no size is a rounded quotient. `what` names the sizes, for example positions, in the error that is
/// emitted otherwise.
mlir::LogicalResult checkPolynomials(std::optional<mlir::Location> loc, llvm::StringRef op,
                                     llvm::StringRef what, llvm::ArrayRef<Size> sizes);

/// Whether every symbol of the function's types is declared, with a range for which all sizes are valid, and
/// is a dimension of an argument. Emits an error otherwise.
mlir::LogicalResult verifySymbols(FuncOp func);

/// Whether the symbols of sizes in an attribute of `op` are declared. Emits an error otherwise.
mlir::LogicalResult verifyDeclared(mlir::Operation *op, llvm::ArrayRef<Size> sizes);

/// 0, 1, .. rank-1.
llvm::SmallVector<int64_t> allDims(int64_t rank);

/// `shape` without the dimensions in `dims`.
llvm::SmallVector<Size> withoutDims(llvm::ArrayRef<Size> shape, llvm::ArrayRef<int64_t> dims);

/// Whether `dims` are distinct, increasing and in [0, rank). Emits an error otherwise.
mlir::LogicalResult checkDims(std::optional<mlir::Location> loc, llvm::StringRef op, llvm::StringRef what,
                              llvm::ArrayRef<int64_t> dims, int64_t rank);

/// The element type of sums and statistics over a tensor: f32 for f16 and bf16, otherwise its own.
mlir::Type statisticsType(mlir::RankedTensorType type);

/// A builder with the symbolic tensors of derivatives, for the decomposition of `op`.
VjpBuilder decompositionBuilder(mlir::OpBuilder &builder, mlir::Operation *op);

/// The results of a copy of `op` on the host, copied back to the device of `op`.
llvm::SmallVector<mlir::Value> computeOnHost(mlir::Operation *op, mlir::OpBuilder &builder);

/// The number of elements of `shape` over `dims`.
Size countOver(llvm::ArrayRef<Size> shape, llvm::ArrayRef<int64_t> dims);
/// That number as a tensor like `a`: a constant, or computed from `weft.dim` if a size is dynamic.
Sym countLike(VjpBuilder &v, Sym a, llvm::ArrayRef<Size> shape, llvm::ArrayRef<int64_t> dims);

} // namespace weft::ir

#endif // WEFT_IR_OPS_COMMON_H
