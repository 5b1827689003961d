//===- Target.h - The machine that a program is compiled for ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A target is a host and, optionally, a kind of device: "cpu", "x86-64-v4:16", "cpu:16+cuda:sm_90". Passes
// decide about each part of a program by the description of the device that it runs on; there is no
// description for the whole program. "sm_90" is short for "cpu+cuda:sm_90", because a program for a GPU has
// parts on the host too. A target without devices maps every device of a program to the host.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_TARGET_H
#define WEFT_IR_TARGET_H

#include "ir/Dialect.h"
#include "ir/TargetDescription.h"

#include <optional>
#include <string>

namespace weft::ir {

class Target {
public:
  /// The target with this name. None if there is no such target; then `problem` says what is wrong.
  static std::optional<Target> parse(llvm::StringRef text, std::string &problem);

  const TargetDescription &getHost() const { return host; }
  /// The description of the devices beside the host; null if there are none.
  const TargetDescription *getCuda() const { return cuda ? &*cuda : nullptr; }
  /// Whether all of a program runs on the host.
  bool isHostOnly() const { return !cuda && !separate; }
  /// Whether all kernels are code for the host. That holds for "cpu", and for "cpu+host", whose devices have
  /// their own memory and queues but run code for the host.
  bool hasHostCode() const { return !cuda; }
  /// The description of a device of a program; null if the target has no devices of that kind.
  const TargetDescription *find(DeviceAttr device) const {
    return device.isCpu() || separate ? &host : getCuda();
  }
  /// "cpu", "cuda:sm_90", "cpu:16+cuda:sm_90", "cpu+host".
  std::string name() const;
  /// The name of the target in the names of plans and images, which depends on their code only.
  std::string codeName() const { return separate ? host.fullName() : name(); }

private:
  TargetDescription host = cpuDescription();
  std::optional<TargetDescription> cuda;
  bool separate = false; ///< devices beside the host run its code
};

/// The target of that name. Emits a diagnostic at `op` if there is none.
std::optional<Target> parseTarget(mlir::Operation *op, llvm::StringRef name);

/// The description of the device that `op` runs on. Emits a diagnostic and returns null if the target has
/// none.
const TargetDescription *describe(mlir::Operation *op, DeviceAttr device, const Target &target);

/// Whether every value of the function is on a device that the target describes. Emits a diagnostic for the
/// first value that is not.
mlir::LogicalResult describesAll(FuncOp func, const Target &target);

} // namespace weft::ir

#endif // WEFT_IR_TARGET_H
