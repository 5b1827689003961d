//===- View.h - Handles that share the elements of another ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A view is a slot with an index map into a base slot, as in PyTorch: reading it records the map's operations
// on the base's value, writing it records a value of the base with the written elements replaced. The
// recorded program consists of values only, so a write never destroys an older value that a gradient needs.
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
  /// Whether the result is the operand.
  bool isIdentity() const;
  friend bool operator==(const ViewStep &, const ViewStep &) = default;
};

/// What makes a slot a view: an index map into its base, whose elements it shares.
struct View {
  std::shared_ptr<Slot> base;
  Spec spec;
  std::vector<ViewStep> steps;
  std::vector<int64_t> strides; ///< in elements of the base, which is row-major
  /// The slot to which gradients of the view flow, and the map from it: the nearest gradient leaf that this
  /// is a view of, which may be a view itself, or else the base.
  std::shared_ptr<Slot> source;
  std::vector<ViewStep> sourceSteps;
  bool detached = false;        ///< no gradient flows between it and the source
  bool madeWithoutGrad = false; ///< under a NoGradGuard
  bool madeOfLeaf = false;      ///< the source required a gradient when this was made

  /// Whether several positions of the view are the same element of the base.
  bool overlaps() const;
  bool stopsGrad() const { return detached || madeWithoutGrad; }
  /// Whether gradients of the view flow to the base. They end earlier at a leaf that is itself a view.
  bool reachesBase() const { return !stopsGrad() && source == base; }
  /// The linear index of the view's first element in the base, which has this shape. Requires that every size
  /// is a number and none is 0.
  int64_t offset(const Shape &baseShape) const;
  /// The base's value with the elements of the view replaced.
  Ref update(Ref base, Ref value, Loc loc) const;
};

/// Appends a step to a map, and merges it with the steps before if one step can do the same.
void append(std::vector<ViewStep> &steps, ViewStep step);

/// The strides of a row-major tensor.
std::vector<int64_t> rowMajor(const Shape &shape);
/// The strides of a view of shape `to` that has the elements of (`from`, `strides`) in the same order. Empty
/// if no strides do.
std::optional<std::vector<int64_t>> viewStrides(const Shape &from, const std::vector<int64_t> &strides,
                                                const Shape &to);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_VIEW_H
