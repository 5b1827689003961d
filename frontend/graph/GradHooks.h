//===- GradHooks.h - What is called with a gradient -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of a program are operations that are recorded, so a hook is called while they are: it records
// what it does. A leaf has its hooks in its accumulator. A tensor that was computed gets, with its first
// hook, a new value without a history, whose accumulator has the hooks and the value before, `inner`. Reverse
// mode ends there as at a leaf, calls the hooks, and begins anew at `inner` with what they made of the
// gradient.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_GRADHOOKS_H
#define WEFT_FRONTEND_GRAPH_GRADHOOKS_H

#include "frontend/graph/Node.h"
#include "weft/tensor.hpp"

#include <functional>

namespace weft::frontend {

/// The hooks of one value, in the order in which they are called.
struct GradHooks {
  std::vector<std::pair<uint64_t, std::function<Tensor(const Tensor &)>>> list;
  /// Becomes false when the list changes, and is then another one: a guard of compiled functions that called
  /// the hooks when they were traced.
  std::shared_ptr<bool> unchanged = std::make_shared<bool>(true);

  void noteChange() {
    *unchanged = false;
    unchanged = std::make_shared<bool>(true);
  }
};

/// What a program asked about the gradient of a computed value.
struct GradWatch {
  /// Those of the value that has the place of this one: a gradient of what was computed from this one before
  /// would miss them, also when the tensor is gone.
  std::shared_ptr<GradHooks> hooks;
  /// Those of the tensors that keep the gradient (`retain_grad`).
  std::vector<std::shared_ptr<GradAccumulator>> retained;
};

/// The watch of a value, which gets one if it has none.
inline GradWatch &watchOf(const Ref &value) {
  auto &watches = value.node->watches;
  watches.resize(value.node->results.size());
  auto &watch = watches[value.result];
  if (!watch)
    watch = std::make_shared<GradWatch>();
  return *watch;
}

/// Makes a tensor keep the gradient of this value, and no longer that of an earlier one.
void retainGradOf(const Ref &value, const std::shared_ptr<Slot> &slot);
/// Called after a tensor was written, and when a view is read whose base was written. If it keeps its
/// gradient, it keeps that of its present value from then on. Hooks stay with the value before. In a trace, a
/// tensor from outside keeps what it keeps outside; calls of the function see to that (`Trace::noteReread`).
void retainAfterWrite(Slot &slot);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_GRADHOOKS_H
