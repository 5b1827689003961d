//===- CudaGraphsTest.cpp - What waits for what in a graph ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/Devices.h"
#include "runtime/device/Device.h"
#include "runtime/plan/Dependencies.h"
#include "test/unit/TemporaryFolder.h"
#include "test/unit/cuda/ChildProcess.h"
#include "test/unit/frontend/DeviceTraining.h"
#include "test/unit/frontend/Helpers.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace weft;

namespace {
using runtime::AccessKind;
using runtime::Dependencies;
using runtime::RangeAccess;
using weft::test::TemporaryFolder;
using weft::testing::Child;
using weft::testing::DeviceTraining;
using weft::testing::edgesIn;
using weft::testing::expectLastCalls;
using weft::testing::numbers;
using weft::testing::runChild;
using weft::testing::seeded;

std::vector<uint32_t> after(Dependencies &graph, std::vector<RangeAccess> accesses) {
  const std::span<const uint32_t> nodes = graph.add(accesses);
  return {nodes.begin(), nodes.end()};
}

using Nodes = std::vector<uint32_t>;

/// Whether one node has to come after another, as the definition says it.
bool needsOrder(const std::vector<RangeAccess> &earlier, const std::vector<RangeAccess> &later) {
  for (const RangeAccess &a : earlier)
    for (const RangeAccess &b : later) {
      const bool shared = a.space == b.space && std::max(a.begin, b.begin) < std::min(a.end, b.end);
      const bool reads = a.kind == AccessKind::read && b.kind == AccessKind::read;
      const bool atomics = a.kind == AccessKind::atomic && b.kind == AccessKind::atomic;
      if (shared && !reads && !atomics)
        return true;
    }
  return false;
}

} // namespace

TEST(CudaDependencies, ComeFromReadsAndWritesOfTheSameBytes) {
  constexpr AccessKind read = AccessKind::read, written = AccessKind::written, atomic = AccessKind::atomic;
  Dependencies graph;
  EXPECT_EQ(after(graph, {{0, 0, 64, written}}), Nodes());
  EXPECT_EQ(after(graph, {{0, 64, 128, written}}), Nodes()); // beside it
  EXPECT_EQ(after(graph, {{1, 0, 64, written}}), Nodes());   // other memory
  EXPECT_EQ(after(graph, {{0, 0, 64, read}}), Nodes({0}));
  EXPECT_EQ(after(graph, {{0, 32, 96, read}}), Nodes({1, 0}));   // beside the other reader
  EXPECT_EQ(after(graph, {{0, 0, 64, written}}), Nodes({4, 3})); // after reads; not again after 0
  EXPECT_EQ(after(graph, {{0, 0, 64, read}}), Nodes({5}));
  EXPECT_EQ(after(graph, {{2, 0, 8, atomic}}), Nodes());
  EXPECT_EQ(after(graph, {{2, 0, 8, atomic}}), Nodes());
  EXPECT_EQ(after(graph, {{2, 0, 8, read}}), Nodes({8, 7}));
  EXPECT_EQ(after(graph, {{2, 0, 8, atomic}}), Nodes({9}));
  EXPECT_EQ(after(graph, {{0, 0, 0, written}}), Nodes()); // nothing
}

TEST(CudaDependencies, OrderWhatNeedsItAndNothingTwice) {
  std::mt19937 random(7);
  const auto below = [&](uint32_t most) { return static_cast<uint32_t>(random() % most); };
  for (int program = 0; program < 200; ++program) {
    Dependencies graph;
    std::vector<std::vector<RangeAccess>> nodes;
    std::vector<std::vector<bool>> comesAfter; // by node: those that it waits for, directly or not
    std::vector<Nodes> edges;
    for (uint32_t node = 0; node < 40; ++node) {
      std::vector<RangeAccess> &accesses = nodes.emplace_back();
      for (uint32_t i = below(4); i-- > 0;) {
        const uint64_t begin = below(8);
        accesses.push_back({below(3), begin, begin + below(5), static_cast<AccessKind>(below(3))});
      }
      edges.push_back(after(graph, accesses));
      std::vector<bool> &own = comesAfter.emplace_back(node);
      for (const uint32_t earlier : edges.back()) {
        ASSERT_TRUE(needsOrder(nodes[earlier], accesses)) << earlier << " and " << node;
        ASSERT_FALSE(own[earlier]) << earlier << " is waited for by another one of " << node;
        own[earlier] = true;
        for (uint32_t i = 0; i < earlier; ++i)
          if (comesAfter[earlier][i])
            own[i] = true;
      }
      for (uint32_t earlier = 0; earlier < node; ++earlier)
        if (needsOrder(nodes[earlier], accesses))
          ASSERT_TRUE(own[earlier]) << earlier << " and " << node;
    }
  }
}

