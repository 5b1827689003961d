//===- DeviceImageTest.cpp - The kernels of a GPU in a package ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/plan/DeviceImage.h"
#include "runtime/plan/Image.h"
#include "test/unit/runtime/DeviceImageBytes.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

constexpr const char *target = "cuda:sm_90";

std::unique_ptr<fb::DeviceKernelT> kernel(std::string symbol, std::vector<uint32_t> pointers) {
  auto made = std::make_unique<fb::DeviceKernelT>();
  made->symbol = std::move(symbol);
  made->ptx = ".version 9.0";
  made->threads = 128;
  made->pointers = std::move(pointers);
  return made;
}

/// f32, c[m,n] = a[m,k] b[k,n] (+ residual), for any m, in tiles of 64 by 32.
std::unique_ptr<fb::DeviceKernelT> product(std::string symbol, bool residual) {
  auto made = kernel(std::move(symbol),
                     residual ? std::vector<uint32_t>{0, 1, 2, 3} : std::vector<uint32_t>{0, 1, 2});
  made->sizes = 1;
  made->product = std::make_unique<fb::ProductKernelT>();
  made->product->dtype = static_cast<uint8_t>(DType::f32);
  made->product->numbers = {-1, 40, 8, 0, 8, 1, 0, 40, 1, 0, 40, 1};
  made->product->residual = residual;
  made->product->tile_m = 64;
  made->product->tile_n = 32;
  return made;
}

fb::DeviceImageT image_of_kernels() {
  fb::DeviceImageT image;
  image.architecture = "sm_90";
  image.binding = 7;
  image.kernels.push_back(product("added", true));
  image.kernels.push_back(kernel("double", {1, 0}));
  image.kernels.push_back(product("first", false));
  return image;
}

template <typename Change> Status loaded(Change change) {
  fb::DeviceImageT image = image_of_kernels();
  change(image);
  return DeviceImage::load(bytes_of(image)).status();
}

/// A package with these kernels and nothing else.
std::shared_ptr<const Package> package_of(std::span<const std::byte> device) {
  PackageWriter writer;
  writer.add("image.cuda:sm_90.device", device);
  return Package::from_memory(writer.finish().value_or_throw()).value_or_throw();
}

std::shared_ptr<Image> loaded_image() {
  return Image::load(*package_of(bytes_of(image_of_kernels())), "image.cuda:sm_90").value_or_throw();
}

/// y = 2 x of 1,000 elements, then z = a b + c d of 100 by 8 by 40, all on a GPU.
PlanBuilder plan_of_gpu() {
  PlanBuilder b;
  b.plan.target = target;
  b.plan.image = std::string("image.") + target;
  const auto bytes = [](std::initializer_list<int64_t> shape) {
    uint64_t count = 4;
    for (const int64_t extent : shape)
      count *= static_cast<uint64_t>(extent);
    return count;
  };
  b.argument("x", DType::f32, {1000});
  b.argument("a", DType::f32, {100, 8});
  b.argument("b", DType::f32, {8, 40});
  b.result("y", DType::f32, {1000});
  b.result("z", DType::f32, {100, 40});
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, bytes({1000})),
                 a = b.buffer(fb::Storage::argument, 1, 0, bytes({100, 8})),
                 w = b.buffer(fb::Storage::argument, 2, 0, bytes({8, 40})),
                 y = b.buffer(fb::Storage::result, 0, 0, bytes({1000})),
                 z = b.buffer(fb::Storage::result, 1, 0, bytes({100, 40}));
  b.kernel("double", {x, y}, 1, 8);
  fb::ContractionLaunchT sum;
  sum.dtype = static_cast<uint8_t>(DType::f32);
  sum.m = 100;
  sum.n = 40;
  sum.k = 8;
  sum.a = a;
  sum.b = w;
  sum.c = z;
  sum.a_strides = {0, 8, 1};
  sum.b_strides = {0, 40, 1};
  sum.c_strides = {0, 40, 1};
  sum.more = {a, w};
  sum.library = "cublaslt";
  fb::LaunchT &launch = b.launch("matmul");
  launch.op.Set(std::move(sum));
  for (const auto &[symbol, operands] :
       {std::pair<const char *, std::vector<uint32_t>>{"first", {0, 1, 2}}, {"added", {3, 4, 2, 2}}}) {
    launch.own.push_back(std::make_unique<fb::OwnKernelT>());
    launch.own.back()->symbol = symbol;
    launch.own.back()->operands = operands;
  }
  b.plan.devices.push_back(std::make_unique<fb::DevicePartT>());
  b.plan.devices.back()->name = "cuda:0";
  for (auto &argument : b.plan.arguments)
    argument->type->device = "cuda:0";
  for (auto &result : b.plan.results)
    result->type->device = "cuda:0";
  b.plan.segments.push_back(std::make_unique<fb::SegmentT>());
  b.plan.segments.back()->launches = 2;
  return b;
}

