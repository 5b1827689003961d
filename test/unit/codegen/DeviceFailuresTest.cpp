//===- DeviceFailuresTest.cpp - Failures that the host sees late ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks that fail on a device while the host does not wait for it. The later launches are issued and run,
// and only the predicates of the plan prevent writes to state.
//
//===----------------------------------------------------------------------===//
#include "DeviceProgram.h"
#include "test/unit/ReversedExecutor.h"

using namespace mlir;

namespace weft::testing {
namespace {

using runtime::Buffer;
using runtime::Executable;
using Bytes = std::vector<std::byte>;

Bytes bytesOf(const Buffer &buffer) {
  Bytes bytes(buffer.bytes());
  EXPECT_TRUE(buffer.read(0, bytes).ok());
  return bytes;
}

Bytes bytesOf(const ir::Literal &value) {
  Bytes bytes(static_cast<size_t>(value.count()) * itemsize(value.dtype));
  value.toBytes(bytes.data());
  return bytes;
}

/// Expects a failure whose text has this part.
void expectFailure(const Status &status, const std::string &part) {
  EXPECT_NE(status.message().find(part), std::string::npos) << "found: " << status.message();
}

/// Expects that no donated argument of the last run has changed.
void expectUnchanged(DeviceProgram &program, const Executable &executable,
                     const std::vector<ir::Literal> &arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    (void)program.buffers[i]->wait();
    if (executable.signature().arguments[i].donated)
      EXPECT_EQ(bytesOf(*program.buffers[i]), bytesOf(arguments[i])) << "argument " << i;
  }
}

// A step of Adam for one layer, by a made-up gradient, and a generator, all on a device.
constexpr const char *training = R"(
weft.func @main(%x: tensor<6x8xf32, #gpu>, %t: tensor<6xi64, #gpu>, %lr: tensor<f64, #gpu>, %key: tensor<i64, #gpu>,
    %w: tensor<5x8xf32, #gpu> {weft.donated, weft.role = "state", weft.name = "w"},
    %m: tensor<5x8xf32, #gpu> {weft.donated, weft.role = "state", weft.name = "m"},
    %v: tensor<5x8xf32, #gpu> {weft.donated, weft.role = "state", weft.name = "v"},
    %step: tensor<i64, #gpu> {weft.donated, weft.role = "state", weft.name = "step"},
    %counter: tensor<i64, #gpu> {weft.donated, weft.role = "random", weft.name = "counter"})
    -> (tensor<f32, #gpu>, tensor<5x8xf32, #gpu> {weft.tied = 4 : i64}, tensor<5x8xf32, #gpu> {weft.tied = 5 : i64},
        tensor<5x8xf32, #gpu> {weft.tied = 6 : i64}, tensor<i64, #gpu> {weft.tied = 7 : i64},
        tensor<i64, #gpu> {weft.tied = 8 : i64}, tensor<8xi32, #gpu>) {
  %bits, %next = weft.rng_bits_philox %key, %counter, shape = [8] : tensor<i64, #gpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [1] : tensor<6x8xf32, #gpu>, tensor<5x8xf32, #gpu>
  %loss, %lse = weft.cross_entropy %0, %t, reduction = mean : tensor<6x5xf32, #gpu>, tensor<6xi64, #gpu>
  %g = weft.broadcast_in_dim %loss, dims = [] : tensor<f32, #gpu> -> tensor<5x8xf32, #gpu>
  %one = weft.constant dense<1> : tensor<i64, #gpu>
  %after = weft.add %step, %one : tensor<i64, #gpu>
  %new:3 = weft.adam_step (%w, %g, m %m, v %v, step %after, lr %lr, betas %lr, %lr, eps %lr, decay %lr)
    : tensor<5x8xf32, #gpu>, tensor<5x8xf32, #gpu>, tensor<5x8xf32, #gpu>, tensor<5x8xf32, #gpu>, tensor<i64, #gpu>, tensor<f64, #gpu>
  weft.return %loss, %new#0, %new#1, %new#2, %after, %next, %bits
    : tensor<f32, #gpu>, tensor<5x8xf32, #gpu>, tensor<5x8xf32, #gpu>, tensor<5x8xf32, #gpu>, tensor<i64, #gpu>, tensor<i64, #gpu>, tensor<8xi32, #gpu>
})";

std::vector<ir::Literal> trainingArguments(DeviceProgram &program, uint64_t seed) {
  std::vector<ir::Literal> arguments = program.randomArguments(seed);
  arguments[2].setReal(0, 0.125);
  for (int64_t i = 0; i < arguments[6].count(); ++i)
    arguments[6].setReal(i, std::abs(arguments[6].real[static_cast<size_t>(i)]));
  return arguments;
}

TEST(DeviceFailures, ABadLabelChangesNothingAndIsNotWaitedFor) {
  DeviceProgram program(training);
  auto executable = program.load();
  ASSERT_TRUE(executable);
  for (runtime::QueueMode mode : modes) {
    auto arguments = trainingArguments(program, 4);
    program.expectAsOnTheHost(arguments, mode);
    arguments[1].setWhole(3, 7);
    arguments[1].setWhole(5, -1);
    program.device.launches = program.device.waits = 0;
    expectFailure(program.run(*executable, arguments, mode), " 7 is out of bounds");
    EXPECT_EQ(program.device.launches, executable->launch_count()) << "all of them are issued";
    EXPECT_EQ(program.device.waits, 1u) << "at the end of the call";
    expectUnchanged(program, *executable, arguments);
    arguments[1].setWhole(3, 1);
    arguments[1].setWhole(5, 2);
    program.expectAsOnTheHost(arguments, mode);
  }
}

TEST(DeviceFailures, CallsOnTheSameStateDoNothingUntilTheHostHasSeenIt) {
  DeviceProgram program(training);
  auto executable = program.load();
  ASSERT_TRUE(executable);
  program.device.delayUs = 2000;
  runtime::Queue queue;
  const auto arguments = trainingArguments(program, 5);
  auto bad = arguments;
  bad[1].setWhole(0, 9);
  std::vector<std::shared_ptr<Buffer>> own, other;
  for (const ir::Literal &argument : arguments) {
    own.push_back(program.upload(argument, program.device));
    other.push_back(program.upload(argument, program.device));
  }
  const auto badTarget = program.upload(bad[1], program.device);
  const auto call = [&](std::vector<std::shared_ptr<Buffer>> taken, bool fails) {
    if (fails)
      taken[1] = badTarget;
    std::vector<std::shared_ptr<Buffer>> results(7);
    const Status status = executable->run(taken, results, {&queue, runtime::QueueMode::async});
    EXPECT_TRUE(status.ok()) << status.message();
    return results[0];
  };
  const auto failed = call(own, true), skipped = call(own, false), unrelated = call(other, false);
  expectFailure(skipped->wait(), "call 1 of 'main' failed: ");
  expectFailure(failed->wait(), " 9 is out of bounds");
  EXPECT_TRUE(unrelated->wait().ok());
  for (size_t i = 4; i < own.size(); ++i) {
    EXPECT_TRUE(own[i]->wait().ok()) << "seen above";
    EXPECT_EQ(bytesOf(*own[i]), bytesOf(arguments[i])) << "argument " << i;
    EXPECT_TRUE(other[i]->wait().ok());
    EXPECT_NE(bytesOf(*other[i]), bytesOf(arguments[i])) << "argument " << i;
  }
  // After the failure has been reported, the same call runs, and gives the same results as on other state.
  EXPECT_TRUE(call(own, false)->wait().ok());
  for (size_t i = 4; i < own.size(); ++i) {
    EXPECT_TRUE(own[i]->wait().ok());
    EXPECT_EQ(bytesOf(*own[i]), bytesOf(*other[i])) << "argument " << i;
  }
  EXPECT_TRUE(queue.synchronize().ok());
}

/// Calls of a function on buffers that are kept, issued to one queue without waiting.
struct Loop {
  DeviceProgram &program;
  const runtime::QueueMode mode;
  std::shared_ptr<Executable> executable = program.load();
  runtime::Queue queue;

