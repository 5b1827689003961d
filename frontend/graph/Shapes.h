//===- Shapes.h - Shapes as text, and their bounds -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_SHAPES_H
#define WEFT_FRONTEND_GRAPH_SHAPES_H

#include "weft/tensor.hpp"

#include <string>

namespace weft::frontend {

/// "[2, 3]".
std::string shapeText(const Shape &shape);
/// Throws Error for more dimensions than a tensor may have.
void checkRank(const Shape &shape, Loc loc);
/// The number of elements; throws Error on too many dimensions, negative sizes and overflow.
int64_t checkedCount(const Shape &shape, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_SHAPES_H