template <typename Change> Status verified(Change change) {
  static const std::shared_ptr<Image> image = loaded_image();
  PlanBuilder b = plan_of_gpu();
  change(b);
  return b.verdict(image.get());
}

TEST(DeviceImage, SaysHowLaunchesAreCarriedOut) {
  const auto image = loaded_image();
  ASSERT_NE(image->device(), nullptr);
  EXPECT_EQ(image->device()->architecture(), "sm_90");
  EXPECT_EQ(image->binding(), 7u);
  EXPECT_EQ(image->device()->find("doubl"), nullptr);
  const std::vector<std::byte> bytes = plan_of_gpu().bytes();
  const fb::Plan &plan = *read_plan(bytes).value_or_throw();
  EXPECT_TRUE(verify_plan(plan, 0, image.get()).ok()) << verify_plan(plan, 0, image.get()).message();
  const DeviceLaunch fusion =
      image->device()->launch_of(*plan.launches()->Get(0)->op_as_KernelLaunch()).value_or_throw();
  EXPECT_EQ(fusion.kernel, image->device()->find("double"));
  EXPECT_EQ(fusion.blocks, 8u);
  EXPECT_EQ(fusion.pointers, (std::vector<uint32_t>{1, 0}));
  EXPECT_TRUE(fusion.sizes.empty());
  const auto own = image->device()->own_launches(*plan.launches()->Get(1)).value_or_throw();
  ASSERT_EQ(own.size(), 2u);
  EXPECT_EQ(own[0].pointers, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(own[1].pointers, (std::vector<uint32_t>{3, 4, 2, 2}));
  for (const DeviceLaunch &launch : own) {
    EXPECT_EQ(launch.blocks, 2u * 2u); // 100 by 40 in tiles of 64 by 32
    EXPECT_EQ(launch.sizes, std::vector<int64_t>{100});
  }
}

TEST(DeviceImage, DivisionsAreMultiplications) {
  std::mt19937_64 random(1);
  std::vector<int64_t> divisors = {1,        2, 3, 5, 7, 32, 96, INT32_MAX, int64_t(1) << 31, INT64_MAX - 1,
                                   INT64_MAX};
  for (int bits = 2; bits < 63; ++bits)
    for (int64_t near : {-1, 0, 1})
      divisors.push_back((int64_t(1) << bits) + near);
  for (int i = 0; i < 2000; ++i)
    divisors.push_back(static_cast<int64_t>(random() >> (1 + random() % 62)) | 1);
  for (const int64_t d : divisors) {
    const auto divisor = static_cast<uint64_t>(d);
    const Reciprocal reciprocal = Reciprocal::of(d);
    std::vector<uint64_t> numbers = {0, 1, divisor - 1, divisor, INT64_MAX, INT64_MAX - 1};
    // Quotients change at the multiples of the divisor.
    for (int i = 0; i < 50; ++i) {
      const uint64_t multiple = INT64_MAX / divisor * divisor;
      const uint64_t some = random() % (multiple / divisor + 1) * divisor;
      numbers.insert(numbers.end(), {random() >> 1, some, some ? some - 1 : 0, multiple, multiple - 1});
    }
    for (const uint64_t n : numbers) {
      const auto upper = static_cast<uint64_t>((static_cast<unsigned __int128>(n) * reciprocal.factor) >> 64);
      ASSERT_EQ((upper + n) >> reciprocal.shift, n / divisor) << n << " / " << divisor;
    }
  }
}

TEST(DeviceImage, LaunchesHaveReciprocalsOfDivisors) {
  fb::DeviceKernelT kernel_of_sizes;
  kernel_of_sizes.symbol = "k";
  kernel_of_sizes.sizes = 2;
  // ceildiv(3 n0 n1, 32)
  kernel_of_sizes.divisors.push_back(std::make_unique<fb::SizeExpressionT>());
  kernel_of_sizes.divisors[0]->divisor = 32;
  kernel_of_sizes.divisors[0]->terms.push_back(std::make_unique<fb::SizeTermT>());
  kernel_of_sizes.divisors[0]->terms[0]->coefficient = 3;
  kernel_of_sizes.divisors[0]->terms[0]->symbols = {0, 1};
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::DeviceKernel::Pack(builder, &kernel_of_sizes));
  const auto &packed = *flatbuffers::GetRoot<fb::DeviceKernel>(builder.GetBufferPointer());
  const auto of = [&](int64_t n0, int64_t n1) {
    const int64_t sizes[] = {n0, n1};
    return reciprocals_of(packed, sizes);
  };
  ASSERT_EQ(of(7, 11).value_or_throw().size(), 1u);
  EXPECT_EQ(of(7, 11).value_or_throw()[0].factor, Reciprocal::of(8).factor); // 231 / 32, rounded up
  EXPECT_EQ(of(7, 11).value_or_throw()[0].shift, 3u);
  EXPECT_EQ(of(0, 11).value_or_throw()[0].factor, 0u);
  EXPECT_FAILS(of(INT64_MAX, 2).status(),
               "gives its kernel 'k' sizes of which a divisor is negative or above 2^63");
}

