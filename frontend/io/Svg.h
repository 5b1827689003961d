//===- Svg.h - Curves as SVG ---------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_SVG_H
#define WEFT_FRONTEND_IO_SVG_H

#include "weft/status.hpp"

#include <string>
#include <utility>
#include <vector>

namespace weft::io {

struct ChartSeries {
  std::string name;
  std::vector<std::pair<double, double>> points; ///< x ascending; a point that is not finite breaks the line
};

struct Chart {
  std::string title, x_label, y_label;
  std::vector<ChartSeries> series;
};

/// A picture that follows the reader's light or dark setting and stays readable without one. Long series
/// are thinned to what a pixel shows: the first, lowest, highest and last point of each column.
std::string render_svg(const Chart &chart);

/// Renders and writes, to a temporary file first.
Status write_svg(const std::string &path, const Chart &chart);

/// Round numbers from `low` to `high`, about `wanted` of them, 1, 2 or 5 times a power of ten apart.
std::vector<double> axis_ticks(double low, double high, int wanted);

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_SVG_H
