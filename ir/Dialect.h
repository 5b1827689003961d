//===- Dialect.h - The weft dialect ----------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_DIALECT_H
#define WEFT_IR_DIALECT_H

#include "ir/OpFacts.h"
#include "ir/ScalarEmitter.h"
#include "ir/ScheduleFields.h"
#include "ir/Size.h"
#include "ir/Vjp.h"
#include "ir/interp/Literal.h"
#include "weft/dtype.hpp"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace weft::ir {
/// MLIR uniques attributes and types by this hash: equal sizes have equal representations.
inline llvm::hash_code hash_value(Size size) { return llvm::hash_value(size.raw()); }
} // namespace weft::ir

#include "ir/WeftDialect.h.inc"
#include "ir/WeftEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/WeftAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/WeftTypes.h.inc"

namespace weft::ir {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Whether `type` is a tensor with a supported element type and rank, of fewer than 2^63 bytes, whose
/// encoding is a device with a size for each dynamic dimension.
bool isWeftTensor(mlir::Type type);
/// The device of a tensor type, without sizes, or a null attribute.
DeviceAttr deviceOf(mlir::Type type);
/// The sizes of a tensor's dimensions; use this instead of `getShape`. The list lives as long as the context.
llvm::ArrayRef<Size> sizesOf(mlir::Type tensorType);
inline llvm::ArrayRef<Size> sizesOf(mlir::Value tensor) { return sizesOf(tensor.getType()); }
/// The type of a tensor value.
inline mlir::RankedTensorType typeOf(mlir::Value tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType());
}
/// The product of the sizes.
Size elementsOf(mlir::Type tensorType);
/// The sizes as numbers; empty if one is not a number.
std::optional<llvm::SmallVector<int64_t>> numbersOf(llvm::ArrayRef<Size> sizes);
llvm::SmallVector<Size> toSizes(llvm::ArrayRef<int64_t> numbers);
/// Whether a dimension is not a number.
bool isDynamic(mlir::Type type);
/// A tensor type with these sizes on a device. If a size is inexpressible or a rounded quotient,
/// `isWeftTensor` does not accept the type: a type that is inferred from operands of wrong types is wrong as
/// well, and the verifier reports it.
mlir::RankedTensorType makeTensorType(llvm::ArrayRef<Size> sizes, mlir::Type element, DeviceAttr device);
/// The value of a constant of this type that repeats one element. It is 0-dimensional if the type has dynamic
/// dimensions.
mlir::DenseElementsAttr splatOf(mlir::RankedTensorType type, mlir::Attribute element);
/// The element type for a DType, and the DType for an element type. The unsigned 8-bit integer is `ui8`; all
/// other integers are signless in the type, and signed.
mlir::Type toElementType(mlir::MLIRContext *context, DType dtype);
std::optional<DType> toDType(mlir::Type elementType);
/// The dtype of a tensor that `isWeftTensor` accepts.
DType dtypeOf(mlir::Type tensorType);
/// The bytes of a tensor of this shape with the widest element type, with which the limit on bytes is
/// checked, so that it does not depend on the dtype. A size of 0 counts as 1, so that it hides no overflow.
Size widestBytes(llvm::ArrayRef<Size> shape);
/// The bytes of a tensor in memory, and of one of its elements.
Size bytesOf(mlir::Type tensorType);
int64_t elementBytes(mlir::Type tensorType);
/// A tensor type of the same device and element type, or of another element type.
mlir::RankedTensorType withShape(mlir::RankedTensorType type, llvm::ArrayRef<Size> shape);
mlir::RankedTensorType withShape(mlir::RankedTensorType type, llvm::ArrayRef<Size> shape, mlir::Type element);

/// Names of the attributes of function arguments and results.
namespace attr {
inline constexpr llvm::StringLiteral name = "weft.name", role = "weft.role", donated = "weft.donated",
                                     tied = "weft.tied", queue = "weft.queue",
                                     arenaBytes = "weft.arena_bytes",
                                     arenaLowerBound = "weft.arena_lower_bound", slices = "slices",
                                     noGrad = "weft.no_grad", relu = "weft.relu",
                                     indexName = "weft.index_name", indexDim = "weft.index_dim",
                                     symbols = "weft.symbols";
} // namespace attr

/// Whether the attribute of that name holds a size, or a list of sizes, in every op that has one.
bool holdsSizes(llvm::StringRef attribute);

/// A size as an attribute of a function: an integer, or a `SizeAttr`. sizeOfAttr() reads it, and is empty for
/// other attributes.
mlir::Attribute sizeAttr(mlir::MLIRContext *context, Size size);
std::optional<Size> sizeOfAttr(mlir::Attribute attribute);

/// The ranges of the symbols of the function that `op` is, or is in.
SymbolRanges rangesOf(mlir::Operation *op);

//===----------------------------------------------------------------------===//
// Traits
//===----------------------------------------------------------------------===//

namespace impl {
mlir::LogicalResult verifySameDevice(mlir::Operation *op);
mlir::LogicalResult verifyElementwiseShape(mlir::Operation *op);
} // namespace impl

/// All tensor operands must be on one device; otherwise WEFT-P001 with the locations of both operands.
template <typename ConcreteType>
class SameDevice : public mlir::OpTrait::TraitBase<ConcreteType, SameDevice> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return impl::verifySameDevice(op); }
};

/// All operands must have one shape, and one element type (except the condition of a select).
template <typename ConcreteType>
class ElementwiseShape : public mlir::OpTrait::TraitBase<ConcreteType, ElementwiseShape> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return impl::verifyElementwiseShape(op); }
};

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// `custom<OperandTypes>`: one type if all operands have the same type, otherwise a type for each operand. So
/// text with operands on two devices can be parsed, and the verifier reports the error.
mlir::ParseResult parseOperandTypeList(mlir::OpAsmParser &parser, llvm::ArrayRef<mlir::Type *> types);
void printOperandTypeList(mlir::OpAsmPrinter &printer, llvm::ArrayRef<mlir::Type> types);
template <typename... Types> mlir::ParseResult parseOperandTypes(mlir::OpAsmParser &parser, Types &...types) {
  return parseOperandTypeList(parser, {&types...});
}
template <typename... Types>
void printOperandTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, Types... types) {
  printOperandTypeList(printer, {mlir::Type(types)...});
}

/// `784 * batch + 1`, `ceildiv(batch, 4)`, or a number.
mlir::ParseResult parseSizeText(mlir::AsmParser &parser, Size &size);
/// `[4, 784 * batch]`.
mlir::ParseResult parseSizeList(mlir::AsmParser &parser, llvm::SmallVectorImpl<Size> &sizes);
/// `custom<Size>` and `custom<Sizes>`: an attribute that is a size, or a list of them in brackets.
mlir::ParseResult parseSize(mlir::OpAsmParser &parser, SizeAttr &size);
void printSize(mlir::OpAsmPrinter &printer, mlir::Operation *, SizeAttr size);
mlir::ParseResult parseSizes(mlir::OpAsmParser &parser, SizesAttr &sizes);
void printSizes(mlir::OpAsmPrinter &printer, mlir::Operation *, SizesAttr sizes);

/// Registers the dialect and the only other one that its text may use, `builtin`. Untrusted text cannot
/// contain anything else.
void registerDialect(mlir::DialectRegistry &registry);

} // namespace weft::ir

#include "ir/WeftInterfaces.h.inc"

#define GET_OP_CLASSES
#include "ir/WeftOps.h.inc"

#endif // WEFT_IR_DIALECT_H
