//===- BranchLaunchTest.cpp - Branches and while loops of plans -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePlans.h"

#include "runtime/plan/LoopPlan.h"
#include "runtime/queue/Profiler.h"
#include "test/unit/Growth.h"

#include <functional>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

constexpr int64_t width = 3;
constexpr uint64_t rowBytes = width * sizeof(float);

// buffers: x, constant, temporary: temporary = x + constant
void add_row(const KernelFrame *frame, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(frame->buffers[2])[i] =
        static_cast<const float *>(frame->buffers[0])[i] + *static_cast<const float *>(frame->buffers[1]);
}

// buffers: x, y: y = 2 * x
void double_row(const KernelFrame *frame, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(frame->buffers[1])[i] = 2 * static_cast<const float *>(frame->buffers[0])[i];
}

// buffers: x, constant, goes on: whether the first element is below 100 times the constant
void is_small(const KernelFrame *frame, int64_t, int64_t) {
  *static_cast<uint8_t *>(frame->buffers[2]) =
      *static_cast<const float *>(frame->buffers[0]) < 100 * *static_cast<const float *>(frame->buffers[1]);
}

PlanBuilder function(const std::string &name) {
  PlanBuilder b(name);
  b.argument("x", DType::f32, {width});
  b.argument("constant", DType::f32, {});
  return b;
}

/// y = 2 * (x + constant), through a temporary.
PlanBuilder sum(const std::string &name) {
  PlanBuilder b = function(name);
  b.result("y", DType::f32, {width});
  b.plan.arena_bytes = 64;
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, rowBytes),
                 constant = b.buffer(fb::Storage::argument, 1, 0, sizeof(float)),
                 temporary = b.buffer(fb::Storage::arena, 0, 0, rowBytes),
                 y = b.buffer(fb::Storage::result, 0, 0, rowBytes);
  b.kernel("add_row", {x, constant, temporary}, 2, width);
  b.kernel("double_row", {temporary, y}, 1, width);
  return b;
}

/// y = 2 * x.
PlanBuilder twice(const std::string &name) {
  PlanBuilder b = function(name);
  b.result("y", DType::f32, {width});
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, rowBytes),
                 y = b.buffer(fb::Storage::result, 0, 0, rowBytes);
  b.kernel("double_row", {x, y}, 1, width);
  return b;
}

PlanBuilder small() {
  PlanBuilder b = function("small");
  b.result("goes_on", DType::i1, {});
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, rowBytes),
                 constant = b.buffer(fb::Storage::argument, 1, 0, sizeof(float)),
                 goesOn = b.buffer(fb::Storage::result, 0, 0, 1);
  b.kernel("is_small", {x, constant, goesOn}, 2, 1);
  return b;
}

/// sum(x, constant) if the predicate is true, else twice(x, constant).
PlanBuilder branch() {
  PlanBuilder b("choose");
  b.argument("pred", DType::i1, {});
  b.argument("x", DType::f32, {width});
  b.argument("constant", DType::f32, {});
  b.result("y", DType::f32, {width});
  fb::BranchLaunchT launch;
  launch.then_body = "sum";
  launch.else_body = "twice";
  launch.buffers = {b.buffer(fb::Storage::argument, 0, 0, 1), b.buffer(fb::Storage::argument, 1, 0, rowBytes),
                    b.buffer(fb::Storage::argument, 2, 0, sizeof(float)),
                    b.buffer(fb::Storage::result, 0, 0, rowBytes)};
  launch.first_result = 3;
  b.launch("branch").op.Set(std::move(launch));
  return b;
}

/// x = sum(x, constant) while small(x, constant).
PlanBuilder loop() {
  PlanBuilder b("grow");
  b.argument("x", DType::f32, {width});
  b.argument("constant", DType::f32, {});
  b.result("y", DType::f32, {width});
  fb::WhileLaunchT launch;
  launch.condition = "small";
  launch.body = "sum";
  launch.buffers = {b.buffer(fb::Storage::argument, 0, 0, rowBytes),
                    b.buffer(fb::Storage::argument, 1, 0, sizeof(float)),
                    b.buffer(fb::Storage::result, 0, 0, rowBytes)};
  launch.first_result = 2;
  b.launch("while loop").op.Set(std::move(launch));
  return b;
}

