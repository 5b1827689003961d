//===- CrossEntropy.h - Losses whose targets are checked ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_CROSSENTROPY_H
#define WEFT_IR_CROSSENTROPY_H

#include "llvm/ADT/StringRef.h"

namespace weft::ir::attr {

/// Of a `weft.cross_entropy` whose targets are classes, or ignored: its caller has made sure of that, as
/// `weft-carry-checks` does. It cannot fail.
inline constexpr llvm::StringLiteral targetsInRange = "weft.targets_in_range";

} // namespace weft::ir::attr

#endif // WEFT_IR_CROSSENTROPY_H
