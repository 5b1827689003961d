//===- CudaStreamsTest.cpp - Streams that wait for each other -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/DriverTable.h"
#include "test/unit/TemporaryFolder.h"
#include "test/unit/cuda/ChildProcess.h"
#include "test/unit/frontend/DeviceTraining.h"

#include <algorithm>
#include <cmath>

using namespace weft;

namespace {
using weft::test::TemporaryFolder;
using weft::testing::Child;
using weft::testing::numbers;
using weft::testing::runChild;

/// A call of the driver that Weft does not make, which divides the log.
void mark() {
  CUuuid uuid;
  EXPECT_EQ(runtime::driver().table->cuDeviceGetUuid(&uuid, 0), CUDA_SUCCESS);
}

/// How often each function was called between two marks, for each pair of marks.
std::vector<std::map<std::string, int>> callsBetweenMarks(const std::filesystem::path &log) {
  std::vector<std::map<std::string, int>> parts(1);
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);)
    if (mentions(line, "cuDeviceGetUuid"))
      parts.emplace_back();
    else
      for (const char *function : {"cuStreamWaitEvent", "Synchronize", "cuMemcpyDtoH", "cuGraphLaunch"})
        parts.back()[function] += mentions(line, function);
  return parts;
}

bool isRace(const Child &child) { return mentions(child.output, "race: "); }

Tensor on(const Stream &stream, const std::function<Tensor()> &work) {
  const StreamGuard guard(stream);
  return work();
}

} // namespace

/// Calls on two streams that use each other's results, and streams that wait for events. Writes whether the
/// values are right.
int weft::testing::orderStreams() {
  try {
    const Stream first("cuda:0"), second("cuda:0"), both("cuda:1");
    Tensor state = zeros({512}, {.device = "cuda:0"}), x = numbers(512).to("cuda:0") * 1;
    // They look at indices, so that each call has a record of failures, and is a graph.
    Tensor all = arange(512).to(i64).to("cuda:0") * 1;
    auto add = compile([&](Tensor a) {
      state += a.index_select(0, all);
      return state * 2;
    });
    auto triple = compile([&](Tensor a) { return a.index_select(0, all) * 3; });
    auto send = compile([](Tensor a) { return a.to("cuda:1") + 1; });
    const auto addOn = [&](const Stream &stream) { return on(stream, [&] { return add(x); }); };
    const auto tripleOn = [&](const Stream &stream) { return on(stream, [&] { return triple(x); }); };
    Tensor last;
    for (int i = 0; i < 4; ++i) // as launches, and as graphs
      for (const Stream *stream : {&first, &second}) {
        addOn(*stream);
        on(both, [&] { return send(tripleOn(*stream)); });
      }
    synchronize();
    mark();
    addOn(first);
    addOn(second);
    last = addOn(first);
    mark();
    synchronize();
    mark();
    Event event;
    Tensor y = tripleOn(first);
    event.record(first);
    event.wait(second);
    tripleOn(second);
    mark();
    synchronize();
    mark();
    y = tripleOn(first);
    second.wait_stream(first);
    tripleOn(second);
    mark();
    synchronize();
    mark();
    y = tripleOn(first);
    void *const handle = first.native_handle();
    Tensor there = on(both, [&] { return send(y); });
    mark();
    if (handle != first.native_handle())
      std::printf("another handle\n");
    const Floats found = floats(last.cpu()), moved = floats(there.cpu()), values = floats(numbers(512));
    double most = 0;
    for (size_t i = 0; i < values.size(); ++i)
      most = std::max<double>(
          {most, std::abs(found[i] - 22 * values[i]), std::abs(moved[i] - 3 * values[i] - 1)});
    std::printf("%s\n", most < 1e-4 ? "right" : "wrong");
  } catch (const Error &error) {
    std::printf("error %s: %s\n", error.code().c_str(), error.what());
  }
  return 0;
}

