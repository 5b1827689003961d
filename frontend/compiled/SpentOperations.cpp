//===- SpentOperations.cpp - Operations whose history is used up ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiled/SpentOperations.h"

#include "frontend/graph/GradBoundary.h"

#include <algorithm>
#include <set>

namespace weft::frontend {

//===----------------------------------------------------------------------===//
// Leaves whose values a function computes
//===----------------------------------------------------------------------===//

ComputedLeaves::ComputedLeaves(const Variant &variant) : bindings_(variant.bindings) {
  for (size_t i = 0; i < bindings_.size(); ++i) {
    const Binding &binding = bindings_[i];
    if (!binding.requiresGrad)
      continue;
    Ref value = binding.written;
    if (binding.view && !binding.isGradient)
      value = binding.slot->value();
    if (const GradAccumulator *own = value ? value.node->accumulator(value.result) : nullptr)
      byAccumulator_.emplace(own, i);
  }
}

std::optional<size_t> ComputedLeaves::bindingOf(const Ref &value) const {
  const auto found = byAccumulator_.find(value.node->accumulator(value.result));
  if (value.node->kind == NodeKind::input || found == byAccumulator_.end())
    return std::nullopt;
  return found->second;
}

//===----------------------------------------------------------------------===//
// Histories that are used up
//===----------------------------------------------------------------------===//

/// Calls `visit` with what rules and hooks of a node's results read. Those of one result are no operands to
/// which the gradient of another flows.
template <typename Visit> static void visitRead(const Node &node, const Visit &visit) {
  for (const auto &accumulator : node.accumulators)
    if (accumulator)
      for (const Ref &read : readBy(*accumulator))
        visit(read);
}

/// The results of a node with several share its operands.
static void pushRead(const Ref &value, std::vector<Ref> &stack) {
  visitRead(*value.node, [&](const Ref &read) { stack.push_back(read); });
  if (value.node->requiresGrad)
    stack.insert(stack.end(), value.node->operands.begin(), value.node->operands.end());
}

SpentOperations::SpentOperations(const Variant &variant, const Trace &trace, const ComputedLeaves &leaves)
    : trace_(trace), leaves_(leaves) {
  for (const Binding &binding : variant.bindings) // the history of an input is outside
    if (binding.input) {
      clean_.insert(binding.input.node.get());
      writes_.emplace(binding.input.node.get(), binding.writes());
    }
}

bool SpentOperations::reaches(const Ref &value) {
  std::unordered_set<const Node *> seen;
  std::vector<Ref> stack{value};
  while (!stack.empty()) {
    const Ref ref = std::move(stack.back());
    stack.pop_back();
    if (!ref.requiresGrad() || leaves_.bindingOf(ref) || clean_.contains(ref.node.get()) ||
        !seen.insert(ref.node.get()).second)
      continue;
    if (trace_.isSpent(*ref.node))
      return true;
    pushRead(ref, stack);
  }
  clean_.merge(seen);
  return false;
}

bool SpentOperations::isWritten(const Ref &value) const {
  if (const auto leaf = leaves_.bindingOf(value))
    return leaves_.isWritten(*leaf);
  const auto input = writes_.find(value.node.get());
  return input != writes_.end() && input->second;
}

SpentOperations::Reads SpentOperations::readsOf(const Ref &value) {
  std::vector<Node *> nodes;
  std::unordered_set<const Node *> seen;
  std::vector<Ref> stack{value};
  while (!stack.empty()) {
    const Ref ref = std::move(stack.back());
    stack.pop_back();
    if (reads_.contains(ref.node.get()) || !seen.insert(ref.node.get()).second)
      continue;
    nodes.push_back(ref.node.get());
    stack.insert(stack.end(), ref.node->operands.begin(), ref.node->operands.end());
    visitRead(*ref.node, [&](const Ref &read) { stack.push_back(read); });
  }
  std::ranges::sort(nodes, {}, &Node::serial); // operands first
  const auto those = [&](const Ref &ref) {
    const bool writes = isWritten(ref), ends = isEnd(ref);
    const Reads &found = reads_[ref.node.get()];
    return Reads{writes || found.written, !writes && ref.requiresGrad() && (ends || found.leadsElsewhere)};
  };
  for (Node *node : nodes) {
    Reads reads;
    const auto add = [&](const Ref &read) {
      const Reads found = those(read);
      reads.written |= found.written;
      reads.leadsElsewhere |= found.leadsElsewhere;
    };
    std::ranges::for_each(node->operands, add);
    visitRead(*node, add);
    reads_[node] = reads;
  }
  return those(value);
}

bool SpentOperations::isEnd(const Ref &value) const {
  return value.node->kind == NodeKind::input || value.node->isGradLeaf(value.result);
}

/// The value of which this one is a reshape, as it is of a tensor that was detached.
static Ref reshapedFrom(Ref value) {
  while (value.node->kind == NodeKind::op && std::string_view(value.node->name) == "reshape")
    value = Ref(value.node->operands.front());
  return value;
}

bool SpentOperations::findRead(Front &front) {
  RefSet seen(front.values.begin(), front.values.end());
  bool isWrittenItself = false;
  const auto add = [&](const Ref &read) {
    if (read.requiresGrad() || !seen.insert(read).second || !readsOf(read).written)
      return;
    isWrittenItself |= isWritten(reshapedFrom(read));
    front.read.push_back(read);
  };
  for (const Node *user : front.users) {
    std::ranges::for_each(user->operands, add);
    visitRead(*user, add);
  }
  return !isWrittenItself;
}

bool SpentOperations::endsAtWritten(const Ref &value) {
  if (!readsOf(value).written || reaches(value))
    return false;
  bool isOperand = false;
  const auto add = [&](const Ref &read) {
    isOperand |= read.requiresGrad() && isWritten(reshapedFrom(read));
  };
  std::ranges::for_each(value.node->operands, add);
  visitRead(*value.node, add);
  return isOperand || !readsOf(value).leadsElsewhere;
}

SpentOperations::Front SpentOperations::frontOf(const Ref &value) {
  Front front;
  bool leadsOn = false, needsWritten = false;
  walkHistory(value, [&](const Ref &ref, std::vector<Ref> &stack) {
    const bool isGradient = std::string_view(ref.node->name) == "gradient";
    const bool isSpent = trace_.isSpent(*ref.node) || (isGradient && reaches(ref));
    needsWritten = !isSpent && isWritten(reshapedFrom(ref));
    if (needsWritten)
      return false;
    if (isSpent || endsAtWritten(ref)) {
      front.values.push_back(ref);
      return true;
    }
    leadsOn |= isEnd(ref);
    if (ref.node->kind == NodeKind::input || leaves_.bindingOf(ref))
      return true;
    front.users.insert(ref.node.get());
    pushRead(ref, stack);
    return true;
  });
  return leadsOn && !needsWritten && findRead(front) ? front : Front();
}

//===----------------------------------------------------------------------===//
// Where histories lead
//===----------------------------------------------------------------------===//

WaysOf::WaysOf(const Variant &variant, const ComputedLeaves &leaves) : leaves_(leaves) {
  for (size_t i = 0; i < variant.bindings.size(); ++i)
    if (const Ref &input = variant.bindings[i].input)
      inputs_.emplace(input.node.get(), i);
}

std::vector<size_t> WaysOf::operator()(const Ref &value, std::unordered_set<const Node *> &through) const {
  std::set<size_t> found;
  walkHistory(value, [&](const Ref &ref, std::vector<Ref> &stack) {
    if (const auto binding = bindingOf(ref)) {
      found.insert(*binding);
      return true;
    }
    through.insert(ref.node.get());
    if (const GradAccumulator *accumulator = ref.node->accumulator(ref.result))
      for (Ref &next : below(*accumulator))
        stack.push_back(std::move(next));
    if (ref.node->requiresGrad) // not a leaf that the function made
      stack.insert(stack.end(), ref.node->operands.begin(), ref.node->operands.end());
    return true;
  });
  return {found.begin(), found.end()};
}

std::optional<size_t> WaysOf::bindingOf(const Ref &value) const {
  if (const auto computed = leaves_.bindingOf(value))
    return computed;
  const auto input = inputs_.find(value.node.get());
  return input == inputs_.end() ? std::nullopt : std::optional(input->second);
}

} // namespace weft::frontend
