//===- EmitTransposed.cpp - Elementwise kernels with transposed operands --===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operand that is contiguous along another dimension of the domain than the result is read in square tiles
// of one vector a side: loaded along its own dimension, transposed in registers, and put into scratch as the
// vectors that the result's rows need. Every cache line of both sides is used whole.
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/EmitKernel.h"
#include "codegen/emit/Loops.h"

#include "ir/Schedule.h"

using namespace mlir;
namespace weft::codegen {

namespace {

/// The body over the domain with one variable for the tile's rows, one for its columns, one for all else.
struct TileBody {
  TileBody(ir::FusionOp fusion, unsigned rowDim, unsigned columnDim, int64_t lanes)
      : space(ir::rangesOf(fusion)), graph(fusion, space) {
    // Only domains of numbers are cut in tiles.
    SmallVector<int64_t> domain = *ir::numbersOf(fusion.getDomain());
    space.lanes = lanes;
    int64_t others = ir::productOf(fusion.getDomain()).asNumber() / (domain[rowDim] * domain[columnDim]);
    outer = space.addLoop(others - 1);
    row = space.addLoop(domain[rowDim] - 1);
    column = space.addLoop(domain[columnDim] - 1);
    TensorIndex index;
    int64_t inside = others;
    for (auto [d, size] : llvm::enumerate(domain)) {
      IndexExpr at;
      if (d == rowDim) {
        at = space.expr(row);
      } else if (d == columnDim) {
        at = space.expr(column);
        at.lane = lanes > 1 ? 1 : 0;
      } else if (size > 1) {
        inside /= size;
        at = space.modulo(space.divide(space.expr(outer), inside), size);
      }
      index.groups.push_back({1, size, at});
    }
    address = linearIndex(space, index);
    for (Value value : fusion.getBody().front().getTerminator()->getOperands())
      roots.push_back(graph.request(value, index));
    status = graph.expand();
  }

  /// Whether an index, or what it is computed from, changes inside of a tile.
  bool movesInside(const IndexExpr &e) {
    return llvm::any_of(e.terms, [&](const auto &term) { return movesInside(term.first); });
  }
  bool movesInside(VarId id) {
    const IndexVar &var = space.var(id);
    if (var.kind == IndexVar::loop)
      return id == row || id == column;
    return var.kind == IndexVar::gathered ? nodeMovesInside(var.node) : movesInside(var.of);
  }
  bool nodeMovesInside(int id) {
    const BodyNode &node = graph.node(id);
    return movesInside(node.expr) || llvm::any_of(node.deps, [&](int dep) { return nodeMovesInside(dep); });
  }
  /// Whether a load moves by one element with the row, and by the same stride with lanes and columns.
  bool isTransposed(const BodyNode &node) {
    if (node.kind != BodyNode::load || node.expr.lane.number().value_or(0) <= 1 ||
        coefficientOf(node.expr, row) != 1 || coefficientOf(node.expr, column) != node.expr.lane ||
        space.isPerLane(node.expr))
      return false;
    return llvm::none_of(node.expr.terms, [&](const auto &term) {
      return term.first != row && term.first != column && movesInside(term.first);
    });
  }

  IndexSpace space;
  BodyGraph graph;
  VarId outer, row, column;
  IndexExpr address;
  SmallVector<int> roots;
  Status status;
};

/// The vectors of a square, transposed: at each step pairs of vectors exchange the halves of their blocks.
void transpose(KernelBuilder &kernel, SmallVectorImpl<Value> &rows) {
  auto width = static_cast<int64_t>(rows.size());
  for (int64_t d = width / 2; d >= 1; d /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t c = 0; c < width; ++c) {
      low.push_back(c & d ? width + c - d : c);
      high.push_back(c & d ? width + c : c + d);
    }
    for (int64_t i = 0; i < width; ++i) {
      if (i & d)
        continue;
      Value a = rows[i], b = rows[i + d];
      rows[i] = kernel.create<vector::ShuffleOp>(a, b, low);
      rows[i + d] = kernel.create<vector::ShuffleOp>(a, b, high);
    }
  }
}

} // namespace

