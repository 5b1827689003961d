//===- KernelTexts.h - The CUDA C++ of programs, many in one text -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Half of what NVRTC takes for a kernel is what it takes for an empty text, so that tests compile many
// kernels as one.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_KERNELTEXTS_H
#define WEFT_TEST_CUDASIM_KERNELS_KERNELTEXTS_H

#include "CompileForCuda.h"

#include "codegen/cuda/Nvrtc.h"

#include "llvm/ADT/ArrayRef.h"

namespace weft::cudasim {

/// A kernel of a program, with the schedule that was chosen first.
struct KernelOfProgram {
  std::string text;
  DeviceKernel kernel;  ///< its symbol, and what a launch asks for
  int64_t resident = 0; ///< blocks that its schedule says are resident; 0 if it says nothing
};

/// Takes a program through the pipeline, which changes it, and prints its kernels.
Expected<std::vector<KernelOfProgram>> kernelsOf(mlir::ModuleOp module, const CudaOptions &options,
                                                 const ir::Target &target);

/// More kernels in a text are no faster, and a failure names all of them.
inline constexpr size_t mostTogether = 32;

/// Compiles texts of one kernel each as one text. A result has the PTX of its kernel, what ptxas says of
/// that, and no machine code.
Expected<std::vector<codegen::CudaBinary>> compileTogether(const codegen::Nvrtc &nvrtc,
                                                           llvm::ArrayRef<std::string> options,
                                                           llvm::ArrayRef<llvm::StringRef> texts);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_KERNELTEXTS_H
