//===- Contraction.cpp - dot_general --------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Contraction.h"
#include "ir/Dialect.h"
#include "ir/ops/Common.h"
#include "weft/limits.hpp"

using namespace mlir;
namespace weft::ir {

/// Parses `= [..] x [..]`.
static ParseResult parseDimPair(OpAsmParser &parser, DenseI64ArrayAttr &a, DenseI64ArrayAttr &b) {
  auto list = [&](DenseI64ArrayAttr &dims) -> ParseResult {
    dims = dyn_cast_or_null<DenseI64ArrayAttr>(DenseI64ArrayAttr::parse(parser, {}));
    return success(dims != nullptr);
  };
  return failure(parser.parseEqual() || list(a) || parser.parseKeyword("x") || list(b));
}

ParseResult DotGeneralOp::parse(OpAsmParser &parser, OperationState &state) {
  // %a, %b [, bias %c] [, residual %d] [, plus (%a1, %b1, ..)] [, relu] [, batch = [0] x [0]],
  //   contract = [1] x [1] {attrs} : A, B [, C] [, D] [, A, B, ..]
  SmallVector<OpAsmParser::UnresolvedOperand> operands(2);
  if (parser.parseOperand(operands[0]) || parser.parseComma() || parser.parseOperand(operands[1]) ||
      parser.parseComma())
    return failure();
  auto &properties = state.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {1, 1, 0, 0, 0};
  for (auto [segment, word] : {std::pair(2, "bias"), std::pair(3, "residual")})
    if (succeeded(parser.parseOptionalKeyword(word))) {
      properties.operandSegmentSizes[segment] = 1;
      if (parser.parseOperand(operands.emplace_back()) || parser.parseComma())
        return failure();
    }
  if (succeeded(parser.parseOptionalKeyword("plus"))) {
    size_t before = operands.size();
    if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) || parser.parseComma())
      return failure();
    properties.operandSegmentSizes[4] = static_cast<int32_t>(operands.size() - before);
  }
  if (succeeded(parser.parseOptionalKeyword("relu"))) {
    properties.relu = parser.getBuilder().getUnitAttr();
    if (parser.parseComma())
      return failure();
  }
  properties.batch_a = properties.batch_b = parser.getBuilder().getDenseI64ArrayAttr({});
  if (succeeded(parser.parseOptionalKeyword("batch")) &&
      (parseDimPair(parser, properties.batch_a, properties.batch_b) || parser.parseComma()))
    return failure();
  SmallVector<Type> types;
  auto loc = parser.getCurrentLocation();
  if (parser.parseKeyword("contract") || parseDimPair(parser, properties.contract_a, properties.contract_b) ||
      parser.parseOptionalAttrDict(state.attributes) || parser.parseColonTypeList(types))
    return failure();
  if (parser.resolveOperands(operands, types, loc, state.operands))
    return failure();
  for (Type type : types)
    if (!isWeftTensor(type))
      return parser.emitError(loc) << "expected tensors with a device, found " << type;
  SmallVector<Type> results;
  if (failed(inferReturnTypes(parser.getContext(), parser.getEncodedSourceLoc(loc), state.operands,
                              state.attributes.getDictionary(parser.getContext()), state.getRawProperties(),
                              {}, results)))
    return failure();
  state.addTypes(results);
  return success();
}

void DotGeneralOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getA() << ", " << getB();
  if (getBias())
    printer << ", bias " << getBias();
  if (getResidual())
    printer << ", residual " << getResidual();
  if (!getMore().empty())
    printer << ", plus (" << getMore() << ")";
  if (getRelu())
    printer << ", relu";
  auto pair = [&](StringRef name, DenseI64ArrayAttr a, DenseI64ArrayAttr b) {
    printer << ", " << name << " = ";
    a.print(printer);
    printer << " x ";
    b.print(printer);
  };
  if (!getBatchA().empty())
    pair("batch", getBatchAAttr(), getBatchBAttr());
  pair("contract", getContractAAttr(), getContractBAttr());
  printer.printOptionalAttrDict(
      (*this)->getAttrs(), {"batch_a", "batch_b", "contract_a", "contract_b", "relu", "operandSegmentSizes"});
  printer << " : ";
  llvm::interleaveComma(getOperandTypes(), printer);
}

