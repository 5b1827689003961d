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

/// Gives the slot of `target` the value of `source`, a tensor of the same shape, converted and moved. On the
/// host nothing is compiled for that, so that loading state leaves the count of compilations as it was.
void overwrite(const Tensor &target, const Tensor &source, Loc loc);

/// The value of a slot of state on another device: what it was moved from where that was there, so that a
/// move to a device that is missing can be taken back.
Ref movedTo(const Tensor &state, Device device, Loc loc);

/// A tensor with a slot and storage of its own and the same value and flags; no gradient.
Tensor copyOf(const Tensor &original);

/// Sets the gradients of these parameters to none, or those that exist to zeros.
void clearGradients(const std::vector<Tensor> &parameters, bool toNone);

/// Throws Error inside a traced function: `what` would happen once, while it is compiled.
void refuseInTrace(const std::string &what, Loc loc);

/// A state dict by name; the entries must outlive it.
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

/// "size mismatch: NAME has shape [2], the state has [3]", or an empty text where the shapes are equal.
std::string shapeComplaint(const std::string &name, const Shape &own, const Shape &loaded);
/// Throws Error with all complaints, where there are any.
void throwComplaints(const std::string &what, const std::vector<std::string> &complaints, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_STATE_H