Expected<std::shared_ptr<Executable>>
load(const PlanBuilder &function, const std::vector<PlanBuilder> &bodies, const DeviceMap &devices = {}) {
  PackageWriter writer;
  function.add_to(writer, function.plan.function);
  for (const PlanBuilder &body : bodies)
    body.add_to(writer, body.plan.function, "body");
  return Executable::load(
      Package::from_memory(writer.finish().value_or_throw()).value_or_throw(), function.plan.function,
      Image::from_functions({{"add_row", add_row}, {"double_row", double_row}, {"is_small", is_small}}),
      devices);
}

std::vector<float> run(Executable &executable, const std::vector<std::shared_ptr<Buffer>> &arguments) {
  std::vector<std::shared_ptr<Buffer>> results(1);
  executable.run(arguments, results).throw_if_failed();
  return values_of<float>(*results[0]);
}

} // namespace

TEST(BranchLaunch, TakesOneBranch) {
  const auto executable = load(branch(), {sum("sum"), twice("twice")}).value_or_throw();
  const auto x = buffer_of<float>({1, 2, 3}), constant = buffer_of<float>({10});
  for (const uint8_t pred : {1, 0, 1, 255}) // any byte but 0 is true
    EXPECT_EQ(run(*executable, {buffer_of<uint8_t>({pred}), x, constant}),
              pred ? (std::vector<float>{22, 24, 26}) : (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(values_of<float>(*x), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(executable->launch_count(), 1U);
  EXPECT_GE(executable->planned_memory().temporaries, 64U);
}

TEST(BranchLaunch, FunctionsThatSeveralBranchesRunAreLoadedOnce) {
  // Each function has two launches of the next one: without sharing they would be 2^30.
  const auto level = [](int number, bool last) {
    PlanBuilder b("level" + std::to_string(number));
    b.argument("pred", DType::i1, {});
    b.argument("x", DType::f32, {width});
    b.result("y", DType::f32, {width});
    b.result("z", DType::f32, {width});
    const uint32_t pred = b.buffer(fb::Storage::argument, 0, 0, 1),
                   x = b.buffer(fb::Storage::argument, 1, 0, rowBytes);
    std::vector<uint32_t> made = {b.buffer(fb::Storage::result, 0, 0, rowBytes),
                                  b.buffer(fb::Storage::result, 1, 0, rowBytes)};
    if (last) {
      b.kernel("double_row", {x, made[0]}, 1, width);
      b.kernel("double_row", {x, made[1]}, 1, width);
      return b;
    }
    fb::BranchLaunchT launch;
    launch.then_body = launch.else_body = "level" + std::to_string(number + 1);
    launch.buffers = {pred, pred, x, made[0], made[1]};
    launch.first_result = 3;
    b.launch("branch").op.Set(std::move(launch));
    return b;
  };
  const auto of = [&](int levels) {
    std::vector<PlanBuilder> bodies;
    for (int i = 1; i < levels; ++i)
      bodies.push_back(level(i, i + 1 == levels));
    return load(level(0, false), bodies);
  };
  const auto executable = of(31).value_or_throw();
  std::vector<std::shared_ptr<Buffer>> results(2);
  executable->run(std::vector{buffer_of<uint8_t>({1}), buffer_of<float>({1, 2, 3})}, results)
      .throw_if_failed();
  EXPECT_EQ(values_of<float>(*results[1]), (std::vector<float>{2, 4, 6}));
  EXPECT_FAILS(of(40).status(), "is in 32 loops");
}

TEST(BranchLaunch, ItsLaunchesAreInProfiles) {
  const auto executable = load(branch(), {sum("sum"), twice("twice")}).value_or_throw();
  std::vector<std::shared_ptr<Buffer>> results(1);
  Profiler::get().clear();
  Profiler::get().start();
  executable
      ->run(std::vector{buffer_of<uint8_t>({1}), buffer_of<float>({1, 2, 3}), buffer_of<float>({1})}, results,
            {.queue = nullptr, .mode = QueueMode::inlined})
      .throw_if_failed();
  Profiler::get().stop();
  std::vector<std::string> names;
  for (const auto &row : Profiler::get().rows())
    names.push_back(row.name);
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"add_row", "double_row"}));
}

