#include "ir/Dialect.h"
#include "ir/ops/Common.h"
using namespace mlir;
namespace weft::ir {
LogicalResult CopyIntoOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult CopyIntoOp::verify() { return failure(); }
LogicalResult CopyIntoOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult CopyIntoOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr,
                                           OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) {
  return failure();
}
OpFoldResult CopyIntoOp::fold(FoldAdaptor) { return {}; }
LogicalResult AliasOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult AliasOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult AliasOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr,
                                        OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) {
  return failure();
}
LogicalResult ToHostScalarOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) {
  return failure();
}
LogicalResult ToHostScalarOp::verify() { return failure(); }
LogicalResult ToHostScalarOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange,
                                               DictionaryAttr, OpaqueProperties, RegionRange,
                                               SmallVectorImpl<Type> &) {
  return failure();
}
std::pair<StringRef, StringRef> ToHostScalarOp::whyNotCapturable() { return {}; }
LogicalResult PrintOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
std::pair<StringRef, StringRef> PrintOp::whyNotCapturable() { return {}; }
LogicalResult AssertOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult TokenOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult BarrierOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult EventRecordOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) {
  return failure();
}
LogicalResult EventWaitOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) {
  return failure();
}
LogicalResult StreamForkOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) {
  return failure();
}
LogicalResult StreamForkOp::verify() { return failure(); }
LogicalResult StreamJoinOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) {
  return failure();
}
} // namespace weft::ir
