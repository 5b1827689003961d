//===- Target.h - The machine that a program is compiled for ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A target is a host and, where its name says so, a kind of device beside it: "cpu", "x86-64-v4:16",
// "cpu:16+cuda:sm_90". Each part of a program is decided by the description of the device that it runs on,
// never by one for the program. "sm_90" alone is short for "cpu+cuda:sm_90": a program for a GPU has parts on
// the host too. A target without devices maps every device of a program to the host.
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
  /// Nothing for a text that names no target; `problem` then says what is wrong with it.
  static std::optional<Target> parse(llvm::StringRef text, std::string &problem);

  const TargetDescription &getHost() const { return host; }
  /// That of the devices beside the host, where there are any.
  const TargetDescription *getCuda() const { return cuda ? &*cuda : nullptr; }
  /// Whether all of a program runs on the host.
  bool isHostOnly() const { return !cuda && !separate; }
  /// Whether all kernels are code of the host: "cpu", and "cpu+host", where the devices of a program keep
  /// memory and queues of their own and run such code too.
  bool hasHostCode() const { return !cuda; }
  /// The description of a device of a program; null for a kind that the target has none of.
  const TargetDescription *find(DeviceAttr device) const {
    return device.isCpu() || separate ? &host : getCuda();
  }
  /// "cpu", "cuda:sm_90", "cpu:16+cuda:sm_90", "cpu+host".
  std::string name() const;
  /// The target that plans and images are named by: that of their code.
  std::string codeName() const { return separate ? host.fullName() : name(); }

private:
  TargetDescription host = cpuDescription();
  std::optional<TargetDescription> cuda;
  bool separate = false; ///< devices beside the host run its code
};

/// The target of that name; a diagnostic at `op` where there is none.
std::optional<Target> parseTarget(mlir::Operation *op, llvm::StringRef name);

/// The description of the device that `op` runs on; a diagnostic and null where the target has none.
const TargetDescription *describe(mlir::Operation *op, DeviceAttr device, const Target &target);

/// Whether every value of the function is on a device that the target describes; a diagnostic for the first
/// that is not.
mlir::LogicalResult describesAll(FuncOp func, const Target &target);

} // namespace weft::ir

#endif // WEFT_IR_TARGET_H
