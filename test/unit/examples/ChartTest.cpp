//===- ChartTest.cpp - Line charts of the examples -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "common/chart.h"

#include "test/unit/Occurrences.h"
#include "test/unit/TemporaryFolder.h"
#include "weft/status.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace example;
using weft::test::contentOf;
using weft::test::occurrences;
using weft::test::TemporaryFolder;

namespace {

TEST(Chart, Ticks) {
  EXPECT_EQ(axis_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(axis_ticks(-1, 1, 4), (std::vector<double>{-1, -0.5, 0, 0.5, 1}));
  EXPECT_TRUE(axis_ticks(1, 1, 5).empty());
  EXPECT_TRUE(axis_ticks(2, 1, 5).empty());
  EXPECT_TRUE(axis_ticks(NAN, 1, 5).empty());
  for (double high : {1e-300, 3e-5, 0.7, 12345.0, 1e300}) {
    const std::vector<double> ticks = axis_ticks(0, high, 6);
    EXPECT_GE(ticks.size(), 4u) << high;
    EXPECT_LE(ticks.size(), 10u) << high;
  }
}

TEST(Chart, DrawsSeriesWithNames) {
  Chart chart{"Loss of <mlp> & more",
              "step",
              "loss",
              {{"train", {{0, 2}, {1, 1}, {2, .5}}}, {"test", {{0, 2.1}, {2, .7}}}}};
  const std::string svg = render_svg(chart);
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_NE(svg.find("Loss of &lt;mlp&gt; &amp; more"), std::string::npos);
  EXPECT_EQ(occurrences(svg, "class=\"curve\""), 4u); // two curves, two keys
  for (const char *word : {">step<", ">loss<", ">train<", ">test<", "prefers-color-scheme: dark", "M72.00 "})
    EXPECT_NE(svg.find(word), std::string::npos) << word;
  EXPECT_EQ(occurrences(svg, "<text"), occurrences(svg, "</text>"));
}

TEST(Chart, BreaksAtValuesThatAreNotFinite) {
  Chart chart{"t", "x", "y", {{"", {{0, 1}, {1, NAN}, {2, 3}, {3, INFINITY}, {4, 2}}}}};
  const std::string svg = render_svg(chart);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  const size_t at = svg.find("class=\"curve\"");
  EXPECT_EQ(occurrences(svg.substr(at, svg.find("/>", at) - at), "M"), 3u);
}

TEST(Chart, SurvivesEmptyFlatAndHugeData) {
  constexpr double largest = std::numeric_limits<double>::max();
  for (const std::vector<std::pair<double, double>> &points : {std::vector<std::pair<double, double>>{},
                                                               {{0, 0}},
                                                               {{5, 3}, {6, 3}},
                                                               {{0, NAN}},
                                                               {{-largest, -largest}, {largest, largest}},
                                                               {{1e18, 1}, {1e18 + 1024, 2}}}) {
    const std::string svg = render_svg({"t", "x", "y", {{"s", points}}});
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
    EXPECT_LT(svg.size(), 10000u);
  }
}

TEST(Chart, ThinsLongSeriesAndKeepsPeaks) {
  ChartSeries series{"s", {}};
  for (int i = 0; i < 200000; ++i)
    series.points.emplace_back(i, i == 123456 ? 10.0 : 0.0);
  const std::string svg = render_svg({"t", "x", "y", {series}});
  EXPECT_LT(svg.size(), 60000u);
  EXPECT_NE(svg.find(" 48.00"), std::string::npos); // the peak reaches the top
}

TEST(Chart, Writes) {
  TemporaryFolder dir;
  const Chart chart{"t", "x", "y", {}};
  for (const std::string &path : {dir / "loss.svg", dir / "a/folder/loss.svg"}) {
    save_svg(path, chart);
    EXPECT_EQ(contentOf(path), render_svg(chart));
  }
  EXPECT_THROW(save_svg("/proc/no/such.svg", chart), weft::Error);
}

} // namespace
