//===- Undo.cpp - What an operation that failed leaves --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether an index is in range shows when its operation runs, and by then tensors were written with what
// follows from it. Until that is known, a slot keeps what such a write replaced, and goes back to it.
//
//===----------------------------------------------------------------------===//
#include "frontend/Lazy.h"
#include "frontend/Trace.h"

#include <algorithm>
#include <unordered_set>

namespace weft::frontend {

/// Whether `later` is computed from `earlier`; also true where that takes long to find out.
static bool isComputedFrom(const Ref &later, const Ref &earlier) {
  constexpr size_t longest = 256;
  std::unordered_set<const Node *> seen;
  std::vector<const Node *> stack{later.node.get()};
  while (!stack.empty() && seen.size() < longest) {
    const Node *node = stack.back();
    stack.pop_back();
    if (node == earlier.node.get())
      return true;
    if (node->serial > earlier.node->serial && seen.insert(node).second)
      for (const Ref &operand : node->operands)
        stack.push_back(operand.node.get());
  }
  return !stack.empty();
}

void Slot::write(Ref value) {
  GraphLock lock(graphMutex());
  if (Trace::current() || view_ || !value_ || value == value_) { // a trace puts back what it wrote itself
    setValue(std::move(value));
    return;
  }
  if (!isPending(value) || !value.node->fallible) {
    before_.clear();
  } else {
    // A value that is kept for nothing else would keep alive all that it is computed from.
    if (isPending(value_) && value_.node->fallible && !isComputedFrom(value, value_))
      tryFlush({value_});
    if (!isPending(value_) || !value_.node->fallible)
      before_.clear();
    before_.push_back(value_);
  }
  setValue(std::move(value));
}

template <typename Predicate> bool Slot::undoWrites(Predicate isLost) {
  while (!before_.empty()) {
    Ref last = std::move(before_.back());
    before_.pop_back();
    if (isLost(last))
      continue;
    // Computed while no slot held it, it may lie in the storage of another value.
    if (last.node->kind == NodeKind::op && last.node->computed(last.result)) {
      GradMode mode(!requiresGrad);
      last = sameValue(last, loc);
    }
    setValue(std::move(last));
    return true;
  }
  return false;
}

void undoWritesOf(const Node &failed) {
  GraphLock lock(graphMutex());
  // What is recorded and not computed, from the failed node on: an operand is older than its user.
  std::vector<std::shared_ptr<Slot>> slots = pendingSlots();
  std::vector<const Node *> stack, reached;
  for (const auto &slot : slots) {
    stack.push_back(slot->value().node.get());
    for (const Ref &before : slot->before())
      stack.push_back(before.node.get());
  }
  std::unordered_set<const Node *> seen;
  while (!stack.empty()) {
    const Node *node = stack.back();
    stack.pop_back();
    if (node->serial <= failed.serial || !node->fallible || !seen.insert(node).second)
      continue;
    reached.push_back(node);
    for (const Ref &operand : node->operands)
      stack.push_back(operand.node.get());
  }
  std::sort(reached.begin(), reached.end(), [](auto *a, auto *b) { return a->serial < b->serial; });
  std::unordered_set<const Node *> lost{&failed};
  for (const Node *node : reached)
    if (std::any_of(node->operands.begin(), node->operands.end(), [&](const Ref &operand) {
          return lost.contains(operand.node.get()) && !operand.node->computed(operand.result);
        }))
      lost.insert(node);
  auto isLost = [&](const Ref &ref) {
    return lost.contains(ref.node.get()) && !ref.node->computed(ref.result);
  };
  for (const auto &slot : slots) {
    if (!isLost(slot->value()) || slot->undoWrites(isLost))
      continue;
    if (auto owner = slot->gradOf.lock(); owner && owner->grad == slot)
      owner->grad.reset();
  }
}

} // namespace weft::frontend