TEST(DeviceImage, RefusesKernelsThatNoGpuLaunches) {
  EXPECT_TRUE(loaded([](fb::DeviceImageT &) {}).ok());
  const auto changed = [](auto change) {
    return loaded([&](fb::DeviceImageT &image) { change(*image.kernels[1]); });
  };
  EXPECT_FAILS(changed([](fb::DeviceKernelT &k) { k.ptx.clear(); }), "kernel 'double' of a GPU has no code");
  EXPECT_FAILS(changed([](fb::DeviceKernelT &k) { k.threads = 1025; }),
               "has blocks of 1025 threads, expected 1 to 1024");
  EXPECT_FAILS(changed([](fb::DeviceKernelT &k) { k.threads = 0; }), "has blocks of 0 threads");
  EXPECT_FAILS(changed([](fb::DeviceKernelT &k) { k.block_tasks = 0; }), "has blocks of 0 tasks");
  EXPECT_FAILS(changed([](fb::DeviceKernelT &k) { k.shared_bytes = UINT32_MAX; }),
               "bytes of shared memory, more than");
  EXPECT_FAILS(changed([](fb::DeviceKernelT &k) { k.sizes = 1000; }),
               "has 2 pointers, 1000 sizes and 0 divisors as parameters");
  const auto divided = [&](int64_t divisor, std::vector<uint32_t> symbols, size_t times = 1) {
    return changed([&](fb::DeviceKernelT &k) {
      k.sizes = 2;
      for (size_t i = 0; i < times; ++i) {
        k.divisors.push_back(std::make_unique<fb::SizeExpressionT>());
        k.divisors.back()->divisor = divisor;
        k.divisors.back()->terms.push_back(std::make_unique<fb::SizeTermT>());
        k.divisors.back()->terms.back()->coefficient = 3;
        k.divisors.back()->terms.back()->symbols = symbols;
      }
    });
  };
  EXPECT_TRUE(divided(1, {0, 1}).ok()) << divided(1, {0, 1}).message();
  EXPECT_FAILS(divided(1, {0, 2}), "has a divisor that is no expression over its 2 sizes");
  EXPECT_FAILS(divided(0, {0}), "has a divisor that is no expression over its 2 sizes");
  EXPECT_FAILS(divided(1, {0}, 256), "has 2 pointers, 2 sizes and 256 divisors as parameters, more than");
  EXPECT_FAILS(changed([](fb::DeviceKernelT &k) { k.symbol = "a"; }),
               "kernel 1 of a GPU, 'a', has no name, or is out of order");
  EXPECT_FAILS(changed([](fb::DeviceKernelT &k) { k.symbol.clear(); }), "has no name, or is out of order");
  EXPECT_FAILS(changed([](fb::DeviceKernelT &k) {
                 k.attention = std::make_unique<fb::AttentionLaunchT>();
                 k.blocks = -1;
               }),
               "is of attention with -1 blocks");
  EXPECT_FAILS(
      loaded([](fb::DeviceImageT &i) { i.kernels[0]->attention = std::make_unique<fb::AttentionLaunchT>(); }),
      "is of more than one of a product, attention, a convolution, a sort, and the user");
  EXPECT_FAILS(loaded([](fb::DeviceImageT &i) { i.kernels[0]->product->numbers.pop_back(); }),
               "kernel 'added' of a GPU has 11 numbers of a product, expected 12");
  EXPECT_FAILS(loaded([](fb::DeviceImageT &i) { i.kernels[0]->product->tile_n = 0; }),
               "has tiles of 64 by 0 elements");
  EXPECT_FAILS(loaded([](fb::DeviceImageT &i) { i.kernels[0]->sizes = 2; }),
               "has 2 sizes, and its product has 1");
  EXPECT_FAILS(DeviceImage::load({}).status(), "the kernels of a GPU are damaged");
}

