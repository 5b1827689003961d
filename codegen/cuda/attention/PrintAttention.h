//===- PrintAttention.h - Attention as CUDA C++ ------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_ATTENTION_PRINTATTENTION_H
#define WEFT_CODEGEN_CUDA_ATTENTION_PRINTATTENTION_H

#include "codegen/cuda/attention/AttentionSchedule.h"

namespace weft::codegen {

/// The text of the kernel `weft_kernel` of a schedule, which is proven first. Its parameters are the operands
/// in the order of the description. A launch has `attentionBlocks` blocks of `threads()` threads, and
/// `sharedBytes` of dynamic shared memory.
Expected<std::string> printAttention(const CudaAttention &attention, const AttentionSchedule &schedule,
                                     const ir::TargetDescription &device);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_ATTENTION_PRINTATTENTION_H
