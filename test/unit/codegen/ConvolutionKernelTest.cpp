//===- ConvolutionKernelTest.cpp - Convolutions of GPUs -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of convolutions, compiled by NVRTC, on the engine that runs PTX (docs/cudasim.md), in race mode.
// Those of f32 and f64 have to be the bits of one chain of fused multiply-adds over channels and window.
// Halves are small integers, whose sums are exact, so that only the roundings of the result and of each step
// are left.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/CudaCompiler.h"
#include "codegen/cuda/contractions/EmitConvolutions.h"
#include "codegen/cuda/contractions/PrintContraction.h"
#include "ir/Parse.h"
#include "test/cudasim/engine/Engine.h"
#include "test/unit/codegen/Elements.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace weft::testing {
namespace {

using Numbers = std::vector<int64_t>;

std::string listed(const Numbers &numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "]";
}
int64_t product(const Numbers &numbers) {
  int64_t all = 1;
  for (const int64_t each : numbers)
    all *= each;
  return all;
}
/// The strides of row-major memory whose dimensions come in the order `order`.
Numbers stridesInOrder(const Numbers &shape, const Numbers &order) {
  Numbers strides(shape.size());
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[size_t(order[i])] = next;
    next *= shape[size_t(order[i])];
  }
  return strides;
}
/// Calls `body` for each index of a shape, the last dimension fastest.
template <typename Body> void forAll(const Numbers &shape, const Body &body) {
  Numbers index(shape.size(), 0);
  for (int64_t left = product(shape); left > 0; --left) {
    body(index);
    for (size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];)
      index[d] = 0;
  }
}
int64_t placeIn(const Numbers &strides, const Numbers &index) {
  int64_t at = 0;
  for (size_t i = 0; i < index.size(); ++i)
    at += strides[i] * index[i];
  return at;
}

struct Case {
  DType dtype = DType::f32;
  int64_t batch = 1, groups = 1, channels = 1, outputs = 2;
  Numbers extents, window, places, stride, low, dilation;
  Numbers spread;             ///< the base dilation; none if it is empty
  Numbers aStrides, wStrides; ///< [batch, groups, channels, extents..], [groups, outputs, channels, window..]
  int64_t wOffset = 0;
  Numbers order;
  std::vector<std::string> steps;

  Numbers aShape() const { return joined({batch, groups, channels}, extents); }
  bool isWide() const { return steps == std::vector<std::string>{"wide"}; }
  DType resultType() const { return isWide() ? DType::f32 : dtype; }
  Numbers wShape() const { return joined({groups, outputs, channels}, window); }
  /// The dimensions of the result as `order` counts them, and their strides.
  Numbers yShape() const { return joined({batch, groups * outputs}, places); }
  Numbers yStrides() const { return stridesInOrder(yShape(), order); }
  static Numbers joined(Numbers first, const Numbers &rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  }

  std::string text() const {
    const std::string device = ", #weft.device<cuda:0>>", element = std::string(name(dtype)) + device;
    auto line = [&](int64_t count) { return "tensor<" + std::to_string(count) + "x" + element; };
    std::string result = "tensor<", arguments, types, names, beside;
    for (const int64_t dim : order)
      result += std::to_string(yShape()[size_t(dim)]) + "x";
    result += std::string(name(resultType())) + device;
    size_t next = 0;
    for (const std::string &step : steps) {
      names += (names.empty() ? "\"" : ", \"") + step + "\"";
      if (step == "relu" || step == "wide")
        continue;
      const std::string value = "%s" + std::to_string(next++);
      const std::string type = step == "residual" ? result : line(groups * outputs);
      arguments += ", " + value + ": " + type;
      beside += (beside.empty() ? "" : ", ") + value;
      types += (types.empty() ? "" : ", ") + type;
    }
    const std::string a = line(product(aShape())), w = line(product(wShape()));
    return "weft.func @f(%a: " + a + ", %w: " + w + arguments + ") -> " + result +
           " {\n  %y = weft.implicit_gemm %a " + listed(joined({0}, aStrides)) + ", %w " +
           listed(joined({wOffset}, wStrides)) + ", shape = " + listed({batch, groups, channels, outputs}) +
           ", extents = " + listed(extents) + ", window = " + listed(window) +
           ", places = " + listed(places) + ", stride = " + listed(stride) + ", low = " + listed(low) +
           ", base_dilation = " + listed(spread.empty() ? Numbers(places.size(), 1) : spread) +
           ", window_dilation = " + listed(dilation) + ", order = " + listed(order) +
           (steps.empty() ? "" : " epilogue [" + names + "]") +
           (beside.empty() ? "" : " with (" + beside + " : " + types + ")") + " : " + a + ", " + w +
           "\n  weft.return %y : " + result + "\n}\n";
  }
};

