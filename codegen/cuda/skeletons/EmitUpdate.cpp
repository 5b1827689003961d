//===- EmitUpdate.cpp - Writes by index that a block lists first ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A task has one outer index, a block of inner indices and a range of places. Its block of threads carries
// out the writes to this range, in their order, and skips all others. One position after the other would take
// as long as all indices take to come from memory, one at a time. So the block looks at a chunk of positions:
//
// - Neighbouring threads read neighbouring indices, and mark the positions whose writes are to the range.
// - Each thread has consecutive marks, and counts them. A scan of these numbers (as in EmitScan.cpp) tells
// each
//   where its positions are in the list.
// - Each thread has vectors of inner indices, and carries out all writes of the list to them. It reads the
//   values of several writes before it combines the first, so that memory has several requests at a time.
//
// If the range is one place, the thread has its elements in registers from the first write of the list to the
// last.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/skeletons/CudaSkeletons.h"
#include "codegen/cuda/skeletons/TeamMapping.h"
#include "codegen/emit/EmitKernel.h"
#include "codegen/emit/UpdateBody.h"
#include "ir/CudaLoops.h"
#include "ir/Updates.h"

using namespace mlir;
namespace weft::codegen {

namespace {

class ListedWriteEmitter {
public:
  ListedWriteEmitter(KernelBuilder &kernel, const ir::UpdateTiles &tiles, int64_t lanes)
      : kernel(kernel), team(static_cast<const TeamMapping &>(kernel.mapping)), tiles(tiles), lanes(lanes),
        list(ir::writeList(kernel.fusion, kernel.fusion.getSchedule()->toSchedule())),
        vectors(kernel.fusion, tiles, lanes), scalars(kernel.fusion, tiles, 1),
        vectorEmitter(kernel, vectors.graph), scalarEmitter(kernel, scalars.graph) {}

  Status emit();

private:
  void emitTask(Value task);
  /// The writes of the chunk of positions from `start` on.
  void emitChunk(Value start);
  /// Marks the positions of the chunk whose writes are to the range.
  void mark(Value start);
  /// What a thread knows of the marks: its own as bits, how many the threads before it have, and all.
  struct Marks {
    Value own, before, all;
  };
  Marks countMarks();
  /// Writes the positions of the thread's marks to the list.
  void enlist(const Marks &of);
  /// Carries out the `total` writes of the list to the elements at `column`, a vector or one.
  void carryOut(UpdateBody &body, BodyEmitter &emitter, Value start, Value total, Value column);
  /// The value of the write `at` in the list, and the place that it goes to, which is null if there is only
  /// one.
  std::pair<Value, Value> readWrite(UpdateBody &body, BodyEmitter &emitter, Value start, Value at);

  Value number(int64_t value) { return kernel.create<arith::ConstantIntOp>(value, i32()); }
  Type i32() { return kernel.builder.getI32Type(); }
  /// A number in shared memory. It has 16 bits there, so that indices made of it have a known range.
  Value loadNumber(Value view, Value at) {
    return kernel.create<arith::ExtUIOp>(i32(), kernel.create<memref::LoadOp>(view, ValueRange{at}));
  }
  void storeNumber(Value value, Value view, Value at) {
    kernel.create<memref::StoreOp>(kernel.create<arith::TruncIOp>(kernel.builder.getI16Type(), value), view,
                                   ValueRange{at});
  }
  Value narrow(Value index) { return kernel.create<arith::IndexCastOp>(i32(), index); }
  Value toIndex(Value value) {
    return kernel.create<arith::IndexCastOp>(kernel.builder.getIndexType(), value);
  }
  Value compare(arith::CmpIPredicate how, Value a, Value b) {
    return kernel.create<arith::CmpIOp>(how, a, b);
  }
  /// Whether the elements of a range stay in registers. Bits do not, since they are bytes in memory.
  bool isOnePlace() const { return tiles.range == 1 && !scalars.element.isInteger(1); }

  /// The writes whose values are read before the first is combined.
  static constexpr int64_t ahead = 8;