Status detail::emitTransposed(KernelBuilder &kernel) {
  ir::FusionOp fusion = kernel.fusion;
  ir::ScheduleAttr schedule = *fusion.getSchedule();
  SmallVector<ir::Size> domain = fusion.getDomain();
  auto rowDim = static_cast<unsigned>(schedule.number(ir::ScheduleField::tileDim));
  unsigned columnDim = *ir::innermostDim(domain);
  int64_t lanes = schedule.getVector(), height = domain[rowDim].asNumber(),
          width = domain[columnDim].asNumber();
  int64_t tileRows = schedule.number(ir::ScheduleField::tileRows),
          tileColumns = schedule.number(ir::ScheduleField::tileColumns);
  TileBody vectors(fusion, rowDim, columnDim, lanes), scalars(fusion, rowDim, columnDim, 1);
  for (Status *status : {&vectors.status, &scalars.status})
    if (!status->ok())
      return *status;

  // Operands to be transposed: one step of the row is one element, one of the column is a stride.
  SmallVector<int> transposed;
  for (int id : vectors.graph.ordered(vectors.roots)) {
    if (static_cast<int64_t>(transposed.size()) < schedule.number(ir::ScheduleField::squares) &&
        vectors.isTransposed(vectors.graph.node(id)))
      transposed.push_back(id);
  }
  SmallVector<Value> squares;
  int64_t offset = 0;
  for (int id : transposed) {
    Type memory = KernelBuilder::memoryType(getElementTypeOrSelf(vectors.graph.node(id).value.getType()));
    squares.push_back(kernel.scratchView(offset, lanes * lanes, memory));
    offset += lanes * lanes * (memory.getIntOrFloatBitWidth() / 8);
  }

  bool exactRows = height % lanes == 0, exactColumns = width % lanes == 0;
  bool streaming = schedule.getStreaming() && exactColumns;
  auto emit = [&](ArrayRef<Value> streams) {
    BodyEmitter vector(kernel, vectors.graph), scalar(kernel, scalars.graph);
    auto store = [&](TileBody &body, BodyEmitter &emitter) {
      SmallVector<Value> values;
      for (int root : body.roots)
        values.push_back(emitter.emit(root));
      for (auto [i, value] : llvm::enumerate(values)) {
        bool stream = body.address.lane != 0 && !streams.empty() && streams[i];
        emitter.store(stream ? streams[i] : kernel.result(static_cast<unsigned>(i)), body.address, value,
                      stream);
      }
    };
    auto square = [&](Value row, Value column) {
      kernel.pushScope(nullptr);
      vector.setVar(vectors.row, row);
      vector.setVar(vectors.column, column);
      for (auto [id, buffer] : llvm::zip(transposed, squares)) {
        const BodyNode &node = vectors.graph.node(id);
        Type memory = cast<MemRefType>(buffer.getType()).getElementType();
        for (int dep : node.deps) // where a window begins
          vector.emit(dep);
        SmallVector<Value> lines;
        for (int64_t j = 0; j < lanes; ++j) {
          IndexExpr line = node.expr;
          line.constant += j * line.lane;
          line.lane = 1;
          lines.push_back(vector.load(kernel.operand(node.argument), line, memory));
        }
        transpose(kernel, lines);
        for (auto [j, line] : llvm::enumerate(lines))
          kernel.create<vector::StoreOp>(line, buffer,
                                         ValueRange{kernel.index(static_cast<int64_t>(j) * lanes)});
      }
      kernel.popScope();
      vector.setVar(vectors.column, column);
      kernel.forLoop(kernel.index(0), kernel.index(lanes), 1, [&](Value k) {
        vector.setVar(vectors.row, kernel.add(row, k));
        for (auto [id, buffer] : llvm::zip(transposed, squares)) {
          Type element = getElementTypeOrSelf(vectors.graph.node(id).value.getType());
          vector.setNode(id, vector.loadVector(buffer, kernel.mul(k, lanes), element));
        }
        store(vectors, vector);
      });
    };
    auto single = [&](Value rowFrom, Value rowTo, Value columnFrom, Value columnTo) {
      kernel.forLoop(rowFrom, rowTo, 1, [&](Value row) {
        scalar.setVar(scalars.row, row);
        kernel.forLoop(columnFrom, columnTo, 1, [&](Value column) {
          scalar.setVar(scalars.column, column);
          store(scalars, scalar);
        });
      });
    };
    auto wholeTiles = [&](Value from, Value to, bool exact) -> Value {
      if (exact)
        return to;
      Value rest = kernel.create<arith::RemUIOp>(kernel.create<arith::SubIOp>(to, from), kernel.index(lanes));
      return kernel.create<arith::SubIOp>(to, rest);
    };
    ir::Size rowBlocks = ir::ceilDiv(height, tileRows), columnBlocks = ir::ceilDiv(width, tileColumns);
    kernel.forLoop(kernel.begin, kernel.end, 1, [&](Value task) {
      Value columnBlock = kernel.create<arith::RemUIOp>(task, kernel.index(columnBlocks));
      Value rest = kernel.create<arith::DivUIOp>(task, kernel.index(columnBlocks));
      Value rowBlock = kernel.create<arith::RemUIOp>(rest, kernel.index(rowBlocks));
      Value outer = kernel.create<arith::DivUIOp>(rest, kernel.index(rowBlocks));
      vector.setVar(vectors.outer, outer);
      scalar.setVar(scalars.outer, outer);
      Value rowFrom = kernel.mul(rowBlock, tileRows);
      Value rowTo = kernel.minimum(kernel.addIndex(rowFrom, tileRows), kernel.index(height));
      Value columnFrom = kernel.mul(columnBlock, tileColumns);
      Value columnTo = kernel.minimum(kernel.addIndex(columnFrom, tileColumns), kernel.index(width));
      Value rowMiddle = wholeTiles(rowFrom, rowTo, exactRows);
      Value columnMiddle = wholeTiles(columnFrom, columnTo, exactColumns);
      // Down the rows inside, which is along the transposed operand: its lines come as streams.
      kernel.forLoop(columnFrom, columnMiddle, lanes, [&](Value column) {
        kernel.forLoop(rowFrom, rowMiddle, lanes, [&](Value row) { square(row, column); });
      });
      if (!exactColumns)
        single(rowFrom, rowMiddle, columnMiddle, columnTo);
      if (!exactRows)
        single(rowMiddle, rowTo, columnFrom, columnTo);
    });
  };
  emitWithStreams(kernel, streaming, lanes, emit);
  return {};
}

} // namespace weft::codegen
