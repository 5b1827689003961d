//===- TargetDescription.h - What decisions know of a machine --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One description for cost models and schedules alike, read from ir/devices/NAME.txt when Weft is built. It
// is that of a class of machines, never of the one that compiles, so that the same program compiles to the
// same bytes everywhere. Rates are per microsecond and times in picoseconds, all integers.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_TARGETDESCRIPTION_H
#define WEFT_IR_TARGETDESCRIPTION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace weft::ir {

inline constexpr int64_t psPerUs = 1'000'000;

/// The fields are in the order in which the files have them.
struct TargetDescription {
  llvm::StringLiteral name; ///< "cpu", "sm_90"
  llvm::StringLiteral kind; ///< "cpu" or "cuda"
  // Time
  int64_t launchPs;        ///< what one more launch costs
  int64_t dramBytesPerUs;  ///< all cores together
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
  // Sizes that schedules are chosen by
  int64_t lastLevelBytes; ///< shared by all cores; results larger than this bypass the cache
  int64_t scratchBytes;   ///< most that one thread, or block of threads, may keep beside its operands
  // The library of contractions: what it takes, for where none can be asked (ir/ContractionLibrary.h). Lists
  // are words with spaces between.
  llvm::StringLiteral library;          ///< "onednn", "cublaslt"
  llvm::StringLiteral libraryTypes;     ///< element types
  llvm::StringLiteral libraryLayouts;   ///< of a and b: "nn nt tn tt"
  llvm::StringLiteral libraryEpilogues; ///< "bias residual relu", applied in this order
  int64_t libraryLeastFlops;            ///< below it a kernel of Weft's own is faster
  int64_t libraryWorkspaceBytes;        ///< what a package reserves for it at most

  bool isCpu() const { return kind == "cpu"; }
};

/// All descriptions, by name.
llvm::ArrayRef<TargetDescription> targets();
/// The description of that name, or null. Those of CUDA devices are "cuda:sm_90", or "sm_90" for short.
const TargetDescription *findTarget(llvm::StringRef name);
/// "cpu, cuda:sm_80, ..", for messages.
std::string targetNames();
/// That of programs for the host of any level.
const TargetDescription &cpuTarget();

} // namespace weft::ir

#endif // WEFT_IR_TARGETDESCRIPTION_H