LogicalResult DotGeneralOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                             DictionaryAttr attributes, OpaqueProperties properties,
                                             RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto a = cast<RankedTensorType>(operands[0].getType()), b = cast<RankedTensorType>(operands[1].getType());
  auto check = [&](StringRef what, ArrayRef<int64_t> da, ArrayRef<int64_t> db) -> LogicalResult {
    if (da.size() != db.size())
      return emitOptionalError(loc, "'weft.dot_general' op pairs ", da.size(), " ", what,
                               " dimensions of a with ", db.size(), " of b");
    for (auto [ia, ib] : llvm::zip(da, db)) {
      if (ia < 0 || ia >= a.getRank() || ib < 0 || ib >= b.getRank())
        return emitOptionalError(loc, "'weft.dot_general' op has a ", what,
                                 " dimension outside of the operands: ", ia, " of rank ", a.getRank(),
                                 " and ", ib, " of rank ", b.getRank());
      if (sizesOf(a)[ia] != sizesOf(b)[ib])
        return emitOptionalError(loc, "'weft.dot_general' op pairs ", what, " dimension ", ia,
                                 " of a, of size ", sizeText(sizesOf(a)[ia]), ", with dimension ", ib,
                                 " of b, of size ", sizeText(sizesOf(b)[ib]));
    }
    return success();
  };
  if (failed(check("batch", op.getBatchA(), op.getBatchB())) ||
      failed(check("contracted", op.getContractA(), op.getContractB())))
    return failure();
  auto distinct = [](ArrayRef<int64_t> x, ArrayRef<int64_t> y) {
    SmallVector<int64_t> all(x);
    llvm::append_range(all, y);
    llvm::sort(all);
    return std::adjacent_find(all.begin(), all.end()) == all.end();
  };
  if (!distinct(op.getBatchA(), op.getContractA()) || !distinct(op.getBatchB(), op.getContractB()))
    return emitOptionalError(loc, "'weft.dot_general' op names a dimension twice");
  SmallVector<Size> shape;
  for (int64_t dim : op.getBatchA())
    shape.push_back(sizesOf(a)[dim]);
  for (int64_t dim : getFreeDims(a.getRank(), op.getBatchA(), op.getContractA()))
    shape.push_back(sizesOf(a)[dim]);
  for (int64_t dim : getFreeDims(b.getRank(), op.getBatchB(), op.getContractB()))
    shape.push_back(sizesOf(b)[dim]);
  return inferShaped(loc, getOperationName(), operands[0], shape, types);
}

/// The further products of a sum of products.
static LogicalResult verifyMore(DotGeneralOp op) {
  if (op.getMore().empty())
    return success();
  Type element = op.getType().getElementType();
  if (!element.isF32() && !element.isF64())
    return op.emitOpError() << "adds further products of f32 and f64 only, found " << element;
  if (op.getBias() || op.getRelu())
    return op.emitOpError() << "adds further products without a bias and relu only";
  if (op.getMore().size() % 2)
    return op.emitOpError() << "needs pairs of operands after 'plus', found " << op.getMore().size()
                            << " operands";
  for (auto [i, operand] : llvm::enumerate(op.getMore())) {
    Type expected = (i % 2 ? op.getB() : op.getA()).getType();
    if (operand.getType() != expected)
      return op.emitOpError() << "needs further operands of the types of a and b, found " << operand.getType()
                              << " instead of " << expected;
  }
  return success();
}

