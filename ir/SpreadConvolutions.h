//===- SpreadConvolutions.h - Operands with zeros inside --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution with a base dilation has zeros between the elements of its operand. Its decomposition, and
// the pass that makes launches of convolutions, ask what that means for its products.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_SPREADCONVOLUTIONS_H
#define WEFT_IR_SPREADCONVOLUTIONS_H

#include "ir/Dialect.h"

namespace weft::ir {

/// The attribute of a convolution that is the derivative of another one with respect to its weights, if its
/// operand has zeros between its elements.
inline constexpr llvm::StringLiteral ofWeights = "weft.of_weights";

/// Whether there are zeros between the elements of the operand.
bool hasZeros(ConvolutionOp op);

/// Whether there are, and no two elements of the operand meet in a place: the products of weights and
/// elements are the result, in another order. The extents are static then, and groups have several outputs.
bool movesProducts(ConvolutionOp op);

} // namespace weft::ir

#endif // WEFT_IR_SPREADCONVOLUTIONS_H
