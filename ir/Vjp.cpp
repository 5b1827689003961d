//===- Vjp.cpp ------------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"

using namespace mlir;
namespace weft::ir {

Sym operator+(Sym a, Sym b) { return a.vjp->binary<AddOp>(a, b); }
Sym operator-(Sym a, Sym b) { return a.vjp->binary<SubOp>(a, b); }
Sym operator*(Sym a, Sym b) { return a.vjp->binary<MulOp>(a, b); }
Sym operator/(Sym a, Sym b) { return a.vjp->binary<DivOp>(a, b); }
Sym operator-(Sym a) { return a.vjp->unary<NegOp>(a); }
Sym operator+(Sym a, double b) { return a + a.vjp->like(a, b); }
Sym operator-(Sym a, double b) { return a - a.vjp->like(a, b); }
Sym operator-(double a, Sym b) { return b.vjp->like(b, a) - b; }
Sym operator*(Sym a, double b) { return a * a.vjp->like(a, b); }

VjpBuilder::VjpBuilder(OpBuilder &builder, Operation *op, ArrayRef<Value> cotangents, ArrayRef<bool> needs)
    : builder(builder), op(op), loc(op->getLoc()), cotangents(cotangents), gradients(op->getNumOperands()),
      needed(needs) {}

Sym VjpBuilder::cotangent(unsigned i) {
  if (!cotangents[i])
    cotangents[i] = like(result(i), 0.0).value;
  return {cotangents[i], this};
}

void VjpBuilder::set(unsigned i, Sym cotangent) { gradients[i] = cotangent.value; }

Sym VjpBuilder::select(Sym condition, Sym a, Sym b) {
  return make<SelectOp>(condition.value, a.value, b.value);
}

Sym VjpBuilder::like(Sym a, double value) {
  auto type = a.type();
  Attribute element;
  if (isa<FloatType>(type.getElementType()))
    element = builder.getFloatAttr(type.getElementType(), value);
  else
    element = builder.getIntegerAttr(type.getElementType(), static_cast<int64_t>(value));
  return make<ConstantOp>(type, splatOf(type, element));
}

Sym VjpBuilder::convert(Sym a, Type element) {
  return a.type().getElementType() == element ? a : make<ConvertOp>(a.value, element);
}

Sym VjpBuilder::sum(Sym a, ArrayRef<int64_t> dims) { return dims.empty() ? a : make<SumOp>(a.value, dims); }

Sym VjpBuilder::reshape(Sym a, ArrayRef<Size> shape) {
  return sizesOf(a.type()) == shape ? a : make<ReshapeOp>(a.value, shape);
}

Sym VjpBuilder::checkedIndex(Sym index, Size size, StringRef name, int64_t dim) {
  // A gather from 0, 1, .. by the index gives the index itself, and checks that it is in range.
  Sym table = make<IotaOp>(withShape(index.type(), {size}), 0);
  Sym checked = make<GatherOp>(table.value, index.value, 0, GatherKind::points);
  Operation *gather = checked.value.getDefiningOp();
  if (!name.empty())
    gather->setAttr(attr::indexName, builder.getStringAttr(name));
  else if (dim != 0)
    gather->setAttr(attr::indexDim, builder.getI64IntegerAttr(dim));
  return checked;
}

Sym VjpBuilder::broadcastBack(Sym a, ArrayRef<int64_t> dims, ArrayRef<Size> shape) {
  SmallVector<int64_t> kept;
  for (int64_t i = 0, e = static_cast<int64_t>(shape.size()); i < e; ++i)
    if (!llvm::is_contained(dims, i))
      kept.push_back(i);
  return make<BroadcastInDimOp>(a.value, kept, shape);
}

} // namespace weft::ir
