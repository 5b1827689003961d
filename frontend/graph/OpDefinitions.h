//===- OpDefinitions.h - What the graph asks of the definitions of ops ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph records operations without knowing them: the types of their results, and which of them may fail
// on values, are in the definitions of the dialect. This is all that it asks of these, and the only header of
// graph/ that another room implements: compiler/Session.cpp, the file that speaks MLIR. The linker joins
// both, so that nothing has to be installed before the first operation, which may be that of a global
// variable.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_OPDEFINITIONS_H
#define WEFT_FRONTEND_GRAPH_OPDEFINITIONS_H

#include "frontend/graph/Node.h"

#include <span>
#include <string>
#include <vector>

namespace weft::frontend {

/// The result types of `weft.<name>`, by the op's own definition; an error is the text of its verifier.
Expected<std::vector<Spec>> inferResults(const char *name, std::span<const Spec *const> operands,
                                         const std::vector<Attr> &attrs);

/// The ops of the dialect that may find an error in the values that they are given when they run, without
/// `weft.`: what they state themselves.
const std::vector<std::string> &fallibleOps();

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_OPDEFINITIONS_H
