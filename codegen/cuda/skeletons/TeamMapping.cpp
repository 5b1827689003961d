//===- TeamMapping.cpp ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/skeletons/TeamMapping.h"

#include "codegen/cuda/skeletons/CudaMapping.h"
#include "codegen/emit/KernelBuilder.h"
#include "codegen/kernel/KernelIR.h"
#include "ir/CudaReductions.h"
#include "ir/Schedule.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
namespace weft::codegen {

Value lookUp(KernelBuilder &kernel, ir::ThreadTable table, Value length, int64_t most) {
  Value found;
  for (const ir::ThreadsOfLength &entry : llvm::reverse(table)) {
    if (entry.threads > most)
      continue;
    Value number = kernel.index(entry.threads);
    if (!found) {
      found = number;
      continue;
    }
    Value isShort = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::sle, length, kernel.index(entry.most));
    found = kernel.create<arith::SelectOp>(isShort, number, found);
  }
  return found;
}

Mapping::Tasks TeamMapping::tasks(KernelBuilder &kernel, Tasks) const {
  kernel.function->setAttr(threadsAttribute, kernel.builder.getI64IntegerAttr(ownThreads));
  auto block = kernel.create<gpu::BlockIdOp>(gpu::Dimension::x);
  const ir::Size tasks = kernel.fusion.getSchedule()->getTasks();
  if (tasks.isNumber())
    block.setUpperBoundAttr(kernel.builder.getIndexAttr(std::max<int64_t>(tasks.asNumber(), 1)));
  return {block, kernel.addIndex(block, 1)};
}

Value TeamMapping::member(KernelBuilder &kernel) const {
  Value thread = threadOf(kernel, ownThreads);
  return team == ownThreads ? thread : kernel.create<arith::RemUIOp>(thread, kernel.index(team)).getResult();
}

Value TeamMapping::teamInBlock(KernelBuilder &kernel) const {
  return team == ownThreads
             ? kernel.index(0)
             : kernel.create<arith::DivUIOp>(threadOf(kernel, ownThreads), kernel.index(team)).getResult();
}

void TeamMapping::parallelFor(KernelBuilder &kernel, Value low, Value high, int64_t lanes, bool exact,
                              ParallelBody body) const {
  Value own = member(kernel), middle = low;
  if (lanes > 1) {
    middle = high;
    if (!exact) {
      Value extent = kernel.create<arith::MaxSIOp>(kernel.create<arith::SubIOp>(high, low), kernel.index(0));
      Value rest = kernel.create<arith::RemUIOp>(extent, kernel.index(lanes));
      middle = kernel.add(low, kernel.create<arith::SubIOp>(extent, rest));
    }
    kernel.forLoop(kernel.add(low, kernel.mul(own, lanes)), middle, team * lanes,
                   [&](Value at) { body(at, true); });
    if (exact)
      return;
  }
  kernel.forLoop(kernel.add(middle, own), high, team, [&](Value at) { body(at, false); });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Mapping::State TeamMapping::reduceLanes(KernelBuilder &kernel, State partial, Combine combine) const {
  return isa<VectorType>(partial[0].getType()) ? CpuMapping::reduce(kernel, std::move(partial), combine)
                                               : partial;
}

/// The value of another thread of the group: `by` places further or before, or that of number `by`.
static Value shuffle(KernelBuilder &kernel, Value value, gpu::ShuffleMode mode, Value by, int64_t group) {
  if (matchPattern(value, m_Constant()))
    return value; // the same in every thread
  Type type = value.getType(), i32 = kernel.builder.getI32Type();
  const bool isNarrow = type.isInteger() && type.getIntOrFloatBitWidth() < 32;
  if (isNarrow)
    value = kernel.create<arith::ExtUIOp>(i32, value);
  Value width = kernel.create<arith::ConstantIntOp>(group, i32);
  value = kernel.create<gpu::ShuffleOp>(value, by, width, mode).getShuffleResult();
  return isNarrow ? kernel.create<arith::TruncIOp>(type, value).getResult() : value;
}

static Value shuffle(KernelBuilder &kernel, Value value, gpu::ShuffleMode mode, int64_t by, int64_t group) {
  if (matchPattern(value, m_Constant()))
    return value;
  return shuffle(kernel, value, mode, kernel.create<arith::ConstantIntOp>(by, kernel.builder.getI32Type()),
                 group);
}

Value TeamMapping::earlier(KernelBuilder &kernel, Value value, int64_t by) const {
  return shuffle(kernel, value, gpu::ShuffleMode::UP, by, std::min(team, ir::warpThreads));
}

Value TeamMapping::ofLast(KernelBuilder &kernel, Value value) const {
  const int64_t group = std::min(team, ir::warpThreads);
  return shuffle(kernel, value, gpu::ShuffleMode::IDX, group - 1, group);
}

Mapping::State TeamMapping::reduceGroup(KernelBuilder &kernel, State own, int64_t group,
                                        Combine combine) const {
  auto others = [&](gpu::ShuffleMode mode, int64_t by) {
    State state;
    for (Value value : own)
      state.push_back(shuffle(kernel, value, mode, by, group));
    return state;
  };
  // The first thread has the result. What the others combine beyond the end of the group is not used.
  for (int64_t half = group / 2; half > 0; half /= 2)
    own = combine(own, others(gpu::ShuffleMode::DOWN, half));
  return group > 1 ? others(gpu::ShuffleMode::IDX, 0) : own;
}

SmallVector<Value> TeamMapping::exchangeBuffers(KernelBuilder &kernel, const State &own,
                                                int64_t count) const {
  SmallVector<Value> buffers;
  for (Value value : own) {
    const int64_t offset = usedScratch;
    usedScratch += count * 8;
    buffers.push_back(scratch(kernel, offset, count, KernelBuilder::memoryType(value.getType())));
  }
  return buffers;
}

static void storeState(KernelBuilder &kernel, const Mapping::State &own, ArrayRef<Value> buffers, Value at) {
  for (auto [value, buffer] : llvm::zip(own, buffers))
    storeScalar(kernel, value, buffer, at);
}

/// The state that was stored at `from`; `own` says what its values are.
static Mapping::State loadState(KernelBuilder &kernel, const Mapping::State &own, ArrayRef<Value> buffers,
                                Value from) {
  Mapping::State state;
  for (auto [value, buffer] : llvm::zip(own, buffers))
    state.push_back(loadScalar(kernel, value.getType(), buffer, from));
  // Numbers that all threads know need not come from memory.
  for (auto [loaded, value] : llvm::zip(state, own))
    if (matchPattern(value, m_Constant()))
      loaded = value;
  return state;
}

Mapping::State TeamMapping::reduce(KernelBuilder &kernel, State partial, Combine combine) const {
  State own = reduceLanes(kernel, std::move(partial), combine);
  own = reduceGroup(kernel, std::move(own), std::min(team, ir::warpThreads), combine);
  const int64_t warps = team / ir::warpThreads;
  if (warps <= 1)
    return own;
  Value thread = member(kernel), lane = kernel.create<arith::RemUIOp>(thread, kernel.index(ir::warpThreads));
  SmallVector<Value> buffers = exchangeBuffers(kernel, own, warps);
  Value isFirst = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, lane, kernel.index(0));
  Value warp = kernel.create<arith::DivUIOp>(thread, kernel.index(ir::warpThreads));
  kernel.ifThen(isFirst, [&] { storeState(kernel, own, buffers, warp); });
  barrier(kernel);
  // Every warp combines the states of all, so that no thread waits for the result.
  Value from = kernel.create<arith::RemUIOp>(thread, kernel.index(warps));
  return reduceGroup(kernel, loadState(kernel, own, buffers, from), warps, combine);
}

