//===- BlockMapping.cpp ---------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BlockMapping.h"

#include "KernelHarness.h"
#include "codegen/emit/EmitKernel.h"
#include "codegen/emit/KernelBuilder.h"
#include "codegen/kernel/KernelIR.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "gtest/gtest.h"

#include <bit>
#include <functional>
#include <ucontext.h>

using namespace mlir;
namespace weft::testing {

using codegen::KernelBuilder;

//===----------------------------------------------------------------------===//
// The mappings
//===----------------------------------------------------------------------===//

static Value threadOf(KernelBuilder &kernel) { return kernel.create<gpu::ThreadIdOp>(gpu::Dimension::x); }
static Value blockOf(KernelBuilder &kernel) { return kernel.create<gpu::BlockIdOp>(gpu::Dimension::x); }

codegen::Mapping::Tasks BlockMapping::tasks(KernelBuilder &kernel, Tasks called) const {
  Value task = kernel.add(called.begin, blockOf(kernel));
  return {task, kernel.addIndex(task, 1)};
}

codegen::Mapping::Tasks ThreadMapping::tasks(KernelBuilder &kernel, Tasks called) const {
  Value first = kernel.add(called.begin, kernel.mul(blockOf(kernel), threads));
  Value task = kernel.add(first, threadOf(kernel));
  return {task, kernel.minimum(kernel.addIndex(task, 1), called.end)};
}

void BlockMapping::parallelFor(KernelBuilder &kernel, Value low, Value high, int64_t lanes, bool exact,
                               ParallelBody body) const {
  Value thread = threadOf(kernel), middle = low;
  if (lanes > 1) {
    Value extent = kernel.create<arith::MaxSIOp>(kernel.create<arith::SubIOp>(high, low), kernel.index(0));
    Value rest = kernel.create<arith::RemUIOp>(extent, kernel.index(lanes));
    middle = exact ? high : kernel.add(low, kernel.create<arith::SubIOp>(extent, rest));
    kernel.forLoop(kernel.add(low, kernel.mul(thread, lanes)), middle, threads * lanes,
                   [&](Value at) { body(at, true); });
    if (exact)
      return;
  }
  kernel.forLoop(kernel.add(middle, thread), high, threads, [&](Value at) { body(at, false); });
}

static Value view(KernelBuilder &kernel, int64_t offset, int64_t count, Type type) {
  return kernel.create<memref::ViewOp>(MemRefType::get({ShapedType::kDynamic}, type), kernel.scratch,
                                       kernel.index(offset), ValueRange{kernel.index(count)});
}

Value BlockMapping::scratch(KernelBuilder &kernel, int64_t offset, int64_t count, Type type) const {
  return view(kernel, ownScratch() + offset, count, type);
}

codegen::Mapping::State BlockMapping::reduce(KernelBuilder &kernel, State partial, Combine combine) const {
  State own = lanesOfThread.reduce(kernel, std::move(partial), combine);
  Value thread = threadOf(kernel);
  SmallVector<Value> buffers;
  SmallVector<Type> types;
  for (auto [i, value] : llvm::enumerate(own)) {
    types.push_back(value.getType());
    buffers.push_back(view(kernel, static_cast<int64_t>(i) * threads * 8, threads,
                           KernelBuilder::memoryType(value.getType())));
  }
  auto store = [&](const State &state) {
    for (auto [value, buffer] : llvm::zip(state, buffers)) {
      Value bits = value.getType().isInteger(1)
                       ? kernel.create<arith::ExtUIOp>(kernel.builder.getI8Type(), value).getResult()
                       : value;
      kernel.create<memref::StoreOp>(bits, buffer, ValueRange{thread});
    }
  };
  auto load = [&](Value at) {
    State state;
    for (auto [type, buffer] : llvm::zip(types, buffers)) {
      Value value = kernel.create<memref::LoadOp>(buffer, ValueRange{at});
      state.push_back(type.isInteger(1) ? kernel.create<arith::TruncIOp>(type, value).getResult() : value);
    }
    return state;
  };
  store(own);
  for (int64_t count = threads; count > 1;) {
    const int64_t half = (count + 1) / 2;
    barrier(kernel);
    Value other = kernel.addIndex(thread, half);
    Value hasOther = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, other, kernel.index(count));
    kernel.ifThen(hasOther, [&] { store(combine(load(thread), load(other))); });
    count = half;
  }
  barrier(kernel);
  State total = load(kernel.index(0));
  barrier(kernel); // before the memory is used again
  return total;
}

