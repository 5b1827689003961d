//===- ReportTest.cpp - Logs of a training run -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"
#include "test/unit/TemporaryFolder.h"

#include <fstream>
#include <iterator>
#include <limits>

using namespace weft;
using weft::test::contentOf;
using weft::test::TemporaryFolder;

namespace {
TEST(CsvLogger, WritesAHeaderAndARowForEachCall) {
  TemporaryFolder folder;
  const std::string path = folder / "run/loss.csv"; // the folder "run" is made
  CsvLogger log(path, {"step", "training loss"});
  EXPECT_EQ(contentOf(path), "step,training loss\n");
  log.log({0, 0.1});
  log.log({1, 1e-300});
  // Rows are in the file while it is open.
  EXPECT_EQ(contentOf(path), "step,training loss\n0,0.1\n1,1e-300\n");
  log.log({2, std::numeric_limits<double>::infinity()});
  log.log({3, std::numeric_limits<double>::quiet_NaN()});
  log.log({-std::numeric_limits<double>::max(), 5e-324});
  EXPECT_EQ(contentOf(path),
            "step,training loss\n0,0.1\n1,1e-300\n2,inf\n3,nan\n-1.7976931348623157e+308,5e-324\n");
}

TEST(CsvLogger, QuotesNamesThatNeedIt) {
  TemporaryFolder folder;
  CsvLogger log(folder / "a.csv", {"a,b", "say \"hi\"", "two\nlines", "plain name"});
  EXPECT_EQ(contentOf(folder / "a.csv"), "\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",plain name\n");
}

TEST(CsvLogger, ReplacesOrContinuesAFile) {
  TemporaryFolder folder;
  const std::string path = folder / "loss.csv";
  CsvLogger(path, {"step", "loss"}, {.append = true}).log({1, 3}); // there is no file yet
  CsvLogger(path, {"step", "loss"}, {.append = true}).log({2, 2});
  EXPECT_EQ(contentOf(path), "step,loss\n1,3\n2,2\n");
  EXPECT_ERROR(CsvLogger(path, {"step", "accuracy"}, {.append = true}),
               "its first line is not 'step,accuracy'");
  EXPECT_ERROR(CsvLogger(path, {"step", "loss", "accuracy"}, {.append = true}), "cannot continue");
  EXPECT_EQ(contentOf(path), "step,loss\n1,3\n2,2\n");
  CsvLogger(path, {"accuracy"}).log({0.5});
  EXPECT_EQ(contentOf(path), "accuracy\n0.5\n");
}

TEST(CsvLogger, RefusesWhatItCannotWrite) {
  TemporaryFolder folder;
  CsvLogger log(folder / "loss.csv", {"step", "loss"});
  EXPECT_ERROR(log.log({1}), "expected 2 numbers, one for each column, found 1");
  EXPECT_ERROR(log.log({1, 2, 3}), "found 3");
  EXPECT_ERROR(CsvLogger(folder / "b.csv", {}), "at least one column");
  EXPECT_ERROR(CsvLogger("/proc/no/such.csv", {"loss"}), "cannot write /proc/no/such.csv");
  EXPECT_ERROR(CsvLogger("/dev/full", {"loss"}), "cannot write /dev/full");
  EXPECT_EQ(contentOf(folder / "loss.csv"), "step,loss\n");
}
} // namespace
