//===- Mutator.h - Programs with faults ------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes programs in text and changes them: lines go, double, and change places; operands, numbers, types,
// attributes and names are replaced by others. Some changes are made everywhere in a program at once, so that
// what comes out often verifies and reaches the passes behind the verifier.
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

/// Takes text apart without losing a character. The sizes in "4x8xf32" are numbers, "f32" a type.
std::vector<Token> tokenize(const std::string &text);

class Mutator {
public:
  /// Reads every .mlir file below a folder; the parts between `// -----` are programs of their own. Comments
  /// and lines of tests are left out. Throws std::runtime_error where nothing is found.
  explicit Mutator(const std::string &folder);

  size_t programs() const { return programs_.size(); }
  /// One of the programs that are meant to be good.
  const std::string &good(uint64_t number) const {
    const auto &programs = good_.empty() ? programs_ : good_;
    return programs[number % programs.size()];
  }
  /// A changed program: the same for the same seed and corpus.
  std::string make(uint64_t seed) const;

private:
  using Random = std::mt19937_64;
  std::string changeLines(const std::string &text, Random &random) const;
  std::string changeTokens(const std::string &text, Random &random) const;
  std::string changeRegular(const std::string &text, Random &random) const;
  /// Something else of the kind.
  std::string other(TokenKind kind, const std::vector<Token> &program, Random &random) const;

  std::vector<std::string> programs_, good_; ///< good_: of files that are not called invalid
  std::vector<std::string> lines_;           ///< of all programs
  std::map<TokenKind, std::vector<std::string>> known_;
};

} // namespace weft::mutate

#endif // WEFT_TEST_MUTATE_MUTATOR_H
