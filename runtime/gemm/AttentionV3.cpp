//===- AttentionV3.cpp - Blocks of attention, level x86-64-v3 -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/AttentionTask.h"
#include "runtime/gemm/Gemm.h"

namespace weft::runtime {
namespace {
#define GEMM_VECTOR_BYTES 32
#define GEMM_ROWS 6
#include "runtime/gemm/GemmKernels.inc"

#include "runtime/gemm/AttentionKernels.inc"
} // namespace
const AttentionTable attentionV3 = makeAttentionTable();
} // namespace weft::runtime
