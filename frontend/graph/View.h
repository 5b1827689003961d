//===- View.h - Handles that share the elements of another ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A view is a slot with an index map into a base slot, as in PyTorch: reading it records the map's operations
// on the base's value, writing it records a value of the base with the written elements replaced. The
// recorded program has values only, so that what a gradient needs of an older value is never lost.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_VIEW_H
#define WEFT_FRONTEND_GRAPH_VIEW_H

#include "frontend/graph/Node.h"

#include <optional>

namespace weft::frontend {

struct Slot;

/// One operation of an index map.
struct ViewStep {
  enum Kind : uint8_t { reshape, transpose, slice, expand } kind = reshape;
  Shape from = {}, to = {};
  std::vector<int64_t> perm = {}; ///< transpose: dimension i of the result is perm[i] of the operand
  std::vector<int64_t> start = {}, limit = {}, steps = {}; ///< slice

  Ref apply(Ref value, Loc loc) const;
  /// Whether it gives its operand.
  bool isIdentity() const;
  friend bool operator==(const ViewStep &, const ViewStep &) = default;
};

/// What a slot is that shares the elements of another: a map into that.
struct View {
  std::shared_ptr<Slot> base;
  Spec spec;
  std::vector<ViewStep> steps;
  std::vector<int64_t> strides; ///< in elements of the base, whose own are row-major
  /// What gradients flow to: the nearest leaf of gradients that this is a view of, which may be a view
  /// itself, or else the base; and the map from there.
  std::shared_ptr<Slot> source;
  std::vector<ViewStep> sourceSteps;
  bool detached = false;        ///< no gradient flows between it and the source
  bool madeWithoutGrad = false; ///< under a NoGradGuard
  bool madeOfLeaf = false;      ///< the source required a gradient when this was made

  /// Whether several positions are the same element of the base.
  bool overlaps() const;
  bool stopsGrad() const { return detached || madeWithoutGrad; }
  /// Whether gradients flow between it and the base: none pass a leaf that is a view itself.
  bool reachesBase() const { return !stopsGrad() && source == base; }
  /// The element of the base, which has this shape, that is the first of the view. Every size is a number,
  /// and none is 0.
  int64_t offset(const Shape &baseShape) const;
  /// The base's value with the elements of the view replaced.
  Ref update(Ref base, Ref value, Loc loc) const;
};

/// Appends a step to a map. A chain of views makes no chain of steps where one says the same.
void append(std::vector<ViewStep> &steps, ViewStep step);

/// The strides of a row-major tensor.
std::vector<int64_t> rowMajor(const Shape &shape);
/// The strides with which `to` shows the elements of (`from`, `strides`) in the same order, if there are any.
std::optional<std::vector<int64_t>> viewStrides(const Shape &from, const std::vector<int64_t> &strides,
                                                const Shape &to);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_VIEW_H