Numbers counted(size_t count) {
  Numbers order(count);
  for (size_t i = 0; i < count; ++i)
    order[i] = int64_t(i);
  return order;
}

/// Images with channels first or last, weights as they are, exchanged or reversed, results in two orders.
Case randomCase(DType dtype, std::mt19937 &random) {
  auto from = [&](int64_t least, int64_t most) {
    return least + int64_t(random() % uint64_t(most - least + 1));
  };
  Case c;
  c.dtype = dtype;
  c.batch = from(1, 4);
  c.groups = random() % 3 ? 1 : 2;
  c.channels = random() % 4 ? from(1, 9) : from(10, 40);
  c.outputs = random() % 4 ? from(2, 20) : from(30, 70);
  const size_t dims = size_t(from(1, 3));
  for (size_t i = 0; i < dims; ++i) {
    c.window.push_back(from(1, dims == 3 ? 2 : 4));
    c.stride.push_back(random() % 2 ? 1 : from(1, 3));
    c.dilation.push_back(random() % 3 ? 1 : 2);
    c.low.push_back(from(-1, 2));
    const int64_t reach = (c.window[i] - 1) * c.dilation[i] + 1;
    c.extents.push_back(reach + from(1, dims == 3 ? 3 : 9));
    c.places.push_back((c.extents[i] + std::max<int64_t>(c.low[i], 0) * 2 - reach) / c.stride[i] + 1);
  }
  Numbers last = counted(dims + 3);
  if (random() % 3 == 0) // groups and channels last
    std::rotate(last.begin() + 1, last.begin() + 3, last.end());
  c.aStrides = stridesInOrder(c.aShape(), last);
  Numbers exchanged = counted(dims + 3);
  if (random() % 3 == 0)
    std::swap(exchanged[1], exchanged[2]);
  c.wStrides = stridesInOrder(c.wShape(), exchanged);
  if (random() % 3 == 0)
    for (size_t i = 0; i < dims; ++i) {
      c.wOffset += (c.window[i] - 1) * c.wStrides[3 + i];
      c.wStrides[3 + i] *= -1;
    }
  c.order = counted(dims + 2);
  if (random() % 3 == 0)
    std::swap(c.order[0], c.order[1]);
  for (const char *step : {"sub", "mul", "add", "residual", "relu"})
    if (random() % 2)
      c.steps.emplace_back(step);
  // A sum of halves that stays f32.
  if (codegen::isHalf(dtype) && random() % 4 == 0)
    c.steps = {"wide"};
  return c;
}

/// Zeros between the elements of at least one extent; places that more zeros follow, as output_padding adds
/// them.
Case randomSpreadCase(DType dtype, std::mt19937 &random) {
  Case c = randomCase(dtype, random);
  const size_t dims = c.places.size(), always = random() % dims;
  for (size_t i = 0; i < dims; ++i) {
    c.spread.push_back(i == always ? 2 + int64_t(random() % 2) : 1 + int64_t(random() % 3));
    if (c.spread[i] == 1)
      continue;
    c.stride[i] = 1;
    c.extents[i] = 1 + int64_t(random() % (dims == 3 ? 3 : 6));
    const int64_t whole = (c.extents[i] - 1) * c.spread[i] + 1 + 2 * c.low[i];
    c.places[i] = std::max<int64_t>(whole - (c.window[i] - 1) * c.dilation[i], 1) + int64_t(random() % 2);
  }
  c.aStrides = stridesInOrder(c.aShape(), counted(dims + 3));
  return c;
}

