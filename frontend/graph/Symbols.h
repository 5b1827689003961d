//===- Symbols.h - Dynamic sizes in traces and calls ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes are lists of integers. In a trace an entry is either a size or a handle that stands for an
// expression over symbols; in a call every entry is a size. To compute with entries, convert them to
// `ir::Size` with `sizeOf`, and back with `entryOf`.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_SYMBOLS_H
#define WEFT_FRONTEND_GRAPH_SYMBOLS_H

#include "ir/Size.h"
#include "weft/tensor.hpp"

#include <algorithm>
#include <string>

namespace weft::frontend {

/// The size that an entry stands for. It is inexpressible if the entry is no valid handle.
inline ir::Size sizeOf(int64_t entry) { return ir::Size::fromRaw(entry); }
inline bool isSymbolic(int64_t entry) { return sizeOf(entry).isSymbolic(); }
inline bool anySymbolic(const Shape &entries) {
  return std::any_of(entries.begin(), entries.end(), isSymbolic);
}
inline std::string sizeText(int64_t entry) { return ir::sizeText(sizeOf(entry)); }
/// The entry of a size; throws Error if the size is inexpressible.
int64_t entryOf(ir::Size size, Loc loc);
/// The same for sizes that are known to be expressible, since their tensor was made with them.
int64_t entryOf(ir::Size size);

/// Whether an entry is at least `bound` in every call of the function that is being traced.
bool isAtLeast(int64_t entry, int64_t bound);

/// The largest size that an entry has in a call of the function that is being traced.
int64_t largestEntry(int64_t entry);

/// An entry as a number; throws Error, with a message that begins with `what`, if it stands for an
/// expression.
int64_t numberOr(int64_t entry, const char *what, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_SYMBOLS_H
