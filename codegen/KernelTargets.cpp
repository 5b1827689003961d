//===- KernelTargets.cpp - Which target's kernels who emits ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/KernelTargets.h"

#include "codegen/cpu/skeletons/CpuMapping.h"
#include "codegen/cpu/skeletons/CpuSkeletons.h"
#include "codegen/cuda/skeletons/CudaMapping.h"
#include "codegen/cuda/skeletons/CudaSkeletons.h"
#include "codegen/cuda/skeletons/TeamMapping.h"
#include "codegen/emit/EmitKernel.h"
#include "codegen/emit/KernelBuilder.h"
#include "ir/CudaLoops.h"
#include "ir/Updates.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
namespace weft::codegen {

/// The table: a row for each kind of device, a column for each form of kernel.
static const std::array<KernelTarget, 2> &table() {
  using namespace detail;
  static constexpr std::array<Skeleton, numKernelForms> cpu = {/*pointwise=*/emitLoop,
                                                               /*transposed=*/emitTransposed,
                                                               /*plane=*/nullptr,
                                                               /*row=*/emitRow,
                                                               /*column=*/emitColumn,
                                                               /*scan=*/emitScan,
                                                               /*window=*/emitLoop,
                                                               /*indexedWrite=*/emitUpdate,
                                                               /*multiTensor=*/emitMultiTensor};
  // A thread of its own for each task: the skeletons of a CPU.
  static const KernelTarget oneThread = {
      "cuda", [](ir::ScheduleAttr) { return std::make_unique<ThreadMapping>(); }, cpu};
  auto mapBlocks = [](ir::ScheduleAttr schedule) -> std::unique_ptr<Mapping> {
    const int64_t threads = schedule.number(ir::ScheduleField::threads);
    if (schedule.getKind() == ir::FusionKind::row || schedule.getKind() == ir::FusionKind::scan)
      return std::make_unique<TeamMapping>(threads, schedule.number(ir::ScheduleField::lanes));
    if (schedule.getKind() == ir::FusionKind::column || schedule.has(ir::ScheduleField::squares))
      return std::make_unique<TeamMapping>(threads, threads);
    if (ir::hasOwnWrites(schedule.toSchedule()))
      return std::make_unique<WriteMapping>(threads);
    // Of the writes by index, only those that are listed have shared memory.
    if (schedule.getKind() == ir::FusionKind::update && schedule.getScratch() > 0)
      return std::make_unique<TeamMapping>(threads, threads);
    return std::make_unique<ElementMapping>(threads);
  };
  static const std::array<KernelTarget, 2> rows = {{
      {"cpu", [](ir::ScheduleAttr) { return std::make_unique<CpuMapping>(); }, cpu},
      {"cuda",
       mapBlocks,
       {/*pointwise=*/emitLoop,
        /*transposed=*/emitBlockTransposed,
        /*plane=*/emitPlane,
        /*row=*/emitTeamRow,
        /*column=*/emitBlockColumn,
        /*scan=*/emitTeamScan,
        /*window=*/emitLoop,
        /*indexedWrite=*/emitBlockUpdate,
        /*multiTensor=*/emitMultiTensor},
       &oneThread,
       /*knowsAlignment=*/true},
  }};
  return rows;
}

const KernelTarget *findKernels(const ir::TargetDescription &device) {
  const auto *row = llvm::find_if(table(), [&](const KernelTarget &row) { return row.name == device.kind; });
  return row == table().end() ? nullptr : row;
}

const KernelTarget &cpuKernels() { return *findKernels(ir::cpuDescription()); }

namespace {
struct EmitKernelsPass : PassWrapper<EmitKernelsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitKernelsPass)
  StringRef getArgument() const override { return "weft-emit-kernels"; }
  StringRef getDescription() const override { return "replaces functions by the kernels of their fusions"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect, memref::MemRefDialect,
                    scf::SCFDialect, vector::VectorDialect, cf::ControlFlowDialect>();
  }
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<OwningOpRef<ModuleOp>> kernels;
    unsigned number = 0;
    for (auto function : llvm::make_early_inc_range(module.getOps<ir::FuncOp>())) {
      int64_t check = 1;
      for (auto fusion : function.getOps<ir::FusionOp>()) {
        auto kernel =
            emitKernel(fusion, (function.getName() + "." + Twine(number++)).str(), cpuKernels(), check);
        if (!kernel) {
          fusion.emitError() << kernel.status().message();
          return signalPassFailure();
        }
        for (Operation &op : fusion.getBody().front())
          check += ir::checksIndex(&op);
        kernels.push_back(std::move(*kernel));
      }
      function.erase();
    }
    for (auto &kernel : kernels)
      module.push_back(kernel.release());
  }
};
} // namespace

void registerEmitKernelsPass() { PassRegistration<EmitKernelsPass>(); }

} // namespace weft::codegen
