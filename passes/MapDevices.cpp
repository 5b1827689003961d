//===- MapDevices.cpp - Maps logical devices to those of a target ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Target.h"
#include "passes/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_MAPDEVICES
#include "passes/Passes.h.inc"

namespace {

/// The new device for each device of the program.
struct DeviceMap {
  ir::DeviceAttr all;                   ///< for all devices; if null, `each` is used
  llvm::StringMap<ir::DeviceAttr> each; ///< by name of the old device; other devices do not change
  ir::DeviceAttr operator()(ir::DeviceAttr device) const {
    auto found = each.find(device.withoutSizes().str());
    ir::DeviceAttr to = all ? all : found == each.end() ? device : found->second;
    return to.withoutSizes().withSizes(device.getSizes());
  }
};

/// Parses a device such as "cuda:1"; null if the text is not a device.
ir::DeviceAttr deviceFrom(MLIRContext *context, StringRef text) {
  if (text == "cpu")
    return ir::DeviceAttr::get(context, ir::DeviceKind::cpu, 0);
  int64_t index = 0;
  if (!text.consume_front("cuda:") || text.getAsInteger(10, index) || index < 0)
    return {};
  return ir::DeviceAttr::get(context, ir::DeviceKind::cuda, index);
}

struct MapDevices : impl::MapDevicesBase<MapDevices> {
  using MapDevicesBase::MapDevicesBase;

  FailureOr<DeviceMap> readMap(const ir::Target &machine);
  void replaceDevices(const DeviceMap &mapped);
  void keepOnHost(const DeviceMap &mapped);
  void foldTransfers();
  void runOnOperation() override;
};

/// Reads the option `devices`. A target without devices maps all to the host.
FailureOr<DeviceMap> MapDevices::readMap(const ir::Target &machine) {
  DeviceMap map;
  auto refuse = [&](const Twine &what) -> FailureOr<DeviceMap> {
    getOperation().emitError() << "cannot map devices: " << what;
    return failure();
  };
  SmallVector<StringRef> items;
  StringRef(devices).split(items, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/!devices.empty());
  for (StringRef item : items) {
    const bool isAll = items.size() == 1 && !item.contains('=');
    auto [from, to] = isAll ? std::pair(StringRef("cpu"), item) : item.split('=');
    ir::DeviceAttr source = deviceFrom(&getContext(), from), device = deviceFrom(&getContext(), to);
    if (!source || !device)
      return refuse("expected a device, or from=to as cpu=cuda:0, found '" + item + "'");
    if (!machine.find(device))
      return refuse("the target '" + machine.name() + "' has no device '" + to +
                    "'; name one beside the host, as " + machine.getHost().fullName() + "+cuda:sm_90");
    if (isAll)
      map.all = device;
    else if (!map.each.try_emplace(source.str(), device).second)
      return refuse("'" + from + "' is mapped twice");
  }
  if (machine.isHostOnly())
    map.all = ir::DeviceAttr::get(&getContext(), ir::DeviceKind::cpu, 0);
  return map;
}

/// Replaces devices in the types of values, block arguments and functions, and in attributes of any nesting.
/// Attributes with data get a new type and keep their bytes.
void MapDevices::replaceDevices(const DeviceMap &mapped) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](ir::DeviceAttr device) -> Attribute { return mapped(device); });
  auto placed = [&](ShapedType type) -> RankedTensorType {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !ir::deviceOf(tensor))
      return {};
    return ir::makeTensorType(ir::sizesOf(tensor), tensor.getElementType(),
                              mapped(ir::deviceOf(tensor)).withoutSizes());
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
  replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

/// If values of the host move to another device, results of weft.to_host_scalar stay on the host, and their
/// readers read a copy on the new device.
void MapDevices::keepOnHost(const DeviceMap &mapped) {
  auto cpu = ir::DeviceAttr::get(&getContext(), ir::DeviceKind::cpu, 0);
  ir::DeviceAttr there = mapped(cpu);
  if (there == cpu)
    return;
  getOperation().walk([&](ir::ToHostScalarOp op) {
    RankedTensorType type = op.getResult().getType();
    op.getResult().setType(ir::makeTensorType(ir::sizesOf(type), type.getElementType(), cpu));
    OpBuilder after(op->getContext());
    after.setInsertionPointAfter(op);
    auto copy = after.create<ir::TransferOp>(op.getLoc(), op.getResult(), there, /*non_blocking=*/true);
    op.getResult().replaceAllUsesExcept(copy, copy);
  });
}

void MapDevices::foldTransfers() {
  getOperation().walk([&](ir::TransferOp transfer) {
    if (transfer.getA().getType() != transfer.getType())
      return;
    // A gradient with respect to the copy differs from one with respect to its operand, so such a copy stays
    // until differentiation.
    auto isAskedFor = [](OpOperand &use) {
      return isa<ir::GradientOp>(use.getOwner()) && use.getOperandNumber() > 0;
    };
    if (llvm::any_of(transfer->getUses(), isAskedFor))
      return;
    transfer.replaceAllUsesWith(transfer.getA());
    transfer.erase();
  });
}

void MapDevices::runOnOperation() {
  const std::optional<ir::Target> machine = ir::parseTarget(getOperation(), target);
  if (!machine)
    return signalPassFailure();
  const FailureOr<DeviceMap> map = readMap(*machine);
  if (failed(map))
    return signalPassFailure();
  if (!map->all && map->each.empty())
    return;
  replaceDevices(*map);
  keepOnHost(*map);
  foldTransfers();
}

} // namespace
} // namespace weft::passes
