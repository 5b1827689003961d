//===- EmitTransposed.cpp - Tiles that a block transposes -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operand may be contiguous down the rows of the domain, and the results along its columns. A block has a
// tile of 32 x 32 squares of `vector` x `vector` elements (ir/CudaLoops.h). First its warps read the operand:
// the threads of a warp have neighbouring vectors down the rows, so that they read whole cache lines. Each
// thread transposes its squares in registers and writes vectors along the columns to shared memory. After a
// barrier, the threads of a warp have neighbouring vectors of a row, and write the results.
//
// In shared memory, the vectors of row r * vector + k of a tile follow each other as row k * 32 + r, which
// has one vector more than the tile. A warp writes a column there, whose vectors are 33 apart, or reads a
// row: in both cases its vectors are in different banks.
//
// In tiles that reach beyond the end of the domain, threads read the last square instead of those behind it,
// and do not use it. Where whole tiles exist, a thread reads the operands of several rows before it stores
// the first, so that memory answers them together.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/skeletons/CudaMapping.h"
#include "codegen/cuda/skeletons/CudaSkeletons.h"
#include "codegen/emit/KernelBuilder.h"
#include "codegen/emit/TransposedBody.h"

#include "ir/CudaLoops.h"
#include "ir/CudaReductions.h"
#include "ir/Schedule.h"

using namespace mlir;
namespace weft::codegen {

namespace {

constexpr int64_t side = ir::transposedSide, pitch = side + 1;

/// The body over the domain, with a variable for each of its four parts.
struct TileBody : TransposedBody {
  TileBody(ir::FusionOp fusion, const ir::TransposedDomain &domain, int64_t lanes)
      : TransposedBody(fusion, lanes) {
    space.splitsSums = true;
    const auto rank = static_cast<unsigned>(fusion.getDomain().size());
    const unsigned afterRows = domain.rowDim + domain.rowDims;
    before = space.addLoop(domain.before - 1);
    row = space.addLoop(domain.rows - 1);
    between = space.addLoop(domain.between - 1);
    column = space.addLoop(domain.columns - 1, lanes);
    TensorIndex index;
    auto addGroup = [&](unsigned dims, const ir::Size &size, IndexExpr at) {
      if (dims > 0)
        index.groups.push_back({dims, size, size == 1 ? IndexExpr() : std::move(at)});
    };
    addGroup(domain.rowDim, domain.before, space.expr(before));
    addGroup(domain.rowDims, domain.rows, space.expr(row));
    addGroup(domain.columnDim - afterRows, domain.between, space.expr(between));
    IndexExpr at = space.expr(column);
    at.lane = lanes > 1 ? 1 : 0;
    addGroup(rank - domain.columnDim, domain.columns, at);
    requestAll(index);
  }

  VarId before, between;
};

/// An operand that the block transposes: the node of its load, and its tile in shared memory.
struct Square {
  int node;
  Value buffer;
};

class TransposedEmitter {
public:
  explicit TransposedEmitter(KernelBuilder &kernel)
      : kernel(kernel), schedule(*kernel.fusion.getSchedule()),
        domain(ir::transposedDomain(kernel.fusion, schedule.toSchedule())), vector(schedule.getVector()),
        tile(side * vector), threads(schedule.number(ir::ScheduleField::threads)),
        warps(threads / ir::warpThreads), body(kernel.fusion, domain, vector) {}
  Status emit();

private:
  void findSquares();
  void findTile();
  void emitTile();
  /// Reads a square of each of the thread's columns, and writes it to shared memory.
  void transposeOperand(BodyEmitter &emitter, const Square &square);
  void writeSquare(const Square &square, ArrayRef<Value> lines, int64_t column);
  /// The thread's rows of a tile that is whole: all at once for each row of a square.
  void emitWhole(MutableArrayRef<std::unique_ptr<BodyEmitter>> emitters);
  /// Its rows of any tile, one by one.
  void emitRows(BodyEmitter &emitter);
  /// Gives the transposed operands the thread's vectors in row `row` of a square, the one numbered `of`.
  void readSquares(BodyEmitter &emitter, Value row, Value of);
  void store(BodyEmitter &emitter);
  void setOuter(BodyEmitter &emitter);
  /// Whether a thread has registers for what it reads of all rows of a tile.
  bool readsTogether() const;
  /// `at`, or the last vector of rows or columns if that is behind the end.
  Value withinEnd(Value at, const ir::Size &size);