  Loop(DeviceProgram &of, runtime::QueueMode in) : program(of), mode(in) {}

  std::vector<std::shared_ptr<Buffer>> upload(const std::vector<ir::Literal> &arguments) {
    std::vector<std::shared_ptr<Buffer>> buffers;
    for (const ir::Literal &argument : arguments)
      buffers.push_back(program.upload(argument, program.device));
    return buffers;
  }
  std::vector<std::shared_ptr<Buffer>> call(const std::vector<std::shared_ptr<Buffer>> &taken) {
    std::vector<std::shared_ptr<Buffer>> results(executable->signature().results.size());
    const Status status = executable->run(taken, results, {&queue, mode});
    EXPECT_TRUE(status.ok()) << status.message();
    return results;
  }
};

constexpr runtime::QueueMode modesThatOverlap[] = {runtime::QueueMode::automatic, runtime::QueueMode::async};

TEST(DeviceFailures, AStepIsIssuedBeforeTheOneBeforeItHasEnded) {
  DeviceProgram program(training);
  constexpr int steps = 12;
  const auto arguments = trainingArguments(program, 3);
  // What the host alone computes.
  auto host = Executable::load(program.hostPackage, "main").value_or_throw();
  std::vector<std::shared_ptr<Buffer>> expected, results(7);
  for (const ir::Literal &argument : arguments)
    expected.push_back(program.upload(argument, runtime::host_device()));
  for (int i = 0; i < steps; ++i)
    ASSERT_TRUE(host->run(expected, results, {nullptr, runtime::QueueMode::inlined}).ok());
  for (runtime::QueueMode mode : modesThatOverlap) {
    Loop loop(program, mode);
    const auto state = loop.upload(arguments);
    EXPECT_TRUE(loop.call(state)[0]->wait().ok());
    program.device.delayUs = 20000;
    program.device.stalls = program.device.runs = 0;
    std::vector<std::vector<std::shared_ptr<Buffer>>> kept;
    for (int i = 1; i < steps; ++i)
      kept.push_back(loop.call(state));
    EXPECT_LT(program.device.runs, 3u) << "the test has to be quicker than the device";
    EXPECT_EQ(program.device.stalls, 0u) << "the host waits for none of them";
    program.device.delayUs = 0;
    EXPECT_TRUE(loop.queue.synchronize().ok());
    EXPECT_EQ(program.device.runs, uint64_t(steps) - 1);
    for (size_t i = 4; i < state.size(); ++i)
      EXPECT_EQ(bytesOf(*state[i]), bytesOf(*expected[i])) << "argument " << i;
    EXPECT_EQ(bytesOf(*kept.back()[0]), bytesOf(*results[0])) << "the loss";
  }
}

TEST(DeviceFailures, StepsThatWereIssuedAfterAFailedOneDoNothing) {
  DeviceProgram program(training);
  const auto arguments = trainingArguments(program, 5);
  for (runtime::QueueMode mode : modesThatOverlap) {
    Loop loop(program, mode);
    const auto own = loop.upload(arguments), other = loop.upload(arguments);
    auto wrong = own, wrongAgain = own;
    auto bad = arguments;
    bad[1].setWhole(2, 9);
    bad[1].setWhole(4, 11);
    wrong[1] = program.upload(bad[1], program.device);
    bad[1].setWhole(0, 12);
    wrongAgain[1] = program.upload(bad[1], program.device);
    program.device.delayUs = 5000;
    program.device.stalls = 0;
    const auto first = loop.call(wrong), second = loop.call(own), third = loop.call(wrongAgain),
               fourth = loop.call(own), unrelated = loop.call(other);
    EXPECT_EQ(program.device.stalls, 0u);
    // The first failure in the order of the program, though that of the third call has a smaller position.
    const Status status = loop.queue.synchronize();
    expectFailure(status, "call 1 of 'main' failed: ");
    expectFailure(status, " 9 is out of bounds: expected a number in [0, 5) (at position 2)");
    for (const auto &results : {first, second, third, fourth})
      expectFailure(results[0]->wait(), " 9 is out of bounds");
    EXPECT_TRUE(unrelated[0]->wait().ok());
    EXPECT_TRUE(loop.queue.synchronize().ok()) << "it is reported once";
    for (size_t i = 4; i < own.size(); ++i) {
      EXPECT_TRUE(own[i]->wait().ok()) << "seen above";
      EXPECT_EQ(bytesOf(*own[i]), bytesOf(arguments[i])) << "argument " << i;
      EXPECT_NE(bytesOf(*other[i]), bytesOf(arguments[i])) << "argument " << i;
    }
    // Calls that are issued now happen, the first of them while nobody has cleared the flags yet; and a new
    // failure stops those after it again.
    const auto again = loop.call(own), failed = loop.call(wrong), skipped = loop.call(own);
    EXPECT_TRUE(again[0]->wait().ok());
    expectFailure(skipped[0]->wait(), "call 7 of 'main' failed: ");
    expectFailure(failed[0]->wait(), " 9 is out of bounds");
    program.device.delayUs = 0;
    for (size_t i = 4; i < own.size(); ++i) {
      (void)own[i]->wait();
      EXPECT_EQ(bytesOf(*own[i]), bytesOf(*other[i])) << "argument " << i;
    }
  }
}

// A result of a failed call, and state that it was to write, are given to other functions, which have state
// of their own.
TEST(DeviceFailures, AFunctionThatReadsWhatAFailedOneShouldHaveWrittenDoesNothing) {
  DeviceProgram maker(R"(
weft.func @main(%t: tensor<8xf32, #gpu>, %i: tensor<4xi64, #gpu>,
    %s: tensor<4xf32, #gpu> {weft.donated, weft.role = "state", weft.name = "s"})
    -> (tensor<4xf32, #gpu>, tensor<4xf32, #gpu> {weft.tied = 2 : i64}, tensor<4xf32, #cpu>) {
  %0 = weft.gather %t, %i, dim = 0, kind = points : tensor<8xf32, #gpu>, tensor<4xi64, #gpu>
  %1 = weft.add %s, %0 : tensor<4xf32, #gpu>
  %2 = weft.transfer %0 to #cpu : tensor<4xf32, #gpu>
  weft.return %0, %1, %2 : tensor<4xf32, #gpu>, tensor<4xf32, #gpu>, tensor<4xf32, #cpu>
})");
  const auto taker = [](const char *device) {
    return std::string("weft.func @main(%x: tensor<4xf32, ") + device + R"(>,
    %q: tensor<4xf32, #gpu> {weft.donated, weft.role = "state", weft.name = "q"}) -> (tensor<4xf32, #gpu> {weft.tied = 1 : i64}) {
  %y = weft.transfer %x to #gpu : tensor<4xf32, )" +
           device + R"(>
  %0 = weft.add %q, %y : tensor<4xf32, #gpu>
  weft.return %0 : tensor<4xf32, #gpu>
})";
  };
  DeviceProgram taking(taker("#gpu")), takingOfHost(taker("#cpu"));
  for (runtime::QueueMode mode : modesThatOverlap) {
    Loop loop(maker, mode);
    const auto take = taking.load(), takeOfHost = takingOfHost.load();
    auto arguments = maker.randomArguments(2);
    arguments[1].setWhole(3, 8);
    const auto given = loop.upload(arguments);
    const auto state = taking.randomArguments(4)[1];
    std::vector<std::shared_ptr<Buffer>> own;
    for (int i = 0; i < 4; ++i)
      own.push_back(maker.upload(state, maker.device));
    const auto use = [&](Executable &executable, const std::shared_ptr<Buffer> &x,
                         const std::shared_ptr<Buffer> &q) {
      std::vector<std::shared_ptr<Buffer>> results(1);
      const Status status =
          executable.run(std::vector{x, q}, results, {&loop.queue, mode, {}, {}, /*host_sees=*/false});
      return status.ok() ? results[0] : nullptr;
    };
    maker.device.delayUs = 3000;
    const auto made = loop.call(given);
    const auto a = use(*take, made[0], own[0]), b = use(*take, made[1], own[1]),
               c = use(*take, own[0], own[2]), d = use(*takeOfHost, made[2], own[3]);
    ASSERT_TRUE(a && b && c && d);
    expectFailure(a->wait(), "index 8 is out of bounds");
    for (const auto &result : {b, c, d})
      (void)result->wait(); // which says nothing: it is the same failure
    maker.device.delayUs = 0;
    (void)loop.queue.synchronize();
    for (const auto &q : own) {
      (void)q->wait();
      EXPECT_EQ(bytesOf(*q), bytesOf(state));
    }
    // Flags of buffers that are gone are clear when others get them.
    own.clear();
    maker.device.allocator().empty_cache();
    arguments[1].setWhole(3, 7);
    for (int i = 0; i < 4; ++i) {
      const auto fresh = loop.call(loop.upload(arguments));
      const auto q = maker.upload(state, maker.device);
      const auto result = use(*take, fresh[0], q);
      ASSERT_TRUE(result);
      EXPECT_TRUE(result->wait().ok());
      EXPECT_NE(bytesOf(*q), bytesOf(state));
    }
  }
}

