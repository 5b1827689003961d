//===- EmitColumn.cpp - Reductions along columns --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A task is a block of columns. Rows are read in order, 8 at a time (the schedule's `rows`):
//
//   partial = partial + ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7))   with the eight added first
//
// and what is left of the rows is added one by one. The partial results of the block lie in scratch, which
// stays in the first-level cache, so that memory is read in long runs however many rows there are.
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/EmitKernel.h"
#include "codegen/emit/Loops.h"
#include "codegen/emit/Reducer.h"
#include "codegen/emit/ReductionBody.h"

#include "ir/Schedule.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
namespace weft::codegen {

namespace {

struct ColumnBody : ReductionBody {
  ColumnBody(ir::FusionOp fusion, int64_t lanes) : ReductionBody(fusion, fusion.getNumReducedDims(), lanes) {
    unsigned reduced = fusion.getNumReducedDims();
    unsigned keptDims = static_cast<unsigned>(fusion.getDomain().size()) - reduced;
    inTask = space.addLoop(columns - 1, lanes);
    // A domain without kept dimensions has one column.
    graph.setKeptIndex(keptDims ? inRow : IndexExpr());
    whole.groups.push_back({reduced, rows, space.expr(row)});
    if (keptDims) {
      kept.groups.push_back({keptDims, columns, inRow});
      whole.groups.push_back({keptDims, columns, inRow});
    }
    address = linearIndex(space, whole);
    keptAddress = linearIndex(space, kept);
    scratchAddress = space.expr(inTask);
    scratchAddress.lane = lanes > 1 ? 1 : 0;
    requestAll();
    status = graph.expand();
  }

  VarId inTask;             ///< the column, counted from the first of the task
  IndexExpr scratchAddress; ///< of a column's partial results
  Status status;
};

class ColumnEmitter {
public:
  ColumnEmitter(KernelBuilder &kernel, int64_t lanes)
      : kernel(kernel), fusion(kernel.fusion), lanes(lanes),
        rowsAtOnce(fusion.getSchedule()->number(ir::ScheduleField::rows)),
        block(fusion.getSchedule()->number(ir::ScheduleField::block)), vectors(fusion, lanes),
        scalars(fusion, 1) {}
  Status emit();

private:
  using Visit = llvm::function_ref<void(ColumnBody &, BodyEmitter &)>;
  /// Runs over the columns of the task.
  void columns(Visit visit);
  void storeRoots(ColumnBody &body, BodyEmitter &emitter, bool domainShaped);
  /// What the rows before `row` leave.
  Reducer::State loadState(ColumnBody &body, BodyEmitter &emitter, unsigned reducer, Value row);
  void storeState(ColumnBody &body, BodyEmitter &emitter, unsigned reducer, const Reducer::State &state);
  void accumulate(Value row, int64_t count, bool storeOnTheWay);
  void emitTask(Value task);

