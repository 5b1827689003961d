//===- LoopLaunchTest.cpp - Loops of plans ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePlans.h"

#include "runtime/queue/Profiler.h"

#include <functional>
#include <numeric>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;
using weft::testing::SeparateDevice;

namespace {

constexpr int64_t width = 3;
constexpr uint64_t rowBytes = width * sizeof(float);

// buffers: carry, row, constant, temporary: temporary = row * constant
void scale_row(const KernelFrame *frame, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(frame->buffers[2])[i] =
        static_cast<const float *>(frame->buffers[0])[i] * *static_cast<const float *>(frame->buffers[1]);
}

// buffers: carry, temporary, next, y: next = carry + temporary, y = carry
void add_row(const KernelFrame *frame, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float before = static_cast<const float *>(frame->buffers[0])[i];
    static_cast<float *>(frame->buffers[2])[i] = before + static_cast<const float *>(frame->buffers[1])[i];
    static_cast<float *>(frame->buffers[3])[i] = before;
  }
}

/// next = carry + row * constant, through a temporary; y is the carry before.
PlanBuilder body() {
  PlanBuilder b("trip");
  b.argument("carry", DType::f32, {width});
  b.argument("row", DType::f32, {width});
  b.argument("constant", DType::f32, {});
  b.result("next", DType::f32, {width});
  b.result("y", DType::f32, {width});
  b.plan.arena_bytes = 64;
  const uint32_t carry = b.buffer(fb::Storage::argument, 0, 0, rowBytes),
                 row = b.buffer(fb::Storage::argument, 1, 0, rowBytes),
                 constant = b.buffer(fb::Storage::argument, 2, 0, sizeof(float)),
                 temporary = b.buffer(fb::Storage::arena, 0, 0, rowBytes),
                 next = b.buffer(fb::Storage::result, 0, 0, rowBytes),
                 y = b.buffer(fb::Storage::result, 1, 0, rowBytes);
  b.kernel("scale_row", {row, constant, temporary}, 2, width);
  b.kernel("add_row", {carry, temporary, next, y}, 2, width);
  return b;
}

/// The loop of `trips` trips of the body.
PlanBuilder loop(int64_t trips, bool reverse = false) {
  PlanBuilder b("sum");
  const uint64_t bytes = rowBytes * static_cast<uint64_t>(trips);
  b.argument("begin", DType::f32, {width});
  b.argument("xs", DType::f32, {trips, width});
  b.argument("constant", DType::f32, {});
  b.result("last", DType::f32, {width});
  b.result("ys", DType::f32, {trips, width});
  fb::LoopLaunchT launch;
  launch.body = "trip";
  launch.trips = trips;
  launch.reverse = reverse;
  launch.buffers = {
      b.buffer(fb::Storage::argument, 0, 0, rowBytes), b.buffer(fb::Storage::argument, 1, 0, bytes),
      b.buffer(fb::Storage::argument, 2, 0, sizeof(float)), b.buffer(fb::Storage::result, 0, 0, rowBytes),
      b.buffer(fb::Storage::result, 1, 0, bytes)};
  launch.first_result = 3;
  launch.carries = launch.xs = 1;
  b.launch("loop").op.Set(std::move(launch));
  return b;
}

Expected<std::shared_ptr<Executable>> load(const PlanBuilder &function, const PlanBuilder &trip,
                                           const DeviceMap &devices = {}) {
  PackageWriter writer;
  function.add_to(writer, function.plan.function);
  trip.add_to(writer, "trip", "body");
  return Executable::load(Package::from_memory(writer.finish().value_or_throw()).value_or_throw(),
                          function.plan.function,
                          Image::from_functions({{"scale_row", scale_row}, {"add_row", add_row}}), devices);
}

std::vector<float> counted(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

} // namespace

TEST(LoopLaunch, CarriesAlternateAndRowsAdvance) {
  for (const int64_t trips : {1, 2, 3, 8, 101})
    for (const bool reverse : {false, true}) {
      const auto executable = load(loop(trips, reverse), body()).value_or_throw();
      const std::vector<float> xs = counted(trips * width), begin = {10, 20, 30};
      const std::vector<std::shared_ptr<Buffer>> arguments = {buffer_of(begin), buffer_of(xs),
                                                              buffer_of<float>({2})};
      std::vector<std::shared_ptr<Buffer>> results(2);
      executable->run(arguments, results).throw_if_failed();
      std::vector<float> carry = begin, ys(xs.size());
      for (int64_t trip = 0; trip < trips; ++trip)
        for (int64_t i = 0; i < width; ++i) {
          const auto at = static_cast<size_t>((reverse ? trips - 1 - trip : trip) * width + i);
          ys[at] = carry[static_cast<size_t>(i)];
          carry[static_cast<size_t>(i)] += 2 * xs[at];
        }
      EXPECT_EQ(values_of<float>(*results[0]), carry) << trips;
      EXPECT_EQ(values_of<float>(*results[1]), ys) << trips;
      EXPECT_EQ(values_of<float>(*arguments[0]), begin);
    }
}

