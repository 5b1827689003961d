//===- UpdateBody.h - The body of a kernel of writes by index --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_UPDATEBODY_H
#define WEFT_CODEGEN_EMIT_UPDATEBODY_H

#include "codegen/emit/KernelBuilder.h"
#include "ir/Schedule.h"

namespace weft::codegen {

/// The values and addresses of the writes, for vectors or for scalars.
struct UpdateBody {
  UpdateBody(ir::FusionOp fusion, const ir::UpdateTiles &tiles, int64_t lanes);

  /// The value that is to be written at the current position, a vector if the address has lanes.
  mlir::Value valueOf(BodyEmitter &emitter) const {
    return address.lane != 0 ? emitter.emitVector(value) : emitter.emit(value);
  }
  /// The old value combined with the new one. f16 and bf16 are combined in f32 and then rounded.
  mlir::Value combined(KernelBuilder &kernel, mlir::Value before, mlir::Value written) const;
  /// Writes a value to the current address, or combines it with what is there.
  void write(KernelBuilder &kernel, BodyEmitter &emitter, mlir::Value written);

  IndexSpace space;
  BodyGraph graph;
  VarId outer, position, column;
  int index = 0, value = 0;
  IndexExpr address;
  ir::ScatterKind kind = ir::ScatterKind::set;
  mlir::Type element; ///< of the base
  Status status;
};

/// Takes the innermost of so many parts from a task's number: the number of that part. What is left in `task`
/// counts the others.
mlir::Value takePart(KernelBuilder &kernel, mlir::Value &task, int64_t parts);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_UPDATEBODY_H
