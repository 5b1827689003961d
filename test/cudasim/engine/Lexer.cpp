//===- Lexer.cpp - PTX text to tokens ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lexer.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace weft::cudasim {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool startsWord(char c) { return isLetter(c) || c == '_' || c == '$' || c == '%' || c == '.'; }
bool continuesWord(char c) { return startsWord(c) || isDigit(c); }

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    do
      tokens.push_back(next());
    while (tokens.back().kind != Token::Kind::end);
    return tokens;
  }

private:
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }

  void skipBlanks() {
    while (at < text.size()) {
      if (text[at] == '\n')
        ++line, ++at;
      else if (text[at] == ' ' || text[at] == '\t' || text[at] == '\r')
        ++at;
      else if (peek() == '/' && peek(1) == '/')
        at = std::min(text.find('\n', at), text.size());
      else if (peek() == '/' && peek(1) == '*')
        skipComment();
      else
        return;
    }
  }

  void skipComment() {
    size_t end = text.find("*/", at + 2);
    if (end == std::string_view::npos)
      failParsing(line, "a comment has no end");
    for (; at < end + 2; ++at)
      line += text[at] == '\n';
  }

  Token next() {
    skipBlanks();
    Token token;
    token.line = line;
    if (at >= text.size())
      return token;
    char c = text[at];
    if (isDigit(c) || (c == '.' && isDigit(peek(1))))
      return number(token);
    if (startsWord(c))
      return word(token);
    if (c == '"')
      return quoted(token);
    if (!std::strchr("{}()[]<>;,:@!+-|=", c))
      failParsing(line, std::string("unexpected character '") + c + "'");
    token.kind = Token::Kind::symbol;
    token.symbol = c;
    ++at;
    return token;
  }

  Token word(Token token) {
    size_t from = at;
    // "::" belongs to modifiers such as .shared::cta; a single colon ends a label.
    while (at < text.size() && (continuesWord(text[at]) || (peek() == ':' && peek(1) == ':')))
      at += text[at] == ':' ? 2 : 1;
    token.kind = Token::Kind::word;
    token.word = text.substr(from, at - from);
    return token;
  }

  Token quoted(Token token) {
    size_t end = text.find_first_of("\"\n", at + 1);
    if (end == std::string_view::npos || text[end] == '\n')
      failParsing(line, "a string has no end");
    token.kind = Token::Kind::text;
    token.word = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return token;
  }

  Token number(Token token) {
    if (peek() == '0' && (peek(1) == 'f' || peek(1) == 'F'))
      return bits(token, Token::Kind::real32, 8);
    if (peek() == '0' && (peek(1) == 'd' || peek(1) == 'D'))
      return bits(token, Token::Kind::real64, 16);
    size_t from = at;
    while (isDigit(peek()))
      ++at;
    if (peek() == '.' || peek() == 'e' || peek() == 'E')
      return decimal(token, from);
    at = from;
    return integer(token);
  }

  Token bits(Token token, Token::Kind kind, size_t digits) {
    at += 2;
    const char *first = text.data() + at, *last = first + std::min(digits, text.size() - at);
    auto [end, error] = std::from_chars(first, last, token.bits, 16);
    if (error != std::errc() || size_t(end - first) != digits)
      failParsing(line, "a real number in hexadecimal needs " + std::to_string(digits) + " digits");
    at += digits;
    token.kind = kind;
    return token;
  }

  Token decimal(Token token, size_t from) {
    double value = 0;
    auto [end, error] = std::from_chars(text.data() + from, text.data() + text.size(), value);
    if (error != std::errc())
      failParsing(line, "a real number cannot be read");
    at = end - text.data();
    token.kind = Token::Kind::real64;
    token.bits = std::bit_cast<uint64_t>(value);
    return token;
  }

  Token integer(Token token) {
    int radix = 10;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X'))
      radix = 16, at += 2;
    else if (peek() == '0' && (peek(1) == 'b' || peek(1) == 'B'))
      radix = 2, at += 2;
    else if (peek() == '0' && isDigit(peek(1)))
      radix = 8, at += 1;
    auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), token.bits, radix);
    if (error != std::errc())
      failParsing(line, "an integer cannot be read, or has more than 64 bits");
    at = end - text.data();
    if (peek() == 'U')
      ++at;
    if (continuesWord(peek()))
      failParsing(line, "a number is followed by letters");
    token.kind = Token::Kind::integer;
    return token;
  }

  std::string_view text;
  size_t at = 0;
  int line = 1;
};

} // namespace

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

} // namespace weft::cudasim
