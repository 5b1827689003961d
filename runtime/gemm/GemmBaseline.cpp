//===- GemmBaseline.cpp - Our own matrix product, level any ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/Gemm.h"

namespace weft::runtime {
namespace {
#define GEMM_VECTOR_BYTES 16
#define GEMM_ROWS 4
#include "runtime/gemm/GemmKernels.inc"
} // namespace
const GemmTable gemmBaseline = makeTable();
} // namespace weft::runtime
