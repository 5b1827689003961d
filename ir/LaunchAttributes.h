//===- LaunchAttributes.h - Names of a launch list's attributes -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_LAUNCHATTRIBUTES_H
#define WEFT_IR_LAUNCHATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace weft::ir::attr {

/// Of a function: the names of its queues; absent if there is only one.
inline constexpr llvm::StringLiteral queues = "weft.queues";
/// Of a launch: the number of its captured region; none if absent.
inline constexpr llvm::StringLiteral capture = "weft.capture";
/// Of a result that has no storage of its own: the argument, or the earlier result, whose storage it shares.
inline constexpr llvm::StringLiteral aliasArgument = "weft.alias_of_argument",
                                     aliasResult = "weft.alias_of_result";

} // namespace weft::ir::attr

#endif // WEFT_IR_LAUNCHATTRIBUTES_H