TEST(BranchLaunch, IsVerified) {
  const auto expect = [](const std::function<void(fb::BranchLaunchT &, fb::LaunchT &)> &change,
                         const char *part) {
    PlanBuilder changed = branch();
    fb::LaunchT &launch = *changed.plan.launches[0];
    change(*launch.op.AsBranchLaunch(), launch);
    const Status status = changed.verdict(nullptr);
    EXPECT_FAILS(status, part);
    EXPECT_EQ(status.code(), "WEFT-L008");
  };
  using Branch = fb::BranchLaunchT;
  EXPECT_TRUE(branch().verdict(nullptr).ok());
  expect([](Branch &b, auto &) { b.first_result = 5; }, "has 5 operands among 4 buffers");
  expect([](Branch &b, auto &) { b.buffers[2] = 9; }, "has operand 2 in buffer 9 of 4");
  expect([](Branch &b, auto &) { b.buffers[0] = b.buffers[2]; }, "has a predicate of 4 bytes");
  expect([](Branch &b, auto &) { b.buffers[2] = b.buffers[3]; },
         "writes memory that it also reads, or writes it twice");
  expect(
      [](Branch &b, auto &) {
        b.buffers = {b.buffers[3]};
        b.first_result = 0;
      },
      "is a branch without a predicate");
  expect([](Branch &, auto &launch) { launch.may_fail = true; },
         "is a branch, and is marked as one that may fail");
}

TEST(BranchLaunch, IsVerifiedWithManyBuffers) {
  // As the branches of a model with many parameters have.
  const auto verdict = [](uint32_t count, uint64_t last) {
    PlanBuilder b("choose");
    b.argument("pred", DType::i1, {});
    b.argument("x", DType::f32, {count});
    b.result("y", DType::f32, {count});
    fb::BranchLaunchT launch;
    launch.then_body = launch.else_body = "body";
    launch.buffers = {b.buffer(fb::Storage::argument, 0, 0, 1)};
    const auto addParts = [&](fb::Storage storage, uint32_t index, uint64_t lastPart) {
      for (uint64_t i = 0; i < count; ++i)
        launch.buffers.push_back(
            b.buffer(storage, index, (i + 1 < count ? i : lastPart) * sizeof(float), sizeof(float)));
    };
    addParts(fb::Storage::argument, 1, 0); // parts that are read may share bytes
    launch.first_result = count + 1;
    addParts(fb::Storage::result, 0, last);
    b.launch("branch").op.Set(std::move(launch));
    return b.verdict(nullptr);
  };
  EXPECT_FAILS(verdict(8'000, 4'000), "writes memory that it also reads, or writes it twice");
  const double growth = weft::test::costOfFourTimes(4'000, [&](int size) {
    const auto count = static_cast<uint32_t>(size);
    const Status whole = verdict(count, count - 1);
    EXPECT_TRUE(whole.ok()) << whole.message();
  });
  EXPECT_LT(growth, 8) << "each buffer is compared with each other one";
}

TEST(BranchLaunch, FitsItsBranches) {
  const auto expect = [](const std::function<void(PlanBuilder &)> &change, const char *part) {
    for (const bool first : {true, false}) {
      PlanBuilder then = sum("sum"), otherwise = twice("twice");
      change(first ? then : otherwise);
      EXPECT_FAILS(load(branch(), {then, otherwise}).status(), part);
    }
  };
  expect([](PlanBuilder &b) { b.argument("more", DType::f32, {}); },
         "a branch, takes 3 arguments and returns 1 results, expected 2 and 1");
  expect([](PlanBuilder &b) { b.plan.arguments[0]->type->shape = {width + 1}; },
         "takes argument 0 of 16 bytes, expected plain memory of 12");
  expect([](PlanBuilder &b) { b.plan.arguments[0]->donated = true; }, "takes argument 0 of 12 bytes");
  expect([](PlanBuilder &b) { b.plan.results[0]->type->shape = {width + 1}; },
         "returns result 0 of 16 bytes, expected memory of its own of 12");
  EXPECT_FAILS(load(branch(), {sum("sum")}).status(), "body.twice.cpu");
  EXPECT_FAILS(load(branch(), {twice("twice")}).status(), "body.sum.cpu");
}

