//===- EmitScan.cpp - Scans by teams of threads ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The domain is seen as [outer][n][inner] with the scan along n.
//
// - inner = 1: a team of threads (TeamMapping.h) has a line, and runs along it in chunks of one vector a
// thread.
//   A thread scans its vector; the threads of a warp scan their totals by shifts of 1, 2, 4, 8 and 16
//   threads; the totals of warps meet in shared memory; and the total of a chunk is carried to the next. The
//   length of the line alone determines the vector and the team, and so the order of the arithmetic.
//   If only the call knows the length, the kernel looks them up when it runs: it has code for both vectors,
//   and the warps of a block have lines of their own, or one line together. So the bits are those of a kernel
//   that knows the length. Blocks take turns at the lines.
// - inner > 1: neighbouring threads have neighbouring vectors of columns, and run along them.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/skeletons/CudaSkeletons.h"
#include "codegen/cuda/skeletons/TeamMapping.h"
#include "codegen/emit/ScanBody.h"
#include "ir/CudaReductions.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
namespace weft::codegen {

namespace {

class TeamScanEmitter {
public:
  TeamScanEmitter(KernelBuilder &kernel, const ir::ScanShape &shape, int64_t lanes)
      : kernel(kernel), team(static_cast<const TeamMapping &>(kernel.mapping)), shape(shape),
        schedule(*kernel.fusion.getSchedule()), lanes(lanes), isDynamic(!shape.extent.isNumber()),
        largest(schedule.number(ir::ScheduleField::lanes)),
        body(kernel.fusion, shape, shape.inner == 1, lanes), emitter(kernel, body.graph) {}

  void emitLines(Value task);
  /// The turns of a block at the lines of a call whose length only the call knows.
  void emitTurns(Value task);
  void emitColumns(Value task);

private:
  using Pair = std::pair<Value, Value>;
  void emitLine();
  /// Block `number` of the columns of one outer index.
  void emitBlock(Value outer, Value number);
  /// One chunk of a line, from `start` on in the order of the scan. Returns the carry to the next.
  Value emitChunk(Value start, Value carry);
  /// What the thread's `own` total is combined to with those of the threads before it, without itself, and
  /// the total of the team.
  Pair scanTeam(Value own);
  /// The same for the totals of warps.
  Pair scanWarps(Value own);
  void finish(Value value, Value valid);

