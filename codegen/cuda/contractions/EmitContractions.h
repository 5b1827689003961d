//===- EmitContractions.h - The products of a program ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_CONTRACTIONS_EMITCONTRACTIONS_H
#define WEFT_CODEGEN_CUDA_CONTRACTIONS_EMITCONTRACTIONS_H

#include "codegen/cuda/contractions/ContractionSchedule.h"
#include "codegen/cuda/contractions/TextKernels.h"
#include "ir/Alignment.h"
#include "ir/Dialect.h"
#include "ir/Target.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace weft::codegen {

/// The products of an op, in the order of their launches: the one of a and b, then those of `plus`, each of
/// which has the result so far as its residual. An error if an operand must be transposed first.
Expected<std::vector<CudaContraction>> describeContraction(ir::DotGeneralOp op,
                                                           const ir::Alignments &alignments);

/// A launch of a contraction's kernel.
struct ContractionUse {
  ir::DotGeneralOp op;
  unsigned product = 0; ///< of describeContraction()
};

/// A kernel that a program launches for contractions.
struct EmittedContraction : EmittedText {
  CudaContraction contraction;
  ContractionSchedule schedule;
  std::vector<ContractionUse> uses;
};

/// The kernels of the contractions of a module after the pipeline, which are on a device of this target.
/// Contractions that have equal kernels share one.
Expected<std::vector<EmittedContraction>> emitContractions(mlir::ModuleOp module, const ir::Target &target);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_CONTRACTIONS_EMITCONTRACTIONS_H
