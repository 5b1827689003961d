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

#include <map>
#include <span>
#include <string>
#include <string_view>
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

/// The text of a body without the source lines of its operations, by which bodies of two recordings are
/// compared.
Expected<std::string> textWithoutLines(const std::string &text);

/// Whether an attribute of `weft.<op>` is the text of a function.
bool isBodyAttr(std::string_view op, std::string_view name);

/// The text of a body, and of the bodies in it, with numbers in place of these symbols. Called with the
/// graph's lock held.
Expected<std::string> textWithSizes(const std::string &text, const std::map<std::string, int64_t> &sizes);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_OPDEFINITIONS_H
