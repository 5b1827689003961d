//===- Dialect.cpp - Attributes, types, rules common to all ops ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/Loops.h"
#include "ir/Placement.h"
#include "weft/limits.hpp"

#include "mlir/IR/Builders.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

#include "ir/WeftDialect.cpp.inc"
#include "ir/WeftEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/WeftAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/WeftTypes.cpp.inc"

namespace weft::ir {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

std::optional<DType> toDType(Type element) {
  if (element.isF32())
    return DType::f32;
  if (element.isF64())
    return DType::f64;
  if (element.isF16())
    return DType::f16;
  if (element.isBF16())
    return DType::bf16;
  if (auto integer = dyn_cast<IntegerType>(element)) {
    if (integer.isUnsigned())
      return integer.getWidth() == 8 ? std::optional(DType::ui8) : std::nullopt;
    if (!integer.isSignless())
      return std::nullopt;
    switch (integer.getWidth()) {
    case 1:
      return DType::i1;
    case 8:
      return DType::i8;
    case 16:
      return DType::i16;
    case 32:
      return DType::i32;
    case 64:
      return DType::i64;
    default:
      return std::nullopt;
    }
  }
  return std::nullopt;
}

Type toElementType(MLIRContext *context, DType dtype) {
  Builder b(context);
  switch (dtype) {
  case DType::i1:
    return b.getI1Type();
  case DType::i8:
    return b.getI8Type();
  case DType::i16:
    return b.getI16Type();
  case DType::i32:
    return b.getI32Type();
  case DType::i64:
    return b.getI64Type();
  case DType::ui8:
    return b.getIntegerType(8, /*isSigned=*/false);
  case DType::f16:
    return b.getF16Type();
  case DType::bf16:
    return b.getBF16Type();
  case DType::f32:
    return b.getF32Type();
  case DType::f64:
    return b.getF64Type();
  }
  return {};
}

DeviceAttr deviceOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto device = tensor ? dyn_cast_or_null<DeviceAttr>(tensor.getEncoding()) : DeviceAttr();
  return device ? device.withoutSizes() : device;
}

bool isDynamic(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.hasStaticShape();
}

/// If the encoding has no size for a dynamic dimension, that size is inexpressible.
ArrayRef<Size> sizesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  // A size that is a number is represented by that number, so a static shape can be read as a list of sizes.
  static_assert(sizeof(Size) == sizeof(int64_t) && alignof(Size) == alignof(int64_t));
  if (tensor.hasStaticShape())
    return {reinterpret_cast<const Size *>(tensor.getShape().data()), tensor.getShape().size()};
  auto device = dyn_cast_or_null<DeviceAttr>(tensor.getEncoding());
  ArrayRef<Size> dynamic = device ? device.getSizes() : ArrayRef<Size>();
  SmallVector<Size> sizes;
  for (int64_t size : tensor.getShape()) {
    if (!ShapedType::isDynamic(size)) {
      sizes.push_back(size);
      continue;
    }
    sizes.push_back(dynamic.empty() ? Size::inexpressible() : dynamic.front());
    dynamic = dynamic.drop_front(dynamic.empty() ? 0 : 1);
  }
  // The context keeps the list, as an attribute.
  return SizesAttr::get(type.getContext(), sizes).getSizes();
}

Size elementsOf(Type type) { return productOf(sizesOf(type)); }

SmallVector<Size> toSizes(ArrayRef<int64_t> numbers) { return {numbers.begin(), numbers.end()}; }

std::optional<SmallVector<int64_t>> numbersOf(ArrayRef<Size> sizes) {
  SmallVector<int64_t> numbers;
  for (Size size : sizes) {
    if (!size.isNumber())
      return std::nullopt;
    numbers.push_back(size.asNumber());
  }
  return numbers;
}