// A device has the launches of both branches, and is given those of one.
TEST(BranchLaunch, IsIssuedToADevice) {
  const auto executable =
      load(on_device(branch()), {on_device(sum("sum")), on_device(twice("twice"))}, device_map())
          .value_or_throw();
  EXPECT_EQ(executable->launch_count(), 1U + 2 + 1);
  ASSERT_EQ(executable->device_loops().size(), 1U);
  EXPECT_TRUE(executable->device_loops()[0].is_branch);
  for (const uint8_t pred : {1, 0, 1, 255}) {
    const auto x = moved(buffer_of<float>({1, 2, 3}));
    std::vector<std::shared_ptr<Buffer>> results(1);
    executable
        ->run(std::vector<std::shared_ptr<Buffer>>{moved(buffer_of<uint8_t>({pred})), x,
                                                   moved(buffer_of<float>({10}))},
              results)
        .throw_if_failed();
    results[0]->wait().throw_if_failed();
    EXPECT_EQ(read(*results[0]), pred ? (std::vector<float>{22, 24, 26}) : (std::vector<float>{2, 4, 6}));
    EXPECT_EQ(read(*x), (std::vector<float>{1, 2, 3}));
  }
}

/// A branch whose other branch is one again, in a loop: x = choose(x < 100 constant, x, constant) while it
/// is.
TEST(BranchLaunch, MayBeInLoopsAndBranchesOfADevice) {
  PlanBuilder body("body");
  body.argument("x", DType::f32, {width});
  body.argument("constant", DType::f32, {});
  body.result("y", DType::f32, {width});
  body.plan.arena_bytes = 64;
  const uint32_t x = body.buffer(fb::Storage::argument, 0, 0, rowBytes),
                 constant = body.buffer(fb::Storage::argument, 1, 0, sizeof(float)),
                 pred = body.buffer(fb::Storage::arena, 0, 0, 1),
                 y = body.buffer(fb::Storage::result, 0, 0, rowBytes);
  body.kernel("is_small", {x, constant, pred}, 2, 1);
  fb::BranchLaunchT launch;
  launch.then_body = "choose";
  launch.else_body = "never";
  launch.buffers = {pred, pred, x, constant, y};
  launch.first_result = 4;
  body.launch("branch").op.Set(std::move(launch));
  PlanBuilder never = branch();
  never.plan.function = "never";
  PlanBuilder outer = loop();
  outer.plan.launches[0]->op.AsWhileLaunch()->body = "body";
  PlanBuilder inside = on_device(std::move(body));
  // The branch is a segment of its own.
  inside.plan.segments[0]->launches = 1;
  inside.plan.segments.push_back(std::make_unique<fb::SegmentT>());
  inside.plan.segments[1]->device = inside.plan.segments[0]->device;
  inside.plan.segments[1]->launches = 1;
  const auto executable =
      load(on_device(std::move(outer)),
           {on_device(small()), std::move(inside), on_device(branch()), on_device(std::move(never)),
            on_device(sum("sum")), on_device(twice("twice"))},
           device_map())
          .value_or_throw();
  for (const float factor : {0.F, 0.5F, 3.F}) {
    std::vector<float> expected = {1, 2, 3};
    while (expected[0] < 100 * factor)
      for (float &each : expected)
        each = 2 * (each + factor);
    std::vector<std::shared_ptr<Buffer>> results(1);
    executable
        ->run(std::vector<std::shared_ptr<Buffer>>{moved(buffer_of<float>({1, 2, 3})),
                                                   moved(buffer_of<float>({factor}))},
              results)
        .throw_if_failed();
    results[0]->wait().throw_if_failed();
    EXPECT_EQ(read(*results[0]), expected) << factor;
  }
}

