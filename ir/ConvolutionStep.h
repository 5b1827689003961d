//===- ConvolutionStep.h - Steps after the sums of convolutions -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_CONVOLUTIONSTEP_H
#define WEFT_IR_CONVOLUTIONSTEP_H

#include "llvm/ADT/StringRef.h"

namespace weft::ir {

/// Steps of an epilogue, in the order of their names and of their numbers in plans.
enum class ConvolutionStep { add, sub, mul, residual, relu, wide };
inline constexpr llvm::StringLiteral convolutionStepNames[] = {"add",      "sub",  "mul",
                                                               "residual", "relu", "wide"};

/// Whether a step has a vector or a residual.
inline bool readsOperand(ConvolutionStep step) {
  return step != ConvolutionStep::relu && step != ConvolutionStep::wide;
}

} // namespace weft::ir

#endif // WEFT_IR_CONVOLUTIONSTEP_H
