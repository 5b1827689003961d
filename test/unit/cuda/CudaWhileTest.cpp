//===- CudaWhileTest.cpp - While loops on a GPU ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values are those of the same loop on the host, and of C++. Before the third time that a loop is issued the
// host reads the predicate of each trip; from then on the device does (CudaGraphLoopsTest.cpp).
//
//===----------------------------------------------------------------------===//
#include "test/unit/cuda/DriverFaults.h"
#include "test/unit/cuda/PackagedStep.h"
#include "test/unit/frontend/CloseTensors.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
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

void expectNear(const Tensor &found, const Tensor &expected, double bound = 1e-5) {
  EXPECT_EQ(found.device(), Device("cuda:0"));
  ASSERT_EQ(found.sizes(), expected.sizes());
  EXPECT_LE((found.cpu() - expected).abs().max().item<double>(),
            bound * (1 + expected.abs().max().item<double>()));
}

Tensor doubled(const Tensor &x, const Tensor &limit) {
  return while_loop([&](const Tensor &at) { return at.sum() < limit; },
                    [](const Tensor &at) { return at * 2; }, x);
}

/// Follows a list, in which each element is the number of the next one, and -1 of the last. The trips.
Tensor lengthOf(const Tensor &next, const Tensor &begin) {
  const auto [at, trips] =
      while_loop([](const Tensor &at, const Tensor &) { return at >= 0; },
                 [&](const Tensor &at, const Tensor &trips) {
                   return std::tuple(next.index_select(0, at.reshape({1})).reshape({}), trips + 1);
                 },
                 std::tuple(begin, zeros_like(begin)));
  return trips;
}

Tensor integers(std::vector<int64_t> values, const char *device) {
  const auto size = static_cast<int64_t>(values.size());
  return Tensor::from(std::move(values), {size}).to(device);
}

} // namespace

TEST(CudaWhile, HasAsManyTripsAsItsDataSay) {
  const auto steps = [](int64_t begin) {
    const Tensor one = full({}, begin, {.dtype = i64}).to("cuda:0");
    const auto [n, count] =
        while_loop([](const Tensor &n, const Tensor &) { return n != 1; },
                   [](const Tensor &n, const Tensor &count) {
                     return std::tuple(where(n % 2 == 0, n.floor_divide(2), n * 3 + 1), count + 1);
                   },
                   std::tuple(one, zeros_like(one)));
    EXPECT_EQ(n.device(), Device("cuda:0"));
    EXPECT_EQ(n.item<int64_t>(), 1);
    return count.item<int64_t>();
  };
  // None, one, and both parities of more: the carries end in each of their places.
  EXPECT_EQ(steps(1), 0);
  EXPECT_EQ(steps(2), 1);
  EXPECT_EQ(steps(4), 2);
  EXPECT_EQ(steps(8), 3);
  EXPECT_EQ(steps(27), 111);
}

TEST(CudaWhile, IsPartOfCompiledFunctions) {
  const Tensor w = someNumbers({4, 4}, 2, "cpu") * 2, there = w.to("cuda:0");
  const auto loop = [](const Tensor &x, const Tensor &w, const Tensor &limit) {
    const Tensor begin = tanh(x) * 1.5;
    const Tensor last = while_loop([&](const Tensor &at) { return at.abs().sum() < limit; },
                                   [&](const Tensor &at) { return matmul(at, w) + at; }, begin);
    return std::tuple(last, last.sum(0) + begin.sum(0));
  };
  auto run = compile([&](const Tensor &x, const Tensor &limit) { return loop(x, there, limit); });
  uint64_t compiled = 0;
  // Often enough for graphs of a trip's launches.
  for (const double limit : {0.0, 1.0, 50.0, 1e6, 1e6, 0.0, 50.0}) {
    const Tensor x = someNumbers({3, 4}, 5, "cpu"), given = full({}, limit).to("cuda:0"),
                 onDevice = x.to("cuda:0");
    synchronize();
    const auto expected = loop(x, w, full({}, limit));
    const uint64_t before = compile_count();
    const auto found = run(onDevice, given);
    synchronize();
    compiled += compile_count() - before;
    expectNear(std::get<0>(found), std::get<0>(expected), 3e-5);
    expectNear(std::get<1>(found), std::get<1>(expected), 3e-5);
  }
  EXPECT_LE(compiled, 2U); // and the reference, once
  const std::string text = run.explain({.full = true});
  EXPECT_TRUE(mentions(text, "WEFT-C008")) << text;
  EXPECT_TRUE(mentions(text, "loop while")) << text;
}

