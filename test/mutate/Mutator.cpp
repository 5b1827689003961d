//===- Mutator.cpp --------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Mutator.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>

namespace weft::mutate {

namespace {

const char *const types[] = {
    "i1",   "i8",  "i16", "i32", "i64",   "ui8",  "f16",
    "bf16", "f32", "f64", "i7",  "index", "none", "tensor<4xf32, #weft.device<cpu>>"};
const char *const numbers[] = {"0",
                               "1",
                               "2",
                               "3",
                               "7",
                               "16",
                               "17",
                               "1000",
                               "-1",
                               "-2",
                               "65536",
                               "2147483647",
                               "-2147483648",
                               "4294967296",
                               "1099511627776",
                               "9223372036854775807",
                               "-9223372036854775808",
                               "9223372036854775808",
                               "0.5",
                               "-0.0",
                               "1.0e+30",
                               "1.0e-300",
                               "0x7FC00000",
                               "?"};

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
}
bool isDigit(char c) { return c >= '0' && c <= '9'; }

template <typename List> const auto &pick(const List &list, std::mt19937_64 &random) {
  return list[random() % std::size(list)];
}

std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text;
}

} // namespace

std::vector<Token> tokenize(const std::string &text) {
  std::vector<Token> tokens;
  size_t at = 0;
  const auto take = [&](TokenKind kind, size_t length) {
    tokens.push_back({kind, text.substr(at, length)});
    at += length;
  };
  const auto wordLength = [&](size_t from) {
    size_t end = from;
    while (end < text.size() && isWord(text[end]))
      ++end;
    return end - from;
  };
  while (at < text.size()) {
    const char c = text[at];
    if (std::isspace(static_cast<unsigned char>(c))) {
      size_t end = at;
      while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end])))
        ++end;
      take(TokenKind::space, end - at);
    } else if (c == '"') {
      const size_t end = text.find('"', at + 1);
      take(TokenKind::string, end == std::string::npos ? text.size() - at : end + 1 - at);
    } else if ((c == '%' || c == '@' || c == '#' || c == '!') && wordLength(at + 1)) {
      const TokenKind kind = c == '%' ? TokenKind::value : c == '@' ? TokenKind::symbol : TokenKind::alias;
      take(kind, 1 + wordLength(at + 1));
    } else if (isDigit(c) || (c == '-' && at + 1 < text.size() && isDigit(text[at + 1]))) {
      size_t end = at + 1;
      while (end < text.size() && (isDigit(text[end]) || text[end] == '.' || text[end] == 'e' ||
                                   ((text[end] == '+' || text[end] == '-') && text[end - 1] == 'e')))
        ++end;
      take(TokenKind::number, end - at);
      // In "4x8xf32", each `x` is a token.
      if (at < text.size() && text[at] == 'x')
        take(TokenKind::punctuation, 1);
    } else if (isWord(c)) {
      const std::string word = text.substr(at, wordLength(at));
      const bool isType = std::find(std::begin(types), std::end(types), word) != std::end(types);
      take(isType                        ? TokenKind::type
           : word.rfind("weft.", 0) == 0 ? TokenKind::op
                                         : TokenKind::word,
           word.size());
    } else if (c == '-' && text.compare(at, 2, "->") == 0) {
      take(TokenKind::punctuation, 2);
    } else {
      take(TokenKind::punctuation, 1);
    }
  }
  return tokens;
}

Mutator::Mutator(const std::string &folder) {
  std::set<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".mlir")
      paths.insert(entry.path());
  std::map<TokenKind, std::set<std::string>> known;
  bool isGood = true;
  const auto add = [&](std::string &program) {
    // What is changed in a while loop may make it endless.
    const bool mayBeEndless = program.find("weft.while") != std::string::npos;
    if (program.find("weft.") != std::string::npos && !mayBeEndless) {
      programs_.push_back(program);
      if (isGood)
        good_.push_back(program);
    }
    program.clear();
  };
  for (const auto &path : paths) {
    isGood = path.filename().string().rfind("invalid", 0) != 0;
    std::ifstream file(path);
    std::string program;
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("// -----", 0) == 0)
        add(program);
      line = line.substr(0, line.find("//"));
      if (line.find_first_not_of(" \t") != std::string::npos)
        program += line + "\n";
    }
    add(program);
  }
  if (programs_.empty())
    throw std::runtime_error("no programs in '" + folder + "'");
  for (const std::string &program : programs_) {
    for (const std::string &line : linesOf(program))
      lines_.push_back(line);
    for (const Token &token : tokenize(program))
      known[token.kind].insert(token.text);
  }
  for (const auto &[kind, texts] : known)
    known_[kind].assign(texts.begin(), texts.end());
}

