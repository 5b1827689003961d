//===- History.h - What gradients flow through ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_HISTORY_H
#define WEFT_FRONTEND_GRAPH_HISTORY_H

#include "frontend/graph/Node.h"

namespace weft::frontend {

/// The same value, through which no gradient flows.
Ref withoutHistory(Ref value, Loc loc);
/// The same value for a tensor that held `before` and is written while gradients are off: as in PyTorch its
/// gradient still flows to what `before` was computed from, as if it were that value. An element of `before`
/// that is not finite passes none. A leaf has no history.
Ref keepHistory(const Ref &before, Ref value, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_HISTORY_H
