//===- EmitRow.cpp - Kernels with reductions along rows -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A task is a row of the domain. The row's length n alone determines the order of a reduction:
//
//   partial p of 64 = the elements i = p (mod 64) below n - n mod 16, in order
//   rest            = the last n mod 16 elements, in order
//   result          = tree(partials) + rest
//
// Here 64 and 16 are the schedule's `partials` and `lanes`. The tree adds the four groups of 16 partial
// results pairwise, then adds the upper half of the 16 sums to the lower half until one is left. Vectors of 8
// and of 16 elements give the same sums. Each level of dependent reductions takes one pass over the row, and
// the first pass brings the row into the first-level cache. Results of the domain's shape are stored in the
// last pass.
//
// A row may lie in pieces (ir::RowShape), each a number of whole vectors. The order is that of one row. If a
// piece has whole blocks of 64, a pass is a loop over pieces around the loop over blocks; otherwise the index
// of each vector is divided by the length of a piece.
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

class RowEmitter {
public:
  RowEmitter(KernelBuilder &kernel, int64_t lanes)
      : kernel(kernel), fusion(kernel.fusion), schedule(*fusion.getSchedule()), lanes(lanes),
        granule(schedule.number(ir::ScheduleField::lanes)),
        blockSize(schedule.number(ir::ScheduleField::partials)), groups(blockSize / granule),
        vectors(fusion, lanes), scalars(fusion, 1) {}

  Status prepare();
  void emitRow(Value row, ArrayRef<Value> streams, BodyEmitter &vector, BodyEmitter &scalar);

  KernelBuilder &kernel;
  ir::FusionOp fusion;
  ir::ScheduleAttr schedule;
  /// Elements of a vector; partial results of a group, and of all groups; number of groups.
  int64_t lanes, granule, blockSize, groups;
  RowBody vectors, scalars;
  ir::Size length = 0;

private:
  struct Kept {
    unsigned pass;
    int vectorNode, scalarNode;
    Value buffer;
    Type element;
  };
  /// Emits one step of a pass at `column`: adds the elements to `states`, stores kept values, and stores
  /// results in the last pass.
  void step(unsigned pass, RowBody &body, BodyEmitter &emitter, Value column,
            MutableArrayRef<Reducer::State> states, ArrayRef<Value> streams);
  /// Prefetches what a later step of the first pass will read.
  void prefetch(RowBody &body, BodyEmitter &emitter);
  /// Emits `body` in a loop over the pieces of a row, or once if they have no loop of their own. It gets the
  /// values of the states, and returns the next ones.
  SmallVector<Value> eachPiece(ValueRange initial, BodyEmitter &vector,
                               llvm::function_ref<SmallVector<Value>(ValueRange)> body);
  void emitPass(unsigned pass, ArrayRef<Value> streams, BodyEmitter &vector, BodyEmitter &scalar);
  /// The same for rows whose length is known only at run time.
  void emitDynamicPass(unsigned pass, BodyEmitter &vector, BodyEmitter &scalar);
  /// The reductions of `active` over the first `vectorEnd` elements of a row of known length.
  SmallVector<Reducer::State> reduceVectors(unsigned pass, int64_t vectorEnd, ArrayRef<Value> streams,
                                            BodyEmitter &vector);
  /// The reductions of `active` over single elements of a row.
  SmallVector<Reducer::State> reduceRest(unsigned pass, ArrayRef<Value> initial, Value from, Value to,
                                         ArrayRef<Value> streams, BodyEmitter &scalar);
  SmallVector<Value> identities();
  Reducer::State treeOfGroups(unsigned reducer, ArrayRef<Reducer::State> vectors);
  /// Sets the nodes that read the result of a reduction, in the passes after this one.
  void setResult(unsigned reducer, const Reducer::State &total, BodyEmitter &vector, BodyEmitter &scalar);

  SmallVector<Reducer> reducers;
  SmallVector<unsigned> passOf; ///< of each reducer
  SmallVector<Kept> kept;
  unsigned lastPass = 0;
  SmallVector<unsigned> active; ///< the reducers of the pass being emitted
};

