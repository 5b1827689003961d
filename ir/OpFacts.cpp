//===- OpFacts.cpp --------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/OpFacts.h"
#include "ir/CrossEntropy.h"
#include "ir/Dialect.h"

using namespace mlir;
namespace weft::ir {

int64_t additionsPerElement(Operation *op) {
  auto stated = dyn_cast<CostOp>(op);
  return stated ? stated.additionsPerElement() : 0;
}

bool mayFail(Operation *op) {
  auto fallible = dyn_cast<FallibleOp>(op);
  return fallible && fallible.mayFail() && !(isa<CrossEntropyOp>(op) && op->hasAttr(attr::targetsInRange));
}

} // namespace weft::ir
