//===- EmitColumn.cpp - Columns that blocks of threads share --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The domain is [outer][rows][inner]; a task is a block of the columns of one outer index. Neighbouring
// threads have neighbouring vectors of columns, so that memory is read in long runs, and `rows` threads (the
// schedule's) share each vector: thread y of r takes the rows y, y + r, .. in order. Their partial results
// meet in shared memory, and are combined by halves:
//
//   partial y of r = the rows i = y (mod r), in order
//   result         = ((p0 + p16) + (p8 + p24)) + .. for r = 32
//
// The number of rows alone determines r, and with it the order of a reduction. Each level of dependent
// reductions takes one pass over the rows. Results of the domain's shape are stored in the last pass.
//
// If only the call knows the number of rows, the kernel looks up the r that belongs to it: the threads of a
// block then share fewer or more columns, and the bits are those of a kernel that knows the number. If rows
// or columns are dynamic, blocks take turns at the columns.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/skeletons/CudaSkeletons.h"
#include "codegen/cuda/skeletons/TeamMapping.h"
#include "codegen/emit/KernelBuilder.h"
#include "codegen/emit/Reducer.h"
#include "codegen/emit/ReductionBody.h"

#include "ir/Schedule.h"

using namespace mlir;
namespace weft::codegen {

namespace {

class BlockColumnEmitter {
public:
  explicit BlockColumnEmitter(KernelBuilder &kernel)
      : kernel(kernel), fusion(kernel.fusion), schedule(*fusion.getSchedule()),
        shape(ir::columnShape(fusion)), isDynamic(!shape.rows.isNumber()),
        rows(shape.rows.number().value_or(0)), lanes(schedule.getVector()),
        block(schedule.number(ir::ScheduleField::block)), shares(schedule.number(ir::ScheduleField::rows)),
        threads(schedule.number(ir::ScheduleField::threads)), body(fusion, shape, lanes) {}

  Status prepare();
  void emitTask(Value task);

private:
  /// The turns of a block at the columns of a call whose rows or columns only the call knows.
  void emitTurns(Value task);
  /// Block `number` of the columns of one outer index.
  void emitBlock(Value outer, Value number);
  /// Emits code for the calls whose threads share columns by more than `half`.
  void ifShared(int64_t half, llvm::function_ref<void()> body);
  void emitPass(unsigned pass);
  /// One row: adds its elements to `states`, and stores results in the last pass.
  void step(unsigned pass, Value row, MutableArrayRef<Reducer::State> states);
  /// Combines the states of the threads that share columns. Each of them gets the result.
  Reducer::State combineShares(Reducer &reducer, Reducer::State own);
  /// A state of `count` rows, which is a constant then.
  Reducer::State withCount(Reducer &reducer, Reducer::State state, int64_t count);
  /// Whether all threads have as many rows.
  bool isEven() const { return !isDynamic && rows % shares == 0; }
  int64_t pieceOf(Type memory) const;
  Value placeOf(Value thread, int64_t lane, int64_t piece);
  /// A value of a state in shared memory, which has one for each thread.
  void storeShared(Value buffer, Value thread, Value value);
  Value loadShared(Value buffer, Value thread, Type type);
  void storeRoots(bool domainShaped);

