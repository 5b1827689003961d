//===- Recompute.cpp - Activations that are computed again ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/recompute.hpp"

#include "frontend/graph/GradBoundary.h"
#include "frontend/graph/History.h"
#include "frontend/graph/Record.h"
#include "frontend/graph/Region.h"
#include "frontend/graph/Symbols.h"
#include "frontend/graph/Trace.h"
#include "frontend/ops/Ops.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace weft {

using namespace frontend;

namespace {

using Nodes = std::vector<std::shared_ptr<Node>>;

/// Whether a value belongs to the outside of a function that is recorded again, whenever it was made.
bool isFixed(const Ref &value) {
  return value.node->kind != NodeKind::op || value.node->isGradLeaf(value.result);
}

/// The nodes recorded since `begin` that values depend on, operands first.
Nodes nodesSince(uint64_t begin, const std::vector<Ref> &values) {
  Nodes nodes;
  std::unordered_set<const Node *> seen;
  std::vector<Ref> stack = values;
  while (!stack.empty()) {
    const Ref ref = std::move(stack.back());
    stack.pop_back();
    if (ref.node->serial < begin || isFixed(ref) || !seen.insert(ref.node.get()).second)
      continue;
    nodes.push_back(ref.node);
    stack.insert(stack.end(), ref.node->operands.begin(), ref.node->operands.end());
    for (const auto &accumulator : ref.node->accumulators)
      if (accumulator && accumulator->boundary)
        for (Ref &read : accumulator->boundary->read())
          stack.push_back(std::move(read));
  }
  std::ranges::sort(nodes, [](const auto &a, const auto &b) { return a->serial < b->serial; });
  return nodes;
}

/// A 0-dimensional value that is not known before `value` is.
Ref oneOf(const Ref &value, Loc loc) {
  const Shape &shape = value.spec().shape;
  const GradMode off(false);
  if (anySymbolic(shape)) // an element need not exist
    return use(wrap(value, loc).sum({}, false, loc), loc);
  const std::vector<int64_t> zeros(shape.size(), 0), ones(shape.size(), 1);
  const Ref first = record1("slice", {value}, {{"start", zeros}, {"limit", ones}, {"step", ones}}, loc);
  return reshapeTo(first, {}, loc);
}

/// Records nodes again, such that nothing merges them with those that were recorded before, and that they are
/// not computed before `trigger` is.
class Recorder {
public:
  Recorder(const Nodes &nodes, Ref trigger, Loc loc) : trigger_(std::move(trigger)), loc_(loc) {
    BoundaryCopies boundaries([this](const Ref &ref) { return copyOf(ref); });
    for (const auto &node : nodes) {
      std::vector<Ref> operands;
      for (const Ref &operand : node->operands)
        operands.push_back(copyOf(operand));
      std::shared_ptr<Node> made = frontend::copyOf(*node, std::move(operands));
      ++recordedNodes();
      boundaries.copy(*node, *made);
      copies_.emplace(node.get(), std::move(made));
    }
  }

  Ref copyOf(const Ref &value) {
    if (auto it = copies_.find(value.node.get()); it != copies_.end())
      return {it->second, value.result};
    // Parameters are there in any case, and what is computed from them alone may be shared.
    const NodeKind kind = value.node->kind;
    if (!trigger_ || value.spec().shape.empty() || value.node->isGradLeaf(value.result) ||
        kind == NodeKind::constant || kind == NodeKind::number)
      return value;
    Ref &entry = entries_[value];
    if (!entry)
      entry = record1("after", {value, triggerFor(value.spec())}, {}, loc_);
    return entry;
  }

private:
  Ref triggerFor(const Spec &spec) const {
    const Ref one = transferTo(convertTo(trigger_, spec.dtype, loc_), spec.device, loc_);
    return broadcastTo(one, spec.shape, loc_);
  }

  const Ref trigger_;
  const Loc loc_;
  std::unordered_map<const Node *, std::shared_ptr<Node>> copies_;
  std::unordered_map<Ref, Ref, RefHash> entries_; ///< what stands for values from outside
};

/// The operations of a function, which are recorded again where a gradient flows through its results.
class RecomputedFunction final : public GradBoundary {
public:
  RecomputedFunction(std::vector<Ref> results, Nodes nodes)
      : GradBoundary(results.size()), results_(std::move(results)), nodes_(std::move(nodes)) {}

