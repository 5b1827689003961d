//===- AttentionV4.cpp - Blocks of attention, level x86-64-v4 -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/AttentionTask.h"
#include "runtime/gemm/Gemm.h"

namespace weft::runtime {
namespace {
#define GEMM_VECTOR_BYTES 64
#define GEMM_ROWS 12
#include "runtime/gemm/GemmKernels.inc"

#include "runtime/gemm/AttentionKernels.inc"
} // namespace
const AttentionTable attentionV4 = makeAttentionTable();
} // namespace weft::runtime
