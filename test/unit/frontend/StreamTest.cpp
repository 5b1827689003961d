//===- StreamTest.cpp - Streams, events, devices ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What docs/torch-semantics.md says of devices, streams and events.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"
#include "Memory.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

using namespace weft;

namespace {

// Which of a function's launches run beside each other is decided when it is compiled.
TEST(Streams, AreOrderedBetweenTheCallsOfACompiledFunction) {
  Stream other;
  Event event(true);
  event.record(other);
  const std::pair<const char *, std::function<void()>> cases[] = {
      {"recording an event", [&] { event.record(other); }},
      {"waiting for an event", [&] { event.wait(other); }},
      {"waiting for an event", [&] { other.wait_event(event); }},
      {"waiting for a stream", [&] { other.wait_stream(Stream::default_stream()); }},
      {"a StreamGuard", [&] { const StreamGuard guard(other); }},
      {"a profile", [] { profile([] {}); }}};
  for (const auto &[what, work] : cases) {
    auto step = compile([&](Tensor x) {
      work();
      return x + 1;
    });
    EXPECT_ERROR(step(ones({2})), std::string(what) + " inside a compiled function would happen once");
  }
}

TEST(Streams, AGuardWithoutMemorySaysSoAndLosesNothing) {
  SKIP_WITHOUT_FAULTS();
  const Stream before = Stream::current();
  Tensor x = ones({4}), y;
  ::testing::internal::CaptureStderr();
  {
    StreamGuard guard{Stream()};
    y = x * 3;
    memory::refusesAll = true;
  }
  memory::refusesAll = false;
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("weft: what was recorded for a stream could not be run when its guard ended"),
            std::string::npos)
      << said;
  EXPECT_TRUE(Stream::current() == before);
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(4, 3));
}

/// A thread that runs posted work in order, and that a test can block.
class Loop {
public:
  ~Loop() {
    post([this] { stopping_ = true; });
    thread_.join();
  }
  void post(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
  }
  std::function<void(std::function<void()>)> poster() {
    return [this](std::function<void()> work) { post(std::move(work)); };
  }
  std::thread::id id() const { return thread_.get_id(); }

private:
  void run() {
    while (!stopping_) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !work_.empty(); });
      auto next = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      next();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool stopping_ = false;
  std::thread thread_{[this] { run(); }};
};

/// With WEFT_CPU_QUEUE=inline a call waits for earlier work, so a blocked stream would block the test.
bool runsInline() {
  const char *mode = std::getenv("WEFT_CPU_QUEUE");
  return mode && std::string(mode) == "inline";
}

/// Holds up a stream until it is opened.
struct Gate {
  std::atomic<bool> open{runsInline()};
  void wait() const {
    while (!open)
      std::this_thread::yield();
  }
};

} // namespace

TEST(DeviceGuardTest, OnlyAnUnindexedDeviceReadsIt) {
  EXPECT_EQ(resolve(Device("cuda")), Device("cuda:0"));
  Tensor on0 = zeros({2}, {.device = "cuda:0"});
  {
    DeviceGuard guard(Device("cuda:1"));
    EXPECT_EQ(zeros({2}, {.device = "cuda"}).device(), Device("cuda:1"));
    EXPECT_EQ((on0 + 1).device(), Device("cuda:0")) << "an operation runs where its tensors are";
    EXPECT_EQ(zeros({2}).device(), Device("cpu"));
    {
      DeviceGuard inner(Device("cpu"));
      EXPECT_EQ(resolve(Device("cuda")), Device("cuda:1"));
    }
    std::thread([] { EXPECT_EQ(resolve(Device("cuda")), Device("cuda:0")); }).join();
  }
  EXPECT_EQ(resolve(Device("cuda")), Device("cuda:0"));
}

TEST(DefaultDevice, Nests) {
  EXPECT_EQ(creation_device(), Device("cpu"));
  {
    DefaultDeviceGuard outer(Device("cuda:1"));
    EXPECT_EQ(zeros({2}).device(), Device("cuda:1"));
    EXPECT_EQ(arange(3).device(), Device("cuda:1"));
    {
      DefaultDeviceGuard inner(Device("cpu"));
      EXPECT_EQ(zeros({2}).device(), Device("cpu"));
    }
    EXPECT_EQ(zeros({2}, {.device = "cpu"}).device(), Device("cpu")) << "what is given wins";
    std::thread([] { EXPECT_EQ(zeros({2}).device(), Device("cpu")); }).join();
    EXPECT_EQ(zeros({2}).device(), Device("cuda:1"));
  }
  const Device before = default_device();
  set_default_device("cuda:2");
  EXPECT_EQ(zeros({2}).device(), Device("cuda:2"));
  set_default_device(before);
  EXPECT_EQ(zeros({2}).device(), Device("cpu"));
}

