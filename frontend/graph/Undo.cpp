//===- Undo.cpp - What an operation that failed leaves --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether an index is in range shows when its operation runs, and by then tensors were written with what
// follows from it; a call on a queue may fail long after its results were used. Until that is known, a slot
// keeps what such a write replaced, and goes back to it.
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Trace.h"
#include "frontend/lazy/Lazy.h"

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
  if (!mayBeLost(value)) {
    before_.clear();
  } else {
    // A value that is kept for nothing else would keep alive all that it is computed from.
    if (isPending(value_) && value_.node->fallible && !isComputedFrom(value, value_))
      tryFlush({value_});
    // Values that a queue has yet to give are many where the program runs ahead; of them, those before one
    // that is certain are not needed.
    constexpr size_t some = 8;
    if (!mayBeLost(value_))
      before_.clear();
    else if (before_.size() >= some && before_.size() % some == 0)
      if (auto certain = std::find_if_not(before_.rbegin(), before_.rend(), mayBeLost);
          certain != before_.rend())
        before_.erase(before_.begin(), std::prev(certain.base()));
    if (!value.buffer() || value.buffer() != value_.buffer()) // or else the call wrote what the slot has
      before_.push_back(value_);
  }
  setValue(std::move(value));
  forgetBefore();
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

/// Undoes what follows from `failed`, where given, and from values that calls on queues did not give.
static void undo(const Node *failed) {
  std::vector<std::shared_ptr<Slot>> slots = pendingSlots();
  for (auto &slot : uncertainSlots())
    slots.push_back(std::move(slot));
  // What is recorded and not computed, in order: an operand is older than its user.
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
    if (node == failed || !node->fallible || !seen.insert(node).second)
      continue;
    reached.push_back(node);
    for (const Ref &operand : node->operands)
      stack.push_back(operand.node.get());
  }
  std::sort(reached.begin(), reached.end(), [](auto *a, auto *b) { return a->serial < b->serial; });
  std::unordered_set<const Node *> lost;
  const auto lose = [&](const Node &node) {
    lost.insert(&node);
    // A call that was to give it as well fails for the same reason: the program is told once.
    for (const NodeResult &result : node.results)
      if (result.buffer)
        (void)result.buffer->wait();
  };
  const auto isLost = [&](const Ref &ref) {
    return ref.buffer() ? ref.buffer()->lost() : lost.contains(ref.node.get());
  };
  if (failed)
    lose(*failed);
  for (const Node *node : reached)
    if (std::any_of(node->operands.begin(), node->operands.end(), isLost))
      lose(*node);
  for (const auto &slot : slots) {
    if (!isLost(slot->value()) || slot->undoWrites(isLost))
      continue;
    const auto accumulator = slot->gradOf.lock();
    if (!accumulator || accumulator->gradient() != slot)
      continue;
    accumulator->grad.reset();
    if (auto owner = accumulator->slot.lock())
      owner->grad.reset();
  }
}

void undoWritesOf(const Node &failed) {
  GraphLock lock(graphMutex());
  undo(&failed);
}

void undoLostWrites() {
  GraphLock lock(graphMutex());
  undo(nullptr);
}

void await(runtime::Buffer &buffer, Loc loc) {
  if (Status status = buffer.wait(); !status) {
    undoLostWrites();
    fail(status, loc);
  }
  forgetCertain();
}

} // namespace weft::frontend
