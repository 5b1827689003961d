//===- Devices.h - Programs of the host on a device ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_DEVICES_H
#define WEFT_TEST_RANDOM_DEVICES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace weft::randomtest {

/// The program with its values on `cuda:0`. Every second argument of the function `entry` that is only read,
/// and every second result that is not tied to an argument, stay on the host and are copied, so that there
/// are several queues. Null, after a diagnostic, for a program that cannot be mapped.
mlir::OwningOpRef<mlir::ModuleOp> moveToDevice(mlir::ModuleOp module, llvm::StringRef entry);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_DEVICES_H
