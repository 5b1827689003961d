//===- Replay.cpp - Gradients through the call of a compiled function -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiled/Replay.h"

#include "frontend/graph/GradBoundary.h"
#include "frontend/graph/Message.h"
#include "frontend/graph/OpDefinitions.h"
#include "frontend/graph/Record.h"
#include "frontend/graph/Region.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace weft::frontend {

//===----------------------------------------------------------------------===//
// Leaves whose values a function computes
//===----------------------------------------------------------------------===//

namespace {

/// The leaves from outside that the function wrote, and those that are views, whose values it computed from
/// their bases. Each of these values collects the leaf's gradient. The last value of a leaf that is no view
/// is what a call leaves there, so that it is not computed again for a gradient.
class ComputedLeaves {
public:
  explicit ComputedLeaves(const Variant &variant) : bindings_(variant.bindings) {
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
  /// The binding of the leaf whose value this is; none for every other value, and for an input.
  std::optional<size_t> bindingOf(const Ref &value) const {
    const auto found = byAccumulator_.find(value.node->accumulator(value.result));
    if (value.node->kind == NodeKind::input || found == byAccumulator_.end())
      return std::nullopt;
    return found->second;
  }
  bool isLast(const Ref &value, size_t binding) const { return bindings_[binding].written == value; }
  bool isWritten(size_t binding) const { return bindings_[binding].writes(); }

private:
  const std::vector<Binding> &bindings_;
  std::unordered_map<const GradAccumulator *, size_t> byAccumulator_;
};

} // namespace

//===----------------------------------------------------------------------===//
// Histories that are used up
//===----------------------------------------------------------------------===//

namespace {

/// Finds operations whose history a gradient in a trace has used up.
class SpentOperations {
public:
  SpentOperations(const Variant &variant, const Trace &trace, const ComputedLeaves &leaves)
      : trace_(trace), leaves_(leaves) {
    for (const Binding &binding : variant.bindings) // the history of an input is outside
      if (binding.input) {
        clean_.insert(binding.input.node.get());
        writes_.emplace(binding.input.node.get(), binding.writes());
      }
  }