TEST(DeviceImage, PlansFitTheirKernels) {
  EXPECT_TRUE(verified([](PlanBuilder &) {}).ok());
  EXPECT_FAILS(verified([](PlanBuilder &b) { b.plan.launches[0]->op.AsKernelLaunch()->symbol = "first"; }),
               "launches 'first', which is no kernel of a fusion among the 3 of sm_90");
  EXPECT_FAILS(verified([](PlanBuilder &b) {
                 b.plan.launches[0]->op.AsKernelLaunch()->tasks = int64_t(INT32_MAX) + 1;
               }),
               "has 2147483648 tasks in blocks of 1, and a grid has at most 2147483647 blocks");
  EXPECT_FAILS(verified([](PlanBuilder &b) { b.plan.launches[0]->op.AsKernelLaunch()->buffers.pop_back(); }),
               "has 1 buffers, and its kernel needs number 1");
  EXPECT_FAILS(verified([](PlanBuilder &b) { b.plan.launches[1]->own.pop_back(); }),
               "has 1 kernels of our own, expected 2");
  EXPECT_FAILS(
      verified([](PlanBuilder &b) { std::swap(b.plan.launches[1]->own[0], b.plan.launches[1]->own[1]); }),
      "is another product than its kernel was made for");
  EXPECT_FAILS(verified([](PlanBuilder &b) { b.plan.launches[1]->own[0]->symbol = "double"; }),
               "is a product, and its kernel 'double' is not");
  EXPECT_FAILS(verified([](PlanBuilder &b) { b.plan.launches[1]->own[0]->symbol = "second"; }),
               "is carried out by 'second', which is no kernel of sm_90");
  EXPECT_FAILS(verified([](PlanBuilder &b) { b.plan.launches[1]->own[0]->operands = {0, 1, 5}; }),
               "gives its kernel 'first' no operand for pointer 2");
  EXPECT_FAILS(verified([](PlanBuilder &b) { b.plan.launches[1]->own[1]->operands = {3, 4, 2}; }),
               "gives its kernel 'added' no operand for pointer 3");
  // A product writes its result, and nothing else.
  for (const auto &[number, operands] : {std::pair<size_t, std::vector<uint32_t>>{0, {0, 1, 1}},
                                         {0, {2, 1, 0}},
                                         {0, {0, 1, 4}},
                                         {1, {3, 4, 2, 3}},
                                         {1, {0, 1, 2, 2}}})
    EXPECT_FAILS(verified([&](PlanBuilder &b) { b.plan.launches[1]->own[number]->operands = operands; }),
                 "other operands than both matrices, what is added, and the result");
  EXPECT_FAILS(verified([](PlanBuilder &b) { b.plan.launches[1]->op.AsContractionLaunch()->k = 7; }),
               "has 7 as number 2 of its product, and its kernel was made for 8");
  EXPECT_FAILS(verified([](PlanBuilder &b) {
                 auto candidate = std::make_unique<fb::ProductAlgorithmT>();
                 candidate->words = {1, 2};
                 b.plan.launches[1]->op.AsContractionLaunch()->candidates.push_back(std::move(candidate));
               }),
               "candidate 0 has 2 words");
  EXPECT_FAILS(verified([](PlanBuilder &b) {
                 for (int i = 0; i < 9; ++i) {
                   auto candidate = std::make_unique<fb::ProductAlgorithmT>();
                   candidate->words.resize(8);
                   b.plan.launches[1]->op.AsContractionLaunch()->candidates.push_back(std::move(candidate));
                 }
               }),
               "has 9 candidates of a library, of which there are at most 8");
  // There is one batch index, whose stride says nothing.
  EXPECT_TRUE(verified([](PlanBuilder &b) {
                b.plan.launches[1]->op.AsContractionLaunch()->a_strides[0] = 800;
              }).ok());
  EXPECT_FAILS(
      verified([](PlanBuilder &b) { b.plan.launches[1]->op.AsContractionLaunch()->b_strides = {0, 1, 8}; }),
      "has 1 as number 7 of its product, and its kernel was made for 40");
  // The host has no use for them.
  PlanBuilder host;
  host.argument("x", DType::f32, {4});
  host.result("y", DType::f32, {4});
  fb::LaunchT &launch = host.kernel(
      "nothing", {host.buffer(fb::Storage::argument, 0, 0, 16), host.buffer(fb::Storage::result, 0, 0, 16)},
      1, 4);
  launch.own.push_back(std::make_unique<fb::OwnKernelT>());
  EXPECT_FAILS(verify_with(host, 0, {{"nothing", nothing}}),
               "has kernels of our own for a GPU, and runs on none");
  // A target with a GPU, and no kernels of one.
  EXPECT_FAILS(plan_of_gpu().verdict(Image::from_functions({}).get()),
               "is of a kernel of a GPU, and there are none");
}

