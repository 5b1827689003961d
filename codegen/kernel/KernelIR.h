//===- KernelIR.h - The contract of kernel IR ------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emitters make kernel modules, from which the code of every target is generated. A kernel module has one
// public function
//
//   func.func @name(%b0: memref<?xf32>, ..., [%s0: index, ...,]
//                   %scratch: memref<?xi8>, %check: memref<3xi64>, %begin: index, %end: index)
//       attributes {weft.buffers = array<i64: ...>}
//
// in the dialects func, arith, math, scf, cf, memref and vector, and private helpers. `weft.buffers` has the
// index of the launch's buffer for each memref argument. The `index` arguments before `%scratch` are the
// launch's sizes, in order. If a buffer or a size is determined at run time, the public function gets it by
// its index from these declarations:
//
//   func.func private @weft.buffer.f32(index) -> memref<?xf32>
//   func.func private @weft.size(index) -> index
//
// `%begin` and `%end` are tasks. `%scratch` is the memory of a thread of a CPU, or of a block of threads.
// Each thread of a block runs the function, and uses gpu.block_id, gpu.thread_id, gpu.barrier and
// gpu.shuffle, which kernels of a CPU do not have; a group of gpu.shuffle is 2, 4, .. or 32 threads with
// neighbouring numbers, from a multiple of as many on. The attribute `weft.threads` has the number of threads
// of a block. Such a kernel computes its tasks from the block's number and does not use `%begin` and `%end`;
// a thread's scratch is a memref.alloca, as is the scratch that a block shares, in the address space
// workgroup; and a failed check, with its position and value, is a call of
//
//   func.func private @weft.fail(i64, i64, i64)
//
// An argument of such a kernel may have the attribute `llvm.align`: a power of two, in bytes, of which the
// buffer's address is a multiple; a result of a declaration `weft.buffer.f32` may have it for all buffers
// that it returns. Without it, the address is that of any element.
//
// A loop with the attribute `weft.rolled` is not unrolled.
//
// Elementary functions are ops of the math dialect. codegen/math/ expands them to arithmetic, and those of
// f64 to calls of
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

/// The name of the kernel's function in canonical text and in its object. Linking renames it to the symbol of
/// the launch (codegen/cpu/LinkImage.h).
inline constexpr llvm::StringLiteral canonicalSymbol = "weft_kernel";

/// The functions that return a buffer and a run-time size by index. Any name may follow the prefix.
inline constexpr llvm::StringLiteral bufferPrefix = "weft.buffer.", sizeFunction = "weft.size";

/// The function of blocks of threads that reports a failed check, the attribute with their number, and that
/// with the number of blocks which a multiprocessor holds, if the schedule says it.
inline constexpr llvm::StringLiteral failFunction = "weft.fail", threadsAttribute = "weft.threads",
                                     residentAttribute = "weft.resident";
/// The attribute of such a kernel that does nothing once its call has failed, because it writes an argument.
inline constexpr llvm::StringLiteral predicatedAttribute = "weft.predicated";
/// The attribute of a loop of such a kernel which is not to be unrolled.
inline constexpr llvm::StringLiteral rolledAttribute = "weft.rolled";
/// The attribute with the alignment of a buffer.
inline constexpr llvm::StringLiteral alignmentAttribute = "llvm.align";

/// The dialects of kernel IR, for a CPU and for blocks of threads.
void registerKernelDialects(mlir::DialectRegistry &registry);
void registerBlockKernelDialects(mlir::DialectRegistry &registry);

/// Whether emitters may use the op, so that a printer to another language must support it. Text that is
/// compiled for a CPU may have any op of the dialects above.
bool isKernelOp(mlir::Operation *op);

/// The name of the module's public function; an error if the module breaks the contract above.
Expected<std::string> kernelSymbol(mlir::ModuleOp kernel);

/// The module as text without locations, its public function renamed to `symbol`.
Expected<std::string> canonicalKernelText(mlir::ModuleOp kernel, llvm::StringRef symbol = canonicalSymbol);

/// What a KernelCompiler compiles, and the kernel's name for messages.
struct KernelText {
  std::string text, name;
};
/// A kernel's canonical text, which is the same for kernels that differ only in their names, and its own
/// name.
Expected<KernelText> namedKernelText(mlir::ModuleOp kernel);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_KERNEL_KERNELIR_H
