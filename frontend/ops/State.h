//===- State.h - Values of state, set from outside -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_OPS_STATE_H
#define WEFT_FRONTEND_OPS_STATE_H

#include "frontend/graph/Graph.h"
#include "weft/module.hpp"

#include <unordered_map>

namespace weft {
class Generator;
} // namespace weft

namespace weft::frontend {

/// Gives `target` the value of `source`, a tensor of the same shape, converted and moved to its dtype and
/// device. On the host this compiles nothing, so loading state does not change the count of compilations.
void overwrite(const Tensor &target, const Tensor &source, Loc loc);

/// The value of a tensor on another device. If the value was moved from that device, the original is
/// returned, so that a move to a device which is missing can be undone.
Ref movedTo(const Tensor &state, Device device, Loc loc);

/// Moves what of these slots is on the host to a device that is there, the small ones by one copy; slots that
/// a trace sees, views, and what lies elsewhere stay as they are.
void uploadSlots(const std::vector<std::shared_ptr<Slot>> &slots, Device device, Loc loc);

/// Computes the value of a slot that no trace sees, and moves it to a device that is there.
void relocate(const std::shared_ptr<Slot> &slot, Device device, Loc loc);

/// Key and counter of a generator on one device.
struct DrawState {
  Ref key, counter;
};
/// The state of a generator for an operation on `device`. The counter moves to where it is drawn from:
/// outside of functions at once, and in a function that draws there first, at each call. A device that is
/// missing reads it through copies.
DrawState stateFor(const Generator &generator, Device device, Loc loc);
/// Gives the generator the counter that such an operation has left.
void advance(const Generator &generator, Ref counter, Loc loc);

/// A new tensor with its own storage and the same value and flags, without a gradient.
Tensor copyOf(const Tensor &original);

/// Sets the gradients of these parameters to none, or those that exist to zeros.
void clearGradients(const std::vector<Tensor> &parameters, bool toNone);

/// Finds entries of a state dict, which must outlive it, by name.
class StateIndex {
public:
  explicit StateIndex(const StateDict &state) {
    for (const auto &[name, tensor] : state)
      index_.emplace(name, &tensor);
  }
  const Tensor *find(const std::string &name) const {
    auto it = index_.find(name);
    return it == index_.end() ? nullptr : it->second;
  }

private:
  std::unordered_map<std::string, const Tensor *> index_;
};

/// "size mismatch: NAME has shape [2], the state has [3]", or an empty text if the shapes are equal.
std::string shapeComplaint(const std::string &name, const Shape &own, const Shape &loaded);
/// Throws Error with all complaints, if there are any.
void throwComplaints(const std::string &what, const std::vector<std::string> &complaints, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_STATE_H
