//===- Target.h - What decisions know about a machine ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_TARGET_H
#define WEFT_IR_TARGET_H

#include <cstdint>

namespace weft::ir {

/// Sizes that schedules are chosen by. They are those of a class of machines, never of the one that compiles:
/// the same program gives the same plan everywhere.
struct TargetInfo {
  int64_t l1Bytes = 32 << 10;        ///< data cache of one core
  int64_t l2Bytes = 1 << 20;         ///< of one core
  int64_t lastLevelBytes = 16 << 20; ///< shared; results larger than this bypass the cache
  int64_t scratchBytes = 256 << 10;  ///< most that one thread may keep beside its operands

  static TargetInfo cpu() { return {}; }
};

} // namespace weft::ir

#endif // WEFT_IR_TARGET_H
