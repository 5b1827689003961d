//===- StatusTest.cpp - Failures as data ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/status.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Status, SuccessHoldsNothing) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.info(), nullptr);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.code(), "");
  EXPECT_TRUE(status.context("here: ").ok());
  EXPECT_TRUE(status.with([](FailureInfo &info) { info.what = "not called"; }).ok());
  EXPECT_EQ(sizeof(Status), sizeof(std::shared_ptr<const FailureInfo>));
}

TEST(Status, AContextKeepsEverythingElse) {
  FailureInfo info;
  info.code = "WEFT-L008";
  info.check = FailedCheck::index;
  info.dimension = 1;
  info.size = 4;
  info.position = 17;
  info.value = -5;
  info.location = "train.cpp:12:3";
  info.operation = 2;
  const Status failure = Status::error(info);
  const Status outer = failure.context("inner: ").context("outer: ");
  EXPECT_EQ(outer.message(),
            "outer: inner: index -5 is out of bounds for dimension 1 with size 4 (at position 17) "
            "(at train.cpp:12:3)");
  EXPECT_EQ(outer.code(), "WEFT-L008");
  EXPECT_EQ(outer.info()->operation, 2);
  EXPECT_EQ(outer.info()->value, -5);
  EXPECT_EQ(failure.info()->context, "") << "a record that others share does not change";
}

TEST(Status, TextIsMadeOfTheParts) {
  FailureInfo info;
  info.check = FailedCheck::index;
  info.subject = "Target";
  info.size = 10;
  info.value = 12;
  info.position = 3;
  info.location = "loss.cpp:7:1";
  info.function = "step";
  info.call = 2;
  info.call_file = "main.cpp";
  info.call_line = 40;
  info.notes = "  called with (tensor<4xi64, cpu>)";
  EXPECT_EQ(info.str(),
            "call 2 of 'step' failed: Target 12 is out of bounds: expected a number in [0, 10) (at "
            "position 3) (at loss.cpp:7:1)\n  in the call at main.cpp:40\n  called with "
            "(tensor<4xi64, cpu>)");
  info = {};
  info.check = FailedCheck::condition;
  info.what = "the loss is finite";
  info.position = 0;
  EXPECT_EQ(info.str(), "the loss is finite (the condition is false at position 0)");
  info.check = FailedCheck::other;
  info.what = "check 4 failed";
  info.value = 9;
  EXPECT_EQ(info.str(), "check 4 failed at position 0 with value 9");
  info.value_known = false;
  EXPECT_EQ(info.str(), "check 4 failed at position 0 with a value that is not known");
  info.check = FailedCheck::index;
  info.dimension = 1;
  info.size = 7;
  EXPECT_EQ(info.str(), "index (value unknown) is out of bounds for dimension 1 with size 7 (at position 0)");
}

TEST(Status, AnErrorCarriesTheRecord) {
  FailureInfo info;
  info.code = "WEFT-M001";
  info.what = "no memory";
  info.position = 5;
  try {
    Status::error(info).throw_if_failed();
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "no memory");
    EXPECT_EQ(error.code(), "WEFT-M001");
    EXPECT_EQ(error.info().position, 5);
  }
  const Error longer("no memory\n  at here", Status::error(info));
  EXPECT_STREQ(longer.what(), "no memory\n  at here");
  EXPECT_EQ(longer.info().what, "no memory");
  const Error plain("only words", "WEFT-P001");
  EXPECT_EQ(plain.code(), "WEFT-P001");
  EXPECT_EQ(plain.info().what, "only words");
  EXPECT_EQ(Error("words", Status()).info().what, "words") << "a record is there whatever it is made of";
}

} // namespace
} // namespace weft
