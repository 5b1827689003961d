//===- PlanDevicesTest.cpp - What a plan says of devices ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/plan/PlanSegments.h"

#include "runtime/plan/PlanDevices.h"
#include "runtime/plan/PlanVerifier.h"
#include "test/unit/Growth.h"

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

/// With the segments and waits that the plan needs.
PlanBuilder divided(PlanBuilder b) {
  const std::vector<std::byte> bytes = b.bytes();
  b.plan.segments.clear();
  for (const PlanSegment &segment : divide_into_segments(*fb::GetPlan(bytes.data()))) {
    auto made = std::make_unique<fb::SegmentT>();
    made->device = segment.device;
    made->launches = segment.launches;
    made->waits = segment.waits;
    b.plan.segments.push_back(std::move(made));
  }
  return b;
}

Status verify(const std::function<void(PlanBuilder &)> &change) {
  PlanBuilder builder = divided(good());
  change(builder);
  return verify_with(builder, 0, {{"work", nothing}});
}

TEST(PlanDevices, AcceptsAGoodPlan) {
  const Status status = verify([](PlanBuilder &) {});
  EXPECT_TRUE(status.ok()) << status.message();
}

// The host makes t of x, a device y of a copy of t, and the host z of a copy of y in place of t.
PlanBuilder there_and_back() {
  PlanBuilder b = good();
  b.result("z", DType::f32, {16});
  const uint32_t t = b.buffer(fb::Storage::arena, 0, 0, 64), z = b.buffer(fb::Storage::result, 1, 0, 64);
  b.plan.launches.clear();
  const auto copy = [&](uint32_t from, uint32_t to) {
    fb::CopyLaunchT copy;
    copy.source = from;
    copy.destination = to;
    fb::LaunchT &launch = b.launch("copy");
    launch.op.Set(copy);
    launch.device = 1;
  };
  b.kernel("work", {0, t}, 1, 4);
  copy(t, 1);
  b.kernel("work", {1, 2}, 1, 4).device = 1;
  copy(2, t);
  b.kernel("work", {t, z}, 1, 4);
  return divided(std::move(b));
}

TEST(PlanDevices, AProductWaitsForAllOfItsOperands) {
  // A device copies an operand of the host's first or second product to the host.
  for (const bool isFirst : {true, false}) {
    PlanBuilder b = good();
    b.plan.launches.clear();
    b.result("z", DType::f32, {16});
    const uint32_t t = b.buffer(fb::Storage::arena, 0, 0, 64), z = b.buffer(fb::Storage::result, 1, 0, 64);
    fb::CopyLaunchT copy;
    copy.source = 2;
    copy.destination = t;
    fb::LaunchT &copies = b.launch("copy");
    copies.op.Set(copy);
    copies.device = 1;
    fb::ContractionLaunchT product;
    product.a = isFirst ? t : 0;
    product.b = 0;
    product.c = z;
    product.bias = product.residual = -1;
    product.more = {isFirst ? 0 : t, 0};
    b.launch("product").op.Set(product);
    const PlanBuilder made = divided(std::move(b));
    ASSERT_EQ(made.plan.segments.size(), 2u);
    EXPECT_EQ(made.plan.segments[1]->waits, std::vector<uint32_t>{0}) << isFirst;
  }
}

TEST(PlanDevices, SegmentsWaitForWhatTouchesTheSameBytes) {
  const PlanBuilder b = there_and_back();
  ASSERT_EQ(b.plan.segments.size(), 5u);
  const std::vector<std::vector<uint32_t>> waits = {{}, {0}, {}, {}, {3}};
  for (size_t i = 0; i < waits.size(); ++i) {
    EXPECT_EQ(b.plan.segments[i]->waits, waits[i]) << "segment " << i;
    EXPECT_EQ(b.plan.segments[i]->launches, 1u);
    EXPECT_EQ(b.plan.segments[i]->device, i == 0 || i == 4 ? 0u : 1u);
  }
  const Status status = verify_with(b, 0, {{"work", nothing}});
  EXPECT_TRUE(status.ok()) << status.message();
}