Mapping::State TeamMapping::reduceGroupBySize(KernelBuilder &kernel, State own, Value group, int64_t most,
                                              Combine combine) const {
  constexpr int64_t warp = ir::warpThreads;
  // A group has the halves of its own size. Threads of groups that are smaller take part in all exchanges,
  // because a warp has one size.
  for (int64_t half = most / 2; half > 0; half /= 2) {
    State others;
    for (Value value : own)
      others.push_back(shuffle(kernel, value, gpu::ShuffleMode::DOWN, half, warp));
    Value isIn = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, kernel.index(half), group);
    State both = combine(own, others);
    for (auto [value, with] : llvm::zip(own, both))
      value = kernel.create<arith::SelectOp>(isIn, with, value);
  }
  Value lane = kernel.create<arith::RemUIOp>(threadOf(kernel, ownThreads), kernel.index(warp));
  Value first = kernel.create<arith::SubIOp>(lane, kernel.create<arith::RemUIOp>(lane, group));
  first = kernel.create<arith::IndexCastOp>(kernel.builder.getI32Type(), first);
  for (Value &value : own)
    value = shuffle(kernel, value, gpu::ShuffleMode::IDX, first, warp);
  return own;
}

Mapping::State TeamMapping::reduceBySize(KernelBuilder &kernel, State partial, Value size,
                                         Combine combine) const {
  constexpr int64_t warp = ir::warpThreads;
  State own = reduceLanes(kernel, std::move(partial), combine);
  Value ofWarp = team > warp ? kernel.minimum(size, kernel.index(warp)) : size;
  own = reduceGroupBySize(kernel, std::move(own), ofWarp, std::min(team, warp), combine);
  if (team <= warp)
    return own;
  SmallVector<Value> buffers = exchangeBuffers(kernel, own, ownThreads / warp);
  Value isWide = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, size, kernel.index(warp));
  auto branch = kernel.create<scf::IfOp>(ValueRange(own).getTypes(), isWide, /*withElseRegion=*/true);
  kernel.pushScope(branch);
  kernel.builder.setInsertionPointToStart(branch.thenBlock());
  Value thread = threadOf(kernel, ownThreads);
  Value lane = kernel.create<arith::RemUIOp>(thread, kernel.index(warp));
  Value isFirst = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, lane, kernel.index(0));
  Value number = kernel.create<arith::DivUIOp>(thread, kernel.index(warp));
  kernel.ifThen(isFirst, [&] { storeState(kernel, own, buffers, number); });
  barrier(kernel);
  Value warps = kernel.create<arith::DivUIOp>(size, kernel.index(warp));
  Value ofTeam = kernel.create<arith::SubIOp>(number, kernel.create<arith::RemUIOp>(number, warps));
  Value from = kernel.add(ofTeam, kernel.create<arith::RemUIOp>(lane, warps));
  State all = reduceGroupBySize(kernel, loadState(kernel, own, buffers, from), warps, team / warp, combine);
  kernel.create<scf::YieldOp>(all);
  kernel.popScope();
  kernel.builder.setInsertionPointToStart(branch.elseBlock());
  kernel.create<scf::YieldOp>(own);
  kernel.builder.setInsertionPointAfter(branch);
  return State(branch.getResults());
}

Value TeamMapping::scratch(KernelBuilder &kernel, int64_t offset, int64_t count, Type type) const {
  return declaredView(kernel, kernel.fusion.getSchedule()->getScratch(), /*shared=*/true, offset, count,
                      type);
}

void TeamMapping::barrier(KernelBuilder &kernel) const { kernel.create<gpu::BarrierOp>(); }

} // namespace weft::codegen
