//===- DeviceCosts.h - Numbers of the machines that code is for -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What cost models may know of a target: a table, never the machine that compiles, so that the same program
// compiles to the same bytes everywhere. Rates are per microsecond and times in picoseconds, all integers.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_DEVICECOSTS_H
#define WEFT_IR_DEVICECOSTS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace weft::ir {

struct DeviceCosts {
  llvm::StringRef name;
  int64_t launchPs;        ///< what one more launch costs
  int64_t dramBytesPerUs;  ///< all cores together
  int64_t coreBytesPerUs;  ///< what one core alone can move
  int64_t cacheBytesPerUs; ///< one core, while the data fit `cacheBytes`
  int64_t cacheBytes;      ///< of the last level that a core has to itself
  int64_t cores;
  int64_t coreFlopsPerUs;   ///< additions a core does on full vectors of f32
  int64_t loopTaskElements; ///< elements from which a loop becomes one more task
  int64_t maxOperands;      ///< operands and results of a kernel
  int64_t maxOps;           ///< ops of a kernel's body
  int64_t maxReductions;    ///< reductions of a kernel
};

/// The entry of the table, or null for a target that is not in it.
const DeviceCosts *findDeviceCosts(llvm::StringRef name);
/// The names in the table, for messages.
llvm::StringRef deviceCostNames();

} // namespace weft::ir

#endif // WEFT_IR_DEVICECOSTS_H
