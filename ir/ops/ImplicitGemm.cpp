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

static SmallVector<int64_t> joined(ArrayRef<int64_t> first, ArrayRef<int64_t> rest) {
  SmallVector<int64_t> all(first);
  llvm::append_range(all, rest);
  return all;
}

SmallVector<int64_t> operandShapeOf(ImplicitGemmOp op) {
  return joined(op.getShape().take_front(3), op.getExtents());
}
SmallVector<int64_t> weightShapeOf(ImplicitGemmOp op) {
  ArrayRef<int64_t> shape = op.getShape();
  return joined({shape[1], shape[3], shape[2]}, op.getWindow());
}
SmallVector<int64_t> resultShapeOf(ImplicitGemmOp op) {
  ArrayRef<int64_t> shape = op.getShape();
  return joined({shape[0], shape[1], shape[3]}, op.getPlaces());
}

MemoryView resultViewOf(ImplicitGemmOp op) {
  SmallVector<int64_t> shape = resultShapeOf(op), merged = shape;
  merged.erase(merged.begin() + 1);
  merged[1] *= shape[1];
  MemoryView view = orderedView(merged, op.getOrder());
  view.strides.insert(view.strides.begin() + 1, view.strides[1] * shape[2]);
  return view;
}

Size workOf(ImplicitGemmOp op) {
  Size work = 1;
  for (int64_t extent : joined(op.getShape(), joined(op.getWindow(), op.getPlaces())))
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
  ArrayRef<int64_t> shape = op.getShape(), places = op.getPlaces(), order = op.getOrder();
  auto isPositive = [](int64_t number) { return number >= 1 && number <= maxConvolutionReach; };
  if (shape.size() != 4 || !llvm::all_of(shape, isPositive))
    return emitOptionalError(loc,
                             "'weft.implicit_gemm' op needs a shape of four numbers, each at least 1: batch, "
                             "groups, and the channels and outputs of a group");
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
  SmallVector<Size> whole{shape[0], Size(shape[1]) * shape[3]}, result;
  llvm::append_range(whole, places);
  for (int64_t dim : order)
    result.push_back(whole[dim]);
  return inferShaped(loc, getOperationName(), operands[0], result, types);
}

/// Verifies that a view of a tensor of `shape` is within the operand.
static LogicalResult verifyView(ImplicitGemmOp op, StringRef name, Value operand, ArrayRef<int64_t> numbers,
                                ArrayRef<int64_t> shape) {
  if (isDynamic(operand.getType()))
    return op.emitOpError() << "needs sizes that are numbers, found " << name << " of type "
                            << operand.getType();
  if (numbers.size() != shape.size() + 1)
    return op.emitOpError() << "needs a view of " << name << " of an offset and " << shape.size()
                            << " strides, found " << numbers.size() << " numbers";
  Size first = numbers[0], last = numbers[0];
  for (auto [stride, extent] : llvm::zip_equal(numbers.drop_front(), shape)) {
    Size reach = Size(stride) * (extent - 1);
    (stride < 0 ? first : last) = (stride < 0 ? first : last) + reach;
  }
  int64_t elements = elementsOf(operand.getType()).asNumber();
  if (!first.isExpressible() || !last.isExpressible() || first.asNumber() < 0 || last.asNumber() >= elements)
    return op.emitOpError() << "has a view of " << name << " that reaches beyond its " << elements
                            << " elements";
  return success();
}

LogicalResult ImplicitGemmOp::verify() {
  Type element = getA().getType().getElementType();
  if (!element.isF32() || getW().getType().getElementType() != element)
    return emitOpError() << "takes operands of f32, found " << element << " and "
                         << getW().getType().getElementType();
  if (getLow().size() != getPlaces().size())
    return emitOpError() << "needs low of " << getPlaces().size() << " numbers, found " << getLow().size();
  SmallVector<ConvolutionReach> reaches;
  for (size_t i = 0; i < getPlaces().size(); ++i) {
    if (getStride()[i] > 1 && getBaseDilation()[i] > 1)
      return emitOpError() << "has a stride and a base dilation of extent " << i;
    reaches.push_back({getExtents()[i], getWindow()[i], getPlaces()[i], getStride()[i], getLow()[i],
                       getBaseDilation()[i], getWindowDilation()[i]});
  }
  if (!fitsLaunch(reaches))
    return emitOpError() << "has windows that reach further than those of any launch";
  if (Size work = workOf(*this); !work.isExpressible() || work.asNumber() > maxProductWork)
    return emitOpError() << "has more multiplications than any launch";
  if (failed(verifyView(*this, "a", getA(), getAView(), operandShapeOf(*this))))
    return failure();
  return verifyView(*this, "w", getW(), getWView(), weightShapeOf(*this));
}

} // namespace weft::ir
