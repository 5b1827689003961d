//===- EmitKernel.h - A scheduled fusion as kernel IR ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_EMITKERNEL_H
#define WEFT_CODEGEN_EMIT_EMITKERNEL_H

#include "codegen/emit/KernelTarget.h"
#include "ir/Alignment.h"
#include "ir/Dialect.h"
#include "weft/status.hpp"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace weft::codegen {

/// The kernel of a fusion that has a schedule, in the form that codegen/kernel/KernelIR.h describes. The
/// gathers of the body report failures under the numbers `firstCheck`, `firstCheck + 1`, .. in op order. A
/// target without a skeleton for it is an error (WEFT-E009). `alignments` are those of the fusion's function.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> emitKernel(ir::FusionOp fusion, llvm::StringRef symbol,
                                                       const KernelTarget &target, int64_t firstCheck,
                                                       const ir::Alignments &alignments);
/// The same of a single fusion.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> emitKernel(ir::FusionOp fusion, llvm::StringRef symbol,
                                                       const KernelTarget &target, int64_t firstCheck = 1);

namespace detail {
/// \name Skeletons for every target
/// @{
Status emitLoop(KernelBuilder &kernel);
Status emitUpdate(KernelBuilder &kernel);
Status emitMultiTensor(KernelBuilder &kernel);
/// @}
} // namespace detail

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_EMITKERNEL_H