TEST(CudaWhile, TooManyLaunchesAreRefused) {
  const auto loop = [](int64_t length) {
    return while_loop(
        [](const Tensor &at) { return at.sum() < 100; },
        [length](const Tensor &at) {
          return scan([](const Tensor &h) { return std::pair(h + 1, std::tuple<>{}); }, at, length).first;
        },
        zeros({4}).to("cuda:0"));
  };
  EXPECT_EQ(loop(40).sum().item<float>(), 160);
  EXPECT_ERROR((void)loop(40000).sum().item<float>(), "launches with the trips of its loops");
  // Those of a loop of the host in the same function are none of the device.
  auto both = compile([](const Tensor &x, const Tensor &host) {
    const Tensor counted =
        scan([](const Tensor &h) { return std::pair(h + 1, std::tuple<>{}); }, host, 70000).first;
    return std::pair(doubled(x, full({}, 100.0).to("cuda:0")), counted);
  });
  const auto [last, counted] = both(ones({4}).to("cuda:0"), zeros({2}));
  EXPECT_EQ(last.sum().item<float>(), 128);
  EXPECT_EQ(floats(counted), Floats({70000, 70000}));
}

// Loops that run one after the other use the same memory, those of a loop that is unrolled among them.
TEST(CudaWhile, LoopsShareTheirTemporaries) {
  const auto peakOf = [](int loops) {
    const Tensor x = ones({1 << 16}).to("cuda:0"), limit = full({}, 1e5).to("cuda:0");
    auto run = compile([loops](Tensor x, const Tensor &limit) {
      for (int i = 0; i < loops; ++i)
        x = doubled(x * 0.25, limit);
      return x;
    });
    (void)run(x, limit).sum().item<float>();
    trim("cuda:0");
    synchronize();
    reset_peak_memory_stats("cuda:0");
    EXPECT_EQ(run(x, limit).sum().item<float>(), 1 << 17);
    return max_memory_allocated("cuda:0");
  };
  // Two values of 256 KiB in turn, and a second place.
  const int64_t few = static_cast<int64_t>(peakOf(2)), many = static_cast<int64_t>(peakOf(12));
  EXPECT_LE(many - few, 1 << 10) << few;
}

// Two calls of many trips make graphs of their launches. The third makes one of the loop, and frees them.
TEST(CudaWhile, AGraphOfTheLoopReplacesThoseOfItsTrips) {
  const auto bytes = [](const char *metric) {
    return memory_stats("cuda:0").at(std::string("weft.graph_bytes.") + metric);
  };
  auto run = compile([](const Tensor &x, const Tensor &most) {
    return while_loop([&](const Tensor &at, const Tensor &) { return at.sum() < most; },
                      [](const Tensor &at, const Tensor &other) {
                        const Tensor mean = at.mean();
                        return std::tuple(at + mean, other.sum(0, true) * 0.5 + mean);
                      },
                      std::tuple(x, ones({1}).to("cuda:0")));
  });
  const Tensor x = ones({4}).to("cuda:0"), most = full({}, 5000.0).to("cuda:0");
  const auto call = [&] { return std::get<0>(run(x, most)).sum().item<float>(); };
  // A stream frees what it keeps of a function that is gone when another one lies in its place: this one has
  // none.
  const Stream own("cuda:0");
  const StreamGuard guard(own);
  const auto before = bytes("current");
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(call(), 8192);
  const auto of_trips = bytes("current") - before, freed = bytes("freed");
  EXPECT_GT(of_trips, 0U);
  EXPECT_EQ(call(), 8192);
  EXPECT_GE(bytes("freed") - freed, of_trips);
  EXPECT_GT(bytes("current"), before);
}

