//===- Symbols.cpp - Dynamic sizes in traces and calls -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Symbols.h"

#include "frontend/graph/Message.h"
#include "frontend/graph/Trace.h"

namespace weft::frontend {

int64_t entryOf(ir::Size size, Loc loc) {
  if (!size.isExpressible())
    fail("a size of the result cannot be expressed: numbers have to be below 2^63, and an expression is " +
             ir::polynomialText("Dims") + ". Make the tensor smaller, or give a dimension a Dim of its own",
         loc);
  return size.raw();
}

int64_t entryOf(ir::Size size) {
  if (!size.isExpressible())
    throw Error(
        "a size cannot be expressed that could be when its tensor was made; this is an error of Weft: "
        "please report the program");
  return size.raw();
}

/// The ranges of the symbols of the function that is being traced.
static ir::SymbolRanges currentRanges() {
  ir::SymbolRanges ranges;
  if (const Trace *trace = Trace::current())
    for (const Dim &dim : trace->symbols)
      ranges.set(dim.name(), {dim.min(), dim.max()});
  return ranges;
}

bool isAtLeast(int64_t entry, int64_t bound) { return currentRanges().isAtLeast(sizeOf(entry), bound); }

int64_t largestEntry(int64_t entry) { return currentRanges().largest(sizeOf(entry)); }

int64_t numberOr(int64_t entry, const char *what, Loc loc) {
  if (isSymbolic(entry))
    fail(std::string(what) + " is " + sizeText(entry) +
             ", a size that each call of the compiled function chooses, and no number in its trace: use "
             "sym_size(), and weft::shape({..}) for the shapes made of it",
         loc);
  return entry;
}

} // namespace weft::frontend
