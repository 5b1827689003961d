//===- ConvolutionBaseline.cpp - Blocks of convolutions, baseline ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/WinogradTask.h"

namespace weft::runtime {
namespace {
#define GEMM_VECTOR_BYTES 16
#include "runtime/gemm/ConvolutionTiles.inc"

#include "runtime/gemm/ConvolutionKernels.inc"

#include "runtime/gemm/WinogradKernels.inc"
} // namespace
const ConvolutionTable convolutionBaseline = make_convolutions();
const WinogradTable winogradBaseline = make_winograd();
} // namespace weft::runtime
