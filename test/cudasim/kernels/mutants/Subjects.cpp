//===- Subjects.cpp - The kernels whose mutants are tried -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Their sizes fill no tile, vector or warp, so that each bound matters.
//
//===----------------------------------------------------------------------===//
#include "AttentionSubject.h"
#include "ProductSubject.h"
#include "ProgramSubject.h"

using namespace mlir;
namespace weft::cudasim {

namespace {

using codegen::CudaContraction;
using codegen::Extent;

Expected<std::unique_ptr<Subject>> makeProgram(MLIRContext &context, const SubjectCase &each) {
  return ProgramSubject::make(context, each, /*fallbacks=*/false);
}
Expected<std::unique_ptr<Subject>> makeFallback(MLIRContext &context, const SubjectCase &each) {
  return ProgramSubject::make(context, each, /*fallbacks=*/true);
}

CudaContraction dense(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, bool turned) {
  CudaContraction c;
  auto number = Extent::number;
  c.dtype = dtype;
  c.batch = number(batch);
  c.m = number(m);
  c.n = number(n);
  c.k = number(k);
  c.aStrides = {number(m * k), number(turned ? 1 : k), number(turned ? m : 1)};
  c.bStrides = {number(k * n), number(turned ? 1 : n), number(turned ? k : 1)};
  c.cStrides = {number(m * n), number(n), number(1)};
  return c;
}

/// Gives the rows of both operands room behind them, so that the last access of a row has some of its
/// elements.
void addRoom(CudaContraction &c, int64_t pitchA, int64_t pitchB) {
  c.aStrides = {Extent::number(c.m.value * pitchA), Extent::number(pitchA), Extent::number(1)};
  c.bStrides = {Extent::number(c.k.value * pitchB), Extent::number(pitchB), Extent::number(1)};
}

/// By cp.async, in vectors, with everything that an epilogue has.
Expected<std::unique_ptr<Subject>> makeProduct(MLIRContext &, const SubjectCase &) {
  CudaContraction c = dense(DType::f32, 2, 70, 99, 161, false);
  addRoom(c, 164, 100);
  c.bias = c.residual = c.relu = true;
  return ProductSubject::make({c});
}
/// By cp.async, one element at a time; the result in vectors.
Expected<std::unique_ptr<Subject>> makeOddProduct(MLIRContext &, const SubjectCase &) {
  return ProductSubject::make({dense(DType::f32, 1, 67, 38, 63, true)});
}
/// On matrix units. Lanes exchange their columns of the result.
Expected<std::unique_ptr<Subject>> makeMatrixProduct(MLIRContext &, const SubjectCase &) {
  CudaContraction c = dense(DType::f16, 2, 100, 72, 103, false);
  addRoom(c, 104, 72);
  c.bias = c.relu = true;
  return ProductSubject::make({c});
}

/// Through registers, one element at a time, before the products of a step; sizes are parameters. One of the
/// calls has more than eight tiles below each other.
Expected<std::unique_ptr<Subject>> makeDynamicProduct(MLIRContext &, const SubjectCase &) {
  using Sizes = std::array<int64_t, 3>; // m, n, k
  std::vector<CudaContraction> calls;
  for (const auto &[m, n, k] :
       {Sizes{37, 19, 69}, Sizes{145, 70, 5}, Sizes{1, 1, 1}, Sizes{16, 64, 32}, Sizes{3, 5, 0}}) {
    CudaContraction c = dense(DType::f16, 2, m, n, k, false);
    for (Extent *extent : {&c.m, &c.n, &c.k, &c.aStrides[0], &c.aStrides[1], &c.bStrides[0], &c.bStrides[1],
                           &c.cStrides[0], &c.cStrides[1]})
      extent->isParameter = true;
    c.bias = c.residual = true;
    calls.push_back(c);
  }
  return ProductSubject::make(calls);
}
/// Of a, tiles come through registers before the products of a step; of b, which is turned, between the
/// products of two steps.
Expected<std::unique_ptr<Subject>> makeByteProduct(MLIRContext &, const SubjectCase &) {
  CudaContraction c = dense(DType::i8, 1, 37, 70, 161, false);
  addRoom(c, 161, 72);
  c.bias = c.relu = true;
  return ProductSubject::make({c}, [](codegen::ContractionSchedule &schedule) { schedule.b.early = false; });
}

/// A convolution of 2-dimensional images in two groups.
CudaContraction convolution(DType dtype, int64_t placesWide) {
  constexpr int64_t images = 3, groups = 2, outputs = 5, channels = 12, height = 7, placesHigh = 4,
                    window = 9;
  const int64_t width = placesWide, places = placesHigh * placesWide;
  CudaContraction c;
  const auto number = Extent::number;
  c.dtype = dtype;
  c.batch = number(groups);
  c.m = number(outputs);
  c.n = number(images * places);
  c.k = number(channels * window);
  c.aStrides = {number(outputs * channels * window), number(channels * window), number(1)};
  c.bStrides = {number(channels * height * width), number(0), number(1)};
  c.cStrides = {number(outputs * places), number(places), number(1)};
  codegen::CudaWindows w;
  w.dims = {{height, 3, placesHigh, 2, 1, 1, width}, {width, 3, placesWide, 1, 2, 2, 1}};
  w.imageStride = groups * channels * height * width;
  w.channelStride = height * width;
  w.steps = {{channels * window, 1}};
  w.columns = {{images, groups * outputs * places}, {places, 1}};
  c.windows = w;
  return c;
}
/// The number of images is a parameter.
Expected<std::unique_ptr<Subject>> makeConvolution(MLIRContext &, const SubjectCase &) {
  CudaContraction c = convolution(DType::f32, 7);
  c.n = Extent::parameter(c.n.value, c.windows->placeCount());
  return ProductSubject::make({c});
}
/// With everything that an epilogue has.
Expected<std::unique_ptr<Subject>> makeMatrixConvolution(MLIRContext &, const SubjectCase &) {
  CudaContraction c = convolution(DType::f16, 9);
  using enum ir::ConvolutionStep;
  c.windows->epilogue = {sub, mul, add, residual, relu};
  return ProductSubject::make({c});
}
/// The derivative with respect to weights: windows that are larger than their places, in one dimension, read
/// along k; the places of columns are in shared memory.
Expected<std::unique_ptr<Subject>> makeLongWindows(MLIRContext &, const SubjectCase &) {
  constexpr int64_t images = 5, outputs = 6, channels = 11, width = 11, places = 3, window = 11;
  CudaContraction c;
  const auto number = Extent::number;
  c.m = number(outputs);
  c.n = number(images * places);
  c.k = number(channels * window);
  c.aStrides = {number(0), number(window), number(1)};
  c.bStrides = {number(0), number(1), number(0)};
  c.cStrides = {number(0), number(images * places), number(1)};
  codegen::CudaWindows w;
  w.dims = {{width, window, places, 1, 1, 1, 1}};
  w.imageStride = width;
  w.channelStride = images * width;
  w.steps = {{channels, outputs * window}, {window, 1}};
  w.columns = {{images * places, 1}};
  c.windows = w;
  return ProductSubject::make({c});
}
/// Zeros between the elements of images in two groups: remainders of which one has fewer steps, and one fewer
/// places. Weights are read from the last to the first.
Expected<std::unique_ptr<Subject>> makeSpreadConvolution(MLIRContext &, const SubjectCase &) {
  constexpr int64_t images = 3, groups = 2, outputs = 5, channels = 30, height = 4, width = 4, window = 9,
                    placesHigh = 7, placesWide = 9, places = placesHigh * placesWide;
  CudaContraction c;
  const auto number = Extent::number;
  c.batch = number(groups * 2 * 2);
  c.m = number(outputs);
  c.n = number(images * 4 * 5);
  c.k = number(channels * 4);
  c.aStrides = {number(outputs * channels * window), number(channels * window), number(-1)};
  c.bStrides = {number(channels * height * width), number(0), number(1)};
  c.cStrides = {number(outputs * places), number(places), number(2)};
  codegen::CudaWindows w;
  // e 2 = p + t - 1 along one extent, e 2 = p + t - 2 along the other.
  w.dims = {{height, 2, 4, 1, 0, 1, width}, {width, 2, 5, 1, 1, 1, 1}};
  w.dims[0].parts = {{1, 1, 0}, {0, 2, 0}};
  w.dims[1].parts = {{0, 2, -1}, {1, 1, 0}};
  w.dims[0].step = w.dims[1].step = 2;
  w.dims[0].weights = -3;
  w.dims[1].weights = -1;
  w.dims[0].allPlaces = placesHigh;
  w.dims[1].allPlaces = placesWide;
  w.dims[0].result = placesWide;
  w.dims[1].result = 1;
  w.imageStride = groups * channels * height * width;
  w.channelStride = height * width;
  w.channelWeights = window;
  w.offsetA = window - 1;
  w.steps = {{channels, window}, {2, -3}, {2, -1}};
  w.columns = {{images, groups * outputs * places}, {4, 2 * placesWide}, {5, 2}};
  c.windows = w;
  return ProductSubject::make({c});
}

/// Two tiles of rows and of keys, of which the last ones are not full; the mask is one of numbers.
Expected<std::unique_ptr<Subject>> makeAttention(MLIRContext &, const SubjectCase &) {
  testing::AttentionCase c;
  c.batch = {2};
  c.rows = 70;
  c.keys = 65;
  c.features = 13;
  c.values = 19;
  c.layout = testing::Layout::padded;
  c.denseResults = true;
  c.causal = true;
  c.mask = DType::f32;
  c.maskRepeats = true;
  return AttentionSubject::make(DType::f32, c);
}
/// On matrix units, one tile at a time, with scores that are rounded to halves; so is the mask. Lanes
/// exchange their columns of the result, of which there are no whole groups.
Expected<std::unique_ptr<Subject>> makeMatrixAttention(MLIRContext &, const SubjectCase &) {
  testing::AttentionCase c;
  c.batch = {2};
  c.rows = 37;
  c.keys = 33;
  c.features = 23;
  c.values = 48;
  c.layout = testing::Layout::padded;
  c.denseResults = true;
  c.roundsScores = true;
  c.mask = DType::f16;
  return AttentionSubject::make(DType::f16, c, AttentionTiles{2, 16, 1});
}
/// The derivative on plain units, one tile at a time. The columns of k lie behind each other.
Expected<std::unique_ptr<Subject>> makeDerivative(MLIRContext &, const SubjectCase &) {
  testing::AttentionCase c;
  c.batch = {2};
  c.rows = 25;
  c.keys = 17;
  c.features = 13;
  c.values = 11;
  c.backward = true;
  c.layout = testing::Layout::padded;
  c.turns = 3;
  c.denseResults = true;
  c.causal = true;
  c.mask = DType::f32;
  return AttentionSubject::make(DType::f32, c, AttentionTiles{4, 8, 1});
}
/// The derivative on matrix units. Operands lie in different ways, and their elements come one by one.
Expected<std::unique_ptr<Subject>> makeMatrixDerivative(MLIRContext &, const SubjectCase &) {
  testing::AttentionCase c;
  c.batch = {2};
  c.rows = 49;
  c.keys = 33;
  c.features = 13;
  c.values = 11;
  c.backward = true;
  c.mask = DType::i1;
  c.layout = testing::Layout::spread;
  c.turns = 4;
  c.denseResults = true;
  return AttentionSubject::make(DType::f16, c, AttentionTiles{2, 16, 2});
}
constexpr const char *plane = R"(
weft.func @main(%x: tensor<3x100x13xf32, #cpu>, %y: tensor<3x13x100xf32, #cpu>, %a: tensor<70x131xf32, #cpu>,
                %b: tensor<131xf32, #cpu>) -> (tensor<3x13x100xf32, #cpu>, tensor<70x131xf32, #cpu>) {
  %0 = weft.transpose %x, perm = [0, 2, 1] : tensor<3x100x13xf32, #cpu>
  %1 = weft.sub %0, %y : tensor<3x13x100xf32, #cpu>
  %2 = weft.broadcast_in_dim %b, dims = [1] : tensor<131xf32, #cpu> -> tensor<70x131xf32, #cpu>
  %3 = weft.mul %a, %2 : tensor<70x131xf32, #cpu>
  weft.return %1, %3 : tensor<3x13x100xf32, #cpu>, tensor<70x131xf32, #cpu>
})";

constexpr const char *dynamicPlane = R"(
weft.func @main(%a: tensor<?x13xf32, #n>, %b: tensor<13x?xf32, #n>) -> tensor<13x?xf32, #n>
    attributes {weft.symbols = [#weft.symbol<"n", 0, 64>]} {
  %0 = weft.transpose %a, perm = [1, 0] : tensor<?x13xf32, #n>
  %1 = weft.mul %0, %b : tensor<13x?xf32, #n>
  weft.return %1 : tensor<13x?xf32, #n>
})";

// Words, and pairs of halves, in tiles that are whole and in tiles that are not.
constexpr const char *transposition = R"(
weft.func @main(%x: tensor<3x37x63xf32, #cpu>, %y: tensor<3x63x37xf32, #cpu>, %h: tensor<33x66x70xf16, #cpu>)
    -> (tensor<3x63x37xf32, #cpu>, tensor<33x70x66xf16, #cpu>) {
  %0 = weft.transpose %x, perm = [0, 2, 1] : tensor<3x37x63xf32, #cpu>
  %1 = weft.sub %0, %y : tensor<3x63x37xf32, #cpu>
  %2 = weft.transpose %h, perm = [0, 2, 1] : tensor<33x66x70xf16, #cpu>
  %3 = weft.neg %2 : tensor<33x70x66xf16, #cpu>
  weft.return %1, %3 : tensor<3x63x37xf32, #cpu>, tensor<33x70x66xf16, #cpu>
})";

constexpr const char *dynamicTransposition = R"(
weft.func @main(%a: tensor<?x63xf32, #n>, %b: tensor<63x?xf32, #n>) -> tensor<63x?xf32, #n>
    attributes {weft.symbols = [#weft.symbol<"n", 0, 63>]} {
  %0 = weft.transpose %a, perm = [1, 0] : tensor<?x63xf32, #n>
  %1 = weft.mul %0, %b : tensor<63x?xf32, #n>
  weft.return %1 : tensor<63x?xf32, #n>
})";

constexpr const char *loop = R"(
weft.func @main(%x: tensor<4102xf32, #cpu>, %y: tensor<4099xf32, #cpu>) -> (tensor<4099xf32, #cpu>, tensor<4099xi1, #cpu>) {
  %0 = weft.slice %x, start = [1], limit = [4100], step = [1] : tensor<4102xf32, #cpu>
  %1 = weft.add %0, %y : tensor<4099xf32, #cpu>
  %2 = weft.lt %1, %y : tensor<4099xf32, #cpu>
  weft.return %1, %2 : tensor<4099xf32, #cpu>, tensor<4099xi1, #cpu>
})";

constexpr const char *warpRow = R"(
weft.func @main(%x: tensor<9x217xi32, #cpu> {weft.name = "index:0:1000"}) -> tensor<9x217xi32, #cpu> {
  %1 = weft.sum %x, dims = [1] : tensor<9x217xi32, #cpu>
  %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<9xi32, #cpu> -> tensor<9x217xi32, #cpu>
  %3 = weft.sub %x, %2 : tensor<9x217xi32, #cpu>
  %4 = weft.mul %3, %3 : tensor<9x217xi32, #cpu>
  %5 = weft.sum %4, dims = [1] : tensor<9x217xi32, #cpu>
  %6 = weft.broadcast_in_dim %5, dims = [0] : tensor<9xi32, #cpu> -> tensor<9x217xi32, #cpu>
  %7 = weft.sub %3, %6 : tensor<9x217xi32, #cpu>
  weft.return %7 : tensor<9x217xi32, #cpu>
})";

constexpr const char *blockRow = R"(
weft.func @main(%x: tensor<3x2047xi32, #cpu> {weft.name = "index:0:1000"}) -> tensor<3x2047xi32, #cpu> {
  %1 = weft.sum %x, dims = [1] : tensor<3x2047xi32, #cpu>
  %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<3xi32, #cpu> -> tensor<3x2047xi32, #cpu>
  %3 = weft.sub %x, %2 : tensor<3x2047xi32, #cpu>
  %4 = weft.mul %3, %3 : tensor<3x2047xi32, #cpu>
  %5 = weft.sum %4, dims = [1] : tensor<3x2047xi32, #cpu>
  %6 = weft.broadcast_in_dim %5, dims = [0] : tensor<3xi32, #cpu> -> tensor<3x2047xi32, #cpu>
  %7 = weft.sub %3, %6 : tensor<3x2047xi32, #cpu>
  weft.return %7 : tensor<3x2047xi32, #cpu>
})";

