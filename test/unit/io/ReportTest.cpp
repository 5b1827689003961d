//===- ReportTest.cpp - Progress lines ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing.h"
#include "frontend/io/Progress.h"
#include "test/unit/Occurrences.h"

#include <cmath>

using namespace weft::io;
using namespace weft::io::testing;
using weft::test::occurrences;

namespace {

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
  EXPECT_GE(occurrences(screen.text, "\n"), 3u);
  EXPECT_LE(occurrences(screen.text, "\n"), 4u);
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
  EXPECT_EQ(occurrences(screen.text, "\r"), 3u);
  EXPECT_EQ(occurrences(screen.text, "\n"), 1u);
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