TEST(DeviceImage, OperandsBeginWhereKernelsNeedIt) {
  const auto verdict = [](std::vector<uint32_t> alignments, const auto &change) {
    fb::DeviceImageT made = image_of_kernels();
    made.kernels[1]->alignments = {alignments[0], alignments[1]};     // y and x
    made.kernels[2]->alignments = {alignments[2], alignments[2], 16}; // a, b and z
    const auto image = Image::load(*package_of(bytes_of(made)), "image.cuda:sm_90").value_or_throw();
    PlanBuilder b = plan_of_gpu();
    for (auto &argument : b.plan.arguments)
      argument->alignment = 16;
    change(b);
    return b.verdict(image.get());
  };
  const auto same = [](PlanBuilder &) {};
  EXPECT_TRUE(verdict({16, 16, 16}, same).ok()) << verdict({16, 16, 16}, same).message();
  EXPECT_FAILS(verdict({16, 16, 16}, [](PlanBuilder &b) { b.plan.arguments[0]->alignment = 8; }),
               "launch 0 'double' has operand 0 in buffer 0, which begins at a multiple of 8 bytes, and its "
               "kernel needs one of 16");
  EXPECT_TRUE(verdict({16, 8, 16}, [](PlanBuilder &b) { b.plan.arguments[0]->alignment = 8; }).ok());
  EXPECT_FAILS(verdict({16, 4, 16}, [](PlanBuilder &b) { b.plan.arguments[2]->alignment = 0; }),
               "launch 1 'matmul' has operand 1 in buffer 2, which begins at a multiple of 4 bytes");
  EXPECT_FAILS(verdict({16, 4, 16}, [](PlanBuilder &b) { b.plan.results[1]->alignment = 4; }),
               "has operand 2 in buffer 4, which begins at a multiple of 4 bytes");
  const auto image = [](const auto &change) {
    return loaded([&](fb::DeviceImageT &i) { change(*i.kernels[1]); });
  };
  EXPECT_FAILS(image([](fb::DeviceKernelT &k) { k.alignments = {16}; }),
               "kernel 'double' of a GPU has 1 alignments of its 2 pointers");
  EXPECT_FAILS(image([](fb::DeviceKernelT &k) { k.alignments = {16, 12}; }),
               "needs an operand at a multiple of 12 bytes, expected a power of two up to 32");
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

std::unique_ptr<fb::MatrixPlaceT> place_of(std::vector<int64_t> strides) {
  auto made = std::make_unique<fb::MatrixPlaceT>();
  made->strides = std::move(strides);
  return made;
}

/// y[b,4,6] = x[b,3,8] * w[4,3,3] + v[4], then relu.
fb::ConvolutionLaunchT convolution_of(int64_t batch) {
  fb::ConvolutionLaunchT made;
  made.dtype = static_cast<uint8_t>(DType::f16);
  made.batch = batch;
  made.groups = 1;
  made.channels = 3;
  made.outputs = 4;
  made.extents = {8};
  made.window = {3};
  made.places = {6};
  made.stride = made.base_dilation = made.window_dilation = {1};
  made.low = {0};
  made.a = place_of({24, 0, 8, 1});
  made.w = place_of({0, 9, 3, 1});
  made.y = place_of({24, 0, 6, 1});
  made.steps = {0, 4}; // add, relu
  return made;
}

/// The kernel for any batch, in tiles of 4 by 16.
fb::DeviceImageT image_of_convolution() {
  fb::DeviceImageT image;
  image.architecture = "sm_90";
  image.kernels.push_back(kernel("windows", {0, 1, 2, 3}));
  image.kernels[0]->sizes = 1;
  image.kernels[0]->convolution = std::make_unique<fb::ConvolutionKernelT>();
  image.kernels[0]->convolution->launch = std::make_unique<fb::ConvolutionLaunchT>(convolution_of(-1));
  image.kernels[0]->convolution->tile_m = 4;
  image.kernels[0]->convolution->tile_n = 16;
  return image;
}

PlanBuilder plan_of_convolution() {
  PlanBuilder b;
  b.plan.target = target;
  b.plan.image = std::string("image.") + target;
  b.argument("x", DType::f16, {5, 3, 8});
  b.argument("w", DType::f16, {4, 3, 3});
  b.argument("v", DType::f16, {4});
  b.result("y", DType::f16, {5, 4, 6});
  fb::ConvolutionLaunchT launch = convolution_of(5);
  launch.a->buffer = b.buffer(fb::Storage::argument, 0, 0, 240);
  launch.w->buffer = b.buffer(fb::Storage::argument, 1, 0, 72);
  launch.beside = {b.buffer(fb::Storage::argument, 2, 0, 8)};
  launch.y->buffer = b.buffer(fb::Storage::result, 0, 0, 240);
  fb::LaunchT &made = b.launch("convolution");
  made.op.Set(std::move(launch));
  made.own.push_back(std::make_unique<fb::OwnKernelT>());
  made.own.back()->symbol = "windows";
  made.own.back()->operands = {1, 0, 3, 2};
  b.plan.devices.push_back(std::make_unique<fb::DevicePartT>());
  b.plan.devices.back()->name = "cuda:0";
  for (auto &argument : b.plan.arguments)
    argument->type->device = "cuda:0";
  b.plan.results[0]->type->device = "cuda:0";
  b.plan.segments.push_back(std::make_unique<fb::SegmentT>());
  b.plan.segments.back()->launches = 1;
  return b;
}

template <typename Change> Status verified_convolution(Change change) {
  static const std::shared_ptr<Image> image =
      Image::load(*package_of(bytes_of(image_of_convolution())), "image.cuda:sm_90").value_or_throw();
  PlanBuilder b = plan_of_convolution();
  change(b, *b.plan.launches[0]->op.AsConvolutionLaunch());
  return b.verdict(image.get());
}

TEST(DeviceImage, ConvolutionsOfAnyBatch) {
  const auto loaded = DeviceImage::load(bytes_of(image_of_convolution())).value_or_throw();
  const std::vector<std::byte> bytes = plan_of_convolution().bytes();
  const fb::Plan &plan = *read_plan(bytes).value_or_throw();
  const auto own = loaded->own_launches(*plan.launches()->Get(0)).value_or_throw();
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].pointers, (std::vector<uint32_t>{1, 0, 3, 2}));
  EXPECT_EQ(own[0].blocks, 2u); // 4 by 30 in tiles of 4 by 16
  EXPECT_EQ(own[0].sizes, std::vector<int64_t>{30});
}

