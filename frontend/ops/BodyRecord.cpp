//===- BodyRecord.cpp - Functions that a graph has as operations ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/BodyRecord.h"

#include "frontend/graph/Message.h"
#include "frontend/graph/OpDefinitions.h"
#include "frontend/graph/Record.h"
#include "frontend/ops/Handle.h"

#include <algorithm>

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

void BodyRecord::checkDerivative(const Node &node) const {
  const auto &rule = trace_->unknownRule();
  if (node.requiresGrad && rule)
    fail(rule->what + " in " + words_.name +
             ", whose derivative is made without it (WEFT-G005): " + rule->remedy,
         rule->loc, {}, "WEFT-G005");
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

/// Collects the operations, and which tensors from outside they read.
void BodyRecord::collectNodes() {
  nodes_.clear();
  captured_.clear();
  std::vector<Ref> leaves;
  collect(results_, /*numbersAreConstants=*/true, nodes_, leaves);
  for (const Trace::Capture &captured : trace_->captures())
    if (std::find(leaves.begin(), leaves.end(), captured.input) != leaves.end())
      captured_.push_back(captured.slot);
}

const Node *BodyRecord::fallible() const {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [](const Node *node) { return frontend::mayFail(*node); });
  return found == nodes_.end() ? nullptr : *found;
}

std::string BodyRecord::text(const std::vector<std::shared_ptr<Slot>> &outer) const {
  Region region;
  region.name = "body";
  region.isBody = true;
  region.nodes = nodes_;
  if (const Trace *around = Trace::current())
    region.symbols = around->symbols;
  for (const Ref &input : inputs_)
    region.arguments.push_back({input, ""});
  for (const std::shared_ptr<Slot> &slot : outer) {
    const auto &captures = trace_->captures();
    const auto own = std::find_if(captures.begin(), captures.end(),
                                  [&](const Trace::Capture &capture) { return capture.slot == slot; });
    // What it does not read needs a type only.
    region.arguments.push_back({own != captures.end() ? own->input : useSlot(slot, loc_), ""});
  }
  for (const Ref &result : results_)
    region.results.push_back({result, ""});
  Expected<std::string> text = textOfBody(region);
  if (!text)
    fail(text.status(), loc_);
  return *std::move(text);
}

std::vector<std::shared_ptr<Slot>> allCaptured(std::initializer_list<const BodyRecord *> bodies) {
  std::vector<std::shared_ptr<Slot>> all;
  for (const BodyRecord *body : bodies)
    for (const std::shared_ptr<Slot> &slot : body->captured())
      if (std::find(all.begin(), all.end(), slot) == all.end())
        all.push_back(slot);
  return all;
}

} // namespace weft::frontend
