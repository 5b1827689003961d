//===- CudaGraphLoopsTest.cpp - While loops as nodes of graphs ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From its third time on, a while loop is one graph whose conditional node decides on the trips, and so is a
// condition with much work in a branch. Bytes are those of loops and conditions whose predicates the host
// reads, also where the driver refuses such nodes.
//
//===----------------------------------------------------------------------===//
#include "test/unit/cuda/DriverFaults.h"
#include "test/unit/frontend/CloseTensors.h"

#include <cstdio>

using namespace weft;

namespace {

using weft::test::TemporaryFolder;
using weft::testing::callsIn;
using weft::testing::Child;
using weft::testing::namesIn;
using weft::testing::runChild;

Tensor numbers(Shape shape, int seed) {
  return weft::testing::someNumbers(std::move(shape), seed).to("cuda:0");
}

Tensor scalar(double value) { return full({}, value).to("cuda:0"); }

const Tensor &weight() {
  static const Tensor w = numbers({4, 4}, 2) * 2;
  return w;
}

/// Multiplies in each trip; what comes before and behind the loop are graphs of their own.
std::vector<Tensor> multiplied(const Tensor &x, const Tensor &limit) {
  const Tensor begin = tanh(x) * 1.5;
  const Tensor last = while_loop([&](const Tensor &at) { return at.abs().sum() < limit; },
                                 [&](const Tensor &at) { return matmul(at, weight()) + at; }, begin);
  const Tensor again = while_loop([&](const Tensor &at) { return at.abs().sum() < limit * 4; },
                                  [](const Tensor &at) { return at * 1.5; }, last);
  return {last, last.sum(0) + begin.sum(0), again};
}

std::vector<Tensor> nested(const Tensor &x, const Tensor &end) {
  const auto [last, limit, trips] =
      while_loop([&](const Tensor &, const Tensor &limit, const Tensor &) { return limit < end; },
                 [](const Tensor &at, const Tensor &limit, const Tensor &trips) {
                   const auto [inner, count] = while_loop(
                       [&](const Tensor &at, const Tensor &) { return at.abs().sum() < limit; },
                       [](const Tensor &at, const Tensor &count) { return std::tuple(at * 2, count + 1); },
                       std::tuple(at, zeros_like(trips)));
                   return std::tuple(inner * 0.75, limit * 1.5, trips + count);
                 },
                 std::tuple(x, scalar(10.0), zeros({}, {.dtype = i64}).to("cuda:0")));
  return {last, limit, trips};
}

/// A loop of known length and a condition in it, and it in a loop of known length.
std::vector<Tensor> mixed(const Tensor &x, const Tensor &limit) {
  const auto [last, all] = scan(
      [&](const Tensor &h, const Tensor &row) {
        const Tensor next = while_loop(
            [&](const Tensor &at) { return at.abs().sum() < limit; },
            [&](const Tensor &at) {
              const Tensor twice =
                  scan([](const Tensor &g) { return std::pair(g + 0.5, std::tuple<>{}); }, at, 3).first;
              return cond(
                  twice.sum() > 0, [&](const Tensor &y) { return y * 2; },
                  [](const Tensor &y) { return y.abs() + 1; }, twice);
            },
            h * 0.125 + row);
        return std::pair(next, next + row);
      },
      x[0], x);
  return {last, all};
}

/// A product, or another condition, one of whose branches is a loop that would have no end in the other ones.
Tensor chosen(const Tensor &x, const Tensor &limit) {
  return cond(
      x.abs().sum() * 3 < limit, [](const Tensor &at) { return matmul(at, weight()) + 1; },
      [&](const Tensor &at) {
        return cond(
            limit > 30,
            [&](const Tensor &y) {
              return while_loop([&](const Tensor &z) { return z.abs().sum() < limit; },
                                [](const Tensor &z) { return z * 2; }, y);
            },
            [](const Tensor &y) { return matmul(tanh(y), weight()); }, at);
      },
      x);
}

/// What comes before and behind the condition are graphs of their own.
std::vector<Tensor> branched(const Tensor &x, const Tensor &limit) {
  const Tensor begin = tanh(x) * 1.5, last = chosen(begin, limit);
  return {last, last.sum(0) + begin.sum(0)};
}

/// A condition in each trip of a loop, with its gradient.
std::vector<Tensor> steps(const Tensor &x, const Tensor &limit) {
  Tensor leaf = x.detach();
  leaf.requires_grad_();
  const auto [last, trips] = while_loop(
      [](const Tensor &, const Tensor &trips) { return trips < 4; },
      [&](const Tensor &at, const Tensor &trips) {
        return std::tuple(cond((trips % 2 == 0).logical_and(limit > 10),
                               [](const Tensor &y) { return tanh(matmul(y.sort(1).values, weight())); },
                               [](const Tensor &y) { return y * 0.5 + 1; }, at),
                          trips + 1);
      },
      std::tuple(leaf, zeros({}, {.dtype = i64}).to("cuda:0")));
  return {last.detach(), grad((last * last).sum(), {leaf})[0]};
}

/// Follows a list of numbers until there is a -1. An index that is out of range ends the loop.
std::vector<Tensor> followed(const Tensor &next, const Tensor &begin) {
  const auto [at, trips] =
      while_loop([](const Tensor &at, const Tensor &) { return at >= 0; },
                 [&](const Tensor &at, const Tensor &trips) {
                   return std::tuple(next.index_select(0, at.reshape({1})).reshape({}), trips + 1);
                 },
                 std::tuple(begin, zeros_like(begin)));
  return {trips};
}

/// What is picked is the begin of the loop, which has no end if it is 0.
std::vector<Tensor> picked(const Tensor &indices, const Tensor &scale) {
  return {while_loop([](const Tensor &at) { return at.sum() < 100; }, [](const Tensor &at) { return at * 2; },
                     ones({4}).to("cuda:0").index_select(0, indices) * scale)};
}

/// Reads by index in a branch, sorts and multiplies. Fails if the branch is taken.
std::vector<Tensor> checked(const Tensor &indices, const Tensor &which) {
  return {cond(
      which > 0,
      [](const Tensor &at) { return matmul(weight().index_select(0, at).sort(1).values, weight()); },
      [](const Tensor &) { return weight() * 2; }, indices)};
}

Tensor indices(std::vector<int64_t> values) {
  const auto size = static_cast<int64_t>(values.size());
  return Tensor::from(std::move(values), {size}).to("cuda:0");
}

void show(const char *what, const std::function<std::vector<Tensor>()> &call) {
  try {
    for (const std::vector<std::byte> &result : bitsOf(call())) {
      std::printf("%s:", what);
      for (const std::byte byte : result)
        std::printf(" %02x", static_cast<unsigned>(byte));
      std::printf("\n");
    }
  } catch (const Error &error) {
    std::printf("%s: %s\n", what, error.what());
  }
}

} // namespace

