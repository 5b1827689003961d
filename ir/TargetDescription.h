//===- TargetDescription.h - What decisions know of a machine --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One description for cost models and schedules alike, read from ir/devices/NAME.txt when Weft is built. It
// describes a class of machines, never the compiling machine, so that a program compiles to the same bytes
// everywhere. Rates are per microsecond and times in picoseconds, all integers.
//
// A description is that of one kind of device. A program may have parts on several: which description belongs
// to which part is in ir/Target.h.
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

/// The fields are in the order in which the files have them.
struct TargetDescription {
  llvm::StringLiteral name; ///< "cpu", "sm_90"
  llvm::StringLiteral kind; ///< "cpu" or "cuda"
  // Time
  int64_t launchPs;        ///< the cost of one more launch
  int64_t dramBytesPerUs;  ///< all cores together
  int64_t mostBytesPerUs;  ///< the same of as many cores as there may be: the memory's own limit
  int64_t coreBytesPerUs;  ///< what one core alone can move
  int64_t cacheBytesPerUs; ///< one core, while the data fit `cacheBytes`
  int64_t cacheBytes;      ///< of the last level that a core has to itself
  int64_t cores;           ///< of a CPU, or multiprocessors
  int64_t coreFlopsPerUs;  ///< additions a core does on full vectors of f32
  // Limits of a kernel
  int64_t loopTaskElements; ///< elements from which a loop becomes one more task
  int64_t maxOperands;      ///< operands and results
  int64_t maxOps;           ///< ops of the body
  int64_t maxReductions;
  // Sizes that determine schedules
  int64_t lastLevelBytes; ///< shared by all cores; results larger than this bypass the cache
  int64_t scratchBytes;   ///< most that one thread, or block of threads, may keep beside its operands
  int64_t vectorBytes;    ///< the widest access of one thread: of a vector register, or of one load
  // Threads that share a task, and what they share; of a CPU there is one, and the rest is 0.
  int64_t warpThreads;         ///< that execute one instruction together
  int64_t blockThreads;        ///< most of a block
  int64_t coreWarps;           ///< most that are resident on a multiprocessor at a time,
  int64_t coreBlocks;          ///< and blocks of them
  int64_t coreRegisters;       ///< of 32 bits, shared by what is resident
  int64_t threadRegisters;     ///< most of one thread
  int64_t warpRegisterUnit;    ///< a warp gets a multiple of so many registers
  int64_t coreSharedBytes;     ///< shared memory of a multiprocessor
  int64_t blockSharedBytes;    ///< most of one block
  int64_t reservedSharedBytes; ///< what each block takes beside its own
  // The library of contractions: what it takes, for where none can be asked (ir/ContractionLibrary.h). Lists
  // are words with spaces between.
  llvm::StringLiteral library;          ///< "onednn", "cublaslt"
  llvm::StringLiteral libraryTypes;     ///< element types
  llvm::StringLiteral libraryLayouts;   ///< of a and b: "nn nt tn tt"
  llvm::StringLiteral libraryEpilogues; ///< "bias residual relu", applied in this order
  int64_t libraryLeastFlops;            ///< below it a kernel of Weft's own is faster
  int64_t libraryWorkspaceBytes;        ///< the most that a package reserves for it

  int64_t namedCores = 0; ///< of a CPU, where its name says how many: 16 of "cpu:16"

  bool isCpu() const { return kind == "cpu"; }
  /// "cpu", "x86-64-v4:16" or "cuda:sm_90".
  std::string fullName() const;
};

/// Most cores that a name may say.
inline constexpr int64_t mostCores = 1024;

/// The descriptions as the files have them.
llvm::ArrayRef<TargetDescription> descriptions();
/// The description of that name. Those of CUDA devices are "cuda:sm_90", or "sm_90" for short; a CPU may have
/// as many cores as its name says, "cpu:16", and then moves as many bytes as these can.
std::optional<TargetDescription> findDescription(llvm::StringRef name);
/// "cpu, .., cuda:sm_90, ..; a CPU with its cores, as cpu:16; ..", for messages.
std::string targetNames();
/// The description of programs for the host of any level.
const TargetDescription &cpuDescription();

/// Blocks of a kernel that are resident on a multiprocessor at a time, by the limits above. 0 where not even
/// one fits; `threads` of a block is at least 1.
int64_t residentBlocks(const TargetDescription &cuda, int64_t threads, int64_t registersPerThread,
                       int64_t sharedBytes);

} // namespace weft::ir

#endif // WEFT_IR_TARGETDESCRIPTION_H
