//===- PlanDevicesTest.cpp - What a plan says of devices ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/plan/PlanDevices.h"
#include "runtime/plan/PlanVerifier.h"

#include <functional>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

// An argument on the host is copied to a device, a kernel there makes a result of it.
PlanBuilder good() {
  PlanBuilder b("step");
  b.argument("x", DType::f32, {16});
  b.result("y", DType::f32, {16});
  b.plan.results[0]->type->device = "cuda:0";
  b.plan.arena_bytes = 192;
  for (const auto &[name, begin, bytes] : {std::tuple("cpu", 0, 64), {"cuda:0", 64, 128}}) {
    auto part = std::make_unique<fb::DevicePartT>();
    part->name = name;
    part->arena_begin = static_cast<uint64_t>(begin);
    part->arena_bytes = static_cast<uint64_t>(bytes);
    b.plan.devices.push_back(std::move(part));
  }
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, 64),
                 there = b.buffer(fb::Storage::arena, 0, 128, 64),
                 y = b.buffer(fb::Storage::result, 0, 0, 64);
  b.plan.buffers[there]->device = b.plan.buffers[y]->device = 1;
  fb::CopyLaunchT copy;
  copy.source = x;
  copy.destination = there;
  fb::LaunchT &copies = b.launch("copy");
  copies.op.Set(copy);
  copies.device = 1;
  b.kernel("work", {there, y}, 1, 4).device = 1;
  return b;
}

Status verify(const std::function<void(PlanBuilder &)> &change) {
  PlanBuilder builder = good();
  change(builder);
  return verify_with(builder, 0, {{"work", nothing}});
}

TEST(PlanDevices, AcceptsAGoodPlan) {
  const Status status = verify([](PlanBuilder &) {});
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(PlanDevices, AreTheHostAloneWhereThereIsNoList) {
  PlanBuilder b("step");
  b.plan.arena_bytes = 640;
  const std::vector<std::byte> bytes = b.bytes();
  const std::vector<PlanDevice> devices = plan_devices(*read_plan(bytes).value_or_throw());
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].name, "cpu");
  EXPECT_EQ(devices[0].arena_bytes, 640u);
}

TEST(PlanDevices, RefusesPartsOfTheArenaThatAreNoDivision) {
  EXPECT_FAILS(
      verify([](PlanBuilder &b) { b.plan.devices[1]->arena_begin = 32; }),
      "device 1 'cuda:0' has the bytes [32, +128) of the arena, expected a part from 64 on of its 192");
  EXPECT_FAILS(verify([](PlanBuilder &b) { b.plan.devices[1]->arena_bytes = 64; }),
               "the parts of the devices are 128 of the arena's 192 bytes");
  EXPECT_FAILS(verify([](PlanBuilder &b) { b.plan.devices[1]->arena_bytes = UINT64_MAX; }),
               "expected a part from 64 on");
  EXPECT_FAILS(verify([](PlanBuilder &b) { b.plan.devices[1]->name = "cpu"; }),
               "device 1 'cpu' is also device 0");
  EXPECT_FAILS(verify([](PlanBuilder &b) { b.plan.devices[1]->name = "gpu7"; }), "device 1: ");
  EXPECT_FAILS(verify([](PlanBuilder &b) {
                 for (int i = 1; i < 16; ++i) {
                   auto part = std::make_unique<fb::DevicePartT>();
                   part->name = "cuda:" + std::to_string(i);
                   b.plan.devices.push_back(std::move(part));
                 }
               }),
               "has 17 devices, and at most 16 are possible");
}

TEST(PlanDevices, RefusesValuesOnDevicesThatAreNotThere) {
  EXPECT_FAILS(verify([](PlanBuilder &b) { b.plan.arguments[0]->type->device = "cuda:3"; }),
               "argument 0 is on 'cuda:3', which is no device of the plan");
  EXPECT_FAILS(verify([](PlanBuilder &b) { b.plan.results[0]->type->device = "cuda:3"; }),
               "result 0 is on 'cuda:3', which is no device of the plan");
  EXPECT_FAILS(verify([](PlanBuilder &b) {
                 b.result("z", DType::f32, {16});
                 b.plan.results[1]->alias_result = 0;
               }),
               "result 1 is on 'cpu', and shares a buffer on 'cuda:0'");
}

TEST(PlanDevices, RefusesBuffersThatLieElsewhere) {
  EXPECT_FAILS(verify([](PlanBuilder &b) { b.plan.buffers[0]->device = 2; }), "buffer 0 is on device 2 of 2");
  EXPECT_FAILS(verify([](PlanBuilder &b) { b.plan.buffers[0]->device = 1; }),
               "buffer 0 is on 'cuda:0', and lies in a value on 'cpu'");
  EXPECT_FAILS(verify([](PlanBuilder &b) { b.plan.buffers[1]->offset = 32; }),
               "buffer 1 is on 'cuda:0', and lies outside of its part of the arena");
  EXPECT_FAILS(verify([](PlanBuilder &b) { b.plan.buffers[1]->device = 0; }),
               "buffer 1 is on 'cpu', and lies outside of its part of the arena");
}

TEST(PlanDevices, RefusesLaunchesWithBuffersElsewhere) {
  EXPECT_FAILS(verify([](PlanBuilder &b) { b.plan.launches[1]->device = 5; }),
               "launch 1 runs on device 5 of 2");
  EXPECT_FAILS(verify([](PlanBuilder &b) { b.plan.launches[1]->device = 0; }),
               "launch 1 runs on 'cpu', and buffer 1 is on 'cuda:0'");
  EXPECT_FAILS(verify([](PlanBuilder &b) {
                 b.plan.devices.push_back(std::make_unique<fb::DevicePartT>());
                 b.plan.devices[2]->name = "cuda:1";
                 b.plan.devices[2]->arena_begin = 192;
                 b.plan.launches[0]->device = 2;
               }),
               "launch 0 runs on 'cuda:1', and buffer 0 is on 'cpu'");
  EXPECT_TRUE(verify([](PlanBuilder &b) { b.plan.launches[0]->device = 0; }).ok())
      << "a copy runs on either of its sides";
}

} // namespace
