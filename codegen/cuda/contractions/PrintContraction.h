//===- PrintContraction.h - Contractions as CUDA C++ ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of threads computes a tile of the result. It keeps tiles of both operands in shared memory, as many
// steps of k ahead as its schedule has stages, and each warp multiplies its part of them. The text depends on
// description and schedule alone, includes no header, and is compiled with `-fmad=false` as other kernels
// are.
//
// The parameters of the kernel are, in this order: a, b, the bias if there is one, the residual if there is
// one, c, and a `long long` for each extent and stride that is a parameter, in the order m, n, k, strides of
// a, of b, of c. The residual may be c itself. A grid has contractionBlocks() blocks along x, which says how
// large the batch is.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_CONTRACTIONS_PRINTCONTRACTION_H
#define WEFT_CODEGEN_CUDA_CONTRACTIONS_PRINTCONTRACTION_H

#include "codegen/cuda/contractions/ContractionSchedule.h"

#include <string>

namespace weft::codegen {

/// The kernel as text. An error for a schedule that is not proven for this contraction and device.
Expected<std::string> printContraction(const CudaContraction &contraction,
                                       const ContractionSchedule &schedule,
                                       const ir::TargetDescription &device);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_CONTRACTIONS_PRINTCONTRACTION_H