TEST(BranchLaunch, IsVerifiedOnADevice) {
  EXPECT_TRUE(on_device(branch()).verdict(nullptr).ok());
  // A segment of its own.
  PlanBuilder beside = branch();
  beside.plan.results.push_back(std::make_unique<fb::ResultT>());
  beside.plan.results.back()->type = tensor_type(DType::f32, {width});
  beside.kernel("double_row",
                {beside.plan.launches[0]->op.AsBranchLaunch()->buffers[1],
                 beside.buffer(fb::Storage::result, 1, 0, rowBytes)},
                1, width);
  EXPECT_FAILS(on_device(std::move(beside)).verdict(nullptr),
               "has 2 launches, of which number 0 is one that has to be alone");
  // A predicate in memory of the host.
  PlanBuilder elsewhere = on_device(branch());
  elsewhere.plan.arguments[0]->type->device = "cpu";
  auto host = std::make_unique<fb::DevicePartT>();
  host->name = "cpu";
  elsewhere.plan.devices.push_back(std::move(host));
  const uint32_t number = static_cast<uint32_t>(elsewhere.plan.devices.size() - 1);
  elsewhere.plan.buffers[elsewhere.plan.launches[0]->op.AsBranchLaunch()->buffers[0]]->device = number;
  EXPECT_FAILS(elsewhere.verdict(nullptr), "has operand 0 on another device than its own");
  // A failed call must not write an argument.
  PlanBuilder donated = branch();
  donated.plan.arguments[1]->donated = true;
  donated.plan.results[0]->tied_to = 1;
  donated.plan.arguments.push_back(std::make_unique<fb::ArgumentT>());
  donated.plan.arguments.back()->type = tensor_type(DType::f32, {width});
  donated.plan.launches[0]->op.AsBranchLaunch()->buffers[1] =
      donated.buffer(fb::Storage::argument, 3, 0, rowBytes);
  PlanBuilder::predicated(*donated.plan.launches[0]);
  EXPECT_FAILS(on_device(std::move(donated)).verdict(nullptr),
               "is a branch on a device, where it does not see");
  // Branches for another device, that are too many, and that no loop of known length can issue.
  const auto refused = [](PlanBuilder then, PlanBuilder otherwise) {
    return load(on_device(branch()), {std::move(then), std::move(otherwise)}, device_map()).status();
  };
  EXPECT_FAILS(refused(sum("sum"), on_device(twice("twice"))), "a branch, has other devices");
  EXPECT_FAILS(refused(on_device(sum("sum")), twice("twice")), "a branch, has other devices");
  PlanBuilder many = twice("twice");
  for (uint64_t i = 0; i < mostLaunches - 2; ++i)
    many.kernel("double_row", {0, 1}, 1, width);
  EXPECT_FAILS(refused(on_device(sum("sum")), on_device(std::move(many))),
               "launches after 0, and a function has at most 65536 on a device");
}

TEST(WhileLaunch, GoesOnWhileItsConditionIsTrue) {
  const auto executable = load(loop(), {small(), sum("sum")}).value_or_throw();
  for (const float constant : {0.F, 0.001F, 0.5F, 1.F, 3.F, 1000.F}) {
    const std::vector<float> begin = {1, 2, 3};
    std::vector<float> expected = begin;
    while (expected[0] < 100 * constant)
      for (float &x : expected)
        x = 2 * (x + constant);
    const auto x = buffer_of(begin);
    EXPECT_EQ(run(*executable, {x, buffer_of<float>({constant})}), expected) << constant;
    EXPECT_EQ(values_of<float>(*x), begin);
  }
  EXPECT_EQ(executable->launch_count(), 1U);
}

TEST(WhileLaunch, IsVerified) {
  const auto expect = [](const std::function<void(fb::WhileLaunchT &, fb::LaunchT &)> &change,
                         const char *part) {
    PlanBuilder changed = loop();
    fb::LaunchT &launch = *changed.plan.launches[0];
    change(*launch.op.AsWhileLaunch(), launch);
    const Status status = changed.verdict(nullptr);
    EXPECT_FAILS(status, part);
    EXPECT_EQ(status.code(), "WEFT-L008");
  };
  using Loop = fb::WhileLaunchT;
  EXPECT_TRUE(loop().verdict(nullptr).ok());
  expect([](Loop &l, auto &) { l.first_result = 4; }, "has 4 operands among 3 buffers");
  expect([](Loop &l, auto &) { l.first_result = 1; }, "is a loop of 2 carries and 1 operands");
  expect([](Loop &l, auto &) { l.buffers[0] = l.buffers[1]; },
         "has carry 0 of 4 bytes before, and of 12 after it");
  expect([](Loop &l, auto &) { l.buffers[0] = l.buffers[2]; },
         "writes memory that it also reads, or writes it twice");
  expect([](Loop &, auto &launch) { launch.may_fail = true; },
         "is a loop, and is marked as one that may fail");
}

TEST(WhileLaunch, FitsItsFunctions) {
  EXPECT_FAILS(load(loop(), {sum("sum")}).status(), "body.small.cpu");
  EXPECT_FAILS(load(loop(), {small()}).status(), "body.sum.cpu");
  EXPECT_FAILS(load(loop(), {twice("small"), sum("sum")}).status(),
               "a condition, returns result 0 of 12 bytes, expected memory of its own of 1");
  PlanBuilder endless = loop();
  endless.plan.function = "sum";
  EXPECT_FAILS(load(loop(), {small(), endless}).status(), "is the body of one in itself");
}

