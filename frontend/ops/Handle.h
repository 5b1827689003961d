//===- Handle.h - How operations read and write tensors -------------------===//
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

/// The value of a tensor at this point of the program. In a trace, a slot from outside becomes a hidden
/// input. Throws Error for an undefined tensor, and for one that was made in a trace that has ended.
Ref use(const Tensor &tensor, Loc loc);
/// The same for a slot.
Ref useSlot(const std::shared_ptr<Slot> &slot, Loc loc);
[[noreturn]] void failUndefined(Loc loc);
/// Called when the program asks for a gradient that does not exist and so receives an undefined tensor. A
/// later error about an undefined tensor can then name the cause.
void noteMissingGrad(const std::shared_ptr<Slot> &slot, Loc loc);
/// A tensor with a slot of its own.
Tensor wrap(Ref value, Loc loc);
/// Writes a value to a slot. If a trace is under way, the slot becomes part of it. Writing a view replaces
/// the view's elements in its base.
void assign(const std::shared_ptr<Slot> &slot, Ref value);

/// A view of a tensor: one step more than the tensor's own index map has.
Tensor makeView(const Tensor &tensor, ViewStep step, std::vector<int64_t> strides, Loc loc,
                bool detached = false);
/// Throws PyTorch's errors for an in-place operation on this slot: a leaf that requires a gradient, a view of
/// one, a view that overlaps itself. So for a copy of elements that are shared in PyTorch (`Slot::copiedBy`).
void checkWritable(const std::shared_ptr<Slot> &slot, Loc loc);
/// Marks a copy of elements that `function` of PyTorch shares with another tensor: a write to it is an error.
Tensor markedCopy(Tensor copy, const char *function, Loc loc);
/// Throws the errors of `assign` for a slot that is a view. `needsGrad`: the value, which is computed from
/// `operands`, requires a gradient.
void checkViewWrite(const std::shared_ptr<Slot> &slot, bool needsGrad, Loc loc,
                    const std::vector<Ref> &operands);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_HANDLE_H
