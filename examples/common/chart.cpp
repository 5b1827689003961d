//===- chart.cpp - Line charts as SVG ----------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "common/chart.h"

#include <weft/status.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace example {

namespace {

/// The parts of a text in one.
template <typename... Parts> std::string cat(const Parts &...parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

constexpr double width = 760, height = 440, left = 72, right = 24, top = 48, bottom = 56;
/// Okabe and Ito's colours: told apart by colour-blind readers, and dark enough on white and light enough
/// on black.
constexpr const char *colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};

std::string number(double value, int digits = 6) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  return text;
}

/// Pixels, to a hundredth.
std::string pixel(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.2f", value);
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20) // XML has no other control characters
      out += c;
    else
      out += ' ';
  }
  return out;
}

struct Range {
  double low, high;
  /// 0 to 1. Halves keep the difference of two huge numbers finite.
  double place(double value) const { return (value / 2 - low / 2) / (high / 2 - low / 2); }
};

/// The values' range, widened where it is empty.
Range range_of(const Chart &chart, bool of_x) {
  std::optional<Range> range;
  for (const ChartSeries &series : chart.series)
    for (const auto &[x, y] : series.points) {
      if (!std::isfinite(x) || !std::isfinite(y))
        continue;
      const double value = of_x ? x : y;
      if (!range)
        range = {value, value};
      range->low = std::min(range->low, value);
      range->high = std::max(range->high, value);
    }
  if (!range)
    return {0, 1};
  // Below a relative spread of 1e-9 the ticks would all read the same.
  const double least = std::max(std::abs(range->low), std::abs(range->high)) * 1e-9;
  if (range->high - range->low <= least) {
    const double spread = std::max(std::abs(range->low) * 0.1, 1e-12);
    range = {range->low - spread, range->high + spread};
  }
  constexpr double largest = 1e300;
  return {std::clamp(range->low, -largest, largest), std::clamp(range->high, -largest, largest)};
}

/// The line of one series as path data. The points of one pixel column become its first, lowest, highest and
/// last, in the order in which they come.
std::string path_of(const ChartSeries &series, const Range &xs, const Range &ys) {
  std::string out;
  bool pen_down = false;
  const auto px = [&](double x) { return left + std::clamp(xs.place(x), 0.0, 1.0) * (width - left - right); };
  const auto py = [&](double y) {
    return height - bottom - std::clamp(ys.place(y), 0.0, 1.0) * (height - top - bottom);
  };
  const auto finite = [&](size_t i) {
    return std::isfinite(series.points[i].first) && std::isfinite(series.points[i].second);
  };
  for (size_t i = 0; i < series.points.size();) {
    if (!finite(i)) {
      pen_down = false;
      ++i;
      continue;
    }
    const double column = std::floor(px(series.points[i].first));
    size_t end = i, lowest = i, highest = i;
    for (; end < series.points.size() && finite(end) && std::floor(px(series.points[end].first)) == column;
         ++end) {
      if (series.points[end].second < series.points[lowest].second)
        lowest = end;
      if (series.points[end].second > series.points[highest].second)
        highest = end;
    }
    size_t kept[] = {i, std::min(lowest, highest), std::max(lowest, highest), end - 1};
    for (size_t k = 0; k < 4; ++k) {
      if (k > 0 && kept[k] == kept[k - 1])
        continue;
      out += cat(pen_down ? "L" : "M", pixel(px(series.points[kept[k]].first)), " ",
                 pixel(py(series.points[kept[k]].second)));
      pen_down = true;
    }
    i = end;
  }
  return out;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view extra,
                    std::string_view text) {
  return cat("<text x=\"", pixel(x), "\" y=\"", pixel(y), "\" text-anchor=\"", anchor, "\"", extra, ">",
             escaped(text), "</text>\n");
}

} // namespace

