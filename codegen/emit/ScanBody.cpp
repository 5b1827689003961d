//===- ScanBody.cpp -------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/ScanBody.h"

#include "codegen/emit/Reducer.h"

using namespace mlir;
namespace weft::codegen {

ScanBody::ScanBody(ir::FusionOp fusion, const ir::ScanShape &shape, bool alongLine, int64_t lanes)
    : space(ir::rangesOf(fusion)), graph(fusion, space) {
  SmallVector<ir::Size> domain = fusion.getDomain();
  auto rank = static_cast<unsigned>(domain.size());
  space.lanes = lanes;
  outer = space.addLoop(shape.outer - 1);
  step = space.addLoop(shape.extent - 1);
  column = space.addLoop(shape.inner - 1);
  IndexExpr at = space.expr(step), in = space.expr(column);
  (alongLine ? at : in).lane = lanes > 1 ? 1 : 0;
  TensorIndex index;
  if (shape.dim > 0)
    index.groups.push_back({shape.dim, shape.outer, shape.outer != 1 ? space.expr(outer) : IndexExpr()});
  index.groups.push_back({1, shape.extent, at});
  if (shape.dim + 1 < rank)
    index.groups.push_back({rank - shape.dim - 1, shape.inner, alongLine ? IndexExpr() : in});
  address = linearIndex(space, index);
  graph.setKeptIndex(address);
  Block &body = fusion.getBody().front();
  for (Operation &op : body.without_terminator())
    if (ir::isScanOp(&op)) {
      scan = &op;
      reverse = op.hasAttr("reverse");
      exclusive = op.hasAttr("exclusive");
      isUnsigned = getElementTypeOrSelf(op.getOperand(0).getType()).isUnsignedInteger();
      element = ir::toScalarType(getElementTypeOrSelf(op.getOperand(0).getType()));
      accumulator = ir::accumulatorType(getElementTypeOrSelf(op.getOperand(0).getType()));
      operand = graph.request(op.getOperand(0), index);
      result = graph.request(op.getResult(0), index);
    }
  for (Value value : body.getTerminator()->getOperands())
    roots.push_back(graph.request(value, index));
  status = graph.expand();
}

Attribute ScanBody::identityOf() const {
  if (isa<ir::CummaxOp, ir::CumminOp>(scan))
    return extremeIdentity(accumulator, isa<ir::CummaxOp>(scan), isUnsigned);
  const int64_t number = isa<ir::CumprodOp>(scan) ? 1 : 0;
  if (isa<FloatType>(accumulator))
    return FloatAttr::get(accumulator, static_cast<double>(number));
  return IntegerAttr::get(accumulator, number);
}

Value ScanBody::identity(KernelBuilder &kernel, int64_t width) const {
  Attribute value = identityOf();
  auto attr = cast<TypedAttr>(value);
  if (width > 1)
    attr = DenseElementsAttr::get(VectorType::get({width}, accumulator), value);
  return kernel.create<arith::ConstantOp>(attr);
}

Value ScanBody::combine(KernelBuilder &kernel, Value a, Value b) const {
  const Combiner combiner = isa<ir::CumprodOp>(scan)  ? Combiner::mul
                            : isa<ir::CummaxOp>(scan) ? Combiner::max
                            : isa<ir::CumminOp>(scan) ? Combiner::min
                                                      : Combiner::add;
  return combineValues(kernel, combiner, a, b, isUnsigned);
}

Value ScanBody::elementOf(KernelBuilder &kernel, BodyEmitter &emitter) const {
  Value value = emitter.emitVector(operand);
  if (element != accumulator)
    value = kernel.create<arith::ExtFOp>(ir::withElement(value.getType(), accumulator), value);
  return value;
}

void ScanBody::finish(KernelBuilder &kernel, BodyEmitter &emitter, Value value) const {
  if (element != accumulator)
    value = kernel.create<arith::TruncFOp>(ir::withElement(value.getType(), element), value);
  emitter.setNode(result, value);
  // Compute all values before the first store, because an operand may share its buffer with a result.
  SmallVector<Value> values;
  for (int root : roots)
    values.push_back(emitter.emit(root));
  for (auto [i, root] : llvm::enumerate(values))
    emitter.store(kernel.result(static_cast<unsigned>(i)), address, root);
}

} // namespace weft::codegen
