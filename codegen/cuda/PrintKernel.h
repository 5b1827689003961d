//===- PrintKernel.h - Kernel IR as CUDA C++ -------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text depends on the kernel IR alone, includes no header, and means the same with NVRTC's
// `-fmad=false`: a product and a sum are one operation only where the kernel IR says so (`math.fma`, or both
// ops with the flag `contract`). Elementary functions become device functions with the arithmetic that
// kernels of a CPU have, so that f32 gives the same bits; those of f64 call CUDA's.
//
// The parameters of the kernel are, in this order:
//
//   T *b0, ..           the buffers that `weft.buffers` lists; const where the kernel only reads
//   long long n0, ..    the sizes of the launch
//   weft_reciprocal r0, ..
//                       one of each size that the kernel divides indices by
//   void *const *buffers, const long long *sizes
//                       the table of the launch, if the kernel has calls of @weft.buffer or @weft.size
//   weft_checks checks  if the kernel has calls of @weft.fail
//
// A grid has a block for as many tasks as the block does. The kernel uses neither `%begin` nor `%end`.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_PRINTKERNEL_H
#define WEFT_CODEGEN_CUDA_PRINTKERNEL_H

#include "ir/Size.h"
#include "weft/status.hpp"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace weft::codegen {

/// A kernel as text, and what its launch has to know.
struct CudaText {
  std::string text;
  int64_t threads = 0;       ///< of a block
  int64_t dynamicShared = 0; ///< bytes of shared memory that a launch asks for, beside what the text declares
  bool usesTable = false, usesChecks = false, usesPredicate = false;
  llvm::SmallVector<ir::Size> divisors; ///< sizes of r0, .., over symbols n0, ..
};

/// Prints a kernel module, which it changes. The kernel has the attribute `weft.threads`. An error names an
/// op that CUDA C++ has no form for, with its location.
Expected<CudaText> printCuda(mlir::ModuleOp kernel);

/// The device functions of elementary functions of f32, as "exp", which are named `weft_exp_f32`. They are
/// the arithmetic of codegen/math/, as in kernels that are printed.
Expected<std::string> elementaryFunctions(llvm::ArrayRef<llvm::StringRef> names);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_PRINTKERNEL_H
