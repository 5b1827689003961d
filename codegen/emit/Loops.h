//===- Loops.h - Loop forms that schedules share ---------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_LOOPS_H
#define WEFT_CODEGEN_EMIT_LOOPS_H

#include "codegen/emit/KernelBuilder.h"

namespace weft::codegen {

/// Runs over [low, high) in vectors of `lanes` elements, then by single elements. `exact`: the extent is
/// known to be a multiple of `lanes`.
void strip(KernelBuilder &kernel, mlir::Value low, mlir::Value high, int64_t lanes, bool exact,
           llvm::function_ref<void(mlir::Value, bool vector)> body);

/// Emits the kernel's work with stores that bypass the cache if `streaming`, for results whose address allows
/// it: `emit` gets the results as vectors, or null for results with ordinary stores. Alignment is known only
/// at run time, so the work is then emitted twice.
void emitWithStreams(KernelBuilder &kernel, bool streaming, int64_t lanes,
                     llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)> emit);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_LOOPS_H
