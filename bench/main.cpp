//===- main.cpp - weft-bench ----------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weft's side of the benchmark, beside the hand-written loops. `scripts/bench` starts it with --serve and
// asks for one row at a time, in turn with the peers.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include <cstdio>
#include <exception>
#include <iostream>
#include <regex>
#include <string>

namespace weft::bench {

const std::vector<Row> &rows() {
  static const std::vector<Row> list = {{"copy", run_copy},
                                        {"mul_add", run_mul_add},
                                        {"gelu_sigmoid", run_gelu_sigmoid},
                                        {"bias_relu", run_bias_relu},
                                        {"transpose_add", run_transpose_add},
                                        {"softmax", run_softmax},
                                        {"column_sum", run_column_sum},
                                        {"full_sum", run_full_sum},
                                        {"mlp_step", run_mlp_step},
                                        {"small_call", run_small_call},
                                        {"alternating", run_alternating}};
  return list;
}

namespace {

std::string json(const std::string &name, const RowResult &result) {
  std::string text = "{\"row\": " + quoted(name) + ", \"results\": {";
  for (size_t i = 0; i < result.samples.size(); ++i)
    text += (i ? ", " : "") + quoted(result.samples[i].name) + ": " + result.samples[i].json();
  text += "}, \"bytes\": " + std::to_string(result.bytes) + ", \"figures\": {";
  for (size_t i = 0; i < result.figures.size(); ++i)
    text += (i ? ", " : "") + quoted(result.figures[i].first) + ": " + number(result.figures[i].second);
  return text + "}, \"note\": " + quoted(result.note) + "}";
}

std::string answer(const std::string &name) {
  for (const Row &row : rows())
    if (row.name == name) {
      try {
        return json(name, row.run());
      } catch (const std::exception &error) {
        return "{\"row\": " + quoted(name) + ", \"results\": {}, \"error\": " + quoted(error.what()) + "}";
      }
    }
  return "{\"row\": " + quoted(name) + ", \"results\": {}, \"error\": \"there is no such row\"}";
}

int serve() {
  std::printf("{\"peer\": \"weft\", \"version\": \"0.1.0\", \"columns\": [\"weft\"]}\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);)
    if (!line.empty()) {
      std::printf("%s\n", answer(line).c_str());
      std::fflush(stdout);
    }
  return 0;
}

int show(const std::string &pattern) {
  const std::regex wanted(pattern);
  int failed = 0;
  for (const Row &row : rows()) {
    if (!std::regex_search(row.name, wanted))
      continue;
    std::printf("%-14s", row.name.c_str());
    std::fflush(stdout);
    try {
      const RowResult result = row.run();
      for (const Samples &samples : result.samples)
        std::printf("  %s %.4g ms (min %.4g)", samples.name.c_str(), samples.median(), samples.min());
      for (const auto &[name, value] : result.figures)
        std::printf("  %s %.4g", name.c_str(), value);
      std::printf("%s%s\n", result.note.empty() ? "" : "  ", result.note.c_str());
    } catch (const std::exception &error) {
      std::printf("  failed: %s\n", error.what());
      ++failed;
    }
  }
  return failed ? 1 : 0;
}

constexpr const char *help = R"(weft-bench: Weft's side of the benchmark, beside loops written by hand.

  weft-bench [REGEX]     runs the rows whose names match, and prints them
  weft-bench --list      names the rows
  weft-bench --serve     reads row names on stdin, answers each with a line of JSON
  weft-bench --first-step
                         times the first call of the training step in this fresh process, as JSON;
                         WEFT_CACHE_DIR names the disk cache that it uses

WEFT_NUM_THREADS sets the number of threads. scripts/bench runs this beside the peers:

  scripts/bench --rows 'softmax|mul_add'
)";

int run(int argc, char **argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (argc > 2) {
    std::fprintf(stderr, "weft-bench: expected at most one argument, found %d; see weft-bench --help\n",
                 argc - 1);
    return 2;
  }
  if (first == "--help" || first == "-h") {
    std::fputs(help, stdout);
    return 0;
  }
  if (first == "--serve")
    return serve();
  if (first == "--list") {
    for (const Row &row : rows())
      std::printf("%s\n", row.name.c_str());
    return 0;
  }
  if (first == "--first-step") {
    std::printf("%s\n", first_step().c_str());
    return 0;
  }
  if (first.starts_with("-")) {
    std::fprintf(stderr, "weft-bench: unknown option '%s'; see weft-bench --help\n", first.c_str());
    return 2;
  }
  return show(first);
}

} // namespace
} // namespace weft::bench

int main(int argc, char **argv) {
  try {
    return weft::bench::run(argc, argv);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "weft-bench: %s\n", error.what());
    return 1;
  }
}
