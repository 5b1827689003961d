//===- CloseTensors.h - Numbers for tests, and their comparison -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_FRONTEND_CLOSETENSORS_H
#define WEFT_TEST_FRONTEND_CLOSETENSORS_H

#include "Helpers.h"

namespace weft::testing {

/// Numbers between -1 and 1, the same for each seed.
inline Tensor someNumbers(Shape shape, int seed) {
  return generated(std::move(shape), [seed](size_t i) {
    return static_cast<double>((i * 37 + static_cast<size_t>(seed) * 101) % 61) / 30.5 - 1;
  });
}

/// Of tensors on the same device; the bound is relative to the largest element.
inline void expectClose(const Tensor &found, const Tensor &expected, double bound = 1e-5) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  EXPECT_LE((found - expected).abs().max().item<float>(), bound * (1 + expected.abs().max().item<float>()));
}

} // namespace weft::testing

#endif // WEFT_TEST_FRONTEND_CLOSETENSORS_H