RankedTensorType makeTensorType(ArrayRef<Size> sizes, Type element, DeviceAttr device) {
  SmallVector<int64_t> shape;
  SmallVector<Size> dynamic;
  for (Size size : sizes) {
    shape.push_back(size.number().value_or(ShapedType::kDynamic));
    if (!size.isNumber())
      dynamic.push_back(size);
  }
  if (!llvm::all_of(dynamic, isPolynomial))
    dynamic.clear(); // the encoding does not fit the type
  return RankedTensorType::get(shape, element, device ? device.withSizes(dynamic) : device);
}

DenseElementsAttr splatOf(RankedTensorType type, Attribute element) {
  if (isDynamic(type))
    type = RankedTensorType::get({}, type.getElementType());
  return DenseElementsAttr::get(type, element);
}

Size widestBytes(ArrayRef<Size> shape) {
  Size bytes = 8;
  for (Size size : shape)
    if (size != 0)
      bytes *= size;
  return bytes;
}

bool isWeftTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !deviceOf(tensor) || !toDType(tensor.getElementType()) ||
      tensor.getRank() > static_cast<int64_t>(maxRank))
    return false;
  auto dynamic = cast<DeviceAttr>(tensor.getEncoding()).getSizes();
  // Overflow of dynamic sizes is checked in the function, which has their ranges.
  return static_cast<int64_t>(dynamic.size()) == tensor.getNumDynamicDims() &&
         widestBytes(sizesOf(tensor)).isExpressible();
}

DType dtypeOf(Type type) { return *toDType(cast<RankedTensorType>(type).getElementType()); }

Size bytesOf(Type type) { return elementsOf(type) * elementBytes(type); }

int64_t elementBytes(Type type) { return static_cast<int64_t>(itemsize(dtypeOf(type))); }

RankedTensorType withShape(RankedTensorType type, ArrayRef<Size> shape) {
  return withShape(type, shape, type.getElementType());
}

RankedTensorType withShape(RankedTensorType type, ArrayRef<Size> shape, Type element) {
  return makeTensorType(shape, element, dyn_cast_or_null<DeviceAttr>(type.getEncoding()));
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

DeviceAttr DeviceAttr::withoutSizes() const { return withSizes({}); }

DeviceAttr DeviceAttr::withSizes(ArrayRef<Size> sizes) const {
  return getSizes() == sizes ? *this : get(getContext(), getKind(), getIndex(), sizes);
}

std::string DeviceAttr::str() const { return isCpu() ? "cpu" : "cuda:" + std::to_string(getIndex()); }

Attribute DeviceAttr::parse(AsmParser &parser, Type) {
  StringRef kind;
  auto loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&kind))
    return {};
  auto symbol = symbolizeDeviceKind(kind);
  if (!symbol) {
    parser.emitError(loc) << "unknown device kind '" << kind << "', expected 'cpu' or 'cuda'";
    return {};
  }
  int64_t index = 0;
  if (succeeded(parser.parseOptionalColon())) {
    if (*symbol == DeviceKind::cpu) {
      parser.emitError(loc, "the device 'cpu' takes no number");
      return {};
    }
    if (parser.parseInteger(index))
      return {};
  } else if (*symbol == DeviceKind::cuda) {
    parser.emitError(loc, "the device 'cuda' needs a number, as in 'cuda:0'");
    return {};
  }
  SmallVector<Size> sizes;
  if (succeeded(parser.parseOptionalComma()) && parseSizeList(parser, sizes))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<DeviceAttr>(loc, parser.getContext(), *symbol, index, sizes);
}

void DeviceAttr::print(AsmPrinter &printer) const {
  printer << "<" << str();
  if (!getSizes().empty())
    printer << ", [" << sizesText(getSizes()) << "]";
  printer << ">";
}

LogicalResult DeviceAttr::verify(function_ref<InFlightDiagnostic()> emitError, DeviceKind kind, int64_t index,
                                 ArrayRef<Size> sizes) {
  if (index < 0 || index > 127)
    return emitError() << "device number " << index << " is not in [0, 127]";
  for (Size size : sizes)
    if (size.isNumber() || !isPolynomial(size))
      return emitError() << "the size of a dynamic dimension is a sum of products of symbols, found "
                         << sizeText(size)
                         << (size.isNumber() ? "; a size that is a number belongs into the shape" : "");
  return success();
}

