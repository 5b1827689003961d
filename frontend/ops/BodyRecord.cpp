//===- BodyRecord.cpp - Functions that a graph has as operations ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/BodyRecord.h"

#include "frontend/graph/GradBoundary.h"
#include "frontend/graph/Message.h"
#include "frontend/graph/OpDefinitions.h"
#include "frontend/graph/Record.h"
#include "frontend/ops/Handle.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <unordered_map>

namespace weft::frontend {

void BodyRecord::refuseEffect(const std::string &what, Loc where) const {
  fail(std::string(words_.name) + " " + what + " at " + str(where) + " (WEFT-T001): " + words_.advice, loc_,
       {}, "WEFT-T001");
}

bool BodyRecord::record(const std::vector<Input> &inputs, const Function &function) {
  Trace *outer = Trace::current();
  Trace &trace = trace_.emplace(Trace::Kind::body);
  if (outer) {
    trace.symbols = outer->symbols;
    trace.function = outer->function;
    trace.numerics = outer->numerics;
  }
  std::vector<Tensor> tensors;
  inputs_.clear();
  {
    GraphLock lock(graphMutex());
    for (const Input &input : inputs) {
      tensors.push_back(trace.addInput(input.spec, input.loc));
      inputs_.push_back(use(tensors.back(), loc_));
    }
  }
  const std::vector<Flat> made = function(tensors);
  GraphLock lock(graphMutex());
  if (trace.isOutdated())
    return false;
  results_.clear();
  structures_.clear();
  counts_.clear();
  for (const Flat &part : made) {
    for (const Tensor &tensor : part.tensors)
      results_.push_back(use(tensor, loc_));
    structures_.push_back(part.structure);
    counts_.push_back(part.tensors.size());
  }
  // The function around it depends on the modes that the body reads, and on what else it guards.
  for (const ModeChange &mode : trace.modes())
    if (outer && mode.read)
      outer->readMode(mode.flag);
  for (const Trace::Guard &guard : trace.guards())
    if (outer)
      outer->guard(guard.unchanged, guard.change);
  if (trace.changedFlag())
    refuseEffect(std::string("sets requires_grad of a tensor that is older than ") + words_.whole, loc_);
  checkInputs(tensors);
  const std::vector<Trace::Change> changes = trace.finish();
  checkEffects(changes);
  collectNodes();
  return !isOutdated();
}

/// The tensor that an argument was outside is another one, and would not be written.
void BodyRecord::checkInputs(const std::vector<Tensor> &tensors) const {
  for (size_t i = 0; i < tensors.size(); ++i) {
    Ref value = Access::slot(tensors[i])->value();
    // A hook gives its tensor a value of its own.
    while (value.node->accumulator(value.result) && value.node->accumulator(value.result)->inner)
      value = *value.node->accumulator(value.result)->inner;
    if (value != inputs_[i])
      refuseEffect("writes its argument " + std::to_string(i), value.node->loc);
  }
}

/// The values to which a gradient of the results flows, whoever asks for it.
static RefSet reachedBy(const std::vector<Ref> &results) {
  RefSet reached;
  std::vector<Ref> stack;
  const auto add = [&](const Ref &value) {
    if (reached.insert(value).second)
      stack.push_back(value);
  };
  const auto addIfDifferentiable = [&](const Ref &value) {
    if (value.requiresGrad())
      add(value);
  };
  std::ranges::for_each(results, addIfDifferentiable);
  while (!stack.empty()) {
    const Ref value = std::move(stack.back());
    stack.pop_back();
    const GradAccumulator *accumulator = value.node->accumulator(value.result);
    if (accumulator && !accumulator->isLeaf()) {
      // The value of a rule is a copy, without a history, of what the rule is of.
      std::ranges::for_each(value.node->operands, add);
      std::ranges::for_each(below(*accumulator), addIfDifferentiable);
    }
    if (value.node->requiresGrad)
      std::ranges::for_each(value.node->operands, addIfDifferentiable);
  }
  return reached;
}

bool BodyRecord::passes(const Trace::UnknownRule &rule, RefSet inputs, size_t carries) const {
  const RefSet reached = reachedBy(results_);
  if (std::ranges::none_of(rule.above, [&](const Ref &value) { return reached.contains(value); }))
    return false;
  std::vector<Ref> roots = results_;
  roots.insert(roots.end(), rule.below.begin(), rule.below.end());
  std::vector<Node *> nodes;
  std::vector<Ref> leaves;
  collect(roots, /*numbersAreConstants=*/true, nodes, leaves);
  for (size_t before = 0; before != inputs.size();) { // until no further carry depends on the inputs
    before = inputs.size();
    std::unordered_set<const Node *> depends;
    const auto isFrom = [&](const Ref &value) { return depends.contains(value.node.get()); };
    for (const Ref &input : inputs)
      depends.insert(input.node.get());
    for (const Node *node : nodes) {
      bool isOne = node->requiresGrad && std::ranges::any_of(node->operands, isFrom);
      for (const auto &accumulator : node->accumulators)
        isOne |= accumulator && std::ranges::any_of(below(*accumulator), isFrom);
      if (isOne)
        depends.insert(node);
    }
    if (std::ranges::any_of(rule.below, isFrom))
      return true;
    for (size_t i = 0; i < carries; ++i)
      if (isFrom(results_[i]))
        inputs.insert(inputs_[i]);
  }
  return false;
}

void BodyRecord::checkDerivative(const std::shared_ptr<Node> &node, const std::vector<CapturedValue> &outer,
                                 size_t carries) const {
  if (!node->requiresGrad)
    return;
  // What stands for the last operands of the node.
  std::vector<Ref> inputs = inputs_;
  for (const CapturedValue &value : outer)
    inputs.push_back(inputOf(value));
  const size_t first = node->operands.size() - inputs.size();
  Trace *around = Trace::current();
  for (const Trace::UnknownRule &rule : trace_->unknownRules()) {
    RefSet wanted;
    std::vector<Ref> passed; // operands to which a gradient goes by the rule
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Ref &operand = node->operands[first + i];
      if (!inputs[i] || !operand.requiresGrad())
        continue;
      wanted.insert(inputs[i]);
      if (around && around->isBody() && passes(rule, {inputs[i]}, carries))
        passed.push_back(operand);
    }
    if (around && around->isBody()) {
      // Whether the inputs of that body require gradients is known where it ends.
      Trace::UnknownRule outerRule{rule.what, rule.remedy, rule.loc, {}, std::move(passed)};
      for (uint32_t i = 0; i < node->results.size(); ++i)
        outerRule.above.push_back({node, i});
      if (!outerRule.below.empty())
        around->noteUnknownRule(std::move(outerRule));
    } else if (passes(rule, wanted, carries)) {
      fail(rule.what + " in " + words_.name +
               ", whose derivative is made without it (WEFT-G005): " + rule.remedy,
           rule.loc, {}, "WEFT-G005");
    }
  }
}