/// That for which the image has a kernel, and that of the plan.
static std::array<fb::ConvolutionLaunchT *, 2> convolutions_of(fb::DeviceImageT &image, PlanBuilder &b) {
  return {image.kernels[0]->convolution->launch.get(), b.plan.launches[0]->op.AsConvolutionLaunch()};
}

/// Zeros between the elements of the operand: places with equal remainders are a matrix.
TEST(DeviceImage, RemaindersOfPlacesAreMatrices) {
  fb::DeviceImageT image = image_of_convolution();
  PlanBuilder b = plan_of_convolution();
  for (fb::ConvolutionLaunchT *launch : convolutions_of(image, b)) {
    launch->base_dilation = {2};
    launch->places = {13};
    launch->y->strides = {52, 0, 13, 1};
  }
  const auto loaded = DeviceImage::load(bytes_of(image)).value_or_throw();
  const std::vector<std::byte> bytes = b.bytes();
  const fb::Plan &plan = *read_plan(bytes).value_or_throw();
  const auto own = loaded->own_launches(*plan.launches()->Get(0)).value_or_throw();
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].sizes, std::vector<int64_t>{35}); // 7 places of a remainder in each of 5 images
  EXPECT_EQ(own[0].blocks, 6u);                      // 2 matrices of 4 by 35 in tiles of 4 by 16
}

/// A result that has the f32 in which halves are added is twice as long.
TEST(DeviceImage, SumsOfHalvesMayStayF32) {
  fb::DeviceImageT image = image_of_convolution();
  PlanBuilder b = plan_of_convolution();
  for (fb::ConvolutionLaunchT *launch : convolutions_of(image, b)) {
    launch->steps = {5};
    launch->beside.clear();
  }
  b.plan.launches[0]->own[0]->operands = {1, 0, 2};
  image.kernels[0]->pointers = {0, 1, 2};
  const std::shared_ptr<Image> loaded =
      Image::load(*package_of(bytes_of(image)), "image.cuda:sm_90").value_or_throw();
  EXPECT_FAILS(b.verdict(loaded.get()), "y reaches beyond the 240 bytes");
  b.plan.results[0]->type->dtype = static_cast<uint8_t>(DType::f32);
  b.plan.launches[0]->op.AsConvolutionLaunch()->y->buffer = b.buffer(fb::Storage::result, 0, 0, 480);
  EXPECT_TRUE(b.verdict(loaded.get()).ok()) << b.verdict(loaded.get()).message();
}

TEST(DeviceImage, ConvolutionsFitTheirKernels) {
  using Launch = fb::ConvolutionLaunchT;
  EXPECT_TRUE(verified_convolution([](PlanBuilder &, Launch &) {}).ok())
      << verified_convolution([](PlanBuilder &, Launch &) {}).message();
  for (const auto &change : {+[](Launch &c) { c.channels = 2; }, +[](Launch &c) { c.outputs = 3; },
                             +[](Launch &c) { c.low = {1}; }, +[](Launch &c) { c.places = {5}; },
                             +[](Launch &c) { c.a->strides = {24, 0, 1, 1}; },
                             +[](Launch &c) { c.w->offset = 0, c.w->strides = {0, 9, 1, 3}; },
                             +[](Launch &c) { c.steps = {1, 4}; },
                             +[](Launch &c) { c.dtype = static_cast<uint8_t>(DType::bf16); }})
    EXPECT_FAILS(verified_convolution([&](PlanBuilder &, Launch &c) { change(c); }),
                 "is another convolution than its kernel was made for");
  EXPECT_FAILS(verified_convolution([](PlanBuilder &b, Launch &) { b.plan.launches[0]->own.clear(); }),
               "has 0 kernels of our own, expected 1");
  EXPECT_FAILS(verified_convolution(
                   [](PlanBuilder &b, Launch &) { b.plan.launches[0]->own[0]->operands = {1, 0, 3}; }),
               "gives its kernel 'windows' no operand for pointer 3");
  EXPECT_FAILS(
      verified_convolution([](PlanBuilder &, Launch &c) { c.dtype = static_cast<uint8_t>(DType::i64); }),
      "has no convolution of element type number");
  // What writes an argument has to see whether the call has failed.
  EXPECT_FAILS(verified_convolution([](PlanBuilder &b, Launch &c) {
                 b.plan.arguments[0]->donated = true;
                 b.plan.launches[0]->predicate = fb::Predicate::failure;
                 b.argument("z", DType::f16, {5, 4, 6});
                 b.plan.arguments[3]->type->device = "cuda:0";
                 b.plan.arguments[3]->donated = true;
                 c.y->buffer = b.buffer(fb::Storage::argument, 3, 0, 240);
               }),
               "is a library call on a device, where it does not see whether the call has failed");
}

