//===- EmitPlane.cpp - Tiles of rows and columns --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block computes a tile of the plane that a loop's domain is (ir/CudaLoops.h). Its threads lie in rows:
// neighbouring threads have neighbouring vectors of a row, and rows of threads take turns at the rows of the
// tile. So a thread has the same columns in all of its rows, and what depends on these alone is computed and
// read once, before its loop over the rows.
//
// Rows that are no whole number of vectors, which with dynamic sizes is known when the kernel runs, have
// single elements: neighbouring threads have neighbouring elements. The parts of a concat are boxes of the
// plane, and a thread computes its elements of one after the other.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/skeletons/CudaMapping.h"
#include "codegen/cuda/skeletons/CudaSkeletons.h"
#include "codegen/emit/KernelBuilder.h"
#include "codegen/emit/LoopBody.h"

#include "ir/CudaLoops.h"
#include "ir/Schedule.h"

using namespace mlir;
namespace weft::codegen {

namespace {

class PlaneEmitter {
public:
  explicit PlaneEmitter(KernelBuilder &kernel)
      : kernel(kernel), fusion(kernel.fusion), schedule(fusion.getSchedule()->toSchedule()),
        plane(ir::planeOf(fusion, schedule)), vector(schedule[ir::ScheduleField::vector]),
        threads(schedule[ir::ScheduleField::threads]), tileRows(schedule[ir::ScheduleField::tileRows]),
        tileColumns(schedule[ir::ScheduleField::tileColumns]), across(tileColumns / vector),
        down(threads / across) {}
  Status emit();

private:
  /// A box of the plane. `vectors` is null if its rows are not read in vectors, and `singles` if all of them
  /// are whole vectors.
  struct Piece {
    Box box;
    std::unique_ptr<LoopBody> vectors, singles;
  };
  struct Bounds {
    Value low, high;
  };

  bool isWhole(const Box &box) const { return box.rows == plane.rows && box.columns == plane.columns; }
  /// Whether there are as many tasks as tiles. Where sizes are not known there may be more (planeTasks).
  bool isExactlyTiled() const {
    return plane.columns.isNumber() &&
           (plane.rows.isNumber() || tileRows == 1 || ir::ceilDiv(plane.columns, tileColumns) == 1);
  }
  bool everyThreadHasRows(const Box &box) const;
  SmallVector<Box> boxes();
  Status addPiece(const Box &box);
  Bounds boundsWithin(Value low, int64_t extent, ir::Size begin, ir::Size size, ir::Size whole,
                      bool isInside);
  void emitPiece(Piece &piece, BodyEmitter *vectors, BodyEmitter *singles);
  void emitColumns(const Piece &piece, Bounds columns, int64_t lanes,
                   llvm::function_ref<void(Value column)> body);
  void emitRows(LoopBody &body, BodyEmitter &emitter, const Box &box, Value column);
  void step(LoopBody &body, BodyEmitter &emitter);

