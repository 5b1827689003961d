//===- TextGuard.cpp ------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/TextGuard.h"

#include "ir/Size.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>
#include <utility>

using llvm::StringRef;

namespace weft::ir {
namespace {

/// The depth and the length of an alias when it is expanded.
struct Extent {
  int64_t depth = 0, tokens = 1;
};

/// A region, or any other pair of braces. Regions that are opened later have greater numbers.
struct Region {
  int64_t number = 0;
  llvm::StringSet<> values; ///< the values that are defined in it
};

class Scanner {
public:
  Scanner(StringRef text, const TextLimits &limits) : text(text), limits(limits), regions(1) {}

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
    if (std::exchange(opened, StringRef()) == "array" && !admitsElements(begin))
      return at(begin, "array<..> is read with elements of i1, i8, i16, i32, i64, f16, bf16, f32 or f64");

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
    if (c == '%' && isValueName(peek(1)))
      return scanValue(begin);
    if ((c == '#' || c == '!') && isWord(peek(1)))
      return scanAlias(begin);
    if (isWord(c)) {
      position = std::min(text.find_if_not(isWord, position), text.size());
      StringRef word = text.slice(begin, position);
      if (llvm::isDigit(c) && static_cast<int64_t>(word.size()) > limits.digits)
        return at(begin, "a number has " + llvm::Twine(word.size()) + " digits; at most " +
                             llvm::Twine(limits.digits) + " are read");
      if (llvm::isDigit(c) && boolDepth != 0)
        return at(begin, "an element of array<i1: ..> is true or false");
      lastWord = word;
      if (open.empty() && (word == "module" || (llvm::isAlpha(c) && word.contains('.'))))
        finishDefinition();
      return std::nullopt;
    }
    return scanPunctuation(begin);
  }

  std::optional<TextViolation> scanPunctuation(size_t begin) {
    char c = text[position++];
    const StringRef before = std::exchange(lastWord, StringRef());
    opened = c == '<' ? before : StringRef();
    if (opened == "sparse")
      return at(begin, "sparse<..> is not read: write the values as dense<..>");
    switch (c) {
    case '^':
    case ':':
      inLabel = c == '^';
      return std::nullopt;
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
      if (c == '{')
        openRegion(before);
      open.push_back(c);
      if (c == '(' && inLabel)
        labelDepth = open.size();
      inLabel = false;
      return checkDepth(begin, 0);
    }
    if (StringRef(")]}>").contains(c)) {
      runLength = 0;
      // The parser reports a closing bracket without an opening one. Here it must not reduce the depth.
      char opening = c == ')' ? '(' : c == ']' ? '[' : c == '}' ? '{' : '<';
      if (!open.empty() && open.back() == opening) {
        if (open.size() == labelDepth)
          labelDepth = 0;
        if (open.size() == boolDepth)
          boolDepth = 0;
        open.pop_back();
        if (c == '}')
          regions.pop_back();
      }
    }
    return std::nullopt;
  }

  /// Whether the word after `array<` is a type of elements that MLIR reads and prints.
  bool admitsElements(size_t begin) {
    const StringRef word = text.substr(begin).take_while(isWord);
    if (word == "i1")
      boolDepth = open.size();
    return llvm::is_contained({"i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"}, word);
  }

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  /// Scans `%name`. It defines a result if its list of names ends in `=`, defines an argument if it is in
  /// parentheses and a colon follows, and is a use otherwise.
  std::optional<TextViolation> scanValue(size_t begin) {
    position = endOfName(begin);
    const StringRef name = text.slice(begin, position);
    lastWord = StringRef();
    if (position > listEnd)
      scanList(begin);
    if (isResultList)
      return define(name);
    if (charAt(skipSpace(position)) == ':' && !open.empty() && open.back() == '(') {
      if (open.size() == labelDepth)
        return define(name);
      arguments.push_back(name); // of a function, whose body is still to come
      argumentDepth = open.size();
      return std::nullopt;
    }
    for (const Region &region : regions)
      if (region.values.contains(name))
        return std::nullopt;
    auto [use, isFirst] = undefined.try_emplace(name, regions.back().number, begin);
    if (!isFirst && regions.back().number < use->second.first)
      use->second = {regions.back().number, begin};
    return std::nullopt;
  }

