//===- GemmV3.cpp - Our own matrix product, level x86-64-v3 ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/Gemm.h"

namespace weft::runtime {
namespace {
#define GEMM_VECTOR_BYTES 32
#define GEMM_ROWS 6
#include "runtime/gemm/GemmKernels.inc"
} // namespace
const GemmTable gemmV3 = makeTable();
} // namespace weft::runtime
