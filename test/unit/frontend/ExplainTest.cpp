//===- ExplainTest.cpp - What people see of a compiled function -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The training step of a GPT of two layers, explained: as text in a few screens, in full, and as a page.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

using namespace weft;

namespace {

constexpr int64_t words = 65, width = 32, heads = 4, length = 16;

struct Block : nn::Module {
  nn::LayerNorm before = register_module("before", nn::LayerNorm(width));
  nn::Linear qkv = register_module("qkv", nn::Linear(width, 3 * width));
  nn::Linear out = register_module("out", nn::Linear(width, width));
  nn::LayerNorm after = register_module("after", nn::LayerNorm(width));
  nn::Linear up = register_module("up", nn::Linear(width, 4 * width));
  nn::Linear down = register_module("down", nn::Linear(4 * width, width));

  Tensor operator()(Tensor x) {
    const int64_t batch = x.size(0);
    Tensor parts = qkv(before(x)).view({batch, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    Tensor scores = matmul(parts.select(0, 0), parts.select(0, 1).transpose(-2, -1)) / 2.8284;
    scores = where(tril(ones_like(scores)) > 0, scores, -1e9);
    Tensor mixed = matmul(scores.softmax(-1), parts.select(0, 2)); // line "mixed"
    x = x + out(mixed.transpose(1, 2).reshape({batch, length, width}));
    return x + down(gelu(up(after(x))));
  }
};

struct Gpt : nn::Module {
  nn::Embedding word = register_module("word", nn::Embedding(words, width));
  nn::Embedding place = register_module("place", nn::Embedding(length, width));
  Block first = register_module("first", Block());
  Block second = register_module("second", Block());
  nn::Linear head = register_module("head", nn::Linear(width, words));
  Tensor operator()(Tensor ids) { return head(second(first(word(ids) + place(arange(length))))); }
};

/// A step that was called once.
struct Training {
  Gpt model;
  optim::AdamW adam{model.parameters(), {.lr = 1e-3}};
  CompiledFunction<Tensor, std::tuple<Tensor, Tensor>> step = compile(
      [this](Tensor ids, Tensor targets) {
        Tensor loss = nn::cross_entropy(model(ids).reshape({-1, words}), targets.reshape({-1}));
        loss.backward();
        adam.step();
        adam.zero_grad();
        return loss;
      },
      {.name = "step"});
  Training() {
    manual_seed(0);
    Tensor ids = randint(0, words, {4, length});
    step(ids, ids).item<float>();
  }
};

std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

/// All texts that the group of `pattern` matches.
std::vector<std::string> found(const std::string &text, const std::string &pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> all;
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it)
    all.push_back((*it)[1]);
  return all;
}

} // namespace

TEST(Explain, AGptIsExplainedInAFewScreensWithFiveLinesFirst) {
  Training training;
  const std::string text = training.step.explain();
  const std::vector<std::string> lines = linesOf(text);
  ASSERT_GE(lines.size(), 20u) << text;
  EXPECT_LE(lines.size(), 120u) << text;
  EXPECT_TRUE(std::regex_search(lines[0], std::regex("^function 'step': [0-9]+ launches \\(.*contraction")))
      << text;
  EXPECT_TRUE(std::regex_search(lines[1], std::regex("^  kernels +[0-9]+ for [0-9]+ launches$"))) << text;
  EXPECT_TRUE(std::regex_search(
      lines[2],
      std::regex("^  bytes moved +[0-9.]+ [KM]iB a call: [0-9.]+ [KM]iB read, [0-9.]+ [KM]iB written$")))
      << text;
  EXPECT_TRUE(
      std::regex_search(lines[3], std::regex("^  arena peak +[0-9.]+ [KM]iB, lower bound [0-9.]+ [KM]iB$")))
      << text;
  const std::string cost = "WEFT-[A-Z][0-9]{3} [0-9.]+ [um]s \\([A-Za-z]+\\.[ch]pp:[0-9]+\\)";
  EXPECT_TRUE(std::regex_search(
      lines[4], std::regex("^  refused +[0-9]+, the costliest: " + cost + ", " + cost + ", " + cost + "$")))
      << text;
  // Lines are wide enough to be read, and name lines of this file.
  for (const std::string &line : lines)
    EXPECT_LE(line.size(), 240u) << line;
  EXPECT_TRUE(mentions(text, "  ExplainTest.cpp:")) << text;
}

TEST(Explain, TwoKernelsThatDidNotFuseAreOneRow) {
  Training training;
  // The key of a row, which must be unique: code, operations, line and reason.
  std::multiset<std::string> rows;
  for (const std::string &line : linesOf(training.step.explain()))
    if (std::regex_search(line, std::regex("^  WEFT-F[0-9]{3} .*->")))
      rows.insert(std::regex_replace(line, std::regex(" [0-9.]+ [um]s| x[0-9]+|  +"), " "));
  EXPECT_FALSE(rows.empty());
  for (const std::string &row : rows)
    EXPECT_EQ(rows.count(row), 1u) << row;
}

TEST(Explain, TheHeadAgreesWithTheLaunches) {
  Training training;
  const std::string full = training.step.explain({.full = true});
  const auto launches = found(full, "function 'step': ([0-9]+) launches \\(");
  const auto listed = found(full, "\n([0-9]+) launches read ");
  ASSERT_EQ(launches.size(), 1u) << full;
  ASSERT_EQ(listed.size(), 1u) << full;
  EXPECT_EQ(launches[0], listed[0]);
  // The launches of the source lines are all of them.
  int64_t sum = 0;
  for (const std::string &count :
       found(full, "\n  (?:[A-Za-z]+\\.[ch]pp:[0-9]+|no source line) +([0-9]+) +[0-9.]+ (?:B|KiB|MiB)"))
    sum += std::stoll(count);
  for (const std::string &count : found(full, "\n  [0-9]+ lines more +([0-9]+) "))
    sum += std::stoll(count);
  EXPECT_EQ(std::to_string(sum), launches[0]) << full;
}

TEST(Explain, InFullThereIsEveryLaunchAndDecision) {
  Training training;
  const std::string text = training.step.explain(), full = training.step.explain({.full = true});
  EXPECT_FALSE(mentions(text, "launches in order")) << text;
  EXPECT_TRUE(mentions(text, "every launch and decision: explain({.full = true})")) << text;
  EXPECT_TRUE(mentions(full, "function 'step': launches in order\n")) << full;
  EXPECT_TRUE(mentions(full, "decisions, by what they cost\n")) << full;
  EXPECT_GT(full.size(), 4 * text.size());
  EXPECT_EQ(training.step.explain({.full = true}), full) << "explaining is no compilation";
}

TEST(Explain, TheHostHasNoGraphsToCaptureInto) {
  Training training;
  for (const std::string &text :
       {training.step.explain(), training.step.explain({.full = true}), training.step.explain_html()}) {
    EXPECT_FALSE(mentions(text, "apture")) << text;
    EXPECT_FALSE(mentions(text, "WEFT-C0")) << text;
  }
}

TEST(Explain, BytesOfDynamicSizesAreThoseOfTheLargest) {
  Dim n("n", 1, 1 << 20);
  auto f = compile([](Tensor x) { return (x * 2).sum(-1); }, {spec({n, 2})});
  f(ones({2, 2}));
  EXPECT_TRUE(mentions(f.explain(),
                       "bytes moved   12.0 MiB a call at the largest sizes: 8.0 MiB read, 4.0 MiB written\n"))
      << f.explain();
}

TEST(ExplainHtml, APageOfAGptIsSmallAndItsLinksLeadSomewhere) {
  Training training;
  const std::string page = training.step.explain_html();
  EXPECT_LT(page.size(), size_t(200) << 10);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>")) << page.substr(0, 200);
  // Nothing is loaded from elsewhere.
  for (const char *part : {"src=", "http:", "https:", "url(", "@import"})
    EXPECT_FALSE(mentions(page, part)) << part;
  std::multiset<std::string> ids;
  for (const std::string &id : found(page, " id=\"?([A-Za-z0-9-]+)"))
    ids.insert(id);
  std::set<std::string> linked;
  for (const std::string &target : found(page, "href=\"([^\"]*)\"")) {
    ASSERT_TRUE(target.starts_with("#")) << target;
    linked.insert(target.substr(1));
  }
  for (const std::string &target : linked)
    EXPECT_EQ(ids.count(target), 1u) << target;
  // A launch, a source line, a refusal, a kernel, and a code are linked to.
  for (const char *kind : {"f0l", "f0s", "f0r", "k", "WEFT-F"})
    EXPECT_TRUE(std::any_of(linked.begin(), linked.end(), [&](auto &id) { return id.starts_with(kind); }))
        << kind;
}

TEST(ExplainHtml, RefusalsComeFirstAndSourceLinesAreThere) {
  Training training;
  const std::string page = training.step.explain_html();
  const size_t refusals = page.find("<h3>Refusals</h3>"), lines = page.find("<h3>Source lines</h3>"),
               launches = page.find("<h3>Launches</h3>"), kernels = page.find("<h2>Kernels</h2>");
  EXPECT_LT(refusals, lines);
  EXPECT_LT(lines, launches);
  EXPECT_LT(launches, kernels);
  ASSERT_NE(kernels, std::string::npos);
  EXPECT_LT(refusals, 6000u) << "on the first screen";
  EXPECT_TRUE(mentions(page, "ExplainTest.cpp:")) << page.substr(0, 4000);
  // The code of a line is shown where its file can be read.
  if (std::ifstream(__FILE__).good()) {
    EXPECT_TRUE(mentions(page, "// line &quot;mixed&quot;")) << page.substr(lines, 4000);
  }
  // The costliest refusal of the text is the first of the page.
  const auto first = found(page, "<tr class=x id=f0r[0-9]+><td><a href=\"#(WEFT-[A-Z0-9]+)\"");
  ASSERT_FALSE(first.empty());
  EXPECT_TRUE(mentions(page, "<input id=q")) << "a filter";
  EXPECT_TRUE(mentions(page, "<details")) << "folds";
}

TEST(ExplainHtml, OfAVariantAndOfNone) {
  auto f = compile([](Tensor x) { return x + 1; });
  EXPECT_ERROR(f.explain_html(), "has not run yet");
  f(ones({2}));
  f(ones({3}));
  EXPECT_TRUE(mentions(f.explain_html({.variant = 0}), "variant 0, one of 2:")) << f.explain_html();
  EXPECT_ERROR(f.explain_html({.variant = 7}), "has no variant 7");
  EXPECT_ERROR((f.explain({.variant = 7, .full = true})), "has no variant 7");
}
