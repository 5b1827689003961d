//===- KernelSignatureTest.cpp - Plans and the kernels that they launch -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/plan/DynamicPlan.h"
#include "runtime/plan/KernelSignature.h"
#include "runtime/plan/PlanVerifier.h"

#include <functional>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

constexpr uint64_t binding = 7;

/// y = kernel(x), of 8 elements, with scratch; and a second kernel.
PlanBuilder twice() {
  PlanBuilder b("twice");
  b.argument("x", DType::f32, {8});
  b.result("y", DType::f32, {8});
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, 32), y = b.buffer(fb::Storage::result, 0, 0, 32);
  b.kernel("twice", {x, y}, 1, 4).op.AsKernelLaunch()->scratch_bytes = 64;
  b.kernel("checked", {y, y}, 1, 2);
  b.check(4, "step.cpp", 7, 3);
  return b;
}

/// An image of both kernels, which return at once, with the signatures of a plan.
std::vector<std::byte> image_of(const KernelSigner &signer, uint64_t of = binding) {
  const std::vector<std::byte> text(64, std::byte{0xc3}), signatures = signer.bytes();
  ImageLayout layout;
  layout.text = text;
  layout.symbols = {{"twice", 0}, {"checked", 16}};
  layout.signatures = signatures;
  layout.binding = of;
  return build_image(layout);
}

/// The verdict on a plan that was changed after it was signed.
Status verdict(PlanBuilder b, const std::function<void(PlanBuilder &)> &change) {
  KernelSigner signer;
  signer.sign(b.plan);
  const auto image = Image::load(image_of(signer)).value_or_throw();
  change(b);
  return b.verdict(image.get());
}

fb::KernelLaunchT &kernel(PlanBuilder &b, size_t launch = 0) {
  return *b.plan.launches[launch]->op.AsKernelLaunch();
}

TEST(KernelSignature, EveryNumberOfALaunchIsCompared) {
  EXPECT_TRUE(verdict(twice(), [](PlanBuilder &) {}).ok());
  const auto refused = [](const char *message, const std::function<void(PlanBuilder &)> &change) {
    const Status status = verdict(twice(), change);
    EXPECT_FAILS(status, message);
    EXPECT_EQ(status.code(), "WEFT-L008");
  };
  refused("launch 0 'twice' (step.cpp:7:3) has 1 operands and results, and its kernel was compiled for 2",
          [](PlanBuilder &b) { kernel(b).buffers.pop_back(); });
  refused("has 3 operands and results", [](PlanBuilder &b) { kernel(b).buffers.push_back(1); });
  refused("has 0 operands that it reads, and its kernel was compiled for 1", [](PlanBuilder &b) {
    kernel(b).first_result = 0;
    b.plan.arguments[0]->donated = true;
    b.plan.launches.pop_back();
  });
  refused("has 16 bytes for operand 0, and its kernel was compiled for 32",
          [](PlanBuilder &b) { b.plan.buffers[0]->bytes = 16; });
  refused("has 28 bytes for operand 1", [](PlanBuilder &b) { b.plan.buffers[1]->bytes = 28; });
  refused("has 5 tasks, and its kernel was compiled for 4", [](PlanBuilder &b) { kernel(b).tasks = 5; });
  refused("has 1 tasks", [](PlanBuilder &b) { kernel(b).tasks = 1; });
  refused("has 0 bytes of scratch, and its kernel was compiled for 64",
          [](PlanBuilder &b) { kernel(b).scratch_bytes = 0; });
  refused("has 1 run-time sizes, and its kernel was compiled for 0",
          [](PlanBuilder &b) { kernel(b).sizes = {3}; });
  refused("keeps to signature 2 of 2", [](PlanBuilder &b) { kernel(b).signature = 2; });
  refused("keeps to signature 1, which is that of 'checked'",
          [](PlanBuilder &b) { kernel(b).signature = 1; });
  refused("keeps to signature 0, which is that of 'twice'",
          [](PlanBuilder &b) { kernel(b).symbol = "checked"; });
  // A kernel that fails writes its record, and must be given one.
  refused("may not fail, and its kernel can", [](PlanBuilder &b) { b.plan.launches[1]->may_fail = false; });
  refused("may fail, and its kernel cannot", [](PlanBuilder &b) { b.plan.launches[0]->may_fail = true; });
}

