//===- CompileForCuda.h - Programs with kernels for the engine ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_COMPILEFORCUDA_H
#define WEFT_TEST_CUDASIM_KERNELS_COMPILEFORCUDA_H

#include "KernelLaunch.h"

#include "codegen/Compile.h"
#include "ir/Dialect.h"
#include "runtime/package/Package.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace weft::cudasim {

/// A program that was compiled for a GPU, as `weft compile` does it.
struct CudaProgram {
  std::shared_ptr<const runtime::Package> package;
  std::string target;                          ///< of the package's plans, "cuda:sm_90"
  std::map<std::string, DeviceKernel> kernels; ///< of the package's device, by symbol
  /// By result of `main`: whether it has to have the bits that the CPU gives. It has not if it depends on
  /// a sum of floats, whose order is the target's own, on a product, or on a function of f64, which the
  /// vendor's library computes.
  std::vector<bool> exact;
  unsigned compiled = 0; ///< kernels that no cache had
  unsigned fallbacks = 0;
};

struct CudaOptions {
  std::string target = "cuda:sm_90";
  int64_t memoryLimit = -1;
  unsigned threads = 2;   ///< that compile kernels
  bool texts = false;     ///< keep the CUDA C++ of kernels
  bool fallbacks = false; ///< every kernel is that of one thread a task
};

/// The target that the options name, which has a GPU.
Expected<ir::Target> targetOf(const CudaOptions &options);
/// Takes a program of the host through the pipeline for `cuda:0`. Gives the options that it was taken with.
Expected<ir::CompilerOptions> lowerForCuda(mlir::ModuleOp module, const CudaOptions &options,
                                           const ir::Target &target);
/// How many blocks the schedule of a fusion says are resident on a multiprocessor, at least.
int64_t residentBlocksOf(ir::FusionOp fusion);
/// An error if a kernel spills registers, or so few blocks of it are resident on a multiprocessor.
Status checkRegisters(const DeviceKernel &kernel, int64_t least, const ir::TargetDescription &device);

/// Compiles a program of the host for `cuda:0`, and changes the module.
Expected<std::unique_ptr<CudaProgram>> compileForCuda(mlir::ModuleOp module, const CudaOptions &options);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_COMPILEFORCUDA_H
