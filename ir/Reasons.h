//===- Reasons.h - The table of reason codes -------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The codes of errors, refusals and notes, each with a remedy. The rows are in Reasons.inc. docs/errors/ has
// a page for each code, and a test checks that sources, table and pages name the same codes.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_REASONS_H
#define WEFT_IR_REASONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace weft::ir {

struct Reason {
  llvm::StringLiteral code;   ///< "WEFT-C001"
  bool refusal;               ///< a strict mode makes it an error
  llvm::StringLiteral title;  ///< a few words
  llvm::StringLiteral remedy; ///< the remedy, as text after "to fix, "
  /// 'C' of "WEFT-C001".
  char family() const { return code[5]; }
};

/// All rows, in the order of the codes.
llvm::ArrayRef<Reason> reasons();
/// The row of a code, or null.
const Reason *findReason(llvm::StringRef code);
/// "placement" for 'P' and so on; empty for a letter that is no family.
llvm::StringRef familyName(char family);

/// The family that a strict mode makes errors: 'F' for "fusion", 'D' for "donate", 'C' for "capture", 'R' for
/// "recompile"; 0 for another word.
char strictFamily(llvm::StringRef mode);
llvm::StringRef strictModeOf(char family);
/// All strict modes, for messages.
llvm::StringRef strictModes();

} // namespace weft::ir

#endif // WEFT_IR_REASONS_H