  KernelBuilder &kernel;
  ir::FusionOp fusion;
  int64_t lanes, rowsAtOnce, block;
  ColumnBody vectors, scalars;
  SmallVector<Reducer> reducers;
  SmallVector<SmallVector<Value, 2>> partials; ///< in scratch, per reducer
  bool secondPass = false;                     ///< a result of the domain's shape needs a reduction
  BodyEmitter *vectorEmitter = nullptr, *scalarEmitter = nullptr;
  Value low, high; ///< columns of the task
};

void ColumnEmitter::columns(Visit visit) {
  strip(kernel, low, high, lanes, ir::isMultipleOf(vectors.columns, lanes), [&](Value column, bool vector) {
    ColumnBody &body = vector ? vectors : scalars;
    BodyEmitter &emitter = vector ? *vectorEmitter : *scalarEmitter;
    emitter.setVar(body.column, column);
    emitter.setVar(body.inTask, kernel.create<arith::SubIOp>(column, low));
    visit(body, emitter);
  });
}

void ColumnEmitter::storeRoots(ColumnBody &body, BodyEmitter &emitter, bool domainShaped) {
  SmallVector<Value> values;
  for (auto [i, root] : llvm::enumerate(body.roots))
    values.push_back(body.ofDomain[i] == domainShaped ? emitter.emit(root) : Value());
  for (auto [i, value] : llvm::enumerate(values))
    if (value)
      emitter.store(kernel.result(static_cast<unsigned>(i)), domainShaped ? body.address : body.keptAddress,
                    value);
}

Reducer::State ColumnEmitter::loadState(ColumnBody &body, BodyEmitter &emitter, unsigned reducer, Value row) {
  Reducer::State state;
  for (auto [buffer, type] : llvm::zip(partials[reducer], reducers[reducer].types()))
    state.push_back(emitter.load(buffer, body.scratchAddress, type));
  return reducers[reducer].restore(state, row);
}

void ColumnEmitter::storeState(ColumnBody &body, BodyEmitter &emitter, unsigned reducer,
                               const Reducer::State &state) {
  for (auto [buffer, value] : llvm::zip(partials[reducer], state)) // not the count, which the row tells
    emitter.store(buffer, body.scratchAddress, value);
}

/// Adds `count` rows from `row` on to the partial results.
void ColumnEmitter::accumulate(Value row, int64_t count, bool storeOnTheWay) {
  columns([&](ColumnBody &body, BodyEmitter &emitter) {
    bool vector = body.space.lanes > 1;
    SmallVector<SmallVector<Reducer::State>> states(reducers.size());
    for (int64_t u = 0; u < count; ++u) {
      kernel.pushScope(nullptr);
      Value current = kernel.addIndex(row, u);
      emitter.setVar(body.row, current);
      Value position = kernel.create<arith::IndexCastOp>(kernel.builder.getI64Type(), current);
      // Each row is short: the same columns of the next rows are asked for. How far away they are may be a
      // size of the call; then nothing is.
      if (vector && count > 1)
        emitter.prefetch(body.operands, [&](const BodyNode &node) -> int64_t {
          return coefficientOf(node.expr, body.row).number().value_or(0) * count;
        });
      for (auto [i, reducer] : llvm::enumerate(reducers)) {
        Value element = emitter.emit(body.operands[i]);
        states[i].push_back(reducer.lift(vector ? emitter.toVector(element) : element,
                                         vector && reducer.isArg ? emitter.toVector(position) : position));
      }
      if (storeOnTheWay)
        storeRoots(body, emitter, /*domainShaped=*/true);
      kernel.popScope();
    }
    for (auto [i, reducer] : llvm::enumerate(reducers)) {
      auto &level = states[i];
      while (level.size() > 1) {
        SmallVector<Reducer::State> next;
        for (size_t k = 0; k + 1 < level.size(); k += 2)
          next.push_back(reducer.combine(level[k], level[k + 1]));
        level = std::move(next);
      }
      auto number = static_cast<unsigned>(i);
      storeState(body, emitter, number, reducer.combine(loadState(body, emitter, number, row), level[0]));
    }
  });
}

void ColumnEmitter::emitTask(Value task) {
  low = kernel.mul(task, block);
  high = kernel.minimum(kernel.addIndex(low, block), kernel.index(vectors.columns));
  columns([&](ColumnBody &body, BodyEmitter &emitter) {
    for (auto [i, reducer] : llvm::enumerate(reducers))
      storeState(body, emitter, static_cast<unsigned>(i), reducer.identity(body.space.lanes));
  });
  auto blocks = [&](Value begin, Value end) {
    kernel.forLoop(begin, end, rowsAtOnce, [&](Value row) { accumulate(row, rowsAtOnce, !secondPass); });
  };
  auto single = [&](Value begin, Value end) {
    kernel.forLoop(begin, end, 1, [&](Value row) { accumulate(row, 1, !secondPass); });
  };
  const ir::Size rows = vectors.rows;
  if (!rows.isNumber()) {
    Value end = kernel.index(rows);
    Value middle = kernel.create<arith::SubIOp>(
        end, kernel.create<arith::RemUIOp>(end, kernel.index(rowsAtOnce)).getResult());
    blocks(kernel.index(0), middle);
    single(middle, end);
  } else {
    int64_t blocksEnd = rows.asNumber() / rowsAtOnce * rowsAtOnce;
    if (blocksEnd > 0)
      blocks(kernel.index(0), kernel.index(blocksEnd));
    if (blocksEnd != rows)
      single(kernel.index(blocksEnd), kernel.index(rows));
  }
  auto setResults = [&](ColumnBody &body, BodyEmitter &emitter) {
    for (unsigned i = 0; i < reducers.size(); ++i)
      for (auto [node, value] :
           llvm::zip(body.results[i], reducers[i].finish(loadState(body, emitter, i, kernel.index(rows)))))
        emitter.setNode(node, value);
  };
  if (secondPass)
    kernel.forLoop(kernel.index(0), kernel.index(rows), 1, [&](Value row) {
      columns([&](ColumnBody &body, BodyEmitter &emitter) {
        emitter.setVar(body.row, row);
        setResults(body, emitter);
        storeRoots(body, emitter, /*domainShaped=*/true);
      });
    });
  columns([&](ColumnBody &body, BodyEmitter &emitter) {
    setResults(body, emitter);
    storeRoots(body, emitter, /*domainShaped=*/false);
  });
}

Status ColumnEmitter::emit() {
  for (Status *status : {&vectors.status, &scalars.status})
    if (!status->ok())
      return *status;
  auto passes = ir::rowPasses(fusion);
  Block &body = fusion.getBody().front();
  int64_t offset = 0;
  // Values of eight bytes first, so that each lies at a multiple of its size.
  for (Operation &op : body.without_terminator())
    if (ir::isReductionOp(&op))
      reducers.emplace_back(kernel, &op);
  for (Reducer &reducer : reducers) {
    SmallVector<Value, 2> buffers;
    for (Type type : reducer.types()) {
      buffers.push_back(kernel.scratchView(offset, block, KernelBuilder::memoryType(type)));
      offset += block * llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
    }
    partials.push_back(std::move(buffers));
  }
  for (auto [value, ofDomain] : llvm::zip(body.getTerminator()->getOperands(), vectors.ofDomain))
    secondPass |= ofDomain && passes.lookup(value) > 0;
  BodyEmitter vector(kernel, vectors.graph), scalar(kernel, scalars.graph);
  vectorEmitter = &vector;
  scalarEmitter = &scalar;
  kernel.forLoop(kernel.begin, kernel.end, 1, [&](Value task) { emitTask(task); });
  return {};
}

} // namespace

Status detail::emitColumn(KernelBuilder &kernel) {
  SmallVector<ir::Size> domain = kernel.fusion.getDomain();
  ir::Size columns = ir::productOf(ArrayRef(domain).drop_front(kernel.fusion.getNumReducedDims()));
  int64_t lanes = kernel.fusion.getSchedule()->getVector();
  return ColumnEmitter(kernel, columns.number().value_or(lanes) < lanes ? 1 : lanes).emit();
}

} // namespace weft::codegen