std::string Mutator::other(TokenKind kind, const std::vector<Token> &program, Random &random) const {
  if (kind == TokenKind::number && random() % 2)
    return pick(numbers, random);
  if (kind == TokenKind::type)
    return pick(types, random);
  // The names of values and symbols are only valid in their own program.
  if (kind == TokenKind::value || kind == TokenKind::symbol || random() % 4 == 0) {
    std::vector<std::string> own;
    for (const Token &token : program)
      if (token.kind == kind)
        own.push_back(token.text);
    if (!own.empty())
      return pick(own, random);
  }
  const auto found = known_.find(kind);
  return found == known_.end() ? "" : pick(found->second, random);
}

std::string Mutator::changeLines(const std::string &text, Random &random) const {
  std::vector<std::string> lines = linesOf(text);
  if (lines.empty())
    return text;
  const auto at = static_cast<std::ptrdiff_t>(random() % lines.size());
  switch (random() % 5) {
  case 0:
    lines.erase(lines.begin() + at);
    break;
  case 1:
    lines.insert(lines.begin() + at, std::string(lines[static_cast<size_t>(at)]));
    break;
  case 2:
    std::swap(lines[static_cast<size_t>(at)], lines[random() % lines.size()]);
    break;
  case 3:
    lines.insert(lines.begin() + at, pick(lines_, random));
    break;
  default:
    if (static_cast<size_t>(at) + 1 < lines.size())
      std::swap(lines[static_cast<size_t>(at)], lines[static_cast<size_t>(at) + 1]);
  }
  return joined(lines);
}

std::string Mutator::changeTokens(const std::string &text, Random &random) const {
  std::vector<Token> tokens = tokenize(text);
  std::vector<size_t> places;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i].kind != TokenKind::space)
      places.push_back(i);
  if (places.empty())
    return text;
  const size_t at = pick(places, random);
  const Token old = tokens[at];
  switch (random() % 10) {
  case 0:
    tokens[at].text.clear();
    break;
  case 1:
    tokens[at].text += " " + old.text;
    break;
  case 2:
    std::swap(tokens[at], tokens[pick(places, random)]);
    break;
  case 3:
  case 4:
  case 5: { // everywhere, because a program often verifies if a size or type is replaced in all places
    std::vector<size_t> regular;
    for (size_t i : places)
      if (tokens[i].kind == TokenKind::number || tokens[i].kind == TokenKind::type)
        regular.push_back(i);
    const Token chosen = regular.empty() ? old : tokens[pick(regular, random)];
    const std::string replacement = other(chosen.kind, tokens, random);
    for (Token &token : tokens)
      if (token.kind == chosen.kind && token.text == chosen.text)
        token.text = replacement;
    break;
  }
  default:
    tokens[at].text = other(old.kind, tokens, random);
  }
  std::string result;
  for (const Token &token : tokens)
    result += token.text;
  return result;
}

std::string Mutator::changeRegular(const std::string &text, Random &random) const {
  std::vector<Token> tokens = tokenize(text);
  std::map<TokenKind, std::vector<size_t>> places;
  for (size_t i = 0; i < tokens.size(); ++i)
    places[tokens[i].kind].push_back(i);
  const TokenKind kinds[] = {TokenKind::number, TokenKind::type, TokenKind::value, TokenKind::op};
  const TokenKind kind = pick(kinds, random);
  if (places[kind].empty())
    return text;
  const Token chosen = tokens[pick(places[kind], random)];
  // A value is replaced in one place; sizes, types and ops are replaced everywhere.
  if (kind == TokenKind::value) {
    tokens[pick(places[kind], random)].text = chosen.text;
  } else {
    const std::string replacement = other(kind, tokens, random);
    for (Token &token : tokens)
      if (token.kind == kind && token.text == chosen.text)
        token.text = replacement;
  }
  std::string result;
  for (const Token &token : tokens)
    result += token.text;
  return result;
}

std::string Mutator::make(uint64_t seed) const {
  Random random(seed * 0x9e3779b97f4a7c15u + 1);
  // Only a few changes, because of many faults only the first would be found. Every second program should
  // pass the parser and reach later stages, so it is a valid program with one change that keeps its form.
  if (seed % 2 == 0)
    return changeRegular(pick(good_.empty() ? programs_ : good_, random), random);
  std::string text = pick(programs_, random);
  for (uint64_t left = 1 + random() % 3; left; --left)
    text = random() % 4 ? changeTokens(text, random) : changeLines(text, random);
  return text;
}

} // namespace weft::mutate