  KernelBuilder &kernel;
  ir::FusionOp fusion;
  ir::ScheduleAttr schedule;
  ir::ColumnShape shape;
  bool isDynamic;          ///< whether only the call knows the number of rows
  int64_t rows;            ///< 0 if it is dynamic
  int64_t lanes, block;    ///< columns of a thread, and of a task
  int64_t shares, threads; ///< threads that share columns (at most, if dynamic), and of a block
  Value sharesOfCall;      ///< of a dynamic number of rows
  Value across;            ///< the vectors that a block has beside each other
  ColumnBody body;
  SmallVector<Reducer> reducers;
  SmallVector<unsigned> passOf; ///< of each reducer
  unsigned lastPass = 0;
  SmallVector<unsigned> active; ///< the reducers of the pass being emitted
  std::unique_ptr<BodyEmitter> emitter;
  Value thread, share;     ///< the number of the thread, and that of its share
  bool usesShared = false; ///< whether the memory holds the result of another reduction
  Value valid; ///< whether the thread's columns are of the domain; null if those of all threads are
};

Status BlockColumnEmitter::prepare() {
  auto passes = ir::reductionPasses(fusion);
  lastPass = ir::lastReductionPass(fusion);
  for (Operation &op : fusion.getBody().front().without_terminator())
    if (ir::isReductionOp(&op)) {
      reducers.emplace_back(kernel, &op);
      reducers.back().combinesEmpty = isDynamic || rows < shares;
      passOf.push_back(passes.lookup(op.getOperand(0)));
    }
  return body.graph.expand();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// The elements of a vector that are accessed together: 16 bytes at most, so that neighbouring threads have
/// neighbouring accesses, and no two of them the same banks.
int64_t BlockColumnEmitter::pieceOf(Type memory) const {
  return std::min<int64_t>(lanes, 128 / memory.getIntOrFloatBitWidth());
}

/// Where the vector's piece that begins at `lane` lies: the pieces of all threads beside each other.
Value BlockColumnEmitter::placeOf(Value thread, int64_t lane, int64_t piece) {
  return kernel.addIndex(kernel.mul(thread, piece), lane * threads);
}

void BlockColumnEmitter::storeShared(Value buffer, Value thread, Value value) {
  if (getElementTypeOrSelf(value.getType()).isInteger(1))
    value =
        kernel.create<arith::ExtUIOp>(ir::withElement(value.getType(), kernel.builder.getI8Type()), value);
  if (!isa<VectorType>(value.getType())) {
    kernel.create<memref::StoreOp>(value, buffer, ValueRange{thread});
    return;
  }
  const int64_t piece = pieceOf(getElementTypeOrSelf(value.getType()));
  for (int64_t lane = 0; lane < lanes; lane += piece) {
    Value part = piece == lanes ? value
                                : kernel.create<vector::ExtractStridedSliceOp>(value, ArrayRef<int64_t>{lane},
                                                                               ArrayRef<int64_t>{piece},
                                                                               ArrayRef<int64_t>{1});
    kernel.create<vector::StoreOp>(part, buffer, ValueRange{placeOf(thread, lane, piece)});
  }
}

Value BlockColumnEmitter::loadShared(Value buffer, Value thread, Type type) {
  Type memory = KernelBuilder::memoryType(getElementTypeOrSelf(type));
  Value value;
  if (isa<VectorType>(type)) {
    const int64_t piece = pieceOf(memory);
    SmallVector<Value> parts;
    for (int64_t lane = 0; lane < lanes; lane += piece)
      parts.push_back(kernel.create<vector::LoadOp>(VectorType::get({piece}, memory), buffer,
                                                    ValueRange{placeOf(thread, lane, piece)}));
    for (int64_t width = 2 * piece; parts.size() > 1; width *= 2) {
      const auto mask = llvm::to_vector(llvm::seq<int64_t>(0, width));
      for (size_t i = 0; i < parts.size() / 2; ++i)
        parts[i] = kernel.create<vector::ShuffleOp>(parts[2 * i], parts[2 * i + 1], mask);
      parts.truncate(parts.size() / 2);
    }
    value = parts.front();
  } else {
    value = kernel.create<memref::LoadOp>(buffer, ValueRange{thread});
  }
  return getElementTypeOrSelf(type).isInteger(1) ? kernel.create<arith::TruncIOp>(type, value).getResult()
                                                 : value;
}

Reducer::State BlockColumnEmitter::combineShares(Reducer &reducer, Reducer::State own) {
  if (shares == 1)
    return own;
  SmallVector<Value> buffers;
  int64_t offset = 0;
  for (Value value : own) {
    Type memory = KernelBuilder::memoryType(getElementTypeOrSelf(value.getType()));
    const int64_t count = threads * (isa<VectorType>(value.getType()) ? lanes : 1);
    buffers.push_back(kernel.scratchView(offset, count, memory));
    offset += count * (memory.getIntOrFloatBitWidth() / 8);
  }
  auto store = [&](const Reducer::State &state) {
    for (auto [buffer, value] : llvm::zip(buffers, state))
      storeShared(buffer, thread, value);
  };
  auto load = [&](Value from, int64_t count) {
    Reducer::State state;
    for (auto [buffer, value] : llvm::zip(buffers, own))
      state.push_back(loadShared(buffer, from, value.getType()));
    return isEven() ? withCount(reducer, std::move(state), count) : state;
  };
  // Before it is written again, all have read the result of the reduction before.
  if (usesShared)
    kernel.mapping.barrier(kernel);
  usesShared = true;
  store(own);
  int64_t count = rows / shares;
  for (int64_t half = shares / 2; half > 0; half /= 2, count *= 2)
    ifShared(half, [&] {
      kernel.mapping.barrier(kernel);
      Value isLower = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, share, kernel.index(half));
      kernel.ifThen(isLower, [&] {
        Reducer::State lower = load(thread, count);
        Value upper = kernel.add(thread, kernel.mul(across, half));
        store(reducer.combine(lower, load(upper, count)));
      });
    });
  kernel.mapping.barrier(kernel);
  return load(kernel.create<arith::RemUIOp>(thread, across), rows);
}

void BlockColumnEmitter::ifShared(int64_t half, llvm::function_ref<void()> body) {
  if (!isDynamic)
    return body();
  kernel.ifThen(kernel.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, sharesOfCall, kernel.index(half)),
                body);
}

Reducer::State BlockColumnEmitter::withCount(Reducer &reducer, Reducer::State state, int64_t count) {
  state.truncate(reducer.types().size());
  return reducer.restore(std::move(state), kernel.index(count));
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

void BlockColumnEmitter::storeRoots(bool domainShaped) {
  // Compute all values before the first store, because an operand may share its buffer with a result.
  SmallVector<Value> values;
  for (auto [i, root] : llvm::enumerate(body.roots))
    values.push_back(body.ofDomain[i] == domainShaped ? emitter->emit(root) : Value());
  emitter->storeResults(values, domainShaped ? body.address : body.keptAddress, {});
}

void BlockColumnEmitter::step(unsigned pass, Value row, MutableArrayRef<Reducer::State> states) {
  emitter->setVar(body.row, row);
  for (auto [state, i] : llvm::zip(states, active)) {
    Value element = emitter->toVector(emitter->emit(body.operands[i])), position;
    if (reducers[i].isArg)
      position =
          emitter->toVector(kernel.create<arith::IndexCastOp>(kernel.builder.getI64Type(), row).getResult());
    state = reducers[i].accumulate(state, element, position);
  }
  if (pass != lastPass || llvm::none_of(body.ofDomain, [](bool ofDomain) { return ofDomain; }))
    return;
  if (!valid)
    return storeRoots(/*domainShaped=*/true);
  kernel.ifThen(valid, [&] {
    // What no reduction has read is read here, by the threads that store.
    emitter->setVar(body.row, row);
    storeRoots(/*domainShaped=*/true);
  });
}

void BlockColumnEmitter::emitPass(unsigned pass) {
  active.clear();
  for (unsigned i = 0; i < reducers.size(); ++i)
    if (passOf[i] == pass)
      active.push_back(i);
  SmallVector<Value> initial;
  for (unsigned i : active)
    llvm::append_range(initial, reducers[i].identity(lanes));
  auto unpack = [&](ValueRange values) {
    SmallVector<Reducer::State> states;
    size_t at = 0;
    for (unsigned i : active) {
      states.push_back(Reducer::State(values.slice(at, reducers[i].size())));
      at += reducers[i].size();
    }
    return states;
  };
  auto states =
      unpack(kernel.forLoop(share, kernel.index(shape.rows), isDynamic ? sharesOfCall : kernel.index(shares),
                            initial, [&](Value row, ValueRange values) {
                              SmallVector<Reducer::State> next = unpack(values);
                              step(pass, row, next);
                              SmallVector<Value> flat;
                              for (const Reducer::State &state : next)
                                llvm::append_range(flat, state);
                              return flat;
                            }));
  for (auto [state, i] : llvm::zip(states, active)) {
    if (isEven())
      state = withCount(reducers[i], std::move(state), rows / shares);
    Reducer::State total = combineShares(reducers[i], std::move(state));
    for (auto [node, result] : llvm::zip(body.results[i], reducers[i].finish(total)))
      emitter->setNode(node, result);
  }
}

void BlockColumnEmitter::emitBlock(Value outer, Value number) {
  emitter = std::make_unique<BodyEmitter>(kernel, body.graph);
  share = shares == 1 ? kernel.index(0) : kernel.create<arith::DivUIOp>(thread, across).getResult();
  Value place = shares == 1 ? thread : kernel.create<arith::RemUIOp>(thread, across).getResult();
  if (outer)
    emitter->setVar(body.matrix, outer);
  Value width = isDynamic ? kernel.mul(across, lanes) : kernel.index(block);
  Value column = kernel.add(kernel.create<arith::MulIOp>(number, width), kernel.mul(place, lanes));
  valid = Value();
  if (isDynamic || !ir::isMultipleOf(shape.inner, block)) {
    // The threads behind the last column read it, and do nothing with it.
    valid = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, column, kernel.index(shape.inner));
    column = kernel.minimum(column, kernel.index(shape.inner - lanes));
  }
  emitter->setVar(body.column, column);
  for (unsigned pass = 0; pass <= lastPass; ++pass)
    emitPass(pass);
  if (llvm::any_of(body.ofDomain, [](bool ofDomain) { return !ofDomain; })) {
    Value stores = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, share, kernel.index(0));
    if (valid)
      stores = kernel.create<arith::AndIOp>(stores, valid);
    kernel.ifThen(stores, [&] { storeRoots(/*domainShaped=*/false); });
  }
  emitter.reset();
}

