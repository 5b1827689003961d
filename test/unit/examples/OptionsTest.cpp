//===- OptionsTest.cpp - Command lines of the examples -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "common/options.h"

#include "weft/status.hpp"

#include <gtest/gtest.h>

using namespace example;

namespace {

/// The exit code for a command line, whose options are --epochs and --name.
int run(std::vector<std::string> words, const std::function<int(const Arguments &)> &body) {
  words.insert(words.begin(), "folder/program");
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  return run_program(static_cast<int>(pointers.size()), pointers.data(), "program --epochs 3",
                     {{"epochs", "N", "passes over the data", "10"}, {"name", "TEXT", "what to greet", ""}},
                     body);
}

TEST(Options, AreGivenInBothForms) {
  for (const std::vector<std::string> &words :
       {std::vector<std::string>{"--epochs", "3", "--name", "a", "--name=b"},
        {"--name=a", "--epochs=3", "--name", "b"}})
    EXPECT_EQ(run(words,
                  [](const Arguments &arguments) {
                    EXPECT_EQ(arguments.integer("epochs"), 3);
                    EXPECT_EQ(arguments.text("name"), "b");
                    EXPECT_EQ(arguments.all("name"), (std::vector<std::string>{"a", "b"}));
                    return 7;
                  }),
              7);
}

TEST(Options, HaveDefaults) {
  EXPECT_EQ(run({},
                [](const Arguments &arguments) {
                  EXPECT_EQ(arguments.integer("epochs", 1, 20), 10);
                  EXPECT_EQ(arguments.text("name"), "");
                  EXPECT_TRUE(arguments.all("name").empty());
                  EXPECT_THROW(arguments.text("colour"), weft::Error);
                  return 0;
                }),
            0);
}

TEST(Options, MistakesAreSaidOnStandardError) {
  const auto read = [](const Arguments &arguments) { return arguments.integer("epochs", 1, 20), 0; };
  const auto expect = [&](std::vector<std::string> words, int code, const std::string &text) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(words, read), code);
    const std::string error = testing::internal::GetCapturedStderr();
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  expect({"--colour", "red"}, 2, "program: unknown option '--colour'; see program --help");
  expect({"--epochs"}, 2, "no value for '--epochs'");
  for (const char *wrong : {"0", "21", "x", "3x", ""})
    expect({"--epochs", wrong}, 1, "--epochs needs a whole number of at least 1 and at most 20, found '");
  testing::internal::CaptureStdout();
  EXPECT_EQ(run({"--help"}, read), 0);
  const std::string help = testing::internal::GetCapturedStdout();
  for (const char *words : {"usage: program [--epochs N] [--name TEXT]", "passes over the data (default: 10)",
                            "example: program --epochs 3"})
    EXPECT_NE(help.find(words), std::string::npos) << help;
}

} // namespace
