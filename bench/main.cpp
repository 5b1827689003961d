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

#include "DeviceRows.h"
#include "Rows.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <regex>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::bench {

const std::vector<Row> &rows() {
  static const std::vector<Row> list = {{"copy", run_copy, true},
                                        {"mul_add", run_mul_add, true},
                                        {"gelu_sigmoid", run_gelu_sigmoid, true},
                                        {"bias_relu", run_bias_relu, true},
                                        {"transpose_add", run_transpose_add, true},
                                        {"softmax", run_softmax, true},
                                        {"layer_norm", run_layer_norm, true},
                                        {"residual_norm_gelu", run_residual_norm_gelu, true},
                                        {"column_sum", run_column_sum, true},
                                        {"full_sum", run_full_sum, true},
                                        {"softmax_middle", run_softmax_middle, true},
                                        {"norm_middle", run_norm_middle, true},
                                        {"mean_middle", run_mean_middle, true},
                                        {"var_middle", run_var_middle, true},
                                        {"one_row", run_one_row, false},
                                        {"mlp_step", run_mlp_step, false},
                                        {"deep_step", run_deep_step, false},
                                        {"lstm_step", run_lstm_step, false},
                                        {"lstm_layers_step", run_lstm_layers_step, false},
                                        {"gpt_step", run_gpt_step, false},
                                        {"gpt_long_step", run_gpt_long_step, false},
                                        {"gpt_token", run_gpt_token, false},
                                        {"resnet_step", run_resnet_step, false},
                                        {"resnet_fast_step", run_resnet_fast_step, false},
                                        {"adam_300", run_adam_300, false},
                                        {"adam_3000", run_adam_3000, false},
                                        {"loader_step", run_loader_step, false},
                                        {"small_call", run_small_call, false},
                                        {"alternating", run_alternating, false},
                                        {"product_i32", run_product_i32, true},
                                        {"product_bf16", run_product_bf16, true},
                                        {"product_f16", run_product_f16, true},
                                        {"product_f64", run_product_f64, true},
                                        {"conv_3x3", run_conv_3x3, true},
                                        {"conv_3x3_deep", run_conv_3x3_deep, true},
                                        {"conv_1x1", run_conv_1x1, true},
                                        {"conv_7x7", run_conv_7x7, true},
                                        {"conv_depthwise", run_conv_depthwise, true},
                                        {"conv_3x3_gradients", run_conv_3x3_gradients, true},
                                        {"conv_3x3_deep_gradients", run_conv_3x3_deep_gradients, true},
                                        {"conv_1x1_gradients", run_conv_1x1_gradients, true},
                                        {"conv_7x7_gradients", run_conv_7x7_gradients, true},
                                        {"conv_depthwise_gradients", run_conv_depthwise_gradients, true},
                                        {"batch_norm", run_batch_norm, true},
                                        {"max_pool", run_max_pool, true},
                                        {"bilinear", run_bilinear, true},
                                        {"sort", run_sort, true},
                                        {"topk", run_topk, true},
                                        {"topk_1000", run_topk_1000, true},
                                        {"cholesky", run_cholesky, true},
                                        {"linalg_solve", run_linalg_solve, true},
                                        {"qr", run_qr, true},
                                        {"eigh", run_eigh, true},
                                        {"svd", run_svd, true},
                                        {"solve_batch", run_solve_batch, true},
                                        {"svd_batch", run_svd_batch, true},
                                        {"fft", run_fft, true},
                                        {"fft_long", run_fft_long, true},
                                        {"fft_one", run_fft_one, true},
                                        {"fft_prime", run_fft_prime, true},
                                        {"fft2", run_fft2, true},
                                        {"rfft", run_rfft, true}};
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

std::string line(const std::string &name, const RowResult &result) {
  std::string text = name + std::string(name.size() < 14 ? 14 - name.size() : 0, ' ');
  for (const Samples &samples : result.samples)
    text += "  " + samples.name + " " + number(samples.median()) + " ms (min " + number(samples.min()) + ")";
  for (const auto &[figure, value] : result.figures)
    text += "  " + figure + " " + number(value);
  return text + (result.note.empty() ? "" : "  " + result.note);
}

std::string failure(const std::string &name, const std::string &why) {
  return "{\"row\": " + quoted(name) + ", \"results\": {}, \"error\": " + quoted(why) + "}";
}

/// The body of the process of one row, which writes its result or its error to `out`.
void run_here(const Row &row, bool asJson, int out) {
  // The loops run on this thread, so the kernels do too: the queue's thread is not compared.
  if (row.inlineQueue)
    ::setenv("WEFT_CPU_QUEUE", "inline", 0);
  std::string text;
  try {
    const RowResult result = row.run();
    text = asJson ? json(row.name, result) : line(row.name, result);
  } catch (const std::exception &error) {
    text = asJson ? failure(row.name, error.what()) : row.name + " failed: " + error.what();
  }
  text += '\n';
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(out, text.data() + done, text.size() - done);
    if (written <= 0)
      break;
    done += static_cast<size_t>(written);
  }
}

