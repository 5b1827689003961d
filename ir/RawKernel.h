//===- RawKernel.h - The parameters of weft.raw_kernel ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifier of weft.raw_kernel, the memory plan, code generation and the plan read its parameters through
// these types.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_RAWKERNEL_H
#define WEFT_IR_RAWKERNEL_H

#include "ir/Dialect.h"

#include <optional>

namespace weft::ir {

/// The blocks that every CUDA device can launch, in each dimension of a grid.
inline constexpr int64_t mostGridBlocks[] = {INT32_MAX, 65535, 65535};

/// What a raw kernel is given for one of its parameters: a tensor that it reads, one that it writes, both for
/// one that it changes, or a number.
struct RawParameter {
  std::optional<unsigned> operand, result;
  unsigned bytes = 8;       ///< of an address, or of the number
  uint64_t bits = 0;        ///< of the number,
  std::optional<Size> size; ///< or a number that is the size's in the call

  bool isNumber() const { return !operand && !result; }
};

/// The parameters of an op that has been verified, in order.
llvm::SmallVector<RawParameter> rawParameters(RawKernelOp op);

/// Whether the kernel changes operand `operand` into result `result`, so that both may share storage.
bool changesInPlace(RawKernelOp op, unsigned operand, unsigned result);

} // namespace weft::ir

#endif // WEFT_IR_RAWKERNEL_H
