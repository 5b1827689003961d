//===- options.cpp - Options on the command line -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "common/options.h"

#include <weft/status.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>

using weft::Error;

namespace example {

static const Option &declared(const std::vector<Option> &options, const std::string &name) {
  for (const Option &option : options)
    if (option.name == name)
      return option;
  throw Error("the program declares no option --" + name);
}

std::vector<std::string> Arguments::all(const std::string &name) const {
  declared(options_, name);
  std::vector<std::string> values;
  for (const auto &[own, value] : given_)
    if (own == name)
      values.push_back(value);
  return values;
}

std::string Arguments::text(const std::string &name) const {
  std::vector<std::string> values = all(name);
  return values.empty() ? declared(options_, name).default_value : values.back();
}

int64_t Arguments::integer(const std::string &name, int64_t low, int64_t high) const {
  std::string value = text(name);
  int64_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < low || number > high)
    throw Error("--" + name + " needs a whole number" +
                (low != INT64_MIN ? " of at least " + std::to_string(low) : "") +
                (high != INT64_MAX ? " and at most " + std::to_string(high) : "") + ", found '" + value +
                "'");
  return number;
}

static std::string usage(const std::string &program, const std::string &example,
                         const std::vector<Option> &options) {
  std::string line = "usage: " + program, list;
  size_t widest = 0;
  for (const Option &option : options)
    widest = std::max(widest, option.name.size() + option.value.size());
  for (const Option &option : options) {
    line += " [--" + option.name + " " + option.value + "]";
    list += "  --" + option.name + " " + option.value +
            std::string(widest - option.name.size() - option.value.size() + 2, ' ') + option.description +
            (option.default_value.empty() ? "" : " (default: " + option.default_value + ")") + "\n";
  }
  return line + "\n" + list + "example: " + example + "\n";
}

int run_program(int argc, char **argv, const std::string &example, const std::vector<Option> &options,
                const std::function<int(const Arguments &)> &body) {
  std::string program = argc > 0 ? argv[0] : "program";
  program.erase(0, program.rfind('/') + 1);
  Arguments arguments;
  arguments.options_ = options;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i], value;
    if (flag == "--help" || flag == "-h")
      return std::fputs(usage(program, example, options).c_str(), stdout), 0;
    size_t equals = flag.find('=');
    if (equals != std::string::npos) {
      value = flag.substr(equals + 1);
      flag.erase(equals);
    }
    bool known = std::any_of(options.begin(), options.end(),
                             [&](const Option &option) { return "--" + option.name == flag; });
    if (!known || (equals == std::string::npos && i + 1 == argc)) {
      std::fprintf(stderr, "%s: %s '%s'; see %s --help\n", program.c_str(),
                   known ? "no value for" : "unknown option", flag.c_str(), program.c_str());
      return 2;
    }
    arguments.given_.emplace_back(flag.substr(2), equals == std::string::npos ? argv[++i] : value);
  }
  try {
    return body(arguments);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
    return 1;
  }
}

} // namespace example
