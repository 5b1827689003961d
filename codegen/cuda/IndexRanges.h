//===- IndexRanges.h - Bounds of the indices of a kernel -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_INDEXRANGES_H
#define WEFT_CODEGEN_CUDA_INDEXRANGES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace weft::codegen {

/// The values from `low` to `high`. Both are far from the limits of 64 bits, so that their sums do not
/// overflow; products are computed in 128 bits.
struct IndexRange {
  int64_t low, high;
};

/// Ranges by interval arithmetic over constants, sizes of blocks and grids, and loops.
class IndexRanges {
public:
  /// The range of a value, or none if it is not known.
  std::optional<IndexRange> of(mlir::Value value);

private:
  using Known = std::optional<IndexRange>;
  static Known make(__int128 low, __int128 high);
  static Known merge(Known a, Known b);
  Known compute(mlir::Value value);
  Known ofConstant(mlir::arith::ConstantOp op);
  Known ofSelect(mlir::arith::SelectOp op);
  Known ofBinary(mlir::Operation *op);
  Known ofQuotient(mlir::Operation *op, bool isRemainder);
  Known ofLoopVariable(mlir::scf::ForOp loop);

  llvm::DenseMap<mlir::Value, Known> known;
};

/// Whether every value of type `index` in the module, and every value that the variable of a loop takes, is
/// known to fit into 32 bits. A kernel with dynamic sizes has indices of unknown size.
bool fitsIndex32(mlir::ModuleOp kernel);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_INDEXRANGES_H
