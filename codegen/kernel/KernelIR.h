//===- KernelIR.h - The contract of kernel IR ------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What emitters make and what the code of every target is made from. A kernel module holds one public
// function
//
//   func.func @name(%b0: memref<?xf32>, ..., [%s0: index, ...,]
//                   %scratch: memref<?xi8>, %check: memref<3xi64>, %begin: index, %end: index)
//       attributes {weft.buffers = array<i64: ...>}
//
// in the dialects func, arith, math, scf, cf, memref and vector, and private helpers. `weft.buffers` says
// for each memref argument which of the launch's buffers it is; `index` arguments before `%scratch` are the
// launch's sizes in order. Where only the run says which buffer is meant, the kernel asks for it by its
// place among the buffers, and for one of the sizes by its own, from these declarations (the public function
// only):
//
//   func.func private @weft.buffer.f32(index) -> memref<?xf32>
//   func.func private @weft.size(index) -> index
//
// `%begin` and `%end` are tasks. `%scratch` belongs to whoever carries out a task: a thread of a CPU, or a
// block of threads. The function is run by each thread of a block; which one it is in, and where it waits for
// the others, is said by gpu.block_id, gpu.thread_id and gpu.barrier, which kernels of a CPU do not have.
//
// Elementary functions are ops of math until a target is known: codegen/math/ makes arithmetic of them, and
// of f64 calls of
//
//   func.func private @weft.import.exp(f64) -> f64
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_KERNEL_KERNELIR_H
#define WEFT_CODEGEN_KERNEL_KERNELIR_H

#include "weft/status.hpp"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace weft::codegen {

/// The kernel's function has this name in canonical text and in what is compiled from it; linking gives it
/// the name it is known by (codegen/cpu/LinkImage.h).
inline constexpr llvm::StringLiteral canonicalSymbol = "weft_kernel";

/// What kernel IR calls a buffer by its place, after this prefix any name, and a run-time size by its.
inline constexpr llvm::StringLiteral bufferPrefix = "weft.buffer.", sizeFunction = "weft.size";

/// The dialects of kernel IR.
void registerKernelDialects(mlir::DialectRegistry &registry);

/// Whether kernels that emitters make may have the op: what a printer of another language has to know. Text
/// that is compiled for a CPU may have any op of the dialects above.
bool isKernelOp(mlir::Operation *op);

/// The name of the module's public function; an error if the module breaks the contract above.
Expected<std::string> kernelSymbol(mlir::ModuleOp kernel);

/// The module as text without locations, its public function renamed to `symbol`.
Expected<std::string> canonicalKernelText(mlir::ModuleOp kernel, llvm::StringRef symbol = canonicalSymbol);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_KERNEL_KERNELIR_H
