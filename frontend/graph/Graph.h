//===- Graph.h - The recorded program ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations become nodes; a node's results are computed at most once and kept. A slot is what a tensor
// refers to: it holds a result of a node, or is a view of another slot. The graph computes nothing itself:
// `Region.h` extracts a part of it, and `compiler/Session.h` compiles that part into a function. One lock
// (`graphMutex`) guards the whole graph.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_GRAPH_H
#define WEFT_FRONTEND_GRAPH_GRAPH_H

#include "frontend/graph/Message.h"
#include "frontend/graph/Node.h"
#include "frontend/graph/Record.h"
#include "frontend/graph/Recording.h"
#include "frontend/graph/Slot.h"
#include "frontend/graph/Spec.h"

#endif // WEFT_FRONTEND_GRAPH_GRAPH_H
