//===- EmitConvolutions.cpp -----------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/contractions/EmitConvolutions.h"

#include "codegen/cuda/contractions/PrintContraction.h"
#include "ir/ImplicitGemm.h"
#include "ir/SpilledKernels.h"

#include <numeric>

using namespace mlir;

namespace weft::codegen {

/// What an index counts through whose dimensions have these extents and strides. Neighbours that are one line
/// of memory become one dimension, and dimensions of one element none.
static std::vector<CountedDim> countedDims(ArrayRef<int64_t> extents, ArrayRef<int64_t> strides,
                                           bool firstIsSymbolic) {
  std::vector<CountedDim> dims;
  for (const auto &[i, extent, stride] : llvm::enumerate(extents, strides)) {
    const bool isFirst = i == 0 && firstIsSymbolic;
    if (extent == 1 && !isFirst)
      continue;
    if (!dims.empty() && dims.back().stride == stride * extent)
      dims.back() = {dims.back().extent * extent, stride};
    else
      dims.push_back({extent, stride});
  }
  if (dims.empty())
    dims.push_back({1, 1});
  return dims;
}

/// The size of a product of which one factor may be symbolic.
static Extent productExtent(ir::Size symbolic, int64_t by, const ir::SymbolRanges &ranges) {
  if (const std::optional<int64_t> number = symbolic.number())
    return Extent::number(*number * by);
  return Extent::parameter(ranges.largest(symbolic * by), std::max<int64_t>(ir::contentOf(symbolic), 1) * by);
}

/// The part of a window that the places with `remainder` meet along an extent with `spread` - 1 zeros between
/// elements: window element t, and place q spread + remainder, meet image element e where
/// e spread = q spread + remainder + t dilation - low.
static CudaWindows::Part partOf(int64_t remainder, int64_t spread, int64_t window, int64_t dilation,
                                int64_t low) {
  const int64_t step = spread / std::gcd(spread, dilation);
  const auto meets = [&](int64_t t) { return (remainder + t * dilation - low) % spread == 0; };
  for (int64_t first = 0; first < std::min(step, window); ++first)
    if (meets(first))
      return {first, (window - first + step - 1) / step, (remainder + first * dilation - low) / spread};
  return {};
}

/// Makes parts of the windows along extent `i`, for zeros between elements: `weights` and `result` are the
/// strides of both.
static void divideWindows(CudaWindows::Dim &dim, int64_t spread, int64_t weights, int64_t result) {
  const int64_t common = std::gcd(spread, dim.dilation);
  int64_t longest = 1, farthest = 0;
  for (int64_t remainder = 0; remainder < spread; ++remainder) {
    dim.parts.push_back(partOf(remainder, spread, dim.window, dim.dilation, dim.low));
    longest = std::max(longest, dim.parts.back().count);
    farthest = std::max(farthest, std::abs(dim.parts.back().begin));
  }
  dim.step = spread / common;
  dim.weights = weights;
  dim.result = result;
  dim.allPlaces = dim.places;
  dim.window = longest;
  dim.dilation /= common;
  dim.places = (dim.places + spread - 1) / spread;
  dim.low = farthest;
}

static CudaWindows windowsOf(ir::ImplicitGemmOp op) {
  const ir::MemoryView a = ir::MemoryView::read(op.getAView()), w = ir::MemoryView::read(op.getWView()),
                       y = ir::resultViewOf(op);
  ArrayRef<ir::Size> shape = op.getShape();
  CudaWindows made;
  for (size_t i = 0; i < op.getPlaces().size(); ++i)
    made.dims.push_back({op.getExtents()[i], op.getWindow()[i], op.getPlaces()[i], op.getStride()[i],
                         op.getLow()[i], op.getWindowDilation()[i], a.strides[3 + i]});
  if (llvm::any_of(op.getBaseDilation(), [](int64_t spread) { return spread > 1; }))
    for (const auto &[i, dim] : llvm::enumerate(made.dims))
      divideWindows(dim, op.getBaseDilation()[i], w.strides[3 + i], y.strides[3 + i]);
  made.channelWeights = w.strides[2];
  made.imageStride = a.strides[0];
  made.channelStride = a.strides[2];
  made.offsetA = w.offset;
  made.offsetB = a.offset;
  SmallVector<int64_t> steps{shape[2].number().value_or(1)}, columns{shape[0].number().value_or(1)},
      columnStrides{y.strides[0]};
  for (const auto &[i, dim] : llvm::enumerate(made.dims)) {
    steps.push_back(dim.window);
    columns.push_back(dim.places);
    columnStrides.push_back(y.strides[3 + i] * std::max<int64_t>(static_cast<int64_t>(dim.parts.size()), 1));
  }
  made.steps = countedDims(steps, ArrayRef(w.strides).drop_front(2), shape[2].isSymbolic());
  made.columns = countedDims(columns, columnStrides, shape[0].isSymbolic());
  for (const ir::StepOperand &each : ir::epilogueOf(op))
    made.epilogue.push_back(each.step);
  return made;
}

CudaContraction describeConvolution(ir::ImplicitGemmOp op, const ir::Alignments &alignments) {
  const ir::SymbolRanges ranges = ir::rangesOf(op);
  const ir::MemoryView a = ir::MemoryView::read(op.getAView()), w = ir::MemoryView::read(op.getWView()),
                       y = ir::resultViewOf(op);
  ArrayRef<ir::Size> shape = op.getShape();
  CudaContraction made;
  made.windows = windowsOf(op);
  const CudaWindows &windows = *made.windows;
  const bool alongK = windows.readsAlongK();
  const auto numbers = [](int64_t x, int64_t y, int64_t z) {
    return std::array<Extent, 3>{Extent::number(x), Extent::number(y), Extent::number(z)};
  };
  made.dtype = ir::dtypeOf(op.getA().getType());
  made.batch = Extent::number(shape[1].asNumber() * windows.remainders());
  made.m = Extent::number(shape[3].asNumber());
  made.n = productExtent(shape[0], windows.placeCount(), ranges);
  made.k = productExtent(shape[2], windows.windowSize(), ranges);
  made.aStrides = numbers(w.strides[0], w.strides[1], windows.steps.back().stride);
  made.bStrides = numbers(a.strides[1], alongK, !alongK);
  made.cStrides = numbers(y.strides[1], y.strides[2], windows.columns.back().stride);
  made.aAlignment = alignments.of(op.getW());
  made.bAlignment = alignments.of(op.getA());
  made.cAlignment = alignments.of(op.getResult());
  for (const ir::StepOperand &each : ir::epilogueOf(op))
    if (each.step == ir::ConvolutionStep::residual)
      made.cAlignment = std::min(made.cAlignment, alignments.of(each.operand));
  return made;
}

/// The numbers that a kernel gives, and a plan compares with those of each launch. The text says less: an
/// extent that windows never leave is not in it, nor a stride along an extent of one element.
static std::string numbersOf(ir::ImplicitGemmOp op) {
  std::string text;
  const auto add = [&](ArrayRef<int64_t> numbers) {
    for (const int64_t number : numbers)
      text += std::to_string(number) + ",";
    text += ";";
  };
  for (const ir::Size size : op.getShape())
    add(size.number().value_or(-1));
  const ir::MemoryView y = ir::resultViewOf(op);
  for (ArrayRef<int64_t> list :
       {op.getExtents(), op.getWindow(), op.getPlaces(), op.getStride(), op.getLow(), op.getBaseDilation(),
        op.getWindowDilation(), op.getAView(), op.getWView(), ArrayRef(y.strides)})
    add(list);
  for (const ir::StepOperand &each : ir::epilogueOf(op))
    add(static_cast<int64_t>(each.step));
  return text;
}

Expected<std::vector<EmittedConvolution>> emitConvolutions(ModuleOp module, const ir::Target &target) {
  TextKernels<ir::ImplicitGemmOp, EmittedConvolution> kernels("convolution");
  return kernels.emitAll(module, target,
                         [&](ir::ImplicitGemmOp op, const ir::Alignments &alignments,
                             const ir::TargetDescription &device) -> Status {
                           const CudaContraction contraction = describeConvolution(op, alignments);
                           Expected<ContractionSchedule> schedule =
                               chooseContractionSchedule(contraction, device, ir::spilledKernels(op).size());
                           if (!schedule)
                             return schedule.status();
                           Expected<std::string> text = printContraction(contraction, *schedule, device);
                           if (!text)
                             return text.status();
                           kernels
                               .add(*std::move(text), schedule->sharedBytes(contraction.dtype),
                                    EmittedConvolution{{}, contraction, *schedule, {}}, numbersOf(op))
                               .uses.push_back(op);
                           return {};
                         });
}

} // namespace weft::codegen
