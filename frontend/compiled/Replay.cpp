//===- Replay.cpp - Gradients through the call of a compiled function -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiled/Replay.h"

#include "frontend/graph/GradBoundary.h"
#include "frontend/graph/Message.h"
#include "frontend/graph/Record.h"
#include "frontend/graph/Region.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace weft::frontend {

//===----------------------------------------------------------------------===//
// Histories that are used up
//===----------------------------------------------------------------------===//

namespace {

/// Finds histories that a gradient in a trace has used up.
class SpentHistories {
public:
  explicit SpentHistories(const Trace &trace) : trace_(trace) {}

  /// Whether a gradient of the value would meet an operation whose history is used up.
  bool reaches(const Ref &value) {
    std::unordered_set<const Node *> seen;
    std::vector<Ref> stack{value};
    while (!stack.empty()) {
      const Ref ref = std::move(stack.back());
      stack.pop_back();
      if (!ref.requiresGrad() || clean_.contains(ref.node.get()) || !seen.insert(ref.node.get()).second)
        continue;
      if (trace_.isSpent(*ref.node) || isWrittenLeaf(ref))
        return true;
      // The results of a node with several share its operands. A rule or hooks are those of one result.
      for (uint32_t i = 0; i < ref.node->results.size(); ++i)
        if (const GradAccumulator *accumulator = ref.node->accumulator(i))
          for (Ref &read : readBy(*accumulator))
            stack.push_back(std::move(read));
      stack.insert(stack.end(), ref.node->operands.begin(), ref.node->operands.end());
    }
    clean_.merge(seen);
    return false;
  }

private:
  /// Whether the function wrote a leaf from outside, whose value this is. Recorded again it would be a
  /// number, and the leaf would miss the gradient.
  bool isWrittenLeaf(const Ref &value) const {
    const GradAccumulator *own = value.node->accumulator(value.result);
    if (!own || !own->isLeaf() || value.node->kind == NodeKind::input)
      return false;
    const auto slot = own->slot.lock();
    return slot && trace_.touched(*slot);
  }

  const Trace &trace_;
  std::unordered_set<const Node *> clean_; ///< nodes from which none is reached
};

/// Ends reverse mode at a result whose history is used up.
class SpentResult final : public GradBoundary {
public:
  explicit SpentResult(Loc loc) : GradBoundary(1), loc_(loc) {}
  /// Which inputs lie below is not known any more.
  std::vector<Ref> below() const override { refuse(loc_); }
  std::vector<Ref> read() const override { return {}; }
  GradStart goOn(const std::vector<Ref> &, const std::vector<Ref> &, bool, Loc loc) override { refuse(loc); }
  std::shared_ptr<GradBoundary> copied(const RefMap &, const SpecMap &) const override {
    return std::make_shared<SpentResult>(loc_);
  }

private:
  [[noreturn]] void refuse(Loc loc) const {
    fail("the gradient would flow through a compiled function that has used the history of this result up: "
         "backward() or grad() in it went through what the result was computed from, or it wrote a leaf that "
         "the result reads (WEFT-G009): give them create_graph, return the result detached, or compute the "
         "result or its gradients outside\n  result made at " +
             str(loc_),
         loc, {}, "WEFT-G009");
  }

  const Loc loc_;
};

} // namespace

void markSpent(const Ref &result) { setBoundary(result, std::make_shared<SpentResult>(result.node->loc), 0); }

//===----------------------------------------------------------------------===//
// Histories that are kept
//===----------------------------------------------------------------------===//

/// The operations that values depend on, and those that rules of their gradients read.
static std::vector<Node *> withGradients(std::vector<Ref> roots) {
  RefSet known(roots.begin(), roots.end());
  for (;;) {
    std::vector<Node *> nodes;
    std::vector<Ref> leaves;
    collect(roots, /*numbersAreConstants=*/true, nodes, leaves);
    const size_t before = roots.size();
    for (const Node *node : nodes)
      for (const auto &accumulator : node->accumulators)
        if (accumulator)
          for (const Ref &read : readBy(*accumulator))
            if (known.insert(read).second)
              roots.push_back(read);
    if (roots.size() == before)
      return nodes;
  }
}

/// Whether a leaf had another value before, of which something is computed.
static bool hasEarlierValue(const std::vector<Node *> &nodes, const Ref &leaf) {
  const GradAccumulator *own = leaf.node->accumulator(leaf.result);
  return std::ranges::any_of(nodes, [&](const Node *node) {
    return node != leaf.node.get() &&
           std::ranges::any_of(node->accumulators, [&](const auto &other) { return other.get() == own; });
  });
}