// What the trips of a loop in a branch use is a few ranges, of which two conditions compare each pair.
TEST(CudaDependencies, JoinRangesOfTheSameBytes) {
  constexpr AccessKind read = AccessKind::read, written = AccessKind::written;
  std::vector<RangeAccess> trips;
  for (uint64_t trip = 0; trip < 8000; ++trip) {
    trips.push_back({3, trip * 8, trip * 8 + 8, read});               // a row of each
    trips.push_back({4, trip % 2 * 16, 16 + trip % 2 * 16, written}); // a carry with two places
    trips.push_back({4, trip % 2 * 16, 16 + trip % 2 * 16, read});
    trips.push_back({5, trip * 8, trip * 8 + 4, read}); // with gaps
    trips.push_back({6, trip, trip, read});             // nothing
  }
  EXPECT_EQ(runtime::joined(trips).size(), 3 + 8000);
  std::mt19937 random(3);
  const auto below = [&](uint32_t most) { return static_cast<uint32_t>(random() % most); };
  for (int set = 0; set < 200; ++set) {
    std::vector<RangeAccess> all;
    for (uint32_t i = below(12); i-- > 0;) {
      const uint64_t begin = below(24);
      all.push_back({below(2), begin, begin + below(4), static_cast<AccessKind>(below(3))});
    }
    const std::vector<RangeAccess> joined = runtime::joined(all);
    for (uint32_t at = 0; at < 2 * 3 * 32; ++at) {
      const uint32_t space = at / 96, kind = at / 32 % 3, byte = at % 32;
      const auto uses = [&](const RangeAccess &one) {
        return one.space == space && one.kind == static_cast<AccessKind>(kind) && one.begin <= byte &&
               byte < one.end;
      };
      ASSERT_EQ(std::ranges::count_if(joined, uses), std::ranges::any_of(all, uses) ? 1 : 0) << at;
    }
    for (const RangeAccess &a : joined)
      for (const RangeAccess &b : joined)
        ASSERT_FALSE(a.space == b.space && a.kind == b.kind && a.end == b.begin) << a.begin;
  }
}

namespace {

/// Allocates with limits which have room for the graphs, or a byte too little. Writes what happens.
void allocateBesideGraphs() {
  runtime::CachingAllocator &allocator = (*runtime::cuda_device(0))->allocator();
  const auto graphs = static_cast<uint64_t>(memory_stats("cuda:0").at("weft.graph_bytes.current"));
  std::printf("graphs have %llu bytes\n", static_cast<unsigned long long>(graphs));
  allocator.empty_cache();
  constexpr uint64_t bytes = 24 << 20;
  for (const uint64_t missing : {1, 0}) {
    allocator.set_limit(allocator.memory_reserved() + graphs + bytes - missing);
    const auto block = allocator.allocate(bytes);
    std::printf("%s\n", block ? "fits" : block.status().message().c_str());
  }
}

} // namespace

