//===- Strides.h - Arguments that are read in place -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An argument of a call that is a view is read where its base lies: the view's strides are part of the
// variant's signature, where it begins is not. What a call writes, and what is declared by a spec, is
// row-major memory of its own: such a view is copied.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILED_STRIDES_H
#define WEFT_FRONTEND_COMPILED_STRIDES_H

#include "frontend/compiled/Variant.h"
#include "frontend/graph/Region.h"

namespace weft::frontend {

/// Makes the strides that the arguments of the first call have part of a new variant and of its region.
void takeStrides(Variant &variant, Region &region, const std::vector<std::shared_ptr<Slot>> &arguments);

/// Why the strides of an argument do not fit, or nothing.
std::optional<Mismatch> stridesMismatch(const Binding &binding, const Slot &slot);

/// The value that must be computed for a call to read this slot: its base's where it is read in place.
const Ref &storageValue(const Binding &binding, Slot &slot);

/// The memory that a call reads an argument from, once `storageValue` is computed.
std::shared_ptr<runtime::Buffer> readableBuffer(const Binding &binding, Slot &slot);

/// Whether the call takes a copy of what lies in memory with strides, or overlaps itself.
bool copiesStrides(const Binding &binding, const Slot &slot);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_STRIDES_H
