//===- options.h - Options on the command line --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EXAMPLES_COMMON_OPTIONS_H
#define WEFT_EXAMPLES_COMMON_OPTIONS_H

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace example {

/// An option `--name VALUE`.
struct Option {
  std::string name;          ///< "epochs"
  std::string value;         ///< what --help shows for the value: "N"
  std::string description;   ///< one line
  std::string default_value; ///< the value if the option is left out
};

/// The options that a program was called with.
class Arguments {
public:
  /// The value given last, or the default. Throws weft::Error for a name that the program did not declare.
  std::string text(const std::string &name) const;
  /// The same as an integer. Throws weft::Error if the text is no integer in [low, high].
  int64_t integer(const std::string &name, int64_t low = INT64_MIN, int64_t high = INT64_MAX) const;
  /// Every value given, in order; empty if the option is left out.
  std::vector<std::string> all(const std::string &name) const;

private:
  friend int run_program(int, char **, const std::string &, const std::vector<Option> &,
                         const std::function<int(const Arguments &)> &);
  std::vector<Option> options_;
  std::vector<std::pair<std::string, std::string>> given_;
};

/// Parses the options, answers --help with the usage and `example`, and runs `body`. Returns the exit code
/// for `main`: what `body` returned, 1 if it threw, 2 for wrong usage. Both failures print one line to
/// standard error.
int run_program(int argc, char **argv, const std::string &example, const std::vector<Option> &options,
                const std::function<int(const Arguments &)> &body);

} // namespace example

#endif // WEFT_EXAMPLES_COMMON_OPTIONS_H
