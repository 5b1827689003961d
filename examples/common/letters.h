//===- letters.h - Texts as numbers --------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EXAMPLES_COMMON_LETTERS_H
#define WEFT_EXAMPLES_COMMON_LETTERS_H

#include <cstdint>
#include <string>
#include <vector>

namespace example {

/// A text, the characters that it has, sorted, and each character of the text as its number among these.
struct Letters {
  std::string text, letters;
  std::vector<int64_t> numbers;
};

/// The text of a file, of 10,000 characters or more; with an empty path 20,000 sums, a line each. Throws
/// weft::Error if the file cannot be read.
Letters read_letters(const std::string &path);

} // namespace example

#endif // WEFT_EXAMPLES_COMMON_LETTERS_H