  KernelBuilder &kernel;
  const TeamMapping &team;
  ir::ScanShape shape;
  ir::ScheduleAttr schedule;
  int64_t lanes;
  bool isDynamic;       ///< whether only the call knows the length of a line
  int64_t largest;      ///< the threads of a team; the most, if only the call knows them
  Value member, totals; ///< the thread's number in its team; those of warps, in shared memory
  Value size, isWide;   ///< of a call: the threads of its teams, and whether these are several warps
  Value exists;         ///< of a call: whether the team has a line

public:
  ScanBody body;

private:
  BodyEmitter emitter;
};

void TeamScanEmitter::finish(Value value, Value valid) {
  if (!valid)
    return body.finish(kernel, emitter, value);
  kernel.ifThen(valid, [&] { body.finish(kernel, emitter, value); });
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

TeamScanEmitter::Pair TeamScanEmitter::scanWarps(Value own) {
  const int64_t warps = largest / ir::warpThreads;
  Value warp = kernel.create<arith::DivUIOp>(member, kernel.index(ir::warpThreads));
  Value lane = kernel.create<arith::RemUIOp>(member, kernel.index(ir::warpThreads));
  // Before they are written, all have read those of the chunk before.
  team.barrier(kernel);
  Value isLast =
      kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, lane, kernel.index(ir::warpThreads - 1));
  kernel.ifThen(isLast, [&] { kernel.create<memref::StoreOp>(own, totals, ValueRange{warp}); });
  team.barrier(kernel);
  Value before = body.identity(kernel, 1), all;
  for (int64_t w = 0; w < warps; ++w) {
    Value total = kernel.create<memref::LoadOp>(totals, ValueRange{kernel.index(w)});
    Value isBefore = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, kernel.index(w), warp);
    before = kernel.create<arith::SelectOp>(isBefore, w == 0 ? total : body.combine(kernel, before, total),
                                            before);
    all = all ? body.combine(kernel, all, total) : total;
  }
  return {before, all};
}

TeamScanEmitter::Pair TeamScanEmitter::scanTeam(Value own) {
  Value lane = largest > ir::warpThreads
                   ? kernel.create<arith::RemUIOp>(member, kernel.index(ir::warpThreads)).getResult()
                   : member;
  auto isFrom = [&](int64_t number) -> Value {
    return kernel.create<arith::CmpIOp>(arith::CmpIPredicate::sge, lane, kernel.index(number));
  };
  Value sum = own;
  for (int64_t by = 1; by < ir::warpThreads; by *= 2) {
    Value with = body.combine(kernel, team.earlier(kernel, sum, by), sum);
    sum = kernel.create<arith::SelectOp>(isFrom(by), with, sum);
  }
  Value before =
      kernel.create<arith::SelectOp>(isFrom(1), team.earlier(kernel, sum, 1), body.identity(kernel, 1));
  if (largest == ir::warpThreads)
    return {before, team.ofLast(kernel, sum)};
  auto ofWarps = [&]() -> Pair {
    auto [beforeWarp, all] = scanWarps(sum);
    return {body.combine(kernel, beforeWarp, before), all};
  };
  if (!isDynamic)
    return ofWarps();
  auto branch = kernel.create<scf::IfOp>(TypeRange{sum.getType(), sum.getType()}, isWide, /*withElse=*/true);
  auto fill = [&](Block *block, llvm::function_ref<Pair()> content) {
    kernel.pushScope(branch);
    kernel.builder.setInsertionPointToStart(block);
    auto [first, second] = content();
    kernel.create<scf::YieldOp>(ValueRange{first, second});
    kernel.popScope();
  };
  fill(branch.thenBlock(), ofWarps);
  fill(branch.elseBlock(), [&]() -> Pair { return {before, team.ofLast(kernel, sum)}; });
  kernel.builder.setInsertionPointAfter(branch);
  return {branch.getResult(0), branch.getResult(1)};
}

Value TeamScanEmitter::emitChunk(Value start, Value carry) {
  Value at = kernel.add(start, kernel.mul(member, lanes)), valid;
  if (isDynamic || !ir::isMultipleOf(shape.extent, largest * lanes)) {
    // The threads behind the end read the last vector, and scan identities.
    valid = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, at, kernel.index(shape.extent));
    at = kernel.minimum(at, kernel.index(shape.extent - lanes));
  }
  if (exists)
    valid = kernel.create<arith::AndIOp>(valid, exists);
  if (body.reverse)
    at = kernel.create<arith::SubIOp>(kernel.index(shape.extent - lanes), at);
  emitter.setVar(body.step, at);
  Value elements = body.elementOf(kernel, emitter);
  if (valid)
    elements = kernel.create<arith::SelectOp>(valid, elements, body.identity(kernel, lanes));
  // The scan of the thread's own elements.
  SmallVector<Value> sums(static_cast<size_t>(lanes));
  Value sum;
  auto inOrder = [&](int64_t i) { return static_cast<size_t>(body.reverse ? lanes - 1 - i : i); };
  for (int64_t i = 0; i < lanes; ++i) {
    Value element =
        lanes == 1 ? elements
                   : kernel.create<vector::ExtractOp>(elements, static_cast<int64_t>(inOrder(i))).getResult();
    sum = sum ? body.combine(kernel, sum, element) : element;
    sums[inOrder(i)] = sum;
  }
  auto [before, all] = scanTeam(sum);
  Value base = body.combine(kernel, carry, before);
  SmallVector<Value> results(sums.size());
  for (int64_t i = 0; i < lanes; ++i) {
    const bool isBase = body.exclusive && i == 0;
    results[inOrder(i)] =
        isBase ? base : body.combine(kernel, base, sums[inOrder(body.exclusive ? i - 1 : i)]);
  }
  Value value = results[0];
  if (lanes > 1)
    value = kernel.create<vector::FromElementsOp>(VectorType::get({lanes}, body.accumulator), results);
  finish(value, valid);
  return body.combine(kernel, carry, all);
}

void TeamScanEmitter::emitLine() {
  emitter.setVar(body.column, kernel.index(0));
  auto emit = [&](Value start, ValueRange carry) { return SmallVector<Value>{emitChunk(start, carry[0])}; };
  Value identity = body.identity(kernel, 1);
  if (isDynamic) {
    kernel.forLoop(kernel.index(0), kernel.index(shape.extent), kernel.mul(size, lanes), identity, emit);
    kernel.rollLoop();
    return;
  }
  const int64_t chunk = largest * lanes;
  const auto end = static_cast<int64_t>(llvm::alignTo(shape.extent.asNumber(), chunk));
  // Turns wait for each other at barriers, so that unrolling them gains nothing.
  kernel.forLoop(kernel.index(0), kernel.index(end), chunk, identity, emit);
  kernel.rollLoop();
}