void BodyRecord::checkEffects(const std::vector<Trace::Change> &changes) const {
  const Trace &trace = *trace_;
  if (!trace.effects().empty())
    refuseEffect(std::string("has the effect '") + trace.effects()[0].node->name + "'",
                 trace.effects()[0].node->loc);
  for (const Trace::Change &change : changes) {
    const TouchedSlot &touched = change.touched;
    if (touched.input && change.after != touched.input)
      refuseEffect(touched.slot->name.starts_with("rng.")
                       ? "draws random numbers"
                       : "writes " + nameOf(*touched.slot) + ", which is older than " + words_.whole + ",",
                   change.after.node->loc);
    if (change.gradAfter != touched.gradBefore || touched.gradDropped)
      refuseEffect("sets the gradient of " + nameOf(*touched.slot), touched.slot->loc);
  }
  for (const ModeChange &mode : trace.modes())
    if (mode.after)
      refuseEffect("sets the mode of a module", loc_);
  if (trace.madeState())
    refuseEffect("makes state of an optimiser", loc_);
}

Ref CapturedValue::outside(Loc loc) const {
  if (slot)
    return useSlot(slot, loc);
  std::vector<Node *> nodes;
  std::vector<Ref> leaves;
  collect({made}, /*numbersAreConstants=*/true, nodes, leaves);
  std::unordered_map<const Node *, std::shared_ptr<Node>> copies;
  const auto valueOf = [&](const Ref &ref) -> Ref {
    if (const auto copy = copies.find(ref.node.get()); copy != copies.end())
      return {copy->second, ref.result};
    const auto capture = std::ranges::find(reads, ref, &Trace::Capture::input);
    return capture == reads.end() ? ref : useSlot(capture->slot, loc);
  };
  for (const Node *node : nodes) {
    std::vector<Ref> operands;
    for (const Ref &operand : node->operands)
      operands.push_back(valueOf(operand));
    std::shared_ptr<Node> copy = copyOf(*node, std::move(operands));
    copy->requiresGrad &= gradEnabled();
    copies.emplace(node, std::move(copy));
  }
  return valueOf(made);
}

