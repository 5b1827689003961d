//===- IndexRanges.h - Bounds of the indices of a kernel -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_INDEXRANGES_H
#define WEFT_CODEGEN_CUDA_INDEXRANGES_H

#include "mlir/IR/BuiltinOps.h"

namespace weft::codegen {

/// Whether every value of type `index` in the module, and every value that the variable of a loop takes, is
/// known to fit into 32 bits. The bounds are those of interval arithmetic over constants, sizes of blocks and
/// grids, and loops. A kernel with dynamic sizes has indices of unknown size.
bool fitsIndex32(mlir::ModuleOp kernel);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_INDEXRANGES_H
