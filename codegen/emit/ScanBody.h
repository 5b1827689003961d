//===- ScanBody.h - The body of a scan's kernel ----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_SCANBODY_H
#define WEFT_CODEGEN_EMIT_SCANBODY_H

#include "codegen/emit/KernelBuilder.h"
#include "ir/Schedule.h"

namespace weft::codegen {

/// The body over [outer][extent][inner]: lanes are along the extent if a task is a line, otherwise along
/// `inner`.
struct ScanBody {
  ScanBody(ir::FusionOp fusion, const ir::ScanShape &shape, bool alongLine, int64_t lanes);

  /// \name The arithmetic of the scan, in the accumulator's type
  /// @{
  mlir::Value identity(KernelBuilder &kernel, int64_t width) const;
  mlir::Value combine(KernelBuilder &kernel, mlir::Value a, mlir::Value b) const;
  /// The element to scan at the current position.
  mlir::Value elementOf(KernelBuilder &kernel, BodyEmitter &emitter) const;
  /// Stores the fusion's results at this position; `value` is the result of the scan.
  void finish(KernelBuilder &kernel, BodyEmitter &emitter, mlir::Value value) const;
  /// @}

  IndexSpace space;
  BodyGraph graph;
  VarId outer, step, column;
  IndexExpr address;
  mlir::Operation *scan = nullptr;
  mlir::Type element, accumulator;
  bool reverse = false, exclusive = false, isUnsigned = false;
  int operand = 0, result = 0;
  llvm::SmallVector<int> roots;
  Status status;

private:
  mlir::Attribute identityOf() const;
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_SCANBODY_H
