//===- KernelTargets.h - Which target's kernels who emits ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_KERNELTARGETS_H
#define WEFT_CODEGEN_KERNELTARGETS_H

#include "codegen/emit/KernelTarget.h"
#include "ir/TargetDescription.h"

namespace weft::codegen {

/// The table's row for the kind of device that is described; null if there is none.
const KernelTarget *findKernels(const ir::TargetDescription &device);
/// The table's row for the host.
const KernelTarget &cpuKernels();

/// Registers the pass `--weft-emit-kernels`, which replaces a module of scheduled functions by the kernels of
/// its fusions, for the host.
void registerEmitKernelsPass();

} // namespace weft::codegen

#endif // WEFT_CODEGEN_KERNELTARGETS_H
