//===- WatchedView.h - Views whose gradient the program watches ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A view's value is computed from that of its base, so that a gradient of the view goes on to the base. If
// the view, or another view that it was made of, has a hook or retains its gradient, that lies between them,
// in the value that the view has at present. A compiled function reads the base; for such a view its trace
// records what lies between as well, and a call takes the view's value in its place.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_WATCHEDVIEW_H
#define WEFT_FRONTEND_GRAPH_WATCHEDVIEW_H

#include "frontend/graph/View.h"

#include <vector>

namespace weft::frontend {

/// What lies between a view and its source.
class ViewPath {
public:
  /// `value` is that of the view, and `base` that of its base. The values on the path have hooks, or are
  /// computed by operations of views.
  ViewPath(const View &view, const Ref &value, const Ref &base);
  /// Whether a hook is called, or a gradient retained, between the view and its source.
  bool isWatched() const { return isWatched_; }
  /// Whether it ends at the source. It does not if the view was written since it was last computed from that.
  bool isWhole() const { return isWhole_; }
  /// The values on it, the view's last.
  std::vector<Ref> values() const { return {values_.rbegin(), values_.rend()}; }
  /// The tensors that retain a gradient on it.
  std::vector<std::shared_ptr<Slot>> retaining() const;

private:
  std::vector<Ref> values_;
  bool isWatched_ = false, isWhole_ = false;
};

/// Records a path again, from another value of the source, with the hooks and retained gradients on it.
/// `copies` has values that were copied before, each with its copy, and gets the new ones.
Ref copyPath(const ViewPath &path, Ref source, std::vector<std::pair<Ref, Ref>> &copies);

/// Whether the gradient of a view is watched.
bool isWatched(Slot &view);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_WATCHEDVIEW_H
