//===- EmitColumn.cpp - Kernels with reductions down columns --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The domain is [outer][rows][inner]; a task is a block of the columns of one outer index. A pass reads the
// rows in order, 8 at a time (the schedule's `rows`), and adds them to each other before it adds them to the
// partial result of their column:
//
//   partial = partial + (((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7)))
//
// The remaining rows are added one at a time. The partial results of a block are in scratch, which stays in
// the first-level cache, so a row of the block is read as one contiguous run, however many rows there are.
//
// The first pass reads four rows in one loop over the columns, and prefetches later rows. A loop over eight
// rows would read more streams than a processor tracks. If the distance between rows is a power of two, it
// would also use more lines of one cache set than a first-level cache has. The sum of the first four rows is
// kept in scratch until the other four are read.
//
// Each level of dependent reductions takes one pass over the rows of the block. The first pass brings the
// rows into the second-level cache, if the schedule's block is narrow enough. Some values depend only on the
// column and the results of reductions, and later passes need them at every row; they are computed once for
// each column after the pass, and kept in scratch. Results of the domain's shape are stored in the last pass.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/skeletons/CpuSkeletons.h"
#include "codegen/emit/KernelBuilder.h"
#include "codegen/emit/Reducer.h"
#include "codegen/emit/ReductionBody.h"

#include "ir/Schedule.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
namespace weft::codegen {

namespace {

struct TaskBody : ColumnBody {
  TaskBody(ir::FusionOp fusion, const ir::ColumnShape &shape, int64_t block, int64_t lanes)
      : ColumnBody(fusion, shape, lanes) {
    inTask = space.addLoop(columns - 1, lanes);
    scratchAddress = space.expr(inTask);
    scratchAddress.lane = lanes > 1 ? 1 : 0;
    scratchRow = add(scale(space.expr(row), block), scratchAddress);
    for (Value value : ir::spreadValues(fusion))
      graph.request(value, kept);
  }

  VarId inTask;             ///< the column, counted from the first of the task
  IndexExpr scratchAddress; ///< of an array in scratch with one element a column
  IndexExpr scratchRow;     ///< of an array in scratch with one element for each row and column
};

class ColumnEmitter {
public:
  ColumnEmitter(KernelBuilder &kernel, const ir::ColumnShape &shape, int64_t lanes)
      : kernel(kernel), fusion(kernel.fusion), schedule(*fusion.getSchedule()), shape(shape), lanes(lanes),
        rowsAtOnce(schedule.number(ir::ScheduleField::rows)),
        block(schedule.number(ir::ScheduleField::block)), vectors(fusion, shape, block, lanes),
        scalars(fusion, shape, block, 1) {}
  Status prepare();
  void emitTasks(ArrayRef<Value> streams);

private:
  /// A value of the body that one pass stores in scratch for later passes.
  struct Stored {
    Value value;
    unsigned pass; ///< of `kept`: the pass that stores it; of `spread`: the number of passes before it
    Value buffer;
  };
  using Visit = llvm::function_ref<void(TaskBody &, BodyEmitter &)>;
  /// Emits a loop over the columns of the task, in vectors and then single columns.
  void columns(Visit visit);
  void storeRoots(TaskBody &body, BodyEmitter &emitter, bool domainShaped);
  using Buffers = SmallVector<SmallVector<Value, 2>>; ///< in scratch, per reducer
  /// Loads the state of a reducer from scratch; `count` is the number of rows that it combines.
  Reducer::State loadState(TaskBody &body, BodyEmitter &emitter, const Buffers &buffers, unsigned reducer,
                           Value count);
  void storeState(TaskBody &body, BodyEmitter &emitter, const Buffers &buffers, unsigned reducer,
                  const Reducer::State &state);
  /// Sets the nodes of a value to its element in scratch at `address`.
  void restore(TaskBody &body, BodyEmitter &emitter, const Stored &stored, const IndexExpr &address);
  void restoreSpread(TaskBody &body, BodyEmitter &emitter, unsigned passesDone);
  /// Sets the nodes that read results of the reductions of the first `passesDone` passes.
  void setResults(TaskBody &body, BodyEmitter &emitter, unsigned passesDone);
  /// Emits one row: appends the elements that the reductions of the pass read to `states`, stores the values
  /// that the pass keeps, and stores results in the last pass. `asksAhead`: also prefetches later rows.
  void step(unsigned pass, TaskBody &body, BodyEmitter &emitter, Value row, bool asksAhead,
            MutableArrayRef<SmallVector<Reducer::State>> states);
  /// `whole`: the rows are combined with the partial results. `firstHalf`: they are stored in `halves`.
  /// `secondHalf`: they are combined with `halves`, and that with the partial results.
  enum class Part { whole, firstHalf, secondHalf };
  /// Emits `count` rows from `row` on.
  void emitRows(unsigned pass, Value row, int64_t count, Part part);
  void emitPass(unsigned pass);
  void emitTask(Value task);

