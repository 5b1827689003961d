//===- Shape.cpp - Ops that move elements without computing ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Common.h"

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// Helpers shared by the op families
//===----------------------------------------------------------------------===//

LogicalResult inferShaped(std::optional<Location> loc, StringRef op, Value like, ArrayRef<Size> shape,
                          SmallVectorImpl<Type> &types, Type element) {
  auto type = cast<RankedTensorType>(like.getType());
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (size.isNumber() && !size.isCount())
      return emitOptionalError(loc, "'", op, "' op needs sizes that are not negative, found ",
                               sizeText(size));
    if (!isPolynomial(size))
      return emitOptionalError(loc, "'", op, "' op has a result whose dimension ", i, " has the size ",
                               sizeText(size), ", and a dimension is a number below 2^63 or ",
                               polynomialText("symbols"));
  }
  if (!widestBytes(shape).isExpressible())
    return emitOptionalError(loc, "'", op, "' op has a result of more than 2^63 bytes: [", sizesText(shape),
                             "]");
  types.push_back(withShape(type, shape, element ? element : type.getElementType()));
  return success();
}

LogicalResult checkPolynomials(std::optional<Location> loc, StringRef op, StringRef what,
                               ArrayRef<Size> sizes) {
  for (auto [i, size] : llvm::enumerate(sizes))
    if (!isPolynomial(size))
      return emitOptionalError(loc, "'", op, "' op has the ", what, " ", sizeText(size), " in dimension ", i,
                               ", expected a number or a sum of products of symbols");
  return success();
}

SmallVector<int64_t> allDims(int64_t rank) { return llvm::to_vector(llvm::seq<int64_t>(0, rank)); }

SmallVector<Size> withoutDims(ArrayRef<Size> shape, ArrayRef<int64_t> dims) {
  SmallVector<Size> kept;
  for (auto [i, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, static_cast<int64_t>(i)))
      kept.push_back(size);
  return kept;
}

VjpBuilder decompositionBuilder(OpBuilder &builder, Operation *op) {
  return VjpBuilder(builder, op, SmallVector<Value>(op->getNumResults()),
                    SmallVector<bool>(op->getNumOperands()));
}

Size countOver(ArrayRef<Size> shape, ArrayRef<int64_t> dims) {
  Size count = 1;
  for (int64_t dim : dims)
    count *= shape[dim];
  return count;
}

Sym countLike(VjpBuilder &v, Sym a, ArrayRef<Size> shape, ArrayRef<int64_t> dims) {
  Size count = countOver(shape, dims);
  if (count.isNumber())
    return v.like(a, static_cast<double>(count.asNumber()));
  Sym number = v.make<DimOp>(withShape(a.type(), {}, v.builder.getI64Type()), count);
  number = v.convert(number, a.type().getElementType());
  return a.type().getRank() == 0 ? number : v.make<FullOp>(number.value, sizesOf(a.type()));
}

Type statisticsType(RankedTensorType type) {
  return type.getElementType().getIntOrFloatBitWidth() < 32 ? Float32Type::get(type.getContext())
                                                            : type.getElementType();
}

LogicalResult checkDims(std::optional<Location> loc, StringRef op, StringRef what, ArrayRef<int64_t> dims,
                        int64_t rank) {
  int64_t previous = -1;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return emitOptionalError(loc, "'", op, "' op has ", what, " ", dim, " outside of rank ", rank);
    if (dim <= previous)
      return emitOptionalError(loc, "'", op, "' op needs ", what, "s in increasing order, found [", dims,
                               "]");
    previous = dim;
  }
  return success();
}

/// `a dims = [..] : T -> R` and the like: the result's shape is read from the type after the arrow.
static ParseResult parseWithResultShape(OpAsmParser &parser, OperationState &state, StringRef dims) {
  OpAsmParser::UnresolvedOperand operand;
  Type from, to;
  if (parser.parseOperand(operand))
    return failure();
  if (!dims.empty()) {
    if (parser.parseComma() || parser.parseKeyword(dims) || parser.parseEqual())
      return failure();
    auto attr = dyn_cast_or_null<DenseI64ArrayAttr>(DenseI64ArrayAttr::parse(parser, {}));
    if (!attr)
      return failure();
    state.addAttribute(dims, attr);
  }
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(from) || parser.parseArrow())
    return failure();
  auto loc = parser.getCurrentLocation();
  if (parser.parseType(to) || parser.resolveOperand(operand, from, state.operands))
    return failure();
  auto tensor = dyn_cast<RankedTensorType>(to);
  if (!tensor)
    return parser.emitError(loc, "expected a ranked tensor type after '->'");
  state.addAttribute("shape", SizesAttr::get(parser.getContext(), sizesOf(tensor)));
  state.addTypes(to);
  return success();
}

