//===- letters.cpp - Texts as numbers ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "common/letters.h"

#include <weft/weft.hpp>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

namespace example {

static std::string textOf(const std::string &path) {
  std::ostringstream text;
  if (!path.empty()) {
    std::ifstream file(path);
    text << file.rdbuf();
    if (!file || text.str().size() < 10000)
      throw weft::Error("cannot read 10,000 characters from '" + path + "'");
    return text.str();
  }
  std::mt19937 random(0);
  for (int i = 0; i < 20000; ++i) {
    const unsigned a = random() % 100, b = random() % 100;
    text << a << '+' << b << '=' << a + b << '\n';
  }
  return text.str();
}

Letters read_letters(const std::string &path) {
  Letters made;
  made.text = made.letters = textOf(path);
  std::ranges::sort(made.letters);
  made.letters.erase(std::unique(made.letters.begin(), made.letters.end()), made.letters.end());
  for (const char letter : made.text)
    made.numbers.push_back(
        static_cast<int64_t>(std::ranges::lower_bound(made.letters, letter) - made.letters.begin()));
  return made;
}

} // namespace example
