//===- CudaHarness.h - Kernels of fusions on the PTX engine -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_CODEGEN_CUDAHARNESS_H
#define WEFT_TEST_UNIT_CODEGEN_CUDAHARNESS_H

#include "codegen/cuda/CudaCompiler.h"
#include "ir/Dialect.h"
#include "ir/TargetDescription.h"
#include "test/cudasim/engine/Engine.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::testing {

/// The description of cuda:sm_90.
const ir::TargetDescription &hopper();

/// Why this process cannot compile kernels and run them on the engine; empty if it can.
std::string whyNoEngine();

/// The kernel IR of a fusion with a schedule for sm_90. Null fails the test.
mlir::OwningOpRef<mlir::ModuleOp> emitForHopper(ir::FusionOp fusion);

/// A kernel for sm_90, compiled by NVRTC and read by the engine.
struct EngineKernel {
  std::unique_ptr<cudasim::Module> module;
  codegen::CudaKernel kernel;
  mlir::SmallVector<int64_t> slots; ///< the buffer of each pointer among the parameters
};

/// None fails the test.
std::optional<EngineKernel> compileForEngine(ir::FusionOp fusion);

/// In which order warps and blocks run, and whether races are looked for.
struct EngineMode {
  cudasim::Order order;
  bool race;
  std::string str() const;
};

/// Each order with and without race mode.
std::span<const EngineMode> everyEngineMode();

/// The bytes of the parameters of a launch.
class KernelParameters {
public:
  void add(uint64_t word);
  std::vector<std::byte> bytes;
};

/// Loads the kernel into `memory`, and runs these blocks of it.
cudasim::LaunchResult launchBlocks(const EngineKernel &kernel, cudasim::Memory &memory, int64_t blocks,
                                   const EngineMode &mode, const KernelParameters &parameters);

} // namespace weft::testing

#endif // WEFT_TEST_UNIT_CODEGEN_CUDAHARNESS_H
