//===- TargetDescription.h - Describes a device -----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The description of one kind of device, which cost models and schedules use. It is read from
// ir/devices/NAME.txt when Weft is built. It describes a class of machines and never the compiling machine,
// so a program compiles to the same bytes everywhere. Rates are per microsecond and times in picoseconds; all
// are integers. A program may have parts on several devices; ir/Target.h tells which description applies to
// which part.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_TARGETDESCRIPTION_H
#define WEFT_IR_TARGETDESCRIPTION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace weft::ir {

inline constexpr int64_t psPerUs = 1'000'000;

/// The fields are in the order of the files.
struct TargetDescription {
  llvm::StringLiteral name; ///< "cpu", "sm_90"
  llvm::StringLiteral kind; ///< "cpu" or "cuda"
  // Time
  int64_t launchPs;        ///< the cost of one more launch
  int64_t dramBytesPerUs;  ///< all cores together
  int64_t mostBytesPerUs;  ///< the limit of the memory, for any number of cores
  int64_t coreBytesPerUs;  ///< one core alone
  int64_t cacheBytesPerUs; ///< one core, if the data fit into `cacheBytes`
  int64_t cacheBytes;      ///< of the last cache level that is private to a core
  int64_t cores;           ///< cores of a CPU, or multiprocessors of a GPU
  int64_t coreFlopsPerUs;  ///< additions of one core, in full vectors of f32
  // Limits of a kernel
  int64_t loopTaskElements; ///< elements of a loop for each task that the cost model counts
  int64_t maxOperands;      ///< operands and results
  int64_t maxOps;           ///< ops of the body
  int64_t maxReductions;
  // Sizes that determine schedules
  int64_t lastLevelBytes; ///< shared by all cores; results larger than this bypass the cache
  int64_t scratchBytes;   ///< the most scratch memory of one thread, or of one block of threads
  int64_t vectorBytes;    ///< the widest access of one thread: a vector register, or one load
  // Threads that share a task, and their resources. For a CPU, a task has one thread, and the others are 0.
  int64_t warpThreads;         ///< threads that execute one instruction together
  int64_t blockThreads;        ///< the most threads of a block
  int64_t coreWarps;           ///< the most warps that are resident on a multiprocessor
  int64_t coreBlocks;          ///< the most blocks that are resident on a multiprocessor
  int64_t coreRegisters;       ///< 32-bit registers of a multiprocessor, shared by resident threads
  int64_t threadRegisters;     ///< the most registers of one thread
  int64_t warpRegisterUnit;    ///< a warp gets a multiple of this number of registers
  int64_t coreSharedBytes;     ///< shared memory of a multiprocessor
  int64_t blockSharedBytes;    ///< the most shared memory of one block
  int64_t reservedSharedBytes; ///< shared memory that each block needs in addition
  // The contractions that the device's library supports, for use when no library can be asked
  // (ir/ContractionLibrary.h). Lists are words separated by spaces.
  llvm::StringLiteral library;          ///< "onednn", "cublaslt"
  llvm::StringLiteral libraryTypes;     ///< element types
  llvm::StringLiteral convolutionTypes; ///< element types of which one launch computes a convolution
  llvm::StringLiteral libraryLayouts;   ///< of a and b: "nn nt tn tt"
  llvm::StringLiteral libraryEpilogues; ///< "bias residual relu", applied in this order,
  /// in these element types. Of a GPU's they are measured: bits as of single operations in f32, one rounding
  /// in halves, and NaN kept (test/cudasim/calibration).
  llvm::StringLiteral libraryEpilogueTypes;
  int64_t libraryLeastFlops;     ///< below it a kernel of Weft's own is faster
  int64_t libraryWorkspaceBytes; ///< the most that a package reserves for it

  int64_t namedCores = 0; ///< the number of cores in the name of a CPU: 16 for "cpu:16", 0 for "cpu"

  bool isCpu() const { return kind == "cpu"; }
  /// The architecture of a GPU, 90 for "sm_90"; 0 of a CPU.
  int64_t architecture() const;
  /// "cpu", "x86-64-v4:16" or "cuda:sm_90".
  std::string fullName() const;
};

/// The most cores that a name may have.
inline constexpr int64_t mostCores = 1024;

/// The descriptions of the files.
llvm::ArrayRef<TargetDescription> descriptions();
/// The description of that name. CUDA devices are named "cuda:sm_90", or "sm_90" for short. The name of a CPU
/// may have a number of cores, "cpu:16", which changes `cores` and the bytes that all cores can move.
std::optional<TargetDescription> findDescription(llvm::StringRef name);
/// "cpu, .., cuda:sm_90, ..; a CPU with its cores, as cpu:16; ..", for messages.
std::string targetNames();
/// The description of programs for the host of any level.
const TargetDescription &cpuDescription();

/// The number of blocks of a kernel that are resident on a multiprocessor at a time, by the limits above; 0
/// if not even one fits. A block has at least one thread.
int64_t residentBlocks(const TargetDescription &cuda, int64_t threads, int64_t registersPerThread,
                       int64_t sharedBytes);

} // namespace weft::ir

#endif // WEFT_IR_TARGETDESCRIPTION_H
