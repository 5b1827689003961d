//===- Mutator.h - Programs with faults ------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Changes the text of programs: lines are removed, doubled and exchanged; operands, numbers, types,
// attributes and names are replaced by others. Some replacements are made everywhere in a program, so that
// the result often verifies and reaches the passes.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_MUTATE_MUTATOR_H
#define WEFT_TEST_MUTATE_MUTATOR_H

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace weft::mutate {

enum class TokenKind { space, value, symbol, alias, number, type, op, word, string, punctuation };

struct Token {
  TokenKind kind;
  std::string text;
};

/// The tokens of a text, which together have all its characters. The sizes in "4x8xf32" are numbers, and
/// "f32" is a type.
std::vector<Token> tokenize(const std::string &text);

class Mutator {
public:
  /// Reads every .mlir file below a folder. The parts between lines `// -----` are separate programs.
  /// Comments and lines of tests are removed. Throws std::runtime_error if no program is found.
  explicit Mutator(const std::string &folder);

  size_t programs() const { return programs_.size(); }
  /// One of the programs that should be valid.
  const std::string &good(uint64_t number) const {
    const auto &programs = good_.empty() ? programs_ : good_;
    return programs[number % programs.size()];
  }
  /// A changed program. The same seed and corpus give the same program.
  std::string make(uint64_t seed) const;

private:
  using Random = std::mt19937_64;
  std::string changeLines(const std::string &text, Random &random) const;
  std::string changeTokens(const std::string &text, Random &random) const;
  std::string changeRegular(const std::string &text, Random &random) const;
  /// Another token of the kind.
  std::string other(TokenKind kind, const std::vector<Token> &program, Random &random) const;

  std::vector<std::string> programs_,
      good_;                       ///< good_: from files whose name does not say that they are invalid
  std::vector<std::string> lines_; ///< of all programs
  std::map<TokenKind, std::vector<std::string>> known_;
};

} // namespace weft::mutate

#endif // WEFT_TEST_MUTATE_MUTATOR_H
