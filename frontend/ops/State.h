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