TEST(CudaWhile, AStrictCaptureRefusesIt) {
  const Tensor x = ones({4}).to("cuda:0"), limit = full({}, 100.0).to("cuda:0");
  auto run = compile([&] { return doubled(x, limit); }, {.strict = Strict::capture});
  EXPECT_ERROR(run(), "WEFT-C008");
}

TEST(CudaWhile, MayBeInEachOther) {
  // Each trip of the outer loop doubles until the sum is above a limit that grows, and then takes a root.
  const auto run = [](const char *device, double most) {
    const Tensor x = someNumbers({5}, 3, device).abs() + 0.5, end = full({}, most).to(device);
    const auto [last, limit, trips] =
        while_loop([&](const Tensor &, const Tensor &limit, const Tensor &) { return limit < end; },
                   [](const Tensor &at, const Tensor &limit, const Tensor &trips) {
                     const auto [inner, count] = while_loop(
                         [&](const Tensor &at, const Tensor &) { return at.sum() < limit; },
                         [](const Tensor &at, const Tensor &count) { return std::tuple(at * 2, count + 1); },
                         std::tuple(at, zeros_like(trips)));
                     return std::tuple(inner * 0.75, limit * 1.5, trips + count);
                   },
                   std::tuple(x, full({}, 10.0).to(device), zeros({}, {.dtype = i64}).to(device)));
    return bitsOf({last, limit, trips});
  };
  for (const double most : {0.0, 12.0, 20.0, 30.0, 1e4})
    EXPECT_EQ(run("cuda:0", most), run("cpu", most)) << most;
}

TEST(CudaWhile, HoldsLoopsOfKnownLengthAndConditions) {
  const auto run = [](const char *device) {
    const Tensor w = someNumbers({4}, 6, device), xs = someNumbers({6, 4}, 7, device);
    const auto [last, trips] = while_loop(
        [](const Tensor &, const Tensor &trips) { return trips < 7; },
        [&](const Tensor &at, const Tensor &trips) {
          const Tensor next =
              scan([&](const Tensor &h, const Tensor &x) { return std::pair(h * 0.5 + x * w, h); }, at, xs)
                  .first;
          return std::tuple(cond(
                                trips % 2 == 0, [&](const Tensor &x) { return x + w; },
                                [&](const Tensor &x) { return x * w; }, next),
                            trips + 1);
        },
        std::tuple(someNumbers({4}, 8, device), zeros({}, {.dtype = i64}).to(device)));
    return bitsOf({last, trips});
  };
  EXPECT_EQ(run("cuda:0"), run("cpu"));
}

// The trips of the loop around it are launches of their own, so that the host can wait in each.
TEST(CudaWhile, MayBeInALoopOfKnownLength) {
  const auto loop = [](const Tensor &h, const Tensor &xs) {
    return scan(
        [](const Tensor &h, const Tensor &x) {
          const Tensor next = while_loop([](const Tensor &at) { return at.abs().sum() < 20; },
                                         [](const Tensor &at) { return at * 2; }, h * 0.125 + x);
          return std::pair(next, next + x);
        },
        h, xs);
  };
  const Tensor h = someNumbers({4}, 1, "cpu") + 3, xs = someNumbers({5, 4}, 2, "cpu").abs() + 0.25;
  auto run = compile(loop);
  const auto found = run(h.to("cuda:0"), xs.to("cuda:0"));
  const auto expected = loop(h, xs);
  EXPECT_EQ(bitsOf({found.first, found.second}), bitsOf({expected.first, expected.second}));
  const std::string text = run.explain({.full = true});
  EXPECT_TRUE(mentions(text, "WEFT-T004")) << text;
}