/// Finds the leaves that the function made. One that is a result and had several values becomes a number: the
/// gradients of what is computed from the earlier ones would miss it.
static void noteLeaves(Variant &variant, const std::vector<Ref> &results, const Trace &trace) {
  for (const Node *node : variant.nodes)
    for (const auto &accumulator : node->accumulators)
      // An argument that is made a leaf is one of the caller, who would miss its gradient.
      if (accumulator && accumulator->isLeaf())
        if (const auto slot = accumulator->slot.lock(); !slot || !trace.touched(*slot))
          variant.innerLeaves.insert(node);
  for (size_t i = 0; i < results.size(); ++i)
    if (variant.resultIsLeaf[i] && hasEarlierValue(variant.nodes, results[i])) {
      variant.resultIsLeaf[i] = false;
      variant.resultRefs[i] = {};
    }
}

void keepHistories(Variant &variant, const std::vector<Ref> &results, const Trace &trace) {
  SpentHistories spent(trace);
  std::vector<Ref> roots;
  const auto keeps = [&](const Ref &value) {
    // A leaf that the function made is none outside.
    const bool isInner = value && value.node->kind != NodeKind::input && value.node->isGradLeaf(value.result);
    const bool isKept = value && !isInner && value.requiresGrad() && !spent.reaches(value);
    if (isKept)
      roots.push_back(value);
    return isKept;
  };
  for (const Ref &result : results) {
    const bool isKept = keeps(result);
    variant.resultRefs.push_back(isKept ? result : Ref());
    variant.resultIsSpent.push_back(!isKept && result.requiresGrad() &&
                                    !result.node->isGradLeaf(result.result) &&
                                    !trace.isSpentByBackward(*result.node));
  }
  for (Binding &binding : variant.bindings) {
    if (binding.requiresGrad || !keeps(binding.written))
      binding.written = {};
    if (!keeps(binding.leftGradient))
      binding.leftGradient = {};
  }
  for (Variant::ResultGradient &gradient : variant.resultGradients)
    if (!keeps(gradient.value))
      gradient.value = {};
  variant.differentiable = !roots.empty();
  if (variant.differentiable)
    for (size_t i = 0; i < results.size(); ++i)
      if (variant.resultIsLeaf[i]) // other results may depend on it
        roots.push_back(variant.resultRefs[i] = results[i]);
  if (const auto &rule = trace.unknownRule(); rule && variant.differentiable)
    fail(rule->what +
             " in a compiled function for one of its arguments, whose gradient is computed outside "
             "(WEFT-G005): " +
             rule->remedy,
         rule->loc, {}, "WEFT-G005");
  // Without what is computed for effects alone, which nothing would keep alive.
  variant.roots = roots;
  variant.nodes = withGradients(std::move(roots));
  noteLeaves(variant, results, trace);
  if (!variant.differentiable)
    for (Binding &binding : variant.bindings)
      binding.input = {};
}

Replay replay(const Variant &variant, const std::vector<std::shared_ptr<Slot>> &bound,
              const SizeValues &sizes) {
  std::unordered_map<const Node *, std::shared_ptr<Node>> copies;
  std::unordered_map<const Node *, Ref> inputs;
  for (size_t i = 0; i < bound.size(); ++i)
    if (variant.bindings[i].input)
      inputs.emplace(variant.bindings[i].input.node.get(), bound[i]->value());
  const auto mapped = [&](const Ref &ref) -> Ref {
    if (auto it = inputs.find(ref.node.get()); it != inputs.end())
      return it->second;
    const auto copy = copies.find(ref.node.get()); // ends for no node, too
    return copy == copies.end() ? Ref() : Ref{copy->second, ref.result};
  };
  BoundaryCopies boundaries(mapped, [&](const Spec &spec) { return concrete(spec, sizes); });
  for (const Node *node : variant.nodes) {
    std::vector<Ref> operands;
    for (const Ref &operand : node->operands)
      operands.push_back(mapped(operand));
    std::shared_ptr<Node> copy = copyOf(*node, std::move(operands));
    for (Attr &attr : copy->attrs)
      attr = concrete(attr, sizes);
    for (NodeResult &result : copy->results)
      result.spec = concrete(result.spec, sizes);
    boundaries.copy(*node, *copy);
    if (variant.innerLeaves.contains(node)) {
      copy->accumulators.resize(node->results.size());
      for (size_t i = 0; i < node->accumulators.size(); ++i)
        if (node->accumulators[i] && node->accumulators[i]->isLeaf())
          copy->accumulators[i] = std::make_shared<GradAccumulator>();
    }
    copies.emplace(node, std::move(copy));
  }
  Replay result;
  for (const Ref &ref : variant.resultRefs)
    result.results.push_back(mapped(ref));
  for (const Variant::ResultGradient &gradient : variant.resultGradients)
    result.resultGradients.push_back(gradient.value ? mapped(gradient.value) : Ref());
  for (const Binding &binding : variant.bindings) {
    result.written.push_back(mapped(binding.written));
    result.gradients.push_back(mapped(binding.leftGradient));
  }
  return result;
}

} // namespace weft::frontend