/// Each loop six times, with other data and at other addresses, and first what explain() says.
int weft::testing::decideOnTrips() {
  (void)weight(); // which no function makes
  using Loop = std::vector<Tensor> (*)(const Tensor &, const Tensor &);
  const std::pair<const char *, Loop> loops[] = {{"multiplied", multiplied},
                                                 {"nested", nested},
                                                 {"mixed", mixed},
                                                 {"branched", branched},
                                                 {"steps", steps}};
  for (const auto &[name, loop] : loops) {
    auto run = compile([loop](const Tensor &x, const Tensor &limit) { return loop(x, limit.to("cuda:0")); },
                       {spec({3, 4}, f32, "cuda:0"), spec({}, f32)}, {.name = name});
    std::istringstream notes(run.explain());
    for (std::string line; std::getline(notes, line);)
      if (line.find("decides on") != std::string::npos)
        std::printf("%s\n", line.c_str());
    std::vector<Tensor> kept;
    for (const double limit : {20.0, 60.0, 0.0, 600.0, 20.0, 40.0}) {
      const Tensor x = numbers({3, 4}, 5 + static_cast<int>(limit)), most = full({}, limit);
      kept.push_back(x);
      show(name, [&] { return run(x, most); });
    }
  }
  auto follow = compile([](const Tensor &next, const Tensor &begin) { return followed(next, begin); });
  const Tensor begin = full({}, 2, {.dtype = i64}).to("cuda:0");
  for (const int64_t wrong : {3, 3, 3, 9, 3, 9})
    show("followed", [&] { return follow(indices({-1, 0, wrong, 1}), begin); });
  auto pick = compile([](const Tensor &at, const Tensor &scale) { return picked(at, scale); });
  for (const bool right : {true, true, true, false, true, false})
    show("picked", [&] { return pick(indices({0, right ? 3 : 9, 1, 2}), scalar(right ? 1 : 0)); });
  auto check = compile([](const Tensor &at, const Tensor &which) { return checked(at, which); });
  for (const auto &[last, which] : {std::pair(3, 1), {3, 0}, {9, 0}, {9, 1}, {9, 0}, {3, 1}, {9, 1}})
    show("checked", [&] { return check(indices({0, last, 1, 2}), scalar(which)); });
  return 0;
}

