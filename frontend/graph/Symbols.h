//===- Symbols.h - Dynamic sizes in traces and calls ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes are lists of integers at the interface. In a trace an entry is a number or stands for an expression;
// a call has numbers only. What computes with entries computes with `ir::Size`, between `sizeOf` and
// `entryOf`.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_SYMBOLS_H
#define WEFT_FRONTEND_GRAPH_SYMBOLS_H

#include "frontend/graph/Graph.h"
#include "ir/Size.h"
#include "weft/dim.hpp"

#include <algorithm>
#include <map>

namespace weft::frontend {

/// The size that an entry stands for; inexpressible where it stands for nothing.
inline ir::Size sizeOf(int64_t entry) { return ir::Size::fromRaw(entry); }
inline bool isSymbolic(int64_t entry) { return sizeOf(entry).isSymbolic(); }
inline bool anySymbolic(const Shape &entries) {
  return std::any_of(entries.begin(), entries.end(), isSymbolic);
}
inline std::string sizeText(int64_t entry) { return ir::sizeText(sizeOf(entry)); }
/// The entry of a size; throws Error where that cannot be expressed.
int64_t entryOf(ir::Size size, Loc loc);
/// The same for sizes that were seen to be expressible when their tensor was made.
int64_t entryOf(ir::Size size);

/// The value of each symbol in a call.
using SizeValues = std::map<std::string, int64_t>;

/// What the user declared of the arguments of a compiled function.
struct Declared {
  Declared() = default;
  /// Throws Error where two Dims of one name differ, or a Dim stands only in sums and products.
  Declared(const std::vector<ArgumentSpec> &specs, Loc loc);
  /// The values of the symbols in a call with these arguments; throws Error naming the one that does not fit.
  SizeValues bind(const std::vector<Spec> &found, Loc loc) const;

  std::vector<Spec> arguments;
  std::vector<Dim> symbols;
};

/// Entries of a shape, types and attributes for a call.
int64_t concrete(int64_t entry, const SizeValues &values);
Spec concrete(Spec spec, const SizeValues &values);
Attr concrete(Attr attr, const SizeValues &values);

/// Whether a value is of the declared type, whatever its dynamic sizes are.
bool fits(const Spec &declared, const Spec &found);

/// Whether an entry is at least `bound` in every call of the function that is being traced.
bool isAtLeast(int64_t entry, int64_t bound);

/// An entry as a number; throws Error where it is none. `what` begins the message.
int64_t numberOr(int64_t entry, const char *what, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_SYMBOLS_H
