//===- Report.cpp --------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/report.hpp"

#include "frontend/graph/Message.h"
#include "frontend/io/Progress.h"
#include "frontend/io/Svg.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>

namespace weft {

struct Progress::Impl {
  io::Progress line;
};

Progress::Progress(std::string label, int64_t total)
    : impl_(new Impl{io::Progress(io::ProgressOptions::standard_error(std::move(label), total))}) {}
Progress::~Progress() = default;
void Progress::update(int64_t done, const std::string &text) { impl_->line.update(done, text); }
void Progress::finish(const std::string &text) { impl_->line.finish(text); }

struct Timings::Impl {
  std::chrono::steady_clock::time_point begin;
  std::vector<double> times;
};

Timings::Timings() : impl_(new Impl) {}
Timings::~Timings() = default;
void Timings::start() { impl_->begin = std::chrono::steady_clock::now(); }
void Timings::stop() {
  impl_->times.push_back(
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - impl_->begin).count());
}
double Timings::median_ms() const {
  std::vector<double> times = impl_->times;
  if (times.empty())
    return std::numeric_limits<double>::quiet_NaN();
  auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}
size_t Timings::count() const { return impl_->times.size(); }

void save_curves(const std::string &path, const std::string &title, const std::string &x_label,
                 const std::string &y_label, const std::vector<Curve> &curves, Loc loc) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored; // what is wrong shows when the file is written
  if (!folder.empty())
    std::filesystem::create_directories(folder, ignored);
  io::Chart chart{title, x_label, y_label, {}};
  for (const Curve &curve : curves)
    chart.series.push_back({curve.name, curve.points});
  frontend::throwAt(io::write_svg(path, chart), loc);
}

} // namespace weft
