//===- Contraction.h - A contraction as one matrix product -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_CONTRACTION_H
#define WEFT_IR_CONTRACTION_H

#include "ir/ContractionLibrary.h"
#include "ir/Dialect.h"

#include <array>
#include <optional>

namespace weft::ir {

/// `batch` independent products of an m x k by a k x n matrix. Strides are in elements of row-major storage.
struct ContractionShape {
  Size batch = 1, m = 1, n = 1, k = 1;
  std::array<Size, 3> aStrides{}; ///< batch, m, k
  std::array<Size, 3> bStrides{}; ///< batch, k, n
  std::array<Size, 3> cStrides{}; ///< batch, m, n: the result is dense
};

/// The dimensions of an operand that are neither batch nor contracted, in order.
llvm::SmallVector<int64_t> getFreeDims(int64_t rank, llvm::ArrayRef<int64_t> batch,
                                       llvm::ArrayRef<int64_t> contract);

/// The extent and the stride of the single dimension that `dims` of row-major storage form, outermost first;
/// empty if they do not. Without dimensions, or with all of size 1, the stride is 0, because no step is ever
/// taken.
struct MergedDim {
  Size extent = 1, stride = 0;
};
std::optional<MergedDim> mergeDims(llvm::ArrayRef<Size> shape, llvm::ArrayRef<int64_t> dims);

/// Whether batch, free and contracted dimensions of an operand of this shape each have a single stride in
/// storage.
bool isContractible(llvm::ArrayRef<Size> shape, llvm::ArrayRef<int64_t> batch,
                    llvm::ArrayRef<int64_t> contract);

/// `op` as a batch of matrix products; empty if an operand must be transposed first, as
/// `--weft-canonicalize-contractions` does. A matrix dimension of size 1 gets the stride that makes the
/// matrix dense, so that a leading dimension derived from it is valid.
std::optional<ContractionShape> getContractionShape(DotGeneralOp op);

/// Whether a bias along the result's last dimension is a bias of the columns of the matrix product. It is not
/// if b has several free dimensions, or none, or if `op` is no matrix product.
bool takesBias(DotGeneralOp op);
/// The vector that `value` repeats along its last dimension, as a bias does, or null.
mlir::Value repeatedVector(mlir::Value value);

/// The description of a contraction for a library; empty if getContractionShape() is. `ranges` are those of
/// its function.
std::optional<ContractionSignature> getSignature(DotGeneralOp op, const SymbolRanges &ranges);
/// An answer as an attribute. Without a library, the name is "weft".
LibraryAttr recordAnswer(mlir::MLIRContext *context, const ContractionAnswer &answer);
/// The answer in an attribute.
ContractionAnswer readAnswer(LibraryAttr attr);

} // namespace weft::ir

#endif // WEFT_IR_CONTRACTION_H