TEST(LoopLaunch, ACallAllocatesWhatItsPlanSays) {
  const auto few = load(loop(2), body()).value_or_throw(), many = load(loop(100), body()).value_or_throw();
  EXPECT_EQ(few->planned_memory().temporaries, many->planned_memory().temporaries);
  EXPECT_GE(few->planned_memory().temporaries, 64 + rowBytes);
  EXPECT_EQ(many->launch_count(), 1U);
  EXPECT_GT(many->estimated_ns(), 10 * few->estimated_ns());
}

TEST(LoopLaunch, IsVerified) {
  const auto expect = [](const std::function<void(fb::LoopLaunchT &, fb::LaunchT &)> &change,
                         const char *part) {
    PlanBuilder changed = loop(4);
    fb::LaunchT &launch = *changed.plan.launches[0];
    change(*launch.op.AsLoopLaunch(), launch);
    const Status status = changed.verdict(nullptr);
    EXPECT_FAILS(status, part);
    EXPECT_EQ(status.code(), "WEFT-L008");
  };
  using Loop = fb::LoopLaunchT;
  EXPECT_TRUE(loop(4).verdict(nullptr).ok());
  expect([](Loop &l, auto &) { l.trips = 0; }, "is a loop of 0 trips");
  expect([](Loop &l, auto &) { l.trips = -4; }, "is a loop of -4 trips");
  expect([](Loop &l, auto &) { l.trips = 5; }, "has operand 1 of 48 bytes, which are no 5 rows");
  expect([](Loop &l, auto &) { l.first_result = 6; },
         "is a loop of 1 carries, 1 stacks and 6 operands among 5 buffers");
  expect([](Loop &l, auto &) { l.carries = 3; }, "is a loop of 3 carries, 1 stacks and 3 operands");
  expect([](Loop &l, auto &) { l.xs = UINT32_MAX; }, "stacks and 3 operands");
  expect([](Loop &l, auto &) { l.buffers[2] = 9; }, "has operand 2 in buffer 9 of 5");
  expect([](Loop &l, auto &) { std::swap(l.buffers[3], l.buffers[4]); },
         "has carry 0 of 12 bytes before, and of 48 after it");
  expect([](Loop &l, auto &) { l.buffers[3] = l.buffers[0]; },
         "is a loop that writes memory that it also reads, or writes it twice");
  expect([](Loop &, auto &launch) { launch.may_fail = true; },
         "is a loop, and is marked as one that may fail");
}

TEST(LoopLaunch, FitsItsBody) {
  const auto expect = [](const std::function<void(PlanBuilder &)> &change, const char *part) {
    PlanBuilder changed = body();
    change(changed);
    EXPECT_FAILS(load(loop(4), changed).status(), part);
  };
  EXPECT_TRUE(load(loop(4), body()).status().ok());
  expect([](PlanBuilder &b) { b.argument("more", DType::f32, {}); },
         "takes 4 arguments and returns 2 results, expected 3 and 2");
  expect([](PlanBuilder &b) { b.plan.arguments[1]->type->shape = {width + 1}; },
         "takes argument 1 of 16 bytes, expected plain memory of 12");
  expect([](PlanBuilder &b) { b.plan.arguments[0]->donated = true; }, "takes argument 0 of 12 bytes");
  expect([](PlanBuilder &b) { b.plan.results[1]->type->shape = {width + 1}; },
         "returns result 1 of 16 bytes, expected memory of its own of 12");
  expect([](PlanBuilder &b) { b.plan.function = "another"; }, "holds the plan of 'another'");
  // Without its body, and with one that the loop is in again.
  PackageWriter writer;
  loop(4).add_to(writer, "sum");
  EXPECT_FAILS(
      Executable::load(Package::from_memory(writer.finish().value_or_throw()).value_or_throw(), "sum")
          .status(),
      "body.trip.cpu");
  PlanBuilder endless = loop(1);
  endless.plan.function = "trip";
  EXPECT_FAILS(load(loop(1), endless).status(), "is the body of one in itself");
}

