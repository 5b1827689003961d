//===- Progress.h - A progress line --------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_PROGRESS_H
#define WEFT_FRONTEND_IO_PROGRESS_H

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weft::io {

struct ProgressOptions {
  std::string label;          ///< what is going on, such as "training"
  std::string unit = "steps"; ///< what is counted
  int64_t total = 0;          ///< 0 if it is not known; then no total and no time left are shown
  bool terminal = false;      ///< redraw one line in place; otherwise plain lines, at most one a second
  size_t columns = 79;        ///< the widest line on a terminal, which must not wrap
  std::function<void(std::string_view)> write; ///< where text goes
  std::function<double()> clock;               ///< seconds; steady

  /// Standard error, with the steady clock; `terminal` and `columns` as they are there.
  static ProgressOptions standard_error(std::string label, int64_t total);
};

/// Shows rate, a text such as the loss, and time left, for work that takes longer than a second. Work that
/// is done sooner prints nothing.
class Progress {
public:
  explicit Progress(ProgressOptions options);
  /// Finishes with the last count and text.
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// `done` so far. Cheap enough for every step: most calls only read the clock.
  void update(int64_t done, std::string_view text = {});
  /// The last line, if any was shown. Later calls do nothing.
  void finish(std::string_view text = {});

private:
  std::string line(double now) const;
  void show(double now);

  ProgressOptions options_;
  double start_, shown_at_;
  bool shown_ = false, finished_ = false;
  int64_t done_ = 0;
  size_t shown_columns_ = 0;
  std::string text_;
};

/// "42 s", "3 min 5 s", "2 h 10 min".
std::string duration_text(double seconds);

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_PROGRESS_H
