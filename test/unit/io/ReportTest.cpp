//===- ReportTest.cpp - Loss curves and progress lines -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing.h"
#include "frontend/io/Progress.h"
#include "frontend/io/Svg.h"

#include <cmath>
#include <limits>

using namespace weft::io;
using namespace weft::io::testing;

namespace {

size_t times(const std::string &text, const std::string &word) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size())
    ++count;
  return count;
}

TEST(Svg, Ticks) {
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

TEST(Svg, DrawsSeriesWithNames) {
  Chart chart{"Loss of <mlp> & more",
              "step",
              "loss",
              {{"train", {{0, 2}, {1, 1}, {2, .5}}}, {"test", {{0, 2.1}, {2, .7}}}}};
  const std::string svg = render_svg(chart);
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_NE(svg.find("Loss of &lt;mlp&gt; &amp; more"), std::string::npos);
  EXPECT_EQ(times(svg, "class=\"curve\""), 4u); // two curves, two keys
  for (const char *word : {">step<", ">loss<", ">train<", ">test<", "prefers-color-scheme: dark", "M72.00 "})
    EXPECT_NE(svg.find(word), std::string::npos) << word;
  EXPECT_EQ(times(svg, "<text"), times(svg, "</text>"));
}

TEST(Svg, BreaksAtValuesThatAreNotFinite) {
  Chart chart{"t", "x", "y", {{"", {{0, 1}, {1, NAN}, {2, 3}, {3, INFINITY}, {4, 2}}}}};
  const std::string svg = render_svg(chart);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  const size_t at = svg.find("class=\"curve\"");
  EXPECT_EQ(times(svg.substr(at, svg.find("/>", at) - at), "M"), 3u);
}

TEST(Svg, SurvivesEmptyFlatAndHugeData) {
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

TEST(Svg, ThinsLongSeriesAndKeepsPeaks) {
  ChartSeries series{"s", {}};
  for (int i = 0; i < 200000; ++i)
    series.points.emplace_back(i, i == 123456 ? 10.0 : 0.0);
  const std::string svg = render_svg({"t", "x", "y", {series}});
  EXPECT_LT(svg.size(), 60000u);
  EXPECT_NE(svg.find(" 48.00"), std::string::npos); // the peak reaches the top
}

TEST(Svg, Writes) {
  TemporaryFolder dir;
  const Chart chart{"t", "x", "y", {}};
  ASSERT_TRUE(write_svg(dir / "loss.svg", chart).ok());
  EXPECT_EQ(slurp(dir / "loss.svg"), render_svg(chart));
  EXPECT_FALSE(write_svg(dir / "no/loss.svg", chart).ok());
}

struct Screen {
  double now = 0;
  std::string text;
  ProgressOptions options(int64_t total, bool terminal) {
    ProgressOptions result;
    result.label = "training";
    result.total = total;
    result.terminal = terminal;
    result.write = [this](std::string_view part) { text += part; };
    result.clock = [this] { return now; };
    return result;
  }
};

TEST(Progress, PlainLinesAtMostOneASecond) {
  Screen screen;
  {
    Progress progress(screen.options(1000, false));
    for (int i = 1; i <= 300; ++i) {
      screen.now += 0.01;
      progress.update(i, "loss 0.5");
    }
  }
  EXPECT_EQ(screen.text.find('\r'), std::string::npos);
  EXPECT_GE(times(screen.text, "\n"), 3u);
  EXPECT_LE(times(screen.text, "\n"), 4u);
  EXPECT_NE(screen.text.find("training: 100/1000 steps, 100/s, loss 0.5, 9 s left\n"), std::string::npos)
      << screen.text;
  EXPECT_NE(screen.text.find("training: 300/1000 steps, 100/s, loss 0.5, took 3 s\n"), std::string::npos)
      << screen.text;
}

TEST(Progress, RedrawsOneLineOnATerminal) {
  Screen screen;
  Progress progress(screen.options(0, true));
  screen.now = 1.5;
  progress.update(30, "a long text at first");
  screen.now = 1.55;
  progress.update(31, "too soon");
  screen.now = 1.7;
  progress.update(34, "short");
  progress.finish("done");
  progress.update(99);
  progress.finish();
  EXPECT_EQ(times(screen.text, "\r"), 3u);
  EXPECT_EQ(times(screen.text, "\n"), 1u);
  EXPECT_EQ(screen.text.back(), '\n');
  EXPECT_EQ(screen.text.find("too soon"), std::string::npos);
  // Every redraw covers the longer line before it.
  const size_t second = screen.text.find('\r', 1);
  EXPECT_GE(screen.text.find('\r', second + 1) - second, second);
}

TEST(Progress, CutsToTheTerminalsWidth) {
  Screen screen;
  ProgressOptions options = screen.options(0, true);
  options.columns = 30;
  Progress progress(std::move(options));
  screen.now = 2;
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += "\xc3\xa9";
  progress.update(1, text);
  EXPECT_LE(screen.text.size(), 31u);
  EXPECT_NE(static_cast<unsigned char>(screen.text.back()), 0xc3u);
}

TEST(Progress, SaysNothingOfShortWork) {
  Screen screen;
  {
    Progress progress(screen.options(10, false));
    screen.now = 0.5;
    progress.update(10);
  }
  EXPECT_EQ(screen.text, "");
}

TEST(Progress, Durations) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(59.6), "1 min 0 s");
  EXPECT_EQ(duration_text(3600 * 2 + 605), "2 h 10 min");
  EXPECT_EQ(duration_text(NAN), "a long time");
  EXPECT_EQ(duration_text(1e300), "a long time");
}

} // namespace