void TeamScanEmitter::emitTurns(Value task) {
  Value extent = kernel.index(shape.extent), outer = kernel.index(shape.outer);
  // A block has one team of several warps, or as many warps as it has.
  size = lookUp(kernel, ir::scanTeams(), extent, largest);
  isWide = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, size, kernel.index(ir::warpThreads));
  Value thread = threadOf(kernel, team.threads());
  member = kernel.create<arith::RemUIOp>(thread, size);
  Value number = kernel.create<arith::DivUIOp>(thread, size);
  Value teams = kernel.create<arith::DivUIOp>(kernel.index(team.threads()), size);
  Value from = kernel.create<arith::MulIOp>(task, teams), step = kernel.mul(teams, schedule.getTasks());
  kernel.forLoop(from, outer, step, [&](Value first) {
    Value own = kernel.add(first, number);
    exists = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, own, outer);
    emitter.setVar(body.outer, kernel.minimum(own, kernel.index(shape.outer - 1)));
    emitLine();
  });
}

void TeamScanEmitter::emitLines(Value task) {
  if (largest > ir::warpThreads)
    totals = team.scratch(kernel, 0, largest / ir::warpThreads, KernelBuilder::memoryType(body.accumulator));
  if (isDynamic)
    return emitTurns(task);
  member = team.member(kernel);
  Value line = kernel.add(kernel.mul(task, team.teams()), team.teamInBlock(kernel));
  emitter.setVar(body.outer, line);
  if (ir::isMultipleOf(shape.outer, team.teams()))
    return emitLine();
  Value isLine = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, line, kernel.index(shape.outer));
  kernel.ifThen(isLine, [&] { emitLine(); });
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

void TeamScanEmitter::emitBlock(Value outer, Value number) {
  const int64_t block = schedule.number(ir::ScheduleField::block);
  if (outer)
    emitter.setVar(body.outer, outer);
  // A team is one thread, so the number of its team is that of the thread.
  Value column = kernel.add(kernel.mul(number, block), kernel.mul(team.teamInBlock(kernel), lanes));
  auto scan = [&] {
    emitter.setVar(body.column, column);
    kernel.forLoop(kernel.index(0), kernel.index(shape.extent), 1, body.identity(kernel, lanes),
                   [&](Value i, ValueRange state) {
                     Value at =
                         body.reverse
                             ? kernel.create<arith::SubIOp>(kernel.index(shape.extent - 1), i).getResult()
                             : i;
                     emitter.setVar(body.step, at);
                     Value next = body.combine(kernel, state[0], body.elementOf(kernel, emitter));
                     finish(body.exclusive ? Value(state[0]) : next, Value());
                     return SmallVector<Value>{next};
                   });
  };
  if (ir::isMultipleOf(shape.inner, block))
    return scan();
  Value valid = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, column, kernel.index(shape.inner));
  kernel.ifThen(valid, scan);
}

void TeamScanEmitter::emitColumns(Value task) {
  Value blocks = kernel.index(shape.blocks(schedule.number(ir::ScheduleField::block)));
  auto emitOne = [&](Value number) {
    if (shape.outer == 1)
      return emitBlock(Value(), number);
    emitBlock(kernel.create<arith::DivUIOp>(number, blocks), kernel.create<arith::RemUIOp>(number, blocks));
  };
  if (shape.outer.isNumber() && shape.inner.isNumber())
    return emitOne(task);
  // There may be more tasks than blocks.
  Value all = shape.outer == 1 ? blocks : kernel.mul(blocks, shape.outer);
  kernel.ifThen(kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, task, all), [&] { emitOne(task); });
}

} // namespace

Status detail::emitTeamScan(KernelBuilder &kernel) {
  const ir::ScanShape shape = ir::scanShape(kernel.fusion);
  const int64_t vector = kernel.fusion.getSchedule()->getVector();
  TeamScanEmitter vectors(kernel, shape, vector);
  if (!vectors.body.status.ok())
    return vectors.body.status;
  if (shape.inner != 1 || shape.extent.isNumber() || ir::isMultipleOf(shape.extent, vector)) {
    kernel.forTasks([&](Value task) {
      if (shape.inner == 1)
        vectors.emitLines(task);
      else
        vectors.emitColumns(task);
    });
    return {};
  }
  // Lines whose length only the call knows have vectors if it is a whole number of them.
  TeamScanEmitter scalars(kernel, shape, 1);
  if (!scalars.body.status.ok())
    return scalars.body.status;
  kernel.forTasks([&](Value task) {
    Value rest = kernel.create<arith::RemUIOp>(kernel.index(shape.extent), kernel.index(vector));
    Value isWhole = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, rest, kernel.index(0));
    kernel.ifThen(isWhole, [&] { vectors.emitLines(task); }, [&] { scalars.emitLines(task); });
  });
  return {};
}

} // namespace weft::codegen
