//===- TextDiff.h - Differences of two texts --------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILER_TEXTDIFF_H
#define WEFT_FRONTEND_COMPILER_TEXTDIFF_H

#include <string>
#include <string_view>
#include <vector>

namespace weft::frontend {

/// A line of two texts of the IR: in both (' '), in the old one only ('-'), or in the new one only ('+').
struct DiffLine {
  char sign;
  std::string_view text; ///< part of the old text for '-', of the new one otherwise
};

/// The lines of both texts in order, with as few differences as possible. Lines that differ only in the
/// numbers of values (%12) count as equal, because an added op renumbers all values after it. Texts that
/// differ in more than a few thousand lines are shown as one removed and one added.
std::vector<DiffLine> diffLines(std::string_view before, std::string_view after);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILER_TEXTDIFF_H
