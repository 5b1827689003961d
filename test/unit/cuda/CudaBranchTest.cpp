//===- CudaBranchTest.cpp - Conditions as nodes of graphs -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A condition with much work in a branch is one graph from its third time on, whose conditional nodes run the
// branch that is taken. Its bytes are those of the condition whose predicate the host reads. What branches
// and loops in each other give is compared in CudaGraphLoopsTest.cpp.
//
//===----------------------------------------------------------------------===//
#include "test/unit/cuda/DriverFaults.h"
#include "test/unit/cuda/PackagedStep.h"
#include "test/unit/frontend/CloseTensors.h"

#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <set>

using namespace weft;

namespace {

using weft::test::TemporaryFolder;
using weft::testing::attempt;
using weft::testing::callsIn;
using weft::testing::Child;
using weft::testing::namesIn;
using weft::testing::runChild;

Tensor someNumbers(Shape shape, int seed, const char *device) {
  return weft::testing::someNumbers(std::move(shape), seed).to(device);
}

/// A product of the sorted rows where their sum is below the limit, or twice of them. No decision takes
/// longer than a sort.
Tensor chosen(const Tensor &x, const Tensor &w, const Tensor &limit) {
  return cond(
      x.sum() < limit, [&](const Tensor &at) { return matmul(at.sort(1).values, w) + at; },
      [](const Tensor &at) { return at * 2; }, x);
}

} // namespace

TEST(CudaBranch, IsPartOfCompiledFunctions) {
  const Tensor w = someNumbers({4, 4}, 2, "cpu"), there = w.to("cuda:0");
  const auto step = [](const Tensor &x, const Tensor &w, const Tensor &limit) {
    const Tensor begin = tanh(x), last = chosen(begin, w, limit);
    return std::tuple(last, last.sum(0) + begin.sum(0));
  };
  auto run = compile([&](const Tensor &x, const Tensor &limit) { return step(x, there, limit); });
  uint64_t compiled = 0;
  for (const double limit : {100.0, -100.0, 100.0, 100.0, -100.0, -100.0, 100.0}) {
    const Tensor x = someNumbers({3, 4}, 5, "cpu"), onDevice = x.to("cuda:0"),
                 given = full({}, limit).to("cuda:0");
    synchronize();
    const auto expected = step(x, w, full({}, limit));
    const uint64_t before = compile_count();
    const auto found = run(onDevice, given);
    synchronize();
    compiled += compile_count() - before;
    weft::testing::expectClose(std::get<0>(found).cpu(), std::get<0>(expected), 1e-5);
    weft::testing::expectClose(std::get<1>(found).cpu(), std::get<1>(expected), 1e-5);
  }
  EXPECT_LE(compiled, 2U); // and the reference, once
  const std::string text = run.explain({.full = true});
  EXPECT_TRUE(mentions(text, "WEFT-C009")) << text;
  EXPECT_TRUE(mentions(text, "the device decides on the branches of 1 condition, first ")) << text;
  EXPECT_TRUE(mentions(text, "branch to ")) << text;
  EXPECT_FALSE(mentions(text, "WEFT-T009")) << text;
  auto strict =
      compile([&](const Tensor &x) { return chosen(x, there, x.sum()); }, {.strict = Strict::capture});
  EXPECT_ERROR((void)strict(there), "WEFT-C009");
}

// What fails before it would choose by a number that no check has let pass.
TEST(CudaBranch, DoesNotRunAfterAFailure) {
  const Tensor table = ones({4}).to("cuda:0"), w = someNumbers({4, 4}, 2, "cuda:0"),
               state = someNumbers({2, 4}, 3, "cuda:0");
  const Floats before = floats(state);
  auto step = compile([&](const Tensor &indices, const Tensor &limit) {
    const Tensor picked = table.index_select(0, indices).reshape({2, 4});
    Tensor target = state;
    target.copy_(chosen(picked, w, limit) + state);
    return target.sum();
  });
  const auto indices = [](int64_t last) {
    return Tensor::from(std::vector<int64_t>{0, 3, 1, 2, 0, 0, 1, last}, {8}).to("cuda:0");
  };
  const Tensor right = indices(2), wrong = indices(9);
  for (int call = 0; call < 4; ++call) {
    EXPECT_ERROR((step(wrong, full({}, call % 2 ? 100.0 : 0.0).to("cuda:0")), synchronize("cuda:0")),
                 "index 9 is out of bounds");
    EXPECT_EQ(floats(state), before);
  }
  (void)step(right, full({}, 0.0).to("cuda:0")).item<float>();
  EXPECT_EQ(floats(state)[0], before[0] + 2);
}

