//===- Undo.h - Undoes writes after a failure -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation with an index out of range fails only when it runs, and by then tensors may have been written
// with values that depend on it. A queued call, too, may fail long after its results were used. A slot
// therefore keeps the value that such a write replaced (`Slot::write`) until the outcome is known, and goes
// back to it after a failure.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_UNDO_H
#define WEFT_FRONTEND_GRAPH_UNDO_H

#include "frontend/graph/Node.h"

namespace weft::frontend {

/// Undoes the writes of values that depend on `failed`. Each slot with such a value goes back to its latest
/// value that does not depend on it, and a gradient that `backward` made from such values is removed. A
/// tensor that never held another value stays without one.
void undoWritesOf(const Node &failed);
/// The same for results of queued calls that are known to have failed.
void undoLostWrites();
/// Waits until a buffer is written. If the call that writes it failed, undoes the writes that depend on it,
/// and throws its Error.
void await(runtime::Buffer &buffer, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_UNDO_H