LogicalResult SymbolAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name, int64_t min,
                                 int64_t max) {
  if (!isSymbolName(name))
    return emitError() << "\"" << name
                       << "\" cannot be a symbol: expected a letter, then letters, digits and underscores";
  if (min < 0 || max < min)
    return emitError() << "the symbol '" << name << "' needs 0 <= min <= max, found " << min << " and "
                       << max;
  return success();
}

Attribute SizeAttr::parse(AsmParser &parser, Type) {
  Size size = 0;
  if (parser.parseLess() || parseSizeText(parser, size) || parser.parseGreater())
    return {};
  return get(parser.getContext(), size);
}

void SizeAttr::print(AsmPrinter &printer) const { printer << "<" << sizeText(getSize()) << ">"; }

Attribute SizesAttr::parse(AsmParser &parser, Type) {
  SmallVector<Size> sizes;
  if (parser.parseLess() || parseSizeList(parser, sizes) || parser.parseGreater())
    return {};
  return get(parser.getContext(), sizes);
}

void SizesAttr::print(AsmPrinter &printer) const { printer << "<[" << sizesText(getSizes()) << "]>"; }

bool holdsSizes(StringRef attribute) {
  constexpr StringRef names[] = {"shape", "start", "limit", "low", "high", "size", "sizes", "count", "grid"};
  return llvm::is_contained(names, attribute);
}

Attribute sizeAttr(MLIRContext *context, Size size) {
  return size.isNumber() ? Attribute(Builder(context).getI64IntegerAttr(size.asNumber()))
                         : Attribute(SizeAttr::get(context, size));
}

std::optional<Size> sizeOfAttr(Attribute attribute) {
  if (auto number = dyn_cast_or_null<IntegerAttr>(attribute))
    return number.getInt();
  if (auto size = dyn_cast_or_null<SizeAttr>(attribute))
    return size.getSize();
  return std::nullopt;
}

Attribute SliceAttr::parse(AsmParser &parser, Type) {
  auto loc = parser.getCurrentLocation();
  StringRef kind;
  Size position, bytes;
  if (parser.parseLess() || parser.parseKeyword(&kind))
    return {};
  auto symbol = symbolizeStorageKind(kind);
  if (!symbol) {
    parser.emitError(loc) << "unknown storage '" << kind << "', expected argument, result, arena or constant";
    return {};
  }
  if (parser.parseComma() || parseSizeText(parser, position) || parser.parseComma() ||
      parseSizeText(parser, bytes) || parser.parseGreater())
    return {};
  return parser.getChecked<SliceAttr>(loc, parser.getContext(), *symbol, position, bytes);
}

void SliceAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyStorageKind(getStorage()) << ", " << sizeText(getPosition()) << ", "
          << sizeText(getBytes()) << ">";
}

LogicalResult SliceAttr::verify(function_ref<InFlightDiagnostic()> emitError, StorageKind, Size position,
                                Size bytes) {
  if (!position.isCount() || !bytes.isCount())
    return emitError() << "a slice needs position and bytes >= 0, found " << sizeText(position) << " and "
                       << sizeText(bytes);
  return success();
}

//===----------------------------------------------------------------------===//
// Traits
//===----------------------------------------------------------------------===//

LogicalResult impl::verifySameDevice(Operation *op) {
  DeviceAttr first = computeDevice(op);
  std::optional<unsigned> firstIndex;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    DeviceAttr device = deviceOf(operand.getType());
    if (!device || (device != first && mayStayOnHost(op, index)))
      continue;
    if (device == first) {
      firstIndex = firstIndex.value_or(index);
      continue;
    }
    auto diag =
        op->emitOpError() << "Expected all tensors to be on the same device, but found at least two devices, "
                          << first.str() << " and " << device.str() << "! (" << "WEFT-P001" << ")";
    auto note = [&](unsigned which, DeviceAttr where) {
      diag.attachNote(op->getOperand(which).getLoc())
          << "operand #" << which << " is on " << where.str() << ", and was made here";
    };
    note(*firstIndex, first);
    note(index, device);
    diag.attachNote(op->getLoc()) << "to fix, move operand #" << index << ": `weft.transfer ... to <"
                                  << first.str() << ">`, or `.to(\"" << first.str() << "\")` in C++";
    return failure();
  }
  return success();
}

