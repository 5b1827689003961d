//===- KernelLaunch.h - One launch of a kernel on the engine ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each memory that a launch refers to is an allocation of its own in the engine, as long as the plan says and
// with the address's own alignment, so that an access one byte outside of a buffer is found even if it would
// hit another buffer of the plan. Buffers that overlap in the plan are one allocation.
//
// A launch runs twice, in two orders of warps and blocks, which have to leave the same bytes. Memory that the
// kernel only writes has ones before the first run and zeros before the second, so that an element that no
// thread writes differs. Memory that it only reads has to stay as it was.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_KERNELLAUNCH_H
#define WEFT_TEST_CUDASIM_KERNELS_KERNELLAUNCH_H

#include "codegen/cuda/CudaCompiler.h"
#include "runtime/execution/FailureRecord.h"
#include "runtime/plan/DeviceImage.h"
#include "test/cudasim/engine/Engine.h"
#include "weft/status.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::cudasim {

/// A compiled kernel that the engine has read.
struct DeviceKernel {
  std::string symbol, ptx, cubin;
  std::string text; ///< CUDA C++, if the program was compiled with its texts
  codegen::CudaResources resources;
  std::shared_ptr<Module> module;
  std::vector<int64_t> slots; ///< the launch's buffer that each pointer among the parameters is
  uint32_t sizeCount = 0;     ///< parameters that are sizes of the launch
  /// The kernel of the package's image, which is kept; null of one that is in none.
  const fb::DeviceKernel *packed = nullptr;
  std::shared_ptr<const runtime::DeviceImage> image;
  uint32_t threads = 0;       ///< of a block
  int64_t blockTasks = 1;     ///< tasks of a block
  uint32_t dynamicShared = 0; ///< bytes
  bool usesTable = false, usesChecks = false, usesPredicate = false;
};

/// An error if the kernel keeps registers in local memory.
Status checkSpills(const DeviceKernel &kernel, const std::string &target);

struct CallOperand {
  std::byte *data = nullptr; ///< memory of the host that stands for the device's
  uint64_t bytes = 0;
  bool written = false;
};

struct KernelCall {
  std::vector<CallOperand> operands; ///< in the launch's order
  std::span<const int64_t> sizes;    ///< of the launch, or its table
  int64_t tasks = 0;
  runtime::FailureRecord *failure = nullptr; ///< null if nothing of the function may fail
  uint64_t launchKey = 0;                    ///< the launch, in its bits of a key
  int64_t firstCheck = 0;
  uint32_t checkBits = 0;
};

/// What is changed on purpose in one launch, so that a test shows that it is found.
enum class Spoil {
  nothing,
  bit,  ///< the lowest bit of the last byte that it wrote
  bound ///< the last byte of its largest result, or of its largest operand, is outside of memory
};

struct RunStyle {
  bool race = false;
  uint64_t seed = 0;                        ///< of the second order
  uint64_t budget = LaunchOptions().budget; ///< steps of each run
  Spoil spoil = Spoil::nothing;
};

/// What launches came to.
struct LaunchNotes {
  uint64_t steps = 0; ///< of all runs
  /// The first read that a launch must not depend on, because it races with a write of the same block; empty
  /// if there is none.
  std::string racyRead;
  /// An error with that read, which may be its reason.
  Status explain(const Status &error) const;
};

/// Runs a launch; what it wrote is then in the operands, and a violation in the record. An error is a fault
/// of the engine, or a difference between the two orders. Adds to the notes.
Status runKernel(const DeviceKernel &kernel, const KernelCall &call, const RunStyle &style,
                 LaunchNotes &notes);

/// Runs at most so many blocks of a launch, once, and counts what they move. What they wrote is then in the
/// operands, and zeros are where the others would have written.
Expected<Traffic> countTraffic(const DeviceKernel &kernel, const KernelCall &call, uint64_t mostBlocks);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_KERNELLAUNCH_H
