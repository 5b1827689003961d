//===- Losses.h - What losses share -----------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_OPS_LOSSES_H
#define WEFT_FRONTEND_OPS_LOSSES_H

#include "weft/losses.hpp"

namespace weft::frontend {

/// Losses of elements or rows, reduced as the user asks; `function` is the name for error messages.
Tensor reduced(const Tensor &loss, nn::Reduction reduction, const char *function, Loc loc);
/// Warns (WEFT-G010) if the shapes differ.
void warnOfBroadcast(const Tensor &input, const Tensor &target, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_LOSSES_H
