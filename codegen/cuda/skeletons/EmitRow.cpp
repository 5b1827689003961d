//===- EmitRow.cpp - Rows that teams of threads share ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A task is as many rows as the block has teams (TeamMapping.h). The row's length n alone determines the
// order of a reduction, for a team of t threads:
//
//   partial p of 4 t = the elements i = p (mod 4 t) below n - n mod 4, in order
//   of a thread      = its four partials by halves, and one of the last n mod 4 elements
//   result           = those of the threads of a warp by halves, and then those of the warps
//
// If the schedule has a chunk, the team holds the row in registers: each vector of a thread has an emitter of
// its own, which knows in every pass what it loaded or computed in an earlier one. Otherwise each pass is a
// loop over the row. If the schedule has a block, the first pass that reads an operand stores its vectors to
// shared memory, where each thread finds those that it stored, without a barrier. If the vector is 1, a pass
// is four loops, each over the elements of one partial of a thread: the values of one element at a time are
// in registers. All give the same bits. Results of the domain's shape are stored in the last pass.
//
// If only the call knows the length, it is the same for all rows of the call: the kernel looks up the team
// that belongs to it, and each pass is a loop. So the bits are those of a kernel that knows the length. A
// block has as many rows at a time as such teams, and blocks take turns at them. The threads of a block meet
// at barriers, so teams without a row have one without elements.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/skeletons/CudaSkeletons.h"
#include "codegen/cuda/skeletons/TeamMapping.h"
#include "codegen/emit/KernelBuilder.h"
#include "codegen/emit/Reducer.h"
#include "codegen/emit/ReductionBody.h"

#include "ir/CudaReductions.h"
#include "ir/Schedule.h"

using namespace mlir;
namespace weft::codegen {

namespace {

class TeamRowEmitter {
public:
  explicit TeamRowEmitter(KernelBuilder &kernel)
      : kernel(kernel), fusion(kernel.fusion), schedule(*fusion.getSchedule()),
        team(static_cast<const TeamMapping &>(kernel.mapping)), isByElement(schedule.getVector() == 1),
        partials(schedule.number(ir::ScheduleField::partials)), vectors(fusion, lanes), scalars(fusion, 1) {}

  Status prepare();
  void emitTask(Value task);

private:
  /// One vector of the thread, or one of the last elements of the row.
  struct Part {
    RowBody *body = nullptr;
    std::unique_ptr<BodyEmitter> emitter;
    Value column; ///< of the first element; of another one of the row if it is not `valid`
    Value valid;  ///< whether the thread has the part; null if all threads have
  };
  /// An operand that several passes read, and that shared memory holds.
  struct Held {
    int node;       ///< its vectors
    int64_t offset; ///< in shared memory
    SmallVector<unsigned> passes;
    Value buffer;
  };
  using States = SmallVector<Reducer::State>;

  void emitRow();
  /// The turns of a block at the rows of a call whose length only the call knows.
  void emitTurns(Value task);
  void makeParts();
  void addPart(RowBody &body, Value column, Value valid);
  void emitPass(unsigned pass);
  /// The states of the thread's vectors: in registers, in a loop, or in one for each lane.
  States reduceHeld();
  States reduceInLoop(unsigned pass);
  States reduceByElement(unsigned pass);
  /// The states of a thread from those of its vectors.
  States combineLanes(States states);
  /// The nodes of vectors that a pass computes, and those that they depend on.
  std::vector<int> nodesOf(unsigned pass) const;
  void findHeld();
  /// Stores a vector of each operand that this pass reads first, and takes those of others from there.
  void exchangeHeld(Part &part, unsigned pass);
  /// Adds the elements of a part from `from` on, in steps, to the states. Stores results in the last pass.
  States loopOver(Part &part, Value from, Value to, Value step, const States &initial, unsigned pass);
  /// Adds the elements of a part to the states of the active reducers.
  States accumulate(Part &part, ArrayRef<Reducer::State> states);
  Part &tail() { return parts.back(); }
  /// Stores the results of the domain's shape at the part's column.
  void storePart(Part &part);
  void storeAt(Part &part);
  void storeKept();
  void setResult(unsigned reducer, const Reducer::State &total);
  /// Whether the states of all threads have as many elements, so that their number is a constant.
  bool isEven() const { return !isDynamic && length % partials == 0; }
  Reducer::State withCount(unsigned reducer, Reducer::State state, int64_t count);

