//===- EmitKernel.cpp -----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/EmitKernel.h"

#include "codegen/emit/KernelBuilder.h"
#include "codegen/kernel/KernelIR.h"
#include "ir/CudaLoops.h"
#include "ir/FunctionAttributes.h"
#include "ir/Schedule.h"
#include "ir/Updates.h"

#include "mlir/IR/Verifier.h"

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

KernelForm kernelForm(ir::FusionOp fusion) {
  const bool isPlane = ir::isPlane(fusion.getSchedule()->toSchedule());
  switch (fusion.getKind()) {
  case ir::FusionKind::loop:
    return isPlane                                                  ? KernelForm::plane
           : fusion.getSchedule()->has(ir::ScheduleField::tileRows) ? KernelForm::transposed
                                                                    : KernelForm::pointwise;
  case ir::FusionKind::row:
    return KernelForm::row;
  case ir::FusionKind::column:
    return KernelForm::column;
  case ir::FusionKind::scan:
    return KernelForm::scan;
  case ir::FusionKind::multi_tensor:
    return KernelForm::multiTensor;
  case ir::FusionKind::update:
    return isPlane                                               ? KernelForm::plane
           : isa<ir::DynamicUpdateSliceOp>(ir::updateIn(fusion)) ? KernelForm::window
                                                                 : KernelForm::indexedWrite;
  }
  llvm_unreachable("every kind is handled");
}

StringRef nameOf(KernelForm form) {
  static constexpr StringLiteral names[] = {"loop",          "transposed loop", "loop in tiles",
                                            "row",           "column",          "scan",
                                            "window update", "indexed update",  "multi_tensor"};
  static_assert(std::size(names) == numKernelForms);
  return names[static_cast<size_t>(form)];
}

/// Whether the kernel has nothing to compute or to write.
static bool isEmpty(ir::FusionOp fusion) {
  if (fusion.getKind() != ir::FusionKind::loop && fusion.getKind() != ir::FusionKind::update)
    return false;
  return ir::productOf(fusion.getDomain()) == 0 ||
         (fusion.getKind() == ir::FusionKind::update &&
          ir::elementsOf(cast<RankedTensorType>(fusion.getResult(0).getType())) == 0);
}

Expected<OwningOpRef<ModuleOp>> emitKernel(ir::FusionOp fusion, StringRef symbol, const KernelTarget &target,
                                           int64_t firstCheck) {
  return emitKernel(fusion, symbol, target, firstCheck,
                    ir::Alignments(fusion->getParentOfType<ir::FuncOp>()));
}

Expected<OwningOpRef<ModuleOp>> emitKernel(ir::FusionOp fusion, StringRef symbol, const KernelTarget &target,
                                           int64_t firstCheck, const ir::Alignments &alignments) {
  auto schedule = fusion.getSchedule();
  if (!schedule)
    return Status::error("a fusion has no schedule; run --weft-choose-schedules before its kernel is made");
  const bool isFallback = target.fallback && ir::isFallback(schedule->toSchedule());
  const KernelTarget &maker = isFallback ? *target.fallback : target;
  const KernelForm form = kernelForm(fusion);
  const Skeleton emit = maker.skeletons[static_cast<size_t>(form)];
  if (!emit)
    return Status::error("cannot make kernel '" + symbol.str() + "': the target '" + target.name.str() +
                             "' has no kernels of the kind '" + nameOf(form).str() +
                             "' for its schedule (WEFT-E009); choose the fallback's, which has threads = 1",
                         "WEFT-E009");
  const std::unique_ptr<Mapping> mapping = maker.makeMapping(*schedule);
  KernelBuilder kernel(fusion, symbol, *mapping);
  kernel.firstCheck = firstCheck;
  Status status;
  if (!isEmpty(fusion))
    status = emit(kernel);
  if (!status.ok())
    return status.context("cannot make kernel '" + symbol.str() + "': ");
  if (kernel.lacksSize)
    return Status::error("cannot make kernel '" + symbol.str() +
                         "': it computes with a product of sizes that cannot be expressed; give its tensors "
                         "fewer symbols in one dimension, or smaller sizes");
  kernel.finish();
  if (maker.knowsAlignment)
    kernel.recordAlignments(alignments);
  if (const ir::Schedule chosen = schedule->toSchedule(); chosen.has(ir::ScheduleField::resident))
    kernel.function->setAttr(residentAttribute,
                             kernel.builder.getI64IntegerAttr(chosen[ir::ScheduleField::resident]));
  if (fusion->hasAttr(ir::attr::contract))
    allowContraction(*kernel.module);
  Operation *foreign = nullptr;
  kernel.module->walk([&](Operation *op) {
    foreign = isKernelOp(op) ? nullptr : op;
    return foreign ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (foreign)
    return Status::error(
        "kernel '" + symbol.str() + "' has '" + foreign->getName().getStringRef().str() +
        "', which is no op of kernel IR; this is an error of Weft: please report it with the "
        "program");
  if (failed(verify(*kernel.module)))
    return Status::error("kernel '" + symbol.str() +
                         "' is not valid kernel IR; this is an error of Weft: please "
                         "report it with the program");
  return std::move(kernel.module);
}

} // namespace weft::codegen
