//===- Heuristic.h - Which algorithms are proposed -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_CUBLASLT_HEURISTIC_H
#define WEFT_TEST_CUDASIM_CUBLASLT_HEURISTIC_H

#include "test/cudasim/cublaslt/Algorithm.h"

namespace weft::cusim::lt {

/// The algorithm that is proposed first; false if there is none.
bool best(const Product &product, const Preference &preference, Configuration &configuration);

/// Reads an algorithm that the program gives, and checks that it computes the product on this device.
Status readAlgorithm(const MatmulAlgo *algo, const Product &product, Configuration &configuration);

} // namespace weft::cusim::lt

#endif // WEFT_TEST_CUDASIM_CUBLASLT_HEURISTIC_H
