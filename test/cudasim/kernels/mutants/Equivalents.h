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
#include <utility>
#include <vector>

namespace weft::cudasim {

/// Mutants that no input can tell from the kernel, although their PTX differs.
struct Equivalent {
  const char *subject;
  const char *before, *after; ///< the line, as keyOf has it
  unsigned count;             ///< of mutants with these lines
  const char *reason;
};

std::span<const Equivalent> equivalents();

/// The same of kernels that are written as text, of which several have a line.
struct TextEquivalent {
  const char *before, *after, *reason;
  std::vector<std::pair<const char *, unsigned>> counts; ///< of mutants with these lines, by subject
};

std::vector<TextEquivalent> textEquivalents();

/// A line with `#` for the numbers in the names of values, indices, pointers and arrays, as v# for v12, and T
/// for the types of elements.
std::string keyOf(const std::string &line);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_MUTANTS_EQUIVALENTS_H