// Temporaries of both branches are in one place, and the conditions of a function have one place, too.
TEST(CudaBranch, BranchesShareTheirTemporaries) {
  using Branch = std::function<Tensor(const Tensor &)>;
  const auto productOf = [](double factor) -> Branch {
    return [factor](const Tensor &at) { return matmul(matmul(at.sort(0).values, at), at) * factor; };
  };
  const Branch small = [](const Tensor &at) { return at * 0.125; };
  const auto peakOf = [](int conditions, const Branch &first, const Branch &second) {
    const Tensor x = ones({64, 64}).to("cuda:0"), one = ones({}).to("cuda:0");
    auto run = compile([&](Tensor x, const Tensor &one) {
      for (int i = 0; i < conditions; ++i)
        x = cond(one > 0, first, second, x * 0.125);
      return x;
    });
    (void)run(x, one).sum().item<float>();
    trim("cuda:0");
    synchronize();
    reset_peak_memory_stats("cuda:0");
    (void)run(x, one).sum().item<float>();
    return static_cast<int64_t>(max_memory_allocated("cuda:0"));
  };
  const int64_t none = peakOf(2, small, small), one = peakOf(2, productOf(0.5), small),
                both = peakOf(2, productOf(0.5), productOf(0.25)),
                many = peakOf(6, productOf(0.5), productOf(0.25));
  EXPECT_GE(one - none, 1 << 14) << none; // a product and sorted rows
  EXPECT_LE(both - one, 1 << 10) << one;
  EXPECT_LE(many - both, 1 << 10) << both;
}

TEST(CudaBranch, TwoGpusHaveOneEach) {
  const Tensor w = someNumbers({4, 4}, 2, "cpu"), first = w.to("cuda:0"), second = w.to("cuda:1");
  const auto both = [](const Tensor &a, const Tensor &b, const Tensor &w, const Tensor &v,
                       const Tensor &limit) {
    const Tensor x = chosen(a, w, limit.to(a.device()));
    const Tensor y = chosen(b + x.to(b.device()), v, limit.to(b.device()));
    return std::tuple(x + y.to(a.device()), y);
  };
  auto run = compile([&](const Tensor &a, const Tensor &b, const Tensor &limit) {
    return both(a, b, first, second, limit);
  });
  for (const double limit : {100.0, -100.0, 10.0, 100.0, -100.0}) {
    const Tensor a = someNumbers({3, 4}, 4, "cpu"), b = someNumbers({3, 4}, 5, "cpu"), most = full({}, limit);
    const auto found = run(a.to("cuda:0"), b.to("cuda:1"), most);
    const auto expected = both(a, b, w, w, most);
    weft::testing::expectClose(std::get<0>(found).cpu(), std::get<0>(expected), 1e-5);
    weft::testing::expectClose(std::get<1>(found).cpu(), std::get<1>(expected), 1e-5);
  }
}

TEST(CudaBranch, TheLaunchesOfTheOneThatIsTakenAreInProfiles) {
  const Tensor x = someNumbers({3, 4}, 1, "cuda:0"), w = someNumbers({4, 4}, 2, "cuda:0");
  auto run = compile([&](const Tensor &x, const Tensor &limit) {
    return cond(
        x.sum() < limit, [&](const Tensor &at) { return matmul(at, w); },
        [](const Tensor &at) { return at.sort(0).values; }, x);
  });
  const auto rows = [&](double limit) {
    const Tensor most = full({}, limit).to("cuda:0");
    (void)run(x, most).sum().item<float>();
    return profile([&] { (void)run(x, most).sum().item<float>(); }).table();
  };
  const std::string product = rows(100), sorted = rows(-100);
  EXPECT_FALSE(mentions(product, "sort")) << product;
  EXPECT_TRUE(mentions(sorted, "sort")) << sorted;
  EXPECT_FALSE(mentions(sorted, "branch")) << sorted; // whose launches are there in its place
}