constexpr const char *dynamicRow = R"(
weft.func @main(%x: tensor<9x?xf32, #n>) -> tensor<9x?xf32, #n> attributes {weft.symbols = [#weft.symbol<"n", 0, 4000>]} {
  %1 = weft.sum %x, dims = [1] : tensor<9x?xf32, #n>
  %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<9xf32, #cpu> -> tensor<9x?xf32, #n>
  %3 = weft.sub %x, %2 : tensor<9x?xf32, #n>
  weft.return %3 : tensor<9x?xf32, #n>
})";

// A sum in i64, for whose elements registers have no room.
constexpr const char *heldRow = R"(
weft.func @main(%x: tensor<8x16395xi32, #cpu> {weft.name = "index:0:1000"}) -> tensor<8x16395xi64, #cpu> {
  %0 = weft.convert %x to i64 : tensor<8x16395xi32, #cpu>
  %1 = weft.sum %0, dims = [1] : tensor<8x16395xi64, #cpu>
  %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<8xi64, #cpu> -> tensor<8x16395xi64, #cpu>
  %3 = weft.sub %0, %2 : tensor<8x16395xi64, #cpu>
  weft.return %3 : tensor<8x16395xi64, #cpu>
})";

constexpr const char *column = R"(
weft.func @main(%x: tensor<3x29x205xi32, #cpu> {weft.name = "index:0:1000"}) -> (tensor<3x29x205xi32, #cpu>, tensor<3x205xi32, #cpu>) {
  %1 = weft.sum %x, dims = [1] : tensor<3x29x205xi32, #cpu>
  %2 = weft.broadcast_in_dim %1, dims = [0, 2] : tensor<3x205xi32, #cpu> -> tensor<3x29x205xi32, #cpu>
  %3 = weft.sub %x, %2 : tensor<3x29x205xi32, #cpu>
  %4 = weft.mul %3, %3 : tensor<3x29x205xi32, #cpu>
  %5 = weft.sum %4, dims = [1] : tensor<3x29x205xi32, #cpu>
  weft.return %3, %5 : tensor<3x29x205xi32, #cpu>, tensor<3x205xi32, #cpu>
})";

