//===- CompilerTestHeaders.h - For tests of the compiler --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cmake/DialectHeaders.h"

#include "gtest/gtest.h"