  /// Whether a gradient of the value would meet an operation whose history is used up.
  bool reaches(const Ref &value) {
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

  /// Of a value that reaches such operations: their values, at which a gradient would meet them, and the
  /// operations through which it gets there or elsewhere. Empty if it gets nowhere else, if a call would have
  /// to keep what it writes for them, and if a gradient in the function needs one of the operations as they
  /// are.
  struct Front {
    std::vector<Ref> values;
    std::unordered_set<const Node *> users;
  };
  Front frontOf(const Ref &value) const {
    Front front;
    bool leadsOn = false, isNeeded = false;
    walkHistory(value, [&](const Ref &ref, std::vector<Ref> &stack) {
      if (trace_.isSpent(*ref.node)) {
        front.values.push_back(ref);
        return true;
      }
      leadsOn |= ref.node->kind == NodeKind::input || ref.node->isGradLeaf(ref.result);
      if (ref.node->kind == NodeKind::input || leaves_.bindingOf(ref))
        return true;
      isNeeded =
          trace_.isPassed(*ref.node) || std::string_view(ref.node->name) == "gradient" || hasSpentRule(ref);
      front.users.insert(ref.node.get());
      pushRead(ref, stack);
      return !isNeeded;
    });
    return leadsOn && !isNeeded && !readsWritten(value, front) ? front : Front();
  }

private:
  /// Whether a call that records the operations of the front again would keep a value of what it writes. Goes
  /// where operationsOf() does, to values that require no gradient, too.
  bool readsWritten(const Ref &value, const Front &front) const {
    const RefSet parts(front.values.begin(), front.values.end());
    std::unordered_set<const Node *> seen;
    std::vector<Ref> stack{value};
    while (!stack.empty()) {
      const Ref ref = std::move(stack.back());
      stack.pop_back();
      const Node &node = *ref.node;
      const auto leaf = leaves_.bindingOf(ref);
      if (const auto input = writes_.find(&node);
          (leaf && leaves_.isWritten(*leaf)) || (input != writes_.end() && input->second))
        return true;
      if (node.kind == NodeKind::leaf || node.kind == NodeKind::input || !seen.insert(&node).second)
        continue;
      std::ranges::copy_if(node.operands, std::back_inserter(stack), [&](const Ref &operand) {
        return !front.users.contains(&node) || !parts.contains(operand);
      });
      for (const auto &accumulator : node.accumulators)
        if (accumulator)
          for (Ref &read : readBy(*accumulator))
            stack.push_back(std::move(read));
    }
    return false;
  }
  /// Whether a gradient gets to such an operation by hooks or a rule.
  bool hasSpentRule(const Ref &value) const {
    const GradAccumulator *accumulator = value.node->accumulator(value.result);
    return accumulator && std::ranges::any_of(readBy(*accumulator),
                                              [&](const Ref &read) { return trace_.isSpent(*read.node); });
  }
  /// The results of a node with several share its operands. A rule or hooks are those of one result, to whose
  /// operands no other gradient flows.
  static void pushRead(const Ref &value, std::vector<Ref> &stack) {
    for (uint32_t i = 0; i < value.node->results.size(); ++i)
      if (const GradAccumulator *accumulator = value.node->accumulator(i))
        for (Ref &read : readBy(*accumulator))
          stack.push_back(std::move(read));
    if (value.node->requiresGrad)
      stack.insert(stack.end(), value.node->operands.begin(), value.node->operands.end());
  }

  const Trace &trace_;
  const ComputedLeaves &leaves_;
  std::unordered_map<const Node *, bool> writes_; ///< of each input: whether a call writes what it stands for
  std::unordered_set<const Node *> clean_;        ///< nodes from which none is reached
};

/// Finds where a gradient of a value would get to.
class WaysOf {
public:
  WaysOf(const Variant &variant, const ComputedLeaves &leaves) : leaves_(leaves) {
    for (size_t i = 0; i < variant.bindings.size(); ++i)
      if (const Ref &input = variant.bindings[i].input)
        inputs_.emplace(input.node.get(), i);
  }