// One package runs on the host and on a GPU, with the weight that a branch reads as its state.
TEST(CudaBranch, ComesFromPackages) {
  TemporaryFolder folder;
  const std::string path = folder / "step.weft";
  Tensor weight = full({4, 4}, 0.25).to("cuda:0"), count = zeros({}).to("cuda:0");
  auto step = compile(
      [&](const Tensor &x) {
        const Tensor last = chosen(x, weight, count.remainder(2) * 100);
        count.copy_(count + 1);
        return last;
      },
      {.name = "step"});
  std::vector<float> begin;
  for (int i = 0; i < 8; ++i)
    begin.push_back(static_cast<float>(i) - 1);
  const Tensor x = Tensor::from(begin, {2, 4}).to("cuda:0");
  (void)step(x);
  step.save(path, {.targets = {"cpu", "cuda:sm_90"}});
  std::vector<Floats> expected;
  for (int call = 0; call < 6; ++call)
    expected.push_back(floats(step(x)));
  EXPECT_NE(expected[0], expected[1]);
  weft::testing::expectOfPackage(path, begin, expected);
}

// Those of both branches count.
TEST(CudaBranch, TooManyLaunchesAreRefused) {
  const auto run = [](int64_t first, int64_t second) {
    const auto counted = [](int64_t length) {
      return [length](const Tensor &at) {
        return scan([](const Tensor &h) { return std::pair(h + 1, std::tuple<>{}); }, at, length).first;
      };
    };
    const Tensor x = ones({4}).to("cuda:0");
    return cond(x.sum() < 0, counted(first), counted(second), x).sum().item<float>();
  };
  EXPECT_EQ(run(40000, 5), 24);
  EXPECT_ERROR((void)run(40000, 30000), "launches with the trips of its loops and its branches");
}

// A view that begins at any element: kernels of a branch are compiled for what they are passed.
TEST(CudaBranch, TakesOperandsAtAnyAddress) {
  const Tensor whole = someNumbers({40}, 1, "cpu"), there = whole.to("cuda:0");
  const auto sorted = [](const Tensor &x, const Tensor &limit) {
    return cond(
        x.sum() < limit, [](const Tensor &at) { return at.sort(0).values * 2; },
        [](const Tensor &at) { return at.sort(0, true).values + at; }, x);
  };
  auto run = compile(sorted);
  for (const int64_t begin : {0, 1, 2, 4, 7, 8})
    for (const double limit : {100.0, -100.0}) {
      const Tensor most = full({}, limit);
      EXPECT_EQ(floats(run(there.slice(0, begin, begin + 32), most.to("cuda:0"))),
                floats(sorted(whole.slice(0, begin, begin + 32), most)));
    }
}

// A dynamic size is one of a branch, too.
TEST(CudaBranch, HasDynamicSizes) {
  const Tensor w = someNumbers({4, 4}, 2, "cpu"), there = w.to("cuda:0");
  auto run = compile([&](const Tensor &x, const Tensor &limit) { return chosen(x, there, limit); },
                     {spec({Dim("rows", 1, 8), 4}, f32, "cuda:0"), spec({}, f32, "cuda:0")});
  for (const int64_t rows : {2, 5, 2, 2, 5})
    for (const double limit : {100.0, -100.0}) {
      const Tensor x = someNumbers({rows, 4}, 3, "cpu"), most = full({}, limit);
      weft::testing::expectClose(run(x.to("cuda:0"), most.to("cuda:0")).cpu(), chosen(x, w, most), 1e-5);
    }
}

//===----------------------------------------------------------------------===//
// Calls of the driver
//===----------------------------------------------------------------------===//

