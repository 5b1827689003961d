//===- EmitLoop.cpp - Elementwise kernels ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A task is a chunk of the domain in row-major order. The kernel has a loop over rows and an inner loop over
// columns. The columns are the innermost dimensions, as many as can be merged without reading an operand lane
// by lane. If all dimensions can be merged, there is one loop.
//
// A concat divides the domain into boxes, each of which reads one part, and each box has its own loops. If
// the parts alternate in memory, the inner loops of all boxes follow each other within one loop over the
// rows. For a window that is written into another tensor, the loop runs over the window.
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/EmitKernel.h"
#include "codegen/emit/KernelBuilder.h"
#include "codegen/emit/LoopBody.h"

#include "ir/InPlace.h"
#include "ir/Schedule.h"
#include "ir/Updates.h"

using namespace mlir;
namespace weft::codegen {

namespace {

/// Whether there are fewer elements than lanes. A dynamic number counts as large, because its loop over
/// vectors is followed by one over single elements.
bool isShort(ir::Size count, int64_t lanes) { return count.number().value_or(lanes) < lanes; }

/// Of so many vectors; few elements are left of it, and narrower vectors would be more code for little.
constexpr int64_t longRow = 8;

class LoopEmitter {
public:
  explicit LoopEmitter(KernelBuilder &kernel)
      : kernel(kernel), fusion(kernel.fusion), domain(fusion.getDomain()), count(ir::productOf(domain)),
        chunk(fusion.getSchedule()->number(ir::ScheduleField::chunk)), isUpdate(ir::updateIn(fusion)),
        crossesLanes(mayCrossLanes(fusion)),
        mayRepeat(crossesLanes && !isUpdate && !ir::mayReplaceAny(fusion)) {}
  Status emit();

private:
  /// Bodies for vectors, from the widest down, and for single elements. On a CPU, what is left of short rows
  /// is computed in narrower vectors.
  struct Piece {
    Box box;
    SmallVector<std::unique_ptr<LoopBody>, 4> bodies;
  };
  SmallVector<int64_t> widthsFor(ir::Size columns) const;
  /// Whether the last vector of a row of so many elements begins where it ends with the row, and computes
  /// elements of the vector before it again. Nothing may be written over what they are computed from.
  bool overlaps(ir::Size columns) const {
    return mayRepeat && !isShort(columns, lanes) && columns.number().value_or(INT64_MAX) < longRow * lanes &&
           !ir::isMultipleOf(columns, lanes);
  }
  unsigned chooseOuterDims(Box box, ir::Size first, ir::Size size, unsigned dim);
  void addPiece(Box box);
  /// The elements of a row of the domain.
  ir::Size widthOf(const Box &box) const {
    ir::Size inner = ir::productOf(ArrayRef(domain).drop_front(box.outerDims));
    return box.split == 1 ? inner : ir::divide(inner, box.split).value_or(inner);
  }
  /// What a body costs in vector operations, and in `isPlain` whether no rows would be cheaper.
  int64_t costOf(const LoopBody &body, ir::Size columns, bool hasRows, bool &isPlain) const;
  /// Divides the last dimension into rows if that is cheaper than `box`: where a value of more dimensions is
  /// read with its last ones together, their own rows need no divisions.
  void splitLastDim(Box &box);
  using Emitters = SmallVector<std::unique_ptr<BodyEmitter>, 4>; ///< of the bodies of a piece
  /// The columns [low, high) of a row: in vectors from the widest down, then single elements.
  void emitSegment(Piece &piece, Emitters &own, Value low, Value high, bool exact, ArrayRef<Value> streams);
  void emitPieces(ArrayRef<Value> streams);
  void step(LoopBody &body, BodyEmitter &emitter, Value column, ArrayRef<Value> streams);