/// What a convolution reads and computes.
struct Tensors {
  Elements a, w, y;
  std::vector<Elements> beside;
};

/// As the dtype has it.
double rounded(DType dtype, double value) {
  Elements one(dtype, 1);
  one.putReal(0, value);
  return one.real(0);
}

/// In the type in which the dtype is added.
template <typename Sum> double sumOf(const Case &c, const Tensors &t, const Numbers &place) {
  const int64_t group = place[1] / c.outputs, output = place[1] % c.outputs;
  Sum chain = 0;
  forAll(Case::joined({c.channels}, c.window), [&](const Numbers &term) {
    Numbers element{place[0], group, term[0]}, weight{group, output};
    weight.insert(weight.end(), term.begin(), term.end());
    bool inside = true;
    for (size_t i = 0; i < c.places.size(); ++i) {
      const int64_t at = place[2 + i] * c.stride[i] + term[1 + i] * c.dilation[i] - c.low[i],
                    spread = c.spread.empty() ? 1 : c.spread[i];
      element.push_back(at / spread);
      inside = inside && at >= 0 && at % spread == 0 && at / spread < c.extents[i];
    }
    // Without zeros between them, the padding are elements.
    if (!inside && !c.spread.empty())
      return;
    const Sum x = inside ? Sum(t.a.real(placeIn(c.aStrides, element))) : 0;
    chain = std::fma(Sum(t.w.real(c.wOffset + placeIn(c.wStrides, weight))), x, chain);
  });
  return rounded(c.resultType(), double(chain));
}

template <typename Sum> double expectedAt(const Case &c, const Tensors &t, const Numbers &place, int64_t at) {
  auto value = Sum(sumOf<Sum>(c, t, place));
  size_t next = 0;
  for (const std::string &step : c.steps) {
    if (step == "wide")
      continue;
    if (step == "relu") {
      value = value > 0 || std::isnan(value) ? value : 0;
      continue;
    }
    const Elements &beside = t.beside[next++];
    const auto by = Sum(beside.real(step == "residual" ? at : place[1]));
    value = Sum(rounded(c.dtype, step == "sub" ? value - by : step == "mul" ? value * by : value + by));
  }
  return value;
}

/// Runs the kernel of a case on the engine, in two orders of blocks and warps.
void run(const Case &c, const codegen::CudaContraction &described, const ir::TargetDescription &target,
         Tensors &t) {
  auto schedule = codegen::chooseContractionSchedule(described, target);
  ASSERT_TRUE(schedule) << schedule.status().message();
  auto text = codegen::printContraction(described, *schedule, target);
  auto compiler = codegen::CudaTextCompiler::make(target.name);
  ASSERT_TRUE(text && compiler) << (text ? compiler.status() : text.status()).message();
  auto object = compiler->compile(*text, "convolution", nullptr);
  ASSERT_TRUE(object) << object.status().message() << "\n" << *text;
  const codegen::CudaKernel kernel = *codegen::CudaKernel::deserialize(*object);
  auto parsed = cudasim::Module::parse(kernel.ptx);
  ASSERT_TRUE(parsed) << parsed.error.str();
  auto blocks =
      codegen::contractionBlocks(*schedule, described.batch.value, described.m.value, described.n.value);
  ASSERT_TRUE(blocks);
  std::vector<std::byte> first;
  for (cudasim::Order order : {cudasim::Order::forward, cudasim::Order::shuffled}) {
    cudasim::Memory memory;
    ASSERT_TRUE(parsed.module->load(memory));
    auto upload = [&](const Elements &elements) {
      const uint64_t address = memory.allocate(elements.bytes.size());
      std::memcpy(memory.host(address, elements.bytes.size()), elements.bytes.data(), elements.bytes.size());
      return address;
    };
    std::memset(t.y.bytes.data(), 0xFF, t.y.bytes.size());
    std::vector<uint64_t> parameters = {upload(t.w), upload(t.a)};
    for (const Elements &each : t.beside)
      parameters.push_back(upload(each));
    const uint64_t out = upload(t.y);
    parameters.push_back(out);
    cudasim::LaunchOptions options;
    options.grid = {uint32_t(*blocks)};
    options.block = {uint32_t(schedule->threads())};
    options.dynamicShared = uint32_t(schedule->sharedBytes(c.dtype));
    options.order = order;
    options.seed = 5;
    options.race = true;
    auto ran =
        cudasim::launch(*parsed.module, "weft_kernel", memory, options, std::as_bytes(std::span(parameters)));
    ASSERT_TRUE(ran.ok()) << ran.fault->str() << "\n" << schedule->str() << "\n" << *text;
    std::memcpy(t.y.bytes.data(), memory.host(out, t.y.bytes.size()), t.y.bytes.size());
    if (first.empty())
      first = t.y.bytes;
    EXPECT_EQ(t.y.bytes, first) << "the order of blocks and warps must not matter\n" << schedule->str();
  }
}

