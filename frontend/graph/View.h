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

#include "frontend/graph/Graph.h"

#include <optional>

namespace weft::frontend {

/// One operation of an index map.
struct ViewStep {
  enum Kind : uint8_t { reshape, transpose, slice, expand } kind = reshape;
  Shape from = {}, to = {};
  std::vector<int64_t> perm = {}; ///< transpose: dimension i of the result is perm[i] of the operand
  std::vector<int64_t> start = {}, limit = {}, steps = {}; ///< slice

  Ref apply(Ref value, Loc loc) const;
  friend bool operator==(const ViewStep &, const ViewStep &) = default;
};

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
  /// What the map gives of the current value of the source.
  Ref read(Loc loc) const;
  /// The base's value with the elements of the view replaced.
  Ref update(Ref base, Ref value, Loc loc) const;
};

/// The strides of a row-major tensor.
std::vector<int64_t> rowMajor(const Shape &shape);
/// The strides in elements of its storage, as in PyTorch.
std::vector<int64_t> stridesOf(const Slot &slot);
/// Where the elements of a view of computed storage lie, for a call that reads them in place.
struct StridedPlace {
  std::vector<int64_t> strides; ///< in elements; empty: row-major
  size_t offset = 0;            ///< of the first element, in elements of the base
};
/// Nothing where the view steps through no row-major memory (ir/StridedLayout.h).
std::optional<StridedPlace> placeOf(const View &view);
/// Whether it is certain that two tensors share no element. Each is a tensor that has storage of its own, or
/// a view.
bool areDisjoint(const Slot &a, const Slot &b);
/// The strides with which `to` shows the elements of (`from`, `strides`) in the same order, if there are any.
std::optional<std::vector<int64_t>> viewStrides(const Shape &from, const std::vector<int64_t> &strides,
                                                const Shape &to);

/// A view of a tensor: one more step on top of what it is itself.
Tensor makeView(const Tensor &tensor, ViewStep step, std::vector<int64_t> strides, Loc loc,
                bool detached = false);
/// Writes a value of the view's own type to its place in the base.
void writeView(const std::shared_ptr<Slot> &slot, Ref value);
/// Throws PyTorch's errors for an in-place operation on this slot: a leaf that requires a gradient, a view of
/// one, a view that overlaps itself.
void checkWritable(const std::shared_ptr<Slot> &slot, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_VIEW_H