// In a separate process, because the variable is read once.
TEST(DefaultDevice, IsWhatTheEnvironmentSays) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto found = [](const char *wanted) -> int {
    ::setenv("WEFT_DEVICE", wanted, 1);
    try {
      const Device device = default_device();
      return device == Device("cpu") ? 1 : device == Device("cuda:1") ? 2 : 3;
    } catch (const Error &error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 4;
    }
  };
  using ::testing::ExitedWithCode;
  EXPECT_EXIT(std::_Exit(found("")), ExitedWithCode(1), "");
  EXPECT_EXIT(std::_Exit(found("cuda:1")), ExitedWithCode(2), "");
  EXPECT_EXIT(std::_Exit(found("gpu")), ExitedWithCode(4),
              "the environment variable WEFT_DEVICE is wrong: Expected one of cpu, cuda");
}

// The state of generators, optimisers and loaders, numbers, and tensors from files stay on the host even if
// new tensors are made on another device.
TEST(DefaultDevice, StateOfTheHostStaysThere) {
  manual_seed(1);
  nn::Linear model(3, 2);
  optim::Adam adam(model.parameters());
  Tensor x = ones({5, 3}), y = zeros({5}, {.dtype = i64});
  DefaultDeviceGuard elsewhere(Device("cuda:1"));
  auto step = compile([&](Tensor x, Tensor y, Scalar weight) {
    Tensor loss = nn::cross_entropy(model(x), y) * weight;
    loss.backward();
    nn::utils::clip_grad_norm_(model.parameters(), 1.0);
    adam.step();
    adam.zero_grad();
    return loss;
  });
  Metric running;
  for (int i = 0; i < 4; ++i) {
    adam.set_lr(0.1 / (i + 1));
    running.update(step(x, y, 1.0 + i));
  }
  EXPECT_GT(running.result(), 0);
  EXPECT_LE(step.variants().size(), 2u);
  const StateDict saved = to_host(adam.state_dict());
  for (const auto &[name, tensor] : saved)
    EXPECT_EQ(tensor.device(), Device("cpu")) << name;
  adam.load_state_dict(saved);
  step(x, y, 1).item<float>();

  data::TensorDataset pairs(x, y);
  data::DataLoader loader(pairs, {.batch_size = 2, .shuffle = true});
  loader.load_state_dict(loader.state_dict());
  for (auto &[images, labels] : loader)
    EXPECT_EQ(images.device(), Device("cpu"));
  EXPECT_EQ(data::random_split(pairs, {3, 2})[1].size(), 2);
  Generator generator(7);
  const Tensor state = generator.get_state();
  EXPECT_EQ(rand({2}, generator, {.device = "cpu"}).numel(), 2);
  generator.set_state(state);
  EXPECT_EQ(generator.initial_seed(), 7u);
  EXPECT_EQ(rand({2}).device(), Device("cuda:1"));
  nn::init::trunc_normal_(model.weight);
  nn::init::orthogonal_(model.weight);
  EXPECT_EQ(model.weight.numel(), 6);
  EXPECT_EQ(logical_and(x, 1).sum().item<int64_t>(), 15);
}

// A read waits only for its value: a step that was queued later may still be blocked.
TEST(Asynchrony, AReadWaitsForItsOwnStepAndLaterOnesGoOn) {
  if (runsInline())
    GTEST_SKIP() << "calls run on their caller";
  Loop loop;
  Gate gate;
  Stream stream = Stream::external("cpu", loop.poster());
  auto step = compile([](Tensor x) { return x * 2; });
  Tensor first, second;
  Metric running;
  {
    StreamGuard guard(stream);
    first = step(ones({1}));
    running.update(first);
    synchronize(); // so that nothing of the compilation is left to do
    loop.post([&] { gate.wait(); });
    second = step(full({1}, 10.0));
    running.update(second);
  }
  EXPECT_EQ(first.item<float>(), 2);
  EXPECT_EQ(running.value(), 2) << "the metric leaves out the step that may still run";
  EXPECT_FALSE(stream.query()) << "nobody waited for the second step";
  gate.open = true;
  EXPECT_EQ(second.item<float>(), 20);
  EXPECT_EQ(running.result(), 11);
}

