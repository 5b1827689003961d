//===- Notes.h - Notes on standard error, each once -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_NOTES_H
#define WEFT_FRONTEND_GRAPH_NOTES_H

#include "frontend/graph/Graph.h"

namespace weft::frontend {

/// Writes "weft: note: TEXT" to standard error, once for each text.
void noteOnce(const std::string &text);

/// `backward` gave this leaf a gradient.
void noteGradient(const std::shared_ptr<Slot> &leaf);
/// Called when an optimiser takes a step. Prints a note about leaves that belong to no optimiser and received
/// several gradients since the program last read one of them.
void noteUntakenGradients();

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_NOTES_H
