//===- DeviceText.cpp -----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/contractions/DeviceText.h"

#include "llvm/ADT/StringExtras.h"

#include <cassert>

namespace weft::codegen {

std::string fill(llvm::StringRef text, const Words &words) {
  std::string filled;
  while (!text.empty()) {
    const auto [before, rest] = text.split('$');
    filled += before;
    if (before.size() == text.size())
      break;
    const llvm::StringRef word = rest.take_while([](char c) { return llvm::isAlpha(c) || c == '_'; });
    // The longest word that is known begins here: `vector$X<` has no end of its own.
    size_t length = word.size();
    while (length && !words.count(word.take_front(length).str()))
      --length;
    assert(length && "a word of a text that nobody fills in");
    filled += words.at(word.take_front(length).str());
    text = rest.drop_front(length);
  }
  return filled;
}

} // namespace weft::codegen