// A GPU computes both branches. A loop that its branch's predicate keeps from an endless one has no trip.
TEST(CudaWhile, HasNoTripInABranchThatIsNotTaken) {
  const auto run = [](const char *device, double begin, bool outer) {
    const Tensor x = full({3}, begin).to(device), which = full({}, outer, {.dtype = DType::i1}).to(device);
    const auto grown = [](const Tensor &x) {
      return while_loop([](const Tensor &at) { return at.sum() < 100; },
                        [](const Tensor &at) { return at * 2; }, x);
    };
    const auto shrunk = [](const Tensor &x) {
      return while_loop([](const Tensor &at) { return at.sum() < -100; },
                        [](const Tensor &at) { return at * 0.5; }, x);
    };
    // With a begin of 0 or less the first loop has no end, with one above 0 it is right.
    return floats(cond(
        which,
        [&](const Tensor &x) {
          return cond(x.sum() > 0, grown, [&](const Tensor &x) { return shrunk(x) + 1; }, x);
        },
        [&](const Tensor &x) { return x - 1; }, x));
  };
  for (const double begin : {3.0, 0.0, -5.0, -800.0})
    for (const bool outer : {true, false})
      EXPECT_EQ(run("cuda:0", begin, outer), run("cpu", begin, outer)) << begin << " " << outer;
}

TEST(CudaWhile, EndsWhereItFails) {
  const Tensor begin = full({}, 2, {.dtype = i64}).to("cuda:0");
  const Tensor good = integers({-1, 0, 3, 1}, "cuda:0"), wrong = integers({-1, 9, 3, 1}, "cuda:0");
  EXPECT_EQ(lengthOf(good, begin).item<int64_t>(), 4);
  EXPECT_ERROR((void)lengthOf(wrong, begin).item<int64_t>(),
               "index 9 is out of bounds for dimension 0 with size 4");
  EXPECT_EQ(lengthOf(good, begin).item<int64_t>(), 4);
}

// What fails before it would give it a begin from which it never ends.
TEST(CudaWhile, DoesNotBeginAfterAFailure) {
  const Tensor table = ones({4}).to("cuda:0"), state = someNumbers({4}, 3, "cuda:0");
  const Floats before = floats(state);
  auto step = compile([&](const Tensor &indices, const Tensor &scale) {
    const Tensor picked = table.index_select(0, indices) * scale;
    const Tensor last = while_loop([](const Tensor &at) { return at.sum() < 100; },
                                   [](const Tensor &at) { return at * 2; }, picked);
    Tensor target = state;
    target.copy_(last + state);
    return last;
  });
  const Tensor right = integers({0, 3, 1, 2}, "cuda:0"), wrong = integers({0, 9, 1, 2}, "cuda:0");
  const Tensor zero = zeros({}).to("cuda:0"), one = ones({}).to("cuda:0");
  for (int call = 0; call < 4; ++call) {
    EXPECT_ERROR((step(wrong, zero), synchronize("cuda:0")), "index 9 is out of bounds");
    EXPECT_EQ(floats(state), before);
  }
  EXPECT_EQ(floats(step(right, one)), Floats(4, 32));
  EXPECT_EQ(floats(state)[0], before[0] + 32);
}

