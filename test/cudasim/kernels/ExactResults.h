//===- ExactResults.h - Which results have the bits of the CPU ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_EXACTRESULTS_H
#define WEFT_TEST_CUDASIM_KERNELS_EXACTRESULTS_H

#include "ir/Dialect.h"

#include <vector>

namespace weft::cudasim {

/// By result of a function after the pipeline: whether every target gives it the same bits. A value has them
/// unless it depends on one of these, which are rounded in an order or by a function that is the target's
/// own: sums and products of floats over a dimension, matrix products, and elementary functions of f64.
/// Elements of weft.undef are no bits at all.
std::vector<bool> exactResults(ir::FuncOp function);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_EXACTRESULTS_H