Status RowEmitter::prepare() {
  length = ir::rowLength(fusion);
  auto passes = ir::reductionPasses(fusion);
  lastPass = ir::lastReductionPass(fusion);
  Block &body = fusion.getBody().front();
  for (Operation &op : body.without_terminator())
    if (ir::isReductionOp(&op)) {
      reducers.emplace_back(kernel, &op);
      reducers.back().combinesEmpty = !length.isNumber();
      passOf.push_back(passes.lookup(op.getOperand(0)));
    }
  int64_t offset = 0;
  for (auto [value, pass] : ir::keptValues(fusion, schedule.getKeep())) {
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    Type memory = KernelBuilder::memoryType(element);
    kept.push_back({pass, vectors.graph.request(value, vectors.whole),
                    scalars.graph.request(value, scalars.whole),
                    kernel.scratchView(offset, length.asNumber(), memory), element});
    offset += llvm::alignTo(length.asNumber() * (memory.getIntOrFloatBitWidth() / 8), 64);
  }
  Status status = vectors.graph.expand();
  return status.ok() ? scalars.graph.expand() : status;
}

void RowEmitter::prefetch(RowBody &body, BodyEmitter &emitter) {
  int64_t ahead = schedule.number(ir::ScheduleField::prefetch);
  if (ahead == 0)
    return;
  SmallVector<int> roots;
  for (auto [i, first] : llvm::enumerate(passOf))
    if (first == 0)
      roots.push_back(body.operands[i]);
  emitter.prefetch(roots, [&](const BodyNode &node) -> int64_t {
    if (coefficientOf(node.expr, body.column) != 1)
      return 0;
    const int64_t elements = ahead / static_cast<int64_t>(itemsize(ir::dtypeOf(node.value.getType())));
    if (body.hasPieceLoop())
      return static_cast<int64_t>(llvm::divideCeil(elements, body.shape.piece.asNumber())) *
             coefficientOf(node.expr, body.piece).number().value_or(0);
    bool isStream = body.space.var(body.row).maximum == 0 || coefficientOf(node.expr, body.row) == length;
    return isStream ? elements : 0;
  });
}

void RowEmitter::step(unsigned pass, RowBody &body, BodyEmitter &emitter, Value column,
                      MutableArrayRef<Reducer::State> states, ArrayRef<Value> streams) {
  bool vector = &body == &vectors && lanes > 1;
  emitter.setVar(body.column, column);
  // A value that is the same in every column is a scalar in vector code. It is computed again, not kept.
  auto isKept = [&](const Kept &value) { return !vector || vectors.graph.node(value.vectorNode).vector; };
  for (const Kept &value : kept)
    if (value.pass < pass && isKept(value))
      emitter.setNode(vector ? value.vectorNode : value.scalarNode,
                      emitter.load(value.buffer, body.inRow, value.element));
  // The second pass reads its row from the cache, so it has memory bandwidth to spare: it prefetches what the
  // first pass of a later row will read. If there is only one pass, that pass does. Pieces are prefetched by
  // the pass that reads them, since a processor does not follow from one to the next.
  if (vector && pass == (body.hasPieceLoop() ? 0 : std::min(lastPass, 1u)))
    prefetch(body, emitter);
  for (auto [state, i] : llvm::zip(states, active)) {
    Value element = emitter.emit(body.operands[i]);
    if (vector)
      element = emitter.toVector(element);
    Value position;
    if (reducers[i].isArg) {
      position = kernel.create<arith::IndexCastOp>(kernel.builder.getI64Type(), column);
      if (vector) {
        auto type = VectorType::get({lanes}, position.getType());
        SmallVector<int64_t> steps = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
        position = kernel.add(
            emitter.toVector(position),
            kernel.create<arith::ConstantOp>(DenseElementsAttr::get(type, ArrayRef<int64_t>(steps))));
      }
    }
    state = reducers[i].accumulate(state, element, position);
  }
  for (const Kept &value : kept)
    if (value.pass == pass && isKept(value))
      emitter.store(value.buffer, body.inRow, emitter.emit(vector ? value.vectorNode : value.scalarNode));
  if (pass != lastPass)
    return;
  // Compute all values before the first store, because an operand may share its buffer with a result.
  SmallVector<Value> values;
  for (auto [i, root] : llvm::enumerate(body.roots))
    values.push_back(body.ofDomain[i] ? emitter.emit(root) : Value());
  emitter.storeResults(values, body.address, streams);
}

