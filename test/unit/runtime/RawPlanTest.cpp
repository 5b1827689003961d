//===- RawPlanTest.cpp - Launches of kernels that the user wrote ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/plan/DeviceImage.h"
#include "runtime/plan/Image.h"
#include "runtime/plan/RawPlan.h"
#include "test/unit/Growth.h"
#include "test/unit/runtime/DeviceImageBytes.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

constexpr uint32_t bytesOfTensor = 400;

/// k(const float *x, float *y, float *z, float a, long long n), of the user, and a fusion.
fb::DeviceImageT image_of_kernels() {
  fb::DeviceImageT image;
  image.architecture = "sm_90";
  for (const char *symbol : {"fused", "raw"}) {
    auto &kernel = image.kernels.emplace_back(std::make_unique<fb::DeviceKernelT>());
    kernel->symbol = symbol;
    kernel->ptx = ".version 9.0";
    kernel->threads = 128;
  }
  fb::DeviceKernelT &raw = *image.kernels[1];
  raw.shared_bytes = 64;
  raw.raw = std::make_unique<fb::RawKernelT>();
  raw.raw->entry = "k";
  raw.raw->parameters = {8, 8, 8, 4, 8};
  return image;
}

template <typename Change> Status loaded(Change change) {
  fb::DeviceImageT image = image_of_kernels();
  change(*image.kernels[1]);
  return DeviceImage::load(bytes_of(image)).status();
}

std::shared_ptr<Image> loaded_image() {
  PackageWriter writer;
  writer.add("image.cuda:sm_90.device", bytes_of(image_of_kernels()));
  return Image::load(*Package::from_memory(writer.finish().value_or_throw()).value_or_throw(),
                     "image.cuda:sm_90")
      .value_or_throw();
}

std::unique_ptr<fb::RawArgumentT> given(int32_t operand, int32_t result, uint64_t bytes = 0,
                                        uint64_t bits = 0) {
  auto made = std::make_unique<fb::RawArgumentT>();
  made->operand = operand;
  made->result = result;
  made->bytes = bytes;
  made->bits = bits;
  return made;
}

/// The launch reads x, changes y, which is an argument, into a temporary, and writes a result.
PlanBuilder plan_of_gpu() {
  PlanBuilder b;
  b.plan.target = "cuda:sm_90";
  b.plan.image = "image.cuda:sm_90";
  b.argument("x", DType::f32, {100});
  b.argument("y", DType::f32, {100});
  b.plan.arguments[1]->donated = true;
  b.result("z", DType::f32, {100});
  b.plan.arena_bytes = 512;
  fb::RawLaunchT raw;
  raw.buffers = {b.buffer(fb::Storage::argument, 0, 0, bytesOfTensor),
                 b.buffer(fb::Storage::argument, 1, 0, bytesOfTensor),
                 b.buffer(fb::Storage::arena, 0, 0, bytesOfTensor),
                 b.buffer(fb::Storage::result, 0, 0, bytesOfTensor)};
  raw.first_result = 2;
  raw.arguments.push_back(given(0, -1));
  raw.arguments.push_back(given(1, 2, bytesOfTensor));
  raw.arguments.push_back(given(-1, 3));
  raw.arguments.push_back(given(-1, -1, 4, 0x40000000));
  raw.arguments.push_back(given(-1, -1, 8, 100));
  raw.grid = {4, 2, 1};
  raw.block = {32, 2, 1};
  raw.shared_bytes = 32;
  fb::LaunchT &launch = b.launch("raw kernel k");
  launch.op.Set(std::move(raw));
  launch.own.push_back(std::make_unique<fb::OwnKernelT>());
  launch.own.back()->symbol = "raw";
  b.plan.devices.push_back(std::make_unique<fb::DevicePartT>());
  b.plan.devices.back()->name = "cuda:0";
  b.plan.devices.back()->arena_bytes = 512;
  for (auto &argument : b.plan.arguments)
    argument->type->device = "cuda:0";
  b.plan.results[0]->type->device = "cuda:0";
  b.plan.segments.push_back(std::make_unique<fb::SegmentT>());
  b.plan.segments.back()->launches = 1;
  return b;
}

fb::RawLaunchT &raw_of(PlanBuilder &b) { return *b.plan.launches[0]->op.AsRawLaunch(); }

template <typename Change> Status verified(Change change) {
  static const std::shared_ptr<Image> image = loaded_image();
  PlanBuilder b = plan_of_gpu();
  change(b);
  return b.verdict(image.get());
}

template <typename Change> Status with_raw(Change change) {
  return verified([&](PlanBuilder &b) { change(raw_of(b)); });
}

} // namespace

