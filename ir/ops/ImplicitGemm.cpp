//===- ImplicitGemm.cpp - weft.implicit_gemm ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/ImplicitGemm.h"
#include "ir/ops/Common.h"

using namespace mlir;
namespace weft::ir {

static SmallVector<Size> joined(ArrayRef<Size> first, ArrayRef<int64_t> rest) {
  SmallVector<Size> all(first);
  llvm::append_range(all, rest);
  return all;
}

SmallVector<Size> operandShapeOf(ImplicitGemmOp op) {
  return joined(op.getShape().take_front(3), op.getExtents());
}
SmallVector<Size> weightShapeOf(ImplicitGemmOp op) {
  ArrayRef<Size> shape = op.getShape();
  return joined({shape[1], shape[3], shape[2]}, op.getWindow());
}
SmallVector<Size> resultShapeOf(ImplicitGemmOp op) {
  ArrayRef<Size> shape = op.getShape();
  return joined({shape[0], shape[1], shape[3]}, op.getPlaces());
}

MemoryView resultViewOf(ImplicitGemmOp op) {
  ArrayRef<Size> shape = op.getShape();
  const int64_t groups = shape[1].asNumber(), outputs = shape[3].asNumber();
  // A symbolic batch is outermost, so no stride depends on it.
  SmallVector<int64_t> merged{shape[0].number().value_or(1), groups * outputs};
  llvm::append_range(merged, op.getPlaces());
  MemoryView view = orderedView(merged, op.getOrder());
  view.strides.insert(view.strides.begin() + 1, view.strides[1] * outputs);
  return view;
}

SmallVector<StepOperand> epilogueOf(ImplicitGemmOp op) {
  SmallVector<StepOperand> steps;
  auto operand = op.getBeside().begin();
  if (auto names = op.getEpilogue())
    for (StringRef name : names->getAsValueRange<StringAttr>()) {
      const auto step =
          static_cast<ConvolutionStep>(llvm::find(convolutionStepNames, name) - convolutionStepNames);
      steps.push_back({step, readsOperand(step) ? *operand++ : Value()});
    }
  return steps;
}

/// Whether one of the steps leaves a sum of halves the f32 that it is.
static bool hasWideStep(std::optional<ArrayAttr> epilogue) {
  return epilogue && llvm::any_of(*epilogue, [](Attribute each) {
           auto name = dyn_cast<StringAttr>(each);
           return name && name == convolutionStepNames[static_cast<size_t>(ConvolutionStep::wide)];
         });
}

bool isWide(ImplicitGemmOp op) { return hasWideStep(op.getEpilogue()); }

bool hasWinograd(ImplicitGemmOp op) {
  const auto areThree = [](ArrayRef<int64_t> numbers) { return numbers == ArrayRef<int64_t>({3, 3}); };
  const auto areOne = [](ArrayRef<int64_t> numbers) {
    return llvm::all_of(numbers, [](int64_t each) { return each == 1; });
  };
  return deviceOf(op.getA().getType()).isCpu() && op.getA().getType().getElementType().isF32() &&
         op.getShape()[1] == 1 && op.getPlaces().size() == 2 &&
         (areThree(op.getWindow()) || areThree(op.getPlaces())) && areOne(op.getStride()) &&
         areOne(op.getBaseDilation()) && areOne(op.getWindowDilation());
}

Size workOf(ImplicitGemmOp op) {
  Size work = 1;
  for (Size extent : joined(joined(op.getShape(), op.getWindow()), op.getPlaces()))
    work = work * extent;
  return work;
}

bool fitsLaunch(ArrayRef<ConvolutionReach> extents) {
  Size box = 1, remainders = 1;
  for (const ConvolutionReach &each : extents) {
    Size reach =
        each.places * each.stride + each.window * each.windowDilation + each.extent * each.baseDilation;
    box = box * reach;
    remainders = remainders * each.baseDilation;
    if (reach.number().value_or(INT64_MAX) > maxConvolutionReach || each.low < -maxConvolutionReach ||
        each.low >= maxConvolutionReach)
      return false;
  }
  return box.number().value_or(INT64_MAX) <= maxConvolutionBox &&
         remainders.number().value_or(INT64_MAX) <= maxConvolutionRemainders;
}

LogicalResult ImplicitGemmOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                               ValueRange operands, DictionaryAttr attributes,
                                               OpaqueProperties properties, RegionRange regions,
                                               SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  ArrayRef<Size> shape = op.getShape();
  ArrayRef<int64_t> places = op.getPlaces(), order = op.getOrder();
  auto isPositive = [](int64_t number) { return number >= 1 && number <= maxConvolutionReach; };
  auto isCount = [&](Size size) { return size.isNumber() && isPositive(size.asNumber()); };
  // A batch, or channels that are the batch of the convolution whose weights this is a derivative of.
  auto mayBe = [&](size_t i) { return shape[i].isSymbolic() && !shape[2 - i].isSymbolic(); };
  if (shape.size() != 4 || !isCount(shape[1]) || !isCount(shape[3]) || (!isCount(shape[0]) && !mayBe(0)) ||
      (!isCount(shape[2]) && !mayBe(2)))
    return emitOptionalError(loc,
                             "'weft.implicit_gemm' op needs a shape of four sizes, each at least 1: batch, "
                             "groups, and the channels and outputs of a group, of which either the batch "
                             "or the channels may be symbolic");
  if (places.empty() || places.size() > 3)
    return emitOptionalError(loc, "'weft.implicit_gemm' op needs one to three extents, found ",
                             places.size());
  for (ArrayRef<int64_t> list : {op.getExtents(), op.getWindow(), places, op.getStride(),
                                 op.getBaseDilation(), op.getWindowDilation()})
    if (list.size() != places.size() || !llvm::all_of(list, isPositive))
      return emitOptionalError(loc,
                               "'weft.implicit_gemm' op needs extents, window, places, stride, base_dilation "
                               "and window_dilation of ",
                               places.size(), " numbers, each at least 1");
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  if (ArrayRef<int64_t>(sorted) != ArrayRef<int64_t>(allDims(static_cast<int64_t>(places.size()) + 2)))
    return emitOptionalError(loc, "'weft.implicit_gemm' op needs an order of the ", places.size() + 2,
                             " dimensions of the result");
  if (shape[0].isSymbolic() && order[0] != 0)
    return emitOptionalError(loc, "'weft.implicit_gemm' op needs a symbolic batch first in its order");
  SmallVector<Size> whole{shape[0], shape[1] * shape[3]}, result;
  llvm::append_range(whole, places);
  for (int64_t dim : order)
    result.push_back(whole[dim]);
  const Type element = hasWideStep(op.getEpilogue()) ? Float32Type::get(operands[0].getContext()) : Type();
  return inferShaped(loc, getOperationName(), operands[0], result, types, element);
}