  KernelBuilder &kernel;
  ir::FusionOp fusion;
  ir::Schedule schedule;
  ir::Plane plane;
  int64_t vector, threads, tileRows, tileColumns;
  int64_t across, down; ///< threads along a row of the tile, and rows of threads
  SmallVector<Piece, 1> pieces;
  Value threadColumn, threadRow;
  Value firstRow, firstColumn; ///< of the tile
  Bounds rows;                 ///< of the thread in the current piece
};

} // namespace

/// The parts of a concat that are ranges of columns, or ranges of rows where no dimension before is cut, or
/// the whole plane.
SmallVector<Box> PlaneEmitter::boxes() {
  const SmallVector<ir::Size> domain = fusion.getDomain();
  const Box whole{plane.rowDims, 1, 0, plane.rows, 0, plane.columns};
  ir::ConcatOp concat = cuttingConcat(fusion, domain);
  if (!concat)
    return {whole};
  const auto dim = static_cast<unsigned>(concat.getDim());
  auto count = [&](unsigned from, size_t to) {
    return from < to ? ir::productOf(ArrayRef(domain).slice(from, to - from)) : ir::Size(1);
  };
  const bool cutsColumns = dim >= plane.rowDims;
  if (count(cutsColumns ? plane.rowDims : 0, dim) != 1)
    return {whole}; // the parts are selected by bounds
  const ir::Size inner = count(dim + 1, cutsColumns ? domain.size() : plane.rowDims);
  SmallVector<Box> result;
  const SmallVector<ir::Size> cuts = cutsOf(fusion, concat);
  for (auto [begin, end] : llvm::zip(ArrayRef(cuts).drop_back(), ArrayRef(cuts).drop_front())) {
    Box box = whole;
    (cutsColumns ? box.column : box.row) = begin * inner;
    (cutsColumns ? box.columns : box.rows) = (end - begin) * inner;
    result.push_back(box);
  }
  return result;
}

Status PlaneEmitter::addPiece(const Box &box) {
  Piece piece;
  piece.box = box;
  auto bodyOf = [&](int64_t lanes) {
    return std::make_unique<LoopBody>(fusion, box, lanes, /*whole=*/true, /*splitsSums=*/true);
  };
  // A plane of dynamic width is read in vectors if its rows turn out to be whole vectors.
  const bool isCut = box.columns != plane.columns;
  bool isExact = ir::isMultipleOf(box.column, vector) && ir::isMultipleOf(box.columns, vector);
  if (vector > 1 && (isExact || (!isCut && box.columns.isSymbolic()))) {
    auto body = bodyOf(vector);
    // A window whose rows are shorter than those of the plane has no address for a vector.
    if (!body->space.isPerLane(body->address))
      piece.vectors = std::move(body);
  }
  if (!piece.vectors || !isExact)
    piece.singles = bodyOf(1);
  for (LoopBody *body : {piece.vectors.get(), piece.singles.get()})
    if (body && !body->status.ok())
      return body->status;
  pieces.push_back(std::move(piece));
  return {};
}

/// The part of [low, low + extent) that lies in the box's [begin, begin + size), of `whole` in all; `low` is
/// a multiple of `extent`, and below `whole` if it is inside.
PlaneEmitter::Bounds PlaneEmitter::boundsWithin(Value low, int64_t extent, ir::Size begin, ir::Size size,
                                                ir::Size whole, bool isInside) {
  Value high = kernel.addIndex(low, extent);
  if (!(begin == 0))
    low = kernel.create<arith::MaxSIOp>(low, kernel.index(begin));
  // All tiles within the plane are whole if the extent divides the plane's.
  if (!isInside || !(size == whole) || !ir::isMultipleOf(whole, extent))
    high = kernel.minimum(high, kernel.index(begin + size));
  return {low, high};
}

void PlaneEmitter::step(LoopBody &body, BodyEmitter &emitter) {
  // Compute all values before the first store, because an operand may share its buffer with a result.
  SmallVector<Value> values;
  for (int root : body.roots)
    values.push_back(emitter.emit(root));
  for (int start : body.starts)
    emitter.emit(start);
  emitter.storeResults(values, body.address, {});
}

/// Emits the thread's rows for one vector, or element, of columns. Its first row exists.
void PlaneEmitter::emitRows(LoopBody &body, BodyEmitter &emitter, const Box &box, Value column) {
  auto within = [&](Value value, ir::Size begin) {
    return begin == 0 ? value : kernel.create<arith::SubIOp>(value, kernel.index(begin)).getResult();
  };
  emitter.setVar(body.column, within(column, box.column));
  if (tileRows <= down) {
    emitter.setVar(body.row, within(rows.low, box.row));
    return step(body, emitter);
  }
  kernel.forLoop(rows.low, rows.high, down, [&](Value row) {
    emitter.setVar(body.row, within(row, box.row));
    step(body, emitter);
  });
}

/// Emits `body` for the thread's columns: one vector, or as many single elements.
void PlaneEmitter::emitColumns(const Piece &piece, Bounds columns, int64_t lanes,
                               llvm::function_ref<void(Value column)> body) {
  Value column = kernel.add(columns.low, kernel.mul(threadColumn, lanes));
  if (lanes < vector)
    return kernel.forLoop(column, columns.high, across * lanes, body);
  if (isWhole(piece.box) && ir::isMultipleOf(plane.columns, tileColumns))
    return body(column);
  kernel.ifThen(kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, column, columns.high),
                [&] { body(column); });
}

