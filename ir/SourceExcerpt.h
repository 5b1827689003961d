//===- SourceExcerpt.h - A source line in a message -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every message that quotes a source line uses this function. A generated line may have millions of
// characters, so a message shows only those around its column. Plain C++.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_SOURCEEXCERPT_H
#define WEFT_IR_SOURCEEXCERPT_H

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::ir {

/// The most characters of a line that a message shows, ellipses among them.
inline constexpr size_t longestExcerpt = 120;

struct SourceExcerpt {
  std::string text; ///< on one line, without tabs
  size_t caret = 0; ///< how many characters are before the marked one
};

/// The part of a line, in UTF-8, around `column`, which counts bytes from 1; 0 means the first. "..." stands
/// where something was left out.
SourceExcerpt sourceExcerpt(std::string_view line, size_t column);

} // namespace weft::ir

#endif // WEFT_IR_SOURCEEXCERPT_H