LogicalResult DotGeneralOp::verify() {
  Size work = productOf(sizesOf(getType()));
  for (int64_t dim : getContractA())
    work *= sizesOf(getA().getType())[dim];
  bool isDynamic = ir::isDynamic(getA().getType()) || ir::isDynamic(getB().getType());
  if (!isDynamic && work.number().value_or(INT64_MAX) > maxProductWork)
    return emitOpError()
           << "of " << getA().getType() << " and " << getB().getType()
           << " takes more than 2^62 multiplications, which no machine ends; use smaller tensors";
  auto element = getA().getType().getElementType();
  if (getB().getType().getElementType() != element)
    return emitOpError() << "needs operands of one element type, found " << element << " and "
                         << getB().getType().getElementType() << "; insert weft.convert";
  if (element.isInteger(1))
    return emitOpError() << "cannot contract i1; convert to a number first";
  if (Value bias = getBias()) {
    auto type = cast<RankedTensorType>(bias.getType());
    ArrayRef<Size> shape = sizesOf(getType());
    if (shape.empty() || sizesOf(type) != shape.take_back() || type.getElementType() != element)
      return emitOpError() << "needs a bias of the result's last dimension and element type, found " << type
                           << " for the result " << getType();
  }
  if (Value residual = getResidual(); residual && residual.getType() != getType())
    return emitOpError() << "needs a residual of the result's type, found " << residual.getType()
                         << " for the result " << getType();
  return verifyMore(*this);
}

LogicalResult DotGeneralOp::buildVjp(VjpBuilder &vjp) {
  if (getBias() || getResidual() || getRelu() || !getMore().empty())
    return emitOpError() << "has an epilogue, which is attached after differentiation: it has no derivative";
  auto aType = getA().getType(), bType = getB().getType();
  auto aFree = getFreeDims(aType.getRank(), getBatchA(), getContractA());
  auto bFree = getFreeDims(bType.getRank(), getBatchB(), getContractB());
  auto batch = static_cast<int64_t>(getBatchA().size()), rank = getType().getRank();
  auto range = [](int64_t from, int64_t to) { return llvm::to_vector(llvm::seq<int64_t>(from, to)); };
  SmallVector<int64_t> gBatch = range(0, batch),
                       gA = range(batch, batch + static_cast<int64_t>(aFree.size())),
                       gB = range(batch + static_cast<int64_t>(aFree.size()), rank);
  Sym g = vjp.cotangent(0);

  // The dimensions of the product are the batch dimensions, then the free dimensions of its first and second
  // operand. `order` has, for each of these, the dimension of the operand whose cotangent it is.
  auto back = [&](Sym x, Sym y, ArrayRef<int64_t> xBatch, ArrayRef<int64_t> yBatch,
                  ArrayRef<int64_t> xContract, ArrayRef<int64_t> yContract, ArrayRef<int64_t> order) {
    Sym product =
        vjp.make<DotGeneralOp>(x.value, y.value, Value(), xBatch, yBatch, xContract, yContract, false);
    SmallVector<int64_t> perm(order.size());
    for (auto [i, dim] : llvm::enumerate(order))
      perm[dim] = static_cast<int64_t>(i);
    return perm == range(0, static_cast<int64_t>(perm.size())) ? product
                                                               : vjp.make<TransposeOp>(product.value, perm);
  };
  // With x = g the product is [batch, free of the other side left in g, free of y]: the contracted dimensions
  // of the other operand come last, in the order in which they stand in it.
  if (vjp.needs(0)) {
    SmallVector<int64_t> order(getBatchA());
    llvm::append_range(order, aFree);
    SmallVector<int64_t> contracted; // a's dimension for each contracted dimension of b, by b's order
    for (int64_t dim = 0; dim < bType.getRank(); ++dim)
      if (const auto *it = llvm::find(getContractB(), dim); it != getContractB().end())
        contracted.push_back(getContractA()[it - getContractB().begin()]);
    llvm::append_range(order, contracted);
    vjp.set(0, back(g, vjp.operand(1), gBatch, getBatchB(), gB, bFree, order));
  }
  if (vjp.needs(1)) {
    // Build b's cotangent as [batch, free of b, contracted]. With g as the first operand, the usual case (x
    // W^T) needs no transposition.
    SmallVector<int64_t> order(getBatchB());
    llvm::append_range(order, bFree);
    SmallVector<int64_t> contracted;
    for (int64_t dim = 0; dim < aType.getRank(); ++dim)
      if (const auto *it = llvm::find(getContractA(), dim); it != getContractA().end())
        contracted.push_back(getContractB()[it - getContractA().begin()]);
    llvm::append_range(order, contracted);
    vjp.set(1, back(g, vjp.operand(0), gBatch, getBatchA(), gA, aFree, order));
  }
  return success();
}

} // namespace weft::ir
