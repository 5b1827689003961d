#include "ir/Dialect.h"
#include "ir/ops/Common.h"
using namespace mlir;
namespace weft::ir {
LogicalResult UndefOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult UndefOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult ConcatOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult ConcatOp::verify() { return failure(); }
LogicalResult ConcatOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr, OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) { return failure(); }
OpFoldResult ConcatOp::fold(FoldAdaptor) { return {}; }
LogicalResult ReverseOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult ReverseOp::verify() { return failure(); }
LogicalResult ReverseOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult ReverseOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr, OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) { return failure(); }
OpFoldResult ReverseOp::fold(FoldAdaptor) { return {}; }
LogicalResult DynamicSliceOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult DynamicSliceOp::verify() { return failure(); }
LogicalResult DynamicSliceOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult DynamicSliceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr, OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) { return failure(); }
LogicalResult DynamicUpdateSliceOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult DynamicUpdateSliceOp::verify() { return failure(); }
LogicalResult DynamicUpdateSliceOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult DynamicUpdateSliceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr, OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) { return failure(); }
LogicalResult BitcastOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult BitcastOp::verify() { return failure(); }
LogicalResult BitcastOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult BitcastOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr, OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) { return failure(); }
OpFoldResult BitcastOp::fold(FoldAdaptor) { return {}; }
LogicalResult ScatterOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult ScatterOp::verify() { return failure(); }
LogicalResult ScatterOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult ScatterOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr, OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) { return failure(); }
LogicalResult IndexUpdateOp::interpret(ArrayRef<const Literal *>, MutableArrayRef<Literal>) { return failure(); }
LogicalResult IndexUpdateOp::verify() { return failure(); }
LogicalResult IndexUpdateOp::buildVjp(VjpBuilder &) { return failure(); }
LogicalResult IndexUpdateOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange, DictionaryAttr, OpaqueProperties, RegionRange, SmallVectorImpl<Type> &) { return failure(); }
}
