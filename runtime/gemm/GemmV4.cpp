//===- GemmV4.cpp - Our own matrix product, level x86-64-v4 ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/Gemm.h"

namespace weft::runtime {
namespace {
#define GEMM_VECTOR_BYTES 64
#define GEMM_ROWS 8
#include "runtime/gemm/GemmKernels.inc"
} // namespace
const GemmTable gemmV4 = makeTable();
} // namespace weft::runtime
