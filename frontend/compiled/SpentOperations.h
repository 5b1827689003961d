//===- SpentOperations.h - Operations whose history is used up -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILED_SPENTOPERATIONS_H
#define WEFT_FRONTEND_COMPILED_SPENTOPERATIONS_H

#include "frontend/compiled/Variant.h"

#include <unordered_map>
#include <unordered_set>

namespace weft::frontend {

/// The leaves from outside that the function wrote, and those that are views, whose values it computed from
/// their bases. Each of these values collects the leaf's gradient. The last value of a leaf that is no view
/// is what a call leaves there, so that it is not computed again for a gradient.
class ComputedLeaves {
public:
  explicit ComputedLeaves(const Variant &variant);
  /// The binding of the leaf whose value this is; none for every other value, and for an input.
  std::optional<size_t> bindingOf(const Ref &value) const;
  bool isLast(const Ref &value, size_t binding) const { return bindings_[binding].written == value; }
  bool isWritten(size_t binding) const { return bindings_[binding].writes(); }

private:
  const std::vector<Binding> &bindings_;
  std::unordered_map<const GradAccumulator *, size_t> byAccumulator_;
};

/// Finds operations whose history a gradient in a trace has used up.
class SpentOperations {
public:
  SpentOperations(const Variant &variant, const Trace &trace, const ComputedLeaves &leaves);

  /// Whether a gradient of the value would meet an operation whose history is used up.
  bool reaches(const Ref &value);

  /// Of a value that reaches such operations:
  struct Front {
    /// Theirs, gradients of what reaches them, and what leads to leaves that a call writes: a gradient ends
    /// there.
    std::vector<Ref> values;
    /// The operations through which it gets there or elsewhere.
    std::unordered_set<const Node *> users;
    /// What these read that passes no gradient on, and is computed from what a call writes: its value.
    std::vector<Ref> read;
  };
  /// Empty if a gradient gets nowhere else, and if a call would have to keep what it writes for it.
  Front frontOf(const Ref &value);

private:
  /// Whether a call writes what the value is in the function.
  bool isWritten(const Ref &value) const;
  bool isEnd(const Ref &value) const; ///< whether a gradient ends at it
  struct Reads {
    bool written = false;        ///< the value is, or is computed from, what a call writes
    bool leadsElsewhere = false; ///< a gradient of it gets to other leaves or inputs
  };
  Reads readsOf(const Ref &value);
  /// Whether gradients of a value that reaches no such operation are given up, because they would get to
  /// leaves that a call writes: all of them, or those of its operands.
  bool endsAtWritten(const Ref &value);
  /// Finds `Front::read`. False if what a call writes is among that itself.
  bool findRead(Front &front);

  const Trace &trace_;
  const ComputedLeaves &leaves_;
  std::unordered_map<const Node *, bool> writes_; ///< of each input: whether a call writes what it stands for
  std::unordered_set<const Node *> clean_;        ///< nodes from which none is reached
  std::unordered_map<const Node *, Reads> reads_; ///< of nodes that were asked about
};

/// Finds where a gradient of a value would get to.
class WaysOf {
public:
  WaysOf(const Variant &variant, const ComputedLeaves &leaves);
  /// The bindings at whose values its history begins, in order; adds the operations on the way to `through`.
  std::vector<size_t> operator()(const Ref &value, std::unordered_set<const Node *> &through) const;

private:
  std::optional<size_t> bindingOf(const Ref &value) const;

  const ComputedLeaves &leaves_;
  std::unordered_map<const Node *, size_t> inputs_;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_SPENTOPERATIONS_H