TEST(DeviceImage, AConvolutionWritesItsResultAlone) {
  for (const std::vector<uint32_t> &operands :
       {std::vector<uint32_t>{1, 0, 3, 1}, {1, 0, 3, 3}, {3, 3, 3, 3}, {0, 1, 3, 2}})
    EXPECT_FAILS(verified_convolution([&](PlanBuilder &b, fb::ConvolutionLaunchT &) {
                   b.plan.launches[0]->own[0]->operands = operands;
                 }),
                 "other operands than the weights, the operand");
}

TEST(DeviceImage, RefusesConvolutionsThatNoGpuLaunches) {
  const auto refused = [](auto change) {
    fb::DeviceImageT image = image_of_convolution();
    change(*image.kernels[0]);
    return DeviceImage::load(bytes_of(image)).status();
  };
  using Kernel = fb::DeviceKernelT;
  EXPECT_TRUE(refused([](Kernel &) {}).ok());
  EXPECT_FAILS(refused([](Kernel &k) { k.convolution->launch = nullptr; }),
               "is of a convolution without numbers");
  EXPECT_FAILS(refused([](Kernel &k) { k.convolution->launch->window = {3, 3}; }),
               "not one number for each of 1 extents");
  EXPECT_FAILS(refused([](Kernel &k) { k.convolution->launch->y = nullptr; }), "or not 4 of each tensor");
  EXPECT_FAILS(refused([](Kernel &k) { k.convolution->tile_m = 0; }), "has tiles of 0 by 16 elements");
  EXPECT_FAILS(refused([](Kernel &k) { k.sizes = 2; }), "has 2 sizes, and its convolution has 1");
  EXPECT_FAILS(refused([](Kernel &k) { k.attention = std::make_unique<fb::AttentionLaunchT>(); }),
               "is of more than one of a product, attention, a convolution, a sort, and the user");
}

//===----------------------------------------------------------------------===//
// Sorts
//===----------------------------------------------------------------------===//

/// The kernel of sorts of rows of 7 elements, of which 5 are kept, with 16 rows of a block.
fb::DeviceImageT image_of_sort() {
  fb::DeviceImageT image;
  image.architecture = "sm_90";
  image.kernels.push_back(kernel("rows", {0, 1, 2}));
  image.kernels[0]->sizes = 1;
  image.kernels[0]->sort = std::make_unique<fb::SortKernelT>();
  image.kernels[0]->sort->dtype = static_cast<uint8_t>(DType::f32);
  image.kernels[0]->sort->extent = 7;
  image.kernels[0]->sort->count = 5;
  image.kernels[0]->sort->descending = true;
  image.kernels[0]->sort->block_rows = 16;
  return image;
}

PlanBuilder plan_of_sort() {
  PlanBuilder b;
  b.plan.target = target;
  b.plan.image = std::string("image.") + target;
  b.argument("x", DType::f32, {20, 7});
  b.result("values", DType::f32, {20, 5});
  b.result("indices", DType::i64, {20, 5});
  fb::SortLaunchT launch;
  launch.dtype = static_cast<uint8_t>(DType::f32);
  launch.rows = 20;
  launch.extent = 7;
  launch.count = 5;
  launch.descending = true;
  launch.source = b.buffer(fb::Storage::argument, 0, 0, 560);
  launch.values = b.buffer(fb::Storage::result, 0, 0, 400);
  launch.indices = b.buffer(fb::Storage::result, 1, 0, 800);
  fb::LaunchT &made = b.launch("sort");
  made.op.Set(std::move(launch));
  made.own.push_back(std::make_unique<fb::OwnKernelT>());
  made.own.back()->symbol = "rows";
  made.own.back()->operands = {0, 1, 2};
  b.plan.devices.push_back(std::make_unique<fb::DevicePartT>());
  b.plan.devices.back()->name = "cuda:0";
  b.plan.arguments[0]->type->device = "cuda:0";
  for (auto &result : b.plan.results)
    result->type->device = "cuda:0";
  b.plan.segments.push_back(std::make_unique<fb::SegmentT>());
  b.plan.segments.back()->launches = 1;
  return b;
}

template <typename Change> Status verified_sort(Change change) {
  static const std::shared_ptr<Image> image =
      Image::load(*package_of(bytes_of(image_of_sort())), "image.cuda:sm_90").value_or_throw();
  PlanBuilder b = plan_of_sort();
  change(b, *b.plan.launches[0]->op.AsSortLaunch());
  return b.verdict(image.get());
}

