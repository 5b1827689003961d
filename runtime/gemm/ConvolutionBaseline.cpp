//===- ConvolutionBaseline.cpp - Blocks of convolutions, baseline ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/ConvolutionTask.h"

namespace weft::runtime {
namespace {
#define GEMM_VECTOR_BYTES 16
#include "runtime/gemm/ConvolutionTiles.inc"

#include "runtime/gemm/ConvolutionKernels.inc"
} // namespace
const ConvolutionTable convolutionBaseline = make_convolutions();
} // namespace weft::runtime