/// A function with 150 loops, five times.
int weft::testing::runManyLoops() {
  auto run = compile([](const Tensor &x) {
    Tensor at = x;
    for (int i = 0; i < 150; ++i)
      at = while_loop([](const Tensor &y) { return y.sum() < 10; }, [](const Tensor &y) { return y * 2; },
                      at * 0.125);
    return at;
  });
  for (int call = 0; call < 5; ++call)
    show("many", [&] { return std::vector{run(numbers({4}, call).abs() + 0.5)}; });
  return 0;
}

namespace {

Child decide(const std::string &environment) { return runChild("--decide", environment); }

/// The lines of results, without what is said of loops.
std::string resultsIn(const Child &child) {
  EXPECT_EQ(child.code, 0) << child.output;
  std::istringstream lines(child.output);
  std::string results;
  int count = 0;
  for (std::string line; std::getline(lines, line);)
    if (!mentions(line, "decides on") && !mentions(line, "CUSIM_FAIL") && !mentions(line, "cusim: ")) {
      results += line + "\n";
      ++count;
    }
  EXPECT_GT(count, 50) << child.output;
  return results;
}

} // namespace

TEST(CudaGraphLoops, HaveTheBytesOfLoopsOfTheHost) {
  TemporaryFolder folder;
  for (const std::string more : {"", "WEFT_TEST_CUBLASLT=0 ", "CUSIM_RACE=1 CUSIM_ORDER=reverse "}) {
    const Child device = decide(more + "CUSIM_LOG=" + (folder / "device"));
    const Child host = decide(more + "WEFT_CUDA_LOOPS=0 CUSIM_LOG=" + (folder / "host"));
    EXPECT_EQ(resultsIn(device), resultsIn(host)) << more;
    EXPECT_TRUE(mentions(device.output, "the device decides on the trips of 2 while loops")) << device.output;
    EXPECT_TRUE(mentions(host.output, "the host decides on the trips of 2 while loops")) << host.output;
    EXPECT_TRUE(mentions(device.output, "the device decides on the branches of 1 condition, "))
        << device.output;
    EXPECT_TRUE(mentions(host.output, "the host decides on the branches of 1 condition, ")) << host.output;
    EXPECT_TRUE(mentions(device.output, "index 9 is out of bounds")) << device.output;
    EXPECT_TRUE(mentions(device.output, "checked: ")) << device.output;
    // Those of the trial, which has a loop and branches in a loop; eight functions, of which some have
    // several.
    EXPECT_GT(callsIn(folder / "device")["cuGraphAddNode"], 10) << more;
    EXPECT_EQ(callsIn(folder / "host").count("cuGraphAddNode"), 0U) << more;
  }
}