// A plan of `count` segments and one more: the host makes each part, and a device copies the one before.
PlanBuilder with_segments(uint32_t count) {
  PlanBuilder b = good();
  b.plan.launches.clear();
  b.plan.arena_bytes = 2 * count * 64;
  b.plan.devices[0]->arena_bytes = b.plan.devices[1]->arena_begin = b.plan.devices[1]->arena_bytes =
      count * 64;
  b.plan.buffers[1]->offset = count * 64; // in the part of the device
  std::vector<uint32_t> here, there;
  for (uint32_t i = 0; i < count / 2; ++i) {
    here.push_back(b.buffer(fb::Storage::arena, 0, uint64_t(i) * 64, 64));
    there.push_back(b.buffer(fb::Storage::arena, 0, uint64_t(count + i) * 64, 64));
    b.plan.buffers[there.back()]->device = 1;
  }
  for (uint32_t i = 0; i < count / 2; ++i) {
    b.kernel("work", {0, here[i]}, 1, 4);
    fb::CopyLaunchT copy;
    copy.source = here[i ? i - 1 : 0];
    copy.destination = there[i];
    fb::LaunchT &launch = b.launch("copy");
    launch.op.Set(copy);
    launch.device = 1;
  }
  b.kernel("work", {there[7], 2}, 1, 4).device = 1;
  return divided(std::move(b));
}

TEST(PlanDevices, MayHaveThousandsOfSegments) {
  constexpr uint32_t count = 20'000;
  PlanBuilder made = with_segments(count);
  ASSERT_EQ(made.plan.segments.size(), count + 1);
  for (uint32_t i = 0; i < count; ++i) {
    const bool isFirst = i == 1, isCopy = i % 2 == 1;
    const std::vector<uint32_t> expected = isFirst           ? std::vector<uint32_t>{0}
                                           : isCopy && i > 3 ? std::vector<uint32_t>{i - 3}
                                                             : std::vector<uint32_t>();
    EXPECT_EQ(made.plan.segments[i]->waits, expected) << i;
  }
  const Status status = verify_with(made, 0, {{"work", nothing}});
  EXPECT_TRUE(status.ok()) << status.message();
  made.plan.segments[count - 1]->waits.clear();
  EXPECT_FAILS(verify_with(made, 0, {{"work", nothing}}), "does not wait for segment 19996");
  const double growth = weft::test::costOfFourTimes(2'000, [](int size) {
    const Status verdict = verify_with(with_segments(static_cast<uint32_t>(size)), 0, {{"work", nothing}});
    EXPECT_TRUE(verdict.ok()) << verdict.message();
  });
  EXPECT_LT(growth, 8) << "each segment is compared with each other one";
}

TEST(PlanDevices, RefusesSegmentsThatAreNotInOrder) {
  const auto refused = [](const char *message, const std::function<void(PlanBuilder &)> &change) {
    PlanBuilder b = there_and_back();
    change(b);
    EXPECT_FAILS(verify_with(b, 0, {{"work", nothing}}), message);
  };
  refused("segment 1 does not wait for segment 0, and they touch the same bytes",
          [](PlanBuilder &b) { b.plan.segments[1]->waits.clear(); });
  refused("segment 4 does not wait for segment 3", [](PlanBuilder &b) { b.plan.segments[4]->waits = {2}; });
  refused("segment 1 waits for segment 4, which is not before it on another device",
          [](PlanBuilder &b) { b.plan.segments[1]->waits = {4}; });
  refused("segment 2 waits for segment 1, which is not before it on another device",
          [](PlanBuilder &b) { b.plan.segments[2]->waits = {1}; });
  refused("segment 1 is of device 0, and its launch 1 of device 1",
          [](PlanBuilder &b) { b.plan.segments[1]->device = 0; });
  refused("segment 1 has 2 launches, of which number 1 is one that has to be alone", [](PlanBuilder &b) {
    b.plan.segments[1]->launches = 2;
    b.plan.segments.erase(b.plan.segments.begin() + 2);
  });
  refused("its segments have 4 of its 5 launches", [](PlanBuilder &b) { b.plan.segments.pop_back(); });
  refused("segment 4 has 2 launches from number 4 on, and there are 5",
          [](PlanBuilder &b) { b.plan.segments[4]->launches = 2; });
  refused("segment 0 has 0 launches", [](PlanBuilder &b) { b.plan.segments[0]->launches = 0; });
  PlanBuilder alone("alone");
  alone.plan.segments.push_back(std::make_unique<fb::SegmentT>());
  EXPECT_FAILS(verify_with(alone, 0, {}), "is for the host alone, and has segments");
}

