//===- SpentHistories.cpp - What a used-up history led to ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiled/SpentHistories.h"

#include "frontend/graph/Message.h"

namespace weft::frontend {

namespace {

/// Ends reverse mode at a value whose history is used up.
class SpentValue final : public GradBoundary {
public:
  using Ways = std::vector<std::shared_ptr<const LostWays>>;
  SpentValue(Ways ways, Loc loc) : GradBoundary(1), ways_(std::move(ways)), loc_(loc) {}

  std::vector<Ref> below() const override { return {}; }
  Ways lost() const override { return ways_; }
  GradStart goOn(const std::vector<Ref> &, const std::vector<Ref> &, bool, Loc loc) override {
    fail("the gradient would flow through a compiled function that has used the history of this value up: "
         "backward() or grad() in it went through what the value was computed from (WEFT-G009): give them "
         "retain_graph, detach the value, or compute the value or its gradients outside\n  value made at " +
             str(loc_),
         loc, {}, "WEFT-G009");
  }
  std::shared_ptr<GradBoundary> copied(const RefMap &, const SpecMap &) const override {
    return std::make_shared<SpentValue>(ways_, loc_);
  }

private:
  const Ways ways_;
  const Loc loc_;
};

} // namespace

/// Adds the members of `more` that are still there.
template <typename Set> static void addThere(Set &set, const Set &more) {
  for (const auto &each : more)
    if (!each.expired())
      set.insert(each);
}

static std::shared_ptr<const LostWays> waysFrom(const Ref &value) {
  auto made = std::make_shared<LostWays>();
  walkHistory(value, [&](const Ref &ref, std::vector<Ref> &stack) {
    const GradAccumulator *accumulator = ref.node->accumulator(ref.result);
    if (accumulator && accumulator->isLeaf()) {
      made->leaves.insert(ref.node->accumulators[ref.result]);
      return true;
    }
    made->computed.insert(ref.node);
    if (accumulator) {
      if (accumulator->boundary)
        for (const auto &ways : accumulator->boundary->lost()) {
          addThere(made->leaves, ways->leaves);
          addThere(made->computed, ways->computed);
        }
      for (Ref &next : below(*accumulator))
        stack.push_back(std::move(next));
    }
    stack.insert(stack.end(), ref.node->operands.begin(), ref.node->operands.end());
    return true;
  });
  return made;
}

SpentHistories::SpentHistories(const Variant &variant, const std::vector<std::shared_ptr<Slot>> &bound,
                               const Replay &recorded) {
  if (!variant.spentBindings.empty())
    ways_.resize(bound.size());
  for (const size_t i : variant.spentBindings)
    ways_[i] = waysFrom(bound[i]->value());
  for (const std::shared_ptr<Node> &node : recorded.spentThrough)
    through_.emplace_back(std::make_shared<LostWays>())->computed.insert(node);
}

void SpentHistories::addLeaves(const Replay &recorded) const {
  for (size_t i = 0; i < through_.size(); ++i)
    for (const auto &accumulator : recorded.spentThrough[i]->accumulators)
      if (accumulator && accumulator->isLeaf())
        through_[i]->leaves.insert(accumulator);
}

void SpentHistories::mark(const Ref &value, const SpentFrom &from) const {
  if (!from)
    return;
  SpentValue::Ways ways;
  for (const size_t i : from->bindings)
    ways.push_back(ways_[i]);
  for (const size_t i : from->through)
    ways.push_back(through_[i]);
  setBoundary(value, std::make_shared<SpentValue>(std::move(ways), value.node->loc), 0);
}

} // namespace weft::frontend
