//===- EmitTransposed.cpp - Elementwise kernels with transposed operands --===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operand may be contiguous along another dimension of the domain than the result. It is then read in
// squares whose side is one vector: the kernel loads vectors along the operand's contiguous dimension,
// transposes them in registers, and stores them to scratch as vectors along the result's rows. So all bytes
// of each cache line of operand and result are used.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/skeletons/CpuSkeletons.h"
#include "codegen/emit/KernelBuilder.h"
#include "codegen/emit/TransposedBody.h"

#include "ir/Schedule.h"

using namespace mlir;
namespace weft::codegen {

namespace {

/// The body over the domain, with one variable for the tile's rows, one for its columns, and one for all
/// other dimensions.
struct TileBody : TransposedBody {
  TileBody(ir::FusionOp fusion, unsigned rowDim, unsigned columnDim, int64_t lanes)
      : TransposedBody(fusion, lanes) {
    // Only static domains are tiled.
    SmallVector<int64_t> domain = *ir::numbersOf(fusion.getDomain());
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
    requestAll(index);
  }

  VarId outer;
};

class TransposedEmitter {
public:
  explicit TransposedEmitter(KernelBuilder &kernel);
  Status emit();

private:
  /// Emits all tasks; stores to results in `streams` bypass the caches.
  void emitTasks(ArrayRef<Value> streams);
  /// Emits the square whose first element is at `row` and `column`.
  void emitSquare(Value row, Value column);
  /// Stores the squares of the transposed operands to scratch, as vectors along the result's rows.
  void transposeOperands(Value row, Value column);
  /// Emits the elements of a tile outside of whole squares, one by one.
  void emitSingle(Value rowFrom, Value rowTo, Value columnFrom, Value columnTo);
  void store(TileBody &body, BodyEmitter &emitter);
  /// The end of the last whole square between `from` and `to`.
  Value endOfSquares(Value from, Value to, bool exact);

