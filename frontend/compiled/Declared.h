//===- Declared.h - Declared argument types -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILED_DECLARED_H
#define WEFT_FRONTEND_COMPILED_DECLARED_H

#include "frontend/graph/Node.h"
#include "weft/dim.hpp"

#include <map>

namespace weft::frontend {

/// The value of each symbol in a call.
using SizeValues = std::map<std::string, int64_t>;

/// The argument types that the user declared for a compiled function.
struct Declared {
  Declared() = default;
  /// Throws Error if two Dims of one name differ, or if a Dim is not by itself the size of some dimension.
  Declared(const std::vector<ArgumentSpec> &specs, Loc loc);
  /// The values of the symbols in a call with these arguments; throws Error naming the one that does not fit.
  SizeValues bind(const std::vector<Spec> &found, Loc loc) const;

  std::vector<Spec> arguments;
  std::vector<Dim> symbols;
};

/// Shape entries, types and attributes with the sizes of a call.
int64_t concrete(int64_t entry, const SizeValues &values);
Spec concrete(Spec spec, const SizeValues &values);
Attr concrete(Attr attr, const SizeValues &values);

/// Whether a value is of the declared type, whatever its dynamic sizes are.
bool fits(const Spec &declared, const Spec &found);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_DECLARED_H
