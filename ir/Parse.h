//===- Parse.h - Text to IR ------------------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_PARSE_H
#define WEFT_IR_PARSE_H

#include "weft/status.hpp"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace weft::ir {

/// Parses and verifies a module, after the scan of TextGuard.h. `name` is the file name in messages. The
/// message of the error has all diagnostics with their notes; the context's other handlers get none.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> parseModule(mlir::MLIRContext &context, llvm::StringRef text,
                                                        llvm::StringRef name);

} // namespace weft::ir

#endif // WEFT_IR_PARSE_H