/// Two products that share nothing, and a kernel that needs both. Writes whether it is that of the host, and
/// what the graph takes.
int weft::testing::branchForEdges() {
  const auto parts = [](const char *device) {
    return std::array{numbers(16 * 24).reshape({16, 24}).to(device) * 1,
                      numbers(24 * 16).reshape({24, 16}).to(device) * 0.5,
                      cos(arange(16 * 8).to(f32)).reshape({16, 8}).to(device) * 1,
                      cos(arange(8 * 16).to(f32)).reshape({8, 16}).to(device) * 0.25};
  };
  auto [a, b, c, d] = parts("cuda:0");
  auto sum =
      compile([](Tensor w, Tensor x, Tensor y, Tensor z) { return tanh(matmul(w, x)) * tanh(matmul(y, z)); });
  Tensor found;
  for (int i = 0; i < 4; ++i)
    found = sum(a, b, c, d);
  const auto [e, f, g, h] = parts("cpu");
  const Floats values = floats(found.cpu()), expected = floats(tanh(matmul(e, f)) * tanh(matmul(g, h)));
  double most = 0;
  for (size_t i = 0; i < values.size(); ++i)
    most = std::max<double>(most, std::abs(values[i] - expected[i]));
  std::printf("%s %a\n", most < 1e-5 ? "right" : "wrong", values[5]);
  allocateBesideGraphs();
  return 0;
}

TEST(CudaGraphs, LaunchesThatShareNothingAreBranches) {
  TemporaryFolder folder;
  const std::string common = "WEFT_TEST_CUBLASLT=0 CUSIM_RACE=1 ";
  const Child child = runChild("--branch", common + "CUSIM_LOG=" + (folder / "log"));
  EXPECT_TRUE(child.output.starts_with("right")) << child.output;
  // The two products, and what needs both. The call cannot fail, so it has no record of failures.
  EXPECT_EQ(edgesIn(folder / "log"), (std::vector<int>{0, 0, 2}));
  for (const char *order : {"reverse", "5", "6"})
    EXPECT_EQ(runChild("--branch", common + "CUSIM_ORDER=" + order).output, child.output) << order;
  const std::string launches = runChild("--branch", common + "WEFT_CUDA_GRAPHS=0").output;
  const std::string line = child.output.substr(0, child.output.find('\n') + 1);
  EXPECT_TRUE(launches.starts_with(line + "graphs have 0 bytes\ncuda:0 out of memory")) << launches;
}

// The software driver takes 4 KiB for each of the three nodes.
TEST(CudaGraphs, MemoryOfGraphsCounts) {
  const Child child = runChild("--branch", "WEFT_TEST_CUBLASLT=0");
  EXPECT_TRUE(mentions(child.output, "graphs have 12288 bytes\n")) << child.output;
  EXPECT_TRUE(mentions(child.output, "and the driver has taken 12.00 KiB for graphs")) << child.output;
  EXPECT_TRUE(child.output.ends_with("fits\n")) << child.output;
  EXPECT_EQ(child.output.find("fits"), child.output.rfind("fits")) << child.output;
}

/// Calls of a function that reads two numbers of the host, of which some are new. Writes whether the results
/// are right.
int weft::testing::scaleForCalls() {
  Tensor x = ones({64}, {.device = "cuda:0"}) * 1, a = full({}, 2.0F), b = full({}, 3.0F);
  auto scale = compile([&] { return (x * a + b).mean(); });
  auto other = compile([&] { return (x * b).sum(); });
  bool right = true;
  const auto call = [&] { right &= scale().item<float>() == 2 + b.item<float>(); };
  for (int i = 0; i < 4; ++i)
    call();
  right &= other().item<float>() == 3 * 64; // has the same memory
  call();
  call();
  b.copy_(full({}, 5.0F));
  call();
  call();
  std::printf("%s\n", right ? "right" : "wrong");
  return 0;
}

TEST(CudaGraphs, ScalarsAreSentIfOneHasChanged) {
  TemporaryFolder folder;
  const Child child = runChild("--scale", "CUSIM_RACE=1 CUSIM_LOG=" + (folder / "log"));
  EXPECT_TRUE(mentions(child.output, "right")) << child.output;
  // The last four calls, of one kernel each: after another function had the memory, unchanged, changed,
  // unchanged.
  std::vector<std::string> expected;
  for (const bool sends : {true, false, true, false}) {
    if (sends)
      expected.emplace_back("cuMemcpyHtoDAsync");
    for (const char *each : {"cuLaunchKernelEx", "cuEventRecord", "cuEventSynchronize", "cuMemcpyDtoHAsync",
                             "cuStreamSynchronize"})
      expected.emplace_back(each);
  }
  expectLastCalls(folder / "log", expected);
}

