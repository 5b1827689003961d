//===- arguments.hpp - Options of a program ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_ARGUMENTS_HPP
#define WEFT_ARGUMENTS_HPP

#include "weft/export.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft {

/// An option `--name VALUE`.
struct Option {
  std::string name;          ///< "epochs"
  std::string value;         ///< what --help shows for the value: "N"
  std::string description;   ///< one line
  std::string default_value; ///< what the program gets where the option is left out
};

/// The options that a program was called with.
class WEFT_API Arguments {
public:
  /// The value given last, or the default. Throws Error for a name that the program did not declare.
  std::string text(const std::string &name) const;
  /// The same as a number; throws Error where it is none or lies outside of [low, high].
  int64_t integer(const std::string &name, int64_t low = INT64_MIN, int64_t high = INT64_MAX) const;
  /// Every value given, in order; empty where the option is left out.
  std::vector<std::string> all(const std::string &name) const;

private:
  friend WEFT_API int run_program(int, char **, const std::string &, const std::vector<Option> &,
                                  const std::function<int(const Arguments &)> &);
  std::vector<Option> options_;
  std::vector<std::pair<std::string, std::string>> given_;
};

/// What `main` returns for a program with options: it parses them, answers --help with usage and `example`,
/// and runs `body`. 0 and other numbers are those of `body`; 1: an Error, 2: wrong usage, both with one line
/// on standard error.
WEFT_API int run_program(int argc, char **argv, const std::string &example,
                         const std::vector<Option> &options,
                         const std::function<int(const Arguments &)> &body);

} // namespace weft

#endif // WEFT_ARGUMENTS_HPP
