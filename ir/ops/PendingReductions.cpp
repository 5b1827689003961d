#include "ir/Dialect.h"
#include "ir/ops/Common.h"
using namespace mlir;
namespace weft::ir {
LogicalResult ProdOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult ProdOp::verify() { return failure(); }
LogicalResult ProdOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult ProdOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr,
                                       OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) {
  return failure();
}
LogicalResult AnyOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult AnyOp::verify() { return failure(); }
LogicalResult AnyOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult AnyOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr,
                                      OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) {
  return failure();
}
LogicalResult ArgminOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult ArgminOp::verify() { return failure(); }
LogicalResult ArgminOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult ArgminOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr,
                                         OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) {
  return failure();
}
LogicalResult WelfordOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult WelfordOp::verify() { return failure(); }
LogicalResult WelfordOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult WelfordOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr,
                                          OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) {
  return failure();
}
LogicalResult CumsumOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult CumsumOp::verify() { return failure(); }
LogicalResult CumsumOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult CumsumOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr,
                                         OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) {
  return failure();
}
LogicalResult CumprodOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult CumprodOp::verify() { return failure(); }
LogicalResult CumprodOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult CumprodOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr,
                                          OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) {
  return failure();
}
LogicalResult LayerNormOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) {
  return failure();
}
LogicalResult LayerNormOp::verify() { return failure(); }
LogicalResult LayerNormOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange,
                                            DictionaryAttr, OpaqueProperties, RegionRange,
                                            SmallVectorImpl<Type> &) {
  return failure();
}
SmallVector<Value> LayerNormOp::decompose(OpBuilder &) { return {}; }
LogicalResult DropoutOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult DropoutOp::verify() { return failure(); }
LogicalResult DropoutOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult DropoutOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr,
                                          OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) {
  return failure();
}
SmallVector<Value> DropoutOp::decompose(OpBuilder &) { return {}; }
} // namespace weft::ir
