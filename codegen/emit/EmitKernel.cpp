//===- EmitKernel.cpp -----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/EmitKernel.h"

#include "codegen/emit/KernelBuilder.h"
#include "ir/FunctionAttributes.h"
#include "ir/Schedule.h"
#include "ir/Updates.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
namespace weft::codegen {

/// Allows machine code to round a * b + c once. Elementary functions are expanded later, so they are not
/// affected.
static void allowContraction(ModuleOp kernel) {
  auto flags = arith::FastMathFlagsAttr::get(kernel.getContext(), arith::FastMathFlags::contract);
  kernel.walk([&](Operation *op) {
    if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp>(op))
      op->setAttr("fastmath", flags);
  });
}

Expected<OwningOpRef<ModuleOp>> emitKernel(ir::FusionOp fusion, StringRef symbol, int64_t firstCheck) {
  auto schedule = fusion.getSchedule();
  if (!schedule)
    return Status::error("a fusion has no schedule; run --weft-choose-schedules before its kernel is made");
  KernelBuilder kernel(fusion, symbol);
  kernel.firstCheck = firstCheck;
  Status status;
  switch (schedule->getKind()) {
  case ir::FusionKind::loop:
    if (ir::productOf(fusion.getDomain()) == 0)
      break; // nothing to compute
    status = schedule->has(ir::ScheduleField::tileRows) ? detail::emitTransposed(kernel)
                                                        : detail::emitLoop(kernel);
    break;
  case ir::FusionKind::row:
    status = detail::emitRow(kernel);
    break;
  case ir::FusionKind::column:
    status = detail::emitColumn(kernel);
    break;
  case ir::FusionKind::scan:
    status = detail::emitScan(kernel);
    break;
  case ir::FusionKind::multi_tensor:
    status = detail::emitMultiTensor(kernel);
    break;
  case ir::FusionKind::update:
    if (ir::productOf(fusion.getDomain()) == 0 ||
        ir::elementsOf(cast<RankedTensorType>(fusion.getResult(0).getType())) == 0)
      break; // nothing to write
    status = isa<ir::DynamicUpdateSliceOp>(ir::updateIn(fusion)) ? detail::emitLoop(kernel)
                                                                 : detail::emitUpdate(kernel);
    break;
  }
  if (!status.ok())
    return status.context("cannot make kernel '" + symbol.str() + "': ");
  if (kernel.lacksSize)
    return Status::error("cannot make kernel '" + symbol.str() +
                         "': it computes with a product of sizes that cannot be expressed; give its tensors "
                         "fewer symbols in one dimension, or smaller sizes");
  kernel.finish();
  if (fusion->hasAttr(ir::attr::contract))
    allowContraction(*kernel.module);
  if (failed(verify(*kernel.module)))
    return Status::error("kernel '" + symbol.str() +
                         "' is not valid kernel IR; this is an error of Weft: please "
                         "report it with the program");
  return std::move(kernel.module);
}

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
        auto kernel = emitKernel(fusion, (function.getName() + "." + Twine(number++)).str(), check);
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