/// Combines the groups pairwise, for each vector of a granule, then the vectors and their lanes by halves.
Reducer::State RowEmitter::treeOfGroups(unsigned reducer, ArrayRef<Reducer::State> vectors) {
  SmallVector<Reducer::State> granules(vectors);
  int64_t perGranule = granule / lanes;
  for (int64_t count = static_cast<int64_t>(vectors.size()) / perGranule; count > 1;
       count = (count + 1) / 2) {
    SmallVector<Reducer::State> next;
    for (int64_t g = 0; g < count; g += 2)
      for (int64_t v = 0; v < perGranule; ++v)
        next.push_back(g + 1 < count ? reducers[reducer].combine(granules[g * perGranule + v],
                                                                 granules[(g + 1) * perGranule + v])
                                     : granules[g * perGranule + v]);
    granules = std::move(next);
  }
  for (int64_t count = perGranule; count > 1; count /= 2)
    for (int64_t v = 0; v < count / 2; ++v)
      granules[v] = reducers[reducer].combine(granules[v], granules[v + count / 2]);
  return reducers[reducer].fold(granules[0]);
}

/// The identities of the reducers in `active`, for single elements.
SmallVector<Value> RowEmitter::identities() {
  SmallVector<Value> initial;
  for (unsigned i : active)
    llvm::append_range(initial, reducers[i].identity(1));
  return initial;
}

SmallVector<Reducer::State> RowEmitter::reduceRest(unsigned pass, ArrayRef<Value> initial, Value from,
                                                   Value to, ArrayRef<Value> streams, BodyEmitter &scalar) {
  auto unpack = [&](ValueRange values) {
    SmallVector<Reducer::State> states;
    size_t at = 0;
    for (unsigned i : active) {
      states.push_back(Reducer::State(values.slice(at, reducers[i].size())));
      at += reducers[i].size();
    }
    return states;
  };
  return unpack(kernel.forLoop(from, to, 1, initial, [&](Value column, ValueRange values) {
    SmallVector<Reducer::State> states = unpack(values);
    step(pass, scalars, scalar, column, states, streams);
    SmallVector<Value> next;
    for (auto &state : states)
      llvm::append_range(next, state);
    return next;
  }));
}

/// Gives the same sums as for a static length. Groups that a short row does not fill hold the identity, so
/// they do not change the result.
void RowEmitter::emitDynamicPass(unsigned pass, BodyEmitter &vector, BodyEmitter &scalar) {
  auto roundedDown = [&](Value value, int64_t multiple) -> Value {
    Value rest = kernel.create<arith::RemUIOp>(value, kernel.index(multiple));
    return kernel.create<arith::SubIOp>(value, rest);
  };
  Value end = kernel.index(length), vectorEnd = roundedDown(end, granule);
  if (active.empty()) {
    kernel.forLoop(kernel.index(0), vectorEnd, lanes,
                   [&](Value column) { step(pass, vectors, vector, column, {}, {}); });
    kernel.forLoop(vectorEnd, end, 1, [&](Value column) { step(pass, scalars, scalar, column, {}, {}); });
    return;
  }
  int64_t perGranule = granule / lanes;
  SmallVector<SmallVector<Reducer::State>> states(active.size());
  for (auto [k, i] : llvm::enumerate(active))
    for (int64_t v = 0; v < groups * perGranule; ++v)
      states[k].push_back(reducers[i].identity(lanes));
  // A loop over the columns from `from` to `to` in steps of `stride`. A step adds granules to the partial
  // results of groups [first, last).
  auto loop = [&](Value from, Value to, int64_t stride, int64_t first, int64_t last) {
    auto each = [&](auto visit) {
      for (auto &state : states)
        for (int64_t v = first * perGranule; v < last * perGranule; ++v)
          for (Value &value : state[v])
            visit(value);
    };
    auto unpack = [&](ValueRange values) {
      size_t at = 0;
      each([&](Value &value) { value = values[at++]; });
    };
    auto pack = [&] {
      SmallVector<Value> values;
      each([&](Value &value) { values.push_back(value); });
      return values;
    };
    unpack(kernel.forLoop(from, to, stride, pack(), [&](Value column, ValueRange values) {
      unpack(values);
      for (int64_t v = first * perGranule; v < last * perGranule; ++v) {
        kernel.pushScope(nullptr);
        SmallVector<Reducer::State> current;
        for (auto &state : states)
          current.push_back(state[v]);
        step(pass, vectors, vector, kernel.addIndex(column, (v - first * perGranule) * lanes), current, {});
        for (auto [state, next] : llvm::zip(states, current))
          state[v] = next;
        kernel.popScope();
      }
      return pack();
    }));
  };
  Value blocksEnd = roundedDown(end, blockSize);
  loop(kernel.index(0), blocksEnd, blockSize, 0, groups);
  for (int64_t g = 0; g + 1 < groups; ++g) {
    Value from = kernel.addIndex(blocksEnd, g * granule);
    loop(from, kernel.minimum(kernel.addIndex(from, granule), vectorEnd), granule, g, g + 1);
  }
  SmallVector<Reducer::State> totals;
  for (auto [k, i] : llvm::enumerate(active))
    totals.push_back(treeOfGroups(i, states[k]));
  auto rest = reduceRest(pass, identities(), vectorEnd, end, {}, scalar);
  for (auto [k, i] : llvm::enumerate(active))
    setResult(i, reducers[i].combine(totals[k], rest[k]), vector, scalar);
}