TEST(CudaStreams, WaitForEachOtherWithoutTheHost) {
  TemporaryFolder folder;
  for (const char *graphs : {"0", "1"}) {
    SCOPED_TRACE(graphs);
    const std::string log = folder / (std::string("log") + graphs);
    const Child child =
        runChild("--streams", std::string("CUSIM_RACE=1 CUSIM_ORDER=7 CUSIM_EAGER=0 "
                                          "WEFT_LAUNCH_BLOCKING=0 WEFT_CPU_QUEUE=auto WEFT_CUDA_GRAPHS=") +
                                  graphs + " CUSIM_LOG=" + log);
    ASSERT_EQ(child.output, "right\n");
    auto parts = callsBetweenMarks(log);
    ASSERT_EQ(parts.size(), 9u);
    // Two calls that use the value of the one before on the other stream, an event, a stream, another device.
    for (const size_t part : {1, 3, 5, 7}) {
      SCOPED_TRACE(part);
      EXPECT_EQ(parts[part]["Synchronize"], 0);
      EXPECT_EQ(parts[part]["cuGraphLaunch"] > 0, *graphs == '1');
    }
    EXPECT_EQ(parts[1]["cuStreamWaitEvent"], 2);
    EXPECT_EQ(parts[3]["cuStreamWaitEvent"], 1);
    EXPECT_EQ(parts[5]["cuStreamWaitEvent"], 1);
    EXPECT_GE(parts[7]["cuStreamWaitEvent"], 1);
  }
}

TEST(CudaStreams, EveryWaitOfACallIsNeeded) {
  TemporaryFolder folder;
  const std::string settings =
      "CUSIM_RACE=1 CUSIM_EAGER=0 WEFT_LAUNCH_BLOCKING=0 WEFT_CPU_QUEUE=auto WEFT_CUDA_GRAPHS=1 ";
  const Child whole = runChild("--streams", settings + "CUSIM_LOG=" + (folder / "log"));
  ASSERT_TRUE(mentions(whole.output, "right")) << whole.output;
  auto parts = callsBetweenMarks(folder / "log");
  ASSERT_EQ(parts.size(), 9u);
  const int before = parts[0]["cuStreamWaitEvent"], between = before + parts[1]["cuStreamWaitEvent"];
  ASSERT_EQ(between - before, 2);
  for (int wait = before + 1; wait <= between; ++wait) {
    SCOPED_TRACE(wait);
    const Child child =
        runChild("--streams", settings + "CUSIM_FAIL=cuStreamWaitEvent:" + std::to_string(wait) + ":0");
    EXPECT_TRUE(isRace(child)) << child.output;
    EXPECT_TRUE(mentions(child.output, "WEFT-E007")) << child.output;
  }
}

// A call that cannot fail has no record of failures, unless an argument may be what a failed call should have
// written.
TEST(CudaStreams, AFailureStopsCallsThatCannotFail) {
  Tensor state = numbers(8).to("cuda:0") * 1, rows = numbers(8).to("cuda:0") * 1;
  Tensor good = arange(8).to(i64).to("cuda:0") * 1, bad = good + 3;
  auto pick = compile([&](Tensor index) { return rows.index_select(0, index); });
  auto add = compile([&](Tensor x) {
    state += x;
    return state * 2;
  });
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) { // each is a graph at the end
      add(pick(good));
      synchronize();
      add(rows);
      synchronize();
    }
    const Floats before = floats(state.cpu());
    // Neither call is waited for before the next one.
    EXPECT_TRUE(mentions(errorOf([&] { add(pick(bad)).to_vector<float>(); }), "index 8 is out of bounds"));
    EXPECT_EQ(floats(state.cpu()), before);
    const Floats added = floats(rows.cpu()), after = floats(add(rows).cpu());
    for (size_t i = 0; i < after.size(); ++i)
      EXPECT_EQ(after[i], 2 * (before[i] + added[i]));
  }
}

