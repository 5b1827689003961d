//===- MapDevices.cpp - Logical devices to those of a target --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/TargetDescription.h"
#include "passes/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_MAPDEVICES
#include "passes/Passes.h.inc"

namespace {

struct MapDevices : impl::MapDevicesBase<MapDevices> {
  using MapDevicesBase::MapDevicesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const ir::TargetDescription *description = ir::findTarget(target);
    if (!description) {
      module.emitError() << "cannot map devices to the target '" << target << "', expected one of "
                         << ir::targetNames();
      return signalPassFailure();
    }
    if (!description->isCpu())
      return;
    auto cpu = ir::DeviceAttr::get(&getContext(), ir::DeviceKind::cpu, 0);

    // One replacement reaches types of values, block arguments and functions, and attributes in any nesting.
    // What holds data is rebuilt around its bytes.
    AttrTypeReplacer replacer;
    replacer.addReplacement(
        [&](ir::DeviceAttr device) -> Attribute { return cpu.withSizes(device.getSizes()); });
    auto placed = [&](ShapedType type) -> RankedTensorType {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !ir::deviceOf(tensor))
        return {};
      return ir::makeTensorType(ir::sizesOf(tensor), tensor.getElementType(), cpu);
    };
    replacer.addReplacement([&](DenseElementsAttr value) -> std::optional<std::pair<Attribute, WalkResult>> {
      RankedTensorType type = placed(value.getType());
      return type ? std::optional(std::pair<Attribute, WalkResult>(value.reshape(type), WalkResult::skip()))
                  : std::nullopt;
    });
    replacer.addReplacement(
        [&](DenseResourceElementsAttr value) -> std::optional<std::pair<Attribute, WalkResult>> {
          RankedTensorType type = placed(value.getType());
          return type ? std::optional(std::pair<Attribute, WalkResult>(
                            DenseResourceElementsAttr::get(type, value.getRawHandle()), WalkResult::skip()))
                      : std::nullopt;
        });
    replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);

    module.walk([&](ir::TransferOp transfer) {
      if (transfer.getA().getType() != transfer.getType())
        return;
      // A gradient with respect to the copy is not one with respect to what was copied: the copy stays until
      // differentiation has told them apart.
      auto isAskedFor = [](OpOperand &use) {
        return isa<ir::GradientOp>(use.getOwner()) && use.getOperandNumber() > 0;
      };
      if (llvm::any_of(transfer->getUses(), isAskedFor))
        return;
      transfer.replaceAllUsesWith(transfer.getA());
      transfer.erase();
    });
  }
};

} // namespace
} // namespace weft::passes
