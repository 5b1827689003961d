//===- TraceFolderTest.cpp - Every compilation of a run, on disk -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

using namespace weft;
namespace fs = std::filesystem;

namespace {

/// An empty folder, which WEFT_TRACE_DIR names while the object lives.
struct Traced {
  explicit Traced(const std::string &name)
      : folder(fs::path(testing::TempDir()) / ("weft-trace-" + name + "-" + std::to_string(getpid()))) {
    fs::remove_all(folder);
    ::setenv("WEFT_TRACE_DIR", folder.c_str(), 1);
  }
  ~Traced() {
    ::unsetenv("WEFT_TRACE_DIR");
    fs::remove_all(folder);
  }
  /// The only run in the folder.
  fs::path run() const {
    fs::path found;
    for (const auto &entry : fs::directory_iterator(folder))
      if (entry.is_directory()) {
        EXPECT_TRUE(found.empty()) << "a second run: " << entry.path();
        found = entry.path();
      }
    return found;
  }
  const fs::path folder;
};

std::string read(const fs::path &path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Numbers from memory of the host, for which nothing is compiled.
Tensor numbers(Shape shape) {
  return generated(std::move(shape), [](size_t) { return 1; });
}

/// Every link of a page leads to a file beside it.
void expectLinksResolve(const fs::path &page) {
  const std::string text = read(page);
  const std::regex link("href=\"([^\"#]+)\"");
  for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it)
    EXPECT_TRUE(fs::exists(page.parent_path() / std::string((*it)[1]))) << page << " links to " << (*it)[1];
}

} // namespace

TEST(TraceFolder, KeepsEveryCompilationWithItsReason) {
  const Traced traced("reasons");
  auto f = compile([](Tensor x) { return softmax(x * 2 + 1, -1).sum(); }, {.name = "step"});
  f(numbers({2, 3}));
  f(numbers({4, 3}));
  f(numbers({4, 3})); // no compilation
  // Of a structure that no other test has.
  EXPECT_EQ((numbers({5, 7, 11}) * 3).flip({0}).sum({1}).amax().item<float>(), 21);
  const fs::path run = traced.run();
  const std::string index = read(run / "index.html");
  EXPECT_TRUE(mentions(index, "<p>3 compilations in ")) << index;
  EXPECT_TRUE(mentions(index, "the first variant of 'step'")) << index;
  EXPECT_TRUE(mentions(
      index, "WEFT-R001: argument 0 was tensor&lt;2x3xf32, cpu&gt; and is tensor&lt;4x3xf32, cpu&gt;"))
      << index;
  EXPECT_TRUE(mentions(index, "a lazy program that is not compiled yet (operations: ")) << index;
  EXPECT_TRUE(mentions(index, "TraceFolderTest.cpp:")) << index;
  for (const char *compilation : {"0001-step", "0002-step", "0003-lazy"}) {
    const fs::path folder = run / compilation;
    EXPECT_TRUE(mentions(read(folder / "recorded.mlir"), "weft.func @")) << compilation;
    EXPECT_TRUE(mentions(read(folder / "01-inline.mlir"), "weft.func @")) << compilation;
    EXPECT_TRUE(mentions(read(folder / "06-fusion.mlir"), "weft.fusion")) << compilation;
    EXPECT_EQ(read(folder / "08-scheduling.mlir"), read(folder / "plan.mlir")) << compilation;
    EXPECT_TRUE(mentions(read(folder / "kernels.mlir"), "func.func @")) << compilation;
    EXPECT_TRUE(mentions(read(folder / "explain.html"), "<h3>Launches</h3>")) << compilation;
    const std::string phases = read(folder / "phases.html");
    EXPECT_TRUE(mentions(phases, "fusion: ")) << phases;
    EXPECT_TRUE(std::regex_search(phases, std::regex("class=a>\\+.*weft.fusion "))) << phases;
    EXPECT_TRUE(mentions(phases, "class=d>-")) << phases;
    expectLinksResolve(folder / "phases.html");
  }
  expectLinksResolve(run / "index.html");
  expectLinksResolve(traced.folder / "index.html");
  EXPECT_TRUE(mentions(read(traced.folder / "index.html"), run.filename().string()));
  // Only complete files: no temporary file is left.
  for (const auto &entry : fs::recursive_directory_iterator(traced.folder))
    EXPECT_FALSE(mentions(entry.path().filename().string(), ".tmp")) << entry.path();
}

