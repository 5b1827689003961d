//===- ModuleState.h - What the copies of a module share ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_NN_MODULESTATE_H
#define WEFT_FRONTEND_NN_MODULESTATE_H

#include "weft/module.hpp"

#include <array>
#include <cstddef>
#include <mutex>
#include <unordered_set>

namespace weft::nn::detail {

/// Module objects that took a state over from another object, by copy or assignment, and whose parameters are
/// still to follow: C++ copies the base class first and then the members. Both objects are of one type, so
/// that a parameter is as far from the one that it is made of as the object is from the other.
class Transfers {
public:
  Transfers() = default;
  Transfers(const Transfers &) {} // of a state that is copied itself
  Transfers &operator=(const Transfers &) = delete;

  /// The object `to` takes the state from the object `from`; `members` is how many parameters it has, and
  /// `replaced` the state that it had.
  /// `copiesElements`: so do the elements of containers; of those that are moved, and of handles, none does.
  void begin(const Module *to, const Module *from, size_t members, bool copiesElements,
             std::weak_ptr<const ModuleState> replaced);
  /// Whether the parameter `to` takes the value of `from`, which has the number `entry` in this state, in the
  /// course of that. Each parameter does so once.
  bool includes(const Parameter *to, const Parameter *from, size_t entry);
  /// The same of one that is an element of a container, and no member at a distance: whether an object that
  /// had the state `replaced`, or any where that is null, was given this one, and the parameter `entry` has
  /// not followed.
  bool includes(const std::weak_ptr<ModuleState> *replaced, size_t entry);
  /// The same of the module `part`, which is registered in this state.
  bool includes(const Module *to, const Module *from, const ModuleState *part);
  /// The same of one that is an element of a container, and no member at a distance: whether an object of the
  /// state `replaced` was given this one, and `part` has not followed.
  bool includes(const ModuleState *replaced, const ModuleState *part);

private:
  struct Transfer {
    ptrdiff_t distance = 0;     ///< between the two objects
    const void *last = nullptr; ///< the object, or the last of its members that followed
    size_t members = 0;         ///< that are still to follow
    bool copiesElements = false;
    std::weak_ptr<const ModuleState> replaced;
    std::vector<const ModuleState *> followed; ///< parts
    std::unordered_set<size_t> entries;        ///< numbers of the parameters that followed
  };
  std::mutex mutex_;
  std::array<Transfer, 8> latest_; ///< threads may copy one module at the same time
  size_t next_ = 0;
};

struct ModuleState : std::enable_shared_from_this<ModuleState> {
  struct Entry {
    std::string name;
    Tensor tensor;
    bool parameter;
  };
  std::string type = "Module", details;
  std::string path; ///< below the topmost module that it is a part of; of a part with two names the first
  std::vector<Entry> tensors;
  size_t absent = 0; ///< parameters that it is made without
  std::vector<std::pair<std::string, std::shared_ptr<ModuleState>>> children;
  std::vector<std::weak_ptr<ModuleState>> parents; ///< where it is registered
  /// Shared with the guards of compiled functions that read it.
  std::shared_ptr<bool> training = std::make_shared<bool>(true);
  Transfers transfers;
};

/// The state as the handles of a list have it, children() among them. No object computes with such a handle,
/// and it may be assigned; by an owner of its own it is told from a member, and so are its copies.
inline std::shared_ptr<ModuleState> listed(const std::shared_ptr<ModuleState> &state) {
  return {std::make_shared<std::shared_ptr<ModuleState>>(state->shared_from_this()), state.get()};
}
inline bool isListed(const std::shared_ptr<ModuleState> &state) {
  const auto own = state->weak_from_this();
  return state.owner_before(own) || own.owner_before(state);
}

/// Every tensor of the tree with its path.
void visit(const ModuleState &state, const std::string &prefix,
           const std::function<void(const std::string &, const ModuleState::Entry &)> &visitor);

/// A path of two parts, of which one may be empty.
inline std::string join(const std::string &a, const std::string &b) {
  return a.empty() || b.empty() ? a + b : a + "." + b;
}

} // namespace weft::nn::detail

#endif // WEFT_FRONTEND_NN_MODULESTATE_H
