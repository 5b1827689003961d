//===- Equivalents.h - Mutants that compute the same ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_MUTANTS_EQUIVALENTS_H
#define WEFT_TEST_CUDASIM_KERNELS_MUTANTS_EQUIVALENTS_H

#include "KernelMutants.h"

#include <span>

namespace weft::cudasim {

/// Mutants that no input can tell from the kernel, although their PTX differs.
struct Equivalent {
  const char *subject;
  const char *before, *after; ///< the line, with `#` for the numbers in names: v# for v12
  unsigned count;             ///< of mutants with these lines
  const char *reason;
};

std::span<const Equivalent> equivalents();

/// A line with `#` for the numbers in the names of values, indices, pointers and arrays.
std::string withoutNumbers(const std::string &line);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_MUTANTS_EQUIVALENTS_H
