//===- Control.cpp - Functions, devices, state ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Alignment.h"
#include "ir/Dialect.h"
#include "ir/FunctionAttributes.h"
#include "ir/LaunchAttributes.h"
#include "ir/StridedLayout.h"
#include "ir/ops/Common.h"
#include "weft/limits.hpp"

#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// transfer, gradient
//===----------------------------------------------------------------------===//

LogicalResult TransferOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                           DictionaryAttr attributes, OpaqueProperties properties,
                                           RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(operands[0].getType());
  types.push_back(makeTensorType(sizesOf(from), from.getElementType(), op.getTo()));
  return success();
}

OpFoldResult TransferOp::fold(FoldAdaptor) {
  if (getA().getType() == getType())
    return getA();
  // Two transfers become one, and a transfer there and back is removed.
  if (auto inner = getA().getDefiningOp<TransferOp>()) {
    if (inner.getA().getType() == getType())
      return inner.getA();
    setOperand(inner.getA());
    return getResult();
  }
  return {};
}

LogicalResult TransferOp::buildVjp(VjpBuilder &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.make<TransferOp>(vjp.cotangent(0).value, deviceOf(getA().getType()), getNonBlocking()));
  return success();
}

LogicalResult GradientOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                           DictionaryAttr, OpaqueProperties, RegionRange,
                                           SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.drop_front().getTypes());
  return success();
}

LogicalResult GradientOp::verify() {
  if (getWrt().empty())
    return emitOpError() << "needs at least one value to differentiate with respect to";
  return success();
}

//===----------------------------------------------------------------------===//
// func, return, call
//===----------------------------------------------------------------------===//

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type) {
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  Region *body = state.addRegion();
  auto *block = new Block();
  body->push_back(block);
  for (Type input : type.getInputs())
    block->addArgument(input, state.location);
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &state) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(inputs, results); };
  return function_interface_impl::parseFunctionOp(
      parser, state, /*allowVariadic=*/false, getFunctionTypeAttrName(state.name), buildType,
      getArgAttrsAttrName(state.name), getResAttrsAttrName(state.name));
}

void FuncOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

/// An attribute of argument or result `i`. MLIR's accessors look up the function interface for each call,
/// which is slow for thousands of arguments.
static Attribute attributeOf(std::optional<ArrayAttr> all, unsigned i, StringRef name) {
  return all ? cast<DictionaryAttr>((*all)[i]).get(name) : Attribute();
}

int64_t FuncOp::getTiedArgument(unsigned i) {
  auto tied = dyn_cast_or_null<IntegerAttr>(attributeOf(getResAttrs(), i, attr::tied));
  return tied ? tied.getInt() : -1;
}

bool FuncOp::isDonated(unsigned argument) {
  return attributeOf(getArgAttrs(), argument, attr::donated) != nullptr;
}