/// Whether the kernel for a target computes a convolution.
void computesRight(const Case &c, const ir::TargetDescription &target, std::mt19937 &random,
                   const std::vector<double> &weights = {}) {
  mlir::DialectRegistry registry;
  ir::registerDialect(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = ir::parseModule(context, c.text(), "convolution");
  ASSERT_TRUE(module) << module.status().message() << "\n" << c.text();
  auto function = *(*module)->getOps<ir::FuncOp>().begin();
  const ir::Alignments alignments(function);
  const auto described =
      codegen::describeConvolution(*function.getOps<ir::ImplicitGemmOp>().begin(), alignments);
  const Values values = codegen::isHalf(c.dtype) ? Values::smallIntegers : Values::random;
  Tensors t{randomElements(c.dtype, product(c.aShape()), values, random),
            randomElements(c.dtype, product(c.wShape()), values, random),
            Elements(c.resultType(), size_t(product(c.yShape()))),
            {}};
  for (size_t i = 0; i < weights.size(); ++i)
    t.w.putReal(int64_t(i) * 7, weights[i]);
  for (const std::string &step : c.steps)
    if (step != "relu" && step != "wide")
      t.beside.push_back(randomElements(
          c.dtype, step == "residual" ? product(c.yShape()) : c.groups * c.outputs, values, random));
  run(c, described, target, t);
  int wrong = 0;
  const Numbers yStrides = c.yStrides();
  forAll(c.yShape(), [&](const Numbers &place) {
    const int64_t at = placeIn(yStrides, place);
    const double expected = c.dtype == DType::f64 ? expectedAt<double>(c, t, place, at)
                                                  : expectedAt<float>(c, t, place, at),
                 found = t.y.real(at);
    const bool areNone = std::isnan(expected) && std::isnan(found);
    if (wrong < 3 && !areNone && std::bit_cast<uint64_t>(expected) != std::bit_cast<uint64_t>(found)) {
      ++wrong;
      ADD_FAILURE() << found << " instead of " << expected << " at " << listed(place);
    }
  });
  if (wrong)
    ADD_FAILURE() << c.text();
}

class ConvolutionKernels : public ::testing::TestWithParam<DType> {
protected:
  void SetUp() override {
    if (!codegen::Nvrtc::get())
      GTEST_SKIP() << codegen::Nvrtc::get().status().message();
  }
  std::mt19937 random{1 + static_cast<unsigned>(GetParam())};
};

ir::TargetDescription device(const char *name) { return *ir::findDescription(name); }
/// A device that is busy with one block, for which the largest tiles are chosen.
ir::TargetDescription smallDevice(const char *name) {
  ir::TargetDescription found = device(name);
  found.cores = 1;
  return found;
}

TEST_P(ConvolutionKernels, AnyShapeViewAndEpilogue) {
  const char *const targets[] = {"sm_90", "sm_80", "sm_75", "sm_100"};
  for (int i = 0; i < 20 && !HasFailure(); ++i) {
    const char *target = targets[i % 4];
    SCOPED_TRACE(std::string(target) + ", number " + std::to_string(i));
    computesRight(randomCase(GetParam(), random), i / 4 % 2 ? device(target) : smallDevice(target), random);
  }
}

TEST_P(ConvolutionKernels, ZerosBetweenElements) {
  const char *const targets[] = {"sm_90", "sm_80", "sm_75", "sm_100"};
  for (int i = 0; i < 20 && !HasFailure(); ++i) {
    const char *target = targets[i % 4];
    SCOPED_TRACE(std::string(target) + ", number " + std::to_string(i));
    computesRight(randomSpreadCase(GetParam(), random), i / 4 % 2 ? device(target) : smallDevice(target),
                  random);
  }
}

/// Full tiles, of which each remainder has another number of steps; and windows that are read along k.
TEST_P(ConvolutionKernels, ZerosInLargeTiles) {
  Case c;
  c.dtype = GetParam();
  c.batch = 2;
  c.channels = 16;
  c.outputs = 64;
  c.extents = {8, 8};
  c.window = {3, 4};
  c.places = {16, 16};
  c.stride = c.dilation = {1, 1};
  c.low = {1, 2};
  c.spread = {2, 2};
  c.aStrides = stridesInOrder(c.aShape(), counted(5));
  c.wStrides = stridesInOrder(c.wShape(), {0, 2, 1, 3, 4});
  c.order = counted(4);
  c.steps = {"add", "residual", "relu"};
  for (const char *target : {"sm_90", "sm_75"})
    computesRight(c, smallDevice(target), random);
  // Weights meet elements alone, and nothing outside of the image.
  constexpr double infinity = std::numeric_limits<double>::infinity(),
                   none = std::numeric_limits<double>::quiet_NaN();
  computesRight(c, smallDevice("sm_90"), random, {infinity, 1, -infinity, none});
  c.channels = 5;
  c.extents = {3, 10};
  c.window = {2, 18};
  c.places = {5, 3};
  c.low = {0, 0};
  c.aStrides = stridesInOrder(c.aShape(), counted(5));
  c.wStrides = stridesInOrder(c.wShape(), counted(5));
  computesRight(c, device("sm_90"), random);
}

/// The derivative with respect to weights: windows as large as images, of which few places are there. It has
/// the places of its columns in shared memory.
TEST_P(ConvolutionKernels, LongWindows) {
  for (const int64_t step : {1, 2}) {
    Case c;
    c.dtype = GetParam();
    c.batch = 7;
    c.channels = 3;
    c.outputs = 11;
    c.extents = {2 * step + 5 * step - 1, 2 * step + 7 * step - 1};
    c.window = {6, 8};
    c.places = {3, 3};
    c.stride = {1, 1};
    c.low = {1, 1};
    c.dilation = {step, step};
    c.aStrides = stridesInOrder(c.aShape(), {2, 1, 0, 3, 4}); // images are its channels
    c.wStrides = stridesInOrder(c.wShape(), {2, 0, 1, 3, 4});
    c.order = {1, 0, 2, 3};
    SCOPED_TRACE("step " + std::to_string(step));
    computesRight(c, device("sm_90"), random);
  }
}

/// The result and weights in vectors, tiles that are full.
TEST_P(ConvolutionKernels, WholeTiles) {
  Case c;
  c.dtype = GetParam();
  c.batch = 2;
  c.channels = 16;
  c.outputs = 128;
  c.extents = {8, 8};
  c.window = {3, 3};
  c.places = {8, 8};
  c.stride = c.low = c.dilation = {1, 1};
  c.aStrides = stridesInOrder(c.aShape(), counted(5));
  c.wStrides = stridesInOrder(c.wShape(), counted(5));
  c.order = counted(4);
  c.steps = {"add", "relu"};
  for (const char *target : {"sm_90", "sm_75"})
    computesRight(c, smallDevice(target), random);
  if (!codegen::isHalf(GetParam()))
    return;
  // Sums that stay f32, which lanes exchange to write four at once.
  c.steps = {"wide"};
  for (const char *target : {"sm_90", "sm_75"})
    computesRight(c, smallDevice(target), random);
}

INSTANTIATE_TEST_SUITE_P(Types, ConvolutionKernels,
                         ::testing::Values(DType::f32, DType::f16, DType::bf16, DType::f64),
                         [](const auto &info) { return std::string(name(info.param)); });

//===----------------------------------------------------------------------===//
// Kernels that ops share
//===----------------------------------------------------------------------===//

/// How many kernels two convolutions of a function have, whose texts are equal.
size_t kernelsOf(const std::string &sizes, const std::string &first, const std::string &second) {
  mlir::DialectRegistry registry;
  ir::registerDialect(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  const std::string type = "tensor<" + sizes, gpu = ", #weft.device<cuda:0>>";
  const bool isDynamic = sizes[0] == '?';
  const std::string x = type + (isDynamic ? "x1x8x7xf32, #weft.device<cuda:0, [n]>>" : "x1x8x7xf32" + gpu),
                    y = type + (isDynamic ? "x4x8x3xf32, #weft.device<cuda:0, [n]>>" : "x4x8x3xf32" + gpu),
                    w = "tensor<4x1x1x2xf32" + gpu;
  const auto launch = [&](const std::string &name, const std::string &numbers) {
    return "  %" + name + " = weft.implicit_gemm %x [0, 56, 56, 56, 7, 1], %w " + numbers +
           ", order = [0, 1, 2, 3] : " + x + ", " + w + "\n";
  };
  const std::string text = "weft.func @f(%x: " + x + ", %w: " + w + ") -> (" + y + ", " + y + ")" +
                           (isDynamic ? " attributes {weft.symbols = [#weft.symbol<\"n\", 1, 9>]}" : "") +
                           " {\n" + launch("0", first) + launch("1", second) + "  weft.return %0, %1 : " + y +
                           ", " + y + "\n}\n";
  auto module = ir::parseModule(context, text, "convolutions");
  EXPECT_TRUE(module) << module.status().message() << "\n" << text;
  std::string problem;
  const auto target = ir::Target::parse("sm_90", problem);
  if (!module || !target)
    return 0;
  auto emitted = codegen::emitConvolutions(**module, *target);
  EXPECT_TRUE(emitted) << emitted.status().message();
  if (!emitted)
    return 0;
  EXPECT_EQ(emitted->front().text, emitted->back().text);
  return emitted->size();
}

/// A plan compares all numbers of a launch with those of its kernel.
TEST(ConvolutionTexts, OpsShareAKernelIfAllNumbersAreEqual) {
  const auto launch = [](const char *view, const char *batch, const char *extents) {
    return std::string(view) + ", shape = [" + batch + ", 1, 1, 4], extents = " + extents +
           ", window = [1, 2], places = [8, 3], stride = [1, 2], low = [0, 0], base_dilation = [1, 1], "
           "window_dilation = [1, 1]";
  };
  const char *const view = "[0, 8, 2, 2, 2, 1]";
  EXPECT_EQ(kernelsOf("2", launch(view, "2", "[8, 7]"), launch(view, "2", "[8, 7]")), 1u);
  // No window has the last element of a row of 7, so that the text has no extent.
  EXPECT_EQ(kernelsOf("2", launch(view, "2", "[8, 7]"), launch(view, "2", "[8, 6]")), 2u);
  // Strides of channels and rows of the weights, of which there is one.
  const char *const other = "[0, 8, 2, 0, 0, 1]";
  EXPECT_EQ(kernelsOf("?", launch(view, "n", "[8, 7]"), launch(view, "n", "[8, 7]")), 1u);
  EXPECT_EQ(kernelsOf("?", launch(view, "n", "[8, 7]"), launch(other, "n", "[8, 7]")), 2u);
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// 64 channels of 32 x 32, 3 x 3 windows.
codegen::CudaContraction plainConvolution() {
  codegen::CudaContraction c;
  const auto number = codegen::Extent::number;
  c.m = number(64);
  c.n = number(int64_t(32) * 1024);
  c.k = number(576);
  c.aStrides = {number(0), number(576), number(1)};
  c.bStrides = {number(0), number(0), number(1)};
  c.cStrides = {number(0), number(1024), number(1)};
  codegen::CudaWindows windows;
  windows.dims = {{32, 3, 32, 1, 1, 1, 32}, {32, 3, 32, 1, 1, 1, 1}};
  windows.imageStride = 65536;
  windows.channelStride = 1024;
  windows.steps = {{576, 1}};
  windows.columns = {{32, 65536}, {1024, 1}};
  c.windows = windows;
  return c;
}

TEST(ConvolutionSchedules, WrongOnesAreRefused) {
  const codegen::CudaContraction c = plainConvolution();
  const auto target = device("sm_90");
  const auto good = codegen::chooseContractionSchedule(c, target);
  ASSERT_TRUE(good) << good.status().message();
  const auto refusal = [&](const codegen::ContractionSchedule &schedule, const codegen::CudaContraction &of) {
    const Status status = codegen::verifyContractionSchedule(schedule, of, target);
    return status.ok() ? "" : status.message();
  };
  EXPECT_EQ(refusal(*good, c), "");
  codegen::ContractionSchedule schedule = *good;
  schedule.b.vector = 4;
  EXPECT_NE(refusal(schedule, c).find("b: strides or alignment do not allow accesses of 4 elements"),
            std::string::npos);
  schedule = *good;
  schedule.tabled = schedule.blockN;
  EXPECT_NE(refusal(schedule, c).find("places of columns are in shared memory where threads have several"),
            std::string::npos);
  schedule = *good;
  schedule.b.alongK = true;
  EXPECT_NE(refusal(schedule, c), "");
  codegen::CudaContraction changed = c;
  changed.windows->steps = {{64, 10}, {9, 1}};
  EXPECT_NE(refusal(*good, changed).find("a: strides or alignment do not allow accesses"), std::string::npos);
  changed = c;
  changed.windows->dims[0].low = int64_t(1) << 30;
  EXPECT_NE(refusal(*good, changed).find("windows that reach too far"), std::string::npos);
  changed = c;
  changed.bias = true;
  EXPECT_NE(refusal(*good, changed).find("an epilogue of a product"), std::string::npos);
  for (const auto &steps : {std::vector{ir::ConvolutionStep::wide},
                            std::vector{ir::ConvolutionStep::wide, ir::ConvolutionStep::relu}}) {
    changed = c;
    changed.windows->epilogue = steps;
    EXPECT_NE(refusal(*good, changed).find("of f32 with sums that stay f32"), std::string::npos);
  }
  changed = c;
  changed.windows->imageStride = int64_t(1) << 31;
  EXPECT_NE(refusal(*good, changed).find("offsets do not fit into 32 bits"), std::string::npos);
  changed = c;
  changed.windows.reset();
  schedule = *good;
  schedule.tabled = schedule.blockN;
  EXPECT_NE(refusal(schedule, changed), "");
  changed = c;
  changed.windows->dims[1].parts = {{0, 3, 0}};
  EXPECT_NE(refusal(*good, changed).find("parts of windows along some extents alone"), std::string::npos);
  changed.windows->dims[0].parts = {{0, 2, 0}, {1, 1, 0}};
  EXPECT_NE(refusal(*good, changed).find("not a matrix for each remainder"), std::string::npos);
}

} // namespace
} // namespace weft::testing
