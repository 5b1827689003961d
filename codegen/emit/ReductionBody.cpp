//===- ReductionBody.cpp - The body of a reduction kernel -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/ReductionBody.h"

using namespace mlir;
namespace weft::codegen {

ReductionBody::ReductionBody(ir::FusionOp fusion, unsigned firstDim, unsigned rowDims, int64_t lanes)
    : space(ir::rangesOf(fusion)), graph(fusion, space) {
  SmallVector<ir::Size> domain = fusion.getDomain();
  outer = ir::productOf(ArrayRef(domain).take_front(firstDim));
  rows = ir::productOf(ArrayRef(domain).slice(firstDim, rowDims));
  columns = ir::productOf(ArrayRef(domain).drop_front(firstDim + rowDims));
  space.lanes = lanes;
  matrix = space.addLoop(outer - 1);
  row = space.addLoop(rows - 1);
  column = space.addLoop(columns - 1, lanes);
  inRow = space.expr(column);
  inRow.lane = lanes > 1 ? 1 : 0;
}

void ReductionBody::requestAll() {
  Block &body = graph.fusion.getBody().front();
  for (Operation &op : body.without_terminator())
    if (ir::isReductionOp(&op)) {
      operands.push_back(graph.request(op.getOperand(0), whole));
      auto &nodes = results.emplace_back();
      for (unsigned i = 0; i < (isa<ir::WelfordOp>(op) ? 2u : 1u); ++i)
        nodes.push_back(graph.request(op.getResult(i), kept));
    }
  SmallVector<ir::Size> domain = graph.fusion.getDomain();
  for (Value value : body.getTerminator()->getOperands()) {
    ofDomain.push_back(ir::sizesOf(cast<RankedTensorType>(value.getType())) == ArrayRef(domain));
    roots.push_back(graph.request(value, ofDomain.back() ? whole : kept));
  }
}

ColumnBody::ColumnBody(ir::FusionOp fusion, const ir::ColumnShape &shape, int64_t lanes)
    : ReductionBody(fusion, shape.dim, shape.dims, lanes) {
  auto innerDims = static_cast<unsigned>(fusion.getDomain().size()) - shape.dim - shape.dims;
  if (shape.dim > 0)
    kept.groups.push_back({shape.dim, outer, outer != 1 ? space.expr(matrix) : IndexExpr()});
  whole = kept;
  whole.groups.push_back({shape.dims, rows, space.expr(row)});
  // Without inner dimensions there is one column.
  if (innerDims) {
    IndexExpr at = columns != 1 ? inRow : IndexExpr();
    kept.groups.push_back({innerDims, columns, at});
    whole.groups.push_back({innerDims, columns, at});
  }
  address = linearIndex(space, whole);
  keptAddress = linearIndex(space, kept);
  graph.setKeptIndex(keptAddress);
  requestAll();
}

static unsigned keptDims(ir::FusionOp fusion) {
  return static_cast<unsigned>(fusion.getDomain().size()) - fusion.getNumReducedDims();
}

RowBody::RowBody(ir::FusionOp fusion, int64_t lanes) : ReductionBody(fusion, 0, keptDims(fusion), lanes) {
  IndexExpr rowExpr = rows != 1 && rows != 0 ? space.expr(row) : IndexExpr();
  graph.setKeptIndex(rowExpr);
  if (unsigned dims = keptDims(fusion))
    kept.groups.push_back({dims, rows, rowExpr});
  whole = kept;
  whole.groups.push_back({fusion.getNumReducedDims(), columns, inRow});
  address = linearIndex(space, whole);
  keptAddress = rowExpr;
  requestAll();
}

} // namespace weft::codegen