  KernelBuilder &kernel;
  ir::FusionOp fusion;
  ir::ScheduleAttr schedule;
  ir::ColumnShape shape;
  int64_t lanes, rowsAtOnce, block;
  TaskBody vectors, scalars;
  SmallVector<Reducer> reducers;
  SmallVector<unsigned> passOf; ///< of each reducer
  Buffers partials, halves;
  SmallVector<Stored> spread, kept;
  unsigned lastPass = 0;
  SmallVector<unsigned> active; ///< the reducers of the pass being emitted
  BodyEmitter *vectorEmitter = nullptr, *scalarEmitter = nullptr;
  SmallVector<Value> streams; ///< results that bypass the cache, or null
  Value low, high;            ///< columns of the task
};

//===----------------------------------------------------------------------===//
// Scratch
//===----------------------------------------------------------------------===//

Status ColumnEmitter::prepare() {
  for (ColumnBody *body : {&vectors, &scalars})
    if (Status status = body->graph.expand(); !status.ok())
      return status;
  auto passes = ir::reductionPasses(fusion);
  lastPass = ir::lastReductionPass(fusion);
  for (Operation &op : fusion.getBody().front().without_terminator())
    if (ir::isReductionOp(&op)) {
      reducers.emplace_back(kernel, &op);
      passOf.push_back(passes.lookup(op.getOperand(0)));
    }
  // A block is a multiple of 16 columns, so every array begins at a multiple of its element's size.
  int64_t offset = 0;
  auto allocate = [&](Type type, int64_t rows) {
    Value buffer = kernel.scratchView(offset, rows * block, type);
    offset += rows * block * static_cast<int64_t>(llvm::divideCeil(type.getIntOrFloatBitWidth(), 8));
    return buffer;
  };
  for (Buffers *all : {&partials, &halves})
    for (auto [reducer, pass] : llvm::zip(reducers, passOf)) {
      auto &buffers = all->emplace_back();
      if (all == &partials || pass == 0)
        for (Type type : reducer.types())
          buffers.push_back(allocate(KernelBuilder::memoryType(type), 1));
    }
  auto memoryOf = [](Value value) {
    return KernelBuilder::memoryType(cast<RankedTensorType>(value.getType()).getElementType());
  };
  for (Value value : ir::spreadValues(fusion))
    spread.push_back({value, passes.lookup(value), allocate(memoryOf(value), 1)});
  for (auto [value, pass] : ir::keptValues(fusion, schedule.getKeep()))
    kept.push_back({value, pass, allocate(memoryOf(value), shape.rows.asNumber())});
  return {};
}

Reducer::State ColumnEmitter::loadState(TaskBody &body, BodyEmitter &emitter, const Buffers &buffers,
                                        unsigned reducer, Value count) {
  Reducer::State state;
  for (auto [buffer, type] : llvm::zip(buffers[reducer], reducers[reducer].types()))
    state.push_back(emitter.load(buffer, body.scratchAddress, type));
  return reducers[reducer].restore(state, count);
}

void ColumnEmitter::storeState(TaskBody &body, BodyEmitter &emitter, const Buffers &buffers, unsigned reducer,
                               const Reducer::State &state) {
  for (auto [buffer, value] : llvm::zip(buffers[reducer], state)) // the count is passed to loadState()
    emitter.store(buffer, body.scratchAddress, value);
}

void ColumnEmitter::restore(TaskBody &body, BodyEmitter &emitter, const Stored &stored,
                            const IndexExpr &address) {
  Type element = cast<RankedTensorType>(stored.value.getType()).getElementType();
  Value value = emitter.load(stored.buffer, address, element);
  for (int node : body.graph.nodesOf(stored.value))
    emitter.setNode(node, value);
}

void ColumnEmitter::restoreSpread(TaskBody &body, BodyEmitter &emitter, unsigned passesDone) {
  for (const Stored &value : spread)
    if (value.pass <= passesDone)
      restore(body, emitter, value, body.scratchAddress);
}

void ColumnEmitter::setResults(TaskBody &body, BodyEmitter &emitter, unsigned passesDone) {
  for (unsigned i = 0; i < reducers.size(); ++i)
    if (passOf[i] < passesDone) {
      Reducer::State state = loadState(body, emitter, partials, i, kernel.index(shape.rows));
      for (auto [node, value] : llvm::zip(body.results[i], reducers[i].finish(state)))
        emitter.setNode(node, value);
    }
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

void ColumnEmitter::columns(Visit visit) {
  kernel.parallelFor(low, high, lanes, ir::isMultipleOf(vectors.columns, lanes),
                     [&](Value column, bool vector) {
                       TaskBody &body = vector ? vectors : scalars;
                       BodyEmitter &emitter = vector ? *vectorEmitter : *scalarEmitter;
                       emitter.setVar(body.column, column);
                       emitter.setVar(body.inTask, kernel.create<arith::SubIOp>(column, low));
                       visit(body, emitter);
                     });
}

void ColumnEmitter::storeRoots(TaskBody &body, BodyEmitter &emitter, bool domainShaped) {
  // Compute all values before the first store, because an operand may share its buffer with a result.
  SmallVector<Value> values;
  for (auto [i, root] : llvm::enumerate(body.roots))
    values.push_back(body.ofDomain[i] == domainShaped ? emitter.emit(root) : Value());
  for (auto [i, value] : llvm::enumerate(values)) {
    if (!value)
      continue;
    bool stream = domainShaped && body.space.lanes > 1 && !streams.empty() && streams[i];
    emitter.store(stream ? streams[i] : kernel.result(static_cast<unsigned>(i)),
                  domainShaped ? body.address : body.keptAddress, value, stream);
  }
}

void ColumnEmitter::step(unsigned pass, TaskBody &body, BodyEmitter &emitter, Value row, bool asksAhead,
                         MutableArrayRef<SmallVector<Reducer::State>> states) {
  bool vector = body.space.lanes > 1;
  emitter.setVar(body.row, row);
  // A value that is the same in every column is a scalar in vector code. It is computed again, not kept.
  auto isKept = [&](const Stored &value) {
    return !vector || llvm::any_of(body.graph.nodesOf(value.value),
                                   [&](int node) { return body.graph.node(node).vector; });
  };
  for (const Stored &value : kept)
    if (value.pass < pass && isKept(value))
      restore(body, emitter, value, body.scratchRow);
  // The task's part of a row is short, so prefetch the same columns of a later row: half of `rowsAtOnce` rows
  // ahead if those hold 8 KiB, otherwise `rowsAtOnce` rows ahead. If the distance between rows is a dynamic
  // size, do not prefetch.
  if (asksAhead) {
    SmallVector<int> roots;
    for (unsigned i : active)
      roots.push_back(body.operands[i]);
    emitter.prefetch(roots, [&](const BodyNode &node) -> int64_t {
      constexpr int64_t enough = 8 << 10;
      int64_t half = rowsAtOnce / 2, columns = std::min(block, shape.inner.number().value_or(block)),
              bytes = columns * static_cast<int64_t>(itemsize(ir::dtypeOf(node.value.getType())));
      return coefficientOf(node.expr, body.row).number().value_or(0) *
             (half * bytes >= enough ? half : rowsAtOnce);
    });
  }
  Value position = kernel.create<arith::IndexCastOp>(kernel.builder.getI64Type(), row);
  for (auto [level, i] : llvm::zip(states, active)) {
    Value element = emitter.emit(body.operands[i]);
    level.push_back(reducers[i].lift(vector ? emitter.toVector(element) : element,
                                     vector && reducers[i].isArg ? emitter.toVector(position) : position));
  }
  for (const Stored &value : kept)
    if (value.pass == pass && isKept(value))
      emitter.store(value.buffer, body.scratchRow, emitter.emit(body.graph.nodesOf(value.value).front()));
  if (pass == lastPass)
    storeRoots(body, emitter, /*domainShaped=*/true);
}

void ColumnEmitter::emitRows(unsigned pass, Value row, int64_t count, Part part) {
  columns([&](TaskBody &body, BodyEmitter &emitter) {
    restoreSpread(body, emitter, pass);
    SmallVector<SmallVector<Reducer::State>> states(active.size());
    for (int64_t u = 0; u < count; ++u) {
      kernel.pushScope(nullptr);
      bool asksAhead = pass == 0 && count > 1 && body.space.lanes > 1;
      step(pass, body, emitter, kernel.addIndex(row, u), asksAhead, states);
      kernel.popScope();
    }
    for (auto [level, i] : llvm::zip(states, active)) {
      while (level.size() > 1) {
        SmallVector<Reducer::State> next;
        for (size_t k = 0; k + 1 < level.size(); k += 2)
          next.push_back(reducers[i].combine(level[k], level[k + 1]));
        level = std::move(next);
      }
      Reducer::State &rows = level[0];
      if (part == Part::firstHalf) {
        storeState(body, emitter, halves, i, rows);
        continue;
      }
      Value before = row;
      if (part == Part::secondHalf) {
        rows = reducers[i].combine(loadState(body, emitter, halves, i, kernel.index(count)), rows);
        before = kernel.addIndex(row, -count);
      }
      storeState(body, emitter, partials, i,
                 reducers[i].combine(loadState(body, emitter, partials, i, before), rows));
    }
  });
}

void ColumnEmitter::emitPass(unsigned pass) {
  active.clear();
  for (unsigned i = 0; i < reducers.size(); ++i)
    if (passOf[i] == pass)
      active.push_back(i);
  if (!active.empty())
    columns([&](TaskBody &body, BodyEmitter &emitter) {
      for (unsigned i : active)
        storeState(body, emitter, partials, i, reducers[i].identity(body.space.lanes));
    });
  auto rows = [&](Value begin, Value end, int64_t count) {
    kernel.forLoop(begin, end, count, [&](Value row) {
      if (pass > 0 || count == 1)
        return emitRows(pass, row, count, Part::whole);
      emitRows(pass, row, count / 2, Part::firstHalf);
      emitRows(pass, kernel.addIndex(row, count / 2), count / 2, Part::secondHalf);
    });
  };
  Value zero = kernel.index(0), end = kernel.index(shape.rows);
  if (active.empty()) {
    // This pass only stores results, which are written in the order of memory.
    rows(zero, end, 1);
  } else if (shape.rows.isNumber()) {
    int64_t number = shape.rows.asNumber(), whole = number / rowsAtOnce * rowsAtOnce;
    if (whole > 0)
      rows(zero, kernel.index(whole), rowsAtOnce);
    if (whole != number)
      rows(kernel.index(whole), end, 1);
  } else {
    Value rest = kernel.create<arith::RemUIOp>(end, kernel.index(rowsAtOnce));
    Value whole = kernel.create<arith::SubIOp>(end, rest);
    rows(zero, whole, rowsAtOnce);
    rows(whole, end, 1);
  }
  if (llvm::none_of(spread, [&](const Stored &value) { return value.pass == pass + 1; }))
    return;
  columns([&](TaskBody &body, BodyEmitter &emitter) {
    restoreSpread(body, emitter, pass);
    setResults(body, emitter, pass + 1);
    for (const Stored &value : spread)
      if (value.pass == pass + 1)
        emitter.store(value.buffer, body.scratchAddress,
                      emitter.emit(body.graph.nodesOf(value.value).front()));
  });
}

void ColumnEmitter::emitTask(Value task) {
  Value number = task;
  if (shape.outer != 1) {
    Value blocks = kernel.index(shape.blocks(block));
    Value matrix = kernel.create<arith::DivUIOp>(task, blocks);
    number = kernel.create<arith::RemUIOp>(task, blocks);
    vectorEmitter->setVar(vectors.matrix, matrix);
    scalarEmitter->setVar(scalars.matrix, matrix);
  }
  low = kernel.mul(number, block);
  high = kernel.minimum(kernel.addIndex(low, block), kernel.index(shape.inner));
  for (unsigned pass = 0; pass <= lastPass; ++pass)
    emitPass(pass);
  if (llvm::all_of(vectors.ofDomain, [](bool ofDomain) { return ofDomain; }))
    return;
  columns([&](TaskBody &body, BodyEmitter &emitter) {
    setResults(body, emitter, lastPass + 1);
    storeRoots(body, emitter, /*domainShaped=*/false);
  });
}

void ColumnEmitter::emitTasks(ArrayRef<Value> usable) {
  streams.assign(usable.begin(), usable.end());
  BodyEmitter vector(kernel, vectors.graph), scalar(kernel, scalars.graph);
  vectorEmitter = &vector;
  scalarEmitter = &scalar;
  // With dynamic sizes there may be more tasks than blocks of columns.
  Value end = kernel.end;
  if (shape.outer != 1 && !shape.inner.isNumber()) {
    Value outer = kernel.index(shape.outer), blocks = kernel.index(shape.blocks(block));
    end = kernel.minimum(end, kernel.create<arith::MulIOp>(outer, blocks));
  }
  kernel.forLoop(kernel.begin, end, 1, [&](Value task) { emitTask(task); });
}

} // namespace

Status detail::emitColumn(KernelBuilder &kernel) {
  ir::ColumnShape shape = ir::columnShape(kernel.fusion);
  // The results are empty, but the number of tasks may not be 0 if sizes are dynamic.
  if (shape.outer == 0 || shape.inner == 0)
    return {};
  ir::ScheduleAttr schedule = *kernel.fusion.getSchedule();
  int64_t lanes = schedule.getVector();
  if (shape.inner.number().value_or(lanes) < lanes)
    lanes = 1;
  ColumnEmitter columns(kernel, shape, lanes);
  Status status = columns.prepare();
  if (!status.ok())
    return status;
  // A streaming store writes a whole vector at a multiple of its size, so the rows must begin at multiples.
  bool streaming = schedule.getStreaming() && ir::isMultipleOf(shape.inner, lanes);
  kernel.withStreams(streaming, lanes, [&](ArrayRef<Value> streams) { columns.emitTasks(streams); });
  return {};
}

} // namespace weft::codegen