TEST(CudaGraphLoops, ADriverThatRefusesThemLetsTheHostDecide) {
  TemporaryFolder folder;
  const Child good = decide("CUSIM_LOG=" + (folder / "log"));
  const std::string expected = resultsIn(good);
  const std::vector<std::string> calls = namesIn(folder / "log");
  const auto first = std::ranges::find(calls, "cuGraphConditionalHandleCreate");
  const auto libraries = std::to_string(std::count(calls.begin(), first, "cuLibraryLoadData"));
  for (const std::string &fault :
       {std::string("cuGraphConditionalHandleCreate:1:801"),
        std::string("cuGraphConditionalHandleCreate:2:801"),
        std::string("cuGraphConditionalHandleCreate:4:801"), std::string("cuGraphAddNode:1:801"),
        std::string("cuGraphAddNode:2:1"), std::string("cuGraphAddNode:3:801"),
        std::string("cuGraphAddNode:4:801"), "cuLibraryLoadData:" + libraries + ":218",
        std::string("cuGraphExecMemcpyNodeSetParams:1:1")}) {
    const Child child = decide("CUSIM_FAIL=" + fault);
    EXPECT_EQ(resultsIn(child), expected) << fault;
    EXPECT_TRUE(mentions(child.output, "the host decides on the trips of 2 while loops")) << child.output;
    EXPECT_FALSE(mentions(child.output, "the device decides")) << child.output;
  }
}

// Calls that succeed and do nothing: the trial counts wrongly.
TEST(CudaGraphLoops, ADriverWhoseLoopsCountWronglyLetsTheHostDecide) {
  const std::string expected = resultsIn(decide("WEFT_CUDA_LOOPS=0"));
  const auto refused = [&](const std::string &fault, const std::string &why) {
    const Child child = decide("CUSIM_FAIL=" + fault);
    EXPECT_EQ(resultsIn(child), expected) << fault;
    EXPECT_TRUE(mentions(child.output, "the host decides")) << child.output;
    EXPECT_TRUE(mentions(child.output, why)) << child.output;
  };
  refused("cuGraphLaunch:1:0", "a loop of 3 trips in a graph, with 6 trips of a loop in it, had 0 and 0");
  refused("cuGraphExecMemcpyNodeSetParams:1:0",
          "a loop of 5 trips in a graph, with 15 trips of a loop in it, had 5 and 0");
  // Every kernel of the graph: those that count, and those that set conditions.
  for (const char node : {'1', '2', '3', '4', '5', '6', '8', '9'})
    refused(std::string("cuGraphExecKernelNodeSetParams:") + node + ":0",
            "a loop of 5 trips in a graph, with 15 trips of a loop in it, had");
  refused("cuGraphExecKernelNodeSetParams:7:0", "a branch in a graph wrote where it had written before");
}

// A refusal that comes from a lack of memory does not stay.
TEST(CudaGraphLoops, ATrialThatIsRefusedIsRepeated) {
  TemporaryFolder folder;
  const Child child =
      runChild("--many", "CUSIM_FAIL=cuGraphConditionalHandleCreate:1:2 CUSIM_LOG=" + (folder / "log"));
  EXPECT_EQ(child.code, 0) << child.output;
  EXPECT_GT(callsIn(folder / "log")["cuGraphConditionalHandleCreate"], 150);
}

// So many that their trips are more runs than a stream keeps.
TEST(CudaGraphLoops, ManyInOneFunctionAreGraphs) {
  TemporaryFolder folder;
  const Child device = runChild("--many", "CUSIM_LOG=" + (folder / "log"));
  const Child host = runChild("--many", "WEFT_CUDA_LOOPS=0");
  EXPECT_EQ(device.code, 0) << device.output;
  EXPECT_EQ(device.output, host.output);
  EXPECT_TRUE(mentions(device.output, "many:")) << device.output;
  EXPECT_GT(callsIn(folder / "log")["cuGraphAddNode"], 150);
}

// The first graph of a loop is the second of the process that has conditions.
TEST(CudaGraphLoops, AGraphThatIsRefusedIsReplacedByLaunches) {
  const std::string expected = resultsIn(decide("WEFT_CUDA_LOOPS=0"));
  for (const char *fault :
       {"cuGraphConditionalHandleCreate:5:999", "cuGraphAddNode:5:999", "cuGraphAddNode:7:2",
        "cuGraphAddNode:14:999", "cuGraphAddNode:15:2", "cuGraphConditionalHandleCreate:15:999"}) {
    const Child child = decide(std::string("CUSIM_FAIL=") + fault);
    EXPECT_EQ(resultsIn(child), expected) << fault;
    EXPECT_TRUE(mentions(child.output, "the device decides")) << child.output;
  }
}
