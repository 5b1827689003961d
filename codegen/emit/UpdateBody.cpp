//===- UpdateBody.cpp -----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/UpdateBody.h"

#include "codegen/emit/Reducer.h"
#include "ir/Updates.h"

using namespace mlir;
namespace weft::codegen {

static ir::ScatterKind kindOf(Operation *update) {
  if (auto scatter = dyn_cast<ir::ScatterOp>(update))
    return scatter.getKind();
  return cast<ir::IndexUpdateOp>(update).getAccumulate() ? ir::ScatterKind::add : ir::ScatterKind::set;
}

UpdateBody::UpdateBody(ir::FusionOp fusion, const ir::UpdateTiles &tiles, int64_t lanes)
    : space(ir::rangesOf(fusion)), graph(fusion, space) {
  Operation *update = ir::updateIn(fusion);
  auto dim = static_cast<unsigned>(ir::indexedDim(update));
  ArrayRef<ir::Size> base = ir::sizesOf(update->getOperand(0)), written = ir::sizesOf(ir::updateOf(update)),
                     shape = ir::sizesOf(ir::indexOperandOf(update).get());
  bool isScatter = isa<ir::ScatterOp>(update);
  kind = kindOf(update);
  element = getElementTypeOrSelf(update->getOperand(0).getType());
  space.lanes = lanes;
  outer = space.addLoop(tiles.outer - 1);
  position = space.addLoop(tiles.count - 1);
  column = space.addLoop(tiles.inner - 1);
  IndexExpr at = space.expr(column);
  at.lane = lanes > 1 ? 1 : 0;
  auto push = [&](TensorIndex &index, unsigned dims, ir::Size size, const IndexExpr &expr) {
    if (dims)
      index.groups.push_back({dims, size, expr});
  };
  auto rank = static_cast<unsigned>(base.size()),
       along = isScatter ? 1u : static_cast<unsigned>(shape.size());
  TensorIndex write, which;
  push(write, dim, tiles.outer, space.expr(outer));
  push(write, along, tiles.count, space.expr(position));
  push(write, rank - dim - 1, tiles.inner, at);
  if (isScatter)
    which = write;
  else
    push(which, along, tiles.count, space.expr(position));
  index = graph.chosenIndex(update, which);
  IndexExpr chosen = space.expr(space.addGathered(index, tiles.size, /*perLane=*/false));
  if (!isScatter) {
    IndexExpr row = space.linear(space.expr(outer), tiles.size, chosen);
    address = space.linear(row, tiles.inner, at);
  } else {
    // The index tensor may be smaller than base and update, so do not merge dimensions into one group.
    TensorIndex source;
    for (unsigned d = 0; d < rank; ++d) {
      IndexExpr own = rangeIndex(space, write, shape, d, d + 1);
      address = space.linear(address, base[d], d == dim ? chosen : own);
      source.groups.push_back({1, written[d], own});
    }
    if (written != shape)
      write = source;
  }
  value = graph.request(ir::updateOf(update), write);
  status = graph.expand();
}

static Value combine(KernelBuilder &kernel, ir::ScatterKind kind, Value before, Value value,
                     bool isUnsigned) {
  Type type = before.getType(), element = getElementTypeOrSelf(type);
  if (element.isF16() || element.isBF16()) {
    Type wide = ir::withElement(type, kernel.builder.getF32Type());
    before = kernel.create<arith::ExtFOp>(wide, before);
    value = kernel.create<arith::ExtFOp>(wide, value);
    return kernel.create<arith::TruncFOp>(type, combine(kernel, kind, before, value, isUnsigned));
  }
  return combineValues(kernel,
                       kind == ir::ScatterKind::add   ? Combiner::add
                       : kind == ir::ScatterKind::mul ? Combiner::mul
                       : kind == ir::ScatterKind::max ? Combiner::max
                                                      : Combiner::min,
                       before, value, isUnsigned);
}

Value UpdateBody::combined(KernelBuilder &kernel, Value before, Value written) const {
  return kind == ir::ScatterKind::set ? written
                                      : combine(kernel, kind, before, written, element.isUnsignedInteger());
}

void UpdateBody::write(KernelBuilder &kernel, BodyEmitter &emitter, Value written) {
  Value buffer = kernel.result(0);
  if (kind != ir::ScatterKind::set)
    written = combined(kernel, emitter.load(buffer, address, element), written);
  emitter.store(buffer, address, written);
}

Value takePart(KernelBuilder &kernel, Value &task, int64_t parts) {
  if (parts == 1)
    return kernel.index(0);
  Value part = kernel.create<arith::RemUIOp>(task, kernel.index(parts));
  task = kernel.create<arith::DivUIOp>(task, kernel.index(parts));
  return part;
}

} // namespace weft::codegen