  KernelBuilder &kernel;
  ir::ScheduleAttr schedule;
  ir::TransposedDomain domain;
  int64_t vector, tile, threads, warps; ///< elements of a vector and of a side of a tile
  TileBody body;
  SmallVector<Square> squares;
  Value lane, warp;
  Value before, between, firstRow, firstColumn; ///< of the block's tile
  Value exists;                                 ///< whether there is such a tile; null if there is
};

} // namespace

void TransposedEmitter::findSquares() {
  const int64_t most = schedule.number(ir::ScheduleField::squares),
                bytes = ir::transposedBytes(kernel.fusion, schedule.toSchedule());
  for (int id : body.graph.ordered(body.roots)) {
    const auto found = static_cast<int64_t>(squares.size());
    if (found == most || !body.isTransposed(body.graph.node(id)))
      continue;
    Type memory = KernelBuilder::memoryType(getElementTypeOrSelf(body.graph.node(id).value.getType()));
    squares.push_back({id, kernel.scratchView(found * bytes, tile * pitch * vector, memory)});
  }
}

void TransposedEmitter::findTile() {
  Value task = kernel.begin;
  // The quotient and remainder of the task's number by a number of tiles, which is 0 only if there are none.
  auto split = [&](Value number, const ir::Size &by) -> std::pair<Value, Value> {
    if (by == 1)
      return {number, kernel.index(0)};
    Value divisor = kernel.index(by);
    if (!kernel.ranges.isAtLeast(by, 1))
      divisor = kernel.create<arith::MaxSIOp>(divisor, kernel.index(1));
    return {kernel.create<arith::DivUIOp>(number, divisor), kernel.create<arith::RemUIOp>(number, divisor)};
  };
  auto [rest, columnTile] = split(task, ir::ceilDiv(domain.columns, tile));
  auto [outer, rowTile] = split(rest, ir::ceilDiv(domain.rows, tile));
  std::tie(before, between) = split(outer, domain.between);
  firstRow = kernel.mul(rowTile, tile);
  firstColumn = kernel.mul(columnTile, tile);
  // With sizes that are not known, there may be more tasks than tiles, and no rows or columns at all.
  auto mustBeBelow = [&](Value at, const ir::Size &size) {
    Value isBelow = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, at, kernel.index(size));
    exists = exists ? kernel.create<arith::AndIOp>(exists, isBelow).getResult() : isBelow;
  };
  if (!domain.rows.isNumber() || !domain.columns.isNumber())
    mustBeBelow(before, domain.before);
  if (!domain.rows.isNumber())
    mustBeBelow(firstRow, domain.rows);
  if (!domain.columns.isNumber())
    mustBeBelow(firstColumn, domain.columns);
}

Status TransposedEmitter::emit() {
  if (!body.status.ok())
    return body.status;
  findSquares();
  Value thread = threadOf(kernel, threads);
  lane = kernel.create<arith::RemUIOp>(thread, kernel.index(ir::warpThreads));
  warp = kernel.create<arith::DivUIOp>(thread, kernel.index(ir::warpThreads));
  findTile();
  // All threads of a block have the same tile, so either none or all of them meet at the barrier.
  if (exists)
    kernel.ifThen(exists, [&] { emitTile(); });
  else
    emitTile();
  return {};
}

void TransposedEmitter::setOuter(BodyEmitter &emitter) {
  emitter.setVar(body.before, before);
  emitter.setVar(body.between, between);
}

void TransposedEmitter::emitTile() {
  if (!squares.empty()) {
    BodyEmitter emitter(kernel, body.graph);
    setOuter(emitter);
    for (const Square &square : squares)
      transposeOperand(emitter, square);
    kernel.mapping.barrier(kernel);
  }
  const bool isExact = ir::isMultipleOf(domain.rows, tile) && ir::isMultipleOf(domain.columns, tile);
  auto makeEmitter = [&] {
    auto emitter = std::make_unique<BodyEmitter>(kernel, body.graph);
    setOuter(*emitter);
    return emitter;
  };
  if (!readsTogether())
    return emitRows(*makeEmitter());
  SmallVector<std::unique_ptr<BodyEmitter>> whole;
  for (int64_t i = 0; i < side / warps; ++i)
    whole.push_back(makeEmitter());
  if (isExact)
    return emitWhole(whole);
  auto ends = [&](Value first, const ir::Size &size) -> Value {
    return kernel.create<arith::CmpIOp>(arith::CmpIPredicate::sle, kernel.addIndex(first, tile),
                                        kernel.index(size));
  };
  Value isWhole =
      kernel.create<arith::AndIOp>(ends(firstRow, domain.rows), ends(firstColumn, domain.columns));
  auto single = makeEmitter();
  kernel.ifThen(isWhole, [&] { emitWhole(whole); }, [&] { emitRows(*single); });
}

