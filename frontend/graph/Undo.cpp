//===- Undo.cpp - Undoes writes after a failure ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Undo.h"

#include "frontend/graph/Message.h"
#include "frontend/graph/Recording.h"
#include "frontend/graph/Slot.h"

#include <algorithm>
#include <unordered_set>

namespace weft::frontend {

/// Undoes the writes of values that depend on the node `failed`, if given, or on the result of a queued call
/// that failed.
static void undo(const Node *failed) {
  std::vector<std::shared_ptr<Slot>> slots = pendingSlots();
  for (auto &slot : uncertainSlots())
    slots.push_back(std::move(slot));
  // The nodes that these slots depend on and that may fail, sorted so that operands come before their users.
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
    // A queued call that computes this value fails for the same reason. Waiting for it here keeps it from
    // being reported a second time.
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
