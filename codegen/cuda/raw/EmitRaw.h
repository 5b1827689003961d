//===- EmitRaw.h - The kernels of a program that the user wrote -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_RAW_EMITRAW_H
#define WEFT_CODEGEN_CUDA_RAW_EMITRAW_H

#include "codegen/cuda/CudaCompiler.h"
#include "ir/Dialect.h"
#include "ir/Target.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace weft::codegen {

/// A kernel of the user that a program launches.
struct EmittedRaw {
  std::string symbol, entry, text;
  uint32_t threads = 0, sharedBytes = 0; ///< the most of its launches
  std::vector<ir::RawKernelOp> uses;
  std::vector<std::string> lines; ///< where its ops are from, each line once
};

/// The kernels of a module after the pipeline that are on a GPU of this target, each text and entry once.
std::vector<EmittedRaw> emitRawKernels(mlir::ModuleOp module, const ir::Target &target);

/// The code of such a kernel, and the bytes of each of its parameters.
struct RawCode {
  CudaKernel kernel;
  std::vector<uint32_t> parameters;
};

/// Compiles a kernel, or takes it from the cache, and checks each launch of it: an error names the line of
/// the launch, what the text is wrong in, or which parameter or which number does not fit.
Expected<RawCode> compileRaw(const EmittedRaw &kernel, const ir::TargetDescription &device);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_RAW_EMITRAW_H
