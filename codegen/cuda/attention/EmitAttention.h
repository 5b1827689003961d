//===- EmitAttention.h - The attention of a program -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_ATTENTION_EMITATTENTION_H
#define WEFT_CODEGEN_CUDA_ATTENTION_EMITATTENTION_H

#include "codegen/cuda/attention/AttentionSchedule.h"
#include "ir/Alignment.h"
#include "ir/Target.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace weft::codegen {

CudaAttention describeAttention(ir::AttentionOp op, const ir::Alignments &alignments);

/// A kernel that a program launches for attention, or its derivative.
struct EmittedAttention {
  std::string symbol, text; ///< CUDA C++
  CudaAttention attention;
  AttentionSchedule schedule;
  int64_t sharedBytes = 0; ///< that a launch asks for
  std::vector<ir::AttentionOp> uses;
  std::vector<std::string> lines; ///< where its ops are from, each line once
};

/// The kernels of the attention of a module after the pipeline, which is on a device of this target. Ops that
/// have equal kernels share one.
Expected<std::vector<EmittedAttention>> emitAttention(mlir::ModuleOp module, const ir::Target &target);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_ATTENTION_EMITATTENTION_H
