//===- Layout.cpp - Strides of slots and views ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Layout.h"

#include "frontend/graph/Symbols.h"
#include "ir/StridedLayout.h"
#include "runtime/memory/Overlap.h"

#include <algorithm>

namespace weft::frontend {

std::vector<int64_t> stridesOf(const Slot &slot) {
  return slot.view() ? slot.view()->strides : rowMajor(slot.spec().shape);
}

std::optional<StridedPlace> placeOf(const View &view) {
  const Shape &shape = view.spec.shape;
  if (anySymbolic(shape) || anySymbolic(view.strides))
    return std::nullopt;
  StridedPlace place;
  if (!ir::isRowMajor(shape, view.strides)) {
    if (!ir::stridedLayout(shape, view.strides))
      return std::nullopt;
    place.strides = view.strides;
    // The stride of a dimension of size 1 means nothing, so it must not make signatures differ.
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] == 1)
        place.strides[d] = 0;
  }
  if (std::find(shape.begin(), shape.end(), 0) == shape.end())
    place.offset = static_cast<size_t>(view.offset(view.base->spec().shape));
  return place;
}

bool areDisjoint(const Slot &a, const Slot &b) {
  for (const Slot *slot : {&a, &b})
    if (anySymbolic(slot->spec().shape) || anySymbolic(stridesOf(*slot)))
      return false;
  // A view without elements has no offset.
  if (a.spec().count() == 0 || b.spec().count() == 0)
    return true;
  const auto offset = [](const Slot &slot) {
    return slot.view() ? slot.view()->offset(slot.view()->base->spec().shape) : 0;
  };
  const std::vector<int64_t> stridesOfA = stridesOf(a), stridesOfB = stridesOf(b);
  return runtime::areDisjoint(runtime::StridedBox{offset(a), a.spec().shape, stridesOfA},
                              runtime::StridedBox{offset(b), b.spec().shape, stridesOfB});
}

} // namespace weft::frontend