// query() of a stream also counts pending operations that were recorded while the stream was current.
TEST(Asynchrony, AQueryCountsWhatIsRecorded) {
  Loop loop;
  Gate gate;
  Stream stream = Stream::external("cpu", loop.poster());
  loop.post([&] { gate.wait(); });
  Tensor x = ones({4}), y;
  {
    StreamGuard guard(stream);
    y = x * 2;
    EXPECT_TRUE(runsInline() || !stream.query());
  }
  gate.open = true;
  EXPECT_EQ(y.to_vector<float>()[0], 2);
  EXPECT_TRUE(stream.query());
}

TEST(Asynchrony, ReadingATensorWaitsForTheStreamThatMakesIt) {
  Loop loop;
  Gate gate;
  Stream stream = Stream::external("cpu", loop.poster());
  loop.post([&] { gate.wait(); });
  Tensor x = ones({1000}), y;
  {
    StreamGuard guard(stream);
    y = x * 3;
  }
  EXPECT_TRUE(runsInline() || !stream.query()) << "nobody waited";
  // A reader on another stream is ordered by the tensor alone.
  Tensor z = y + 1;
  std::thread opener([&] { gate.open = true; });
  EXPECT_EQ(z.to_vector<float>(), std::vector<float>(1000, 4));
  opener.join();
  EXPECT_TRUE(stream.query());
}

TEST(Asynchrony, AnInPlaceUpdateIsOrderedWithReadersOnOtherStreams) {
  Tensor counter = zeros({16});
  auto step = compile([&](Tensor x) {
    Tensor before = counter + 0;
    counter.copy_(counter + x);
    return before;
  });
  Tensor one = ones({16});
  std::vector<Tensor> seen;
  for (int i = 0; i < 40; ++i) {
    StreamGuard guard{Stream()};
    seen.push_back(step(one));
  }
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(seen[static_cast<size_t>(i)].to_vector<float>()[7], static_cast<float>(i));
  EXPECT_EQ(counter.to_vector<float>()[0], 40);
}

TEST(EventTest, MeasuresMilliseconds) {
  Loop loop;
  Stream stream = Stream::external("cpu", loop.poster());
  Event start(true), end(true), untimed, never(true);
  EXPECT_TRUE(start.query()) << "never recorded";
  start.record(stream);
  loop.post([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  end.record(stream);
  end.synchronize();
  EXPECT_TRUE(end.query());
  EXPECT_GE(start.elapsed_time(end), 19);
  EXPECT_LT(start.elapsed_time(end), 5000);
  EXPECT_ERROR(start.elapsed_time(untimed), "enable_timing=True");
  EXPECT_ERROR(start.elapsed_time(never), "never recorded");
}

TEST(SynchronizeTest, WaitsForAllStreamsOfTheDevice) {
  Loop loop;
  Stream stream = Stream::external("cpu", loop.poster());
  std::atomic<bool> ran{false};
  loop.post([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ran = true;
  });
  Tensor y;
  {
    StreamGuard guard(stream);
    y = ones({4}) * 2;
  }
  synchronize(Device("cpu"));
  EXPECT_TRUE(ran);
  EXPECT_TRUE(stream.query());
  EXPECT_ERROR(synchronize(Device("cuda:97")), "'cuda:97' is not there (WEFT-E001)");
}

TEST(StreamPool, ThirtyTwoRoundRobin) {
  std::vector<Stream> streams;
  std::set<void *> handles;
  for (int i = 0; i < 32; ++i) {
    streams.emplace_back(Device("cpu"));
    handles.insert(streams.back().native_handle());
  }
  EXPECT_EQ(handles.size(), 32u);
  EXPECT_EQ(Stream("cpu"), streams[0]) << "the 33rd is the first";
  EXPECT_FALSE(handles.contains(Stream::default_stream().native_handle()));
  EXPECT_EQ(Stream::current(), Stream::default_stream());
  {
    StreamGuard guard(streams[3]);
    EXPECT_EQ(Stream::current(), streams[3]);
    {
      StreamGuard inner(streams[4]);
      EXPECT_EQ(Stream::current(), streams[4]);
      std::thread([] { EXPECT_EQ(Stream::current(), Stream::default_stream()); }).join();
    }
    EXPECT_EQ(Stream::current(), streams[3]);
  }
  EXPECT_EQ(Stream::current(), Stream::default_stream());
  EXPECT_ERROR(Stream(Device("cuda:97")), "'cuda:97' is not there (WEFT-E001)");
}

TEST(Waits, StreamAndEvent) {
  Loop loop;
  Gate gate;
  Stream first = Stream::external("cpu", loop.poster()), second, third;
  loop.post([&] { gate.wait(); });
  Event event;
  event.record(first);
  EXPECT_TRUE(runsInline() || !event.query());
  second.wait_stream(first);
  third.wait_event(event);
  Tensor x = ones({4}), y, z;
  {
    StreamGuard guard(second);
    y = x + 1; // shares nothing with the first stream
  }
  {
    StreamGuard guard(third);
    z = x + 2;
  }
  EXPECT_TRUE(runsInline() || (!second.query() && !third.query()));
  gate.open = true;
  second.synchronize();
  third.synchronize();
  EXPECT_TRUE(event.query());
  EXPECT_EQ(y.to_vector<float>()[0], 2);
  EXPECT_EQ(z.to_vector<float>()[0], 3);
  // Memory that is freed while a stream may still use it is not allocated again before that work is done.
  for (int i = 0; i < 50; ++i) {
    Tensor made;
    {
      StreamGuard guard{Stream()};
      made = full({256}, static_cast<double>(i)) * 2;
    }
    Tensor other = full({256}, -1.0) * 1;
    EXPECT_EQ(made.to_vector<float>()[255], static_cast<float>(2 * i));
    EXPECT_EQ(other.to_vector<float>()[0], -1);
  }
}

TEST(ExternalStream, RunsOnTheEmbeddersThread) {
  Loop loop;
  std::vector<int> order;
  {
    Stream stream = Stream::external("cpu", loop.poster());
    Tensor x = ones({8}), y;
    loop.post([&] { order.push_back(1); });
    {
      StreamGuard guard(stream);
      y = x * 5;
    }
    loop.post([&] { order.push_back(2); });
    EXPECT_EQ(y.to_vector<float>()[0], 5);
  }
  std::atomic<bool> done{false};
  loop.post([&] { done = true; });
  while (!done)
    std::this_thread::yield();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_ERROR(Stream::external("cpu", nullptr), "needs a function");
}

TEST(SynchronizeTest, OfAStreamThrowsWhatIsRecordedAndFails) {
  Tensor sum = ones({2});
  sum += arange(4).to(f32).index_select(0, Tensor::from(std::vector<int64_t>{9, 0}, {2}));
  EXPECT_ERROR(Stream::current().synchronize(), "index 9 is out of bounds");
  EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{1, 1}));
  Stream::current().synchronize(); // told once
}

