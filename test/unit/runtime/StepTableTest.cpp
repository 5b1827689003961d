//===- StepTableTest.cpp - Kernels over a table of tensors -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/plan/DynamicPlan.h"
#include "runtime/plan/KernelSignature.h"
#include "runtime/plan/PlanVerifier.h"
#include "runtime/plan/StepTable.h"

#include <functional>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

constexpr int64_t chunk = 8;

/// Steps of two groups, p' = f(p, g, rate): tensors of f32 with these numbers of elements, and one of f64.
PlanBuilder steps(const std::vector<int64_t> &elements) {
  PlanBuilder b("steps");
  fb::KernelLaunchT kernel;
  kernel.symbol = "steps";
  kernel.chunk = chunk;
  const auto argument = [&](uint64_t bytes, DType dtype, int64_t count, bool donated) {
    const uint32_t number = b.argument("", dtype, {count}, donated);
    return b.buffer(fb::Storage::argument, number, 0, bytes);
  };
  const uint32_t rate = argument(8, DType::f64, 1, false), skip = argument(1, DType::i1, 1, false);
  kernel.buffers = {rate, skip, rate};
  std::vector<uint32_t> written;
  const auto step = [&](DType dtype, int64_t count) {
    const auto bytes = static_cast<uint64_t>(count) * itemsize(dtype);
    const uint32_t p = argument(bytes, dtype, count, true), g = argument(bytes, dtype, count, false);
    kernel.buffers.insert(kernel.buffers.end(), {p, g});
    written.push_back(p);
    kernel.sizes.push_back(count);
    kernel.tasks += (count + chunk - 1) / chunk;
  };
  const auto group = [&](size_t count, std::vector<int64_t> numbers, size_t item) {
    auto made = std::make_unique<fb::StepGroupT>();
    made->steps = static_cast<uint32_t>(count);
    made->number_bytes = std::move(numbers);
    made->reads = 2;
    made->writes = 1;
    made->item = static_cast<uint32_t>(item);
    kernel.groups.push_back(std::move(made));
  };
  for (const int64_t count : elements)
    step(DType::f32, count);
  step(DType::f64, 5);
  group(elements.size(), {8, 1}, 4);
  group(1, {8}, 8);
  kernel.first_result = static_cast<uint32_t>(kernel.buffers.size());
  kernel.buffers.insert(kernel.buffers.end(), written.begin(), written.end());
  PlanBuilder::predicated(b.launch("steps")).op.Set(std::move(kernel));
  return b;
}

fb::KernelLaunchT &kernel(PlanBuilder &b) { return *b.plan.launches[0]->op.AsKernelLaunch(); }

std::shared_ptr<const Image> image_of(const KernelSigner &signer) {
  const std::vector<std::byte> text(64, std::byte{0xc3}), signatures = signer.bytes();
  ImageLayout layout;
  layout.text = text;
  layout.symbols = {{"steps", 0}};
  layout.signatures = signatures;
  layout.binding = 7;
  return Image::load(build_image(layout)).value_or_throw();
}

/// The verdict on a plan that was changed after its kernel was made.
Status verdict(PlanBuilder b, const std::function<void(PlanBuilder &)> &change) {
  KernelSigner signer;
  signer.sign(b.plan);
  const auto image = image_of(signer);
  change(b);
  return b.verdict(image.get());
}

TEST(StepTable, IsTasksElementsAndPlacesOfEachStep) {
  const std::vector<StepGroupCounts> groups{{3, 2, 4, 3}, {1, 1, 2, 1}};
  const std::vector<int64_t> elements{20, 0, 8, 9};
  EXPECT_EQ(step_table(groups, elements, chunk), (std::vector<int64_t>{3, 4,         // rows of the groups end
                                                                       0, 20, 3, 17, // 3 numbers come first
                                                                       3, 0, 7, 20,  // nothing to do
                                                                       3, 8, 11, 23, //
                                                                       4, 9, 15, 26, //
                                                                       6}));         // tasks
  EXPECT_EQ(step_tasks(elements, chunk), 6);
  EXPECT_EQ(step_tasks(std::vector<int64_t>{4, -1}, chunk), std::nullopt);
  EXPECT_EQ(step_tasks(std::vector<int64_t>{INT64_MAX, INT64_MAX}, 1), std::nullopt);
  EXPECT_EQ(step_tasks(elements, 0), std::nullopt);
}