// The graph of a loop looks at the record of its own device; the host looks at those of others.
TEST(CudaWhile, DoesNotBeginAfterAFailureOfAnotherDevice) {
  const Tensor table = ones({4}).to("cuda:1");
  auto step = compile([&](const Tensor &indices, const Tensor &scale) {
    const Tensor picked = table.index_select(0, indices) * scale.to("cuda:1");
    return while_loop([](const Tensor &at) { return at.sum() < 100; },
                      [](const Tensor &at) { return at * 2; }, picked.to("cuda:0"));
  });
  const Tensor right = integers({0, 3, 1, 2}, "cuda:1"), wrong = integers({0, 9, 1, 2}, "cuda:1");
  for (int call = 0; call < 4; ++call) {
    EXPECT_EQ(floats(step(right, full({}, 1.0))), Floats(4, 32));
    EXPECT_ERROR((step(wrong, full({}, 0.0)), synchronize("cuda:0")), "index 9 is out of bounds");
  }
}

// The loop's result replaces an argument, which a copy writes when nothing can fail any more.
TEST(CudaWhile, AFailedCallChangesNothing) {
  Tensor state = someNumbers({8}, 1, "cuda:0");
  const Floats before = floats(state);
  auto step = compile([&](const Tensor &indices) {
    const Tensor next = while_loop([](const Tensor &at) { return at.abs().sum() < 100; },
                                   [](const Tensor &at) { return at * 2 + 1; }, state);
    state.copy_(next);
    return arange(8).to("cuda:0").index_select(0, indices);
  });
  const Tensor wrong = integers({1, 9}, "cuda:0"), right = integers({1, 7}, "cuda:0");
  for (int call = 0; call < 4; ++call) {
    EXPECT_ERROR((step(wrong), synchronize("cuda:0")), "9");
    EXPECT_EQ(floats(state), before);
  }
  step(right);
  Floats expected = before;
  const auto sum = [&] {
    float all = 0;
    for (const float value : expected)
      all += std::abs(value);
    return all;
  };
  while (sum() < 100)
    for (float &value : expected)
      value = value * 2 + 1;
  EXPECT_EQ(floats(state), expected);
}

TEST(CudaWhile, RowsMayHaveAnySize) {
  Dim batch("batch", 1, 64);
  const Tensor limit = full({}, 100.0).to("cuda:0");
  const auto grown = [&](const Tensor &x) {
    return while_loop([&](const Tensor &at) { return at.abs().sum() < limit; },
                      [](const Tensor &at) { return at * 2; }, x);
  };
  auto dynamic = compile(grown, {spec({batch, 3}, f32, "cuda:0")});
  for (const int64_t rows : {3, 1, 17, 3, 17}) {
    const Tensor x = someNumbers({rows, 3}, 4, "cpu").abs() + 0.25;
    EXPECT_EQ(floats(dynamic(x.to("cuda:0"))), floats(doubled(x, full({}, 100.0)))) << rows;
  }
}

// The size that an index is checked against is one that the call chooses.
TEST(CudaWhile, ChecksIndicesOfDynamicSizes) {
  Dim count("count", 1, 100);
  auto dynamic = compile([](const Tensor &next, const Tensor &begin) { return lengthOf(next, begin); },
                         {spec({count}, i64, "cuda:0"), spec({}, i64, "cuda:0")});
  const Tensor begin = full({}, 2, {.dtype = i64}).to("cuda:0");
  EXPECT_EQ(dynamic(integers({-1, 0, 3, 1}, "cuda:0"), begin).item<int64_t>(), 4);
  EXPECT_EQ(dynamic(integers({-1, 0, 5, 1, -1, 4}, "cuda:0"), begin).item<int64_t>(), 3);
  EXPECT_ERROR((void)dynamic(integers({-1, 0, 5, 1, -1}, "cuda:0"), begin).item<int64_t>(),
               "index 5 is out of bounds for dimension 0 with size 5");
  EXPECT_EQ(dynamic(integers({-1, 0, 1}, "cuda:0"), begin).item<int64_t>(), 3);
}