static void printWithResultShape(OpAsmPrinter &printer, Operation *op, StringRef dims) {
  printer << ' ' << op->getOperand(0);
  if (!dims.empty()) {
    printer << ", " << dims << " = ";
    cast<DenseI64ArrayAttr>(op->getAttr(dims)).print(printer);
  }
  printer.printOptionalAttrDict(op->getAttrs(), {"shape", "dims"});
  printer << " : " << op->getOperand(0).getType() << " -> " << op->getResult(0).getType();
}

//===----------------------------------------------------------------------===//
// broadcast_in_dim
//===----------------------------------------------------------------------===//

ParseResult BroadcastInDimOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseWithResultShape(parser, state, "dims");
}
void BroadcastInDimOp::print(OpAsmPrinter &printer) { printWithResultShape(printer, *this, "dims"); }

LogicalResult BroadcastInDimOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                 ValueRange operands, DictionaryAttr attributes,
                                                 OpaqueProperties properties, RegionRange regions,
                                                 SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  return inferShaped(loc, getOperationName(), operands[0], op.getShape(), types);
}

LogicalResult BroadcastInDimOp::verify() {
  auto from = getA().getType();
  if (static_cast<int64_t>(getDims().size()) != from.getRank())
    return emitOpError() << "needs one entry of dims per operand dimension: rank " << from.getRank()
                         << ", dims [" << getDims() << "]";
  if (failed(
          checkDims(getLoc(), getOperationName(), "dim", getDims(), static_cast<int64_t>(getShape().size()))))
    return failure();
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (sizesOf(from)[i] != getShape()[dim] && sizesOf(from)[i] != 1)
      return emitOpError() << "cannot stretch dimension " << i << " of size " << sizeText(sizesOf(from)[i])
                           << " to size " << sizeText(getShape()[dim]) << " (dimension " << dim
                           << " of the result)";
  return success();
}

OpFoldResult BroadcastInDimOp::fold(FoldAdaptor adaptor) {
  if (getA().getType() == getType())
    return getA();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getA()))
    return splatOf(getType(), splat.getSplatValue<Attribute>());
  // A broadcast of a broadcast is one.
  if (auto inner = getA().getDefiningOp<BroadcastInDimOp>()) {
    SmallVector<int64_t> dims;
    for (int64_t dim : inner.getDims())
      dims.push_back(getDims()[dim]);
    setOperand(inner.getA());
    setDims(dims);
    return getResult();
  }
  return {};
}

LogicalResult BroadcastInDimOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  auto from = getA().getType();
  SmallVector<int64_t> summed;
  for (int64_t dim = 0, e = static_cast<int64_t>(getShape().size()); dim < e; ++dim) {
    const auto *it = llvm::find(getDims(), dim);
    bool isNew = it == getDims().end();
    if (isNew || sizesOf(from)[it - getDims().begin()] != getShape()[dim])
      summed.push_back(dim);
  }
  vjp.set(0, vjp.reshape(vjp.sum(vjp.cotangent(0), summed), sizesOf(from)));
  return success();
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

ParseResult ReshapeOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseWithResultShape(parser, state, "");
}
void ReshapeOp::print(OpAsmPrinter &printer) { printWithResultShape(printer, *this, ""); }

LogicalResult ReshapeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                          DictionaryAttr attributes, OpaqueProperties properties,
                                          RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  return inferShaped(loc, getOperationName(), operands[0], op.getShape(), types);
}

LogicalResult ReshapeOp::verify() {
  if (elementsOf(getA().getType()) != elementsOf(getType()))
    return emitOpError() << "cannot turn " << sizeText(elementsOf(getA().getType())) << " elements of shape ["
                         << sizesText(sizesOf(getA().getType())) << "] into "
                         << sizeText(elementsOf(getType())) << " of shape [" << sizesText(getShape()) << "]";
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getA().getType() == getType())
    return getA();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getA()))
    return splatOf(getType(), splat.getSplatValue<Attribute>());
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getA()))
    return dense.reshape(getType());
  if (auto inner = getA().getDefiningOp<ReshapeOp>()) {
    setOperand(inner.getA());
    return getResult();
  }
  return {};
}

LogicalResult ReshapeOp::buildVjp(VjpBuilder &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.reshape(vjp.cotangent(0), sizesOf(getA().getType())));
  return success();
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                            DictionaryAttr attributes, OpaqueProperties properties,
                                            RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(operands[0].getType());
  SmallVector<int64_t> sorted(op.getPerm());
  SmallVector<Size> shape;
  llvm::sort(sorted);
  if (sorted != allDims(from.getRank()))
    return emitOptionalError(loc, "'weft.transpose' op needs a permutation of 0 to ", from.getRank() - 1,
                             ", found [", op.getPerm(), "]");
  for (int64_t dim : op.getPerm())
    shape.push_back(sizesOf(from)[dim]);
  types.push_back(withShape(from, shape));
  return success();
}

