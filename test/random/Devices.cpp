//===- Devices.cpp - Programs of the host on a device ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/random/Devices.h"

#include "ir/Dialect.h"
#include "ir/FunctionAttributes.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
namespace weft::randomtest {

/// The type with its device replaced; nothing for a type without a device.
static RankedTensorType on(ir::DeviceAttr device, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !ir::deviceOf(tensor))
    return {};
  return ir::makeTensorType(ir::sizesOf(tensor), tensor.getElementType(), device);
}

OwningOpRef<ModuleOp> moveToDevice(ModuleOp module, StringRef entry) {
  MLIRContext *context = module.getContext();
  auto cpu = ir::DeviceAttr::get(context, ir::DeviceKind::cpu, 0);
  auto cuda = ir::DeviceAttr::get(context, ir::DeviceKind::cuda, 0);
  OwningOpRef<ModuleOp> moved(module.clone());

  // Moves all values except results of weft.to_host_scalar, which stay on the host.
  PassManager passes(context);
  passes.addPass(passes::createMapDevices({"sm_90", "cuda:0"}));
  if (failed(passes.run(*moved)))
    return nullptr;

  auto function = moved->lookupSymbol<ir::FuncOp>(entry);
  Block &body = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  // An argument with only these attributes is neither donated nor state.
  const StringRef harmless[] = {ir::attr::name, ir::attr::strides};
  for (BlockArgument argument : body.getArguments()) {
    unsigned number = argument.getArgNumber();
    DictionaryAttr attributes = function.getArgAttrDict(number);
    bool isRead = !attributes || llvm::all_of(attributes, [&](NamedAttribute attribute) {
      return llvm::is_contained(harmless, attribute.getName().strref());
    });
    if (number % 2 || !isRead)
      continue;
    argument.setType(on(cpu, argument.getType()));
    auto copy = builder.create<ir::TransferOp>(function.getLoc(), argument, cuda, /*non_blocking=*/true);
    argument.replaceAllUsesExcept(copy, copy);
  }
  Operation *end = body.getTerminator();
  builder.setInsertionPoint(end);
  for (OpOperand &result : end->getOpOperands()) {
    DictionaryAttr attributes = function.getResultAttrDict(result.getOperandNumber());
    if (result.getOperandNumber() % 2 == 0 || (attributes && !attributes.empty()))
      continue;
    result.set(builder.create<ir::TransferOp>(function.getLoc(), result.get(), cpu, /*non_blocking=*/true));
  }
  function.setFunctionType(FunctionType::get(context, body.getArgumentTypes(), end->getOperandTypes()));
  return moved;
}

} // namespace weft::randomtest
