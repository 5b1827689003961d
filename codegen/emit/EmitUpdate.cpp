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
#include "codegen/emit/UpdateBody.h"

#include "ir/CudaLoops.h"
#include "ir/Schedule.h"
#include "ir/Updates.h"

using namespace mlir;
namespace weft::codegen {

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

  BodyEmitter vectorEmitter(kernel, vectors.graph), scalarEmitter(kernel, scalars.graph);
  auto both = [&](auto set) {
    set(vectors, vectorEmitter);
    set(scalars, scalarEmitter);
  };
  auto write = [&](UpdateBody &body, BodyEmitter &emitter) {
    emitter.emit(body.index);
    body.write(kernel, emitter, body.valueOf(emitter));
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
    auto cut = [&](int64_t parts) { return takePart(kernel, task, parts); };
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