  KernelBuilder &kernel;
  ir::FusionOp fusion;
  ir::ScheduleAttr schedule;
  const TeamMapping &team;
  const bool isByElement;
  static constexpr int64_t lanes = ir::teamVector; ///< elements of a vector
  int64_t partials;                                ///< of a vector of each thread of the team
  RowBody vectors, scalars;
  int64_t length = 0, vectorEnd = 0; ///< of a row, and of its vectors
  bool isHeld = false, isDynamic = false;
  /// Of a row whose length only the call knows, and of its vectors, 0 if the team has no row; its team;
  /// whether the team has a row.
  Value dynamicLength, dynamicEnd, teamSize, exists;
  SmallVector<Held> held; ///< in shared memory
  SmallVector<Reducer> reducers;
  SmallVector<unsigned> passOf; ///< of each reducer
  unsigned lastPass = 0;
  SmallVector<unsigned> active; ///< the reducers of the pass being emitted
  Value row, member;
  /// The vectors, or one for the loop, or one for each lane; then the last elements, if there are some.
  SmallVector<Part> parts;
  std::unique_ptr<BodyEmitter> ofRow; ///< for what a row has once
};

Status TeamRowEmitter::prepare() {
  isDynamic = !ir::rowLength(fusion).isNumber();
  length = ir::rowLength(fusion).number().value_or(0);
  vectorEnd = length / lanes * lanes;
  isHeld = schedule.has(ir::ScheduleField::chunk);
  auto passes = ir::reductionPasses(fusion);
  lastPass = ir::lastReductionPass(fusion);
  for (Operation &op : fusion.getBody().front().without_terminator())
    if (ir::isReductionOp(&op)) {
      reducers.emplace_back(kernel, &op);
      reducers.back().combinesEmpty = isDynamic || vectorEnd < partials;
      passOf.push_back(passes.lookup(op.getOperand(0)));
    }
  Status status = vectors.graph.expand();
  if (status.ok() && schedule.has(ir::ScheduleField::block))
    findHeld();
  return status.ok() ? scalars.graph.expand() : status;
}

std::vector<int> TeamRowEmitter::nodesOf(unsigned pass) const {
  SmallVector<int> roots;
  for (auto [i, operand] : llvm::enumerate(vectors.operands))
    if (passOf[i] == pass)
      roots.push_back(operand);
  for (auto [i, root] : llvm::enumerate(vectors.roots))
    if (pass == lastPass && vectors.ofDomain[i])
      roots.push_back(root);
  return vectors.graph.ordered(roots);
}

void TeamRowEmitter::findHeld() {
  const SmallVector<unsigned> operands = ir::heldOperands(fusion);
  const SmallVector<int64_t> offsets = ir::heldOffsets(fusion, schedule.toSchedule());
  for (auto [operand, offset] : llvm::zip(operands, offsets)) {
    // An operand that is read at several indices has several nodes, and room for one.
    llvm::MapVector<int, SmallVector<unsigned>> passes;
    for (unsigned pass = 0; pass <= lastPass; ++pass)
      for (int node : nodesOf(pass))
        if (const BodyNode &each = vectors.graph.node(node);
            each.kind == BodyNode::load && each.argument == operand && each.expr.lane != 0)
          passes[node].push_back(pass);
    for (auto &[node, of] : passes)
      if (of.size() > 1) {
        held.push_back({node, offset, of, Value()});
        break;
      }
  }
}

void TeamRowEmitter::exchangeHeld(Part &part, unsigned pass) {
  for (const Held &each : held) {
    Type element = getElementTypeOrSelf(vectors.graph.node(each.node).value.getType());
    if (each.passes.front() == pass)
      part.emitter->store(each.buffer, vectors.inRow, part.emitter->emit(each.node));
    else if (llvm::is_contained(each.passes, pass))
      part.emitter->setNode(each.node, part.emitter->load(each.buffer, vectors.inRow, element));
  }
}

//===----------------------------------------------------------------------===//
// The parts of a row
//===----------------------------------------------------------------------===//

void TeamRowEmitter::addPart(RowBody &body, Value column, Value valid) {
  Part &part = parts.emplace_back();
  part.body = &body;
  part.emitter = std::make_unique<BodyEmitter>(kernel, body.graph);
  part.column = column;
  part.valid = valid;
  part.emitter->setVar(body.row, row);
  if (column)
    part.emitter->setVar(body.column, column);
}

void TeamRowEmitter::makeParts() {
  parts.clear();
  const int64_t inLoops = isByElement ? lanes : 1;
  RowBody &body = isByElement ? scalars : vectors;
  if (isDynamic) {
    for (int64_t i = 0; i < inLoops; ++i)
      addPart(body, Value(), Value());
    addPart(scalars, Value(), Value());
    return;
  }
  auto isBelow = [&](Value at, int64_t end) -> Value {
    return kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, at, kernel.index(end));
  };
  Value first = kernel.mul(member, lanes);
  for (int64_t i = 0; i < inLoops && !isHeld && vectorEnd > 0; ++i)
    addPart(body, Value(), Value());
  for (int64_t from = 0; isHeld && from < vectorEnd; from += partials) {
    Value column = kernel.addIndex(first, from);
    if (from + partials <= vectorEnd) {
      addPart(vectors, column, Value());
      continue;
    }
    // The threads behind the end read the last vector, and do nothing with it.
    Value valid = isBelow(column, vectorEnd);
    addPart(vectors, kernel.minimum(column, kernel.index(vectorEnd - lanes)), valid);
  }
  if (vectorEnd < length) {
    Value column = kernel.addIndex(member, vectorEnd), valid = isBelow(column, length);
    addPart(scalars, kernel.minimum(column, kernel.index(length - 1)), valid);
  }
}

TeamRowEmitter::States TeamRowEmitter::accumulate(Part &part, ArrayRef<Reducer::State> states) {
  const bool isVector = part.body == &vectors;
  States next;
  for (auto [state, i] : llvm::zip(states, active)) {
    Value element = part.emitter->emit(part.body->operands[i]);
    Value position;
    if (reducers[i].isArg)
      position = kernel.create<arith::IndexCastOp>(kernel.builder.getI64Type(), part.column);
    if (isVector) {
      element = part.emitter->toVector(element);
      if (position) {
        auto type = VectorType::get({lanes}, position.getType());
        SmallVector<int64_t> steps = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
        position = kernel.add(
            part.emitter->toVector(position),
            kernel.create<arith::ConstantOp>(DenseElementsAttr::get(type, ArrayRef<int64_t>(steps))));
      }
    }
    Reducer::State with = reducers[i].accumulate(state, element, position);
    if (part.valid)
      for (auto [value, before] : llvm::zip(with, state))
        value = kernel.create<arith::SelectOp>(part.valid, value, before);
    next.push_back(std::move(with));
  }
  return next;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

Reducer::State TeamRowEmitter::withCount(unsigned reducer, Reducer::State state, int64_t count) {
  state.truncate(reducers[reducer].types().size());
  return reducers[reducer].restore(std::move(state), kernel.index(count));
}

TeamRowEmitter::States TeamRowEmitter::reduceHeld() {
  // All loads come first, so that memory answers them together.
  for (Part &part : parts)
    for (unsigned i : active)
      for (int node : part.body->graph.ordered({part.body->operands[i]}))
        if (part.body->graph.node(node).kind == BodyNode::load)
          part.emitter->emit(node);
  States states;
  for (unsigned i : active)
    states.push_back(reducers[i].identity(lanes));
  int64_t whole = 0;
  for (Part &part : parts) {
    if (part.body != &vectors)
      continue;
    if (part.valid && whole > 0)
      for (auto [state, i] : llvm::zip(states, active))
        state = withCount(i, std::move(state), whole);
    states = accumulate(part, states);
    whole += !part.valid;
  }
  return states;
}

TeamRowEmitter::States TeamRowEmitter::loopOver(Part &part, Value from, Value to, Value step,
                                                const States &initial, unsigned pass) {
  auto flatten = [](const States &states) {
    SmallVector<Value> flat;
    for (const Reducer::State &state : states)
      llvm::append_range(flat, state);
    return flat;
  };
  auto unpack = [&](ValueRange values) {
    States states;
    size_t at = 0;
    for (unsigned i : active) {
      states.push_back(Reducer::State(values.slice(at, reducers[i].size())));
      at += reducers[i].size();
    }
    return states;
  };
  return unpack(kernel.forLoop(from, to, step, flatten(initial), [&](Value column, ValueRange values) {
    part.column = column;
    part.emitter->setVar(part.body->column, column);
    if (part.body == &vectors)
      exchangeHeld(part, pass);
    States next = accumulate(part, unpack(values));
    if (pass == lastPass)
      storePart(part);
    return flatten(next);
  }));
}

TeamRowEmitter::States TeamRowEmitter::reduceInLoop(unsigned pass) {
  States initial;
  for (unsigned i : active)
    initial.push_back(reducers[i].identity(lanes));
  Value from = kernel.mul(member, lanes);
  if (isDynamic)
    return loopOver(parts.front(), from, dynamicEnd, kernel.mul(teamSize, lanes), initial, pass);
  if (vectorEnd == 0)
    return initial;
  return loopOver(parts.front(), from, kernel.index(vectorEnd), kernel.index(partials), initial, pass);
}

TeamRowEmitter::States TeamRowEmitter::reduceByElement(unsigned pass) {
  States initial, first, all[lanes];
  for (unsigned i : active)
    initial.push_back(reducers[i].identity(1));
  if (!isDynamic && vectorEnd == 0)
    return initial;
  Value to = isDynamic ? dynamicEnd : kernel.index(vectorEnd);
  Value step = isDynamic ? kernel.mul(teamSize, lanes) : kernel.index(partials);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value from = kernel.addIndex(kernel.mul(member, lanes), lane);
    all[lane] = loopOver(parts[lane], from, to, step, initial, pass);
  }
  for (auto [number, i] : llvm::enumerate(active)) {
    auto state = [&](int64_t lane) {
      return isEven() ? withCount(i, all[lane][number], length / partials) : all[lane][number];
    };
    Reducer &reducer = reducers[i];
    const Reducer::State even = reducer.combine(state(0), state(2)),
                         odd = reducer.combine(state(1), state(3));
    first.push_back(reducer.combine(even, odd));
  }
  return first;
}

TeamRowEmitter::States TeamRowEmitter::combineLanes(States states) {
  for (auto [state, i] : llvm::zip(states, active)) {
    if (isEven())
      state = withCount(i, std::move(state), length / partials);
    state = team.reduceLanes(kernel, std::move(state), [&](const Reducer::State &a, const Reducer::State &b) {
      return reducers[i].combine(a, b);
    });
  }
  return states;
}

void TeamRowEmitter::setResult(unsigned reducer, const Reducer::State &total) {
  for (auto [number, result] : llvm::enumerate(reducers[reducer].finish(total))) {
    for (Part &part : parts)
      part.emitter->setNode(part.body->results[reducer][number], result);
    ofRow->setNode(scalars.results[reducer][number], result);
  }
}

void TeamRowEmitter::emitPass(unsigned pass) {
  active.clear();
  for (unsigned i = 0; i < reducers.size(); ++i)
    if (passOf[i] == pass)
      active.push_back(i);
  const bool hasTail = vectorEnd < length;
  States states =
      isByElement ? reduceByElement(pass) : combineLanes(isHeld ? reduceHeld() : reduceInLoop(pass));
  if (isDynamic)
    states = loopOver(tail(), kernel.add(dynamicEnd, member), dynamicLength, teamSize, states, pass);
  else if (hasTail)
    states = accumulate(tail(), states);
  // A result that is stored in this pass was computed without the pass's own reductions.
  if (pass == lastPass && !isDynamic)
    for (Part &part : parts)
      if (isHeld || (hasTail && &part == &tail()))
        storePart(part);
  for (auto [state, i] : llvm::zip(states, active)) {
    Reducer &reducer = reducers[i];
    auto combine = [&](const Reducer::State &a, const Reducer::State &b) { return reducer.combine(a, b); };
    setResult(i, isDynamic ? team.reduceBySize(kernel, state, teamSize, combine) : reducer.fold(state));
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void TeamRowEmitter::storeAt(Part &part) {
  // Compute all values before the first store, because an operand may share its buffer with a result.
  SmallVector<Value> values;
  for (auto [i, root] : llvm::enumerate(part.body->roots))
    values.push_back(part.body->ofDomain[i] ? part.emitter->emit(root) : Value());
  part.emitter->storeResults(values, part.body->address, {});
}

void TeamRowEmitter::storePart(Part &part) {
  if (llvm::none_of(part.body->ofDomain, [](bool ofDomain) { return ofDomain; }))
    return;
  if (!part.valid)
    return storeAt(part);
  kernel.ifThen(part.valid, [&] {
    // What no pass has read so far is read here, by the threads that store.
    part.emitter->setVar(part.body->column, part.column);
    storeAt(part);
  });
}

void TeamRowEmitter::storeKept() {
  if (llvm::all_of(scalars.ofDomain, [](bool ofDomain) { return ofDomain; }))
    return;
  Value stores = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, member, kernel.index(0));
  if (exists)
    stores = kernel.create<arith::AndIOp>(stores, exists);
  kernel.ifThen(stores, [&] {
    SmallVector<Value> values;
    for (auto [i, root] : llvm::enumerate(scalars.roots))
      values.push_back(scalars.ofDomain[i] ? Value() : ofRow->emit(root));
    for (auto [i, value] : llvm::enumerate(values))
      if (value)
        ofRow->store(kernel.result(static_cast<unsigned>(i)), scalars.keptAddress, value);
  });
}

void TeamRowEmitter::emitRow() {
  makeParts();
  ofRow = std::make_unique<BodyEmitter>(kernel, scalars.graph);
  ofRow->setVar(scalars.row, row);
  for (Held &each : held) {
    Type element = getElementTypeOrSelf(vectors.graph.node(each.node).value.getType());
    each.buffer = kernel.scratchView(each.offset, vectorEnd, KernelBuilder::memoryType(element));
  }
  for (unsigned pass = 0; pass <= lastPass; ++pass)
    emitPass(pass);
  storeKept();
  parts.clear();
  ofRow.reset();
}

void TeamRowEmitter::emitTurns(Value task) {
  const int64_t largest = schedule.number(ir::ScheduleField::lanes);
  Value lengthOfCall = kernel.index(ir::rowLength(fusion)), rows = kernel.index(scalars.rows);
  teamSize = lookUp(kernel, ir::rowTeams(), lengthOfCall, largest);
  Value thread = threadOf(kernel, team.threads());
  member = kernel.create<arith::RemUIOp>(thread, teamSize);
  Value number = kernel.create<arith::DivUIOp>(thread, teamSize);
  Value teams = kernel.create<arith::DivUIOp>(kernel.index(team.threads()), teamSize);
  Value isWide =
      kernel.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, teamSize, kernel.index(ir::warpThreads));
  Value rest = kernel.create<arith::RemUIOp>(lengthOfCall, kernel.index(lanes));
  Value endOfCall = kernel.create<arith::SubIOp>(lengthOfCall, rest);
  Value left = kernel.create<arith::RemUIOp>(lengthOfCall, kernel.mul(teamSize, lanes));
  Value isEvenCall = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, left, kernel.index(0));
  for (Reducer &reducer : reducers)
    reducer.hasEqualSides = isEvenCall;
  Value from = kernel.create<arith::MulIOp>(task, teams), step = kernel.mul(teams, schedule.getTasks());
  kernel.forLoop(from, rows, step, [&](Value first) {
    // Before the warps of a team exchange states, all have read those of the rows before.
    if (largest > ir::warpThreads)
      kernel.ifThen(isWide, [&] { team.barrier(kernel); });
    Value own = kernel.add(first, number), none = kernel.index(0);
    exists = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, own, rows);
    row = kernel.minimum(own, kernel.index(scalars.rows - 1));
    dynamicLength = kernel.create<arith::SelectOp>(exists, lengthOfCall, none);
    dynamicEnd = kernel.create<arith::SelectOp>(exists, endOfCall, none);
    emitRow();
  });
}

void TeamRowEmitter::emitTask(Value task) {
  if (isDynamic)
    return emitTurns(task);
  member = team.member(kernel);
  row = kernel.add(kernel.mul(task, team.teams()), team.teamInBlock(kernel));
  const ir::Size rows = scalars.rows;
  if (ir::isMultipleOf(rows, team.teams()))
    return emitRow();
  // Only the last block has teams without a row. None of them is a part of a row's team.
  Value exists = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, row, kernel.index(rows));
  kernel.ifThen(exists, [&] { emitRow(); });
}

} // namespace

Status detail::emitTeamRow(KernelBuilder &kernel) {
  TeamRowEmitter rows(kernel);
  Status status = rows.prepare();
  if (!status.ok())
    return status;
  kernel.forTasks([&](Value task) { rows.emitTask(task); });
  return {};
}

} // namespace weft::codegen
