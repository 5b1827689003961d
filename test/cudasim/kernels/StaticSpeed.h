//===- StaticSpeed.h - What can be said of a kernel's speed -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Figures of a program's kernels that no clock is needed for: sectors and bank conflicts, which the engine
// counts, and registers, shared and local memory, which ptxas reports. docs/cudasim.md says what they are.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_STATICSPEED_H
#define WEFT_TEST_CUDASIM_KERNELS_STATICSPEED_H

#include "CompileForCuda.h"

namespace weft::cudasim {

struct SpeedOptions {
  CudaOptions cuda;
  uint64_t mostBlocks = 32; ///< of a launch, that run
  uint64_t seed = 1;        ///< of the arguments' values
};

/// A table with a line for each kernel of the program, whose entry is `main`, and which it changes. Arguments
/// that are indices have random ones of all that are allowed. An access to local memory in the machine code
/// that ptxas does not report is an error.
Expected<std::string> staticSpeed(mlir::ModuleOp module, const SpeedOptions &options);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_STATICSPEED_H
