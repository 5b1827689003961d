//===- GradAccumulator.h - Collects the gradient of a leaf ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_GRADACCUMULATOR_H
#define WEFT_FRONTEND_GRAPH_GRADACCUMULATOR_H

#include <cstddef>
#include <memory>

namespace weft::frontend {

class GradBoundary;
struct GradHooks;
struct Ref;
struct Slot;

/// Collects the gradient of a leaf. The nodes of the leaf's values share it, so gradients of what was
/// computed from them still arrive here when the slot is gone or no longer requires a gradient.
struct GradAccumulator {
  std::weak_ptr<Slot> slot;
  std::weak_ptr<Slot> grad;         ///< the gradient of a slot that is gone, while the program holds it
  std::shared_ptr<GradHooks> hooks; ///< null if there were none so far
  /// Of a computed tensor with hooks: the value through which the gradient goes on. Null for a leaf.
  std::shared_ptr<const Ref> inner;
  /// Of a result of a function whose gradient has a rule of its own; null otherwise.
  std::shared_ptr<GradBoundary> boundary;
  size_t index = 0; ///< among the results of that function

  /// Whether gradients end here, and do not go on to other values.
  bool isLeaf() const { return !inner && !boundary; }
  /// The gradient so far, or null.
  std::shared_ptr<Slot> gradient() const;
  /// Whether the program can still read the gradient.
  bool isSeen() const;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_GRADACCUMULATOR_H