/// The same with n elements: 4 * n bytes, n rounded up to a half of tasks.
PlanBuilder dynamic() {
  PlanBuilder b("twice");
  b.symbol("n", 1, 100);
  const int64_t n = b.size(1), bytes = b.size(4), half = b.size(1, 2);
  b.argument("x", DType::f32, {n});
  b.result("y", DType::f32, {n});
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, static_cast<uint64_t>(bytes)),
                 y = b.buffer(fb::Storage::result, 0, 0, static_cast<uint64_t>(bytes));
  b.kernel("twice", {x, y}, 1, half).op.AsKernelLaunch()->sizes = {n};
  return b;
}

TEST(KernelSignature, SizesOfACallAreThoseOfTheKernel) {
  const auto at_five = [](const std::function<void(PlanBuilder &)> &change) {
    PlanBuilder b = dynamic();
    KernelSigner signer;
    signer.sign(b.plan);
    const auto image = Image::load(image_of(signer)).value_or_throw();
    change(b);
    const std::vector<std::byte> bytes = b.bytes();
    const int64_t n = 5;
    const auto numbers = plan_of_numbers(**read_plan(bytes), std::span(&n, 1)).value_or_throw();
    return verify_plan(**read_plan(std::as_bytes(std::span(numbers))), 0, image.get());
  };
  const Status good = at_five([](PlanBuilder &) {});
  EXPECT_TRUE(good.ok()) << good.message();
  // The kernel would go through 6 elements of 5.
  EXPECT_FAILS(at_five([](PlanBuilder &b) { kernel(b).sizes = {6}; }),
               "has 20 bytes for operand 0, and its kernel was compiled for 24");
  EXPECT_FAILS(at_five([](PlanBuilder &b) { kernel(b).tasks = 2; }),
               "has 2 tasks, and its kernel was compiled for 3");
  EXPECT_FAILS(at_five([](PlanBuilder &b) { b.plan.sizes[2]->divisor = 1; }),
               "has 5 tasks, and its kernel was compiled for 3");
}

TEST(KernelSignature, DamagedSignaturesAreRefused) {
  KernelSigner signer;
  PlanBuilder b = dynamic();
  signer.sign(b.plan);
  const std::vector<std::byte> good = image_of(signer);
  const size_t bytes = signer.bytes().size();
  EXPECT_TRUE(Image::load(good).ok());
  int refused = 0;
  for (size_t i = good.size() - bytes; i < good.size(); ++i)
    for (unsigned mask : {1u, 0x80u, 0xffu}) {
      std::vector<std::byte> damaged = good;
      damaged[i] ^= static_cast<std::byte>(mask);
      const auto image = Image::load(damaged);
      refused += !image.ok();
      const int64_t n = 5;
      const std::vector<std::byte> plan = b.bytes();
      const auto numbers = plan_of_numbers(**read_plan(plan), std::span(&n, 1)).value_or_throw();
      if (image)
        (void)verify_plan(**read_plan(std::as_bytes(std::span(numbers))), 0, image->get());
    }
  EXPECT_GT(refused, 20);
}

TEST(KernelSignature, APlanIsBoundToItsKernels) {
  PlanBuilder b = twice();
  KernelSigner signer;
  signer.sign(b.plan);
  const std::vector<std::byte> plan = b.bytes();
  const auto load = [&](const std::vector<std::byte> &of_plan, uint64_t seal, uint64_t of_image) {
    PackageWriter writer;
    writer.add("image.cpu.x86-64", std::vector<std::byte>(1));
    writer.add("plan.twice.cpu", of_plan);
    if (seal)
      writer.add("seal.twice.cpu", std::as_bytes(std::span(&seal, 1)));
    const auto package = Package::from_memory(writer.finish().value_or_throw()).value_or_throw();
    return Executable::load(package, "twice", Image::load(image_of(signer, of_image)).value_or_throw())
        .status();
  };
  const uint64_t seal = plan_seal(plan, binding);
  EXPECT_TRUE(load(plan, seal, binding).ok()) << load(plan, seal, binding).message();
  const auto refused = [](const Status &status) {
    EXPECT_FAILS(status, "the plan of 'twice' and its kernels were not made together");
    EXPECT_EQ(status.code(), "WEFT-L016");
  };
  refused(load(plan, seal, binding + 1));
  refused(load(plan, seal + 1, binding));
  b.plan.launches.pop_back();
  refused(load(b.bytes(), seal, binding));
  EXPECT_FAILS(load(plan, 0, binding), "has no section 'seal.twice.cpu'");
}

} // namespace
