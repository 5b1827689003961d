//===- FusionCases.h - Fusions of every kind ---------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_CODEGEN_FUSIONCASES_H
#define WEFT_TEST_UNIT_CODEGEN_FUSIONCASES_H

#include "ExecuteHarness.h"

#include <ostream>
#include <span>
#include <vector>

namespace weft::testing {

struct FusionCase {
  const char *name;
  ir::FusionKind kind;
  const char *text;
  std::vector<int> inPlace = {};
};
void PrintTo(const FusionCase &each, std::ostream *os);

/// Fusions of every kind, for tests of rules that all kernels must keep.
std::span<const FusionCase> fusionCases();

} // namespace weft::testing

#endif // WEFT_TEST_UNIT_CODEGEN_FUSIONCASES_H
