//===- OpDefinitions.cpp - The definitions that ODS generates -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/Placement.h"

#include <cmath>

using namespace mlir;

#include "ir/WeftInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "ir/WeftOps.cpp.inc"
