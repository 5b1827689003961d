//===- Report.cpp --------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/report.hpp"

#include "frontend/io/Progress.h"
#include "frontend/io/Svg.h"

namespace weft {

struct Progress::Impl {
  io::Progress line;
};

Progress::Progress(std::string label, int64_t total)
    : impl_(new Impl{io::Progress(io::ProgressOptions::standard_error(std::move(label), total))}) {}
Progress::~Progress() = default;
void Progress::update(int64_t done, const std::string &text) { impl_->line.update(done, text); }
void Progress::finish(const std::string &text) { impl_->line.finish(text); }

void save_curves(const std::string &path, const std::string &title, const std::string &x_label,
                 const std::string &y_label, const std::vector<Curve> &curves) {
  io::Chart chart{title, x_label, y_label, {}};
  for (const Curve &curve : curves)
    chart.series.push_back({curve.name, curve.points});
  io::write_svg(path, chart).throw_if_failed();
}

} // namespace weft
