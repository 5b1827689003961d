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

RowBody::RowBody(ir::FusionOp fusion, int64_t lanes)
    : ReductionBody(fusion, 0, keptDims(fusion), lanes), shape(ir::rowShape(fusion)) {
  if (shape.isInPieces()) {
    rows = shape.rows;
    columns = shape.length;
    row = space.addLoop(rows - 1);
    // Whole blocks of partial results lie in a piece, so a loop over pieces adds in the order of one row.
    const bool loops = shape.piece.asNumber() % ir::rowPartials == 0;
    column = space.addLoop((loops ? shape.piece : columns) - 1, lanes);
    inRow = space.expr(column);
    inRow.lane = lanes > 1 ? 1 : 0;
    if (loops) {
      piece = space.addLoop(shape.pieces - 1);
      inRow = add(space.expr(piece, shape.piece), inRow);
    }
  }
  IndexExpr rowExpr = rows != 1 && rows != 0 ? space.expr(row) : IndexExpr();
  graph.setKeptIndex(rowExpr);
  if (unsigned dims = keptDims(fusion))
    kept.groups.push_back({dims, rows, rowExpr});
  if (shape.isInPieces()) {
    whole = indexInPieces(rowExpr);
  } else {
    whole = kept;
    whole.groups.push_back({fusion.getNumReducedDims(), columns, inRow});
  }
  address = linearIndex(space, whole);
  keptAddress = rowExpr;
  requestAll();
}

TensorIndex RowBody::indexInPieces(const IndexExpr &rowExpr) {
  SmallVector<ir::Size> domain = graph.fusion.getDomain();
  IndexExpr pieceExpr, last = inRow;
  if (hasPieceLoop()) {
    pieceExpr = space.expr(piece);
    last = space.expr(column);
    last.lane = inRow.lane;
  } else {
    pieceExpr = space.divide(inRow, shape.piece);
    last = space.modulo(inRow, shape.piece);
  }
  // From the last dimension to the first: what is left of the numbers of the row and of the piece.
  IndexExpr ofKept = rowExpr, ofPieces = pieceExpr;
  ir::Size keptLeft = shape.rows, piecesLeft = shape.pieces;
  TensorIndex index;
  auto isReduced = [&](unsigned dim) { return llvm::is_contained(shape.reduced, static_cast<int64_t>(dim)); };
  for (auto end = static_cast<unsigned>(domain.size()); end > 0;) {
    unsigned begin = end - 1;
    const bool reduced = isReduced(begin), isLast = end == domain.size();
    while (begin > 0 && isReduced(begin - 1) == reduced)
      --begin;
    const ir::Size size = ir::productOf(ArrayRef(domain).slice(begin, end - begin));
    IndexExpr &left = reduced ? ofPieces : ofKept;
    ir::Size &count = reduced ? piecesLeft : keptLeft;
    IndexExpr expr = last;
    if (!isLast) {
      const bool isAll = count == size;
      expr = isAll ? left : space.modulo(left, size);
      left = isAll ? IndexExpr() : space.divide(left, size);
      count = ir::divide(count, size).value_or(ir::Size::inexpressible());
    }
    index.groups.insert(index.groups.begin(), {end - begin, size, expr});
    end = begin;
  }
  return index;
}

} // namespace weft::codegen
