//===- report.hpp - Progress lines, times and curves ------------------------===//
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
#include <utility>
#include <vector>

namespace weft {

/// One line on standard error that shows how far work has come: rate, time left, and a text of the program's.
/// On a terminal it is redrawn in place, elsewhere it is a plain line at most once a second.
class WEFT_API Progress {
public:
  Progress(std::string label, int64_t total);
  ~Progress();
  /// `done` of the total so far. Cheap enough for every step.
  void update(int64_t done, const std::string &text = {});
  void finish(const std::string &text = {});

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// How long the repetitions of a piece of work take.
class WEFT_API Timings {
public:
  Timings();
  ~Timings();
  void start();
  /// Notes the time since `start`.
  void stop();
  /// Milliseconds; the upper one of two in the middle; NaN where nothing was noted.
  double median_ms() const;
  size_t count() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points; ///< x ascending; a point that is not finite breaks the line
};

/// Writes curves as an SVG picture with axes, and makes its folder if need be; throws Error where the file
/// cannot be written.
WEFT_API void save_curves(const std::string &path, const std::string &title, const std::string &x_label,
                          const std::string &y_label, const std::vector<Curve> &curves,
                          Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_REPORT_HPP