// Each replay has results of its own, so that losses may be read at the end of an epoch.
TEST(CudaGraphs, EveryLossOfAnEpochIsKept) {
  constexpr int steps = 10;
  const auto epoch = [](bool readsAtOnce) {
    DeviceTraining there = seeded("cuda:0");
    Tensor x = there.images(), classes = there.labels();
    auto step = compile([&](Tensor images, Tensor labels) { return there.body(images, labels); });
    std::vector<Tensor> losses;
    std::vector<float> values;
    for (int i = 0; i < steps; ++i) {
      losses.push_back(step(x, classes));
      if (readsAtOnce)
        values.push_back(losses.back().item<float>());
    }
    for (int i = 0; i < steps && !readsAtOnce; ++i)
      values.push_back(losses[static_cast<size_t>(i)].item<float>());
    return values;
  };
  const std::vector<float> kept = epoch(false);
  EXPECT_EQ(kept, epoch(true));
  EXPECT_LT(kept.back(), kept.front());
}

// The checks of branches update one record, in any order.
TEST(CudaGraphs, BranchesMayFailTogether) {
  auto rows = compile([](Tensor x, Tensor few, Tensor many) {
    return std::pair(x.index_select(0, few) * 2, tanh(x).index_select(0, many));
  });
  const Tensor x = numbers(24).reshape({8, 3}).to("cuda:0");
  const auto indices = [](int count, int last) {
    Tensor all = arange(count).to(i64).remainder(8);
    return where(all == 0, full({count}, last, {.dtype = i64}), all).to("cuda:0");
  };
  const auto sums = [&] {
    auto [a, b] = rows(x, indices(5, 7), indices(700, 7));
    return std::pair(a.sum().item<float>(), b.sum().item<float>());
  };
  const auto expected = sums();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(sums(), expected);
  for (int i = 0; i < 2; ++i) {
    const std::string message = errorOf([&] {
      auto [a, b] = rows(x, indices(5, 9), indices(700, 11));
      (void)a.to_vector<float>();
      (void)b.to_vector<float>();
    });
    // In some orders the checks that failed earlier have filled the log of values.
    EXPECT_TRUE(mentions(message, "index 9 is out") || mentions(message, "index (value unknown) is out"))
        << message;
    EXPECT_TRUE(mentions(message, "of bounds for dimension 0 with size 8 (at position 0)")) << message;
    EXPECT_EQ(sums(), expected);
  }
}

/// Steps with a learning rate that changes, calls with a number, and lazy programs with a number. Writes
/// whether the results are right.
int weft::testing::changeNumbers() {
  DeviceTraining host = seeded("cpu"), there = seeded("cuda:0");
  auto step = compile([&](Tensor x, Tensor classes) { return there.body(x, classes); });
  auto scale = compile([](Tensor x, Scalar by) { return x * by; });
  Tensor x = there.images(), classes = there.labels(), sent = full({}, 3.0F).to("cuda:0") * 1;
  Tensor hostScalar = full({}, 0.5F) * 1;
  bool right = sent.item<float>() == 3 && (hostScalar.to("cuda:0")).item<float>() == 0.5F;
  const float first = x.cpu().to_vector<float>()[1];
  for (int i = 0; i < 6; ++i) {
    for (DeviceTraining *run : {&host, &there})
      run->adam->set_lr(0.01 / (1 + i));
    const float expected = host.body(host.images(), host.labels()).item<float>();
    Tensor loss = step(x, classes);
    synchronize();
    Tensor scaled = scale(x, 0.5 + i);
    synchronize();
    Tensor lazy = x * (1.5 + i) + hostScalar;
    synchronize();
    // The numbers are read at the end, so that the calls above stand alone in the log.
    right &= std::abs(loss.item<float>() - expected) < 1e-5 &&
             scaled.to_vector<float>()[1] == first * static_cast<float>(0.5 + i) &&
             std::abs(lazy.to_vector<float>()[1] - (first * (1.5 + i) + 0.5)) < 1e-5;
  }
  std::printf("%s\n", right ? "right" : "wrong");
  return 0;
}

