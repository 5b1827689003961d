//===- Occurrences.h - How often a text has a word -*- C++ -*- ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_OCCURRENCES_H
#define WEFT_TEST_UNIT_OCCURRENCES_H

#include <cstddef>
#include <string>

namespace weft::test {

/// The number of occurrences of `word` in `text`, without overlaps.
inline size_t occurrences(const std::string &text, const std::string &word) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size())
    ++count;
  return count;
}

} // namespace weft::test

#endif // WEFT_TEST_UNIT_OCCURRENCES_H
