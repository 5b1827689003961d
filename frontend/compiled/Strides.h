//===- Strides.h - Arguments that are read in place -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call reads an argument that is a view in place, in the memory of its base. The strides of the view are
// part of the variant's signature; its offset is not. Arguments that the call writes, or that a spec
// declares, must be row-major, so a view is copied for them.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILED_STRIDES_H
#define WEFT_FRONTEND_COMPILED_STRIDES_H

#include "frontend/compiled/Variant.h"
#include "frontend/graph/Region.h"

namespace weft::frontend {

/// Takes the strides of the first call's arguments into a new variant and its region.
void takeStrides(Variant &variant, Region &region, const std::vector<std::shared_ptr<Slot>> &arguments);

/// Why the strides of an argument do not fit; empty if they do.
std::optional<Mismatch> stridesMismatch(const Binding &binding, const Slot &slot);

/// The value that must be computed before a call reads this slot: that of the base, if the slot is read in
/// place.
const Ref &storageValue(const Binding &binding, Slot &slot);

/// The memory that a call reads an argument from, once `storageValue` is computed.
std::shared_ptr<runtime::Buffer> readableBuffer(const Binding &binding, Slot &slot);

/// Whether the call reads a row-major copy of the slot, because it is a view with other strides or overlaps
/// itself.
bool copiesStrides(const Binding &binding, const Slot &slot);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_STRIDES_H
