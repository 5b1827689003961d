//===- Layout.h - Strides of slots and views ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_LAYOUT_H
#define WEFT_FRONTEND_GRAPH_LAYOUT_H

#include "frontend/graph/Slot.h"
#include "frontend/graph/View.h"

#include <optional>
#include <vector>

namespace weft::frontend {

/// The strides of a slot in elements, as in PyTorch.
std::vector<int64_t> stridesOf(const Slot &slot);
/// Where the elements of a view of computed storage lie, for a call that reads them in place.
struct StridedPlace {
  std::vector<int64_t> strides; ///< in elements; empty: row-major
  size_t offset = 0;            ///< of the first element, in elements of the base
};
/// The place of a view. Empty if a size is symbolic, or if the strides are those of no slice of row-major
/// memory (ir/StridedLayout.h).
std::optional<StridedPlace> placeOf(const View &view);
/// Whether it is certain that two tensors share no element. Each is a tensor that has storage of its own, or
/// a view.
bool areDisjoint(const Slot &a, const Slot &b);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_LAYOUT_H