void BlockMapping::barrier(KernelBuilder &kernel) const { kernel.create<gpu::BarrierOp>(); }

/// The failure with the lowest position is recorded. Threads of the host's blocks switch at barriers only, so
/// the check's number and value belong to that position; a GPU needs a record that is written as a whole.
void BlockMapping::fail(KernelBuilder &kernel, int64_t check, Value position, Value value) const {
  Value before = kernel.create<memref::AtomicRMWOp>(position.getType(), arith::AtomicRMWKind::mins, position,
                                                    kernel.check, ValueRange{kernel.index(1)});
  Value isFirst = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, position, before);
  auto record = kernel.create<scf::IfOp>(isFirst, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(kernel.builder);
  kernel.builder.setInsertionPointToStart(record.thenBlock());
  Value number = kernel.create<arith::ConstantIntOp>(check, 64);
  kernel.create<memref::StoreOp>(number, kernel.check, ValueRange{kernel.index(0)});
  kernel.create<memref::StoreOp>(value, kernel.check, ValueRange{kernel.index(2)});
}

void BlockMapping::withStreams(KernelBuilder &, bool, int64_t, StreamBody emit) const { emit({}); }

BlockTarget::BlockTarget(int64_t threads, codegen::Skeleton row)
    : threads(threads),
      oneThread{"block", [threads](ir::ScheduleAttr) { return std::make_unique<ThreadMapping>(threads); },
                codegen::cpuKernels().skeletons},
      blocks{"block",
             [threads](ir::ScheduleAttr) { return std::make_unique<BlockMapping>(threads); },
             {},
             &oneThread} {
  using codegen::KernelForm;
  auto set = [&](KernelForm form, codegen::Skeleton skeleton) {
    blocks.skeletons[static_cast<size_t>(form)] = skeleton;
  };
  set(KernelForm::pointwise, codegen::detail::emitLoop);
  set(KernelForm::window, codegen::detail::emitLoop);
  set(KernelForm::indexedWrite, codegen::detail::emitUpdate);
  set(KernelForm::multiTensor, codegen::detail::emitMultiTensor);
  set(KernelForm::row, row);
}

//===----------------------------------------------------------------------===//
// Execution on the host
//===----------------------------------------------------------------------===//

/// The positions of the thread's number and the block's number among the sizes of the frame; and the import
/// that implements the barrier, one that no other kernel calls.
static constexpr int64_t threadPlace = -1, blockPlace = -2;
static constexpr StringLiteral barrierImport = "weft.import.lgamma";
static constexpr auto barrierNumber = static_cast<size_t>(runtime::ImportId::lgamma_f64);

Status lowerBlocks(ModuleOp module) {
  Type index = IndexType::get(module.getContext()), f64 = Float64Type::get(module.getContext());
  Location loc = module.getLoc();
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  auto declare = [&](StringRef name, Type type) {
    auto known = module.lookupSymbol<func::FuncOp>(name);
    if (!known) {
      known = b.create<func::FuncOp>(loc, name, b.getFunctionType(type, type));
      known.setPrivate();
    }
    return known;
  };
  func::FuncOp size = declare(codegen::sizeFunction, index), wait = declare(barrierImport, f64);
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isDeclaration())
      functions.push_back(function);
  // Helpers are given both numbers by who calls them.
  llvm::DenseMap<Operation *, std::pair<Value, Value>> numbers;
  for (func::FuncOp function : functions) {
    if (function.isPrivate()) {
      unsigned count = function.getNumArguments();
      function.insertArgument(count, index, {}, loc);
      function.insertArgument(count + 1, index, {}, loc);
      numbers[function] = {function.getArgument(count), function.getArgument(count + 1)};
      continue;
    }
    b.setInsertionPointToStart(&function.getBody().front());
    auto given = [&](int64_t place) {
      Value at = b.create<arith::ConstantIndexOp>(loc, place);
      return b.create<func::CallOp>(loc, size, at).getResult(0);
    };
    Value thread = given(threadPlace);
    numbers[function] = {thread, given(blockPlace)};
  }
  Status status;
  module.walk([&](Operation *op) {
    auto function = op->getParentOfType<func::FuncOp>();
    if (isa<gpu::ThreadIdOp, gpu::BlockIdOp>(op)) {
      auto [thread, block] = numbers[function];
      op->getResult(0).replaceAllUsesWith(isa<gpu::ThreadIdOp>(op) ? thread : block);
      op->erase();
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      if (!callee.isDeclaration())
        call.getOperandsMutable().append({numbers[function].first, numbers[function].second});
    } else if (isa<gpu::BarrierOp>(op)) {
      if (function.isPrivate())
        status = Status::error("a helper waits for other threads; only the kernel itself may");
      // The barrier returns the scratch, so that the compiler reads it again afterwards.
      b.setInsertionPoint(op);
      Value scratch = function.getArgument(function.getNumArguments() - 4);
      Value address = b.create<memref::ExtractAlignedPointerAsIndexOp>(loc, scratch);
      Value bits = b.create<arith::IndexCastOp>(loc, b.getI64Type(), address);
      b.create<func::CallOp>(loc, wait, b.create<arith::BitcastOp>(loc, f64, bits).getResult());
      op->erase();
    }
  });
  return status;
}

