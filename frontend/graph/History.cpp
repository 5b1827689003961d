//===- History.cpp - The history of a value for gradients -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/History.h"

#include "frontend/graph/Record.h"
#include "frontend/graph/Recording.h"

#include <limits>

namespace weft::frontend {

Ref withoutHistory(Ref value, Loc loc) {
  GradMode off(false);
  return value.requiresGrad() ? sameValue(std::move(value), loc) : value;
}

/// Returns `value - (h - h)`, where h is `before` (0 where that is not finite) and gradients flow through the
/// second h only. h - h is +0, and subtracting +0 changes no bit, so the result has the bits of `value`. Its
/// gradient flows to h unchanged, because the two minus signs cancel.
Ref keepHistory(const Ref &before, Ref value, Loc loc) {
  value = withoutHistory(std::move(value), loc);
  if (!before.requiresGrad() || before.node->isGradLeaf(before.result))
    return value;
  Ref finite;
  {
    GradMode off(false);
    finite = record1("lt",
                     {record1("abs", {before}, {}, loc),
                      constant(before.spec(), std::numeric_limits<double>::infinity(), loc)},
                     {}, loc);
  }
  GradMode mode(true);
  const Ref history = record1("select", {finite, before, constant(before.spec(), 0, loc)}, {}, loc);
  const Ref difference = record1("sub", {withoutHistory(history, loc), history}, {}, loc);
  return record1("sub", {value, difference}, {}, loc);
}

} // namespace weft::frontend