TEST(TraceFolder, ChangesNoResultAndNoPlan) {
  const auto fn = [](Tensor x) { return softmax(x * 2 + 1, -1).sum(0); };
  manual_seed(3);
  Tensor x = rand({8, 9});
  auto plain = compile(fn, {.name = "same"});
  const auto bits = plain(x).to_bytes();
  const Traced traced("same");
  auto kept = compile(fn, {.name = "same"});
  EXPECT_EQ(kept(x).to_bytes(), bits);
  EXPECT_EQ(kept.mlir("plan"), plain.mlir("plan"));
}

TEST(TraceFolder, ACompilationThatFailsIsKeptToo) {
  const Traced traced("fails");
  auto f =
      compile([](Tensor x) { return x.sum(0) + x.sum(1); }, {.name = "refused", .strict = Strict::fusion});
  EXPECT_ERROR(f(numbers({64, 64})), "WEFT-F00");
  const fs::path run = traced.run();
  const std::string index = read(run / "index.html");
  EXPECT_TRUE(mentions(index, "failed: ")) << index;
  EXPECT_TRUE(mentions(index, "WEFT-F00")) << index;
  EXPECT_TRUE(mentions(read(run / "0001-refused" / "recorded.mlir"), "weft.sum"));
  expectLinksResolve(run / "index.html");
}

TEST(TraceFolder, WhatCannotBeWrittenIsSaidOnceAndFailsNothing) {
  const fs::path file = fs::path(testing::TempDir()) / ("weft-trace-file-" + std::to_string(getpid()));
  std::ofstream(file) << "no folder";
  ::setenv("WEFT_TRACE_DIR", (file / "below").c_str(), 1);
  testing::internal::CaptureStderr();
  auto f = compile([](Tensor x) { return x * 7; });
  EXPECT_EQ(f(numbers({2})).to_vector<float>()[0], 7);
  EXPECT_EQ(f(numbers({3})).to_vector<float>()[0], 7);
  const std::string text = testing::internal::GetCapturedStderr();
  ::unsetenv("WEFT_TRACE_DIR");
  fs::remove(file);
  const std::string message = "weft: WEFT_TRACE_DIR is '" + (file / "below").string() + "', and ";
  ASSERT_TRUE(mentions(text, message)) << text;
  EXPECT_TRUE(mentions(text, "Not a directory")) << text;
  EXPECT_FALSE(mentions(text.substr(text.find(message) + message.size()), "WEFT_TRACE_DIR is")) << text;
}

TEST(TraceFolder, AFolderThatGoesAwayIsSaidOnceToo) {
  testing::internal::CaptureStderr();
  {
    const Traced traced("gone");
    auto f = compile([](Tensor x) { return x * 5; });
    f(numbers({2}));
    fs::remove_all(traced.folder);
    EXPECT_EQ(f(numbers({3})).to_vector<float>()[0], 5);
    EXPECT_EQ(f(numbers({4})).to_vector<float>()[0], 5);
  }
  const std::string text = testing::internal::GetCapturedStderr();
  const size_t first = text.find("compilations are not kept there from here on");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("compilations are not kept", first + 1), std::string::npos) << text;
}

TEST(TraceFolder, ARunKeepsABoundedNumber) {
  const Traced traced("bounded");
  constexpr int kept = 200;
  for (int i = 1; i <= kept + 3; ++i)
    compile([](Tensor x) { return x; })(numbers({i}));
  size_t folders = 0;
  for (const auto &entry : fs::directory_iterator(traced.run()))
    folders += entry.is_directory();
  EXPECT_EQ(folders, static_cast<size_t>(kept));
  const std::string index = read(traced.run() / "index.html");
  EXPECT_TRUE(mentions(index, "are not kept: a run keeps 200 compilations and 256 MiB of them"))
      << index.substr(0, 900);
}
