//===- chart.h - Line charts as SVG ------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EXAMPLES_COMMON_CHART_H
#define WEFT_EXAMPLES_COMMON_CHART_H

#include <string>
#include <utility>
#include <vector>

namespace example {

struct ChartSeries {
  std::string name;
  std::vector<std::pair<double, double>> points; ///< x ascending; points that are not finite are gaps
};

struct Chart {
  std::string title, x_label, y_label;
  std::vector<ChartSeries> series;
};

/// A picture in light or dark colours, as the reader's system prefers. Of a long series it keeps the first,
/// lowest, highest and last point of each column of pixels.
std::string render_svg(const Chart &chart);

/// Renders the chart into a file, and creates its folder if there is none. Throws weft::Error if the file
/// cannot be written.
void save_svg(const std::string &path, const Chart &chart);

/// Round numbers from `low` to `high`, about `wanted` of them, 1, 2 or 5 times a power of ten apart.
std::vector<double> axis_ticks(double low, double high, int wanted);

} // namespace example

#endif // WEFT_EXAMPLES_COMMON_CHART_H