TEST(CudaWhile, IsOnOneDevice) {
  const Tensor x = ones({4}).to("cuda:0");
  const auto loop = [&](const char *other) {
    return while_loop([](const Tensor &at) { return at.sum() < 100; },
                      [other](const Tensor &at) { return (at.to(other) * 2).to("cuda:0"); }, x);
  };
  EXPECT_ERROR((void)loop("cpu").sum().item<float>(), "WEFT-T010");
  EXPECT_ERROR((void)loop("cuda:1").sum().item<float>(),
               "a while loop on 'cuda:0' that also computes on 'cuda:1'");
  EXPECT_EQ(doubled(x, full({}, 100.0).to("cuda:0")).sum().item<float>(), 128);
}

TEST(CudaWhile, TwoGpusHaveOneEach) {
  auto run = compile([](const Tensor &a, const Tensor &b) {
    const Tensor limit = full({}, 50.0);
    const Tensor first = doubled(a, limit.to("cuda:0"));
    const Tensor second = doubled(b + first.to("cuda:1"), limit.to("cuda:1") * 4);
    return std::tuple(first + second.to("cuda:0"), second);
  });
  for (int call = 0; call < 4; ++call) {
    const Tensor a = ones({4}) * (call + 1), b = ones({4}) * 3;
    const Tensor first = doubled(a, full({}, 50.0)), second = doubled(b + first, full({}, 200.0));
    const auto found = run(a.to("cuda:0"), b.to("cuda:1"));
    EXPECT_EQ(floats(std::get<0>(found)), floats(first + second));
    EXPECT_EQ(floats(std::get<1>(found)), floats(second));
  }
}

TEST(CudaWhile, RunsOnStreams) {
  auto run = compile([](const Tensor &x, const Tensor &limit) { return doubled(x, limit) + x; });
  const Tensor limit = full({}, 100.0).to("cuda:0");
  const Stream first("cuda:0"), second("cuda:0");
  for (int call = 0; call < 4; ++call) {
    const Tensor x = (ones({4}) * (call + 1)).to("cuda:0");
    Tensor y, z;
    {
      const StreamGuard guard(first);
      y = run(x, limit);
    }
    {
      const StreamGuard guard(second); // which waits for the first
      z = run(y * 0.125, limit);
    }
    const Tensor host = ones({4}) * (call + 1), expected = doubled(host, full({}, 100.0)) + host;
    EXPECT_EQ(floats(y), floats(expected));
    EXPECT_EQ(floats(z), floats(doubled(expected * 0.125, full({}, 100.0)) + expected * 0.125));
  }
}

TEST(CudaWhile, ItsLaunchesAreInProfiles) {
  const Tensor x = ones({4}).to("cuda:0"), limit = full({}, 100.0).to("cuda:0");
  auto run = compile([](const Tensor &x, const Tensor &limit) { return doubled(x, limit); });
  (void)run(x, limit).sum().item<float>();
  const std::string table = profile([&] { (void)run(x, limit).sum().item<float>(); }).table();
  EXPECT_TRUE(mentions(table, "CudaWhileTest.cpp")) << table;
  EXPECT_FALSE(mentions(table, "while loop")) << table; // whose launches are there in its place
}

// One package runs on the host and on a GPU, with the weight that the loop reads as its state.
TEST(CudaWhile, ComesFromPackages) {
  TemporaryFolder folder;
  const std::string path = folder / "step.weft";
  Tensor weight = full({4}, 1.5).to("cuda:0");
  auto step = compile(
      [&](const Tensor &x) {
        const Tensor last = while_loop([](const Tensor &at) { return at.abs().sum() < 100; },
                                       [&](const Tensor &at) { return at * weight; }, x);
        weight.copy_(weight + 0.25);
        return last;
      },
      {.name = "step"});
  const std::vector<float> begin = {1, -2, 3, 0.5};
  const Tensor x = Tensor::from(begin, {4}).to("cuda:0");
  (void)step(x);
  step.save(path, {.targets = {"cpu", "cuda:sm_90"}});
  std::vector<Floats> expected;
  for (int call = 0; call < 4; ++call)
    expected.push_back(floats(step(x)));
  weft::testing::expectOfPackage(path, begin, expected);
}