/// Verifies that a view of a tensor of `shape` is within the operand.
static LogicalResult verifyView(ImplicitGemmOp op, StringRef name, Value operand, ArrayRef<int64_t> numbers,
                                ArrayRef<Size> shape, const SymbolRanges &ranges) {
  if (numbers.size() != shape.size() + 1)
    return op.emitOpError() << "needs a view of " << name << " of an offset and " << shape.size()
                            << " strides, found " << numbers.size() << " numbers";
  Size first = numbers[0], last = numbers[0];
  for (auto [stride, extent] : llvm::zip_equal(numbers.drop_front(), shape)) {
    Size reach = Size(stride) * (extent - 1);
    (stride < 0 ? first : last) = (stride < 0 ? first : last) + reach;
  }
  Size elements = elementsOf(operand.getType());
  if (!ranges.isAtLeast(first, 0) || !ranges.isAtLeast(elements - last, 1))
    return op.emitOpError() << "has a view of " << name << " that reaches beyond its " << sizeText(elements)
                            << " elements";
  return success();
}

/// Verifies the steps after the sums.
static LogicalResult verifyEpilogue(ImplicitGemmOp op) {
  auto names = op.getEpilogue();
  size_t operands = 0;
  if (names && static_cast<int64_t>(names->size()) > maxConvolutionSteps)
    return op.emitOpError() << "has an epilogue of " << names->size() << " steps, expected at most "
                            << maxConvolutionSteps;
  if (names)
    for (StringRef name : names->getAsValueRange<StringAttr>()) {
      if (!llvm::is_contained(convolutionStepNames, name))
        return op.emitOpError() << "has an unknown step '" << name
                                << "', expected one of add, sub, mul, residual, relu, wide";
      operands += readsOperand(
          static_cast<ConvolutionStep>(llvm::find(convolutionStepNames, name) - convolutionStepNames));
    }
  if (isWide(op) &&
      (names->size() != 1 || !isa<Float16Type, BFloat16Type>(op.getA().getType().getElementType())))
    return op.emitOpError() << "has the step 'wide' beside others, or for sums of "
                            << op.getA().getType().getElementType() << ", expected it alone and of halves";
  if (operands != op.getBeside().size())
    return op.emitOpError() << "has an epilogue that reads " << operands << " operands, found "
                            << op.getBeside().size();
  const Size outputs = op.getShape()[1] * op.getShape()[3];
  for (const auto &[step, operand] : epilogueOf(op)) {
    if (!readsOperand(step))
      continue;
    auto type = cast<RankedTensorType>(operand.getType());
    const bool fits = step == ConvolutionStep::residual
                          ? type == op.getType()
                          : type.getElementType() == op.getType().getElementType() && type.getRank() == 1 &&
                                sizesOf(type)[0] == outputs;
    if (!fits)
      return op.emitOpError() << "needs "
                              << (step == ConvolutionStep::residual ? "a residual of the result's type"
                                                                    : "a number for each output")
                              << ", found " << type;
  }
  return success();
}

