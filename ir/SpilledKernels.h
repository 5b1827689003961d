//===- SpilledKernels.h - Own kernels that spilled before -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction or an attention op has no schedule in the IR: whoever needs its kernel chooses one, which is
// the same each time. What the choice depends on beside the op is an attribute of the op, as `spilled` is one
// of a fusion: `weft.spilled` lists the registers a thread of each kernel that was made of it before and
// spilled. Each further product of a contraction, `plus`, has an attribute of its own.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_SPILLEDKERNELS_H
#define WEFT_IR_SPILLEDKERNELS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace weft::ir {

inline std::string spilledName(unsigned product) {
  return product == 0 ? "weft.spilled" : "weft.spilled." + std::to_string(product);
}

/// The registers of the kernels of a product that spilled, those of the first schedule first.
inline llvm::ArrayRef<int64_t> spilledKernels(mlir::Operation *op, unsigned product = 0) {
  auto list = op->getAttrOfType<mlir::DenseI64ArrayAttr>(spilledName(product));
  return list ? list.asArrayRef() : llvm::ArrayRef<int64_t>();
}

inline void addSpilledKernel(mlir::Operation *op, unsigned product, int64_t registers) {
  llvm::SmallVector<int64_t> list(spilledKernels(op, product));
  list.push_back(registers);
  op->setAttr(spilledName(product), mlir::DenseI64ArrayAttr::get(op->getContext(), list));
}

} // namespace weft::ir

#endif // WEFT_IR_SPILLEDKERNELS_H