/// Many values depend on one failed value; computing each of them again would compile a program each.
TEST(SynchronizeTest, WhatFollowsFromAFailureIsNotCompiledAgain) {
  Tensor bad = Tensor::from(std::vector<int64_t>{9, 0}, {2});
  std::vector<Tensor> chain{arange(4).to(f32).index_select(0, bad)};
  for (int i = 0; i < 200; ++i)
    chain.push_back(chain.back() + i);
  const Tensor fine = ones({2}) + 41;
  const uint64_t before = compile_count();
  EXPECT_ERROR(synchronize(), "index 9 is out of bounds");
  synchronize(); // told once, for all of them
  chain.push_back(chain.back() * 2);
  synchronize();
  for (size_t i : {size_t(0), size_t(100), chain.size() - 1}) // and each who reads is told
    EXPECT_ERROR(chain[i].sum().item<float>(), "index 9 is out of bounds");
  EXPECT_EQ(fine.to_vector<float>(), (std::vector<float>{42, 42}));
  EXPECT_LE(compile_count(), before + 4);
  // Independent failures are reported separately, each with its line.
  Tensor other = arange(4).to(f32).index_select(0, Tensor::from(std::vector<int64_t>{0, 7}, {2}));
  EXPECT_ERROR(synchronize(), "index 7 is out of bounds");
  synchronize();
}

TEST(SynchronizeTest, AThreadThatReadsHoldsUpNoOther) {
  Loop loop;
  Gate gate;
  Stream stream = Stream::external("cpu", loop.poster());
  auto f = compile([](Tensor x) { return x + 1; });
  f(ones({4})).to_vector<float>();
  (zeros({2}) + 3).to_vector<float>();
  Tensor result;
  {
    StreamGuard guard(stream);
    loop.post([&] { gate.wait(); });
    result = f(ones({4}));
  }
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // by then the read waits
    EXPECT_EQ((zeros({2}) + 3).to_vector<float>(), (std::vector<float>{3, 3}));
    gate.open = true;
  });
  EXPECT_EQ(result.to_vector<float>(), (std::vector<float>(4, 2)));
  other.join();
}