LogicalResult ImplicitGemmOp::verify() {
  Type element = getA().getType().getElementType();
  const bool isOnHost = deviceOf(getA().getType()).isCpu();
  const bool isKnown = element.isF32() || (!isOnHost && isa<FloatType>(element));
  if (!isKnown || getW().getType().getElementType() != element)
    return emitOpError() << "takes operands of " << (isOnHost ? "f32" : "f32, f64, f16 or bf16") << ", found "
                         << element << " and " << getW().getType().getElementType();
  if (getLow().size() != getPlaces().size())
    return emitOpError() << "needs low of " << getPlaces().size() << " numbers, found " << getLow().size();
  SmallVector<ConvolutionReach> reaches;
  for (size_t i = 0; i < getPlaces().size(); ++i) {
    if (getStride()[i] > 1 && getBaseDilation()[i] > 1)
      return emitOpError() << "has a stride and a base dilation of extent " << i;
    reaches.push_back({getExtents()[i], getWindow()[i], getPlaces()[i], getStride()[i], getLow()[i],
                       getBaseDilation()[i], getWindowDilation()[i]});
  }
  if (getWinograd() && !hasWinograd(*this))
    return emitOpError() << "has Winograd's method for another convolution than one of f32 on a CPU, of one "
                            "group and two extents, with a window or places of 3 x 3 and without strides and "
                            "dilations";
  if (!fitsLaunch(reaches))
    return emitOpError() << "has windows that reach further than those of any launch";
  const SymbolRanges ranges = rangesOf(*this);
  if (Size work = workOf(*this); !work.isExpressible() || ranges.largest(work) >= maxProductWork)
    return emitOpError() << "has more multiplications than any launch";
  for (Size size : getShape())
    if (!ranges.isAtLeast(size, 1))
      return emitOpError() << "has a size that may be 0: " << sizeText(size);
  if (failed(verifyView(*this, "a", getA(), getAView(), operandShapeOf(*this), ranges)) ||
      failed(verifyView(*this, "w", getW(), getWView(), weightShapeOf(*this), ranges)))
    return failure();
  return verifyEpilogue(*this);
}

} // namespace weft::ir
