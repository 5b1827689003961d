//===- Autograd.cpp - Gradients ---------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/autograd.hpp"

#include "frontend/Ops.h"
#include "frontend/Trace.h"

#include <algorithm>
#include <unordered_set>

namespace weft {

using namespace frontend;

NoGradGuard::NoGradGuard() : previous_(gradEnabled()) { gradEnabled() = false; }
NoGradGuard::~NoGradGuard() { gradEnabled() = previous_; }

/// What a gradient is taken of, 0-dimensional.
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
         "a gradient took part in it, or gradients were off",
         loc, {root});
  return reshapeTo(root, {}, loc);
}

void Tensor::backward(Loc loc) const {
  GraphLock lock(graphMutex());
  Ref root = differentiable(*this, loc);
  // The leaves that the value depends on, in the order in which they were made.
  std::vector<Ref> leaves;
  std::unordered_set<const Node *> seen;
  std::vector<Ref> stack{root};
  while (!stack.empty()) {
    Ref ref = stack.back();
    stack.pop_back();
    if (ref.node->leafSlot(ref.result)) {
      if (std::find(leaves.begin(), leaves.end(), ref) == leaves.end())
        leaves.push_back(ref);
      continue;
    }
    if (ref.node->kind == NodeKind::input && ref.requiresGrad())
      fail("the gradient would flow out of the compiled function, into a tensor that was computed before it "
           "(WEFT-G003): compute it inside the function, call backward() outside of it, or use detach()\n"
           "  made at " +
               str(ref.node->loc),
           loc, {}, "WEFT-G003");
    if (!seen.insert(ref.node.get()).second)
      continue;
    for (const Ref &operand : ref.node->operands)
      if (operand.requiresGrad())
        stack.push_back(operand);
  }
  std::sort(leaves.begin(), leaves.end(), [](const Ref &a, const Ref &b) {
    return std::pair(a.node->serial, a.result) < std::pair(b.node->serial, b.result);
  });
  std::vector<Ref> operands{root};
  operands.insert(operands.end(), leaves.begin(), leaves.end());
  NoGradGuard guard;
  std::shared_ptr<Node> gradient = record("gradient", operands, {}, loc);
  gradient->stopsGrad = false;
  for (uint32_t i = 0; i < leaves.size(); ++i) {
    auto slot = leaves[i].node->leafSlot(leaves[i].result);
    Ref value{gradient, i};
    if (slot->grad) {
      Tensor sum = Access::make(slot->grad);
      assign(slot->grad, record1("add", {use(sum, loc), value}, {}, loc));
    } else {
      Tensor made = wrap(value, slot->loc);
      slot->grad = Access::slot(made);
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

/// Whether a gradient flows from `root` back to `wanted`.
static bool dependsOn(const Ref &root, const Ref &wanted) {
  std::unordered_set<const Node *> seen;
  std::vector<Ref> stack{root};
  while (!stack.empty()) {
    Ref ref = stack.back();
    stack.pop_back();
    if (ref == wanted)
      return true;
    // An operand is older than what is computed from it.
    if (ref.node->serial < wanted.node->serial || !seen.insert(ref.node.get()).second)
      continue;
    for (const Ref &operand : ref.node->operands)
      if (operand.requiresGrad())
        stack.push_back(operand);
  }
  return false;
}

std::vector<Tensor> grad(const Tensor &output, const std::vector<Tensor> &inputs, Loc loc) {
  GraphLock lock(graphMutex());
  Ref root = differentiable(output, loc);
  std::vector<Ref> wanted;
  bool leaves = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Ref input = use(inputs[i], loc);
    if (!input.requiresGrad())
      fail("One of the differentiated Tensors does not require grad: input " + std::to_string(i) +
               " of grad(); call requires_grad_() on it before it is used",
           loc, {input});
    if (!dependsOn(root, input))
      fail("One of the differentiated Tensors appears to not have been used in the graph: input " +
               std::to_string(i) + " of grad()",
           loc, {input});
    leaves &= input.node->leafSlot(input.result) != nullptr;
    wanted.push_back(std::move(input));
  }
  NoGradGuard guard;
  std::vector<Tensor> results;
  auto differentiate = [&](std::vector<Ref> inputs) {
    auto count = static_cast<uint32_t>(inputs.size());
    inputs.insert(inputs.begin(), root);
    auto node = record("gradient", std::move(inputs), {}, loc);
    node->stopsGrad = false;
    for (uint32_t i = 0; i < count; ++i)
      results.push_back(wrap({node, i}, loc));
  };
  // What lies before a tensor that was computed is no part of what its own gradient needs.
  if (leaves) {
    differentiate(wanted);
  } else {
    for (const Ref &input : wanted)
      differentiate({input});
  }
  return results;
}

} // namespace weft