TEST(DeviceImage, SortsOfAnyNumberOfRows) {
  const auto loaded = DeviceImage::load(bytes_of(image_of_sort())).value_or_throw();
  const std::vector<std::byte> bytes = plan_of_sort().bytes();
  const fb::Plan &plan = *read_plan(bytes).value_or_throw();
  const auto own = loaded->own_launches(*plan.launches()->Get(0)).value_or_throw();
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].pointers, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(own[0].blocks, 2u);
  EXPECT_EQ(own[0].sizes, std::vector<int64_t>{20});
}

TEST(DeviceImage, SortsFitTheirKernels) {
  using Launch = fb::SortLaunchT;
  EXPECT_TRUE(verified_sort([](PlanBuilder &, Launch &) {}).ok())
      << verified_sort([](PlanBuilder &, Launch &) {}).message();
  EXPECT_FAILS(verified_sort([](PlanBuilder &, Launch &s) { s.descending = false; }),
               "is another sort than its kernel was made for");
  EXPECT_FAILS(verified_sort([](PlanBuilder &, Launch &s) { s.dtype = static_cast<uint8_t>(DType::i32); }),
               "is another sort than its kernel was made for");
  EXPECT_FAILS(verified_sort([](PlanBuilder &, Launch &s) { s.rows = 10, s.extent = 14; }),
               "has values of 400 bytes, expected 200");
  EXPECT_FAILS(verified_sort([](PlanBuilder &b, Launch &) { b.plan.launches[0]->own.clear(); }),
               "has 0 kernels of our own, expected 1");
  EXPECT_FAILS(
      verified_sort([](PlanBuilder &b, Launch &) { b.plan.launches[0]->own[0]->operands = {0, 2, 1}; }),
      "gives its kernel 'rows' other operands than source, values and indices");
  EXPECT_FAILS(verified_sort([](PlanBuilder &b, Launch &) { b.plan.launches[0]->may_fail = true; }),
               "sorts, and is marked as one that may fail");
}

TEST(DeviceImage, RefusesSortsThatNoGpuLaunches) {
  const auto refused = [](auto change) {
    fb::DeviceImageT image = image_of_sort();
    change(*image.kernels[0]);
    return DeviceImage::load(bytes_of(image)).status();
  };
  using Kernel = fb::DeviceKernelT;
  EXPECT_TRUE(refused([](Kernel &) {}).ok());
  EXPECT_FAILS(refused([](Kernel &k) { k.sort->block_rows = 0; }), "is of a sort with no rows of a block");
  for (const uint32_t threads : {96U, 8U, 17U})
    EXPECT_FAILS(refused([&](Kernel &k) { k.threads = threads; }),
                 "is of a sort of 16 rows of 7 elements by " + std::to_string(threads) + " threads");
  EXPECT_FAILS(refused([](Kernel &k) { k.sort->extent = 129; }), "is of a sort of 16 rows of 129 elements");
  EXPECT_FAILS(refused([](Kernel &k) { k.takes_predicate = true; }), "takes more than pointers and a size");
  EXPECT_FAILS(refused([](Kernel &k) { k.sizes = 2; }),
               "is of a sort with 3 pointers and 2 sizes, expected 3 and 1");
  EXPECT_FAILS(refused([](Kernel &k) { k.attention = std::make_unique<fb::AttentionLaunchT>(); }),
               "is of more than one of a product, attention, a convolution, a sort, and the user");
}

TEST(DeviceImage, DamagedBytesAreRefusedOrHarmless) {
  const std::vector<std::byte> bytes = bytes_of(image_of_kernels());
  const std::vector<std::byte> plan_bytes = plan_of_gpu().bytes();
  const fb::Plan &plan = *read_plan(plan_bytes).value_or_throw();
  std::mt19937 random(5);
  size_t accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> damaged = bytes;
    for (int changes = 1 + static_cast<int>(random() % 3); changes; --changes)
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    const auto image = DeviceImage::load(damaged);
    if (!image)
      continue;
    ++accepted;
    (void)(*image)->launch_of(*plan.launches()->Get(0)->op_as_KernelLaunch());
    (void)(*image)->own_launches(*plan.launches()->Get(1));
  }
  EXPECT_GT(accepted, 0u);
}

TEST(DeviceImage, TargetsNeedTheirKernels) {
  PackageWriter writer;
  writer.add("other", std::as_bytes(std::span("nothing")));
  const auto package = Package::from_memory(writer.finish().value_or_throw()).value_or_throw();
  EXPECT_EQ(Image::load(*package, "image.cuda:sm_90").status().code(), "WEFT-L007");
  std::vector<std::byte> damaged = bytes_of(image_of_kernels());
  damaged.resize(damaged.size() / 2);
  EXPECT_FAILS(Image::load(*package_of(damaged), "image.cuda:sm_90").status(),
               "section 'image.cuda:sm_90.device': kernel image: the kernels of a GPU are damaged");
}

} // namespace