constexpr const char *dynamicColumn = R"(
weft.func @main(%x: tensor<?x205xf32, #n>) -> tensor<205xf32, #cpu> attributes {weft.symbols = [#weft.symbol<"n", 0, 4000>]} {
  %1 = weft.sum %x, dims = [0] : tensor<?x205xf32, #n>
  %2 = weft.broadcast_in_dim %1, dims = [1] : tensor<205xf32, #cpu> -> tensor<?x205xf32, #n>
  %3 = weft.sub %x, %2 : tensor<?x205xf32, #n>
  %4 = weft.mul %3, %3 : tensor<?x205xf32, #n>
  %5 = weft.sum %4, dims = [0] : tensor<?x205xf32, #n>
  weft.return %5 : tensor<205xf32, #cpu>
})";

constexpr const char *dynamicScan = R"(
weft.func @main(%x: tensor<9x?xf32, #n>, %y: tensor<3x?x9xf32, #n>) -> (tensor<9x?xf32, #n>, tensor<3x?x9xf32, #n>)
    attributes {weft.symbols = [#weft.symbol<"n", 0, 4000>]} {
  %1 = weft.cumsum %x, dim = 1 : tensor<9x?xf32, #n>
  %2 = weft.cumprod %y, dim = 1 reverse : tensor<3x?x9xf32, #n>
  weft.return %1, %2 : tensor<9x?xf32, #n>, tensor<3x?x9xf32, #n>
})";

constexpr const char *scan = R"(
weft.func @main(%x: tensor<9x203xi32, #cpu> {weft.name = "index:0:1000"}, %y: tensor<3x17x205xf32, #cpu>)
    -> (tensor<9x203xi32, #cpu>, tensor<3x17x205xf32, #cpu>) {
  %1 = weft.cumsum %x, dim = 1 : tensor<9x203xi32, #cpu>
  %2 = weft.cumprod %y, dim = 1 reverse : tensor<3x17x205xf32, #cpu>
  weft.return %1, %2 : tensor<9x203xi32, #cpu>, tensor<3x17x205xf32, #cpu>
})";

constexpr const char *update = R"(
weft.func @main(%x: tensor<8x64xf32, #cpu>, %u: tensor<2100x64xf32, #cpu>, %i: tensor<2100xi64, #cpu> {weft.name = "outside:0:8"},
                %y: tensor<8x201xf32, #cpu>, %j: tensor<33x201xi64, #cpu> {weft.name = "outside:1:8"}, %v: tensor<33x201xf32, #cpu>,
                %z: tensor<1101x33xf32, #cpu>, %k: tensor<2100xi64, #cpu> {weft.name = "outside:2:1300"}, %w: tensor<2100x33xf32, #cpu>)
    -> (tensor<8x64xf32, #cpu>, tensor<8x201xf32, #cpu>, tensor<1101x33xf32, #cpu>) {
  %0 = weft.index_update %x, %u, %i, dim = 0 accumulate mode = clip : tensor<8x64xf32, #cpu>, tensor<2100x64xf32, #cpu>, tensor<2100xi64, #cpu>
  %1 = weft.scatter %y, %j, %v, dim = 0, kind = add mode = clip : tensor<8x201xf32, #cpu>, tensor<33x201xi64, #cpu>, tensor<33x201xf32, #cpu>
  %2 = weft.index_update %z, %w, %k, dim = 0 accumulate mode = clip : tensor<1101x33xf32, #cpu>, tensor<2100x33xf32, #cpu>, tensor<2100xi64, #cpu>
  weft.return %0, %1, %2 : tensor<8x64xf32, #cpu>, tensor<8x201xf32, #cpu>, tensor<1101x33xf32, #cpu>
})";

constexpr const char *window = R"(
weft.func @main(%x: tensor<40x90xf32, #cpu>, %u: tensor<20x70xf32, #cpu>, %i: tensor<i64, #cpu> {weft.name = "outside:0:20"}, %j: tensor<i64, #cpu> {weft.name = "outside:1:26"},
                %a: tensor<9x33xf32, #cpu>, %b: tensor<9x64xf32, #cpu>, %c: tensor<20x30xf32, #cpu>)
    -> (tensor<40x90xf32, #cpu>, tensor<9x97xf32, #cpu>, tensor<22x36xf32, #cpu>) {
  %0 = weft.neg %u : tensor<20x70xf32, #cpu>
  %1 = weft.dynamic_update_slice %x, %0, starts(%i, %j) : tensor<40x90xf32, #cpu>, tensor<20x70xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  %2 = weft.concat(%a, %b), dim = 1 : tensor<9x33xf32, #cpu>, tensor<9x64xf32, #cpu>
  %3 = weft.neg %2 : tensor<9x97xf32, #cpu>
  %4 = weft.pad %c, low = [1, 4], high = [1, 2], interior = [0, 0] : tensor<20x30xf32, #cpu>
  %5 = weft.neg %4 : tensor<22x36xf32, #cpu>
  weft.return %1, %3, %5 : tensor<40x90xf32, #cpu>, tensor<9x97xf32, #cpu>, tensor<22x36xf32, #cpu>
})";

constexpr const char *steps = R"(
weft.func @main(%p: tensor<1001xf32, #cpu>, %g: tensor<1001xf32, #cpu>, %b: tensor<1001xf32, #cpu>,
                %q: tensor<2303xf32, #cpu>, %h: tensor<2303xf32, #cpu>, %c: tensor<2303xf32, #cpu>,
                %r: tensor<5xf32, #cpu>, %i: tensor<5xf32, #cpu>, %e: tensor<5xf32, #cpu>,
                %t: tensor<i64, #cpu> {weft.name = "count:0"}, %l: tensor<f64, #cpu>, %m: tensor<f64, #cpu>, %a: tensor<f64, #cpu>, %d: tensor<f64, #cpu>)
    -> (tensor<1001xf32, #cpu>, tensor<1001xf32, #cpu>, tensor<2303xf32, #cpu>, tensor<2303xf32, #cpu>, tensor<5xf32, #cpu>, tensor<5xf32, #cpu>) {
  %0, %1 = weft.sgd_step(%p, %g buf %b, step %t, lr %l, momentum %m, dampening %a, decay %d) : tensor<1001xf32, #cpu>, tensor<1001xf32, #cpu> buf tensor<1001xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  %2, %3 = weft.sgd_step(%q, %h buf %c, step %t, lr %l, momentum %m, dampening %a, decay %d) : tensor<2303xf32, #cpu>, tensor<2303xf32, #cpu> buf tensor<2303xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  %4, %5 = weft.sgd_step(%r, %i buf %e, step %t, lr %l, momentum %m, dampening %a, decay %d) : tensor<5xf32, #cpu>, tensor<5xf32, #cpu> buf tensor<5xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  weft.return %0, %1, %2, %3, %4, %5 : tensor<1001xf32, #cpu>, tensor<1001xf32, #cpu>, tensor<2303xf32, #cpu>, tensor<2303xf32, #cpu>, tensor<5xf32, #cpu>, tensor<5xf32, #cpu>
})";

// Rows of a block, whose threads meet in shared memory, and rows of some lanes of a warp.
constexpr const char *sort = R"(
weft.func @main(%x: tensor<2x200xf32, #cpu>, %y: tensor<19x13xi64, #cpu> {weft.name = "index:0:9"})
    -> (tensor<2x200xf32, #cpu>, tensor<2x200xi64, #cpu>, tensor<19x5xi64, #cpu>, tensor<19x5xi64, #cpu>) {
  %0, %1 = weft.sort %x, count = 200 : tensor<2x200xf32, #cpu>
  %2, %3 = weft.sort %y, count = 5 descending : tensor<19x13xi64, #cpu>
  weft.return %0, %1, %2, %3 : tensor<2x200xf32, #cpu>, tensor<2x200xi64, #cpu>, tensor<19x5xi64, #cpu>, tensor<19x5xi64, #cpu>
})";

constexpr const char *fallback = R"(
weft.func @main(%x: tensor<37x19xf32, #cpu>, %y: tensor<19x45xf32, #cpu>) -> (tensor<37xf32, #cpu>, tensor<45x19xf32, #cpu>) {
  %0 = weft.rmax %x, dims = [1] : tensor<37x19xf32, #cpu>
  %1 = weft.transpose %y, perm = [1, 0] : tensor<19x45xf32, #cpu>
  %2 = weft.neg %1 : tensor<45x19xf32, #cpu>
  weft.return %0, %2 : tensor<37xf32, #cpu>, tensor<45x19xf32, #cpu>
})";