// The second place of the carry counts, and is asked for before anything is issued.
TEST(CudaWhile, OutOfMemoryIsKnownBeforeItBegins) {
  constexpr uint64_t bytes = 12 << 20; // a segment of its own
  const Tensor x = ones({bytes / sizeof(float)}).to("cuda:0"), limit = full({}, 1e7).to("cuda:0");
  auto run = compile([](const Tensor &x, const Tensor &limit) { return doubled(x, limit); });
  (void)x.sum().item<float>();
  (void)limit.item<float>();
  trim("cuda:0");
  set_memory_limit(memory_reserved("cuda:0") + bytes + (4 << 20), "cuda:0"); // for the result
  const std::string text = errorOf([&] { (void)run(x, limit)[0].item<float>(); });
  set_memory_limit(UINT64_MAX, "cuda:0");
  EXPECT_TRUE(mentions(text, "out of memory. Tried to allocate 12.00 MiB")) << text;
  EXPECT_EQ(run(x, limit)[0].item<float>(), 4);
}

//===----------------------------------------------------------------------===//
// Calls of the driver
//===----------------------------------------------------------------------===//

/// A compiled loop of WEFT_TEST_TRIPS trips, four times, and a call that has to work. Writes what fails.
int weft::testing::repeatForFaults() {
  const char *const given = std::getenv("WEFT_TEST_TRIPS");
  const double limit = std::ldexp(4.0, std::atoi(given ? given : "3")) - 1;
  auto run = compile([](const Tensor &x, const Tensor &most) {
    return while_loop([&](const Tensor &at, const Tensor &) { return at.sum() < most; },
                      [](const Tensor &at, const Tensor &other) {
                        const Tensor mean = at.mean();
                        return std::tuple(at + mean, other.sum(0, true) * 0.5 + mean);
                      },
                      std::tuple(x, ones({1}).to("cuda:0")));
  });
  std::string last = "none";
  const auto once = [&] {
    const auto [x, other] = run(ones({4}).to("cuda:0"), full({}, limit).to("cuda:0"));
    last = std::to_string(x.sum().item<float>()) + " " + std::to_string(other.sum().item<float>());
  };
  for (int i = 0; i < 4; ++i)
    attempt("call", once);
  bool works = false;
  for (int i = 0; i < 2 && !works; ++i)
    works = attempt("last", once);
  std::printf("%s %s\n", works ? "works" : "fails", last.c_str());
  return 0;
}

namespace {
Child repeat(const std::string &environment) { return runChild("--repeat", environment); }
} // namespace

TEST(CudaWhile, EveryFunctionOfTheDriverFails) {
  TemporaryFolder folder;
  const Child good = repeat("CUSIM_LOG=" + (folder / "log"));
  ASSERT_EQ(good.code, 0) << good.output;
  ASSERT_TRUE(mentions(good.output, "works 32.0")) << good.output;
  const std::map<std::string, int> calls = callsIn(folder / "log");
  ASSERT_GT(calls.size(), 15U);
  const int cases = weft::testing::tryEveryFault(
      calls, "works 32.0", [](int count) { return std::set<int>{2, count / 2, count}; },
      [](const std::string &fault) { return repeat("CUSIM_LEAKS=1 " + fault); });
  EXPECT_GT(cases, 30);
}

