//===- report.hpp - Progress bars and logs of a training run -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_REPORT_HPP
#define WEFT_REPORT_HPP

#include "weft/device.hpp"
#include "weft/export.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft {

/// A progress bar in one line of standard error, for a loop over a loader or any other long work: the count,
/// the rate, a text of the program's, and the time left. A terminal redraws the line; a log gets one line a
/// second at most. Work that ends within a second prints nothing.
class WEFT_API Progress {
public:
  /// `total` is the number of steps; 0 if it is not known.
  Progress(std::string label, int64_t total);
  ~Progress();
  /// `done` steps are complete. The call is cheap enough for every step.
  void update(int64_t done, const std::string &text = {});
  void finish(const std::string &text = {});

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct CsvLoggerOptions {
  bool append = false; ///< continue a file that has the same columns, as a resumed run does
};

/// Writes the numbers of a training run, such as its losses, to a CSV file that spreadsheets and plotting
/// tools read: a header with the names of the columns, then a row for each call of `log`. Each row reaches
/// the file at once, so the curve can be plotted while the run goes on.
class WEFT_API CsvLogger {
public:
  /// Opens the file and creates its folder if there is none. Without `append` an existing file is replaced.
  /// Throws Error if there are no columns, if the file cannot be opened, or if a file to continue has other
  /// columns.
  CsvLogger(const std::string &path, const std::vector<std::string> &columns, CsvLoggerOptions options = {},
            Loc loc = Loc::current());
  ~CsvLogger();
  /// Writes a row with one number for each column. Throws Error for another count, or if the row cannot be
  /// written.
  void log(const std::vector<double> &values, Loc loc = Loc::current());

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace weft

#endif // WEFT_REPORT_HPP
