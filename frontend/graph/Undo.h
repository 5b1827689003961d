//===- Undo.h - What an operation that failed leaves ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether an index is in range shows when its operation runs, and by then tensors were written with what
// follows from it; a call on a queue may fail long after its results were used. Until that is known, a slot
// keeps what such a write replaced (`Slot::write`), and goes back to it.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_UNDO_H
#define WEFT_FRONTEND_GRAPH_UNDO_H

#include "frontend/graph/Node.h"

namespace weft::frontend {

/// Undoes what writes made of a value that cannot be computed: every slot that holds what follows from it
/// goes back to what it held before, and a gradient that was none is none again. A tensor that never held
/// anything else stays without a value.
void undoWritesOf(const Node &failed);
/// The same for the results of calls on queues that failed, as far as the program was told.
void undoLostWrites();
/// Waits until the elements are in a buffer. Throws the Error of the call that was to write them, after what
/// follows from it is undone like that of a flush.
void await(runtime::Buffer &buffer, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_UNDO_H