  std::vector<Ref> below() const override {
    std::vector<Ref> values;
    std::ranges::copy_if(results_, std::back_inserter(values), [](const Ref &ref) { return bool(ref); });
    return values;
  }

  GradStart goOn(const std::vector<Ref> &, const std::vector<Ref> &gradients, bool create_graph,
                 Loc loc) override {
    const GradMode recording(true);
    Ref trigger;
    for (const Ref &gradient : gradients)
      if (gradient && !trigger && gradient.spec().count() != 0)
        trigger = oneOf(withoutHistory(gradient, loc), loc);
    Recorder again(nodes_, trigger, loc);
    WeightedRoot root(create_graph, loc);
    for (size_t i = 0; i < gradients.size(); ++i)
      if (gradients[i] && results_[i])
        root.add(again.copyOf(results_[i]), gradients[i]);
    return root.take();
  }

  std::shared_ptr<GradBoundary> copied(const RefMap &copyOf, const SpecMap &) const override {
    std::vector<Ref> results;
    Nodes nodes;
    for (const Ref &result : results_)
      results.push_back(result ? copyOf(result) : Ref());
    for (const auto &node : nodes_)
      if (const Ref copy = copyOf({node, 0}); copy && copy.node != node)
        nodes.push_back(copy.node);
    return std::make_shared<RecomputedFunction>(std::move(results), std::move(nodes));
  }

private:
  const std::vector<Ref> results_; ///< null for one that a copy does not have
  const Nodes nodes_;
};

} // namespace

uint64_t utils::detail::Recomputed::begin() { return nextSerial(); }

void utils::detail::Recomputed::take(const std::vector<Tensor> &results) const {
  GraphLock lock(graphMutex());
  const Trace *trace = Trace::current();
  if (!gradEnabled() || (trace && trace->isBody()))
    return;
  std::vector<Ref> values;
  std::vector<size_t> places;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined())
      continue;
    Ref value = use(results[i], loc_);
    // A tensor that is older than the trace keeps the value that it has outside.
    const bool isOlder = Access::slot(results[i])->trace != TraceMark(trace);
    if (!value.requiresGrad() || isFixed(value) || value.node->serial < begin_ || isOlder)
      continue;
    values.push_back(std::move(value));
    places.push_back(i);
  }
  if (values.empty())
    return;
  auto boundary = std::make_shared<RecomputedFunction>(values, nodesSince(begin_, values));
  const GradMode off(false);
  for (size_t i = 0; i < values.size(); ++i) {
    // The tensor stays the one that the function returned: without a gradient it is that, too.
    Access::slot(results[places[i]])->setValue(resultOf(values[i], boundary, i));
  }
}

//===----------------------------------------------------------------------===//
// checkpoint_sequential
//===----------------------------------------------------------------------===//

/// Calls `part(begin, end, x)` for each of the segments.
template <typename Part>
static Tensor inSegments(size_t size, int64_t segments, Tensor x, Part part, Loc loc) {
  const auto count = static_cast<int64_t>(size);
  if (segments < 1 || segments > count)
    fail("checkpoint_sequential(): expected from 1 segment to " + std::to_string(count) +
             ", one for each layer, found " + std::to_string(segments),
         loc);
  const int64_t each = count / segments;
  for (int64_t i = 0; i + 1 < segments; ++i)
    x = utils::detail::checkpointAt(
        loc, [&](const Tensor &in) { return part(i * each, (i + 1) * each, in); }, x);
  return part((segments - 1) * each, count, x);
}

Tensor utils::checkpoint_sequential(const nn::Sequential &layers, int64_t segments, const Tensor &input,
                                    Loc loc) {
  return inSegments(
      layers.size(), segments, input,
      [&](int64_t begin, int64_t end, const Tensor &x) {
        return layers.part(static_cast<size_t>(begin), static_cast<size_t>(end), x, loc);
      },
      loc);
}

Tensor utils::checkpoint_sequential(const std::vector<std::function<Tensor(const Tensor &)>> &functions,
                                    int64_t segments, const Tensor &input, Loc loc) {
  return inSegments(
      functions.size(), segments, input,
      [&](int64_t begin, int64_t end, Tensor x) {
        for (int64_t i = begin; i < end; ++i)
          x = functions[static_cast<size_t>(i)](x);
        return x;
      },
      loc);
}

} // namespace weft