// On a device the host issues one trip after the other. Each of the two places of the carry has launches.
TEST(WhileLaunch, IsIssuedTripByTripOnADevice) {
  const auto executable =
      load(on_device(loop()), {on_device(small()), on_device(sum("sum"))}, device_map()).value_or_throw();
  EXPECT_EQ(executable->launch_count(), 1U + 2 * (1 + 2) + 2);
  for (const float constant : {0.F, 0.001F, 0.5F, 1.F, 3.F, 1000.F}) {
    const std::vector<float> begin = {1, 2, 3};
    std::vector<float> expected = begin;
    while (expected[0] < 100 * constant)
      for (float &x : expected)
        x = 2 * (x + constant);
    const auto x = moved(buffer_of(begin));
    std::vector<std::shared_ptr<Buffer>> results(1);
    executable->run(std::vector<std::shared_ptr<Buffer>>{x, moved(buffer_of<float>({constant}))}, results)
        .throw_if_failed();
    results[0]->wait().throw_if_failed();
    EXPECT_EQ(read(*results[0]), expected) << constant;
    EXPECT_EQ(read(*x), begin);
  }
}

TEST(WhileLaunch, IsVerifiedOnADevice) {
  EXPECT_TRUE(on_device(loop()).verdict(nullptr).ok());
  // A segment of its own.
  PlanBuilder beside = loop();
  beside.plan.results.push_back(std::make_unique<fb::ResultT>());
  beside.plan.results.back()->type = tensor_type(DType::f32, {width});
  beside.kernel("double_row",
                {beside.plan.launches[0]->op.AsWhileLaunch()->buffers[0],
                 beside.buffer(fb::Storage::result, 1, 0, rowBytes)},
                1, width);
  beside = on_device(std::move(beside));
  EXPECT_FAILS(beside.verdict(nullptr), "has 2 launches, of which number 0 is one that has to be alone");
  // A failed call must not write an argument.
  PlanBuilder donated = loop();
  donated.plan.arguments[0]->donated = true;
  donated.plan.results[0]->tied_to = 0;
  donated.plan.arguments.push_back(std::make_unique<fb::ArgumentT>());
  donated.plan.arguments.back()->type = tensor_type(DType::f32, {width});
  donated.plan.launches[0]->op.AsWhileLaunch()->buffers[0] =
      donated.buffer(fb::Storage::argument, 2, 0, rowBytes);
  PlanBuilder::predicated(*donated.plan.launches[0]);
  EXPECT_FAILS(on_device(std::move(donated)).verdict(nullptr),
               "is a loop on a device, where it does not see");
  // Bodies for another device, that are too many, and that no other loop can issue.
  EXPECT_FAILS(load(on_device(loop()), {small(), on_device(sum("sum"))}, device_map()).status(),
               "a condition, has other devices");
  PlanBuilder many = twice("sum");
  for (uint64_t i = 0; i < mostLaunches / 2; ++i)
    many.kernel("double_row", {0, 1}, 1, width);
  EXPECT_FAILS(
      load(on_device(loop()), {on_device(small()), on_device(std::move(many))}, device_map()).status(),
      "launches after 0, and a function has at most 65536 on a device");
  PlanBuilder scan("scanned");
  scan.argument("x", DType::f32, {width});
  scan.argument("constant", DType::f32, {});
  scan.result("y", DType::f32, {width});
  fb::LoopLaunchT launch;
  launch.body = "grow";
  launch.trips = 4;
  launch.buffers = {scan.buffer(fb::Storage::argument, 0, 0, rowBytes),
                    scan.buffer(fb::Storage::argument, 1, 0, sizeof(float)),
                    scan.buffer(fb::Storage::result, 0, 0, rowBytes)};
  launch.first_result = 2;
  launch.carries = 1;
  scan.launch("loop").op.Set(std::move(launch));
  EXPECT_FAILS(load(on_device(std::move(scan)),
                    {on_device(loop()), on_device(small()), on_device(sum("sum"))}, device_map())
                   .status(),
               "has a while loop or a branch, which no other loop of a device issues");
}
