//===- History.h - The history of a value for gradients -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_HISTORY_H
#define WEFT_FRONTEND_GRAPH_HISTORY_H

#include "frontend/graph/Node.h"

namespace weft::frontend {

/// The value, detached: no gradient flows through it.
Ref withoutHistory(Ref value, Loc loc);
/// The value for a tensor that held `before` and is written while gradients are off. As in PyTorch, gradients
/// of the tensor still flow to what `before` was computed from. Elements of `before` that are not finite pass
/// no gradient. A leaf has no history: its new value is detached.
Ref keepHistory(const Ref &before, Ref value, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_HISTORY_H
