//===- PlanVerifierTest.cpp - Every rule of the plan verifier -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/PlanVerifier.h"

#include <functional>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

void nothing(const KernelFrame *, int64_t, int64_t) {}

// Two arguments (the second donated, result 1 tied to it), a kernel that checks, a product, an update.
PlanBuilder good() {
  PlanBuilder b("step");
  b.argument("x", DType::f32, {4, 4});
  b.argument("state", DType::f32, {4, 4}, true);
  b.result("y", DType::f32, {4, 4});
  b.result("state", DType::f32, {4, 4}, 1);
  b.plan.arena_bytes = 128;
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, 64),
                 state = b.buffer(fb::Storage::argument, 1, 0, 64),
                 y = b.buffer(fb::Storage::result, 0, 0, 64), t = b.buffer(fb::Storage::arena, 0, 64, 64),
                 k = b.buffer(fb::Storage::constant, 0, 0, 64), out = b.buffer(fb::Storage::result, 1, 0, 64);
  b.kernel("guard", {x, t}, 1, 4).may_fail = true;
  fb::ContractionLaunchT product;
  product.dtype = static_cast<uint8_t>(DType::f32);
  product.m = product.n = product.k = 4;
  product.a = t;
  product.b = k;
  product.c = y;
  product.a_strides = product.b_strides = product.c_strides = {16, 4, 1};
  product.bias = static_cast<int>(x);
  b.launch("product").op.Set(std::move(product));
  b.kernel("update", {y, state, out}, 2, 4);
  fb::CopyLaunchT copy;
  copy.source = x;
  copy.destination = t;
  b.launch("copy").op.Set(copy);
  return b;
}

Status verify(const PlanBuilder &builder, uint64_t constant_bytes = 64) {
  const auto image = Image::from_functions({{"guard", nothing}, {"update", nothing}});
  const std::vector<std::byte> bytes = builder.bytes();
  const Expected<const fb::Plan *> plan = read_plan(bytes);
  return plan ? verify_plan(**plan, constant_bytes, image.get()) : plan.status();
}

