//===- Handle.h - How operations read and write tensors ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_OPS_HANDLE_H
#define WEFT_FRONTEND_OPS_HANDLE_H

#include "frontend/graph/Graph.h"
#include "frontend/graph/View.h"

namespace weft::frontend {

/// The value of a tensor at this point of the program; in a trace a slot from outside becomes a hidden input.
/// Throws Error on an undefined tensor, and on one that was made in a trace that is over.
Ref use(const Tensor &tensor, Loc loc);
/// The same of a slot.
Ref useSlot(const std::shared_ptr<Slot> &slot, Loc loc);
[[noreturn]] void failUndefined(Loc loc);
/// The program asked this slot for its gradient, and there is none: what it got is undefined, and an error
/// that follows from that can say so.
void noteMissingGrad(const std::shared_ptr<Slot> &slot, Loc loc);
/// A tensor with a slot of its own.
Tensor wrap(Ref value, Loc loc);
/// Writes a slot, which then belongs to the trace under way, if any, until that ends. What a view is given
/// goes to its place in the base.
void assign(const std::shared_ptr<Slot> &slot, Ref value);

/// A view of a tensor: one more step on top of what it is itself.
Tensor makeView(const Tensor &tensor, ViewStep step, std::vector<int64_t> strides, Loc loc,
                bool detached = false);
/// Throws PyTorch's errors for an in-place operation on this slot: a leaf that requires a gradient, a view of
/// one, a view that overlaps itself.
void checkWritable(const std::shared_ptr<Slot> &slot, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_HANDLE_H
