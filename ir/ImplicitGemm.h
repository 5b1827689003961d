//===- ImplicitGemm.h - Sizes and views of weft.implicit_gemm ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifier of weft.implicit_gemm, its reference rule, the pass that makes it and the plan read its
// attributes through these functions.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_IMPLICITGEMM_H
#define WEFT_IR_IMPLICITGEMM_H

#include "ir/ConvolutionStep.h"
#include "ir/MemoryView.h"
#include "weft/limits.hpp"

namespace weft::ir {

/// The sizes of [batch, groups, channels, extents..], as the view of the operand has them.
llvm::SmallVector<Size> operandShapeOf(ImplicitGemmOp op);
/// [groups, outputs, channels, window..].
llvm::SmallVector<Size> weightShapeOf(ImplicitGemmOp op);
/// [batch, groups, outputs, places..], and where that lies in the result.
llvm::SmallVector<Size> resultShapeOf(ImplicitGemmOp op);
MemoryView resultViewOf(ImplicitGemmOp op);

/// A step, and the vector or tensor beside the result that it reads; relu and wide have none.
struct StepOperand {
  ConvolutionStep step;
  mlir::Value operand;
};
/// The epilogue of a verified op.
llvm::SmallVector<StepOperand> epilogueOf(ImplicitGemmOp op);

/// Whether the result has the f32 in which halves are added.
bool isWide(ImplicitGemmOp op);

/// Whether a launch has Winograd's method for these numbers: of f32 on a CPU.
bool hasWinograd(ImplicitGemmOp op);

/// The multiplications of a launch; inexpressible if they are too many for a size.
Size workOf(ImplicitGemmOp op);

/// The numbers of a convolution along an extent.
struct ConvolutionReach {
  Size extent, window, places;
  int64_t stride, low, baseDilation, windowDilation;
};

/// Whether the arithmetic of places of a launch does not overflow, and its blocks are not too large.
bool fitsLaunch(llvm::ArrayRef<ConvolutionReach> extents);

} // namespace weft::ir

#endif // WEFT_IR_IMPLICITGEMM_H
