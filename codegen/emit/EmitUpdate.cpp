//===- EmitUpdate.cpp - Kernels that write by index -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The writes have the shape [outer, count, inner]. Writes along `count` may go to the same element, so one
// task does them in order: the writes of one outer index, for a block of inner indices, to a range of places
// in the indexed dimension. An index_update has one index for a whole row of inner elements, so it writes the
// row in vectors.
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/EmitKernel.h"
#include "codegen/emit/Reducer.h"

#include "ir/CudaLoops.h"
#include "ir/Schedule.h"
#include "ir/Updates.h"

using namespace mlir;
namespace weft::codegen {

namespace {

/// The values and addresses of the writes, for vectors or for scalars.
struct UpdateBody {
  UpdateBody(ir::FusionOp fusion, const ir::UpdateTiles &tiles, int64_t lanes)
      : space(ir::rangesOf(fusion)), graph(fusion, space) {
    Operation *update = ir::updateIn(fusion);
    auto dim = static_cast<unsigned>(ir::indexedDim(update));
    ArrayRef<ir::Size> base = ir::sizesOf(update->getOperand(0)), written = ir::sizesOf(ir::updateOf(update)),
                       shape = ir::sizesOf(ir::indexOperandOf(update).get());
    bool isScatter = isa<ir::ScatterOp>(update);
    space.lanes = lanes;
    outer = space.addLoop(tiles.outer - 1);
    position = space.addLoop(tiles.count - 1);
    column = space.addLoop(tiles.inner - 1);
    IndexExpr at = space.expr(column);
    at.lane = lanes > 1 ? 1 : 0;
    auto push = [&](TensorIndex &index, unsigned dims, ir::Size size, const IndexExpr &expr) {
      if (dims)
        index.groups.push_back({dims, size, expr});
    };
    auto rank = static_cast<unsigned>(base.size()),
         along = isScatter ? 1u : static_cast<unsigned>(shape.size());
    TensorIndex write, which;
    push(write, dim, tiles.outer, space.expr(outer));
    push(write, along, tiles.count, space.expr(position));
    push(write, rank - dim - 1, tiles.inner, at);
    if (isScatter)
      which = write;
    else
      push(which, along, tiles.count, space.expr(position));
    index = graph.chosenIndex(update, which);
    IndexExpr chosen = space.expr(space.addGathered(index, tiles.size, /*perLane=*/false));
    if (!isScatter) {
      IndexExpr row = space.linear(space.expr(outer), tiles.size, chosen);
      address = space.linear(row, tiles.inner, at);
    } else {
      // The index tensor may be smaller than base and update, so do not merge dimensions into one group.
      TensorIndex source;
      for (unsigned d = 0; d < rank; ++d) {
        IndexExpr own = rangeIndex(space, write, shape, d, d + 1);
        address = space.linear(address, base[d], d == dim ? chosen : own);
        source.groups.push_back({1, written[d], own});
      }
      if (written != shape)
        write = source;
    }
    value = graph.request(ir::updateOf(update), write);
    status = graph.expand();
  }