  KernelBuilder &kernel;
  ir::ScheduleAttr schedule;
  SmallVector<ir::Size> domain;
  unsigned rowDim, columnDim;
  int64_t lanes, height, width, tileRows, tileColumns;
  bool exactRows, exactColumns; ///< tiles hold whole squares only
  TileBody vectors, scalars;
  SmallVector<int> transposed; ///< the nodes of the operands that are read by squares
  SmallVector<Value> squares;  ///< the square of each of them, in scratch
  // Set while tasks are emitted.
  BodyEmitter *vector = nullptr, *scalar = nullptr;
  ArrayRef<Value> streams;
};

} // namespace

TransposedEmitter::TransposedEmitter(KernelBuilder &kernel)
    : kernel(kernel), schedule(*kernel.fusion.getSchedule()), domain(kernel.fusion.getDomain()),
      rowDim(static_cast<unsigned>(schedule.number(ir::ScheduleField::tileDim))),
      columnDim(*ir::innermostDim(domain)), lanes(schedule.getVector()), height(domain[rowDim].asNumber()),
      width(domain[columnDim].asNumber()), tileRows(schedule.number(ir::ScheduleField::tileRows)),
      tileColumns(schedule.number(ir::ScheduleField::tileColumns)), exactRows(height % lanes == 0),
      exactColumns(width % lanes == 0), vectors(kernel.fusion, rowDim, columnDim, lanes),
      scalars(kernel.fusion, rowDim, columnDim, 1) {}

Status TransposedEmitter::emit() {
  for (Status *status : {&vectors.status, &scalars.status})
    if (!status->ok())
      return *status;
  for (int id : vectors.graph.ordered(vectors.roots)) {
    if (lanes > 1 && static_cast<int64_t>(transposed.size()) < schedule.number(ir::ScheduleField::squares) &&
        vectors.isTransposed(vectors.graph.node(id)))
      transposed.push_back(id);
  }
  int64_t offset = 0;
  for (int id : transposed) {
    Type memory = KernelBuilder::memoryType(getElementTypeOrSelf(vectors.graph.node(id).value.getType()));
    squares.push_back(kernel.scratchView(offset, lanes * lanes, memory));
    offset += lanes * lanes * (memory.getIntOrFloatBitWidth() / 8);
  }
  kernel.withStreams(schedule.getStreaming() && exactColumns, lanes,
                     [&](ArrayRef<Value> buffers) { emitTasks(buffers); });
  return {};
}

void TransposedEmitter::store(TileBody &body, BodyEmitter &emitter) {
  SmallVector<Value> values;
  for (int root : body.roots)
    values.push_back(emitter.emit(root));
  emitter.storeResults(values, body.address, streams);
}

void TransposedEmitter::transposeOperands(Value row, Value column) {
  kernel.pushScope(nullptr);
  vector->setVar(vectors.row, row);
  vector->setVar(vectors.column, column);
  for (auto [id, buffer] : llvm::zip(transposed, squares)) {
    const BodyNode &node = vectors.graph.node(id);
    Type memory = cast<MemRefType>(buffer.getType()).getElementType();
    for (int dep : node.deps) // the start of a window
      vector->emit(dep);
    SmallVector<Value> lines;
    for (int64_t j = 0; j < lanes; ++j) {
      IndexExpr line = node.expr;
      line.constant += j * line.lane;
      line.lane = 1;
      lines.push_back(vector->load(kernel.operand(node.argument), line, memory));
    }
    transposeSquare(kernel, lines);
    for (auto [j, line] : llvm::enumerate(lines))
      kernel.create<vector::StoreOp>(line, buffer, ValueRange{kernel.index(static_cast<int64_t>(j) * lanes)});
  }
  kernel.popScope();
}

void TransposedEmitter::emitSquare(Value row, Value column) {
  transposeOperands(row, column);
  vector->setVar(vectors.column, column);
  kernel.forLoop(kernel.index(0), kernel.index(lanes), 1, [&](Value k) {
    vector->setVar(vectors.row, kernel.add(row, k));
    for (auto [id, buffer] : llvm::zip(transposed, squares)) {
      Type element = getElementTypeOrSelf(vectors.graph.node(id).value.getType());
      vector->setNode(id, vector->loadVector(buffer, kernel.mul(k, lanes), element));
    }
    store(vectors, *vector);
  });
}

void TransposedEmitter::emitSingle(Value rowFrom, Value rowTo, Value columnFrom, Value columnTo) {
  kernel.forLoop(rowFrom, rowTo, 1, [&](Value row) {
    scalar->setVar(scalars.row, row);
    kernel.forLoop(columnFrom, columnTo, 1, [&](Value column) {
      scalar->setVar(scalars.column, column);
      store(scalars, *scalar);
    });
  });
}

Value TransposedEmitter::endOfSquares(Value from, Value to, bool exact) {
  if (exact)
    return to;
  Value rest = kernel.create<arith::RemUIOp>(kernel.create<arith::SubIOp>(to, from), kernel.index(lanes));
  return kernel.create<arith::SubIOp>(to, rest);
}

void TransposedEmitter::emitTasks(ArrayRef<Value> buffers) {
  BodyEmitter vectorEmitter(kernel, vectors.graph), scalarEmitter(kernel, scalars.graph);
  vector = &vectorEmitter;
  scalar = &scalarEmitter;
  streams = buffers;
  ir::Size rowBlocks = ir::ceilDiv(height, tileRows), columnBlocks = ir::ceilDiv(width, tileColumns);
  kernel.forTasks([&](Value task) {
    Value columnBlock = kernel.create<arith::RemUIOp>(task, kernel.index(columnBlocks));
    Value rest = kernel.create<arith::DivUIOp>(task, kernel.index(columnBlocks));
    Value rowBlock = kernel.create<arith::RemUIOp>(rest, kernel.index(rowBlocks));
    Value outer = kernel.create<arith::DivUIOp>(rest, kernel.index(rowBlocks));
    vector->setVar(vectors.outer, outer);
    scalar->setVar(scalars.outer, outer);
    Value rowFrom = kernel.mul(rowBlock, tileRows);
    Value rowTo = kernel.minimum(kernel.addIndex(rowFrom, tileRows), kernel.index(height));
    Value columnFrom = kernel.mul(columnBlock, tileColumns);
    Value columnTo = kernel.minimum(kernel.addIndex(columnFrom, tileColumns), kernel.index(width));
    Value rowMiddle = endOfSquares(rowFrom, rowTo, exactRows);
    Value columnMiddle = endOfSquares(columnFrom, columnTo, exactColumns);
    // The inner loop goes down the rows, along the transposed operand, so that its cache lines are read in
    // sequence.
    kernel.forLoop(columnFrom, columnMiddle, lanes, [&](Value column) {
      kernel.forLoop(rowFrom, rowMiddle, lanes, [&](Value row) { emitSquare(row, column); });
    });
    if (!exactColumns)
      emitSingle(rowFrom, rowMiddle, columnMiddle, columnTo);
    if (!exactRows)
      emitSingle(rowMiddle, rowTo, columnFrom, columnTo);
  });
}

Status detail::emitTransposed(KernelBuilder &kernel) { return TransposedEmitter(kernel).emit(); }

} // namespace weft::codegen