const SubjectCase cases[] = {
    {"plane", makeProgram, plane},
    {"dynamic plane", makeProgram, dynamicPlane},
    {"transposition", makeProgram, transposition},
    {"dynamic transposition", makeProgram, dynamicTransposition},
    {"contiguous loop", makeProgram, loop},
    {"contiguous loop by 32 bytes", makeProgram, loop, /*functions=*/false, "sm_100"},
    {"row of a warp", makeProgram, warpRow, /*functions=*/true},
    {"row of a block", makeProgram, blockRow},
    {"dynamic row", makeProgram, dynamicRow, false, "sm_90", {0, 1, 16, 17, 32, 33, 64, 65, 1024, 1025}},
    {"row in shared memory", makeProgram, heldRow},
    {"column", makeProgram, column},
    {"dynamic column", makeProgram, dynamicColumn, false, "sm_90", {0, 1, 15, 16, 127, 128}},
    {"dynamic scan", makeProgram, dynamicScan, false, "sm_90", {0, 1, 36, 327, 1024, 1025, 1284}},
    {"scan", makeProgram, scan, /*functions=*/true},
    {"update", makeProgram, update},
    {"window", makeProgram, window},
    {"multi-tensor", makeProgram, steps},
    {"fallback", makeFallback, fallback},
    {"sort", makeProgram, sort, /*functions=*/true},
    {"product", makeProduct, nullptr, /*functions=*/true},
    {"odd product", makeOddProduct, nullptr, /*functions=*/true},
    {"mma product", makeMatrixProduct, nullptr, /*functions=*/true},
    {"dynamic product", makeDynamicProduct, nullptr, /*functions=*/true},
    {"product of bytes", makeByteProduct, nullptr, /*functions=*/true},
    {"convolution", makeConvolution, nullptr, /*functions=*/true},
    {"mma convolution", makeMatrixConvolution, nullptr, /*functions=*/true},
    {"long windows", makeLongWindows, nullptr, /*functions=*/true},
    {"spread convolution", makeSpreadConvolution, nullptr, /*functions=*/true},
    {"attention", makeAttention, nullptr, /*functions=*/true},
    {"mma attention", makeMatrixAttention, nullptr, /*functions=*/true},
    {"derivative of attention", makeDerivative, nullptr, /*functions=*/true},
    {"mma derivative", makeMatrixDerivative, nullptr, /*functions=*/true},
};

} // namespace

std::span<const SubjectCase> subjectCases() { return cases; }

} // namespace weft::cudasim
