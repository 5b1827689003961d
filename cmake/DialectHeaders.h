//===- DialectHeaders.h - MLIR and the weft dialect -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cmake/MlirHeaders.h"

#include "ir/Dialect.h"