// A call that was issued before the host knows of the failure of another one, on another stream.
TEST(CudaStreams, AFailureStopsCallsOnOtherStreams) {
  const Stream first("cuda:0"), second("cuda:0");
  Tensor state = numbers(8).to("cuda:0") * 1, rows = numbers(8).to("cuda:0") * 1;
  auto pick = compile([&](Tensor index) { return rows.index_select(0, index); });
  auto add = compile([&](Tensor value) {
    state += value.sum();
    return state * 1;
  });
  Tensor good = Tensor::from(std::vector<int64_t>{0, 0}, {2}).to("cuda:0"),
         wrong = Tensor::from(std::vector<int64_t>{1, 9}, {2}).to("cuda:0");
  const auto both = [&](const Tensor &index) {
    Tensor picked = on(first, [&] { return pick(index); });
    return on(second, [&] { return add(picked); });
  };
  const auto before = bitsOf({both(good)}); // the sum of zeros
  for (int i = 0; i < 4; ++i) {
    Tensor failed = both(wrong), stopped = on(first, [&] { return add(failed); });
    EXPECT_ERROR(stopped.to_vector<float>(), "index 9 is out of bounds");
    EXPECT_ERROR(failed.to_vector<float>(), "index 9 is out of bounds");
    EXPECT_EQ(bitsOf({state}), before);
    EXPECT_EQ(bitsOf({both(good)}), before);
    EXPECT_EQ(bitsOf({on(first, [&] { return add(zeros({2}, {.device = "cuda:0"})); })}), before);
  }
  synchronize();
}

TEST(CudaStreams, EventsMeasureByTheClockOfTheDevice) {
  const Stream stream("cuda:0");
  Event start(true), end(true);
  Tensor x = numbers(1 << 16).to("cuda:0") * 1;
  auto triple = compile([](Tensor a) { return a * 3; });
  on(stream, [&] { return triple(x); }).to_vector<float>();
  start.record(stream);
  Tensor y = on(stream, [&] { return triple(x); });
  end.record(stream);
  EXPECT_ERROR((void)end.elapsed_time(Event(true)), "was never recorded");
  end.synchronize();
  EXPECT_TRUE(start.query());
  EXPECT_GT(start.elapsed_time(end), 0);
  EXPECT_LT(end.elapsed_time(start), 0);
}

TEST(CudaStreams, HavePriorities) {
  const auto [last, first] = Stream::priority_range("cuda:0");
  EXPECT_EQ(last, 0);
  EXPECT_LT(first, 0);
  EXPECT_EQ(Stream::priority_range("cpu"), std::pair(0, 0));
  EXPECT_EQ(Stream("cuda:0").priority(), 0);
  EXPECT_EQ(Stream("cuda:0", -1).priority(), -1);
  EXPECT_EQ(Stream("cuda:0", -100).priority(), first);
  EXPECT_EQ(Stream("cpu", -1).priority(), 0);
  EXPECT_ERROR(Stream("cuda:0", 1), "Expected stream priority to be less than or equal to 0, got 1");
  const Stream urgent("cuda:0", -1);
  for (int i = 1; i < 32; ++i)
    EXPECT_FALSE(Stream("cuda:0", -1) == urgent);
  EXPECT_TRUE(Stream("cuda:0", -1) == urgent);
  EXPECT_EQ(floats(on(urgent, [] { return ones({2}, {.device = "cuda:0"}) * 3; })), Floats({3, 3}));
  TemporaryFolder folder;
  (void)runChild("--priorities", "CUSIM_LOG=" + (folder / "log"));
  std::ifstream log(folder / "log");
  std::vector<std::string> made;
  for (std::string line; std::getline(log, line);)
    if (mentions(line, "cuStreamCreateWithPriority"))
      made.push_back(line.substr(line.find('(')));
  const auto count = [&](const std::string &priority) {
    return std::ranges::count_if(made, [&](const std::string &line) { return mentions(line, priority); });
  };
  EXPECT_EQ(count(", -1)"), 1) << ::testing::PrintToString(made);
  EXPECT_EQ(count(", " + std::to_string(first) + ")"), 1) << ::testing::PrintToString(made);
}

/// Computes on streams of several priorities.
int weft::testing::useStreamsOfPriorities() {
  for (const int priority : {0, -1, -100})
    on(Stream("cuda:0", priority), [] { return ones({2}, {.device = "cuda:0"}) * 3; }).to_vector<float>();
  return 0;
}
