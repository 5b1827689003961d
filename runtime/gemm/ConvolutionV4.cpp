//===- ConvolutionV4.cpp - Blocks of convolutions, level x86-64-v4 ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/WinogradTask.h"

namespace weft::runtime {
namespace {
#define GEMM_VECTOR_BYTES 64
#include "runtime/gemm/ConvolutionTiles.inc"

#include "runtime/gemm/ConvolutionKernels.inc"

#include "runtime/gemm/WinogradKernels.inc"
} // namespace
const ConvolutionTable convolutionV4 = make_convolutions();
const WinogradTable winogradV4 = make_winograd();
} // namespace weft::runtime