bool TransposedEmitter::readsTogether() const {
  constexpr int64_t most = 32;
  int64_t loads = 0;
  for (int id : body.graph.ordered(body.roots))
    loads += body.graph.node(id).kind == BodyNode::load;
  return loads * vector * (side / warps) <= most;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Value TransposedEmitter::withinEnd(Value at, const ir::Size &size) {
  return ir::isMultipleOf(size, tile) ? at : kernel.minimum(at, kernel.index(size - vector));
}

void TransposedEmitter::transposeOperand(BodyEmitter &emitter, const Square &square) {
  const BodyNode &node = body.graph.node(square.node);
  Type memory = cast<MemRefType>(square.buffer.getType()).getElementType();
  for (int dep : node.deps) // the start of a window
    emitter.emit(dep);
  Value row = withinEnd(kernel.add(firstRow, kernel.mul(lane, vector)), domain.rows);
  // All loads come before the first store, so that memory answers them together.
  SmallVector<SmallVector<Value>> loaded;
  for (int64_t i = 0; i < side; i += warps) {
    Value column = kernel.mul(kernel.addIndex(warp, i), vector);
    column = withinEnd(kernel.add(firstColumn, column), domain.columns);
    kernel.pushScope(nullptr);
    emitter.setVar(body.row, row);
    emitter.setVar(body.column, column);
    SmallVector<Value> lines;
    for (int64_t j = 0; j < vector; ++j) {
      IndexExpr line = node.expr;
      line.constant += j * line.lane;
      line.lane = vector > 1 ? 1 : 0;
      lines.push_back(emitter.load(kernel.operand(node.argument), line, memory));
    }
    kernel.popScope();
    loaded.push_back(std::move(lines));
  }
  for (auto [i, lines] : llvm::enumerate(loaded)) {
    transposeSquare(kernel, lines);
    writeSquare(square, lines, static_cast<int64_t>(i) * warps);
  }
}

void TransposedEmitter::writeSquare(const Square &square, ArrayRef<Value> lines, int64_t column) {
  Value first = kernel.add(kernel.mul(lane, pitch), warp);
  for (auto [k, line] : llvm::enumerate(lines)) {
    Value at = kernel.mul(kernel.addIndex(first, static_cast<int64_t>(k) * side * pitch + column), vector);
    if (vector > 1)
      kernel.create<vector::StoreOp>(line, square.buffer, ValueRange{at});
    else
      kernel.create<memref::StoreOp>(line, square.buffer, ValueRange{at});
  }
}

void TransposedEmitter::readSquares(BodyEmitter &emitter, Value row, Value of) {
  Value line = kernel.add(kernel.mul(of, side * pitch), kernel.mul(row, pitch));
  Value at = kernel.mul(kernel.add(line, lane), vector);
  for (const Square &square : squares) {
    Type element = getElementTypeOrSelf(body.graph.node(square.node).value.getType());
    emitter.setNode(square.node, emitter.loadVector(square.buffer, at, element));
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void TransposedEmitter::store(BodyEmitter &emitter) {
  // Compute all values before the first store, because an operand may share its buffer with a result.
  SmallVector<Value> values;
  for (int root : body.roots)
    values.push_back(emitter.emit(root));
  emitter.storeResults(values, body.address, {});
}

void TransposedEmitter::emitWhole(MutableArrayRef<std::unique_ptr<BodyEmitter>> emitters) {
  Value column = kernel.add(firstColumn, kernel.mul(lane, vector));
  for (auto &emitter : emitters)
    emitter->setVar(body.column, column);
  auto emitPart = [&](Value k) {
    for (auto [i, emitter] : llvm::enumerate(emitters)) {
      Value row = kernel.addIndex(warp, static_cast<int64_t>(i) * warps);
      emitter->setVar(body.row, kernel.add(firstRow, kernel.add(kernel.mul(row, vector), k)));
      readSquares(*emitter, row, k);
      for (int id : body.graph.ordered(body.roots))
        if (body.graph.node(id).kind == BodyNode::load)
          emitter->emit(id);
    }
    for (auto &emitter : emitters)
      store(*emitter);
  };
  if (vector == 1)
    return emitPart(kernel.index(0));
  kernel.forLoop(kernel.index(0), kernel.index(vector), 1, emitPart);
}

void TransposedEmitter::emitRows(BodyEmitter &emitter) {
  Value column = kernel.add(firstColumn, kernel.mul(lane, vector));
  Value isInside =
      kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, column, kernel.index(domain.columns));
  // Rows are whole vectors, so squares end at the end of the domain.
  Value rest = kernel.create<arith::SubIOp>(kernel.index(domain.rows), firstRow);
  if (vector > 1)
    rest = kernel.create<arith::DivUIOp>(rest, kernel.index(vector));
  Value end = kernel.minimum(rest, kernel.index(side));
  kernel.ifThen(isInside, [&] {
    emitter.setVar(body.column, column);
    kernel.forLoop(warp, end, warps, [&](Value row) {
      auto emitRow = [&](Value k) {
        emitter.setVar(body.row, kernel.add(firstRow, kernel.add(kernel.mul(row, vector), k)));
        readSquares(emitter, row, k);
        store(emitter);
      };
      if (vector == 1)
        return emitRow(kernel.index(0));
      kernel.forLoop(kernel.index(0), kernel.index(vector), 1, emitRow);
    });
  });
}

Status detail::emitBlockTransposed(KernelBuilder &kernel) { return TransposedEmitter(kernel).emit(); }

} // namespace weft::codegen
