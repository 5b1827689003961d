//===- GradAccumulator.h - Where gradients are collected -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_GRADACCUMULATOR_H
#define WEFT_FRONTEND_GRAPH_GRADACCUMULATOR_H

#include <memory>

namespace weft::frontend {

struct Slot;

/// Where the gradients of a slot are collected. The nodes of its values keep it: that a gradient flows to one
/// is settled when it is used, and stays so when the slot is gone or requires a gradient no more.
struct GradAccumulator {
  std::weak_ptr<Slot> slot;
  std::weak_ptr<Slot> grad; ///< of a slot that is gone: the gradient that it had

  /// The gradient that is there, or null.
  std::shared_ptr<Slot> gradient() const;
  /// Whether anybody could see what is added.
  bool isSeen() const;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_GRADACCUMULATOR_H