/// Whether no tile ends within its rows, and no thread is left over.
bool PlaneEmitter::everyThreadHasRows(const Box &box) const {
  return box.rows == plane.rows && plane.rows.isNumber() && plane.columns.isNumber() &&
         ir::isMultipleOf(plane.rows, tileRows) && across * down == threads && tileRows >= down;
}

void PlaneEmitter::emitPiece(Piece &piece, BodyEmitter *vectors, BodyEmitter *singles) {
  const Box &box = piece.box;
  rows = boundsWithin(firstRow, tileRows, box.row, box.rows, plane.rows, isExactlyTiled());
  Value low = kernel.add(rows.low, threadRow);
  Value isOurs = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, low, rows.high);
  rows.low = low;
  if (across * down < threads) // the threads that are left over have no row
    isOurs = kernel.create<arith::AndIOp>(
        isOurs, kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, threadRow, kernel.index(down)));
  auto emit = [&] {
    Bounds columns =
        boundsWithin(firstColumn, tileColumns, box.column, box.columns, plane.columns, /*isInside=*/true);
    Bounds ofSingles = columns;
    if (vectors && singles) {
      Value rest = kernel.create<arith::RemUIOp>(kernel.index(plane.columns), kernel.index(vector));
      Value isExact = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, rest, kernel.index(0));
      ofSingles.high = kernel.create<arith::SelectOp>(isExact, columns.low, columns.high);
      columns.high = kernel.create<arith::SelectOp>(isExact, columns.high, columns.low);
    }
    if (vectors)
      emitColumns(piece, columns, vector,
                  [&](Value column) { emitRows(*piece.vectors, *vectors, box, column); });
    if (singles)
      emitColumns(piece, ofSingles, 1,
                  [&](Value column) { emitRows(*piece.singles, *singles, box, column); });
  };
  if (everyThreadHasRows(box))
    emit();
  else
    kernel.ifThen(isOurs, emit);
}

Status PlaneEmitter::emit() {
  for (const Box &box : boxes())
    if (Status status = addPiece(box); !status.ok())
      return status;
  Value thread = threadOf(kernel, threads);
  threadColumn = across == threads ? thread : across == 1 ? kernel.index(0) : Value();
  threadRow = across == threads ? kernel.index(0) : across == 1 ? thread : Value();
  if (!threadColumn) {
    threadColumn = kernel.create<arith::RemUIOp>(thread, kernel.index(across));
    threadRow = kernel.create<arith::DivUIOp>(thread, kernel.index(across));
  }
  // A task is a block's.
  Value task = kernel.begin, column = kernel.index(0), row = task;
  if (ir::Size blocks = ir::ceilDiv(plane.columns, tileColumns); !(blocks == 1) && !(blocks == 0)) {
    // A plane without columns has no tiles, but may have tasks.
    Value across = kernel.index(blocks);
    if (!kernel.ranges.isAtLeast(blocks, 1))
      across = kernel.create<arith::MaxSIOp>(across, kernel.index(1));
    column = kernel.create<arith::RemUIOp>(task, across);
    row = kernel.create<arith::DivUIOp>(task, across);
  }
  firstRow = kernel.mul(row, tileRows);
  firstColumn = kernel.mul(column, tileColumns);
  SmallVector<std::pair<std::unique_ptr<BodyEmitter>, std::unique_ptr<BodyEmitter>>> emitters;
  auto emitterOf = [&](const std::unique_ptr<LoopBody> &body) {
    return body ? std::make_unique<BodyEmitter>(kernel, body->graph) : nullptr;
  };
  for (Piece &piece : pieces)
    emitters.push_back({emitterOf(piece.vectors), emitterOf(piece.singles)});
  for (auto [piece, own] : llvm::zip_equal(pieces, emitters))
    emitPiece(piece, own.first.get(), own.second.get());
  return {};
}

Status detail::emitPlane(KernelBuilder &kernel) { return PlaneEmitter(kernel).emit(); }

} // namespace weft::codegen