/// What stands for the value in the body; null if the body does not read it.
Ref BodyRecord::inputOf(const CapturedValue &value) const {
  if (std::find(captured_.begin(), captured_.end(), value) == captured_.end())
    return {};
  return value.made ? value.made
                    : std::ranges::find(trace_->captures(), value.slot, &Trace::Capture::slot)->input;
}

/// The transfers of what is computed of values from outside alone. What may fail, or may never end, is
/// computed in the body only.
std::unordered_set<const Node *> BodyRecord::movedFromOutside() const {
  std::unordered_set<const Node *> fromOutside, moved;
  for (const Trace::Capture &capture : trace_->captures())
    fromOutside.insert(capture.input.node.get());
  for (const Node *node : nodes_) {
    const bool runsBodies =
        std::ranges::any_of(node->attrs, [&](const Attr &attr) { return isBodyAttr(node->name, attr.name); });
    if (runsBodies || frontend::mayFail(*node) || !std::ranges::all_of(node->operands, [&](const Ref &ref) {
          return fromOutside.contains(ref.node.get());
        }))
      continue;
    fromOutside.insert(node);
    if (std::string_view(node->name) == "transfer")
      moved.insert(node);
  }
  return moved;
}

/// Collects the operations, and which values from outside they read.
void BodyRecord::collectNodes() {
  nodes_.clear();
  captured_.clear();
  std::vector<Ref> leaves;
  collect(results_, /*numbersAreConstants=*/true, nodes_, leaves);
  // Without what is computed outside.
  const std::unordered_set<const Node *> moved = movedFromOutside();
  RefSet read(results_.begin(), results_.end());
  std::unordered_set<const Node *> isRead;
  for (const Ref &result : results_)
    isRead.insert(result.node.get());
  for (const Node *node : nodes_ | std::views::reverse)
    if (isRead.contains(node) && !moved.contains(node))
      for (const Ref &operand : node->operands) {
        read.insert(operand);
        isRead.insert(operand.node.get());
      }
  std::erase_if(nodes_, [&](const Node *node) { return !isRead.contains(node) || moved.contains(node); });
  for (const Trace::Capture &capture : trace_->captures())
    if (read.contains(capture.input))
      captured_.push_back({capture.slot, {}, {}});
  std::vector<Ref> made;
  std::ranges::copy_if(read, std::back_inserter(made),
                       [&](const Ref &ref) { return moved.contains(ref.node.get()); });
  std::ranges::sort(made, {}, [](const Ref &ref) { return ref.node->serial; });
  for (const Ref &ref : made)
    captured_.push_back({{}, ref, trace_->captures()});
}

const Node *BodyRecord::fallible() const {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [](const Node *node) { return frontend::mayFail(*node); });
  return found == nodes_.end() ? nullptr : *found;
}

std::string BodyRecord::text(const std::vector<CapturedValue> &outer) const {
  Region region;
  region.name = "body";
  region.isBody = true;
  region.nodes = nodes_;
  if (const Trace *around = Trace::current())
    region.symbols = around->symbols;
  for (const Ref &input : inputs_)
    region.arguments.push_back({input, ""});
  for (const CapturedValue &value : outer) {
    const Ref own = inputOf(value);
    // What it does not read needs a type only.
    region.arguments.push_back({own ? own : value.made ? value.made : value.outside(loc_), ""});
  }
  for (const Ref &result : results_)
    region.results.push_back({result, ""});
  Expected<std::string> text = textOfBody(region);
  if (!text)
    fail(text.status(), loc_);
  return *std::move(text);
}

std::vector<CapturedValue> allCaptured(std::initializer_list<const BodyRecord *> bodies) {
  std::vector<CapturedValue> all;
  for (const BodyRecord *body : bodies)
    for (const CapturedValue &value : body->captured())
      if (std::find(all.begin(), all.end(), value) == all.end())
        all.push_back(value);
  return all;
}

} // namespace weft::frontend