/// Verifies that the strides of an argument fit its type and describe a view of row-major memory.
static LogicalResult verifyStrides(FuncOp func, unsigned i) {
  Attribute strides = attributeOf(func.getArgAttrs(), i, attr::strides),
            caller = attributeOf(func.getArgAttrs(), i, attr::callerShape);
  if (!strides && !caller)
    return success();
  auto list = dyn_cast_or_null<DenseI64ArrayAttr>(strides);
  auto shape = dyn_cast_or_null<DenseI64ArrayAttr>(caller);
  if (!list || (caller && !shape))
    return func.emitOpError() << "gives argument " << i << " " << attr::strides << " = " << strides << " and "
                              << attr::callerShape << " = " << caller << ", expected arrays of i64";
  Type type = func.getArgumentTypes()[i];
  auto numbers = numbersOf(sizesOf(type));
  auto rank = shape ? shape.size() : cast<RankedTensorType>(type).getRank();
  if (list.size() != rank)
    return func.emitOpError() << "gives argument " << i << " of " << rank << " dimensions " << list.size()
                              << " strides";
  if (!numbers)
    return func.emitOpError() << "gives argument " << i << " strides, and its type " << type
                              << " has dynamic dimensions: such an argument is row-major";
  if (func.isDonated(i))
    return func.emitOpError() << "gives argument " << i
                              << " strides, and it is donated: memory that is written is row-major";
  if (roleOf(func, i) != ArgumentRole::argument)
    return func.emitOpError() << "gives argument " << i << " strides, and it is "
                              << func.getArgAttr(i, attr::role) << ": only what a call brings has strides";
  ArrayRef<int64_t> sizes = shape ? shape.asArrayRef() : *numbers;
  if (llvm::any_of(sizes, [](int64_t size) { return size < 0; }))
    return func.emitOpError() << "gives argument " << i << " a negative size in " << attr::callerShape;
  if (isRowMajor(sizes, list.asArrayRef()) && !shape)
    return success();
  auto layout = stridedLayout(sizes, list.asArrayRef());
  if (!layout)
    return func.emitOpError()
           << "gives argument " << i << " the strides [" << list.asArrayRef()
           << "], which step through no row-major memory: elements overlap, or a stride is "
              "negative; pass a copy";
  SmallVector<Size> storage = toSizes(layout->storage);
  if (!isWeftTensor(makeTensorType(storage, cast<RankedTensorType>(type).getElementType(), deviceOf(type))))
    return func.emitOpError() << "gives argument " << i << " strides that reach over too many bytes";
  if (shape && sizesOf(type) != ArrayRef(storage))
    return func.emitOpError() << "gives argument " << i << " the type " << type
                              << ", but its strides step through [" << sizesText(storage) << "]";
  return success();
}

/// The reason, for a message, why a tensor with a device is no valid Weft tensor; empty for other types.
static std::string whyRefused(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !deviceOf(tensor))
    return "";
  if (!toDType(tensor.getElementType()))
    return ", whose element type is none of i1, i8, i16, i32, i64, ui8, f16, bf16, f32, f64";
  if (tensor.getRank() > static_cast<int64_t>(maxRank))
    return ", which has " + std::to_string(tensor.getRank()) + " dimensions, and at most " +
           std::to_string(maxRank) + " are possible";
  if (static_cast<int64_t>(cast<DeviceAttr>(tensor.getEncoding()).getSizes().size()) !=
      tensor.getNumDynamicDims())
    return ", whose device does not name a size for each dynamic dimension";
  return ", which may have more than 2^63 bytes at 8 an element";
}

/// Verifies that a result whose storage is another's names an argument, or an earlier result.
static LogicalResult verifyAliases(FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    for (auto [name, count] : {std::pair(StringRef(attr::aliasArgument), function.getNumArguments()),
                               std::pair(StringRef(attr::aliasResult), i)}) {
      Attribute given = function.getResultAttr(i, name);
      auto number = dyn_cast_or_null<IntegerAttr>(given);
      if (given && (!number || !number.getType().isSignlessInteger(64) || number.getInt() < 0 ||
                    number.getInt() >= static_cast<int64_t>(count)))
        return function.emitOpError() << "gives result " << i << " the attribute " << name << " = " << given
                                      << ", expected the number of an argument or of an earlier result";
    }
  return success();
}