// A row that compiles for minutes has failed, and the others are to be measured.
constexpr unsigned mostSeconds = 180;

/// Runs each row in a separate process, so that rows do not share threads, memory or compiled kernels.
std::string run_apart(const Row &row, bool asJson) {
  int ends[2];
  if (::pipe(ends) != 0)
    return failure(row.name, std::string("pipe: ") + std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0)
    return failure(row.name, std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    ::close(ends[0]);
    ::alarm(mostSeconds);
    run_here(row, asJson, ends[1]);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!text.empty() && text.back() == '\n') {
    text.pop_back();
    return text;
  }
  const std::string why = WIFSIGNALED(status)
                              ? std::string("it ended by signal: ") + ::strsignal(WTERMSIG(status))
                              : "it ended with status " + std::to_string(WEXITSTATUS(status));
  return asJson ? failure(row.name, why) : row.name + " failed: " + why;
}

std::string answer(const std::string &name) {
  for (const Row &row : rows())
    if (row.name == name)
      return run_apart(row, true);
  return failure(name, "there is no such row");
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
    const std::string text = run_apart(row, false);
    failed += text.find(" failed: ") != std::string::npos;
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }
  return failed ? 1 : 0;
}

constexpr const char *help = R"(weft-bench: Weft's side of the benchmark, beside loops written by hand.

  weft-bench [REGEX]     runs the rows whose names match, and prints them
  weft-bench --list      names the rows
  weft-bench --serve     reads row names on stdin, answers each with a line of JSON
  weft-bench --first-step [STEP]
                         times the first call of a training step (mlp_step, deep_step, lstm_step, gpt_step,
                         adam_300, adam_3000) in this fresh process, as JSON; WEFT_CACHE_DIR names the disk
                         cache that it uses
  weft-bench --calls WHAT
                         times every call of such a step, or of a loop on one thread (loop:0.5, in
                         milliseconds): for each line "SECONDS FEWEST_CALLS" on stdin a line of JSON
  weft-bench --device=NAME [REGEX [--profile]]
                         times the rows of a CUDA device by its events, as JSON, in microseconds;
                         bench/peer_device.py does it with PyTorch and JAX

WEFT_NUM_THREADS sets the number of threads. scripts/bench runs this beside the peers:

  scripts/bench --rows 'softmax|mul_add'
)";

int run(int argc, char **argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  const bool takesStep = first == "--first-step" || first == "--calls";
  constexpr std::string_view onDevice = "--device=";
  const std::string step = argc > 2 ? argv[2] : "mlp_step";
  if (const int most = first.starts_with(onDevice) ? 3 : takesStep ? 2 : 1; argc - 1 > most) {
    std::fprintf(stderr, "weft-bench: expected at most %d argument%s, found %d; see weft-bench --help\n",
                 most, most == 1 ? "" : "s", argc - 1);
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
    std::printf("%s\n", first_step(step).c_str());
    return 0;
  }
  if (first == "--calls") {
    serve_calls(step);
    return 0;
  }
  if (first.starts_with(onDevice)) {
    const std::string third = argc > 3 ? argv[3] : "";
    if (!third.empty() && third != "--profile") {
      std::fprintf(stderr, "weft-bench: unknown option '%s'; see weft-bench --help\n", third.c_str());
      return 2;
    }
    return run_device_rows(first.substr(onDevice.size()), argc > 2 ? argv[2] : "", !third.empty()) ? 0 : 1;
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