// Of a loop of the host: a trip that was issued three times is one graph, the copy of its predicate, and a
// wait. The condition is one launch or a graph.
TEST(CudaWhile, AWarmTripIsAFewCallsOfTheDriver) {
  TemporaryFolder folder;
  const auto callsOf = [&](int trips) {
    const std::string log = folder / ("log-" + std::to_string(trips));
    const Child child =
        repeat("WEFT_CUDA_LOOPS=0 WEFT_TEST_TRIPS=" + std::to_string(trips) + " CUSIM_LOG=" + log);
    EXPECT_EQ(child.code, 0) << child.output;
    std::map<std::string, int> calls;
    for (const std::string &name : namesIn(log))
      ++calls[name];
    return calls;
  };
  std::map<std::string, int> few = callsOf(20), many = callsOf(30);
  constexpr int calls = 5, more = 10;
  int all = 0;
  for (const auto &[name, count] : many) {
    EXPECT_EQ((count - few[name]) % calls, 0) << name;
    all += count - few[name];
    if (count != few[name])
      std::printf("  %s: %.1f a trip\n", name.c_str(), double(count - few[name]) / (calls * more));
  }
  EXPECT_EQ(many["cuGraphInstantiate"], few["cuGraphInstantiate"]);
  EXPECT_EQ(many["cuEventSynchronize"] - few["cuEventSynchronize"], calls * more);
  EXPECT_LE(all, 7 * calls * more);
}

// From the third call on, the driver is called as often for 30 trips as for 20, and the host waits once.
TEST(CudaWhile, AWarmLoopIsTheLaunchOfAGraph) {
  TemporaryFolder folder;
  const auto callsOf = [&](int trips) {
    const std::string log = folder / ("log-" + std::to_string(trips));
    const Child child = repeat("WEFT_TEST_TRIPS=" + std::to_string(trips) + " CUSIM_LOG=" + log);
    EXPECT_EQ(child.code, 0) << child.output;
    return namesIn(log);
  };
  const std::vector<std::string> few = callsOf(20), many = callsOf(30);
  const auto made = [](const std::vector<std::string> &names) {
    return std::ranges::find(names, "cuGraphAddNode");
  };
  ASSERT_NE(made(few), few.end());
  ASSERT_NE(made(many), many.end());
  EXPECT_EQ(std::vector<std::string>(made(few), few.end()), std::vector<std::string>(made(many), many.end()));
}

// Of the trial's graph, of the loop's, and of their bodies.
TEST(CudaWhile, EveryEdgeOfItsGraphsIsNeeded) {
  TemporaryFolder folder;
  // In another order a condition that no kernel has set may be found before the race.
  const std::string checked = "CUSIM_RACE=1 CUSIM_ORDER=forward ";
  ASSERT_EQ(repeat(checked + "CUSIM_LOG=" + (folder / "log")).code, 0);
  const std::vector<int> nodes = weft::testing::edgesIn(folder / "log");
  const int edges = std::accumulate(nodes.begin(), nodes.end(), 0);
  EXPECT_GT(edges, 10);
  for (int edge = 1; edge <= edges; ++edge) {
    const Child child = repeat(checked + "CUSIM_FAIL=edge:" + std::to_string(edge) + ":0");
    EXPECT_TRUE(mentions(child.output, "race: ")) << edge << "\n" << child.output;
  }
}

TEST(CudaWhile, GraphsAndSingleLaunchesGiveTheSameBits) {
  const Child graphs = repeat("WEFT_TEST_TRIPS=12 WEFT_CUDA_GRAPHS=1"),
              launches = repeat("WEFT_TEST_TRIPS=12 WEFT_CUDA_GRAPHS=0"),
              blocking = repeat("WEFT_TEST_TRIPS=12 WEFT_LAUNCH_BLOCKING=1"),
              raced = repeat("WEFT_TEST_TRIPS=12 CUSIM_RACE=1 CUSIM_ORDER=1"),
              trips = repeat("WEFT_TEST_TRIPS=12 WEFT_CUDA_LOOPS=0");
  EXPECT_TRUE(mentions(graphs.output, "works 16384.0")) << graphs.output;
  EXPECT_EQ(graphs.output, launches.output);
  EXPECT_EQ(graphs.output, blocking.output);
  EXPECT_EQ(graphs.output, raced.output);
  EXPECT_EQ(graphs.output, trips.output);
}
