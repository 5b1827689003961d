//===- SingleIterations.h - Loops that run at most once --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_SINGLEITERATIONS_H
#define WEFT_CODEGEN_CUDA_SINGLEITERATIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace weft::codegen {

/// Makes a condition of each loop that has at most one iteration, as the loop over the part of a block in
/// which each thread has one place. NVRTC does not see that, and unrolls such a loop four times, which takes
/// up to half of the time to compile a kernel.
void replaceSingleIterations(mlir::ModuleOp kernel);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_SINGLEITERATIONS_H