TEST(CudaGraphs, NumbersTravelInTheBlockOfScalars) {
  TemporaryFolder folder;
  const Child child = runChild("--numbers", "CUSIM_RACE=1 CUSIM_LOG=" + (folder / "log"));
  EXPECT_TRUE(mentions(child.output, "right")) << child.output;
  // Each call is the copy of its block, what it launches, and an event; then the host waits.
  std::vector<std::string> expected;
  for (const char *launched : {"cuGraphLaunch", "cuLaunchKernelEx", "cuLaunchKernelEx"})
    for (const char *each : {"cuMemcpyHtoDAsync", launched, "cuEventRecord", "cuEventSynchronize"})
      expected.emplace_back(each);
  for (int i = 0; i < 3; ++i) // the numbers that are read
    for (const char *each : {"cuMemcpyDtoHAsync", "cuStreamSynchronize"})
      expected.emplace_back(each);
  expectLastCalls(folder / "log", expected);
}

/// Products with long sums, for which the library takes workspaces: two that share nothing, and one that
/// needs both. Writes whether the result is that of the host.
int weft::testing::multiplyBesideEachOther() {
  const auto wide = [](double phase) {
    return (cos(arange(16 * 4096).to(f32) + phase) * 0.125).reshape({16, 4096});
  };
  const auto program = [](Tensor a, Tensor b, Tensor c, Tensor d) {
    Tensor left = matmul(a, b.t()), right = matmul(c, d.t());
    return matmul(left, right);
  };
  std::vector<Tensor> host, there;
  for (const double phase : {0.0, 1.0, 2.0, 3.0}) {
    host.push_back(wide(phase));
    there.push_back(wide(phase).to("cuda:0") * 1);
  }
  auto products = compile([&](Tensor a, Tensor b, Tensor c, Tensor d) { return program(a, b, c, d); });
  Tensor found;
  for (int i = 0; i < 4; ++i)
    found = products(there[0], there[1], there[2], there[3]);
  const Floats values = floats(found.cpu()), expected = floats(program(host[0], host[1], host[2], host[3]));
  double most = 0, largest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    most = std::max<double>(most, std::abs(values[i] - expected[i]));
    largest = std::max<double>(largest, std::abs(expected[i]));
  }
  std::printf("%s\n", most <= 1e-5 * largest ? "right" : "wrong");
  return 0;
}

TEST(CudaGraphs, ProductsThatShareNothingHaveWorkspacesOfTheirOwn) {
  TemporaryFolder folder;
  const Child child = runChild("--beside", "WEFT_TEST_CUBLASLT=1 CUSIM_RACE=1 CUSIM_LOG=" + (folder / "log"));
  EXPECT_TRUE(child.output.ends_with("right\n")) << child.output;
  for (const char *order : {"reverse", "5"})
    EXPECT_EQ(
        runChild("--beside", "WEFT_TEST_CUBLASLT=1 CUSIM_RACE=1 CUSIM_ORDER=" + std::string(order)).output,
        child.output);
  // The last arguments of a product are its workspace, the bytes of that, and the stream.
  std::vector<std::string> workspaces;
  std::ifstream log(folder / "log");
  for (std::string line; std::getline(log, line);)
    if (line.starts_with("cublasLtMatmul(")) {
      std::vector<std::string> parts;
      for (size_t at = 0, next = 0; next != std::string::npos; at = next + 2) {
        next = line.find(", ", at);
        parts.push_back(line.substr(at, next - at));
      }
      workspaces.push_back(parts.at(parts.size() - 3));
    }
  ASSERT_EQ(workspaces.size() % 3, 0U);
  ASSERT_GE(workspaces.size(), 3U);
  EXPECT_NE(workspaces[0], "null");
  EXPECT_NE(workspaces[1], "null");
  EXPECT_NE(workspaces[0], workspaces[1]);
  // Neither of the first two products waits for the other.
  const std::vector<int> edges = edgesIn(folder / "log");
  ASSERT_GE(edges.size(), 3U);
  EXPECT_EQ(edges[0], 0);
  EXPECT_EQ(edges[1], 0);
  EXPECT_GE(edges[2], 2);
}
