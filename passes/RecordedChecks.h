//===- RecordedChecks.h - Checks that outlive what they guard ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_RECORDEDCHECKS_H
#define WEFT_PASSES_RECORDEDCHECKS_H

#include "llvm/ADT/StringRef.h"

namespace weft::passes {

/// On a `weft.assert`: it stands for the check of an index that was recorded, from `weft-record-checks` until
/// `weft-settle-checks`.
inline constexpr llvm::StringLiteral recordedCheck = "weft.recorded_check";

} // namespace weft::passes

#endif // WEFT_PASSES_RECORDEDCHECKS_H