TEST(RawPlan, SaysWhatItsKernelIsGiven) {
  const auto image = loaded_image();
  const std::vector<std::byte> bytes = plan_of_gpu().bytes();
  const fb::Plan &plan = *read_plan(bytes).value_or_throw();
  EXPECT_TRUE(verify_plan(plan, 0, image.get()).ok()) << verify_plan(plan, 0, image.get()).message();
  const auto launches = image->device()->own_launches(*plan.launches()->Get(0)).value_or_throw();
  ASSERT_EQ(launches.size(), 1u);
  ASSERT_TRUE(launches[0].raw.has_value());
  const RawForm &form = *launches[0].raw;
  EXPECT_EQ(form.grid, (LaunchExtents{4, 2, 1}));
  EXPECT_EQ(form.block, (LaunchExtents{32, 2, 1}));
  EXPECT_EQ(form.shared_bytes, 32u);
  // An address of what it reads, of the copy that it changes, and of what it writes; then numbers.
  std::vector<int32_t> operands;
  for (const RawParameter &parameter : form.parameters)
    operands.push_back(parameter.operand);
  EXPECT_EQ(operands, (std::vector<int32_t>{0, 2, 3, -1, -1}));
  EXPECT_EQ(form.parameters[3].bytes, 4);
  EXPECT_EQ(form.parameters[3].bits, 0x40000000u);
  ASSERT_EQ(form.copies.size(), 1u);
  EXPECT_EQ(form.copies[0].from, 1u);
  EXPECT_EQ(form.copies[0].to, 2u);
  EXPECT_EQ(form.copies[0].bytes, bytesOfTensor);
}

TEST(RawPlan, WhatIsChangedInPlaceIsNotCopied) {
  const auto image = loaded_image();
  PlanBuilder b = plan_of_gpu();
  raw_of(b).buffers[1] = raw_of(b).buffers[2];
  const std::vector<std::byte> bytes = b.bytes();
  const fb::Plan &plan = *read_plan(bytes).value_or_throw();
  EXPECT_TRUE(verify_plan(plan, 0, image.get()).ok()) << verify_plan(plan, 0, image.get()).message();
  EXPECT_TRUE(
      image->device()->own_launches(*plan.launches()->Get(0)).value_or_throw()[0].raw->copies.empty());
}

TEST(RawPlan, RefusesKernelsThatCannotBeLaunched) {
  EXPECT_TRUE(loaded([](fb::DeviceKernelT &) {}).ok());
  EXPECT_FAILS(loaded([](fb::DeviceKernelT &k) { k.raw->entry.clear(); }), "names no function of its code");
  EXPECT_FAILS(loaded([](fb::DeviceKernelT &k) { k.pointers = {0}; }), "has parameters of kernels of Weft");
  EXPECT_FAILS(loaded([](fb::DeviceKernelT &k) { k.takes_predicate = true; }),
               "has parameters of kernels of Weft");
  EXPECT_FAILS(loaded([](fb::DeviceKernelT &k) { k.raw->parameters = {4096, 8}; }),
               "has parameters of 4104 bytes, more than 4096");
  EXPECT_FAILS(loaded([](fb::DeviceKernelT &k) { k.product = std::make_unique<fb::ProductKernelT>(); }),
               "is of more than one of a product, attention, a convolution, a sort, and the user");
}

TEST(RawPlan, RefusesLaunchesThatAreWrongByThemselves) {
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.first_result = 4; }), "it would write nothing");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.buffers[0] = 9; }), "has buffer 9 of 4");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.grid = {-1, 1, 1}; }), "has a grid of [-1, 1, 1] blocks");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.grid = {1, 65536, 1}; }),
               "has a grid of [1, 65536, 1] blocks");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.block = {32, 0, 1}; }), "has blocks of [32, 0, 1] threads");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.block.pop_back(); }), "has blocks of [32, 2] threads");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.arguments[0]->operand = 2; }),
               "gives parameter 0 operand 2 and result -1, which are not there");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.arguments[2]->result = 1; }), "which are not there");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.arguments[3]->bytes = 3; }), "a number of 3 bytes");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.arguments[3]->size = 7; }),
               "the size 7 as a number of 4 bytes");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.arguments[0]->size = 7; }), "the size 7 as a number of");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.arguments[1]->bytes = 404; }),
               "a buffer that is not of 404 bytes to change");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.arguments[0]->operand = 1; }),
               "gives its kernel buffer 0 of 4 for 0 parameters, expected one");
  EXPECT_FAILS(verified([](PlanBuilder &b) { b.plan.launches[0]->may_fail = true; }),
               "is marked as one that may fail");
}