void BlockColumnEmitter::emitTurns(Value task) {
  if (isDynamic) {
    sharesOfCall = lookUp(kernel, ir::columnShares(), kernel.index(shape.rows), shares);
    across = kernel.create<arith::DivUIOp>(kernel.index(threads), sharesOfCall);
    Value left = kernel.create<arith::RemUIOp>(kernel.index(shape.rows), sharesOfCall);
    Value isEvenCall = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, left, kernel.index(0));
    for (Reducer &reducer : reducers)
      reducer.hasEqualSides = isEvenCall;
  }
  Value width = isDynamic ? kernel.mul(across, lanes) : kernel.index(block);
  // Rounded up, without a sum that may overflow.
  Value inner = kernel.index(shape.inner);
  Value rest = kernel.create<arith::RemUIOp>(inner, width),
        whole = kernel.create<arith::DivUIOp>(inner, width);
  Value hasRest = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, rest, kernel.index(0));
  Value blocks = kernel.create<arith::SelectOp>(hasRest, kernel.addIndex(whole, 1), whole);
  Value all = shape.outer == 1 ? blocks : kernel.mul(blocks, shape.outer);
  // Before memory is written again, all have read the results of the turn before.
  usesShared = true;
  kernel.forLoop(task, all, kernel.index(schedule.getTasks()), [&](Value turn) {
    if (shape.outer == 1)
      return emitBlock(Value(), turn);
    emitBlock(kernel.create<arith::DivUIOp>(turn, blocks), kernel.create<arith::RemUIOp>(turn, blocks));
  });
}

void BlockColumnEmitter::emitTask(Value task) {
  thread = static_cast<const TeamMapping &>(kernel.mapping).member(kernel);
  across = kernel.index(threads / shares);
  if (isDynamic || !shape.inner.isNumber())
    return emitTurns(task);
  if (shape.outer == 1)
    return emitBlock(Value(), task);
  Value blocks = kernel.index(shape.blocks(block));
  emitBlock(kernel.create<arith::DivUIOp>(task, blocks), kernel.create<arith::RemUIOp>(task, blocks));
}

} // namespace

Status detail::emitBlockColumn(KernelBuilder &kernel) {
  BlockColumnEmitter columns(kernel);
  Status status = columns.prepare();
  if (!status.ok())
    return status;
  kernel.forTasks([&](Value task) { columns.emitTask(task); });
  return {};
}

} // namespace weft::codegen
