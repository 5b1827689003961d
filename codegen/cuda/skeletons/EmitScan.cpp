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
  TeamScanEmitter(KernelBuilder &kernel, const ir::ScanShape &shape)
      : kernel(kernel), team(static_cast<const TeamMapping &>(kernel.mapping)), shape(shape),
        schedule(*kernel.fusion.getSchedule()), lanes(schedule.getVector()), extent(shape.extent.asNumber()),
        body(kernel.fusion, shape, shape.inner == 1, lanes), emitter(kernel, body.graph) {}

  void emitLines(Value task);
  void emitColumns(Value task);

private:
  using Pair = std::pair<Value, Value>;
  void emitLine();
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
  int64_t lanes, extent;
  Value member, totals; ///< the thread's number in its team; those of warps, in shared memory

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
  const int64_t warps = schedule.number(ir::ScheduleField::lanes) / ir::warpThreads;
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
  const int64_t threads = schedule.number(ir::ScheduleField::lanes);
  Value lane = threads > ir::warpThreads
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
  if (threads == ir::warpThreads)
    return {before, team.ofLast(kernel, sum)};
  auto [beforeWarp, all] = scanWarps(sum);
  return {body.combine(kernel, beforeWarp, before), all};
}

Value TeamScanEmitter::emitChunk(Value start, Value carry) {
  const int64_t chunk = schedule.number(ir::ScheduleField::lanes) * lanes;
  Value at = kernel.add(start, kernel.mul(member, lanes)), valid;
  if (extent % chunk != 0) {
    // The threads behind the end read the last vector, and scan identities.
    valid = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, at, kernel.index(extent));
    at = kernel.minimum(at, kernel.index(extent - lanes));
  }
  if (body.reverse)
    at = kernel.create<arith::SubIOp>(kernel.index(extent - lanes), at);
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
  const int64_t chunk = schedule.number(ir::ScheduleField::lanes) * lanes;
  const auto end = static_cast<int64_t>(llvm::alignTo(extent, chunk));
  emitter.setVar(body.column, kernel.index(0));
  kernel.forLoop(
      kernel.index(0), kernel.index(end), chunk, body.identity(kernel, 1),
      [&](Value start, ValueRange carry) { return SmallVector<Value>{emitChunk(start, carry[0])}; });
}

void TeamScanEmitter::emitLines(Value task) {
  const int64_t threads = schedule.number(ir::ScheduleField::lanes);
  member = team.member(kernel);
  if (threads > ir::warpThreads)
    totals = team.scratch(kernel, 0, threads / ir::warpThreads, KernelBuilder::memoryType(body.accumulator));
  Value line = kernel.add(kernel.mul(task, team.teams()), team.teamInBlock(kernel));
  emitter.setVar(body.outer, line);
  if (ir::isMultipleOf(shape.outer, team.teams()))
    return emitLine();
  Value exists = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, line, kernel.index(shape.outer));
  kernel.ifThen(exists, [&] { emitLine(); });
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

void TeamScanEmitter::emitColumns(Value task) {
  const int64_t block = schedule.number(ir::ScheduleField::block), inner = shape.inner.asNumber();
  Value number = task, blocks = kernel.index(shape.blocks(block));
  if (shape.outer != 1) {
    emitter.setVar(body.outer, kernel.create<arith::DivUIOp>(task, blocks));
    number = kernel.create<arith::RemUIOp>(task, blocks);
  }
  // A team is one thread, so the number of its team is that of the thread.
  Value column = kernel.add(kernel.mul(number, block), kernel.mul(team.teamInBlock(kernel), lanes));
  auto scan = [&] {
    emitter.setVar(body.column, column);
    kernel.forLoop(kernel.index(0), kernel.index(extent), 1, body.identity(kernel, lanes),
                   [&](Value i, ValueRange state) {
                     Value at = body.reverse
                                    ? kernel.create<arith::SubIOp>(kernel.index(extent - 1), i).getResult()
                                    : i;
                     emitter.setVar(body.step, at);
                     Value next = body.combine(kernel, state[0], body.elementOf(kernel, emitter));
                     finish(body.exclusive ? Value(state[0]) : next, Value());
                     return SmallVector<Value>{next};
                   });
  };
  if (inner % block == 0)
    return scan();
  Value valid = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, column, kernel.index(inner));
  kernel.ifThen(valid, scan);
}

} // namespace

Status detail::emitTeamScan(KernelBuilder &kernel) {
  const ir::ScanShape shape = ir::scanShape(kernel.fusion);
  TeamScanEmitter scan(kernel, shape);
  if (!scan.body.status.ok())
    return scan.body.status;
  kernel.forTasks([&](Value task) {
    if (shape.inner == 1)
      scan.emitLines(task);
    else
      scan.emitColumns(task);
  });
  return {};
}

} // namespace weft::codegen