TEST(PlanDevices, RefusesRegionsThatCannotBe) {
  const auto regions = [](std::vector<int32_t> numbers) {
    PlanBuilder b = there_and_back();
    for (size_t i = 0; i < numbers.size(); ++i)
      b.plan.launches[i]->region = numbers[i];
    return verify_with(b, 0, {{"work", nothing}});
  };
  EXPECT_TRUE(regions({-1, 0, 1, 3, -1}).ok());
  EXPECT_FAILS(regions({-1, 0, 0, 2, -1}),
               "segment 2 goes on with region 0 of the segment before it, and a region is issued at once");
  EXPECT_FAILS(regions({-1, 0, -1, 0, -1}), "launch 3 is of region 0, after launches of region 0 and others");
  EXPECT_FAILS(regions({-1, 1, 0, -1, -1}), "launch 2 is of region 0, after launches of region 1");
  EXPECT_FAILS(regions({-2}), "launch 0 is of region -2");
  PlanBuilder prints("prints");
  prints.argument("x", DType::f32, {4});
  fb::HostLaunchT print;
  print.buffer = prints.buffer(fb::Storage::argument, 0, 0, 16);
  print.dtype = static_cast<uint8_t>(DType::f32);
  print.shape = {4};
  fb::LaunchT &launch = PlanBuilder::predicated(prints.launch("print"));
  launch.op.Set(std::move(print));
  EXPECT_TRUE(verify_with(prints, 0, {}).ok());
  launch.region = 0;
  EXPECT_FAILS(verify_with(prints, 0, {}), "launch 0 prints, and is in region 0");
}

// A product of an argument with itself that another argument becomes.
TEST(PlanDevices, ALibraryCallOfADeviceWritesNoArgument) {
  for (const std::string device : {"cpu", "cuda:0"}) {
    PlanBuilder b("product");
    b.argument("x", DType::f32, {4, 4});
    b.argument("s", DType::f32, {4, 4}, true);
    b.result("y", DType::f32, {4, 4}, 1);
    for (fb::TensorTypeT *type :
         {b.plan.arguments[0]->type.get(), b.plan.arguments[1]->type.get(), b.plan.results[0]->type.get()})
      type->device = device;
    auto part = std::make_unique<fb::DevicePartT>();
    part->name = device;
    b.plan.devices.push_back(std::move(part));
    fb::ContractionLaunchT product;
    product.dtype = static_cast<uint8_t>(DType::f32);
    product.m = product.n = product.k = 4;
    product.a = product.b = b.buffer(fb::Storage::argument, 0, 0, 64);
    product.c = b.buffer(fb::Storage::argument, 1, 0, 64);
    product.a_strides = product.b_strides = product.c_strides = {16, 4, 1};
    PlanBuilder::predicated(b.launch("product")).op.Set(std::move(product));
    const Status status = verify_with(divided(std::move(b)), 0, {});
    if (device == "cpu") {
      EXPECT_TRUE(status.ok()) << status.message();
    } else {
      EXPECT_FAILS(status, "launch 0 'product' (step.cpp:7:3) is a library call on a device, where it does "
                           "not see whether the call has failed, and writes a donated argument");
    }
  }
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
  EXPECT_FAILS(verify([](PlanBuilder &b) { b.plan.launches[0]->device = 0; }), "segment 0 is of device 1");
  EXPECT_FAILS(verify([](PlanBuilder &b) { b.plan.launches[0]->device = b.plan.segments[0]->device = 0; }),
               "segment 0 is a copy that the host is to carry out");
}

} // namespace
