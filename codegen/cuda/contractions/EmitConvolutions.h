//===- EmitConvolutions.h - The convolutions of a program -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_CONTRACTIONS_EMITCONVOLUTIONS_H
#define WEFT_CODEGEN_CUDA_CONTRACTIONS_EMITCONVOLUTIONS_H

#include "codegen/cuda/contractions/ContractionSchedule.h"
#include "codegen/cuda/contractions/TextKernels.h"
#include "ir/Alignment.h"
#include "ir/Dialect.h"
#include "ir/Target.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace weft::codegen {

/// A launch of a convolution as the product of weights and windows.
CudaContraction describeConvolution(ir::ImplicitGemmOp op, const ir::Alignments &alignments);

/// A kernel that a program launches for convolutions.
struct EmittedConvolution : EmittedText {
  CudaContraction contraction;
  ContractionSchedule schedule;
  std::vector<ir::ImplicitGemmOp> uses;
};

/// The kernels of the convolutions of a module after the pipeline, which are on a device of this target. Ops
/// that have equal kernels share one.
Expected<std::vector<EmittedConvolution>> emitConvolutions(mlir::ModuleOp module, const ir::Target &target);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_CONTRACTIONS_EMITCONVOLUTIONS_H
