//===- Progress.cpp - A progress line ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Progress.h"

#include "frontend/io/Message.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace weft::io {

namespace {

/// Between two lines: a terminal shows motion at ten a second; a log needs one a second at most.
constexpr double terminalPeriod = 0.1, logPeriod = 1.0, firstAfter = 1.0;

/// Three digits, with a suffix where numbers get long.
std::string rate_text(double rate) {
  char text[32];
  if (rate >= 1e6)
    std::snprintf(text, sizeof(text), "%.3gM", rate / 1e6);
  else if (rate >= 1e4)
    std::snprintf(text, sizeof(text), "%.3gk", rate / 1e3);
  else
    std::snprintf(text, sizeof(text), rate >= 100 ? "%.0f" : "%.3g", rate);
  return text;
}

} // namespace

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9)
    return "a long time";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60)
    return cat(whole, " s");
  if (whole < 3600)
    return cat(whole / 60, " min ", whole % 60, " s");
  return cat(whole / 3600, " h ", whole % 3600 / 60, " min");
}

ProgressOptions ProgressOptions::standard_error(std::string label, int64_t total) {
  ProgressOptions options;
  options.label = std::move(label);
  options.total = total;
  const char *kind = std::getenv("TERM");
  options.terminal = ::isatty(STDERR_FILENO) == 1 && kind && std::string_view(kind) != "dumb";
  winsize size{};
  if (options.terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
    options.columns = size.ws_col - 1u;
  options.write = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  options.clock = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  return options;
}

Progress::Progress(ProgressOptions options) : options_(std::move(options)) {
  const ProgressOptions standard = ProgressOptions::standard_error({}, 0);
  if (!options_.write)
    options_.write = standard.write;
  if (!options_.clock)
    options_.clock = standard.clock;
  start_ = shown_at_ = options_.clock();
}

Progress::~Progress() { finish(text_); }

std::string Progress::line(double now) const {
  const double seconds = now - start_;
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  std::string out = options_.label.empty() ? "" : cat(options_.label, ": ");
  out += std::to_string(done_);
  if (options_.total > 0)
    out += cat("/", options_.total);
  out += cat(" ", options_.unit, ", ", rate_text(rate), "/s");
  if (!text_.empty())
    out += cat(", ", text_);
  if (finished_)
    out += cat(", took ", duration_text(seconds));
  else if (options_.total > done_ && rate > 0)
    out += cat(", ", duration_text(static_cast<double>(options_.total - done_) / rate), " left");
  return out;
}

void Progress::show(double now) {
  std::string text = line(now);
  shown_ = true;
  shown_at_ = now;
  if (!options_.terminal) {
    options_.write(text + "\n");
    return;
  }
  if (text.size() > options_.columns) {
    size_t end = options_.columns;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) // keep UTF-8 characters whole
      --end;
    text.resize(end);
  }
  const size_t columns = text.size();
  // Blanks over what is left of a longer line.
  text.append(shown_columns_ - std::min(shown_columns_, columns), ' ');
  shown_columns_ = columns;
  options_.write(cat("\r", text, finished_ ? "\n" : ""));
}

void Progress::update(int64_t done, std::string_view text) {
  if (finished_)
    return;
  done_ = done;
  const double now = options_.clock();
  const double period = !shown_ ? firstAfter : options_.terminal ? terminalPeriod : logPeriod;
  text_ = text; // kept even if nothing is shown now, for the destructor
  if (now - shown_at_ >= period)
    show(now);
}

void Progress::finish(std::string_view text) {
  if (finished_)
    return;
  finished_ = true;
  if (!shown_)
    return;
  text_ = std::string(text);
  show(options_.clock());
}

} // namespace weft::io
