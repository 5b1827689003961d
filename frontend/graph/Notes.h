//===- Notes.h - What is said unasked, once ----------------------------------===//
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
/// An optimiser takes a step. Says of leaves that got several gradients since the program last looked at one,
/// and that no optimiser has, that nobody took their gradients.
void noteUntakenGradients();

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_NOTES_H
