//===- CompileCudaKernels.h - The kernels that a GPU runs -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a kernel spills registers is known when ptxas has compiled it, so the choice of schedules and the
// compilation take turns: a fusion whose kernel spilled records that in its attribute `spilled`, gets the
// next schedule of its list (ir/Spills.h), and is compiled again.
//
// A value counts as spilled if ptxas reports bytes of spill stores or spill loads. Other local memory does
// not count: arrays that are indexed by data, as the table of a sine of a large angle is, are there with
// however many registers.
//
// Contractions and attention have kernels in text, whose schedules are no attributes: their ops record what
// spilled (ir/SpilledKernels.h), and whoever emits their kernels finds the schedules that are used.
//
// The plan is written after this: the number of tasks and the shared memory of a launch are those of the
// schedule. Nothing before it reads a schedule: values have their places, and launches their order, before
// schedules are chosen.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_COMPILECUDAKERNELS_H
#define WEFT_CODEGEN_COMPILECUDAKERNELS_H

#include "codegen/Compile.h"
#include "codegen/cuda/CudaCompiler.h"
#include "codegen/kernel/KernelCache.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace weft::codegen {

/// The kernels of a module after the pipeline for a target with a GPU.
struct CudaKernels {
  std::vector<EmittedKernel> kernels;
  std::vector<KernelObject> objects; ///< CudaKernel::serialize() of each; null for a kernel of the host
  /// What the decision WEFT-F012 says of each fusion whose first kernel spilled, and of the kernels of
  /// contractions and attention by their symbols.
  llvm::DenseMap<mlir::Operation *, std::string> spills;
  llvm::StringMap<std::string> textSpills;
};

/// Emits and compiles the kernels of a module, until none spills that can do without. The fusions then have
/// the schedules of these kernels, and so have the texts of contractions and attention that are emitted
/// later; the functions have a decision for each that changed or could not. A schedule that is not the
/// compiler's choice stays. An error if there is no NVRTC.
Expected<CudaKernels> compileCudaKernels(mlir::ModuleOp module, const ir::Target &target, unsigned threads);
/// The same by other compilers of kernel IR and of texts, whose objects are serialized CudaKernels, and with
/// a cache of its own. The target has a GPU.
Expected<CudaKernels> compileCudaKernels(mlir::ModuleOp module, const ir::Target &target,
                                         const KernelCompiler &compiler, const KernelCompiler &ofTexts,
                                         KernelCache &cache, unsigned threads);

/// A kernel whose text is CUDA C++, with the shared memory that its launch asks for, which ptxas does not
/// see.
struct CudaSource {
  std::string text, symbol;
  int64_t sharedBytes = 0;
};
/// Compiles such kernels, in their order, or takes them from the cache. An error if there is no NVRTC.
Expected<std::vector<CudaKernel>> compileCudaTexts(llvm::ArrayRef<CudaSource> texts,
                                                   llvm::StringRef architecture, unsigned threads);
/// The texts of emitContractions(), emitAttention(), emitConvolutions() or emitSorts().
template <typename Emitted> std::vector<CudaSource> textsOf(const std::vector<Emitted> &emitted) {
  std::vector<CudaSource> texts;
  for (const Emitted &each : emitted)
    texts.push_back({each.text, each.symbol, each.sharedBytes});
  return texts;
}

} // namespace weft::codegen

#endif // WEFT_CODEGEN_COMPILECUDAKERNELS_H