void RowEmitter::setResult(unsigned reducer, const Reducer::State &total, BodyEmitter &vector,
                           BodyEmitter &scalar) {
  for (auto [number, result] : llvm::enumerate(reducers[reducer].finish(total))) {
    vector.setNode(vectors.results[reducer][number], result);
    scalar.setNode(scalars.results[reducer][number], result);
  }
}

SmallVector<Value> RowEmitter::eachPiece(ValueRange initial, BodyEmitter &vector,
                                         llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
  if (!vectors.hasPieceLoop())
    return body(initial);
  return kernel.forLoop(kernel.index(0), kernel.index(vectors.shape.pieces), 1, initial,
                        [&](Value piece, ValueRange values) {
                          vector.setVar(vectors.piece, piece);
                          return body(values);
                        });
}

SmallVector<Reducer::State> RowEmitter::reduceVectors(unsigned pass, int64_t vectorEnd,
                                                      ArrayRef<Value> streams, BodyEmitter &vector) {
  int64_t perGranule = granule / lanes, perBlock = blockSize / lanes;
  int64_t blocksEnd = vectorEnd / blockSize * blockSize;
  int64_t usedGroups = std::min(groups, vectorEnd / granule), used = usedGroups * perGranule;
  // states[reducer][vector of the block of 64]
  SmallVector<SmallVector<Reducer::State>> states(active.size());
  for (auto [k, i] : llvm::enumerate(active))
    for (int64_t v = 0; v < used; ++v)
      states[k].push_back(reducers[i].identity(lanes));
  auto advance = [&](Value column, int64_t v) {
    // Each vector has its own scope, so that its values are not reused for the next vector.
    kernel.pushScope(nullptr);
    SmallVector<Reducer::State> current;
    for (auto &state : states)
      current.push_back(state[v]);
    step(pass, vectors, vector, column, current, streams);
    for (auto [state, next] : llvm::zip(states, current))
      state[v] = next;
    kernel.popScope();
  };
  if (blocksEnd > 0) {
    auto unpack = [&](ValueRange values) {
      size_t at = 0;
      for (auto &state : states)
        for (auto &one : state)
          for (Value &value : one)
            value = values[at++];
    };
    auto pack = [&] {
      SmallVector<Value> values;
      for (auto &state : states)
        for (auto &one : state)
          llvm::append_range(values, one);
      return values;
    };
    unpack(eachPiece(pack(), vector, [&](ValueRange initial) {
      return kernel.forLoop(kernel.index(0), kernel.index(blocksEnd), blockSize, initial,
                            [&](Value column, ValueRange values) {
                              unpack(values);
                              for (int64_t v = 0; v < perBlock; ++v)
                                advance(kernel.addIndex(column, v * lanes), v);
                              return pack();
                            });
    }));
  }
  for (int64_t at = blocksEnd; at < vectorEnd; at += lanes)
    advance(kernel.index(at), (at - blocksEnd) / lanes);
  SmallVector<Reducer::State> totals;
  for (auto [k, i] : llvm::enumerate(active))
    totals.push_back(treeOfGroups(i, states[k]));
  return totals;
}

