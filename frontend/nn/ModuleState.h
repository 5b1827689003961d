//===- ModuleState.h - State shared by copies of a module -----------------===//
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

/// Module objects that are being copied or assigned as a whole. C++ copies the base class, and with it the
/// state, first, and then the members: the parameters that follow belong to the same copy. They are
/// recognised by their addresses: both objects are of one type, so the distance between a parameter and its
/// original is that between the objects.
class Transfers {
public:
  Transfers() = default;
  Transfers(const Transfers &) {} // the copy of a state starts with no transfers
  Transfers &operator=(const Transfers &) = delete;

  /// The object `to`, with `members` parameters and the former state `replaced`, takes over the state of the
  /// object `from`. `copiesElements`: parameters in containers are copied as well, which is not so for a
  /// move, nor for a handle.
  void begin(const Module *to, const Module *from, size_t members, bool copiesElements,
             std::weak_ptr<const ModuleState> replaced);
  /// Whether the assignment of the parameter `from`, which has the number `entry` in this state, to `to`
  /// belongs to such a copy. True once for each parameter.
  bool includes(const Parameter *to, const Parameter *from, size_t entry);
  /// The same for a parameter in a container, which is at no fixed distance: whether an object with the
  /// former state `replaced` (any object, if null) took over this state, and the parameter `entry` has not
  /// followed yet.
  bool includes(const std::weak_ptr<ModuleState> *replaced, size_t entry);
  /// The same for the module `part`, which is registered in this state.
  bool includes(const Module *to, const Module *from, const ModuleState *part);
  /// The same for a module in a container: whether an object with the former state `replaced` took over this
  /// state, and `part` has not followed yet.
  bool includes(const ModuleState *replaced, const ModuleState *part);

private:
  struct Transfer {
    ptrdiff_t distance = 0;     ///< between the two objects
    const void *last = nullptr; ///< the object, or its last member that has followed
    size_t members = 0;         ///< parameters that are still to follow
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
    bool isComputed = false; ///< it is parametrized: computed from tensors of a part
  };
  std::string type = "Module", details;
  std::string path; ///< its path below the topmost module; the first one if it is registered twice
  std::vector<Entry> tensors;
  size_t absent = 0; ///< the number of parameters that the module was made without
  std::vector<std::pair<std::string, std::shared_ptr<ModuleState>>> children;
  std::vector<std::weak_ptr<ModuleState>> parents; ///< the modules in which it is registered
  /// Shared with the guards of compiled functions that read it.
  std::shared_ptr<bool> training = std::make_shared<bool>(true);
  std::shared_ptr<Parametrizations> parametrizations; ///< null until it has had one
  Transfers transfers;
};

/// The state for handles in lists such as children(). Such a handle is no member of a module that computes
/// with it, so it may be assigned freely. It and its copies are recognised by an owner of their own.
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
