//===- Describe.h - Programs and their outcome for other languages -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_PROGRAMS_DESCRIBE_H
#define WEFT_TEST_PROGRAMS_DESCRIBE_H

#include "Machine.h"

namespace weft::programs {

/// One line of JSON: the program with its data, and the outcome of each instruction when it ran lazily.
/// test/parity/test_programs.py runs the same instructions in PyTorch and compares.
std::string describe(const Program &program);

} // namespace weft::programs

#endif // WEFT_TEST_PROGRAMS_DESCRIBE_H
