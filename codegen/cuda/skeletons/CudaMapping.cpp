//===- CudaMapping.cpp ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/skeletons/CudaMapping.h"

#include "codegen/emit/KernelBuilder.h"
#include "codegen/kernel/KernelIR.h"
#include "ir/Schedule.h"
#include "ir/Updates.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
namespace weft::codegen {

Value threadOf(KernelBuilder &kernel, int64_t threads) {
  auto thread = kernel.create<gpu::ThreadIdOp>(gpu::Dimension::x);
  thread.setUpperBoundAttr(kernel.builder.getIndexAttr(threads));
  return thread;
}

/// The number of the block; a bound of it is known if the sizes are numbers.
static Value blockOf(KernelBuilder &kernel, ir::Size blocks) {
  auto block = kernel.create<gpu::BlockIdOp>(gpu::Dimension::x);
  if (blocks.isNumber())
    block.setUpperBoundAttr(kernel.builder.getIndexAttr(std::max<int64_t>(blocks.asNumber(), 1)));
  return block;
}

Value declaredView(KernelBuilder &kernel, int64_t bytes, bool shared, int64_t offset, int64_t count,
                   Type type) {
  MLIRContext *context = kernel.builder.getContext();
  const Attribute space =
      shared ? gpu::AddressSpaceAttr::get(context, gpu::AddressSpace::Workgroup) : Attribute();
  auto typeOf = [&](int64_t size, Type element) {
    return MemRefType::get({size}, element, MemRefLayoutAttrInterface(), space);
  };
  Block &entry = kernel.function.front();
  auto known = entry.getOps<memref::AllocaOp>();
  Value memory;
  if (!known.empty()) {
    memory = *known.begin();
  } else {
    OpBuilder::InsertionGuard guard(kernel.builder);
    kernel.builder.setInsertionPointToStart(&entry);
    memory = kernel.create<memref::AllocaOp>(typeOf(bytes, kernel.builder.getI8Type()));
  }
  return kernel.create<memref::ViewOp>(typeOf(ShapedType::kDynamic, type), memory, kernel.index(offset),
                                       ValueRange{kernel.index(count)});
}

void storeScalar(KernelBuilder &kernel, Value value, Value view, Value at) {
  Value bits = value.getType().isInteger(1)
                   ? kernel.create<arith::ExtUIOp>(kernel.builder.getI8Type(), value).getResult()
                   : value;
  kernel.create<memref::StoreOp>(bits, view, ValueRange{at});
}

Value loadScalar(KernelBuilder &kernel, Type type, Value view, Value at) {
  Value loaded = kernel.create<memref::LoadOp>(view, ValueRange{at});
  return type.isInteger(1) ? kernel.create<arith::TruncIOp>(type, loaded).getResult() : loaded;
}

static void setThreads(KernelBuilder &kernel, int64_t threads) {
  kernel.function->setAttr(threadsAttribute, kernel.builder.getI64IntegerAttr(threads));
}

Mapping::Tasks ThreadMapping::tasks(KernelBuilder &kernel, Tasks) const {
  setThreads(kernel, threads);
  const ir::Size count = kernel.fusion.getSchedule()->getTasks();
  Value first = kernel.mul(blockOf(kernel, ir::ceilDiv(count, threads)), threads);
  Value task = kernel.add(first, threadOf(kernel, threads));
  Value next = kernel.addIndex(task, 1);
  // Optimiser steps get the sizes of their tensors from a table, by which tasks behind the last do nothing.
  if (!count.isNumber() && kernel.symbols.empty())
    return {task, next};
  return {task, kernel.minimum(next, kernel.index(count))};
}

Value ThreadMapping::scratch(KernelBuilder &kernel, int64_t offset, int64_t count, Type type) const {
  return declaredView(kernel, kernel.fusion.getSchedule()->getScratch(), /*shared=*/false, offset, count,
                      type);
}

void ThreadMapping::fail(KernelBuilder &kernel, int64_t check, Value position, Value value) const {
  auto function = kernel.module->lookupSymbol<func::FuncOp>(failFunction);
  if (!function) {
    OpBuilder::InsertionGuard guard(kernel.builder);
    kernel.builder.setInsertionPointToStart(kernel.module->getBody());
    Type i64 = kernel.builder.getI64Type();
    function = kernel.create<func::FuncOp>(failFunction, kernel.builder.getFunctionType({i64, i64, i64}, {}));
    function.setPrivate();
  }
  Value number = kernel.create<arith::ConstantIntOp>(check, 64);
  kernel.create<func::CallOp>(function, ValueRange{number, position, value});
}

void ThreadMapping::withStreams(KernelBuilder &, bool, int64_t, StreamBody emit) const { emit({}); }

Mapping::Tasks WriteMapping::tasks(KernelBuilder &kernel, Tasks) const {
  setThreads(kernel, ownThreads);
  const ir::ScheduleAttr schedule = *kernel.fusion.getSchedule();
  const ir::Size cuts =
      ir::updateTiles(ir::updateIn(kernel.fusion), schedule.number(ir::ScheduleField::block),
                      schedule.number(ir::ScheduleField::range))
          .tasks();
  Value task =
      kernel.add(kernel.mul(blockOf(kernel, schedule.getTasks()), ownThreads), threadOf(kernel, ownThreads));
  return {task, kernel.minimum(kernel.addIndex(task, 1), kernel.index(cuts))};
}

Mapping::Tasks ElementMapping::tasks(KernelBuilder &kernel, Tasks) const {
  setThreads(kernel, ownThreads);
  Value task = blockOf(kernel, kernel.fusion.getSchedule()->getTasks());
  return {task, kernel.addIndex(task, 1)};
}

void ElementMapping::parallelFor(KernelBuilder &kernel, Value low, Value high, int64_t lanes, bool exact,
                                 ParallelBody body) const {
  // A thread has one place or few, so that loops over them are not unrolled.
  Value thread = threadOf(kernel, ownThreads), middle = low;
  if (lanes > 1) {
    middle = high;
    if (!exact) {
      Value extent = kernel.create<arith::MaxSIOp>(kernel.create<arith::SubIOp>(high, low), kernel.index(0));
      Value rest = kernel.create<arith::RemUIOp>(extent, kernel.index(lanes));
      middle = kernel.add(low, kernel.create<arith::SubIOp>(extent, rest));
    }
    kernel.forLoop(kernel.add(low, kernel.mul(thread, lanes)), middle, ownThreads * lanes,
                   [&](Value at) { body(at, true); });
    kernel.rollLoop();
    if (exact)
      return;
  }
  kernel.forLoop(kernel.add(middle, thread), high, ownThreads, [&](Value at) { body(at, false); });
  kernel.rollLoop();
}

Mapping::State ElementMapping::once(KernelBuilder &kernel, Compute compute) const {
  constexpr int64_t slot = 8, mostBytes = 128;
  if (!kernel.function.front().getOps<memref::AllocaOp>().empty())
    barrier(kernel); // a block that has two groups of steps: all have read the numbers of the first
  auto place = [&](size_t i, Type type) {
    return declaredView(kernel, mostBytes, /*shared=*/true, static_cast<int64_t>(i) * slot, 1,
                        KernelBuilder::memoryType(type));
  };
  SmallVector<Type> types;
  Value isFirst =
      kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, threadOf(kernel, ownThreads), kernel.index(0));
  kernel.ifThen(isFirst, [&] {
    const State made = compute();
    assert(made.size() * slot <= mostBytes);
    for (auto [i, value] : llvm::enumerate(made)) {
      types.push_back(value.getType());
      storeScalar(kernel, value, place(i, value.getType()), kernel.index(0));
    }
  });
  barrier(kernel);
  State read;
  for (auto [i, type] : llvm::enumerate(types))
    read.push_back(loadScalar(kernel, type, place(i, type), kernel.index(0)));
  return read;
}

Mapping::State ElementMapping::reduce(KernelBuilder &, State, Combine) const {
  llvm_unreachable("a skeleton of single elements combines none");
}

void ElementMapping::barrier(KernelBuilder &kernel) const { kernel.create<gpu::BarrierOp>(); }

} // namespace weft::codegen
