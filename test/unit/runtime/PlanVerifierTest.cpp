//===- PlanVerifierTest.cpp - Every rule of the plan verifier -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/plan/DynamicPlan.h"
#include "runtime/plan/FailureKey.h"
#include "runtime/plan/PlanVerifier.h"

#include <cstring>
#include <functional>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

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
  b.kernel("guard", {x, t}, 1, 4);
  b.check(4, "step.cpp", 7, 3);
  fb::ContractionLaunchT product;
  product.dtype = static_cast<uint8_t>(DType::f32);
  product.m = product.n = product.k = 4;
  product.a = t;
  product.b = k;
  product.c = y;
  product.a_strides = product.b_strides = product.c_strides = {16, 4, 1};
  product.bias = static_cast<int>(x);
  b.launch("product").op.Set(std::move(product));
  PlanBuilder::predicated(b.kernel("update", {y, state, out}, 2, 4));
  fb::CopyLaunchT copy;
  copy.source = x;
  copy.destination = t;
  b.launch("copy").op.Set(copy);
  return b;
}

Status verify(const PlanBuilder &builder, uint64_t constant_bytes = 64) {
  return verify_with(builder, constant_bytes, {{"guard", nothing}, {"update", nothing}});
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
    const char *code = "WEFT-L008";
  } cases[] = {
      {"has no name", [](PlanBuilder &b) { b.plan.target.clear(); }},
      {"kernel ABI is 9", [](PlanBuilder &b) { b.plan.kernel_abi = 9; }, "WEFT-L011"},
      {"arena of", [](PlanBuilder &b) { b.plan.arena_bytes = 1ull << 60; }, "WEFT-M001"},
      {"more bytes than a process can address for argument 0 'x'",
       [](PlanBuilder &b) { b.plan.arguments[0]->type->shape = {int64_t{1} << 50}; }, "WEFT-M001"},
      {"more bytes than a process can address for all results",
       [](PlanBuilder &b) { // 2^17 results of 2^47 bytes, whose sum as a 64-bit number is that of the others
         for (int i = 0; i < 1 << 17; ++i)
           b.result("", DType::f32, {int64_t{1} << 45});
       },
       "WEFT-M001"},
      {"more bytes than a process can address for all arguments",
       [](PlanBuilder &b) {
         for (int i = 0; i < 1 << 17; ++i)
           b.argument("", DType::f32, {int64_t{1} << 45});
       },
       "WEFT-M001"},
      {"argument 0 'x' has no type", [](PlanBuilder &b) { b.plan.arguments[0]->type = nullptr; }},
      {"unknown element type 77", [](PlanBuilder &b) { b.plan.arguments[0]->type->dtype = 77; }},
      {"negative extent -4", [](PlanBuilder &b) { b.plan.results[0]->type->shape[0] = -4; }},
      {"more bytes than",
       [](PlanBuilder &b) { b.plan.arguments[0]->type->shape = {1ll << 40, 1ll << 40, 0}; }, "WEFT-M001"},
      {"argument 0 'x' of rank 2 has 1 strides", [](PlanBuilder &b) { b.plan.arguments[0]->strides = {1}; }},
      {"negative stride -4 in dimension 1", [](PlanBuilder &b) { b.plan.arguments[0]->strides = {1, -4}; }},
      {"is donated and has strides", [](PlanBuilder &b) { b.plan.arguments[1]->strides = {1, 4}; }},
      {"is kept between calls and has strides",
       [](PlanBuilder &b) {
         b.plan.arguments[0]->strides = {1, 4};
         b.plan.arguments[0]->role = fb::Role::state;
       }},
      {"has strides that reach over", [](PlanBuilder &b) { b.plan.arguments[0]->strides = {1, INT64_MAX}; }},
      {"lies outside argument 0 of 52 bytes", [](PlanBuilder &b) { b.plan.arguments[0]->strides = {1, 3}; }},
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
      {"operand residual is buffer 50", [&](PlanBuilder &b) { product(b).residual = 50; }},
      {"operand residual is buffer", [&](PlanBuilder &b) { product(b).residual = -2; }},
      {"c overlaps an operand",
       [&](PlanBuilder &b) { product(b).residual = static_cast<int>(product(b).c); }},
      {"the library is used from -1 operations on", [&](PlanBuilder &b) { product(b).library_flops = -1; }},
      {"bytes of workspace", [&](PlanBuilder &b) { product(b).workspace_bytes = 1ull << 60; }},
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
      {"1 further operands: they are pairs",
       [&](PlanBuilder &b) {
         product(b).bias = -1;
         product(b).more = {0};
       }},
      {"2 further operands: they are pairs", [&](PlanBuilder &b) { product(b).more = {0, 4}; }},
      {"further operand 1 is buffer 90",
       [&](PlanBuilder &b) {
         product(b).bias = -1;
         product(b).more = {0, 90};
       }},
      {"holds less than 64 bytes",
       [&](PlanBuilder &b) {
         product(b).bias = -1;
         product(b).more = {b.buffer(fb::Storage::arena, 0, 0, 32), 4};
       }},
      {"c overlaps further operand 0",
       [&](PlanBuilder &b) {
         product(b).bias = -1;
         product(b).more = {2, 4};
       }},
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
    const Status status = verify(builder);
    EXPECT_FAILS(status, item.message);
    EXPECT_EQ(status.code(), item.code) << status.message();
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

// A print walks over dimensions by recursion, and so may others.
TEST(PlanVerifier, BoundsTheRank) {
  const auto of_rank = [](size_t rank) {
    PlanBuilder b;
    b.argument("x", DType::f32, std::vector<int64_t>(rank, 1));
    fb::HostLaunchT print;
    print.buffer = b.buffer(fb::Storage::argument, 0, 0, 4);
    print.dtype = static_cast<uint8_t>(DType::f32);
    print.shape.assign(rank, 1);
    PlanBuilder::predicated(b.launch("print")).op.Set(std::move(print));
    return b;
  };
  EXPECT_TRUE(verify(of_rank(64)).ok()) << verify(of_rank(64)).message();
  EXPECT_FAILS(verify(of_rank(65)), "argument 0 'x' has 65 dimensions, and at most 64 are possible");
  EXPECT_FAILS(verify(of_rank(200'000)), "argument 0 'x' has 200000 dimensions");
  PlanBuilder b = of_rank(1);
  b.plan.launches[0]->op.AsHostLaunch()->shape.assign(200'000, 1);
  EXPECT_FAILS(verify(b), "(step.cpp:7:3) has 200000 dimensions, and at most 64 are possible");
  b = of_rank(1);
  b.result("y", DType::f32, std::vector<int64_t>(65, 1));
  EXPECT_FAILS(verify(b), "result 0 'y' has 65 dimensions");
}

// Offsets to one part again and again would make terabytes of a few megabytes.
TEST(PlanVerifier, RefusesPartsThatAreShared) {
  const auto status_of = [](flatbuffers::FlatBufferBuilder &builder) {
    const auto *data = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
    const std::vector<std::byte> bytes(data, data + builder.GetSize());
    return read_plan(bytes).status();
  };
  constexpr size_t many = 20'000;
  { // one launch, 20,000 times
    flatbuffers::FlatBufferBuilder builder;
    const auto name = builder.CreateString(std::string(1000, 'n'));
    fb::LaunchBuilder launch(builder);
    launch.add_name(name);
    const std::vector<flatbuffers::Offset<fb::Launch>> launches(many, launch.Finish());
    const auto list = builder.CreateVector(launches);
    fb::PlanBuilder plan(builder);
    plan.add_launches(list);
    fb::FinishPlanBuffer(builder, plan.Finish());
    EXPECT_FAILS(status_of(builder), "stand for more than as many");
  }
  { // one text of many checks
    flatbuffers::FlatBufferBuilder builder;
    const auto message = builder.CreateString(std::string(1'000'000, 'm'));
    std::vector<flatbuffers::Offset<fb::Check>> checks;
    for (size_t i = 0; i < many; ++i)
      checks.push_back(fb::CreateCheck(builder, message));
    const auto list = builder.CreateVector(checks);
    fb::PlanBuilder plan(builder);
    plan.add_checks(list);
    fb::FinishPlanBuffer(builder, plan.Finish());
    EXPECT_FAILS(status_of(builder), "stand for more than as many");
  }
  { // one list of terms of many sizes: as many terms as their product
    flatbuffers::FlatBufferBuilder builder;
    constexpr size_t many = 3000; // more are too many tables for FlatBuffers
    const std::vector<flatbuffers::Offset<fb::SizeTerm>> terms(many, fb::CreateSizeTerm(builder, 1));
    const auto term_list = builder.CreateVector(terms);
    const std::vector<flatbuffers::Offset<fb::SizeExpression>> sizes(
        many, fb::CreateSizeExpression(builder, term_list));
    const auto list = builder.CreateVector(sizes);
    fb::PlanBuilder plan(builder);
    plan.add_sizes(list);
    fb::FinishPlanBuffer(builder, plan.Finish());
    EXPECT_FAILS(status_of(builder), "stand for more than as many");
  }
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

//===----------------------------------------------------------------------===//
// Plans whose sizes a call chooses
//===----------------------------------------------------------------------===//

// y = x twice, for any number of rows of four.
PlanBuilder rows() {
  PlanBuilder b("rows");
  b.symbol("n", 1, 8);
  int64_t n = b.size(1), twice = b.size(2), bytes = b.size(16);
  b.argument("x", DType::f32, {n, 4});
  b.argument("z", DType::f32, {twice});
  b.result("y", DType::f32, {n, 4});
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, static_cast<uint64_t>(bytes)),
                 y = b.buffer(fb::Storage::result, 0, 0, static_cast<uint64_t>(bytes));
  fb::LaunchT &launch = b.kernel("guard", {x, y}, 1, b.size(5, 4), 4);
  launch.op.AsKernelLaunch()->sizes = {n};
  return b;
}

const fb::Plan *unpacked(const std::vector<std::byte> &bytes) { return *read_plan(bytes); }

TEST(DynamicPlan, EvaluatesEverySize) {
  const std::vector<std::byte> bytes = rows().bytes();
  const fb::Plan *plan = unpacked(bytes);
  ASSERT_TRUE(verify_symbols(*plan).ok());
  const std::vector<int64_t> three{3};
  auto made = plan_of_numbers(*plan, three);
  ASSERT_TRUE(made.ok()) << made.status().message();
  const fb::Plan *numbers = *read_plan(std::as_bytes(std::span(*made)));
  EXPECT_EQ(numbers->symbols() ? numbers->symbols()->size() : 0, 0u);
  EXPECT_EQ(numbers->arguments()->Get(1)->type()->shape()->Get(0), 6);
  EXPECT_EQ(numbers->buffers()->Get(0)->bytes(), 48u);
  const auto *kernel = numbers->launches()->Get(0)->op_as_KernelLaunch();
  EXPECT_EQ(kernel->tasks(), 4); // 15 / 4, rounded up
  EXPECT_EQ(kernel->sizes()->Get(0), 3);
  EXPECT_EQ(kernel->grain(), 1);
  const auto image = Image::from_functions({{"guard", nothing}});
  EXPECT_TRUE(verify_plan(*numbers, 0, image.get()).ok());
}

TEST(DynamicPlan, BindsShapes) {
  const std::vector<std::byte> bytes = rows().bytes();
  const fb::Plan *plan = unpacked(bytes);
  using Shapes = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(bind_symbols(*plan, Shapes{{3, 4}, {6}}).value_or_throw(), std::vector<int64_t>{3});
  EXPECT_FAILS(bind_symbols(*plan, Shapes{{3, 4}}).status(), "takes 2 arguments, found the shapes of 1");
  EXPECT_FAILS(bind_symbols(*plan, Shapes{{3}, {6}}).status(), "argument 0 'x' has 1 dimensions, expected 2");
  EXPECT_FAILS(bind_symbols(*plan, Shapes{{3, 5}, {6}}).status(), "has size 5 in dimension 1, expected 4");
  EXPECT_FAILS(bind_symbols(*plan, Shapes{{9, 4}, {18}}).status(),
               "has size 9 in dimension 0, where 'n' goes from 1 to 8");
  EXPECT_EQ(bind_symbols(*plan, Shapes{{9, 4}, {18}}).status().code(), "WEFT-S001");
  EXPECT_FAILS(bind_symbols(*plan, Shapes{{3, 4}, {7}}).status(),
               "argument 1 'z' has size 7 in dimension 0, expected 2 * n = 6");
  EXPECT_FAILS(plan_of_numbers(*plan, std::vector<int64_t>{9}).status(), "'n' is 9, and goes from 1 to 8");
  EXPECT_EQ(plan_of_numbers(*plan, std::vector<int64_t>{0}).status().code(), "WEFT-S001");
  EXPECT_FAILS(plan_of_numbers(*plan, std::vector<int64_t>{}).status(), "has 1 symbols, found values for 0");
}

TEST(DynamicPlan, RefusesWhatMakesNoSense) {
  const struct {
    const char *part;
    std::function<void(PlanBuilder &)> damage;
  } cases[] = {
      {"has no name or no range", [](PlanBuilder &b) { b.plan.symbols[0]->name = ""; }},
      {"has no name or no range", [](PlanBuilder &b) { b.plan.symbols[0]->max = 0; }},
      {"is divided by 0", [](PlanBuilder &b) { b.plan.sizes[0]->divisor = 0; }},
      {"uses symbol 7 of 1", [](PlanBuilder &b) { b.plan.sizes[0]->terms[0]->symbols = {7}; }},
      {"has a size that the plan does not have",
       [](PlanBuilder &b) { b.plan.arguments[0]->type->shape[0] = firstExpression + 99; }},
      {"argument 0 has no type", [](PlanBuilder &b) { b.plan.arguments[0]->type.reset(); }},
      {"result 0 has no type", [](PlanBuilder &b) { b.plan.results[0]->type.reset(); }},
      {"argument 1 has unknown element type 200",
       [](PlanBuilder &b) { b.plan.arguments[1]->type->dtype = 200; }},
      {"result 0 has unknown element type 10", [](PlanBuilder &b) { b.plan.results[0]->type->dtype = 10; }},
      {"argument 0 has unknown role 9",
       [](PlanBuilder &b) { b.plan.arguments[0]->role = static_cast<fb::Role>(9); }},
      {"result 0 has a size that the plan does not have",
       [](PlanBuilder &b) { b.plan.results[0]->type->shape[0] = firstExpression + 99; }},
      {"result 0 has 65 dimensions, and at most 64",
       [](PlanBuilder &b) { b.plan.results[0]->type->shape.assign(65, 1); }},
  };
  for (const auto &c : cases) {
    PlanBuilder b = rows();
    c.damage(b);
    const std::vector<std::byte> bytes = b.bytes();
    EXPECT_FAILS(verify_symbols(*unpacked(bytes)), c.part);
  }
  PlanBuilder b = rows();
  b.plan.arena_bytes = static_cast<uint64_t>(firstExpression + 99);
  const std::vector<std::byte> bytes = b.bytes();
  EXPECT_FAILS(plan_of_numbers(*unpacked(bytes), std::vector<int64_t>{3}).status(), "is not there");
  PlanBuilder huge = rows();
  huge.plan.sizes[0]->terms[0]->coefficient = INT64_MAX;
  const std::vector<std::byte> hugeBytes = huge.bytes();
  EXPECT_FAILS(plan_of_numbers(*unpacked(hugeBytes), std::vector<int64_t>{3}).status(), "a size overflows");
}

// Where the field of a table refers to its vector.
template <typename Table> const uint8_t *reference(const Table &table, flatbuffers::voffset_t field) {
  return reinterpret_cast<const flatbuffers::Table *>(&table)->GetAddressOf(field);
}

// Lets a field refer to 4 bytes behind the beginning of its vector. Then the low half of the first element
// stands for the length, and the elements are misaligned.
void misalign(std::vector<std::byte> &bytes, const uint8_t *field) {
  std::byte *const at = bytes.data() + (reinterpret_cast<const std::byte *>(field) - bytes.data());
  uint32_t offset = 0;
  std::memcpy(&offset, at, sizeof offset);
  offset += sizeof offset;
  std::memcpy(at, &offset, sizeof offset);
}

// Unpacking a plan reads its numbers, so they have to be aligned before it is unpacked.
TEST(DynamicPlan, RefusesMisalignedNumbers) {
  const struct {
    const char *part;
    std::function<void(fb::LaunchT &)> make;
    std::function<const uint8_t *(const fb::Launch &)> numbers;
  } cases[] = {
      {"kernel", [](fb::LaunchT &launch) { launch.op.AsKernelLaunch()->sizes = {1, 1}; },
       [](const fb::Launch &launch) {
         return reference(*launch.op_as_KernelLaunch(), fb::KernelLaunch::VT_SIZES);
       }},
      {"table",
       [](fb::LaunchT &launch) {
         auto group = std::make_unique<fb::StepGroupT>();
         group->number_bytes = {1, 1};
         launch.op.AsKernelLaunch()->groups.push_back(std::move(group));
       },
       [](const fb::Launch &launch) {
         return reference(*launch.op_as_KernelLaunch()->groups()->Get(0), fb::StepGroup::VT_NUMBER_BYTES);
       }},
      {"product",
       [](fb::LaunchT &launch) {
         fb::ContractionLaunchT product;
         product.a_strides = product.b_strides = product.c_strides = {1, 1, 1};
         launch.op.Set(std::move(product));
       },
       [](const fb::Launch &launch) {
         return reference(*launch.op_as_ContractionLaunch(), fb::ContractionLaunch::VT_C_STRIDES);
       }},
      {"attention",
       [](fb::LaunchT &launch) {
         fb::AttentionLaunchT attention;
         attention.places.push_back(std::make_unique<fb::MatrixPlaceT>());
         attention.places[0]->strides = {1, 1, 1};
         launch.op.Set(std::move(attention));
       },
       [](const fb::Launch &launch) {
         return reference(*launch.op_as_AttentionLaunch()->places()->Get(0), fb::MatrixPlace::VT_STRIDES);
       }},
      {"print",
       [](fb::LaunchT &launch) {
         fb::HostLaunchT host;
         host.shape = {1, 1};
         launch.op.Set(std::move(host));
       },
       [](const fb::Launch &launch) {
         return reference(*launch.op_as_HostLaunch(), fb::HostLaunch::VT_SHAPE);
       }},
  };
  for (const auto &c : cases) {
    PlanBuilder b = rows();
    c.make(*b.plan.launches[0]);
    std::vector<std::byte> bytes = b.bytes();
    EXPECT_TRUE(verify_symbols(*unpacked(bytes)).ok()) << c.part;
    misalign(bytes, c.numbers(*unpacked(bytes)->launches()->Get(0)));
    const auto plan = read_plan(bytes);
    ASSERT_TRUE(plan.ok()) << c.part << ": " << plan.status().message();
    EXPECT_FAILS(verify_symbols(**plan), "launch 0 'guard' has misaligned numbers");
  }
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
  PlanBuilder::predicated(b.launch("print")).op.Set(print);
  b.require(b.buffer(fb::Storage::argument, 1, 0, 4), {4});
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

// Which launches a failure stops, whose checks are whose, and how a violation is numbered.
TEST(PlanVerifier, ProvesWhatHappensAfterAFailure) {
  const auto refused = [](const char *message, const std::function<void(PlanBuilder &)> &damage) {
    PlanBuilder b = good();
    damage(b);
    const Status status = verify(b);
    EXPECT_FAILS(status, message);
    EXPECT_EQ(status.code(), "WEFT-L008");
  };
  const auto predicate = [](size_t launch, fb::Predicate value) {
    return [launch, value](PlanBuilder &b) { b.plan.launches[launch]->predicate = value; };
  };
  refused("launch 2 'update' (step.cpp:7:3) writes a donated argument whether or not the call has failed",
          predicate(2, fb::Predicate::none));
  refused("launch 3 'copy' (step.cpp:7:3) has a predicate, and does nothing that a failed call must not do",
          predicate(3, fb::Predicate::failure));
  refused("has the unknown predicate 9", predicate(1, static_cast<fb::Predicate>(9)));
  // A call may fail because of an earlier call, even if none of its own launches can fail.
  PlanBuilder infallible = good();
  infallible.plan.launches[0]->may_fail = false;
  infallible.plan.launches[0]->check_count = 0;
  infallible.plan.checks.clear();
  infallible.plan.failure_key = nullptr;
  EXPECT_TRUE(verify(infallible).ok());
  infallible.plan.launches[2]->predicate = fb::Predicate::none;
  EXPECT_FAILS(verify(infallible), "it has no predicate");

  const auto key = [](PlanBuilder &b) -> fb::FailureKeyT & { return *b.plan.failure_key; };
  refused("has no key of failures, and 1 of its launches may fail",
          [](PlanBuilder &b) { b.plan.failure_key = nullptr; });
  refused("with 39 bits for positions", [&](PlanBuilder &b) { key(b).position_bits = 39; });
  refused("in which 1 launches with up to 1 checks each do not fit",
          [&](PlanBuilder &b) { key(b).position_bits = 56; });
  refused("and 40 for checks", [&](PlanBuilder &b) { key(b).check_bits = 40; });
  refused("has no checks", [](PlanBuilder &b) { b.plan.launches[0]->check_count = 0; });
  refused("launch 2 has checks, and is no kernel that may fail",
          [](PlanBuilder &b) { b.plan.launches[2]->check_count = 1; });
  refused("its launches have 3 checks, and it has 1",
          [](PlanBuilder &b) { b.plan.launches[0]->check_count = 3; });
  refused("with up to 300 checks each do not fit", [](PlanBuilder &b) {
    for (int i = 1; i < 300; ++i)
      b.plan.checks.push_back(std::make_unique<fb::CheckT>());
    b.plan.launches[0]->check_count = 300;
  });
  EXPECT_FAILS(verify_host([](auto &, auto &launch) { launch.predicate = fb::Predicate::none; }, 0),
               "prints whether or not the call has failed");
}

// y = x times two numbers that calls give.
PlanBuilder with_scalars() {
  PlanBuilder b("scaled");
  b.argument("x", DType::f32, {4});
  b.argument("rate", DType::f64, {});
  b.argument("count", DType::i32, {});
  b.result("y", DType::f32, {4});
  b.plan.arguments[1]->role = b.plan.arguments[2]->role = fb::Role::scalar;
  const uint32_t rate = b.scalar(1), count = b.scalar(2);
  b.kernel("guard",
           {b.buffer(fb::Storage::argument, 0, 0, 16), rate, count, b.buffer(fb::Storage::result, 0, 0, 16)},
           3, 1);
  return b;
}

TEST(PlanVerifier, ProvesTheBlockOfScalars) {
  const PlanBuilder accepted = with_scalars();
  EXPECT_EQ(accepted.plan.scalar_bytes, 12u);
  EXPECT_TRUE(verify(accepted).ok()) << verify(accepted).message();
  const auto refused = [](const char *message, const std::function<void(PlanBuilder &)> &damage) {
    PlanBuilder b = with_scalars();
    damage(b);
    const Status status = verify(b);
    EXPECT_FAILS(status, message);
    EXPECT_EQ(status.code(), "WEFT-L008");
  };
  refused("scalar 0 is argument 3 of 3", [](PlanBuilder &b) { b.plan.scalars[0]->argument = 3; });
  refused("scalar 1 is argument 1, which another scalar is",
          [](PlanBuilder &b) { b.plan.scalars[1]->argument = 1; });
  refused("scalar 0 is argument 0, which is no number that calls only read",
          [](PlanBuilder &b) { b.plan.scalars[0]->argument = 0; });
  refused("is no number that calls only read",
          [](PlanBuilder &b) { b.plan.arguments[1]->role = fb::Role::state; });
  refused("is no number that calls only read", [](PlanBuilder &b) { b.plan.arguments[1]->donated = true; });
  refused("is no number that calls only read",
          [](PlanBuilder &b) { b.plan.arguments[1]->type->shape = {1}; });
  refused("which is not on the host", [](PlanBuilder &b) { b.plan.arguments[1]->type->device = "cuda:0"; });
  refused("scalar 1 has element type number",
          [](PlanBuilder &b) { b.plan.scalars[1]->dtype = static_cast<uint8_t>(DType::f32); });
  refused("scalar 1 takes bytes [4, +4) of a block of 12",
          [](PlanBuilder &b) { b.plan.scalars[1]->offset = 4; });
  refused("scalar 1 takes bytes [9, +4)", [](PlanBuilder &b) { b.plan.scalars[1]->offset = 9; });
  refused("scalar 1 takes bytes [12, +4)", [](PlanBuilder &b) { b.plan.scalars[1]->offset = 12; });
  refused("scalar 0 takes bytes [18446744073709551608, +8)", [](PlanBuilder &b) {
    b.plan.scalars[0]->offset = UINT64_MAX - 7;
    b.plan.scalar_bytes = UINT64_MAX;
  });
  refused("the block of scalars has 16 bytes, of which 12 are taken",
          [](PlanBuilder &b) { b.plan.scalar_bytes = 16; });
  refused("lies in scalar 2 of 2", [](PlanBuilder &b) { b.plan.buffers[1]->index = 2; });
  refused("lies outside scalar 1 of 4 bytes", [](PlanBuilder &b) { b.plan.buffers[1]->bytes = 8; });
  refused("writes a scalar",
          [](PlanBuilder &b) { b.plan.launches[0]->op.AsKernelLaunch()->first_result = 2; });
}

TEST(FailureKey, OrdersByLaunchThenElementThenCheck) {
  const FailureKey key = choose_failure_key(3, 5).value_or_throw();
  EXPECT_EQ(key.check_bits, 3u);
  EXPECT_EQ(key.launch_bits(), 3u);
  uint64_t before = 0;
  for (uint64_t launch : {1, 2, 3})
    for (uint64_t position : {uint64_t(0), uint64_t(7), uint64_t(1) << 40, (uint64_t(1) << 58) - 1})
      for (uint64_t check : {0, 4}) {
        const uint64_t packed = key.pack({launch, position, check});
        EXPECT_GT(packed, before);
        EXPECT_LT(packed, UINT64_MAX);
        before = packed;
        const Violation found = key.unpack(packed);
        EXPECT_EQ(found.launch, launch);
        EXPECT_EQ(found.position, position);
        EXPECT_EQ(found.check, check);
      }
  EXPECT_EQ(key.unpack(key.pack({1, UINT64_MAX, 99})).check, 7u) << "what does not fit is the largest";
  EXPECT_EQ(choose_failure_key(1, 1).value_or_throw().position_bits, 62u);
  EXPECT_TRUE(choose_failure_key(1 << 20, 8).ok());
  EXPECT_FAILS(choose_failure_key(1 << 20, 1 << 10).status(), "no key of a failure can tell so many apart");
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
