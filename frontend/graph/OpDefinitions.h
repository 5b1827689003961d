//===- OpDefinitions.h - Definitions of ops, for the graph ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The definitions of ops are in the dialect. The graph asks them two things: the types of an op's results,
// and which ops may fail on values. This is the only header of graph/ that another room implements:
// compiler/Session.cpp, the file that uses MLIR. The linker connects the two, so that operations can be
// recorded at any time, even while global variables are initialised.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_OPDEFINITIONS_H
#define WEFT_FRONTEND_GRAPH_OPDEFINITIONS_H

#include "frontend/graph/Node.h"

#include <span>
#include <string>
#include <vector>

namespace weft::frontend {

/// The result types of `weft.<name>`, by the op's own definition; an error is the text of its verifier. An op
/// whose types do not follow from its operands is given them in `stated`, and only verified.
Expected<std::vector<Spec>> inferResults(const char *name, std::span<const Spec *const> operands,
                                         const std::vector<Attr> &attrs, std::span<const Spec> stated = {});

/// The ops that may fail on the values of their operands when they run, without `weft.`. Each op states this
/// in its definition.
const std::vector<std::string> &fallibleOps();

struct Region;

/// The body of a loop as text, which is the attribute `body` of its node.
Expected<std::string> textOfBody(const Region &region);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_OPDEFINITIONS_H