  /// The names from `begin` on that only commas and numbers of results separate: `%a, %b:2 =`.
  void scanList(size_t begin) {
    for (size_t at = begin;;) {
      at = listEnd = endOfName(at);
      at = skipSpace(at);
      if (charAt(at) == ':' && llvm::isDigit(charAt(skipSpace(at + 1))))
        at = skipSpace(std::min(text.find_if_not(llvm::isDigit, skipSpace(at + 1)), text.size()));
      isResultList = charAt(at) == '=';
      if (charAt(at) != ',')
        return;
      at = skipSpace(at + 1);
      if (charAt(at) != '%')
        return;
    }
  }

  std::optional<TextViolation> define(StringRef name) {
    regions.back().values.insert(name);
    auto use = undefined.find(name);
    if (use == undefined.end())
      return std::nullopt;
    const auto [region, begin] = use->second;
    undefined.erase(use);
    if (region >= regions.back().number)
      return std::nullopt;
    return at(begin,
              "the value " + llvm::Twine(name) + " is used here, and defined further down in another region");
  }

  /// Opens a region. It is the body of a function if arguments came before, unless this is `attributes {`.
  void openRegion(StringRef before) {
    Region &region = regions.emplace_back();
    region.number = ++regionCount;
    if (arguments.empty() || open.size() >= argumentDepth || before == "attributes")
      return;
    region.values.insert(arguments.begin(), arguments.end());
    arguments.clear();
  }

  static bool isValueName(char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.' || c == '-'; }
  /// The end of the name of a value that begins with the percent sign at `begin`: a number, or a word.
  size_t endOfName(size_t begin) const {
    const bool isNumber = llvm::isDigit(charAt(begin + 1));
    return std::min(isNumber ? text.find_if_not(llvm::isDigit, begin + 1)
                             : text.find_if_not(isValueName, begin + 1),
                    text.size());
  }
  /// The offset of the next character that is neither space nor comment, or of the end of the text.
  size_t skipSpace(size_t from) const {
    for (;;) {
      from = std::min(text.find_if_not([](char c) { return llvm::isSpace(c); }, from), text.size());
      if (!text.substr(from).starts_with("//"))
        return from;
      from = std::min(text.find('\n', from), text.size());
    }
  }

  //===--------------------------------------------------------------------===//
  // Aliases
  //===--------------------------------------------------------------------===//

  /// Scans `#name` or `!name`: a definition if it is at the outermost level and `=` follows, otherwise a use.
  std::optional<TextViolation> scanAlias(size_t begin) {
    position = std::min(text.find_if_not(isWord, position + 1), text.size());
    StringRef name = text.slice(begin, position);
    if (open.empty()) {
      if (charAt(skipSpace(position)) == '=') {
        finishDefinition();
        defining = name;
        current = Extent();
        return std::nullopt;
      }
    }
    auto known = aliases.find(name);
    Extent used = known == aliases.end() ? Extent() : known->second;
    current.tokens = saturatedSum(current.tokens, used.tokens);
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
  char charAt(size_t at) const { return at < text.size() ? text[at] : '\0'; }
  char peek(size_t offset) const { return charAt(position + offset); }

  /// The violation at an offset, with its line and column.
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
  StringRef defining;                // the alias whose value is being read; empty outside
  Extent current;                    // the extent of that value
  bool afterString = false;          // whether the last token was a string
  llvm::SmallVector<Region> regions; // the open regions, and the outermost
  int64_t regionCount = 0;
  StringRef lastWord;    // the last token, if it was a word
  StringRef opened;      // the word before `<`, if that is the last token
  bool inLabel = false;  // whether the position is in a block's label, before its arguments
  size_t boolDepth = 0;  // the depth of the brackets of array<i1: ..>
  size_t labelDepth = 0; // the depth of the parentheses of a block's arguments
  size_t listEnd = 0;    // the end of the current list of names
  bool isResultList = false;
  llvm::SmallVector<StringRef> arguments; // of a function whose body has not begun
  size_t argumentDepth = 0;               // the depth of their parentheses
  /// Values that were used in a region where they are not defined (yet): the outermost of these uses.
  llvm::StringMap<std::pair<int64_t, size_t>> undefined;
};

} // namespace

std::optional<TextViolation> findTextViolation(StringRef text, const TextLimits &limits) {
  return Scanner(text, limits).run();
}

} // namespace weft::ir