  IndexSpace space;
  BodyGraph graph;
  VarId outer, position, column;
  int index = 0, value = 0;
  IndexExpr address;
  Status status;
};

ir::ScatterKind kindOf(Operation *update) {
  if (auto scatter = dyn_cast<ir::ScatterOp>(update))
    return scatter.getKind();
  return cast<ir::IndexUpdateOp>(update).getAccumulate() ? ir::ScatterKind::add : ir::ScatterKind::set;
}

/// Combines the old value with the new one. f16 and bf16 are combined in f32 and then rounded.
Value combine(KernelBuilder &kernel, ir::ScatterKind kind, Value before, Value value, bool isUnsigned) {
  Type type = before.getType(), element = getElementTypeOrSelf(type);
  if (element.isF16() || element.isBF16()) {
    Type wide = ir::withElement(type, kernel.builder.getF32Type());
    before = kernel.create<arith::ExtFOp>(wide, before);
    value = kernel.create<arith::ExtFOp>(wide, value);
    return kernel.create<arith::TruncFOp>(type, combine(kernel, kind, before, value, isUnsigned));
  }
  if (kind == ir::ScatterKind::set)
    return value;
  return combineValues(kernel,
                       kind == ir::ScatterKind::add   ? Combiner::add
                       : kind == ir::ScatterKind::mul ? Combiner::mul
                       : kind == ir::ScatterKind::max ? Combiner::max
                                                      : Combiner::min,
                       before, value, isUnsigned);
}

} // namespace

Status detail::emitUpdate(KernelBuilder &kernel) {
  ir::FusionOp fusion = kernel.fusion;
  Operation *update = ir::updateIn(fusion);
  ir::ScheduleAttr schedule = *fusion.getSchedule();
  ir::UpdateTiles tiles = ir::updateTiles(update, schedule.number(ir::ScheduleField::block),
                                          schedule.number(ir::ScheduleField::range));
  bool isScatter = isa<ir::ScatterOp>(update), hasOwnWrites = ir::hasOwnWrites(schedule.toSchedule());
  int64_t lanes = schedule.getVector();
  if (tiles.block.number().value_or(lanes) < lanes)
    lanes = 1;
  UpdateBody vectors(fusion, tiles, lanes), scalars(fusion, tiles, 1);
  for (const UpdateBody *body : {&vectors, &scalars})
    if (!body->status.ok())
      return body->status;
  Type element = getElementTypeOrSelf(update->getOperand(0).getType());
  ir::ScatterKind kind = kindOf(update);

  BodyEmitter vectorEmitter(kernel, vectors.graph), scalarEmitter(kernel, scalars.graph);
  auto both = [&](auto set) {
    set(vectors, vectorEmitter);
    set(scalars, scalarEmitter);
  };
  auto write = [&](UpdateBody &body, BodyEmitter &emitter) {
    emitter.emit(body.index);
    Value value = body.address.lane != 0 ? emitter.emitVector(body.value) : emitter.emit(body.value);
    Value buffer = kernel.result(0);
    if (kind != ir::ScatterKind::set)
      value = combine(kernel, kind, emitter.load(buffer, body.address, element), value,
                      element.isUnsignedInteger());
    emitter.store(buffer, body.address, value);
  };
  Value first, last; // the task writes to places [first, last)
  auto ifOurs = [&](llvm::function_ref<void()> body) {
    if (tiles.ranges == 1)
      return body();
    Value chosen = scalarEmitter.emit(scalars.index);
    Value above = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::sge, chosen, first);
    Value below = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, chosen, last);
    kernel.ifThen(kernel.create<arith::AndIOp>(above, below), body);
  };
  kernel.forTasks([&](Value task) {
    auto cut = [&](int64_t parts) {
      Value number =
          parts == 1 ? kernel.index(0) : kernel.create<arith::RemUIOp>(task, kernel.index(parts)).getResult();
      if (parts > 1)
        task = kernel.create<arith::DivUIOp>(task, kernel.index(parts));
      return number;
    };
    // Neighbouring threads have neighbouring vectors, so that they write together.
    Value low;
    if (hasOwnWrites)
      low = kernel.mul(cut(tiles.blocks), tiles.block);
    first = kernel.mul(cut(tiles.ranges), tiles.range);
    last = kernel.addIndex(first, tiles.range);
    if (!hasOwnWrites)
      low = kernel.mul(cut(tiles.blocks), tiles.block);
    Value high = kernel.minimum(kernel.addIndex(low, tiles.block), kernel.index(tiles.inner));
    both([&](UpdateBody &body, BodyEmitter &emitter) { emitter.setVar(body.outer, task); });
    kernel.forLoop(kernel.index(0), kernel.index(tiles.count), 1, [&](Value at) {
      both([&](UpdateBody &body, BodyEmitter &emitter) { emitter.setVar(body.position, at); });
      if (isScatter) {
        kernel.parallelFor(low, high, /*lanes=*/1, /*exact=*/true, [&](Value column, bool) {
          scalarEmitter.setVar(scalars.column, column);
          ifOurs([&] { write(scalars, scalarEmitter); });
        });
        return;
      }
      ifOurs([&] {
        bool exact = ir::isMultipleOf(tiles.block, lanes) && ir::isMultipleOf(tiles.inner, lanes);
        kernel.parallelFor(low, high, lanes, exact, [&](Value column, bool vector) {
          UpdateBody &body = vector ? vectors : scalars;
          BodyEmitter &emitter = vector ? vectorEmitter : scalarEmitter;
          emitter.setVar(body.column, column);
          write(body, emitter);
        });
      });
    });
  });
  return {};
}

} // namespace weft::codegen