// State that a product computes. A library looks at no record, so that its call is made even though the check
// has failed, and what it writes is not the state.
TEST(DeviceFailures, AProductThatBecomesStateIsMadeBesideIt) {
  DeviceProgram program(R"(
weft.func @main(%t: tensor<8xf32, #gpu>, %i: tensor<4xi64, #gpu>, %x: tensor<16x16xf32, #gpu>,
    %s: tensor<16x16xf32, #gpu> {weft.donated, weft.role = "state", weft.name = "s"})
    -> (tensor<4xf32, #gpu>, tensor<16x16xf32, #gpu> {weft.tied = 3 : i64}) {
  %0 = weft.gather %t, %i, dim = 0, kind = points : tensor<8xf32, #gpu>, tensor<4xi64, #gpu>
  %1 = weft.dot_general %x, %x, contract = [1] x [0] : tensor<16x16xf32, #gpu>, tensor<16x16xf32, #gpu>
  weft.return %0, %1 : tensor<4xf32, #gpu>, tensor<16x16xf32, #gpu>
})");
  auto executable = program.load();
  ASSERT_TRUE(executable);
  EXPECT_EQ(executable->launch_count(), 3u) << "the check, the product, and the copy of its result";
  EXPECT_GE(executable->planned_memory().temporaries, 1024u) << "the product is counted";
  for (runtime::QueueMode mode : modes) {
    auto arguments = program.randomArguments(8);
    arguments[1].setWhole(1, 8);
    program.device.launches = 0;
    expectFailure(program.run(*executable, arguments, mode), "index 8 is out of bounds");
    EXPECT_EQ(program.device.launches, 3u);
    expectUnchanged(program, *executable, arguments);
    arguments[1].setWhole(1, 7);
    program.expectAsOnTheHost(arguments, mode);
  }
}

// Three checks, of which the second is the host's, and state on both sides.
constexpr const char *mixedChecks = R"(
weft.func @main(%t: tensor<8xf32, #gpu>, %i: tensor<4xi64, #gpu>, %h: tensor<8xf32, #cpu>, %j: tensor<4xi64, #cpu>, %k: tensor<4xi64, #gpu>,
    %s: tensor<4xf32, #gpu> {weft.donated, weft.role = "state", weft.name = "s"},
    %q: tensor<4xf32, #cpu> {weft.donated, weft.role = "state", weft.name = "q"})
    -> (tensor<4xf32, #gpu> {weft.tied = 5 : i64}, tensor<4xf32, #cpu> {weft.tied = 6 : i64}) {
  %0 = weft.gather %t, %i, dim = 0, kind = points : tensor<8xf32, #gpu>, tensor<4xi64, #gpu>
  %1 = weft.transfer %0 to #cpu : tensor<4xf32, #gpu>
  %2 = weft.exp %1 : tensor<4xf32, #cpu>
  %3 = weft.gather %h, %j, dim = 0, kind = points : tensor<8xf32, #cpu>, tensor<4xi64, #cpu>
  %4 = weft.add %2, %3 : tensor<4xf32, #cpu>
  %5 = weft.transfer %4 to #gpu : tensor<4xf32, #cpu>
  %6 = weft.gather %t, %k, dim = 0, kind = points : tensor<8xf32, #gpu>, tensor<4xi64, #gpu>
  %7 = weft.add %5, %6 : tensor<4xf32, #gpu>
  %8 = weft.add %s, %7 : tensor<4xf32, #gpu>
  %9 = weft.add %q, %2 : tensor<4xf32, #cpu>
  weft.return %8, %9 : tensor<4xf32, #gpu>, tensor<4xf32, #cpu>
})";

TEST(DeviceFailures, TheFirstInProgramOrderIsReportedWhereverItIs) {
  DeviceProgram program(mixedChecks);
  auto executable = program.load();
  ASSERT_TRUE(executable);
  constexpr size_t indices[] = {1, 3, 4};
  for (runtime::QueueMode mode : modes)
    for (int delay : {0, 1000})
      for (unsigned wrong = 1; wrong < 8; ++wrong) {
        program.device.delayUs = delay;
        auto arguments = program.randomArguments(wrong);
        std::string first;
        for (unsigned check = 0; check < 3; ++check) {
          if (!(wrong >> check & 1))
            continue;
          // The last element is wrong in another way.
          arguments[indices[check]].setWhole(2, 10 + check);
          arguments[indices[check]].setWhole(3, -20);
          if (first.empty())
            first = "index " + std::to_string(10 + check) +
                    " is out of bounds for dimension 0 with size 8 (at position 2)";
        }
        expectFailure(program.run(*executable, arguments, mode), first);
        expectUnchanged(program, *executable, arguments);
        program.expectAsOnTheHost(program.randomArguments(wrong), mode);
      }
}

TEST(DeviceFailures, TheDeviceThatFailedReportsItWhereverTheResultIs) {
  DeviceProgram program(R"(
weft.func @main(%t: tensor<8xf32, #gpu>, %i: tensor<4xi64, #gpu>) -> tensor<4xf32, #next> {
  %0 = weft.gather %t, %i, dim = 0, kind = points : tensor<8xf32, #gpu>, tensor<4xi64, #gpu>
  %1 = weft.transfer %0 to #next : tensor<4xf32, #gpu>
  weft.return %1 : tensor<4xf32, #next>
})");
  auto executable = program.load();
  ASSERT_TRUE(executable);
  for (runtime::QueueMode mode : modes) {
    auto arguments = program.randomArguments(2);
    arguments[1].setWhole(0, 9);
    expectFailure(program.run(*executable, arguments, mode), "index 9 is out of bounds");
    arguments[1].setWhole(0, 1);
    program.expectAsOnTheHost(arguments, mode);
  }
}

// A check on one device, and state on another one, which does not wait for the host.
TEST(DeviceFailures, ADeviceLearnsFromAnotherOneThatItFailed) {
  DeviceProgram program(R"(
weft.func @main(%t: tensor<8xf32, #gpu>, %i: tensor<4xi64, #gpu>, %x: tensor<64xf32, #next>,
    %s: tensor<64xf32, #next> {weft.donated, weft.role = "state", weft.name = "s"})
    -> (tensor<4xf32, #gpu>, tensor<64xf32, #next> {weft.tied = 3 : i64}) {
  %0 = weft.gather %t, %i, dim = 0, kind = points : tensor<8xf32, #gpu>, tensor<4xi64, #gpu>
  %1 = weft.add %s, %x : tensor<64xf32, #next>
  weft.return %0, %1 : tensor<4xf32, #gpu>, tensor<64xf32, #next>
})");
  auto executable = program.load();
  ASSERT_TRUE(executable);
  for (runtime::QueueMode mode : modes) {
    program.device.delayUs = 3000;
    auto arguments = program.randomArguments(8);
    arguments[1].setWhole(1, 8);
    program.next.copiesWithin = program.device.waits = 0;
    expectFailure(program.run(*executable, arguments, mode), "index 8 is out of bounds");
    EXPECT_EQ(program.next.copiesWithin, 1u) << "of the key";
    EXPECT_EQ(program.device.waits, 1u) << "at the end of the call";
    expectUnchanged(program, *executable, arguments);
    arguments[1].setWhole(1, 7);
    program.expectAsOnTheHost(arguments, mode);
  }
}

// Checks and state on two devices, each of which reads values and state of the other.
constexpr const char *twoDevices = R"(
weft.func @main(%t: tensor<8xf32, #gpu>, %i: tensor<4xi64, #gpu>, %u: tensor<8xf32, #next>, %j: tensor<4xi64, #next>,
    %s: tensor<4xf32, #gpu> {weft.donated, weft.role = "state", weft.name = "s"},
    %q: tensor<4xf32, #next> {weft.donated, weft.role = "state", weft.name = "q"})
    -> (tensor<4xf32, #next>, tensor<4xf32, #gpu> {weft.tied = 4 : i64}, tensor<4xf32, #next> {weft.tied = 5 : i64}) {
  %0 = weft.gather %t, %i, dim = 0, kind = points : tensor<8xf32, #gpu>, tensor<4xi64, #gpu>
  %1 = weft.transfer %0 to #next : tensor<4xf32, #gpu>
  %2 = weft.gather %u, %j, dim = 0, kind = points : tensor<8xf32, #next>, tensor<4xi64, #next>
  %3 = weft.add %1, %2 : tensor<4xf32, #next>
  %4 = weft.transfer %2 to #gpu : tensor<4xf32, #next>
  %5 = weft.transfer %s to #next : tensor<4xf32, #gpu>
  %6 = weft.mul %s, %4 : tensor<4xf32, #gpu>
  %7 = weft.sub %q, %5 : tensor<4xf32, #next>
  weft.return %3, %6, %7 : tensor<4xf32, #next>, tensor<4xf32, #gpu>, tensor<4xf32, #next>
})";

/// A function of one of those devices.
constexpr const char *ofOneDevice = R"(
weft.func @main(%x: tensor<4xf32, #next>, %q: tensor<4xf32, #next> {weft.donated, weft.role = "state", weft.name = "q"})
    -> (tensor<4xf32, #next> {weft.tied = 1 : i64}) {
  %0 = weft.add %q, %x : tensor<4xf32, #next>
  weft.return %0 : tensor<4xf32, #next>
})";

std::vector<std::shared_ptr<Buffer>> uploadApart(DeviceProgram &program, const Executable &executable,
                                                 const std::vector<ir::Literal> &arguments) {
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (size_t i = 0; i < arguments.size(); ++i)
    buffers.push_back(
        program.upload(arguments[i], program.deviceOf(executable.signature().arguments[i].type)));
  return buffers;
}

TEST(DeviceFailures, CallsOnTwoDevicesOverlap) {
  DeviceProgram program(twoDevices), adding(ofOneDevice);
  constexpr int steps = 8;
  const auto arguments = program.randomArguments(11);
  const auto loop = [&](Executable &step, Executable &add, runtime::Queue &queue, runtime::QueueMode mode,
                        const std::vector<std::shared_ptr<Buffer>> &state) {
    for (int i = 0; i < steps; ++i) {
      std::vector<std::shared_ptr<Buffer>> made(3), added(1);
      EXPECT_TRUE(step.run(state, made, {&queue, mode}).ok());
      EXPECT_TRUE(add.run(std::vector{made[0], state[5]}, added, {&queue, mode}).ok());
    }
  };
  runtime::Queue hostQueue;
  std::vector<std::shared_ptr<Buffer>> expected;
  for (const ir::Literal &argument : arguments)
    expected.push_back(program.upload(argument, runtime::host_device()));
  loop(*Executable::load(program.hostPackage, "main").value_or_throw(),
       *Executable::load(adding.hostPackage, "main").value_or_throw(), hostQueue, runtime::QueueMode::inlined,
       expected);
  const auto executable = program.load(), add = adding.load();
  ASSERT_TRUE(executable && add);
  for (runtime::QueueMode mode : modesThatOverlap)
    for (const auto &[delay, nextDelay] : {std::pair(3000, 0), {0, 3000}, {2000, 1500}}) {
      runtime::Queue queue;
      const auto state = uploadApart(program, *executable, arguments);
      program.device.delayUs = delay;
      program.next.delayUs = nextDelay;
      program.device.stalls = program.next.stalls = program.device.waits = program.next.waits = 0;
      loop(*executable, *add, queue, mode, state);
      EXPECT_EQ(program.device.stalls + program.next.stalls, 0u) << "the host waits for none of them";
      EXPECT_LT(program.device.waits, uint64_t(steps) / 2) << "the test has to be quicker than the devices";
      EXPECT_TRUE(queue.synchronize().ok());
      for (size_t i : {4, 5}) {
        EXPECT_TRUE(state[i]->wait().ok());
        EXPECT_EQ(bytesOf(*state[i]), bytesOf(*expected[i])) << "argument " << i;
      }
    }
  program.device.delayUs = program.next.delayUs = 0;
}

TEST(DeviceFailures, AFailureOnOneOfTwoDevicesStopsLaterCallsOnBoth) {
  DeviceProgram program(twoDevices);
  const auto executable = program.load();
  ASSERT_TRUE(executable);
  const auto arguments = program.randomArguments(12);
  for (runtime::QueueMode mode : modesThatOverlap)
    for (unsigned wrong : {1u, 2u, 3u})
      for (const auto &[delay, nextDelay] : {std::pair(2000, 0), {0, 2000}}) {
        runtime::Queue queue;
        const auto own = uploadApart(program, *executable, arguments),
                   other = uploadApart(program, *executable, arguments);
        auto bad = own;
        for (size_t check : {0u, 1u})
          if (wrong >> check & 1) {
            ir::Literal indices = arguments[1 + 2 * check];
            indices.setWhole(2, static_cast<int64_t>(10 + check));
            bad[1 + 2 * check] = program.upload(indices, check ? program.next : program.device);
          }
        const std::string first = wrong & 1 ? "index 10 is out of bounds" : "index 11 is out of bounds";
        const auto call = [&](const std::vector<std::shared_ptr<Buffer>> &taken) {
          std::vector<std::shared_ptr<Buffer>> results(3);
          const Status status = executable->run(taken, results, {&queue, mode});
          EXPECT_TRUE(status.ok()) << status.message();
          return results[0];
        };
        program.device.delayUs = delay;
        program.next.delayUs = nextDelay;
        const auto failed = call(bad), skipped = call(own), unrelated = call(other);
        expectFailure(queue.synchronize(), first);
        expectFailure(failed->wait(), first);
        expectFailure(skipped->wait(), first);
        EXPECT_TRUE(unrelated->wait().ok());
        for (size_t i : {4, 5}) {
          EXPECT_TRUE(own[i]->wait().ok()) << "seen above";
          EXPECT_EQ(bytesOf(*own[i]), bytesOf(arguments[i])) << "argument " << i;
          EXPECT_NE(bytesOf(*other[i]), bytesOf(arguments[i])) << "argument " << i;
        }
        // The host has seen it: the same call happens now.
        EXPECT_TRUE(call(own)->wait().ok());
        EXPECT_TRUE(queue.synchronize().ok());
        for (size_t i : {4, 5})
          EXPECT_EQ(bytesOf(*own[i]), bytesOf(*other[i])) << "argument " << i;
      }
  program.device.delayUs = program.next.delayUs = 0;
}

// A device that ends a call by an error of its own sets no flags, so calls on another device that were issued
// meanwhile use what it has not written. They report its error.
TEST(DeviceFailures, WhatUsedTheWorkOfADeviceThatFailedReportsIt) {
  DeviceProgram program(twoDevices), adding(ofOneDevice);
  const auto executable = program.load(), add = adding.load();
  ASSERT_TRUE(executable && add);
  const auto arguments = program.randomArguments(13);
  const std::string error = "'separate:0' has failed";
  for (runtime::QueueMode mode : modesThatOverlap)
    for (int runs : {0, 1, 2}) {
      runtime::Queue queue;
      const auto state = uploadApart(program, *executable, arguments);
      std::vector<std::shared_ptr<Buffer>> values; // on the device that does not fail
      for (int i = 0; i < 4; ++i)
        values.push_back(program.upload(arguments[5], program.next));
      std::vector<std::shared_ptr<Buffer>> made(3), added(1), again(1), apart(1);
      program.device.delayUs = 3000;
      program.device.runsLeft = runs;
      ASSERT_TRUE(executable->run(state, made, {&queue, mode}).ok());
      ASSERT_TRUE(add->run(std::vector{made[0], values[0]}, added, {&queue, mode}).ok());
      ASSERT_TRUE(add->run(std::vector{values[0], values[1]}, again, {&queue, mode}).ok());
      ASSERT_TRUE(add->run(std::vector{values[2], values[3]}, apart, {&queue, mode}).ok());
      program.device.delayUs = 0;
      expectFailure(made[0]->wait(/*seen=*/false), error);
      expectFailure(added[0]->wait(/*seen=*/false), error);
      expectFailure(again[0]->wait(/*seen=*/false), error);
      EXPECT_TRUE(apart[0]->wait().ok());
      expectFailure(queue.synchronize(), error);
      program.device.runsLeft = INT_MAX;
      // The host has seen it. What state has now is arbitrary, and calls happen again.
      EXPECT_TRUE(add->run(std::vector{values[2], values[0]}, added, {&queue, mode}).ok());
      EXPECT_TRUE(queue.synchronize().ok());
    }
}

/// What a device sends to the host, and then has back.
std::string byWayOfTheHost(const std::string &device) {
  const std::string type = "tensor<64xf32, " + device + ">";
  return "weft.func @main(%x: " + type + ") -> " + type + " {\n" + "  %0 = weft.mul %x, %x : " + type + "\n" +
         "  %1 = weft.transfer %0 to #cpu : " + type + "\n" +
         "  %2 = weft.reshape %1 : tensor<64xf32, #cpu> -> tensor<8x8xf32, #cpu>\n" +
         "  %3 = weft.transfer %2 to " + device + " : tensor<8x8xf32, #cpu>\n" +
         "  %4 = weft.reshape %3 : tensor<8x8xf32, " + device + "> -> " + type + "\n" +
         "  %5 = weft.add %4, %x : " + type + "\n" + "  weft.return %5 : " + type + "\n}";
}

// All calls of a queue have the same memory of the host for their temporaries.
TEST(DeviceFailures, CallsOnDifferentDevicesDoNotShareTheHostsTemporaries) {
  DeviceProgram first(byWayOfTheHost("#gpu")), second(byWayOfTheHost("#next"));
  const auto onFirst = first.load(), onSecond = second.load();
  ASSERT_TRUE(onFirst && onSecond);
  const auto arguments = first.randomArguments(14), others = second.randomArguments(15);
  for (runtime::QueueMode mode : modesThatOverlap)
    for (const auto &[delay, nextDelay] : {std::pair(3000, 0), {3000, 2000}, {3000, 3000}, {3000, 4000}}) {
      runtime::Queue queue;
      const auto x = uploadApart(first, *onFirst, arguments), y = uploadApart(second, *onSecond, others);
      std::vector<std::shared_ptr<Buffer>> fromFirst(1), fromSecond(1);
      first.device.delayUs = delay;
      first.next.delayUs = nextDelay;
      ASSERT_TRUE(onFirst->run(x, fromFirst, {&queue, mode}).ok());
      ASSERT_TRUE(onSecond->run(y, fromSecond, {&queue, mode}).ok());
      EXPECT_TRUE(queue.synchronize().ok());
      first.device.delayUs = first.next.delayUs = 0;
      for (const auto &[result, given] : {std::pair(fromFirst[0], arguments), {fromSecond[0], others}}) {
        const ir::Literal found = DeviceProgram::download(*result, DType::f32, {64});
        for (size_t i = 0; i < 64; ++i) {
          const auto x = static_cast<float>(given[0].real[i]);
          EXPECT_EQ(static_cast<float>(found.real[i]), x * x + x) << i << " after " << nextDelay << " us";
        }
      }
    }
}

// A call on one device reads memory of the host, which a later one on another device writes.
TEST(DeviceFailures, MemoryOfTheHostIsWrittenAfterEarlierCallsHaveReadIt) {
  DeviceProgram reading(R"(
weft.func @main(%x: tensor<64xf32, #cpu>) -> tensor<64xf32, #gpu> {
  %0 = weft.transfer %x to #gpu : tensor<64xf32, #cpu>
  %1 = weft.add %0, %0 : tensor<64xf32, #gpu>
  weft.return %1 : tensor<64xf32, #gpu>
})"),
      writing(R"(
weft.func @main(%x: tensor<64xf32, #next>) -> tensor<64xf32, #cpu> {
  %0 = weft.add %x, %x : tensor<64xf32, #next>
  %1 = weft.transfer %0 to #cpu : tensor<64xf32, #next>
  weft.return %1 : tensor<64xf32, #cpu>
})");
  const auto reads = reading.load(), writes = writing.load();
  ASSERT_TRUE(reads && writes);
  const auto arguments = reading.randomArguments(16), others = writing.randomArguments(17);
  for (runtime::QueueMode mode : modesThatOverlap) {
    runtime::Queue queue;
    const auto x = uploadApart(reading, *reads, arguments), y = uploadApart(writing, *writes, others);
    std::vector<std::shared_ptr<Buffer>> read(1), written(1);
    reading.device.delayUs = 5000;
    reading.next.delayUs = 0;
    ASSERT_TRUE(reads->run(x, read, {&queue, mode}).ok());
    runtime::RunOptions options{&queue, mode};
    const std::vector<std::shared_ptr<Buffer>> outputs = {x[0]};
    options.outputs = outputs;
    ASSERT_TRUE(writes->run(y, written, options).ok());
    EXPECT_TRUE(queue.synchronize().ok());
    reading.device.delayUs = 0;
    const ir::Literal sum = DeviceProgram::download(*read[0], DType::f32, {64}),
                      other = DeviceProgram::download(*x[0], DType::f32, {64});
    for (size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(static_cast<float>(sum.real[i]), 2 * static_cast<float>(arguments[0].real[i])) << i;
      EXPECT_EQ(static_cast<float>(other.real[i]), 2 * static_cast<float>(others[0].real[i])) << i;
    }
  }
}

// A device that can record no more points ends the call on both.
TEST(DeviceFailures, ACallOnTwoDevicesThatCannotBeIssuedWholeLeavesNoFlags) {
  DeviceProgram program(twoDevices);
  const auto executable = program.load();
  ASSERT_TRUE(executable);
  const auto arguments = program.randomArguments(13);
  for (int records = 0; records < 40; ++records) {
    runtime::Queue queue;
    const auto state = uploadApart(program, *executable, arguments);
    const auto call = [&] {
      std::vector<std::shared_ptr<Buffer>> results(3);
      return executable->run(state, results, {&queue, runtime::QueueMode::automatic});
    };
    program.next.recordsLeft = records;
    const Status status = call();
    program.next.recordsLeft = INT_MAX;
    if (status.ok()) {
      EXPECT_GT(records, 3);
      EXPECT_TRUE(queue.synchronize().ok());
      return;
    }
    expectFailure(status, "'separate:1' can record no point");
    EXPECT_TRUE(call().ok());
    EXPECT_TRUE(queue.synchronize().ok());
  }
  ADD_FAILURE() << "a call needs fewer points";
}

// State that a copy writes, to a device and back.
TEST(DeviceFailures, CopiesToStateAreNotMadeEither) {
  DeviceProgram program(R"(
weft.func @main(%t: tensor<8xf32, #gpu>, %i: tensor<4xi64, #gpu>, %x: tensor<64xf32, #cpu>, %y: tensor<64xf32, #gpu>,
    %s: tensor<64xf32, #gpu> {weft.donated, weft.role = "state", weft.name = "s"},
    %q: tensor<64xf32, #cpu> {weft.donated, weft.role = "state", weft.name = "q"})
    -> (tensor<4xf32, #gpu>, tensor<64xf32, #gpu> {weft.tied = 4 : i64}, tensor<64xf32, #cpu> {weft.tied = 5 : i64}) {
  %0 = weft.gather %t, %i, dim = 0, kind = points : tensor<8xf32, #gpu>, tensor<4xi64, #gpu>
  %1 = weft.transfer %x to #gpu : tensor<64xf32, #cpu>
  %2 = weft.transfer %y to #cpu : tensor<64xf32, #gpu>
  weft.return %0, %1, %2 : tensor<4xf32, #gpu>, tensor<64xf32, #gpu>, tensor<64xf32, #cpu>
})");
  auto executable = program.load();
  ASSERT_TRUE(executable);
  for (runtime::QueueMode mode : modes) {
    program.device.delayUs = 1000;
    auto arguments = program.randomArguments(6);
    arguments[1].setWhole(1, 8);
    expectFailure(program.run(*executable, arguments, mode), "index 8 is out of bounds");
    expectUnchanged(program, *executable, arguments);
    arguments[1].setWhole(1, 7);
    program.expectAsOnTheHost(arguments, mode);
  }
}

TEST(DeviceFailures, NothingIsPrintedAfterAFailure) {
  DeviceProgram program(R"(
weft.func @main(%t: tensor<8xf32, #gpu>, %i: tensor<4xi64, #gpu>) -> tensor<4xf32, #gpu> {
  %0 = weft.gather %t, %i, dim = 0, kind = points : tensor<8xf32, #gpu>, tensor<4xi64, #gpu>
  weft.print %0 label = "taken" : tensor<4xf32, #gpu>
  weft.return %0 : tensor<4xf32, #gpu>
})");
  auto executable = program.load();
  ASSERT_TRUE(executable);
  for (runtime::QueueMode mode : modes)
    for (int64_t index : {3, 12}) {
      auto arguments = program.randomArguments(1);
      arguments[1].setWhole(0, index);
      ::testing::internal::CaptureStdout();
      const Status status = program.run(*executable, arguments, mode);
      const std::string printed = ::testing::internal::GetCapturedStdout();
      EXPECT_EQ(printed.starts_with("taken: "), index < 8) << printed;
      EXPECT_EQ(status.ok(), index < 8) << status.message();
    }
}

// Each range of tasks finds a violation before those of the ranges that run earlier, so that the log is too
// short for the one that is reported.
TEST(DeviceFailures, MoreThanTheLogHoldsAreReportedWithoutTheValue) {
  DeviceProgram program(R"(
weft.func @main(%t: tensor<8xf32, #gpu>, %i: tensor<262144xi64, #gpu>, %j: tensor<262144xi64, #gpu>) -> (tensor<262144xf32, #gpu>, tensor<262144xf32, #gpu>) {
  %0 = weft.gather %t, %i, dim = 0, kind = points : tensor<8xf32, #gpu>, tensor<262144xi64, #gpu>
  %1 = weft.gather %t, %j, dim = 0, kind = points : tensor<8xf32, #gpu>, tensor<262144xi64, #gpu>
  weft.return %0, %1 : tensor<262144xf32, #gpu>, tensor<262144xf32, #gpu>
})");
  auto executable = program.load();
  ASSERT_TRUE(executable);
  const test::ReversedExecutor reversed;
  auto arguments = program.randomArguments(1);
  for (int64_t i = 5; i < arguments[1].count(); ++i) {
    arguments[1].setWhole(i, 1000 + i);
    arguments[2].setWhole(i, -i);
  }
  const Status status = program.run(*executable, arguments);
  expectFailure(status, "index (value unknown) is out of bounds for dimension 0 with size 8 (at position 5)");
  EXPECT_FALSE(status.info()->value_known);
  EXPECT_EQ(status.info()->position, 5);
  // One violation has room, and the host keeps the values of all of its threads.
  auto one = program.randomArguments(1);
  one[2].setWhole(9, 99);
  expectFailure(program.run(*executable, one), "index 99 is out of bounds for dimension 0 with size 8");
  auto host = Executable::load(program.hostPackage, "main").value_or_throw();
  std::vector<std::shared_ptr<Buffer>> taken, results(2);
  for (const ir::Literal &argument : arguments)
    taken.push_back(program.upload(argument, runtime::host_device()));
  expectFailure(host->run(taken, results, {nullptr, runtime::QueueMode::inlined}),
                "index 1005 is out of bounds for dimension 0 with size 8 (at position 5)");
}

} // namespace
} // namespace weft::testing
