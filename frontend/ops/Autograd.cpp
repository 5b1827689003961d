//===- Autograd.cpp - Gradients ---------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/autograd.hpp"

#include "frontend/graph/History.h"
#include "frontend/graph/Notes.h"
#include "frontend/graph/Region.h"
#include "frontend/graph/Trace.h"
#include "frontend/ops/Ops.h"

#include <algorithm>
#include <unordered_map>

namespace weft {

using namespace frontend;

NoGradGuard::NoGradGuard() : previous_(gradEnabled()) { gradEnabled() = false; }
NoGradGuard::~NoGradGuard() { gradEnabled() = previous_; }

/// The value that a gradient is taken of, as a 0-dimensional value. Throws Error if it has several elements
/// or no history.
static Ref differentiable(const Tensor &output, Loc loc) {
  if (Trace *trace = Trace::current())
    trace->noteBackward();
  Ref root = use(output, loc);
  if (root.spec().count() != 1)
    fail("grad can be implicitly created only for scalar outputs: this tensor has shape " +
             shapeText(root.spec().shape) + "; take .sum() or .mean() first",
         loc, {root});
  if (!root.requiresGrad())
    fail("element 0 of tensors does not require grad and does not have a grad_fn: no parameter that requires "
         "a gradient took part in it, gradients were off, or it was computed from a gradient (second "
         "derivatives are not recorded)",
         loc, {root});
  return reshapeTo(root, {}, loc);
}

/// Calls `visit` once for each value that a gradient reaches from `root`, as far as the leaves. Nodes older
/// than `oldest` are skipped; operands are older than their users.
template <typename Visit> static void walkBack(const Ref &root, uint64_t oldest, Visit visit) {
  RefSet seen;
  std::vector<Ref> stack{root};
  while (!stack.empty()) {
    Ref ref = std::move(stack.back());
    stack.pop_back();
    if (ref.node->serial < oldest || !seen.insert(ref).second)
      continue;
    visit(ref);
    if (ref.node->accumulator(ref.result))
      continue;
    for (const Ref &operand : ref.node->operands)
      if (operand.requiresGrad())
        stack.push_back(operand);
  }
}

/// Throws the error about a gradient that would flow to `value`, which was computed outside of the function
/// that is being traced.
[[noreturn]] static void failFlowsOut(const Ref &value, Loc loc) {
  fail("the gradient would flow out of the compiled function, into a tensor that was computed before it "
       "(WEFT-G003): compute it inside the function, call backward() outside of it, or use detach()\n"
       "  made at " +
           str(value.node->loc),
       loc, {}, "WEFT-G003");
}

/// Records the gradients of `root` with respect to `inputs`. The gradients themselves pass no gradient on.
static std::shared_ptr<Node> gradientOf(const Ref &root, const std::vector<Ref> &inputs, Loc loc) {
  std::vector<Ref> operands{root};
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  NoGradGuard guard;
  return record("gradient", std::move(operands), {}, loc);
}

static bool isOlder(const Ref &a, const Ref &b) {
  return std::pair(a.node->serial, a.result) < std::pair(b.node->serial, b.result);
}

void Tensor::backward(Loc loc) const {
  GraphLock lock(graphMutex());
  Ref root = differentiable(*this, loc);
  // The leaves that the value depends on, and the nodes between.
  std::vector<Ref> leaves;
  std::vector<const Node *> nodes;
  walkBack(root, 0, [&](const Ref &ref) {
    if (ref.node->accumulator(ref.result))
      leaves.push_back(ref);
    else if (ref.node->kind == NodeKind::input)
      failFlowsOut(ref, loc);
    else
      nodes.push_back(ref.node.get());
  });
  if (leaves.empty())
    fail("this tensor was computed from none that collects a gradient: requires_grad_() was called inside a "
         "compiled function, on a tensor of its trace; call it before, on a tensor that you keep",
         loc, {root});
  std::erase_if(leaves, [](const Ref &ref) { return !ref.node->accumulator(ref.result)->isSeen(); });
  if (leaves.empty()) // all leaves are gone or no longer require a gradient, so nothing can read one
    return;
  // Sorted by use, not by age: after an optimiser's step a parameter is younger than a leaf that the step
  // does not update, and the program should be the same.
  std::sort(nodes.begin(), nodes.end(), [](auto *a, auto *b) { return a->serial < b->serial; });
  sortByUse(nodes, leaves);
  std::shared_ptr<Node> gradient = gradientOf(root, leaves, loc);
  NoGradGuard guard;
  for (uint32_t i = 0; i < leaves.size(); ++i) {
    const auto &accumulator = leaves[i].node->accumulators[leaves[i].result];
    Ref value{gradient, i};
    if (const auto owner = accumulator->slot.lock()) {
      if (Trace *trace = Trace::current())
        trace->seeGrad(owner);
      noteGradient(owner);
    }
    if (const auto sum = accumulator->gradient()) {
      const Ref before = useSlot(sum, loc);
      assign(sum, keepHistory(before, record1("add", {before, value}, {}, loc), loc));
    } else if (const auto slot = accumulator->slot.lock()) {
      Tensor made = wrap(value, slot->loc);
      slot->grad = Access::slot(made);
      slot->grad->gradOf = accumulator;
      slot->grad->name = slot->name + ".grad";
    }
  }
}

void Tensor::backward(const Tensor &gradient, Loc loc) const {
  GraphLock lock(graphMutex());
  if (gradient.sizes(loc) != sizes(loc))
    fail("Mismatch in shape: grad_output has a shape of " + shapeText(gradient.sizes(loc)) +
             " and the tensor has a shape of " + shapeText(sizes(loc)),
         loc, {use(*this, loc), use(gradient, loc)});
  Tensor weights = gradient.detach(loc).to(dtype(loc), loc);
  weft::mul({*this, loc}, {weights, loc}).sum({}, false, loc).backward(loc);
}

std::vector<Tensor> grad(const Tensor &output, const std::vector<Tensor> &inputs, Loc loc) {
  GraphLock lock(graphMutex());
  if (inputs.empty())
    return {};
  Ref root = differentiable(output, loc);
  std::vector<Ref> values;
  uint64_t oldest = UINT64_MAX;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Ref value = use(inputs[i], loc);
    if (!value.requiresGrad())
      fail("One of the differentiated Tensors does not require grad: input " + std::to_string(i) +
               " of grad(); call requires_grad_() on it before it is used",
           loc, {value});
    // The node of a leaf or of a value from outside is as old as its first use, and bounds nothing.
    bool isAnyAge = value.node->accumulator(value.result) || value.node->kind == NodeKind::input;
    oldest = isAnyAge ? 0 : std::min(oldest, value.node->serial);
    values.push_back(std::move(value));
  }
  // A leaf may have had several nodes, because computing or writing it gives it another one.
  std::unordered_map<const GradAccumulator *, std::vector<Ref>> leaves;
  RefSet computed;
  Ref outside; // the first value from outside of the trace, if any, to which the trace cannot follow a
               // gradient
  walkBack(root, oldest, [&](const Ref &ref) {
    if (const auto *accumulator = ref.node->accumulator(ref.result)) {
      leaves[accumulator].push_back(ref);
      return;
    }
    computed.insert(ref);
    if (ref.node->kind == NodeKind::input && (!outside || isOlder(ref, outside)))
      outside = ref;
  });
  std::vector<Ref> wanted;
  std::vector<size_t> ends; // where the part of each input ends in `wanted`
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Ref &value = values[i];
    if (const auto *accumulator = value.node->accumulator(value.result)) {
      auto &held = leaves[accumulator];
      std::sort(held.begin(), held.end(), isOlder);
      wanted.insert(wanted.end(), held.begin(), held.end());
    } else if (computed.contains(value)) {
      wanted.push_back(value);
    }
    if (wanted.size() == (ends.empty() ? 0 : ends.back())) {
      // A value from outside may depend on the input there.
      if (outside)
        failFlowsOut(outside, loc);
      fail("One of the differentiated Tensors appears to not have been used in the graph: input " +
               std::to_string(i) + " of grad()",
           loc, {value});
    }
    ends.push_back(wanted.size());
  }
  std::shared_ptr<Node> gradient = gradientOf(root, wanted, loc);
  NoGradGuard guard;
  std::vector<Tensor> results;
  uint32_t next = 0;
  for (size_t end : ends) {
    Ref sum{gradient, next++};
    while (next < end)
      sum = record1("add", {sum, {gradient, next++}}, {}, loc);
    results.push_back(wrap(std::move(sum), loc));
  }
  return results;
}

} // namespace weft