void RowEmitter::emitPass(unsigned pass, ArrayRef<Value> streams, BodyEmitter &vector, BodyEmitter &scalar) {
  active.clear();
  for (unsigned i = 0; i < reducers.size(); ++i)
    if (passOf[i] == pass)
      active.push_back(i);
  // The elements of the innermost loops: of a row, or of a piece that has a loop of its own.
  std::optional<int64_t> known = (vectors.hasPieceLoop() ? vectors.shape.piece : length).number();
  if (!known)
    return emitDynamicPass(pass, vector, scalar);
  int64_t vectorEnd = lanes > 1 ? *known / granule * granule : 0;
  if (active.empty()) {
    eachPiece({}, vector, [&](ValueRange) {
      kernel.parallelFor(kernel.index(0), kernel.index(vectorEnd), lanes, /*exact=*/true,
                         [&](Value column, bool isVector) {
                           if (isVector)
                             step(pass, vectors, vector, column, {}, streams);
                         });
      return SmallVector<Value>();
    });
    if (vectorEnd < *known)
      kernel.forLoop(kernel.index(vectorEnd), kernel.index(length), 1,
                     [&](Value column) { step(pass, scalars, scalar, column, {}, streams); });
    return;
  }
  SmallVector<Reducer::State> totals(active.size());
  if (vectorEnd > 0)
    totals = reduceVectors(pass, vectorEnd, streams, vector);
  if (vectorEnd < *known || vectorEnd == 0) {
    SmallVector<Value> initial = identities();
    Value from = kernel.index(vectorEnd), to = kernel.index(length);
    auto rest = reduceRest(pass, initial, from, to, streams, scalar);
    for (auto [k, i] : llvm::enumerate(active))
      totals[k] = vectorEnd > 0 ? reducers[i].combine(totals[k], rest[k]) : rest[k];
  }
  for (auto [k, i] : llvm::enumerate(active))
    setResult(i, totals[k], vector, scalar);
}

void RowEmitter::emitRow(Value row, ArrayRef<Value> streams, BodyEmitter &vector, BodyEmitter &scalar) {
  vector.setVar(vectors.row, row);
  scalar.setVar(scalars.row, row);
  for (unsigned pass = 0; pass <= lastPass; ++pass)
    emitPass(pass, streams, vector, scalar);
  SmallVector<Value> values;
  for (auto [i, root] : llvm::enumerate(scalars.roots))
    values.push_back(scalars.ofDomain[i] ? Value() : scalar.emit(root));
  for (auto [i, value] : llvm::enumerate(values))
    if (value)
      scalar.store(kernel.result(static_cast<unsigned>(i)), scalars.keptAddress, value);
}

} // namespace

Status detail::emitRow(KernelBuilder &kernel) {
  ir::FusionOp fusion = kernel.fusion;
  ir::ScheduleAttr schedule = *fusion.getSchedule();
  ir::Size length = ir::rowLength(fusion);
  int64_t granule = schedule.number(ir::ScheduleField::lanes);
  int64_t lanes = length.number().value_or(granule) < granule ? 1 : schedule.getVector();
  RowEmitter rows(kernel, lanes);
  Status status = rows.prepare();
  if (!status.ok())
    return status;
  bool streaming = schedule.getStreaming() && ir::isMultipleOf(length, granule);
  kernel.withStreams(streaming, lanes, [&](ArrayRef<Value> streams) {
    BodyEmitter vector(kernel, rows.vectors.graph), scalar(kernel, rows.scalars.graph);
    SmallVector<Value> usable(streams);
    kernel.forTasks([&](Value row) { rows.emitRow(row, usable, vector, scalar); });
  });
  return {};
}

} // namespace weft::codegen