TEST(RawPlan, RefusesLaunchesThatDoNotFitTheirKernel) {
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.block = {129, 1, 1}; }),
               "has blocks of 129 threads, and its kernel was made for up to 128");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.shared_bytes = 65; }),
               "asks for 65 bytes of shared memory, and its kernel was made for up to 64");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.arguments.pop_back(); }),
               "gives 4 parameters, and its kernel takes 5");
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.arguments[3]->bytes = 8; }),
               "gives 8 bytes for parameter 3, and its kernel takes 4");
  EXPECT_FAILS(verified([](PlanBuilder &b) { b.plan.launches[0]->own[0]->symbol = "fused"; }),
               "is of a kernel of the user, and 'fused' is another");
  EXPECT_FAILS(verified([](PlanBuilder &b) { b.plan.launches[0]->own[0]->symbol = "gone"; }),
               "is carried out by 'gone', which is no kernel of sm_90");
  EXPECT_FAILS(verified([](PlanBuilder &b) { b.plan.launches[0]->own.clear(); }),
               "has 0 kernels of our own, expected 1");
  EXPECT_FAILS(verified([](PlanBuilder &b) { b.plan.image = "image.cpu"; }),
               "is of a kernel for a GPU, and runs on the host");
}

TEST(RawPlan, RefusesWritesToWhatSomethingElseHas) {
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.buffers[3] = r.buffers[2]; }),
               "writes buffer 2, which shares bytes with its buffer 3");
  EXPECT_FAILS(verified([](PlanBuilder &b) {
                 raw_of(b).buffers[0] = b.buffer(fb::Storage::arena, 0, 256, bytesOfTensor - 256);
               }),
               "shares bytes with its buffer 0");
  // An argument is written by kernels that see whether the call has failed.
  EXPECT_FAILS(with_raw([](fb::RawLaunchT &r) { r.buffers[2] = r.buffers[1]; }),
               "writes a donated argument whether or not the call has failed");
  EXPECT_FAILS(verified([](PlanBuilder &b) {
                 raw_of(b).buffers[2] = raw_of(b).buffers[1];
                 b.plan.launches[0]->predicate = fb::Predicate::failure;
               }),
               "is a kernel of the user on a device, where it does not see whether the call has failed");
}

TEST(RawPlan, DamagedBytesAreRefusedOrHarmless) {
  const auto image = loaded_image();
  const std::vector<std::byte> bytes = plan_of_gpu().bytes();
  std::mt19937 random(7);
  size_t accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> damaged = bytes;
    for (int changes = 1 + static_cast<int>(random() % 3); changes; --changes)
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    const Expected<const fb::Plan *> plan = read_plan(damaged);
    if (!plan || !verify_plan(**plan, 0, image.get()).ok())
      continue;
    ++accepted;
    for (uint32_t launch = 0; launch < (*plan)->launches()->size(); ++launch)
      EXPECT_TRUE(image->device()->own_launches(*(*plan)->launches()->Get(launch)).status().ok());
  }
  EXPECT_GT(accepted, 0u);
}

// Buffers are sorted, and not compared pair by pair.
TEST(RawPlan, MayHaveThousandsOfBuffers) {
  const auto problem = [](uint32_t count, const std::function<void(PlanBuilder &)> &change) {
    PlanBuilder b;
    b.plan.arena_bytes = count * 64;
    fb::RawLaunchT raw;
    raw.first_result = count / 2;
    raw.grid = {1, 1, 1};
    raw.block = {1, 1, 1};
    for (uint32_t i = 0; i < count; ++i) {
      raw.buffers.push_back(b.buffer(fb::Storage::arena, 0, uint64_t(i * 7919 % count) * 64, 64));
      raw.arguments.push_back(i < count / 2 ? given(static_cast<int>(i), -1)
                                            : given(-1, static_cast<int>(i)));
    }
    b.launch("raw kernel k").op.Set(std::move(raw));
    change(b);
    const std::vector<std::byte> bytes = b.bytes();
    const fb::Plan &plan = *fb::GetPlan(bytes.data());
    return raw_launch_problem(*plan.launches()->Get(0)->op_as_RawLaunch(), plan);
  };
  EXPECT_EQ(problem(20'000, [](PlanBuilder &) {}), "");
  EXPECT_EQ(problem(20'000,
                    [](PlanBuilder &b) {
                      b.plan.buffers[5]->offset = b.plan.buffers[19'999]->offset + 32;
                      b.plan.buffers[5]->bytes = 8;
                    }),
            "writes buffer 19999, which shares bytes with its buffer 5");
  // Buffers that are read may share bytes.
  EXPECT_EQ(
      problem(20'000, [](PlanBuilder &b) { b.plan.buffers[5]->offset = b.plan.buffers[9'999]->offset; }), "");
  EXPECT_EQ(problem(20'000,
                    [](PlanBuilder &b) { b.plan.buffers[15'000]->offset = b.plan.buffers[19'999]->offset; }),
            "writes buffer 15000, which shares bytes with its buffer 19999");
  const double growth = weft::test::costOfFourTimes(
      4'000, [&](int size) { EXPECT_EQ(problem(static_cast<uint32_t>(size), [](PlanBuilder &) {}), ""); });
  EXPECT_LT(growth, 8) << "each buffer is compared with each other one";
}