/// A compiled condition, six times, with each of its branches. Writes what fails.
int weft::testing::chooseForFaults() {
  auto run = compile([](const Tensor &x, const Tensor &limit) {
    return cond(
        x.sum() < limit,
        [](const Tensor &at, const Tensor &other) {
          const Tensor sorted = at.sort(0).values;
          return std::tuple(sorted.cumsum(0), other + at.mean());
        },
        [](const Tensor &at, const Tensor &other) {
          const Tensor mean = at.mean();
          return std::tuple(at + mean, other.sum(0, true) * 0.5 + mean);
        },
        std::tuple(x, ones({1}).to("cuda:0")));
  });
  std::string last = "none";
  const auto once = [&](double limit) {
    const auto [x, other] = run(arange(4).to(f32).to("cuda:0"), full({}, limit).to("cuda:0"));
    last = std::to_string(x.sum().item<float>()) + " " + std::to_string(other.sum().item<float>());
  };
  for (int i = 0; i < 6; ++i)
    attempt("call", [&] { once(i % 2 ? 0 : 100); });
  bool works = false;
  for (int i = 0; i < 2 && !works; ++i)
    works = attempt("last", [&] { once(100); });
  std::printf("%s %s\n", works ? "works" : "fails", last.c_str());
  return 0;
}

namespace {
Child choose(const std::string &environment) { return runChild("--choose", environment); }
} // namespace

TEST(CudaBranch, EveryFunctionOfTheDriverFails) {
  TemporaryFolder folder;
  const Child good = choose("CUSIM_LOG=" + (folder / "log"));
  ASSERT_EQ(good.code, 0) << good.output;
  ASSERT_TRUE(mentions(good.output, "works 10.0")) << good.output;
  const std::map<std::string, int> calls = callsIn(folder / "log");
  ASSERT_GT(calls.size(), 15U);
  const int cases = weft::testing::tryEveryFault(
      calls, "works 10.0", [](int count) { return std::set<int>{count / 2, count}; },
      [](const std::string &fault) { return choose("CUSIM_LEAKS=1 " + fault); });
  EXPECT_GT(cases, 25);
}

// From the third call on, the driver is called as often whichever branch is taken, and the host waits once.
TEST(CudaBranch, AWarmOneIsTheLaunchOfAGraph) {
  TemporaryFolder folder;
  ASSERT_EQ(choose("CUSIM_LOG=" + (folder / "log")).code, 0);
  ASSERT_EQ(choose("WEFT_CUDA_LOOPS=0 CUSIM_LOG=" + (folder / "host")).code, 0);
  std::map<std::string, int> device = callsIn(folder / "log"), host = callsIn(folder / "host");
  // Those of the trial, and two.
  EXPECT_EQ(device["cuGraphAddNode"], 4 + 2);
  EXPECT_EQ(host["cuGraphAddNode"], 0);
  // In five of seven calls the host reads no predicate.
  EXPECT_GE(host["cuEventSynchronize"] - device["cuEventSynchronize"], 5);
}

// Of the trial's graph, of the condition's, and of its branches.
TEST(CudaBranch, EveryEdgeOfItsGraphsIsNeeded) {
  TemporaryFolder folder;
  const std::string checked = "CUSIM_RACE=1 CUSIM_ORDER=forward ";
  ASSERT_EQ(choose(checked + "CUSIM_LOG=" + (folder / "log")).code, 0);
  const std::vector<int> nodes = weft::testing::edgesIn(folder / "log");
  const int edges = std::accumulate(nodes.begin(), nodes.end(), 0);
  EXPECT_GT(edges, 12);
  for (int edge = 1; edge <= edges; ++edge) {
    const Child child = choose(checked + "CUSIM_FAIL=edge:" + std::to_string(edge) + ":0");
    EXPECT_TRUE(mentions(child.output, "race: ")) << edge << "\n" << child.output;
  }
}

TEST(CudaBranch, GraphsAndSingleLaunchesGiveTheSameBits) {
  const Child graphs = choose("WEFT_CUDA_GRAPHS=1");
  EXPECT_TRUE(mentions(graphs.output, "works 10.0")) << graphs.output;
  for (const char *setting : {"WEFT_CUDA_GRAPHS=0", "WEFT_LAUNCH_BLOCKING=1", "CUSIM_RACE=1 CUSIM_ORDER=1",
                              "CUSIM_RACE=1 CUSIM_ORDER=reverse", "WEFT_CUDA_LOOPS=0"})
    EXPECT_EQ(choose(setting).output, graphs.output) << setting;
}
