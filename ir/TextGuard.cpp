//===- TextGuard.cpp ------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/TextGuard.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>

using llvm::StringRef;

namespace weft::ir {
namespace {

/// How deep and how long an alias is when it is written out.
struct Extent {
  int64_t depth = 0, tokens = 1;
};

class Scanner {
public:
  Scanner(StringRef text, const TextLimits &limits) : text(text), limits(limits) {}

  std::optional<TextViolation> run() {
    if (static_cast<int64_t>(text.size()) > limits.bytes)
      return at(0, "the text has " + llvm::Twine(text.size()) + " bytes; at most " +
                       llvm::Twine(limits.bytes) + " are read");
    while (position < text.size())
      if (auto violation = step())
        return violation;
    return std::nullopt;
  }

private:
  std::optional<TextViolation> step() {
    char c = text[position];
    if (llvm::isSpace(c) || c == '\0') {
      ++position;
      return std::nullopt;
    }
    if (c == '/' && peek(1) == '/') {
      position = std::min(text.find('\n', position), text.size());
      return std::nullopt;
    }
    size_t begin = position;
    if (++tokens > limits.tokens)
      return at(begin, "the text has more than " + llvm::Twine(limits.tokens) + " tokens");
    if (++runLength > limits.run)
      return at(begin, "more than " + llvm::Twine(limits.run) + " tokens stand here without a separator");
    ++current.tokens;

    if (c == '"') {
      skipString();
      afterString = true;
      return std::nullopt;
    }
    // Ops begin with a word that no attribute or type has outside of brackets, or with a string before a
    // parenthesis.
    if (open.empty() && c == '(' && afterString)
      finishDefinition();
    afterString = false;
    if ((c == '#' || c == '!') && isWord(peek(1)))
      return scanAlias(begin);
    if (isWord(c)) {
      position = std::min(text.find_if_not(isWord, position), text.size());
      StringRef word = text.slice(begin, position);
      if (llvm::isDigit(c) && static_cast<int64_t>(word.size()) > limits.digits)
        return at(begin, "a number has " + llvm::Twine(word.size()) + " digits; at most " +
                             llvm::Twine(limits.digits) + " are read");
      if (word == "sparse" && peek(0) == '<')
        return at(begin, "sparse<..> is not read: write the values as dense<..>");
      if (open.empty() && (word == "module" || (llvm::isAlpha(c) && word.contains('.'))))
        finishDefinition();
      return std::nullopt;
    }
    return scanPunctuation(begin);
  }

  std::optional<TextViolation> scanPunctuation(size_t begin) {
    char c = text[position++];
    switch (c) {
    case '-':
      if (peek(0) == '>') { // an arrow closes nothing
        ++position;
        runLength = 0;
      }
      return std::nullopt;
    case '=':
    case '<':
    case '>':
      if (peek(0) == '=' && !(c == '=' && peek(1) == '=')) { // a comparison of an affine constraint
        ++position;
        return std::nullopt;
      }
      break;
    default:
      break;
    }
    if (StringRef(",=;").contains(c))
      runLength = 0;
    if (StringRef("([{<").contains(c)) {
      runLength = 0;
      open.push_back(c);
      return checkDepth(begin, 0);
    }
    if (StringRef(")]}>").contains(c)) {
      runLength = 0;
      // A bracket that closes nothing is the parser's to report; here it must not hide depth.
      char opening = c == ')' ? '(' : c == ']' ? '[' : c == '}' ? '{' : '<';
      if (!open.empty() && open.back() == opening)
        open.pop_back();
    }
    return std::nullopt;
  }

  /// `#name` or `!name`: a definition where `=` follows at the outermost level, else a use.
  std::optional<TextViolation> scanAlias(size_t begin) {
    position = std::min(text.find_if_not(isWord, position + 1), text.size());
    StringRef name = text.slice(begin, position);
    if (open.empty()) {
      size_t next = text.find_if_not([](char c) { return llvm::isSpace(c); }, position);
      if (next != StringRef::npos && text[next] == '=') {
        finishDefinition();
        defining = name;
        current = Extent();
        return std::nullopt;
      }
    }
    auto known = aliases.find(name);
    Extent used = known == aliases.end() ? Extent() : known->second;
    current.tokens = saturatingAdd(current.tokens, used.tokens);
    if (current.tokens > limits.tokens && !defining.empty())
      return at(begin, "the alias '" + llvm::Twine(defining) + "' stands for more than " +
                           llvm::Twine(limits.tokens) + " tokens when written out");
    return checkDepth(begin, used.depth);
  }

  std::optional<TextViolation> checkDepth(size_t begin, int64_t inside) {
    int64_t depth = static_cast<int64_t>(open.size()) + inside;
    current.depth = std::max(current.depth, depth);
    if (depth > limits.depth)
      return at(begin, "brackets are nested " + llvm::Twine(depth) + " deep here" +
                           (inside ? ", counting those inside the alias" : "") + "; at most " +
                           llvm::Twine(limits.depth) + " levels are read");
    return std::nullopt;
  }

  void finishDefinition() {
    if (!defining.empty())
      aliases[defining] = current;
    defining = StringRef();
  }

  void skipString() {
    for (++position; position < text.size(); ++position) {
      if (text[position] == '\\')
        ++position;
      else if (text[position] == '"' || text[position] == '\n') {
        ++position;
        return;
      }
    }
    position = std::min(position, text.size());
  }

  static bool isWord(char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.' || c == '@'; }
  static int64_t saturatingAdd(int64_t a, int64_t b) {
    int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
  }
  char peek(size_t offset) const { return position + offset < text.size() ? text[position + offset] : '\0'; }

  /// The line and column of an offset: counted only when there is something to report.
  TextViolation at(size_t offset, const llvm::Twine &message) const {
    StringRef before = text.take_front(offset);
    size_t lineStart = before.rfind('\n');
    lineStart = lineStart == StringRef::npos ? 0 : lineStart + 1;
    return {static_cast<int64_t>(before.count('\n')) + 1, static_cast<int64_t>(offset - lineStart) + 1,
            message.str()};
  }

  StringRef text;
  const TextLimits &limits;
  size_t position = 0;
  int64_t tokens = 0, runLength = 0;
  llvm::SmallVector<char> open;
  llvm::StringMap<Extent> aliases;
  StringRef defining;       // the alias whose value is being read; empty outside
  Extent current;           // of that value
  bool afterString = false; // whether the last token was a string
};

} // namespace

std::optional<TextViolation> findTextViolation(StringRef text, const TextLimits &limits) {
  return Scanner(text, limits).run();
}

} // namespace weft::ir
