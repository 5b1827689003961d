//===- EmitSorts.h - The sorts of a program ---------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_SORTS_EMITSORTS_H
#define WEFT_CODEGEN_CUDA_SORTS_EMITSORTS_H

#include "codegen/cuda/contractions/TextKernels.h"
#include "codegen/cuda/sorts/PrintSort.h"

namespace weft::codegen {

/// A kernel that a program launches for sorts.
struct EmittedSort : EmittedText {
  CudaSort schedule;
  std::vector<ir::SortOp> uses;
};

/// The kernels of the sorts of a module after the pipeline, which are on a device of this target. Ops that
/// have equal kernels share one.
Expected<std::vector<EmittedSort>> emitSorts(mlir::ModuleOp module, const ir::Target &target);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_SORTS_EMITSORTS_H