TEST(StepTable, OneSignatureIsThatOfAnyNumberOfTensors) {
  KernelSigner signer;
  PlanBuilder few = steps({20, 8, 3}), many = steps(std::vector<int64_t>(300, 11));
  signer.sign(few.plan);
  const std::vector<std::byte> before = signer.bytes();
  signer.sign(many.plan);
  EXPECT_EQ(signer.bytes(), before);
  const auto image = image_of(signer);
  for (const PlanBuilder *b : {&few, &many}) {
    const std::vector<std::byte> bytes = b->bytes();
    const Status status = verify_plan(**read_plan(bytes), 0, image.get());
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(StepTable, ADamagedOneIsRefused) {
  const auto good = [] { return steps({20, 0, 3}); };
  EXPECT_TRUE(verdict(good(), [](PlanBuilder &) {}).ok());
  const auto refused = [&](const char *message, const std::function<void(fb::KernelLaunchT &)> &change) {
    const auto damage = [&](PlanBuilder &b) { change(kernel(b)); };
    EXPECT_FAILS(verdict(good(), damage), message);
    EXPECT_EQ(verdict(good(), damage).code(), "WEFT-L008") << message;
  };
  using Kernel = fb::KernelLaunchT;
  // The kernel would go through 21 elements of 20.
  refused("has 80 bytes for operand 3, and its table of tensors has 84", [](Kernel &k) { k.sizes[0] = 21; });
  refused("has 80 bytes for operand 3, and its table of tensors has 32", [](Kernel &k) { k.sizes[0] = 8; });
  refused("has the size -20 in its table", [](Kernel &k) { k.sizes[0] = -20; });
  refused("has the size 9223372036854775807 in its table", [](Kernel &k) { k.sizes[0] = INT64_MAX; });
  refused("has 80 bytes for operand 3, and its table of tensors has 12",
          [](Kernel &k) { std::swap(k.sizes[0], k.sizes[2]); });
  refused("has 5 run-time sizes, and its table of tensors has 4", [](Kernel &k) { k.sizes.push_back(0); });
  refused("has 3 run-time sizes, and its table of tensors has 4", [](Kernel &k) { k.sizes.pop_back(); });
  // A tensor that is smaller than the others of its step, read or written.
  refused("has 12 bytes for operand 4, and its table of tensors has 80",
          [](Kernel &k) { k.buffers[4] = k.buffers[8]; });
  refused("has 12 bytes for operand 14, and its table of tensors has 40",
          [](Kernel &k) { k.buffers[14] = k.buffers[13]; });
  refused("has 14 operands and results, and its table of tensors has 15",
          [](Kernel &k) { k.buffers.pop_back(); });
  refused("has 12 operands that it reads, and its table of tensors has 11",
          [](Kernel &k) { k.first_result = 12; });
  refused("has 8 bytes for operand 1, and its table of tensors has 1", [](Kernel &k) { k.buffers[1] = 0; });
  refused("has 6 tasks, and its table of tensors has 5", [](Kernel &k) { k.tasks = 6; });
  refused("has 4 tasks, and its table of tensors has 5", [](Kernel &k) { k.tasks = 4; });
  // The table matches the plan, but the kernel was made for another table.
  refused("has a table of tensors of another kind than its kernel", [](Kernel &k) {
    k.chunk = 16;
    k.tasks = 4;
  });
  refused("has a table of tensors in chunks of 0 elements", [](Kernel &k) { k.chunk = 0; });
  refused("has a table of tensors in chunks of -8 elements", [](Kernel &k) { k.chunk = -8; });
  refused("has 4 run-time sizes, and its table of tensors has 0", [](Kernel &k) { k.groups.clear(); });
  refused("has 4 run-time sizes, and its table of tensors has 3", [](Kernel &k) { k.groups[0]->steps = 2; });
  refused("has 4 run-time sizes, and its table of tensors has 4294967296",
          [](Kernel &k) { k.groups[0]->steps = UINT32_MAX; });
  refused("has the group of steps 0 of 65 and 1 tensors", [](Kernel &k) { k.groups[0]->reads = 65; });
  refused("has the group of steps 1 of 2 and 1 tensors of 0 bytes", [](Kernel &k) { k.groups[1]->item = 0; });
  refused("has 80 bytes for operand 3, and its table of tensors has 160",
          [](Kernel &k) { k.groups[0]->item = 8; });
  refused("has 8 bytes for operand 0, and its table of tensors has 4",
          [](Kernel &k) { k.groups[0]->number_bytes[0] = 4; });
  // Two tensors read and one written are as many as one read and two written.
  refused("has 11 operands that it reads, and its table of tensors has 7", [](Kernel &k) {
    for (auto &group : k.groups)
      std::swap(group->reads, group->writes);
  });
  // A step of the first group in the second, whose element is larger.
  refused("bytes for operand", [](Kernel &k) {
    k.groups[0]->steps = 2;
    k.groups[1]->steps = 2;
  });
}

TEST(StepTable, AKernelWithoutOneTakesNone) {
  PlanBuilder b("plain");
  b.argument("x", DType::f32, {8}, true);
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, 32);
  PlanBuilder::predicated(b.kernel("steps", {x, x}, 1, 1));
  const auto table = [](PlanBuilder &plan) {
    fb::KernelLaunchT &launch = kernel(plan);
    launch.chunk = chunk;
    launch.sizes = {8};
    auto group = std::make_unique<fb::StepGroupT>();
    group->steps = group->reads = group->writes = 1;
    group->item = 4;
    launch.groups.push_back(std::move(group));
  };
  EXPECT_TRUE(verdict(b, [](PlanBuilder &) {}).ok());
  EXPECT_FAILS(verdict(b, table), "has a table of tensors of another kind than its kernel");
  PlanBuilder with("plain");
  with.argument("x", DType::f32, {8}, true);
  with.buffer(fb::Storage::argument, 0, 0, 32);
  PlanBuilder::predicated(with.kernel("steps", {0, 0}, 1, 1));
  table(with);
  EXPECT_TRUE(verdict(with, [](PlanBuilder &) {}).ok());
  EXPECT_FAILS(verdict(with,
                       [](PlanBuilder &plan) {
                         kernel(plan).chunk = 0;
                         kernel(plan).groups.clear();
                         kernel(plan).sizes.clear();
                       }),
               "has a table of tensors of another kind than its kernel");
}

TEST(StepTable, SizesOfACallMakeItsTasks) {
  PlanBuilder b = steps({20, 20});
  b.symbol("n", 1, 100);
  const int64_t n = b.size(1), bytes = b.size(4);
  for (const uint32_t buffer : {2u, 3u}) { // p and g of the first step
    b.plan.arguments[buffer]->type->shape = {n};
    b.plan.buffers[buffer]->bytes = static_cast<uint64_t>(bytes);
  }
  kernel(b).sizes[0] = n;
  kernel(b).tasks = 100; // what the compiler can say
  KernelSigner signer;
  signer.sign(b.plan);
  const auto image = image_of(signer);
  const std::vector<std::byte> plan = b.bytes();
  for (const int64_t count : {1, 8, 9, 100}) {
    const auto numbers = plan_of_numbers(**read_plan(plan), std::span(&count, 1)).value_or_throw();
    const fb::Plan &made = **read_plan(std::as_bytes(std::span(numbers)));
    const Status status = verify_plan(made, 0, image.get());
    EXPECT_TRUE(status.ok()) << status.message();
    const fb::KernelLaunch &launch = *made.launches()->Get(0)->op_as_KernelLaunch();
    EXPECT_EQ(launch.tasks(), (count + 7) / 8 + 3 + 1) << count;
    EXPECT_EQ(step_table(launch)[3], count); // elements of the first row, after two ends and a task
  }
  kernel(b).sizes[0] = bytes;
  const std::vector<std::byte> other = b.bytes();
  const int64_t five = 5;
  const auto numbers = plan_of_numbers(**read_plan(other), std::span(&five, 1)).value_or_throw();
  EXPECT_FAILS(verify_plan(**read_plan(std::as_bytes(std::span(numbers))), 0, image.get()),
               "has 20 bytes for operand 3, and its table of tensors has 80");
}

} // namespace