// On a device each trip has launches of its own, which are made when the function is loaded.
TEST(LoopLaunch, HasLaunchesForEachTripOnADevice) {
  for (const int64_t trips : {1, 2, 7})
    for (const bool reverse : {false, true}) {
      const auto executable =
          load(on_device(loop(trips, reverse)), on_device(body()), device_map()).value_or_throw();
      EXPECT_EQ(executable->launch_count(), static_cast<size_t>(2 * trips));
      const std::vector<float> xs = counted(trips * width), begin = {10, 20, 30};
      const std::vector<std::shared_ptr<Buffer>> arguments = {moved(buffer_of(begin)), moved(buffer_of(xs)),
                                                              moved(buffer_of<float>({2}))};
      std::vector<std::shared_ptr<Buffer>> results(2);
      executable->run(arguments, results).throw_if_failed();
      for (const auto &result : results)
        result->wait().throw_if_failed();
      std::vector<float> carry = begin, ys(xs.size());
      for (int64_t trip = 0; trip < trips; ++trip)
        for (int64_t i = 0; i < width; ++i) {
          const auto at = static_cast<size_t>((reverse ? trips - 1 - trip : trip) * width + i);
          ys[at] = carry[static_cast<size_t>(i)];
          carry[static_cast<size_t>(i)] += 2 * xs[at];
        }
      EXPECT_EQ(read(*results[0]), carry) << trips;
      EXPECT_EQ(read(*results[1]), ys) << trips;
    }
}

TEST(LoopLaunch, IsVerifiedOnADevice) {
  const auto refused = [](const PlanBuilder &function, const PlanBuilder &trip, const char *part) {
    const Status status = load(function, trip, device_map()).status();
    EXPECT_FAILS(status, part);
    EXPECT_EQ(status.code(), "WEFT-L008");
  };
  PlanBuilder many = on_device(loop(1));
  many.plan.arguments[1]->type->shape = {int64_t(1) << 40, 0};
  many.plan.results[1]->type->shape = {int64_t(1) << 40, 0};
  many.plan.buffers[1]->bytes = many.plan.buffers[4]->bytes = 0;
  many.plan.launches[0]->op.AsLoopLaunch()->trips = int64_t(1) << 40;
  PlanBuilder none = on_device(body());
  none.plan.arguments[1]->type->shape = none.plan.results[1]->type->shape = {0};
  none.plan.buffers[1]->bytes = none.plan.buffers[5]->bytes = 0;
  refused(many, none, "has 2199023255552 launches after 0, and a function has at most 65536 on a device");
  PlanBuilder empty = on_device(body());
  empty.plan.launches.clear();
  empty.plan.segments.clear();
  refused(on_device(loop(4)), empty, "computes nothing");
  // On another device than its operands, and in place of an argument, which a failed call must not write.
  PlanBuilder apart = on_device(loop(4));
  apart.plan.buffers[2]->device = 1;
  apart.plan.arguments[2]->type->device = "cpu";
  apart.plan.devices.push_back(std::make_unique<fb::DevicePartT>());
  apart.plan.devices.back()->name = "cpu";
  EXPECT_FAILS(apart.verdict(nullptr), "has operand 2 on another device than its own");
  PlanBuilder donated = on_device(loop(4));
  donated.plan.arguments.push_back(std::make_unique<fb::ArgumentT>());
  donated.plan.arguments.back()->type = tensor_type(DType::f32, {width});
  donated.plan.arguments.back()->type->device = "cuda:0";
  donated.plan.arguments.back()->donated = true;
  donated.plan.results[0]->tied_to = 3;
  donated.plan.buffers[3]->storage = fb::Storage::argument;
  donated.plan.buffers[3]->index = 3;
  PlanBuilder::predicated(*donated.plan.launches[0]);
  EXPECT_FAILS(donated.verdict(nullptr), "is a loop on a device, where it does not see");
  PlanBuilder aligned = on_device(body());
  aligned.plan.results[1]->alignment = 12;
  EXPECT_FAILS(aligned.verdict(nullptr),
               "result 1 'y' has the alignment 12, expected a power of two up to 32");
}

TEST(LoopLaunch, ItsTripsAreInProfiles) {
  const auto executable = load(loop(5), body()).value_or_throw();
  const std::vector<std::shared_ptr<Buffer>> arguments = {buffer_of<float>({0, 0, 0}), buffer_of(counted(15)),
                                                          buffer_of<float>({1})};
  std::vector<std::shared_ptr<Buffer>> results(2);
  Profiler::get().clear();
  Profiler::get().start();
  executable->run(arguments, results, {.queue = nullptr, .mode = QueueMode::inlined}).throw_if_failed();
  Profiler::get().stop();
  uint64_t trips = 0, loops = 0;
  for (const auto &row : Profiler::get().rows()) {
    trips += row.name == "add_row" ? row.count : 0;
    loops += row.name == "loop" ? row.count : 0;
  }
  EXPECT_EQ(trips, 5U);
  EXPECT_EQ(loops, 0U); // its time is that of its trips
}
