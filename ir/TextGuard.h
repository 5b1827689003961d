//===- TextGuard.h - Bounds text before it is parsed -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's parser calls itself for every level of nesting, so that text of 200,000 brackets overflows the
// stack. This scan runs first, in constant stack, and refuses text whose parsing, printing or walking could
// recurse or grow without bound: brackets, chains of aliases (`#a1 = [#a0]`), aliases that double at each
// step, long expressions without separators, which affine maps parse by recursion, and numbers whose digits
// have no end. It also refuses text on which MLIR 19 crashes: sparse constants whose values have another
// type, and arrays of types that are no element types, or of i1 as numbers; no op takes any of these. The
// last case is a value that is used before and outside of the region that defines it: after a later error the
// parser frees the region first, and then the user of the value, which writes to the freed memory.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_TEXTGUARD_H
#define WEFT_IR_TEXTGUARD_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace weft::ir {

struct TextLimits {
  int64_t bytes = int64_t(1) << 29;  ///< of the whole text
  int64_t tokens = int64_t(1) << 26; ///< of the whole text, and of any alias written out in full
  int64_t depth = 128;               ///< of brackets, including those inside aliases
  int64_t run = 1024;                ///< of tokens between separators
  int64_t digits = 4096;             ///< of a number outside of strings, because parsing takes quadratic time
};

struct TextViolation {
  int64_t line = 1, column = 1;
  std::string message;
};

/// The first place where `text` goes beyond `limits`, if there is one.
std::optional<TextViolation> findTextViolation(llvm::StringRef text, const TextLimits &limits = {});

} // namespace weft::ir

#endif // WEFT_IR_TEXTGUARD_H
