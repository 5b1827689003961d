//===- AccessAlignments.h - Which accesses are aligned ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_ACCESSALIGNMENTS_H
#define WEFT_CODEGEN_CUDA_ACCESSALIGNMENTS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace weft::codegen {

/// Bytes: the alignment of memory that a kernel declares.
inline constexpr int64_t declaredAlignment = 16;

/// What is known of the addresses of a kernel's accesses: the alignment of its buffers, and powers of two
/// that divide its indices.
class AccessAlignments {
public:
  /// Whether the address of element `index` of `buffer`, whose elements have `itemBytes`, is known to be a
  /// multiple of `bytes`, a power of two.
  bool isAligned(mlir::Value buffer, mlir::Value index, int64_t itemBytes, int64_t bytes);

private:
  int64_t ofBuffer(mlir::Value buffer);
  int64_t ofIndex(mlir::Value index);
  int64_t computeIndex(mlir::Value index);
  int64_t ofHelperArgument(mlir::BlockArgument argument, bool isBuffer);

  llvm::DenseMap<mlir::Value, int64_t> known; ///< of indices
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_ACCESSALIGNMENTS_H
