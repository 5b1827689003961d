//===- Autograd.cpp - Gradients ---------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/autograd.hpp"

#include "frontend/graph/History.h"
#include "frontend/graph/Notes.h"
#include "frontend/graph/Recording.h"
#include "frontend/graph/Region.h"
#include "frontend/graph/Trace.h"
#include "frontend/ops/Ops.h"
#include "weft/creation.hpp"

#include <algorithm>
#include <unordered_map>

namespace weft {

using namespace frontend;

NoGradGuard::NoGradGuard() : previous_(gradEnabled()) { gradEnabled() = false; }
NoGradGuard::~NoGradGuard() { gradEnabled() = previous_; }

static void checkHistory(const Ref &value, Loc loc) {
  if (!value.requiresGrad())
    fail("element 0 of tensors does not require grad and does not have a grad_fn: no parameter that requires "
         "a gradient took part in it, gradients were off, or it was computed from a gradient without "
         "create_graph",
         loc, {value});
}

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
  checkHistory(root, loc);
  return reshapeTo(root, {}, loc);
}

/// The sum of the elements of `output` times those of `weights`.
static Ref weighted(const Tensor &output, const Tensor &weights, Loc loc) {
  if (Trace *trace = Trace::current())
    trace->noteBackward();
  if (weights.sizes(loc) != output.sizes(loc))
    fail("Mismatch in shape: grad_output has a shape of " + shapeText(weights.sizes(loc)) +
             " and the tensor has a shape of " + shapeText(output.sizes(loc)),
         loc, {use(output, loc), use(weights, loc)});
  checkHistory(use(output, loc), loc);
  const Tensor factors = weights.to(output.dtype(loc), loc);
  return use(weft::mul({output, loc}, {factors, loc}).sum({}, false, loc), loc);
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

/// Records the gradients of `root` with respect to `inputs`. The gradients themselves pass a gradient on if
/// the thread records gradients.
static std::shared_ptr<Node> gradientOf(const Ref &root, const std::vector<Ref> &inputs, Loc loc) {
  std::vector<Ref> operands{root};
  operands.insert(operands.end(), inputs.begin(), inputs.end());
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
  NoGradGuard guard;
  std::shared_ptr<Node> gradient = gradientOf(root, leaves, loc);
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
  wrap(weighted(*this, gradient.detach(loc), loc), loc).backward(loc);
}

namespace {

/// Where the gradient of each input is among the values that a gradient node is asked for.
struct Wanted {
  std::vector<Ref> values;
  std::vector<size_t> ends; ///< where the part of each input ends; an empty part for one that is not used
};

/// The sum of the outputs, each times its factors.
Ref rootOf(const std::vector<Tensor> &outputs, const GradOptions &options, Loc loc) {
  if (!options.grad_outputs.empty() && options.grad_outputs.size() != outputs.size())
    fail("grad() has " + std::to_string(outputs.size()) + " outputs and " +
             std::to_string(options.grad_outputs.size()) + " grad_outputs: give one for each output",
         loc);
  const GradMode recording(true); // outputs have a history, whatever the thread records now
  Ref root;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool hasFactors = !options.grad_outputs.empty() && options.grad_outputs[i].defined();
    // Without create_graph no gradient flows into the factors.
    Ref one = !hasFactors ? differentiable(outputs[i], loc)
                          : weighted(outputs[i],
                                     options.create_graph ? options.grad_outputs[i]
                                                          : options.grad_outputs[i].detach(loc),
                                     loc);
    root = root ? record1("add", {root, one}, {}, loc) : one;
  }
  return root;
}

/// The values of inputs, and the serial number below which no node lies between them and an output.
std::vector<Ref> valuesOf(const std::vector<Tensor> &inputs, uint64_t &oldest, Loc loc) {
  std::vector<Ref> values;
  oldest = UINT64_MAX;
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
  return values;
}

Wanted wantedOf(const Ref &root, const std::vector<Ref> &values, uint64_t oldest, bool allowsUnused,
                Loc loc) {
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
  Wanted wanted;
  for (size_t i = 0; i < values.size(); ++i) {
    const Ref &value = values[i];
    const size_t before = wanted.values.size();
    if (const auto *accumulator = value.node->accumulator(value.result)) {
      auto &held = leaves[accumulator];
      std::sort(held.begin(), held.end(), isOlder);
      wanted.values.insert(wanted.values.end(), held.begin(), held.end());
    } else if (computed.contains(value)) {
      wanted.values.push_back(value);
    }
    if (wanted.values.size() == before) {
      // A value from outside may depend on the input there.
      if (outside)
        failFlowsOut(outside, loc);
      if (!allowsUnused)
        fail("One of the differentiated Tensors appears to not have been used in the graph: input " +
                 std::to_string(i) + " of grad(); with allow_unused its gradient is undefined",
             loc, {value});
    }
    wanted.ends.push_back(wanted.values.size());
  }
  return wanted;
}

} // namespace

std::vector<Tensor> grad(const std::vector<Tensor> &outputs, const std::vector<Tensor> &inputs,
                         const GradOptions &options, Loc loc) {
  GraphLock lock(graphMutex());
  if (inputs.empty())
    return {};
  if (outputs.empty())
    fail("grad requires non-empty outputs", loc);
  const Ref root = rootOf(outputs, options, loc);
  uint64_t oldest = 0;
  const std::vector<Ref> values = valuesOf(inputs, oldest, loc);
  const Wanted wanted =
      wantedOf(root, values, oldest, options.allow_unused || options.materialize_grads, loc);
  const GradMode recording(options.create_graph);
  std::shared_ptr<Node> gradient = wanted.values.empty() ? nullptr : gradientOf(root, wanted.values, loc);
  std::vector<Tensor> results;
  uint32_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (next == wanted.ends[i]) {
      results.push_back(options.materialize_grads ? zeros_like(inputs[i], loc) : Tensor());
      continue;
    }
    Ref sum{gradient, next++};
    while (next < wanted.ends[i])
      sum = record1("add", {sum, {gradient, next++}}, {}, loc);
    results.push_back(wrap(std::move(sum), loc));
  }
  return results;
}

std::vector<Tensor> grad(const Tensor &output, const std::vector<Tensor> &inputs, const GradOptions &options,
                         Loc loc) {
  return grad(std::vector<Tensor>{output}, inputs, options, loc);
}

} // namespace weft