LogicalResult TransposeOp::verify() { return success(); }

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (getPerm() == ArrayRef(allDims(getType().getRank())))
    return getA();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getA()))
    return splatOf(getType(), splat.getSplatValue<Attribute>());
  if (auto inner = getA().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> perm;
    for (int64_t dim : getPerm())
      perm.push_back(inner.getPerm()[dim]);
    setOperand(inner.getA());
    setPerm(perm);
    return getResult();
  }
  return {};
}

LogicalResult TransposeOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  SmallVector<int64_t> inverse(getPerm().size());
  for (auto [i, dim] : llvm::enumerate(getPerm()))
    inverse[dim] = static_cast<int64_t>(i);
  vjp.set(0, vjp.make<TransposeOp>(vjp.cotangent(0).value, inverse));
  return success();
}

//===----------------------------------------------------------------------===//
// slice, pad
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                        DictionaryAttr attributes, OpaqueProperties properties,
                                        RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(operands[0].getType());
  auto rank = static_cast<size_t>(from.getRank());
  if (op.getStart().size() != rank || op.getLimit().size() != rank || op.getStep().size() != rank)
    return emitOptionalError(loc, "'weft.slice' op needs start, limit and step of rank ", rank);
  if (failed(checkPolynomials(loc, getOperationName(), "start", op.getStart())) ||
      failed(checkPolynomials(loc, getOperationName(), "limit", op.getLimit())))
    return failure();
  SmallVector<Size> shape;
  for (size_t i = 0; i < rank; ++i) {
    Size start = op.getStart()[i], limit = op.getLimit()[i], size = sizesOf(from)[i];
    int64_t step = op.getStep()[i];
    auto refuse = [&](StringRef why) {
      return emitOptionalError(loc, "'weft.slice' op takes ", sizeText(start), ":", sizeText(limit), ":",
                               step, " of dimension ", i, ", which has size ", sizeText(size), why);
    };
    if (step < 1 || !start.isCount() || !limit.isCount())
      return refuse("");
    // Dynamic sizes are compared by the verifier, which knows their ranges.
    if (auto numbers = numbersOf({start, limit, size});
        numbers && ((*numbers)[1] < (*numbers)[0] || (*numbers)[1] > (*numbers)[2]))
      return refuse("");
    Size taken = limit - start;
    std::optional<Size> count =
        taken.isSymbolic() ? divide(taken, step) : std::optional(ceilDiv(taken, step));
    if (!count)
      return refuse("; a step has to divide a dynamic size");
    shape.push_back(*count);
  }
  return inferShaped(loc, getOperationName(), operands[0], shape, types);
}

LogicalResult SliceOp::verify() {
  if (!anySymbolic(getStart()) && !anySymbolic(getLimit()) && !isDynamic(getA().getType()))
    return success();
  SymbolRanges ranges = rangesOf(*this);
  for (auto [i, size] : llvm::enumerate(sizesOf(getA().getType()))) {
    Size start = getStart()[i], limit = getLimit()[i];
    if (!ranges.isAtLeast(start, 0) || !ranges.isAtMost(start, limit) || !ranges.isAtMost(limit, size))
      return emitOpError()
             << "takes " << sizeText(start) << ":" << sizeText(limit) << " of dimension " << i
             << ", which has size " << sizeText(size)
             << "; it cannot be proven that this is inside for every value of the symbols: give them a "
                "larger min, or take less";
  }
  return failure(failed(verifyDeclared(*this, getStart())) || failed(verifyDeclared(*this, getLimit())));
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getA().getType() == getType())
    return getA();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getA()))
    return splatOf(getType(), splat.getSplatValue<Attribute>());
  return {};
}