LogicalResult impl::verifyElementwiseShape(Operation *op) {
  // Skip the element type of a select's condition, which is i1, and the shape of scalars on the host.
  unsigned elementFrom = isa<SelectOp>(op) ? 1 : 0;
  auto element = getElementTypeOrSelf(op->getOperand(elementFrom).getType());
  std::optional<unsigned> like;
  for (unsigned index = elementFrom; index < op->getNumOperands() && !like; ++index)
    if (!isHostOperand(op, index))
      like = index;
  auto expected = cast<RankedTensorType>(op->getOperand(like.value_or(0)).getType());
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (!isHostOperand(op, index) && sizesOf(type) != sizesOf(expected))
      return op->emitOpError() << "needs operands of one shape, but operand #" << like.value_or(0)
                               << " has shape [" << sizesText(sizesOf(expected)) << "] and operand #" << index
                               << " has shape [" << sizesText(sizesOf(type))
                               << "]; insert weft.broadcast_in_dim";
    if (index >= elementFrom && type.getElementType() != element)
      return op->emitOpError() << "needs operands of one element type, but operand #" << elementFrom << " is "
                               << element << " and operand #" << index << " is " << type.getElementType()
                               << "; insert weft.convert";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// Parses a type and checks it: type inference reads the shapes of operand types before verifiers run.
static ParseResult parseTensorType(OpAsmParser &parser, Type &type) {
  auto loc = parser.getCurrentLocation();
  if (parser.parseType(type))
    return failure();
  if (!isa<RankedTensorType>(type))
    return parser.emitError(loc) << "expected a tensor with a device, found " << type;
  return success();
}

ParseResult parseOperandTypeList(OpAsmParser &parser, ArrayRef<Type *> types) {
  if (parseTensorType(parser, *types[0]))
    return failure();
  if (failed(parser.parseOptionalComma())) {
    for (Type *type : types)
      *type = *types[0];
    return success();
  }
  for (size_t i = 1; i < types.size(); ++i)
    if (parseTensorType(parser, *types[i]) || (i + 1 < types.size() && parser.parseComma()))
      return failure();
  return success();
}

void printOperandTypeList(OpAsmPrinter &printer, ArrayRef<Type> types) {
  if (llvm::all_equal(types)) {
    printer << types[0];
    return;
  }
  llvm::interleaveComma(types, printer);
}

//===----------------------------------------------------------------------===//
// Dialect
//===----------------------------------------------------------------------===//

namespace {
struct WeftAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    auto device = dyn_cast<DeviceAttr>(attr);
    if (!device || !device.getSizes().empty())
      return AliasResult::NoAlias;
    os << (device.isCpu() ? "cpu" : "cuda" + std::to_string(device.getIndex()));
    return AliasResult::FinalAlias;
  }
};

struct WeftInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Operation *, bool) const override { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const override { return true; }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const override { return true; }
  void handleTerminator(Operation *op, ValueRange values) const override {
    for (auto [value, operand] : llvm::zip(values, op->getOperands()))
      value.replaceAllUsesWith(operand);
  }
};
} // namespace

void WeftDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/WeftAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/WeftTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/WeftOps.cpp.inc"
      ,
#define GET_OP_LIST
#include "ir/WeftLoops.cpp.inc"
      >();
  addInterfaces<WeftAsmInterface, WeftInlinerInterface>();
}

Operation *WeftDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  return elements && isWeftTensor(type) ? builder.create<ConstantOp>(loc, type, elements) : nullptr;
}

void registerDialect(DialectRegistry &registry) { registry.insert<WeftDialect>(); }

} // namespace weft::ir