LogicalResult FuncOp::verify() {
  if (isExternal())
    return emitOpError() << "@" << getName() << " has no body";
  llvm::SmallPtrSet<const void *, 8> seen; // thousands of arguments have few different types
  for (Type type : llvm::concat<const Type>(getArgumentTypes(), getResultTypes()))
    if (seen.insert(type.getAsOpaquePointer()).second && !isWeftTensor(type))
      return emitOpError() << "@" << getName() << " takes and returns tensors with a device, found " << type
                           << whyRefused(type);
  if (!llvm::hasSingleElement(getBody()))
    return emitOpError() << "@" << getName() << " needs a body of one block";
  llvm::SmallDenseMap<int64_t, unsigned> tied;
  for (unsigned i = 0; i < getNumResults(); ++i) {
    if (!attributeOf(getResAttrs(), i, attr::tied))
      continue;
    int64_t argument = getTiedArgument(i);
    if (argument < 0 || argument >= static_cast<int64_t>(getNumArguments()))
      return emitOpError() << "ties result " << i << " to argument " << argument << ", but has "
                           << getNumArguments() << " arguments";
    if (!isDonated(static_cast<unsigned>(argument)))
      return emitOpError() << "ties result " << i << " to argument " << argument
                           << ", which is not donated; mark it {weft.donated}";
    if (getResultTypes()[i] != getArgumentTypes()[argument])
      return emitOpError() << "ties result " << i << " of type " << getResultTypes()[i] << " to argument "
                           << argument << " of type " << getArgumentTypes()[argument];
    auto [it, inserted] = tied.try_emplace(argument, i);
    if (!inserted)
      return emitOpError() << "ties results " << it->second << " and " << i << " to the same argument "
                           << argument;
  }
  for (unsigned i = 0; i < getNumArguments(); ++i)
    if (!roleOf(*this, i))
      return emitOpError() << "gives argument " << i << " the role " << getArgAttr(i, attr::role)
                           << ", expected \"argument\", \"state\", \"scalar\" or \"random\"";
  // Files and packages identify state by its name, so names must be unique.
  llvm::StringMap<unsigned> kept;
  for (unsigned i = 0; i < getNumArguments(); ++i) {
    auto name = dyn_cast_or_null<StringAttr>(attributeOf(getArgAttrs(), i, attr::name));
    if (!name || name.empty() || roleOf(*this, i) == ArgumentRole::argument)
      continue;
    auto [it, inserted] = kept.try_emplace(name.getValue(), i);
    if (!inserted)
      return emitOpError() << "gives arguments " << it->second << " and " << i << " the name '"
                           << name.getValue() << "', by which values of what is no argument are kept";
  }
  for (unsigned i = 0; i < getNumArguments(); ++i)
    if (failed(verifyStrides(*this, i)))
      return failure();
  if (failed(verifyAlignments(*this)))
    return failure();
  if (auto numerics = (*this)->getAttr(attr::numerics)) {
    auto mode = dyn_cast<StringAttr>(numerics);
    if (!mode || (mode.getValue() != "eager" && mode.getValue() != "fast"))
      return emitOpError() << "has the numerics " << numerics << ", expected \"eager\" or \"fast\"";
  }
  if (failed(verifyAliases(*this)))
    return failure();
  return verifySymbols(*this);
}

LogicalResult ReturnOp::verify() {
  auto function = cast<FuncOp>((*this)->getParentOp());
  if (getValues().getTypes() != function.getResultTypes())
    return emitOpError() << "returns (" << getValues().getTypes() << ") from a function with the results ("
                         << function.getResultTypes() << ")";
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<FuncOp>(*this, getCalleeAttr());
  if (!callee)
    return emitOpError() << "calls '" << getCallee() << "', which is not a function of this module";
  if (callee.getArgumentTypes() != getValues().getTypes() || callee.getResultTypes() != getResultTypes())
    return emitOpError() << "calls '" << getCallee() << "' as (" << getValues().getTypes() << ") -> ("
                         << getResultTypes() << "), but it is " << callee.getFunctionType();
  // Caller and callee use the same symbols; the ranges that the callee relies on must hold in the caller.
  SymbolRanges given = rangesOf(*this);
  for (const auto &[name, range] : rangesOf(callee)) {
    const SymbolRanges::Range *found = given.find(name);
    if (found && (found->min < range.min || found->max > range.max))
      return emitOpError() << "calls '" << getCallee() << "', where '" << name << "' goes from " << range.min
                           << " to " << range.max << ", with values from " << found->min << " to "
                           << found->max << " (" << "WEFT-S001"
                           << "); give the symbol of the caller a range inside of it";
  }
  return success();
}

} // namespace weft::ir