LogicalResult SliceOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  auto from = getA().getType();
  SmallVector<Size> low(getStart()), high;
  SmallVector<int64_t> interior;
  for (int64_t i = 0; i < from.getRank(); ++i) {
    Size count = sizesOf(getType())[i];
    int64_t step = getStep()[i];
    Size spread = count == 0 ? 0 : (count - 1) * step + 1;
    high.push_back(sizesOf(from)[i] - low[i] - spread);
    interior.push_back(step - 1);
  }
  vjp.set(0, vjp.make<PadOp>(vjp.cotangent(0).value, low, high, interior));
  return success();
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                      DictionaryAttr attributes, OpaqueProperties properties,
                                      RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(operands[0].getType());
  auto rank = static_cast<size_t>(from.getRank());
  if (op.getLow().size() != rank || op.getHigh().size() != rank || op.getInterior().size() != rank)
    return emitOptionalError(loc, "'weft.pad' op needs low, high and interior of rank ", rank);
  if (failed(checkPolynomials(loc, getOperationName(), "low", op.getLow())) ||
      failed(checkPolynomials(loc, getOperationName(), "high", op.getHigh())))
    return failure();
  SmallVector<Size> shape;
  for (size_t i = 0; i < rank; ++i) {
    Size low = op.getLow()[i], high = op.getHigh()[i], size = sizesOf(from)[i];
    int64_t interior = op.getInterior()[i];
    if (interior < 0)
      return emitOptionalError(loc, "'weft.pad' op adds ", interior, " elements between those of dimension ",
                               i, "; expected a number that is not negative");
    // With dynamic sizes the verifier checks that the removed elements exist, because it knows the ranges.
    Size spread = size == 0 ? 0 : (size - 1) * interior + size, sum = spread + low + high;
    if (numbersOf({low, high, size}) && !sum.isExpressible())
      return emitOptionalError(loc, "'weft.pad' op makes dimension ", i, " larger than 2^63");
    if (sum.isNumber() && !sum.isCount())
      return emitOptionalError(loc, "'weft.pad' op takes more away from dimension ", i, " than the ",
                               sizeText(spread), " elements that it has: ", sizeText(low), " before and ",
                               sizeText(high), " after");
    shape.push_back(sum);
  }
  return inferShaped(loc, getOperationName(), operands[0], shape, types);
}

LogicalResult PadOp::verify() {
  auto value = getValue();
  if (value && (value.getType().getRank() != 0 ||
                value.getType().getElementType() != getA().getType().getElementType()))
    return emitOpError() << "needs a 0-dimensional value of " << getA().getType().getElementType()
                         << ", found " << value.getType();
  if (!anySymbolic(getLow()) && !anySymbolic(getHigh()) && !isDynamic(getA().getType()))
    return success();
  SymbolRanges ranges = rangesOf(*this);
  for (auto [i, size] : llvm::enumerate(sizesOf(getA().getType()))) {
    Size low = getLow()[i], high = getHigh()[i];
    if (numbersOf({low, high, size}))
      continue;
    if (!ranges.isAtLeast(low, 0) || !ranges.isAtLeast(high, 0))
      return emitOpError() << "adds " << sizeText(low) << " and " << sizeText(high)
                           << " elements to dimension " << i
                           << ", which is dynamic; it cannot be proven that neither is negative";
    if (getInterior()[i] > 0 && !ranges.isAtLeast(size, 1))
      return emitOpError() << "adds elements between those of dimension " << i << ", of size "
                           << sizeText(size) << ", which may be 0: give its symbols a min of 1";
  }
  return failure(failed(verifyDeclared(*this, getLow())) || failed(verifyDeclared(*this, getHigh())));
}

LogicalResult PadOp::buildVjp(VjpBuilder &vjp) {
  auto from = getA().getType();
  auto rank = static_cast<size_t>(from.getRank());
  Sym g = vjp.cotangent(0);
  if (vjp.needs(0) && elementsOf(from) == 0) {
    vjp.set(0, vjp.like(vjp.operand(0), 0.0));
  } else if (vjp.needs(0)) {
    // Removed elements have no gradient: zeros are inserted for them; then the elements of the operand are
    // read.
    SmallVector<Size> low, high, start, limit;
    SmallVector<int64_t> step;
    for (size_t i = 0; i < rank; ++i) {
      // An expression is not negative.
      auto taken = [](Size added) { return added.isCount() ? 0 : 0 - added; };
      low.push_back(taken(getLow()[i]));
      high.push_back(taken(getHigh()[i]));
      start.push_back(getLow()[i] + low[i]);
      step.push_back(getInterior()[i] + 1);
      Size spread = (sizesOf(from)[i] - 1) * step[i] + 1;
      limit.push_back(start[i] + spread);
    }
    auto some = [](ArrayRef<Size> counts) { return llvm::any_of(counts, [](Size n) { return n != 0; }); };
    Sym whole =
        some(low) || some(high) ? vjp.make<PadOp>(g.value, low, high, SmallVector<int64_t>(rank, 0)) : g;
    vjp.set(0, vjp.make<SliceOp>(whole.value, start, limit, step));
  }
  if (getValue() && vjp.needs(1)) {
    // Pad an operand that is false everywhere with true, which marks the added elements.
    MLIRContext *context = getContext();
    auto flags = withShape(from, sizesOf(from), IntegerType::get(context, 1)), flag = withShape(flags, {});
    Sym no = vjp.make<ConstantOp>(flags, splatOf(flags, vjp.builder.getBoolAttr(false))),
        yes = vjp.make<ConstantOp>(flag, DenseElementsAttr::get(flag, true));
    Sym added = vjp.make<PadOp>(no.value, yes.value, getLow(), getHigh(), getInterior());
    vjp.set(1, vjp.sum(vjp.select(added, g, vjp.like(g, 0.0)), allDims(from.getRank())));
  }
  return success();
}

} // namespace weft::ir