  KernelBuilder &kernel;
  ir::FusionOp fusion;
  SmallVector<ir::Size> domain;
  ir::Size count;
  int64_t chunk, lanes = 1;
  bool isUpdate, crossesLanes, whole = true; ///< whole: a single box covers the domain
  bool mayRepeat;                            ///< an element may be computed and written twice
  bool aligned = true; ///< every box begins and ends at a multiple of the number of lanes
  SmallVector<Piece, 1> pieces;
  Value from, to;
};

} // namespace

/// How many leading dimensions the outer loop has, for the part of the domain that has `size` indices from
/// `first` on in dimension `dim`. All sizes before `dim` are 1.
unsigned LoopEmitter::chooseOuterDims(Box box, ir::Size first, ir::Size size, unsigned dim) {
  unsigned best = 0;
  int64_t least = INT64_MAX;
  SmallVector<ir::Size> part(domain);
  if (!whole)
    part[dim] = size;
  for (unsigned outer = 0; outer < std::max<size_t>(domain.size(), 1); ++outer) {
    ir::Size inner = ir::productOf(ArrayRef(part).drop_front(outer));
    if (outer > 0 && part[outer - 1] == 1)
      continue;
    box.outerDims = outer;
    box.columns = inner;
    box.rows = ir::productOf(ArrayRef(part).take_front(outer));
    // If the rows begin at the cut dimension or before it, a row holds the whole part.
    auto after = [&](unsigned end) { return ir::productOf(ArrayRef(domain).slice(dim + 1, end - dim - 1)); };
    box.column = outer > dim || first == 0 ? 0 : first * after(static_cast<unsigned>(domain.size()));
    box.row = outer > dim && first != 0 ? first * after(outer) : 0;
    LoopBody body(fusion, box, lanes, whole);
    if (body.space.isPerLane(body.address))
      continue; // the rows of the window are shorter, so its address is not affine
    bool isPlain = false;
    const int64_t cost = costOf(body, inner, outer > 0, isPlain);
    if (cost < least) {
      least = cost;
      best = outer;
    }
    if (isPlain)
      break;
  }
  return best;
}

int64_t LoopEmitter::costOf(const LoopBody &body, ir::Size inner, bool hasRows, bool &isPlain) const {
  // Two for each lane of a load that is split into lanes, and four for a division. What is left of short rows
  // takes narrower vectors, or single elements.
  auto nodes = static_cast<int64_t>(body.graph.size());
  int64_t laneReads = body.graph.countLaneReads(body.roots),
          divisions = body.graph.countDivisions(body.roots, body.column);
  isPlain = laneReads + divisions == 0;
  int64_t cost = (nodes + laneReads * 2 * lanes + divisions * 4) * longRow * lanes;
  if (std::optional<int64_t> columns = inner.number();
      crossesLanes && columns && *columns > 0 && *columns < longRow * lanes) {
    int64_t left = *columns, vectors = 0;
    if (hasRows && whole && overlaps(inner)) {
      vectors = static_cast<int64_t>(llvm::divideCeil(left, lanes));
      left = 0;
    }
    for (int64_t width : widthsFor(inner)) {
      vectors += left / width;
      left %= width;
    }
    return cost * (vectors + left) * lanes / *columns;
  }
  return isShort(inner, lanes) ? nodes * lanes * longRow * lanes : cost;
}

void LoopEmitter::splitLastDim(Box &box) {
  const std::optional<int64_t> last = domain.empty() ? std::nullopt : domain.back().number();
  // GPUs have planes of rows and columns (ir/CudaLoops.h).
  if (!crossesLanes || isUpdate || !last)
    return;
  bool isPlain = false;
  int64_t least = costOf(LoopBody(fusion, box, lanes), box.columns, box.outerDims > 0, isPlain);
  if (isPlain)
    return;
  SmallVector<int64_t, 4> tried;
  for (auto reshape : fusion.getBody().front().getOps<ir::ReshapeOp>()) {
    const std::optional<int64_t> columns =
        ir::sizesOf(reshape.getA()).empty() ? std::nullopt : ir::sizesOf(reshape.getA()).back().number();
    if (ir::sizesOf(reshape.getType()) != ArrayRef(domain) || !columns || *columns < lanes ||
        *columns >= *last || *last % *columns != 0 || llvm::is_contained(tried, *columns))
      continue;
    tried.push_back(*columns);
    Box rows = box;
    rows.outerDims = static_cast<unsigned>(domain.size()) - 1;
    rows.split = *last / *columns;
    rows.rows = ir::productOf(ArrayRef(domain).drop_back()) * rows.split;
    rows.columns = *columns;
    LoopBody body(fusion, rows, lanes);
    if (body.space.isPerLane(body.address) || !body.status.ok())
      continue;
    if (const int64_t cost = costOf(body, *columns, /*hasRows=*/true, isPlain); cost < least) {
      least = cost;
      box = rows;
    }
  }
}

/// The numbers of lanes of the vectors that compute a row.
SmallVector<int64_t> LoopEmitter::widthsFor(ir::Size columns) const {
  constexpr int64_t leastLanes = 4;
  SmallVector<int64_t> widths;
  const std::optional<int64_t> number = columns.number();
  if (!isShort(columns, lanes))
    widths.push_back(lanes);
  if (!crossesLanes || !number || *number >= longRow * lanes)
    return widths;
  int64_t left = *number % lanes;
  for (int64_t width = lanes / 2; width >= leastLanes; width /= 2)
    if (left >= width) {
      widths.push_back(width);
      left %= width;
    }
  return widths;
}

void LoopEmitter::addPiece(Box box) {
  Piece piece;
  piece.box = box;
  SmallVector<int64_t> widths = widthsFor(box.columns);
  widths.push_back(1);
  for (int64_t width : widths)
    piece.bodies.push_back(std::make_unique<LoopBody>(fusion, box, width, whole || aligned));
  pieces.push_back(std::move(piece));
}

void LoopEmitter::step(LoopBody &body, BodyEmitter &emitter, Value column, ArrayRef<Value> streams) {
  emitter.setVar(body.column, column);
  // Compute all values before the first store, because an operand may share its buffer with a result.
  SmallVector<Value> values;
  for (int root : body.roots)
    values.push_back(emitter.emit(root));
  for (int start : body.starts)
    emitter.emit(start);
  emitter.storeResults(values, body.address, streams);
}

void LoopEmitter::emitSegment(Piece &piece, Emitters &own, Value low, Value high, bool exact,
                              ArrayRef<Value> streams) {
  const size_t vectors = piece.bodies.size() - 1;
  for (size_t i = 0; i + 1 < vectors; ++i) { // all but the narrowest
    const int64_t width = piece.bodies[i]->space.lanes;
    Value middle = kernel.endOfVectors(low, high, width);
    kernel.parallelFor(low, middle, width, /*exact=*/true,
                       [&](Value column, bool) { step(*piece.bodies[i], *own[i], column, {}); });
    low = middle;
  }
  const size_t narrow = vectors ? vectors - 1 : 0;
  kernel.parallelFor(low, high, piece.bodies[narrow]->space.lanes, exact, [&](Value column, bool vector) {
    const size_t i = vector ? narrow : vectors;
    step(*piece.bodies[i], *own[i], column, streams);
  });
}

void LoopEmitter::emitPieces(ArrayRef<Value> streams) {
  SmallVector<Emitters> emitters;
  for (Piece &piece : pieces) {
    Emitters &own = emitters.emplace_back();
    for (const auto &body : piece.bodies)
      own.push_back(std::make_unique<BodyEmitter>(kernel, body->graph));
  }
  auto setRow = [&](Piece &piece, Emitters &own, Value row) {
    for (auto [body, emitter] : llvm::zip_equal(piece.bodies, own))
      emitter->setVar(body->row, row);
  };
  auto segment = [&](Piece &piece, Emitters &own, Value low, Value high, bool exact) {
    emitSegment(piece, own, low, high, exact, streams);
  };
  auto clampTo = [&](Value value, ir::Size size) {
    return kernel.minimum(kernel.create<arith::MaxSIOp>(value, kernel.index(0)), kernel.index(size));
  };
  const Box &first = pieces.front().box;
  ir::Size width = widthOf(first);
  bool within = first.columns != width && first.outerDims > 0 && first.rows.number().value_or(0) > 1;
  if (within) {
    // Each piece has columns of every row, so all pieces are in one loop over the rows.
    Value wide = kernel.index(width);
    Value begin = kernel.create<arith::DivUIOp>(from, wide);
    Value end = kernel.create<arith::DivUIOp>(kernel.addIndex(to, width - 1), wide);
    kernel.forLoop(begin, end, 1, [&](Value row) {
      Value start = kernel.mul(row, width);
      Value low = kernel.create<arith::SubIOp>(from, start), high = kernel.create<arith::SubIOp>(to, start);
      for (auto [piece, own] : llvm::zip_equal(pieces, emitters)) {
        setRow(piece, own, row);
        Value shift = kernel.index(piece.box.column);
        segment(piece, own, clampTo(kernel.create<arith::SubIOp>(low, shift), piece.box.columns),
                clampTo(kernel.create<arith::SubIOp>(high, shift), piece.box.columns),
                aligned && ir::isMultipleOf(width, lanes) && chunk % lanes == 0);
      }
    });
    return;
  }
  for (auto [piece, own] : llvm::zip_equal(pieces, emitters)) {
    const Box &box = piece.box;
    ir::Size inner = box.columns, size = box.rows * inner;
    Value begin = from, end = to;
    if (!whole) {
      Value base = kernel.index(box.row * inner + box.column);
      begin = clampTo(kernel.create<arith::SubIOp>(from, base), size);
      end = clampTo(kernel.create<arith::SubIOp>(to, base), size);
    }
    if (inner == size) {
      setRow(piece, own, kernel.index(0));
      segment(piece, own, begin, end, aligned && ir::isMultipleOf(size, lanes));
      continue;
    }
    Value wide = kernel.index(inner);
    Value firstRow = kernel.create<arith::DivUIOp>(begin, wide);
    Value lastRow = kernel.create<arith::DivUIOp>(kernel.addIndex(end, inner - 1), wide);
    kernel.forLoop(firstRow, lastRow, 1, [&](Value row) {
      setRow(piece, own, row);
      Value start = kernel.mul(row, inner);
      Value low = kernel.create<arith::MaxSIOp>(kernel.create<arith::SubIOp>(begin, start), kernel.index(0));
      Value high = kernel.minimum(kernel.create<arith::SubIOp>(end, start), wide);
      if (!whole || !overlaps(inner))
        return segment(piece, own, low, high,
                       aligned && ir::isMultipleOf(inner, lanes) && chunk % lanes == 0);
      // The task may have few elements of the row.
      Value last = kernel.addIndex(high, -lanes);
      kernel.ifThen(
          kernel.create<arith::CmpIOp>(arith::CmpIPredicate::sge, last, low),
          [&] {
            kernel.forLoop(low, high, lanes, [&](Value column) {
              step(*piece.bodies.front(), *own.front(), kernel.minimum(column, last), {});
            });
          },
          [&] { segment(piece, own, low, high, /*exact=*/false); });
    });
  }
}

Status LoopEmitter::emit() {
  lanes = fusion.getSchedule()->getVector();
  if (isShort(count, lanes))
    lanes = 1;
  ir::ConcatOp concat = cuttingConcat(fusion, domain);
  if (!concat) {
    Box box;
    box.outerDims = chooseOuterDims(box, 0, 0, 0);
    box.rows = ir::productOf(ArrayRef(domain).take_front(box.outerDims));
    box.columns = widthOf(box);
    splitLastDim(box);
    addPiece(box);
  } else {
    whole = false;
    auto dim = static_cast<unsigned>(concat.getDim());
    SmallVector<ir::Size> cuts = cutsOf(fusion, concat);
    ir::Size inner = ir::productOf(ArrayRef(domain).drop_front(dim + 1)),
             rows = ir::productOf(ArrayRef(domain).take_front(dim));
    for (ir::Size cut : cuts)
      aligned &= ir::isMultipleOf(cut * inner, lanes);
    for (auto [begin, end] : llvm::zip(ArrayRef(cuts).drop_back(), ArrayRef(cuts).drop_front())) {
      ir::Size size = end - begin;
      Box box{dim, 1, 0, rows, begin * inner, size * inner};
      if (rows == 1) {
        box.outerDims = chooseOuterDims(box, begin, size, dim);
        box.rows = 1;
        if (box.outerDims > dim) { // the cut dimension is one of the row dimensions
          ir::Size each = ir::productOf(ArrayRef(domain).slice(dim + 1, box.outerDims - dim - 1));
          box.row = begin * each;
          box.rows = size * each;
          box.column = 0;
          box.columns = widthOf(box);
        }
      }
      addPiece(box);
    }
  }
  for (Piece &piece : pieces)
    for (const auto &body : piece.bodies)
      if (!body->status.ok())
        return body->status;

  from = kernel.mul(kernel.begin, chunk);
  to = kernel.minimum(kernel.mul(kernel.end, chunk), kernel.index(count));
  ir::Size width = widthOf(pieces.front().box);
  bool streaming = fusion.getSchedule()->getStreaming() && !isUpdate && lanes > 1 && aligned &&
                   ir::isMultipleOf(width, lanes);
  kernel.withStreams(streaming, lanes, [&](ArrayRef<Value> streams) { emitPieces(streams); });
  return {};
}

Status detail::emitLoop(KernelBuilder &kernel) { return LoopEmitter(kernel).emit(); }

} // namespace weft::codegen