namespace {

/// The threads of one block, each with its own stack.
class Block {
public:
  Block(size_t threads, ThreadOrder order)
      : contexts(threads), stacks(threads), ended(threads), order(order) {
    for (auto &stack : stacks)
      stack.resize(size_t(256) << 10);
  }

  void run(const std::function<void(size_t)> &body) {
    ended.assign(contexts.size(), false);
    work = &body;
    current = this;
    for (size_t i = 0; i < contexts.size(); ++i) {
      ::getcontext(&contexts[i]);
      contexts[i].uc_stack.ss_sp = stacks[i].data();
      contexts[i].uc_stack.ss_size = stacks[i].size();
      contexts[i].uc_link = &outside;
      ::makecontext(&contexts[i], &Block::start, 0);
    }
    // From barrier to barrier.
    for (size_t left = contexts.size(); left > 0;) {
      size_t arrived = 0;
      for (size_t k = 0; k < contexts.size(); ++k) {
        const size_t i = order == ThreadOrder::ascending ? k : contexts.size() - 1 - k;
        if (ended[i])
          continue;
        thread = i;
        ::swapcontext(&outside, &contexts[i]);
        left -= ended[i];
        arrived += !ended[i];
      }
      EXPECT_TRUE(arrived == 0 || arrived == contexts.size()) << "some threads wait where others have ended";
      if (arrived != 0 && arrived != contexts.size())
        return;
    }
  }

  static double barrier(double address) {
    Block &block = *current;
    ::swapcontext(&block.contexts[block.thread], &block.outside);
    return address;
  }

private:
  static void start() {
    Block &block = *current;
    const size_t own = block.thread;
    (*block.work)(own);
    block.ended[own] = true;
  }

  std::vector<ucontext_t> contexts;
  std::vector<std::vector<char>> stacks;
  std::vector<bool> ended;
  ThreadOrder order;
  ucontext_t outside = {};
  size_t thread = 0;
  const std::function<void(size_t)> *work = nullptr;
  static inline Block *current = nullptr;
};

} // namespace

void runBlocks(runtime::KernelFn kernel, const runtime::KernelFrame &frame, size_t sizes, int64_t tasks,
               int64_t threads, bool isOneThread, ThreadOrder order) {
  std::vector<void *> imports(importTable(), importTable() + static_cast<size_t>(runtime::ImportId::count));
  imports[barrierNumber] = reinterpret_cast<void *>(&Block::barrier);
  Block block(static_cast<size_t>(threads), order);
  const int64_t blocks = isOneThread ? (tasks + threads - 1) / threads : tasks;
  for (int64_t number = 0; number < blocks; ++number)
    block.run([&](size_t thread) {
      std::vector<int64_t> own(sizes + 2);
      own[0] = number;
      own[1] = static_cast<int64_t>(thread);
      std::copy_n(frame.sizes, sizes, own.begin() + 2);
      runtime::KernelFrame mine = frame;
      mine.sizes = own.data() + 2;
      mine.imports = imports.data();
      kernel(&mine, 0, tasks);
    });
}

} // namespace weft::testing