  KernelBuilder &kernel;
  const TeamMapping &team;
  const ir::UpdateTiles &tiles;
  int64_t lanes;
  ir::WriteList list;
  UpdateBody vectors, scalars;
  BodyEmitter vectorEmitter, scalarEmitter;
  Value thread;                 ///< its number in the block
  Value listed, totals, marks;  ///< shared memory
  Value first, last, low, high; ///< the task's places and inner indices
};

Status ListedWriteEmitter::emit() {
  for (const UpdateBody *body : {&vectors, &scalars})
    if (!body->status.ok())
      return body->status;
  const int64_t positions = team.threads() * list.positions;
  thread = team.member(kernel);
  Type i16 = kernel.builder.getI16Type();
  listed = kernel.scratchView(list.listed, positions, i16);
  totals = kernel.scratchView(list.totals, team.threads() / ir::warpThreads, i16);
  marks = kernel.scratchView(list.marks, positions, kernel.builder.getI8Type());
  kernel.forTasks([&](Value task) { emitTask(task); });
  return {};
}

void ListedWriteEmitter::emitTask(Value task) {
  auto cut = [&](int64_t parts) { return takePart(kernel, task, parts); };
  first = kernel.mul(cut(tiles.ranges), tiles.range);
  last = kernel.addIndex(first, tiles.range);
  low = kernel.mul(cut(tiles.blocks), tiles.block);
  high = kernel.minimum(kernel.addIndex(low, tiles.block), kernel.index(tiles.inner));
  vectorEmitter.setVar(vectors.outer, task);
  scalarEmitter.setVar(scalars.outer, task);
  kernel.forLoop(kernel.index(0), kernel.index(tiles.count), team.threads() * list.positions,
                 [&](Value start) { emitChunk(start); });
}

void ListedWriteEmitter::emitChunk(Value start) {
  mark(start);
  team.barrier(kernel);
  const Marks found = countMarks();
  // All threads have the same total, so that they meet at the barrier or go on together. A thread that is
  // further than this one waits at the barrier behind mark() before it writes what this one still reads.
  Value count = toIndex(found.all);
  kernel.ifThen(compare(arith::CmpIPredicate::sgt, count, kernel.index(0)), [&] {
    enlist(found);
    team.barrier(kernel);
    const bool exact = ir::isMultipleOf(tiles.block, lanes) && ir::isMultipleOf(tiles.inner, lanes);
    kernel.parallelFor(low, high, lanes, exact, [&](Value column, bool vector) {
      carryOut(vector ? vectors : scalars, vector ? vectorEmitter : scalarEmitter, start, count, column);
    });
  });
}

void ListedWriteEmitter::mark(Value start) {
  Value from = kernel.add(start, thread), end = kernel.index(tiles.count);
  kernel.forLoop(kernel.index(0), kernel.index(list.positions), 1, [&](Value i) {
    Value step = kernel.mul(i, team.threads()), at = kernel.add(from, step);
    // Behind the last position is no write; its index is read instead.
    scalarEmitter.setVar(scalars.position, kernel.minimum(at, kernel.addIndex(end, -1)));
    Value chosen = scalarEmitter.emit(scalars.index);
    Value isOurs = kernel.create<arith::AndIOp>(compare(arith::CmpIPredicate::sge, chosen, first),
                                                compare(arith::CmpIPredicate::slt, chosen, last));
    isOurs = kernel.create<arith::AndIOp>(isOurs, compare(arith::CmpIPredicate::slt, at, end));
    storeScalar(kernel, isOurs, marks, kernel.add(thread, step));
  });
}

ListedWriteEmitter::Marks ListedWriteEmitter::countMarks() {
  constexpr int64_t warp = ir::warpThreads;
  Value own = kernel.mul(thread, list.positions);
  const SmallVector<Value> read =
      kernel.forLoop(kernel.index(0), kernel.index(list.positions), 1, {number(0), number(0)},
                     [&](Value i, ValueRange known) -> SmallVector<Value> {
                       Value mark = kernel.create<memref::LoadOp>(marks, ValueRange{kernel.add(own, i)});
                       mark = kernel.create<arith::ExtUIOp>(i32(), mark);
                       Value bit = kernel.create<arith::ShLIOp>(mark, narrow(i));
                       return {kernel.add(known[0], mark), kernel.create<arith::OrIOp>(known[1], bit)};
                     });
  Value count = read[0];
  Value lane = kernel.create<arith::RemUIOp>(thread, kernel.index(warp)),
        ofWarp = kernel.create<arith::DivUIOp>(thread, kernel.index(warp)), through = count;
  for (int64_t by = 1; by < warp; by *= 2) {
    Value sum = kernel.add(through, team.earlier(kernel, through, by));
    Value isLater = compare(arith::CmpIPredicate::sge, lane, kernel.index(by));
    through = kernel.create<arith::SelectOp>(isLater, sum, through);
  }
  kernel.ifThen(compare(arith::CmpIPredicate::eq, lane, kernel.index(warp - 1)),
                [&] { storeNumber(through, totals, ofWarp); });
  team.barrier(kernel);
  Value before = kernel.create<arith::SubIOp>(through, count), all;
  for (int64_t w = 0; w < team.threads() / warp; ++w) {
    Value total = loadNumber(totals, kernel.index(w));
    all = all ? kernel.add(all, total) : total;
    if (w + 1 == team.threads() / warp)
      break; // no thread is behind the last warp
    Value isBefore = compare(arith::CmpIPredicate::slt, kernel.index(w), ofWarp);
    before = kernel.create<arith::SelectOp>(isBefore, kernel.add(before, total), before);
  }
  return {read[1], before, all};
}

void ListedWriteEmitter::enlist(const Marks &of) {
  Value own = kernel.mul(thread, list.positions);
  kernel.forLoop(kernel.index(0), kernel.index(list.positions), 1, of.before,
                 [&](Value i, ValueRange next) -> SmallVector<Value> {
                   Value mark = kernel.create<arith::ShRUIOp>(of.own, narrow(i));
                   mark = kernel.create<arith::AndIOp>(mark, number(1));
                   kernel.ifThen(compare(arith::CmpIPredicate::ne, mark, number(0)), [&] {
                     // It is within these bounds, of which the index type of the kernel depends.
                     Value end = kernel.create<arith::MaxSIOp>(next[0], number(0));
                     end = kernel.minimum(end, number(team.threads() * list.positions - 1));
                     storeNumber(narrow(kernel.add(own, i)), listed, toIndex(end));
                   });
                   return {kernel.add(next[0], mark)};
                 });
}

std::pair<Value, Value> ListedWriteEmitter::readWrite(UpdateBody &body, BodyEmitter &emitter, Value start,
                                                      Value at) {
  kernel.pushScope(nullptr);
  Value position = loadNumber(listed, at);
  emitter.setVar(body.position, kernel.add(start, toIndex(position)));
  Value place = isOnePlace() ? Value() : emitter.emit(body.index);
  Value value = body.valueOf(emitter);
  kernel.popScope();
  return {value, place};
}

void ListedWriteEmitter::carryOut(UpdateBody &body, BodyEmitter &emitter, Value start, Value total,
                                  Value column) {
  emitter.setVar(body.column, column);
  SmallVector<Value, 1> held;
  if (isOnePlace()) {
    emitter.setNode(body.index, first);
    held.push_back(emitter.load(kernel.result(0), body.address, body.element));
  }
  held = kernel.forLoop(
      kernel.index(0), total, ahead, held, [&](Value at, ValueRange carried) -> SmallVector<Value> {
        SmallVector<std::pair<Value, Value>, ahead> writes;
        Value behind = kernel.addIndex(total, -1);
        for (int64_t i = 0; i < ahead; ++i)
          writes.push_back(readWrite(body, emitter, start, kernel.minimum(kernel.addIndex(at, i), behind)));
        SmallVector<Value> now(carried.begin(), carried.end());
        for (auto [i, write] : llvm::enumerate(writes)) {
          // The first one exists. Behind the last, it is read again, and not used.
          Value exists = i == 0 ? Value()
                                : compare(arith::CmpIPredicate::slt,
                                          kernel.addIndex(at, static_cast<int64_t>(i)), total);
          if (isOnePlace()) {
            Value next = body.combined(kernel, now[0], write.first);
            now[0] = exists ? kernel.create<arith::SelectOp>(exists, next, now[0]).getResult() : next;
            // A compiler that saves registers would read the other values one after the other. It does not
            // move them behind a write, since it does not know that this is to another place.
            if (i == 0)
              emitter.store(kernel.result(0), body.address, next);
            continue;
          }
          auto combine = [&, value = write.first, place = write.second] {
            emitter.setNode(body.index, place);
            body.write(kernel, emitter, value);
          };
          if (exists) {
            kernel.ifThen(exists, combine);
          } else {
            kernel.pushScope(nullptr);
            combine();
            kernel.popScope();
          }
        }
        return now;
      });
  kernel.rollLoop();
  if (isOnePlace())
    emitter.store(kernel.result(0), body.address, held[0]);
}

} // namespace

Status detail::emitBlockUpdate(KernelBuilder &kernel) {
  const ir::ScheduleAttr schedule = *kernel.fusion.getSchedule();
  if (!ir::listsWrites(kernel.fusion, schedule.toSchedule()))
    return emitUpdate(kernel);
  const ir::UpdateTiles tiles =
      ir::updateTiles(ir::updateIn(kernel.fusion), schedule.number(ir::ScheduleField::block),
                      schedule.number(ir::ScheduleField::range));
  int64_t lanes = schedule.getVector();
  if (tiles.block.number().value_or(lanes) < lanes)
    lanes = 1;
  return ListedWriteEmitter(kernel, tiles, lanes).emit();
}

} // namespace weft::codegen