std::vector<double> axis_ticks(double low, double high, int wanted) {
  std::vector<double> ticks;
  const double rough = (high / 2 - low / 2) / std::max(wanted, 1) * 2;
  if (!(rough > 0) || !std::isfinite(rough))
    return ticks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double ratio = rough / power;
  const double step = power * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
  if (!(step > 0) || !std::isfinite(step))
    return ticks;
  // Multiples of the step, not sums, so that rounding does not add up; the count is bounded in any case.
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i < 4 * std::max(wanted, 1); ++i) {
    const double value = (first + i) * step;
    if (!(value <= high + step * 1e-9))
      break;
    ticks.push_back(value == 0 ? 0 : value); // no "-0"
  }
  return ticks;
}

std::string render_svg(const Chart &chart) {
  const Range xs = range_of(chart, true), ys = range_of(chart, false);
  std::string out =
      cat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", pixel(width), " ", pixel(height),
          "\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n<title>",
          escaped(chart.title),
          "</title>\n<style>\n"
          "  text { fill: #1f2328 } .paper { fill: #ffffff } .grid { stroke: #8c959f; stroke-opacity: .3 }\n"
          "  .axis { stroke: #57606a } .curve { fill: none; stroke-width: 1.8; stroke-linejoin: round }\n"
          "  @media (prefers-color-scheme: dark) {\n"
          "    text { fill: #e6edf3 } .paper { fill: #0d1117 } .axis { stroke: #8b949e }\n"
          "  }\n</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
  out += text_at(width / 2, 28, "middle", " font-size=\"16\" font-weight=\"600\"", chart.title);

  const double x_end = width - right, y_end = height - bottom;
  for (double tick : axis_ticks(xs.low, xs.high, 8)) {
    const double x = left + xs.place(tick) * (x_end - left);
    out += cat("<path class=\"grid\" d=\"M", pixel(x), " ", pixel(top), "V", pixel(y_end), "\"/>\n");
    out += text_at(x, y_end + 20, "middle", "", number(tick));
  }
  for (double tick : axis_ticks(ys.low, ys.high, 6)) {
    const double y = y_end - ys.place(tick) * (y_end - top);
    out += cat("<path class=\"grid\" d=\"M", pixel(left), " ", pixel(y), "H", pixel(x_end), "\"/>\n");
    out += text_at(left - 8, y + 4, "end", "", number(tick));
  }
  out += cat("<path class=\"axis\" fill=\"none\" d=\"M", pixel(left), " ", pixel(top), "V", pixel(y_end), "H",
             pixel(x_end), "\"/>\n");
  out += text_at((left + x_end) / 2, height - 14, "middle", "", chart.x_label);
  const double middle = (top + y_end) / 2;
  out +=
      text_at(18, middle, "middle", cat(" transform=\"rotate(-90 18 ", pixel(middle), ")\""), chart.y_label);

  for (size_t i = 0; i < chart.series.size(); ++i) {
    const char *colour = colours[i % std::size(colours)];
    // The second time round the same colours are dashed.
    const char *dash = i / std::size(colours) % 2 ? "\" stroke-dasharray=\"5 3" : "";
    const std::string path = path_of(chart.series[i], xs, ys);
    if (!path.empty())
      out += cat("<path class=\"curve\" stroke=\"", colour, dash, "\" d=\"", path, "\"/>\n");
    if (chart.series[i].name.empty())
      continue;
    const double y = top + 14 + 18 * static_cast<double>(i);
    out += cat("<path class=\"curve\" stroke=\"", colour, dash, "\" d=\"M", pixel(x_end - 28), " ", pixel(y),
               "H", pixel(x_end - 6), "\"/>\n");
    out += text_at(x_end - 34, y + 4, "end", "", chart.series[i].name);
  }
  return out + "</svg>\n";
}

void save_svg(const std::string &path, const Chart &chart) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored; // if there is no folder, opening the file fails and is reported
  if (!folder.empty())
    std::filesystem::create_directories(folder, ignored);
  std::ofstream file(path, std::ios::binary);
  file << render_svg(chart) << std::flush;
  if (!file)
    throw weft::Error("cannot write " + path);
}

} // namespace example
