//===- Functions.h - The functions that programs name -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_PROGRAMS_FUNCTIONS_H
#define WEFT_TEST_PROGRAMS_FUNCTIONS_H

#include "Program.h"

#include "weft/weft.hpp"

namespace weft::programs {

/// The result of one of the instructions of dtypes that compute something. `a`, `b` and `c` are the values of
/// its variables.
Tensor compute(const Instruction &in, const Tensor &a, const Tensor &b, const Tensor &c);
/// One of those that write `a`.
void write(const Instruction &in, Tensor &a, const Tensor &b);

} // namespace weft::programs

#endif // WEFT_TEST_PROGRAMS_FUNCTIONS_H
