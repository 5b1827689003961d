//===- Target.cpp - The machine that a program is compiled for ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Target.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace weft::ir {

std::optional<Target> Target::parse(llvm::StringRef text, std::string &problem) {
  Target made;
  bool hasHost = false;
  for (llvm::StringRef name : llvm::split(text, '+')) {
    if (name == "host" && !made.separate && !made.cuda) {
      made.separate = true;
      continue;
    }
    const std::optional<TargetDescription> found = findDescription(name);
    if (!found) {
      problem = "unknown target '" + name.str() + "', expected one of " + targetNames();
      return std::nullopt;
    }
    if (!found->isCpu() && made.separate) {
      problem = "the target '" + text.str() + "' has devices that run code of the host beside '" +
                name.str() + "': one kind of device makes a target";
      return std::nullopt;
    }
    if (found->isCpu() ? hasHost : made.cuda.has_value()) {
      problem = "the target '" + text.str() + "' has two descriptions of kind '" + found->kind.str() +
                "': a host and one kind of device beside it make a target, as cpu+cuda:sm_90";
      return std::nullopt;
    }
    if (found->isCpu()) {
      made.host = *found;
      hasHost = true;
    } else {
      made.cuda = *found;
    }
  }
  return made;
}

std::string Target::name() const {
  if (!cuda)
    return host.fullName() + (separate ? "+host" : "");
  const std::string device = cuda->fullName(), beside = host.fullName();
  return beside == cpuDescription().fullName() ? device : beside + "+" + device;
}

std::optional<Target> parseTarget(Operation *op, llvm::StringRef name) {
  std::string problem;
  std::optional<Target> target = Target::parse(name, problem);
  if (!target)
    op->emitError() << problem;
  return target;
}

const TargetDescription *describe(Operation *op, DeviceAttr device, const Target &target) {
  const TargetDescription *found = target.find(device);
  if (!found)
    op->emitOpError() << "runs on " << device.withoutSizes().str() << ", and the target '" << target.name()
                      << "' has no such device: name one beside the host, as " << target.getHost().fullName()
                      << "+cuda:sm_90, or map the program's devices with --weft-map-devices first";
  return found;
}

LogicalResult describesAll(FuncOp func, const Target &target) {
  for (Operation &op : func.getBody().front())
    for (Type type : op.getResultTypes())
      if (isa<RankedTensorType>(type) && deviceOf(type) && !describe(&op, deviceOf(type), target))
        return failure();
  return success();
}

} // namespace weft::ir
