//===- WatchedView.cpp - Views whose gradient the program watches -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/WatchedView.h"

#include "frontend/graph/GradBoundary.h"
#include "frontend/graph/GradHooks.h"
#include "frontend/graph/Record.h"
#include "frontend/graph/Recording.h"
#include "frontend/graph/Slot.h"

#include <algorithm>

namespace weft::frontend {

/// Whether an operation is one of those that the map of a view records. Its other operands are places.
static bool isViewOperation(const Node &node) {
  static constexpr std::string_view names[] = {"reshape", "transpose", "slice", "dynamic_slice",
                                               "broadcast_in_dim"};
  return node.kind == NodeKind::op && std::ranges::find(names, node.name) != std::end(names) &&
         std::all_of(node.operands.begin() + 1, node.operands.end(), [](const Ref &place) {
           return place.node->kind == NodeKind::number || place.node->kind == NodeKind::constant;
         });
}

static bool isRetained(const Ref &value) {
  const GradWatch *watch = value.node->watch(value.result);
  return watch &&
         std::ranges::any_of(watch->retained, [](const auto &each) { return !each->slot.expired(); });
}

ViewPath::ViewPath(const View &view, const Ref &value, const Ref &base) {
  Ref at = value;
  while (at != base) {
    const GradAccumulator *accumulator = at.node->accumulator(at.result);
    const bool isHooked = accumulator && accumulator->inner;
    if (!isHooked && (accumulator || !at.requiresGrad() || !isViewOperation(*at.node))) {
      isWhole_ = accumulator && accumulator->isLeaf() && accumulator->slot.lock() == view.source;
      return;
    }
    values_.push_back(at);
    isWatched_ |= isHooked || isRetained(at);
    at = isHooked ? *accumulator->inner : Ref(at.node->operands[0]);
  }
  isWhole_ = true;
}

std::vector<std::shared_ptr<Slot>> ViewPath::retaining() const {
  std::vector<std::shared_ptr<Slot>> slots;
  for (const Ref &value : values_)
    if (const GradWatch *watch = value.node->watch(value.result))
      for (const auto &each : watch->retained)
        if (auto slot = each->slot.lock())
          slots.push_back(std::move(slot));
  return slots;
}

/// The operation of a view on another operand. Places that are numbers become attributes, as
/// `ViewStep::apply` records them in a trace.
static Ref onOperand(const Node &node, Ref operand) {
  const GradMode mode(node.requiresGrad);
  if (std::string_view(node.name) != "dynamic_slice")
    return record1(node.name, {std::move(operand)}, node.attrs, node.loc);
  std::vector<int64_t> start, limit;
  const Shape &shape = node.results[0].spec.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    start.push_back(static_cast<int64_t>(node.operands[d + 1].node->number));
    limit.push_back(start[d] + shape[d]);
  }
  const std::vector<int64_t> ones(shape.size(), 1);
  return record1("slice", {std::move(operand)}, {{"start", start}, {"limit", limit}, {"step", ones}},
                 node.loc);
}

Ref copyPath(const ViewPath &path, Ref source, std::vector<std::pair<Ref, Ref>> &copies) {
  const auto copyOf = [&](const Ref &value) {
    const auto known = std::ranges::find(copies, value, &std::pair<Ref, Ref>::first);
    return known == copies.end() ? Ref() : known->second;
  };
  Ref last = std::move(source);
  for (const Ref &value : path.values()) {
    Ref copy = copyOf(value);
    if (!copy) {
      copy = onOperand(*value.node, last);
      // The value through which the gradient of one with hooks goes on is the one before it.
      BoundaryCopies([&last](const Ref &) { return last; }).copy(*value.node, *copy.node);
      copies.emplace_back(value, copy);
    }
    last = std::move(copy);
  }
  return last;
}

bool isWatched(Slot &view) {
  const Ref value = view.value();
  return ViewPath(*view.view(), value, view.view()->base->value()).isWatched();
}

} // namespace weft::frontend