  /// The bindings at whose values its history begins, in order; adds the operations on the way to `through`.
  std::vector<size_t> operator()(const Ref &value, std::unordered_set<const Node *> &through) const {
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

private:
  std::optional<size_t> bindingOf(const Ref &value) const {
    if (const auto computed = leaves_.bindingOf(value))
      return computed;
    const auto input = inputs_.find(value.node.get());
    return input == inputs_.end() ? std::nullopt : std::optional(input->second);
  }

  const ComputedLeaves &leaves_;
  std::unordered_map<const Node *, size_t> inputs_;
};

} // namespace

//===----------------------------------------------------------------------===//
// Histories that are kept
//===----------------------------------------------------------------------===//

namespace {

/// Where operations find values whose history is used up, if a gradient through them must not go on there.
class PartPlaces {
public:
  PartPlaces(const Variant &variant, std::unordered_set<const Node *> users) : users_(std::move(users)) {
    for (const Variant::SpentPart &part : variant.spentParts)
      places_.emplace(part.value, 2 * variant.bindings.size() + places_.size());
  }
  std::optional<size_t> of(const Node &user, const Ref &operand) const {
    const auto found = users_.contains(&user) ? places_.find(operand) : places_.end();
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

private:
  std::unordered_set<const Node *> users_;
  std::unordered_map<Ref, size_t, RefHash> places_;
};

} // namespace

/// The operations that the roots depend on, and those that rules of their gradients read, operands first.
/// Notes which values they read of leaves that the function computed.
static std::vector<Node *> operationsOf(Variant &variant, const ComputedLeaves &leaves,
                                        const PartPlaces &parts) {
  std::vector<bool> isRead(variant.bindings.size());
  std::unordered_set<const Node *> seen;
  for (const Binding &binding : variant.bindings)
    if (binding.input)
      seen.insert(binding.input.node.get());
  RefSet passing;
  std::vector<Node *> nodes;
  std::vector<Ref> stack = variant.roots;
  while (!stack.empty()) {
    const Ref ref = std::move(stack.back());
    stack.pop_back();
    if (const auto binding = leaves.bindingOf(ref)) {
      if (leaves.isLast(ref, *binding)) {
        isRead[*binding] = true;
        continue;
      }
      if (passing.insert(ref).second)
        variant.passingValues.push_back({ref.node.get(), ref.result, *binding});
    }
    Node *node = ref.node.get();
    if (node->kind == NodeKind::leaf || node->kind == NodeKind::input || !seen.insert(node).second)
      continue;
    nodes.push_back(node);
    std::ranges::copy_if(node->operands, std::back_inserter(stack),
                         [&](const Ref &operand) { return !parts.of(*node, operand); });
    for (const auto &accumulator : node->accumulators)
      if (accumulator)
        for (Ref &read : readBy(*accumulator))
          stack.push_back(std::move(read));
  }
  std::ranges::sort(nodes, {}, &Node::serial);
  for (size_t i = 0; i < isRead.size(); ++i)
    if (variant.bindings[i].requiresGrad && !isRead[i])
      variant.bindings[i].written = {};
  return nodes;
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

/// The place of a value in a replay; none for one that it does not have.
static std::optional<size_t> placeOf(const ReplayPlaces &places, const Ref &value) {
  if (const auto given = places.given.find(value); given != places.given.end())
    return given->second;
  const auto operation = places.operations.find(value.node.get()); // there is none for no node, too
  return operation == places.operations.end() ? std::nullopt : std::optional(operation->second);
}

/// Decides where a replay finds its values, and which of its operations depend on no call.
static void notePlaces(Variant &variant, const PartPlaces &parts) {
  ReplayPlaces &places = variant.places;
  for (size_t i = 0; i < variant.bindings.size(); ++i) {
    const Binding &binding = variant.bindings[i];
    if (binding.input)
      places.given.emplace(binding.input, 2 * i);
    if (binding.requiresGrad && binding.written)
      places.given.emplace(binding.written, 2 * i + 1);
  }
  places.operationsFrom = 2 * variant.bindings.size() + variant.spentParts.size();
  for (const Node *node : variant.nodes) {
    for (const Ref &operand : node->operands)
      places.operands.push_back(parts.of(*node, operand) ? *parts.of(*node, operand)
                                                         : placeOf(places, operand).value());
    places.operations.emplace(node, places.operationsFrom + places.operations.size());
    const bool isConstant = node->kind == NodeKind::constant || node->kind == NodeKind::number;
    places.shared.push_back(isConstant && variant.symbols.empty() && node->accumulators.empty() &&
                                    node->watches.empty()
                                ? copyOf(*node, {})
                                : nullptr);
  }
}

namespace {

/// Decides which values keep their history.
class Histories {
public:
  Histories(const Variant &variant, const Trace &trace, const ComputedLeaves &leaves)
      : trace_(trace), leaves_(leaves), spent_(variant, trace, leaves), waysOf_(variant, leaves) {}

  /// Whether a gradient flows through a value, which may be null.
  bool keeps(const Ref &value) {
    const bool isKept = mayKeep(value) && !spent_.reaches(value);
    if (isKept)
      roots.push_back(value);
    return isKept;
  }
  /// The same of a result. Of one that was computed from a value whose history is used up and from another
  /// one, too, the history is kept up to the former. State, as a sum of losses, would keep that of every
  /// call.
  bool keepsResult(const Ref &value) {
    if (keeps(value))
      return true;
    const SpentOperations::Front front = mayKeep(value) ? spent_.frontOf(value) : SpentOperations::Front();
    for (const Ref &part : front.values)
      if (std::ranges::find(parts, part, &Variant::SpentPart::value) == parts.end())
        parts.push_back({part, waysOf(part)});
    partUsers.insert(front.users.begin(), front.users.end());
    if (!front.values.empty())
      roots.push_back(value);
    return !front.values.empty();
  }
  /// Where the history of a value that keeps none begins. What `backward()` itself went through requires no
  /// gradient outside.
  SpentFrom spentFrom(const Ref &value) {
    if (!value || !value.requiresGrad() || value.node->isGradLeaf(value.result) ||
        trace_.isSpentByBackward(*value.node))
      return std::nullopt;
    return waysOf(value);
  }
  /// Makes the value of a tensor that the call leaves null if it keeps no history.
  void keep(Ref &value, SpentFrom &spent) {
    if (keeps(value))
      return;
    spent = spentFrom(value);
    value = {};
  }

  /// Whether those that are used up lead to a result that the function made a leaf.
  bool leadToLeafOf(const std::vector<Ref> &results) const {
    return std::ranges::any_of(results, [&](const Ref &result) {
      return result.node->isGradLeaf(result.result) && throughPlaces_.contains(result.node.get());
    });
  }

  std::vector<Ref> roots;                     ///< the values that keep theirs
  std::vector<Variant::SpentPart> parts;      ///< up to which they do
  std::unordered_set<const Node *> partUsers; ///< through which they get there
  std::set<size_t> spentBindings;             ///< where the histories of the others begin
  std::vector<const Node *> spentThrough;     ///< and the operations that these go through

private:
  SpentWays waysOf(const Ref &value) {
    std::unordered_set<const Node *> through;
    SpentWays ways{waysOf_(value, through), {}};
    spentBindings.insert(ways.bindings.begin(), ways.bindings.end());
    for (const Node *node : through) {
      const auto [place, isNew] = throughPlaces_.emplace(node, spentThrough.size());
      if (isNew)
        spentThrough.push_back(node);
      ways.through.push_back(place->second);
    }
    return ways;
  }
  /// A leaf that the function made is none outside.
  bool mayKeep(const Ref &value) const {
    return value && value.requiresGrad() &&
           (value.node->kind == NodeKind::input || !value.node->isGradLeaf(value.result) ||
            leaves_.bindingOf(value));
  }

  const Trace &trace_;
  const ComputedLeaves &leaves_;
  SpentOperations spent_;
  const WaysOf waysOf_;
  std::unordered_map<const Node *, size_t> throughPlaces_;
};

} // namespace

/// Of the operations that histories go through which are used up, keeps those whose values the program gets
/// hold of with a history of their own.
static void noteThrough(Variant &variant, const std::vector<const Node *> &operations) {
  std::unordered_set<const Node *> left;
  for (const Ref &root : variant.roots)
    left.insert(root.node.get());
  std::vector<std::optional<size_t>> places;
  for (const Node *node : operations) {
    const bool isLeft = left.contains(node) && variant.places.operations.contains(node);
    places.push_back(isLeft ? std::optional(variant.spentThrough.size()) : std::nullopt);
    if (isLeft)
      variant.spentThrough.push_back(node);
  }
  const auto renumber = [&](SpentFrom &from) {
    if (!from)
      return;
    std::vector<size_t> through;
    for (const size_t i : from->through)
      if (places[i])
        through.push_back(*places[i]);
    from->through = std::move(through);
  };
  std::ranges::for_each(variant.resultSpent, renumber);
  for (Binding &binding : variant.bindings) {
    renumber(binding.writtenSpent);
    renumber(binding.leftSpent);
  }
  for (Variant::ResultGradient &gradient : variant.resultGradients)
    renumber(gradient.spent);
  for (Variant::SpentPart &part : variant.spentParts)
    renumber(part.from);
}

void keepHistories(Variant &variant, const std::vector<Ref> &results, const Trace &trace) {
  const ComputedLeaves leaves(variant);
  Histories histories(variant, trace, leaves);
  for (const Ref &result : results) {
    const bool isKept = histories.keepsResult(result);
    variant.resultRefs.push_back(isKept ? result : Ref());
    variant.resultSpent.push_back(isKept ? std::nullopt : histories.spentFrom(result));
  }
  for (Binding &binding : variant.bindings) {
    if (!binding.requiresGrad)
      histories.keep(binding.written, binding.writtenSpent);
    histories.keep(binding.leftGradient, binding.leftSpent);
    if (!histories.keeps(binding.reread))
      binding.reread = {};
  }
  for (Variant::ResultGradient &gradient : variant.resultGradients)
    histories.keep(gradient.value, gradient.spent);
  variant.spentParts = std::move(histories.parts);
  std::ranges::sort(variant.spentParts, {},
                    [](const Variant::SpentPart &part) { return part.value.node->serial; });
  variant.spentBindings.assign(histories.spentBindings.begin(), histories.spentBindings.end());
  std::vector<Ref> &roots = histories.roots;
  variant.differentiable =
      !roots.empty() || (trace.unknownRules().empty() && histories.leadToLeafOf(results));
  if (variant.differentiable)
    for (size_t i = 0; i < results.size(); ++i)
      if (variant.resultIsLeaf[i]) // other results may depend on it
        roots.push_back(variant.resultRefs[i] = results[i]);
  if (!trace.unknownRules().empty() && variant.differentiable) {
    const Trace::UnknownRule &rule = trace.unknownRules().front();
    fail(rule.what +
             " in a compiled function for one of its arguments, whose gradient is computed outside "
             "(WEFT-G005): " +
             rule.remedy,
         rule.loc, {}, "WEFT-G005");
  }
  // Without what is computed for effects alone, which nothing would keep alive.
  variant.roots = std::move(roots);
  const PartPlaces parts(variant, std::move(histories.partUsers));
  variant.nodes = operationsOf(variant, leaves, parts);
  noteLeaves(variant, results, trace);
  notePlaces(variant, parts);
  noteThrough(variant, histories.spentThrough);
  if (!variant.differentiable)
    for (Binding &binding : variant.bindings)
      binding.input = {};
}

/// The accumulator of a slot that is a leaf; null if only the function made it one.
static std::shared_ptr<GradAccumulator> collectorOf(Slot &slot) {
  const Ref &value = slot.value();
  return slot.requiresGrad ? value.node->accumulators[value.result] : nullptr;
}

/// A value that a call is going to write to a leaf.
static Ref leafToWrite(const Binding &binding, Slot &slot, const SizeValues &sizes) {
  Ref value = leaf(concrete(binding.freshSpec, sizes), nullptr, slot.loc);
  value.node->accumulators = {collectorOf(slot)};
  return value;
}

/// Gives each tensor that a call leaves a value of its own: the hooks of one are not those of another, nor
/// those of a view that the function read, and what has the value of a leaf is none.
static void separate(Replay &made, const Variant &variant, const std::vector<Ref> &given) {
  std::unordered_map<Ref, int, RefHash> uses;
  for (size_t i = 0; i < variant.bindings.size(); ++i)
    if (const Binding &binding = variant.bindings[i]; binding.isWatched && binding.input)
      ++uses[given[2 * i]];
  std::vector<Ref *> values;
  for (size_t i = 0; i < made.results.size(); ++i)
    if (!variant.resultIsLeaf[i])
      values.push_back(&made.results[i]);
  for (size_t i = 0; i < made.written.size(); ++i)
    if (!variant.bindings[i].requiresGrad)
      values.push_back(&made.written[i]);
  for (std::vector<Ref> *list : {&made.resultGradients, &made.gradients})
    for (Ref &value : *list)
      values.push_back(&value);
  std::erase_if(values, [](const Ref *value) { return !*value; });
  for (const Ref *value : values)
    ++uses[*value];
  for (Ref *value : values)
    if (uses[*value] > 1 || value->node->isGradLeaf(value->result))
      *value = sameValue(*value, value->node->loc);
}

/// An attribute with the sizes of a call. The functions that a node runs are text, which has sizes too.
static Attr atSizes(const Node &node, Attr attr, const SizeValues &sizes) {
  if (!isBodyAttr(node.name, attr.name))
    return concrete(std::move(attr), sizes);
  Expected<std::string> text = textWithSizes(std::get<std::string>(attr.value), sizes);
  if (!text)
    fail(text.status(), node.loc);
  return {attr.name, *std::move(text)};
}

/// Gives an operation the sizes of a call.
static void makeConcrete(Node &node, const SizeValues &sizes) {
  for (Attr &attr : node.attrs)
    attr = atSizes(node, std::move(attr), sizes);
  for (NodeResult &result : node.results)
    result.spec = concrete(result.spec, sizes);
}

/// Makes what stands for the parts that are older than an operation, after what these were computed from: a
/// gradient with respect to that does not look at what is older.
static void addPartsBefore(const Node &node, const Variant &variant, const SizeValues &sizes, Replay &made,
                           std::vector<Ref> &values) {
  for (size_t i = made.spentParts.size(); i < variant.spentParts.size(); ++i) {
    const Ref &part = variant.spentParts[i].value;
    if (part.node->serial > node.serial)
      return;
    made.spentParts.push_back(leaf(concrete(part.spec(), sizes), nullptr, part.node->loc));
    values[2 * variant.bindings.size() + i] = made.spentParts.back();
  }
}

Replay replay(const Variant &variant, const std::vector<std::shared_ptr<Slot>> &bound,
              const SizeValues &sizes) {
  const ReplayPlaces &places = variant.places;
  std::vector<Ref> values(places.operationsFrom); // the first result of an operation stands for all
  values.reserve(values.size() + variant.nodes.size());
  for (size_t i = 0; i < bound.size(); ++i) {
    const Binding &binding = variant.bindings[i];
    if (binding.input)
      values[2 * i] = bound[i]->value();
    if (binding.requiresGrad && binding.written)
      values[2 * i + 1] = leafToWrite(binding, *bound[i], sizes);
  }
  Replay result;
  const auto at = [&](size_t place, uint32_t result) {
    return place < places.operationsFrom ? values[place] : Ref{values[place].node, result};
  };
  const auto mapped = [&](const Ref &ref) -> Ref {
    const auto place = placeOf(places, ref);
    return place && *place < values.size() ? at(*place, ref.result) : Ref();
  };
  BoundaryCopies boundaries(mapped, [&](const Spec &spec) { return concrete(spec, sizes); });
  auto place = places.operands.begin();
  for (size_t n = 0; n < variant.nodes.size(); ++n) {
    const Node *node = variant.nodes[n];
    addPartsBefore(*node, variant, sizes, result, values);
    if (places.shared[n]) {
      values.push_back({places.shared[n], 0});
      continue;
    }
    std::vector<Ref> operands;
    operands.reserve(node->operands.size());
    for (const Ref &operand : node->operands)
      operands.push_back(at(*place++, operand.result));
    std::shared_ptr<Node> copy = copyOf(*node, std::move(operands));
    if (!sizes.empty())
      makeConcrete(*copy, sizes);
    boundaries.copy(*node, *copy);
    if (!variant.innerLeaves.empty() && variant.innerLeaves.contains(node)) {
      copy->accumulators.resize(node->results.size());
      for (size_t i = 0; i < node->accumulators.size(); ++i)
        if (node->accumulators[i] && node->accumulators[i]->isLeaf())
          copy->accumulators[i] = std::make_shared<GradAccumulator>();
    }
    values.push_back({std::move(copy), 0});
  }
  for (const Variant::LeafValue &value : variant.passingValues) {
    Node &copy = *values[places.operations.at(value.node)].node;
    copy.accumulators.resize(copy.results.size());
    copy.accumulators[value.result] = collectorOf(*bound[value.binding]);
  }
  for (const Node *node : variant.spentThrough)
    result.spentThrough.push_back(values[places.operations.at(node)].node);
  for (const Ref &ref : variant.resultRefs)
    result.results.push_back(mapped(ref));
  for (const Variant::ResultGradient &gradient : variant.resultGradients)
    result.resultGradients.push_back(gradient.value ? mapped(gradient.value) : Ref());
  for (const Binding &binding : variant.bindings) {
    result.written.push_back(mapped(binding.written));
    result.gradients.push_back(mapped(binding.leftGradient));
    result.reread.push_back(mapped(binding.reread));
  }
  separate(result, variant, values);
  return result;
}

} // namespace weft::frontend