TEST(PlanVerifier, AcceptsAGoodPlan) {
  const Status status = verify(good());
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(PlanVerifier, NamesEveryBrokenRule) {
  const auto kernel = [](PlanBuilder &b, size_t i) -> fb::KernelLaunchT & {
    return *b.plan.launches[i]->op.AsKernelLaunch();
  };
  const auto product = [](PlanBuilder &b) -> fb::ContractionLaunchT & {
    return *b.plan.launches[1]->op.AsContractionLaunch();
  };
  const struct {
    const char *message;
    std::function<void(PlanBuilder &)> damage;
  } cases[] = {
      {"has no name", [](PlanBuilder &b) { b.plan.target.clear(); }},
      {"kernel ABI is 9", [](PlanBuilder &b) { b.plan.kernel_abi = 9; }},
      {"arena of", [](PlanBuilder &b) { b.plan.arena_bytes = 1ull << 60; }},
      {"argument 0 'x' has no type", [](PlanBuilder &b) { b.plan.arguments[0]->type = nullptr; }},
      {"unknown element type 77", [](PlanBuilder &b) { b.plan.arguments[0]->type->dtype = 77; }},
      {"negative extent -4", [](PlanBuilder &b) { b.plan.results[0]->type->shape[0] = -4; }},
      {"more bytes than",
       [](PlanBuilder &b) { b.plan.arguments[0]->type->shape = {1ll << 40, 1ll << 40, 0}; }},
      {"tied to argument 5 of 2", [](PlanBuilder &b) { b.plan.results[1]->tied_to = 5; }},
      {"tied to argument -3", [](PlanBuilder &b) { b.plan.results[1]->tied_to = -3; }},
      {"which is not donated", [](PlanBuilder &b) { b.plan.results[1]->tied_to = 0; }},
      {"has another type than", [](PlanBuilder &b) { b.plan.results[1]->type->shape = {2, 8}; }},
      {"as another result is", [](PlanBuilder &b) { b.plan.results[0]->tied_to = 1; }},
      {"lies in argument 7 of 2", [](PlanBuilder &b) { b.plan.buffers[0]->index = 7; }},
      {"lies in result 7 of 2", [](PlanBuilder &b) { b.plan.buffers[2]->index = 7; }},
      {"lies outside argument 0", [](PlanBuilder &b) { b.plan.buffers[0]->offset = 1; }},
      {"lies outside result 0", [](PlanBuilder &b) { b.plan.buffers[2]->bytes = 65; }},
      {"lies outside the arena", [](PlanBuilder &b) { b.plan.buffers[3]->offset = UINT64_MAX; }},
      {"lies outside the constants", [](PlanBuilder &b) { b.plan.buffers[4]->bytes = UINT64_MAX; }},
      {"unknown storage", [](PlanBuilder &b) { b.plan.buffers[0]->storage = static_cast<fb::Storage>(9); }},
      {"launch 2 'update' (step.cpp:7:3) has no operation",
       [](PlanBuilder &b) { b.plan.launches[2]->op.Reset(); }},
      {"no kernel 'lost'", [&](PlanBuilder &b) { kernel(b, 0).symbol = "lost"; }},
      {"names no kernel", [&](PlanBuilder &b) { kernel(b, 0).symbol.clear(); }},
      {"has -1 tasks", [&](PlanBuilder &b) { kernel(b, 0).tasks = -1; }},
      {"in runs of 0", [&](PlanBuilder &b) { kernel(b, 0).grain = 0; }},
      {"too many tasks", [&](PlanBuilder &b) { kernel(b, 0).tasks = kernel(b, 0).grain = INT64_MAX; }},
      {"of scratch", [&](PlanBuilder &b) { kernel(b, 0).scratch_bytes = 1ull << 40; }},
      {"first result 3 of 2", [&](PlanBuilder &b) { kernel(b, 0).first_result = 3; }},
      {"operand 1 is buffer 99 of 6", [&](PlanBuilder &b) { kernel(b, 0).buffers[1] = 99; }},
      {"writes argument 0, which is not donated", [&](PlanBuilder &b) { kernel(b, 0).first_result = 0; }},
      {"writes a constant", [&](PlanBuilder &b) { kernel(b, 0).buffers[1] = 4; }},
      {"may fail: a failing call", [&](PlanBuilder &b) { b.plan.launches[2]->may_fail = true; }},
      {"may fail: a failing call", [&](PlanBuilder &b) { b.plan.launches[3]->may_fail = true; }},
      {"element type number 0", [&](PlanBuilder &b) { product(b).dtype = 0; }},
      {"element type number 200", [&](PlanBuilder &b) { product(b).dtype = 200; }},
      {"are negative or too large", [&](PlanBuilder &b) { product(b).m = -1; }},
      {"are negative or too large", [&](PlanBuilder &b) { product(b).batch = product(b).k = 1ll << 40; }},
      {"operand a is buffer 50", [&](PlanBuilder &b) { product(b).a = 50; }},
      {"operand b has 2 strides", [&](PlanBuilder &b) { product(b).b_strides.pop_back(); }},
      {"operand b has negative stride", [&](PlanBuilder &b) { product(b).b_strides[1] = -4; }},
      {"reaches beyond", [&](PlanBuilder &b) { product(b).a_strides[1] = INT64_MAX; }},
      {"operand a reaches over 80 bytes", [&](PlanBuilder &b) { product(b).m = 5; }},
      {"elements of c share memory", [&](PlanBuilder &b) { product(b).c_strides = {16, 3, 1}; }},
      {"elements of c share memory", [&](PlanBuilder &b) { product(b).c_strides = {16, 4, 0}; }},
      {"bias is buffer 70", [&](PlanBuilder &b) { product(b).bias = 70; }},
      {"bias is buffer -7", [&](PlanBuilder &b) { product(b).bias = -7; }},
      {"c overlaps the bias", [&](PlanBuilder &b) { product(b).bias = 2; }},
      {"c overlaps an operand", [&](PlanBuilder &b) { product(b).a = 2; }},
      {"copies buffer 0 to 88",
       [](PlanBuilder &b) { b.plan.launches[3]->op.AsCopyLaunch()->destination = 88; }},
      {"overlapping ranges", [](PlanBuilder &b) { b.plan.launches[3]->op.AsCopyLaunch()->destination = 0; }},
      {"copies 64 bytes to 32",
       [](PlanBuilder &b) {
         b.plan.launches[3]->op.AsCopyLaunch()->destination = b.buffer(fb::Storage::arena, 0, 0, 32);
       }},
  };
  for (const auto &item : cases) {
    PlanBuilder builder = good();
    item.damage(builder);
    EXPECT_FAILS(verify(builder), item.message);
  }
  EXPECT_FAILS(verify(good(), 63), "lies outside the constants of 63 bytes");
}

TEST(PlanVerifier, ProductsOfNothingShareNothing) {
  PlanBuilder builder = good();
  // Without columns the rows have no distance.
  for (auto &launch : builder.plan.launches)
    if (fb::ContractionLaunchT *product = launch->op.AsContractionLaunch()) {
      product->n = 0;
      product->bias = -1;
      product->c_strides = {0, 0, 1};
    }
  const Status status = verify(builder);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(PlanVerifier, FlippedBytesNeverCrash) {
  const auto image = Image::from_functions({{"guard", nothing}, {"update", nothing}});
  const std::vector<std::byte> bytes = good().bytes();
  int accepted = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    for (unsigned mask : {1u, 2u, 4u, 0x10u, 0x80u, 0xffu}) {
      std::vector<std::byte> damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(mask);
      const Expected<const fb::Plan *> plan = read_plan(damaged);
      accepted += plan.ok() && verify_plan(**plan, 64, image.get()).ok();
    }
  // Names and counters may change; most other changes are caught.
  EXPECT_LT(accepted, static_cast<int>(bytes.size() * 6 / 2));
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(read_plan(std::span(bytes).first(length)).ok() && length + 8 < bytes.size() / 2);
}

// A print of x and a check of a condition of four truth values after it.
PlanBuilder hosted() {
  PlanBuilder b("hosted");
  b.argument("x", DType::f32, {4, 4});
  b.argument("c", DType::i1, {4});
  b.result("x", DType::f32, {16});
  b.plan.results[0]->alias_argument = 0;
  fb::HostLaunchT print;
  print.buffer = b.buffer(fb::Storage::argument, 0, 0, 64);
  print.dtype = static_cast<uint8_t>(DType::f32);
  print.shape = {4, 4};
  b.launch("print").op.Set(print);
  fb::HostLaunchT require;
  require.action = fb::HostAction::require;
  require.buffer = b.buffer(fb::Storage::argument, 1, 0, 4);
  require.dtype = static_cast<uint8_t>(DType::i1);
  require.shape = {4};
  fb::LaunchT &launch = b.launch("assert");
  launch.op.Set(require);
  launch.may_fail = true;
  return b;
}

Status verify_host(const std::function<void(fb::HostLaunchT &, fb::LaunchT &)> &change, size_t launch) {
  PlanBuilder b = hosted();
  change(*b.plan.launches[launch]->op.AsHostLaunch(), *b.plan.launches[launch]);
  return verify(b, 0);
}

TEST(PlanVerifier, AcceptsHostLaunchesAndAliases) {
  const Status status = verify(hosted(), 0);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(PlanVerifier, RefusesHostLaunchesThatCannotBe) {
  EXPECT_FAILS(verify_host([](auto &host, auto &) { host.action = static_cast<fb::HostAction>(7); }, 0),
               "asks for the unknown action 7");
  EXPECT_FAILS(verify_host([](auto &host, auto &) { host.buffer = 9; }, 0), "reads buffer 9 of 2");
  EXPECT_FAILS(verify_host([](auto &host, auto &) { host.dtype = 77; }, 0), "unknown element type 77");
  EXPECT_FAILS(verify_host([](auto &host, auto &) { host.shape = {4, -4}; }, 0),
               "has extent -4 in dimension 1");
  EXPECT_FAILS(verify_host([](auto &host, auto &) { host.shape = {1LL << 62, 1LL << 62}; }, 0), "too large");
  EXPECT_FAILS(verify_host([](auto &host, auto &) { host.shape = {4, 5}; }, 0),
               "reads 80 bytes of buffer 0 of 64");
  EXPECT_FAILS(verify_host([](auto &, auto &launch) { launch.may_fail = false; }, 1),
               "is not marked as one that may fail");
  EXPECT_FAILS(verify_host([](auto &host, auto &) { host.dtype = static_cast<uint8_t>(DType::i8); }, 1),
               "requires what is no truth value");
}

TEST(PlanVerifier, RefusesAliasesThatCannotBe) {
  const auto with = [](const std::function<void(PlanBuilder &)> &change) {
    PlanBuilder b = hosted();
    change(b);
    return verify(b, 0);
  };
  EXPECT_FAILS(with([](PlanBuilder &b) { b.plan.results[0]->alias_argument = 5; }),
               "is an alias of argument 5, which does not come before it");
  EXPECT_FAILS(with([](PlanBuilder &b) { b.plan.results[0]->alias_argument = -3; }), "alias of argument -3");
  EXPECT_FAILS(with([](PlanBuilder &b) { b.plan.results[0]->alias_argument = 1; }),
               "has 64 bytes, but is an alias of 4");
  EXPECT_FAILS(with([](PlanBuilder &b) {
                 b.plan.results[0]->alias_argument = -1;
                 b.plan.results[0]->alias_result = 0;
               }),
               "is an alias of result 0, which does not come before it");
  EXPECT_FAILS(with([](PlanBuilder &b) { b.plan.results[0]->alias_result = 0; }), "more than once");
  EXPECT_FAILS(with([](PlanBuilder &b) { b.buffer(fb::Storage::result, 0, 0, 64); }),
               "which is an alias and has no storage");
}

} // namespace
