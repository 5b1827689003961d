//===- SourceExcerpt.cpp - A source line in a message ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/SourceExcerpt.h"

#include <algorithm>

namespace weft::ir {

SourceExcerpt sourceExcerpt(std::string_view line, size_t column) {
  constexpr std::string_view ellipsis = "...";
  const auto beginsCharacter = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; };
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  const auto characters = [&](size_t bytes) {
    return static_cast<size_t>(
        std::count_if(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(bytes), beginsCharacter));
  };
  const size_t total = characters(line.size());
  const size_t wanted = characters(std::min(column > 0 ? column - 1 : 0, line.size()));
  size_t begin = 0, end = total;
  if (total > longestExcerpt) {
    begin = wanted > longestExcerpt / 2 ? wanted - longestExcerpt / 2 : 0;
    begin = std::min(begin, total - longestExcerpt);
    end = begin + longestExcerpt;
  }
  SourceExcerpt excerpt;
  excerpt.caret = wanted - begin;
  const size_t first = begin + (begin > 0 ? ellipsis.size() : 0);
  const size_t last = end - (end < total ? ellipsis.size() : 0);
  excerpt.text = begin > 0 ? ellipsis : std::string_view();
  size_t next = 0; // the number of the next character
  for (char byte : line) {
    next += beginsCharacter(byte);
    if (next > last)
      break;
    if (next > first)
      excerpt.text += static_cast<unsigned char>(byte) < 0x20 ? ' ' : byte;
  }
  excerpt.text += end < total ? ellipsis : std::string_view();
  return excerpt;
}

} // namespace weft::ir
