//===- Lexer.h - PTX text to tokens ----------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_LEXER_H
#define WEFT_TEST_CUDASIM_LEXER_H

#include "Syntax.h"

namespace weft::cudasim {

struct Token {
  enum class Kind : uint8_t { end, word, integer, real32, real64, text, symbol };
  Kind kind = Kind::end;
  char symbol = 0;
  int line = 0;
  std::string_view word; ///< names, opcodes with modifiers, directives with their dot
  uint64_t bits = 0;     ///< the value of a number
};

/// All tokens of a text, with one of kind end at the end.
std::vector<Token> tokenize(std::string_view text);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_LEXER_H
