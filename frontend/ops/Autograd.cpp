//===- Autograd.cpp - Gradients ---------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/autograd.hpp"

#include "frontend/graph/GradBoundary.h"
#include "frontend/graph/GradHooks.h"
#include "frontend/graph/History.h"
#include "frontend/graph/Recording.h"
#include "frontend/graph/Region.h"
#include "frontend/graph/Trace.h"
#include "frontend/ops/GradAdditions.h"
#include "frontend/ops/Ops.h"
#include "weft/creation.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

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
  Ref root = use(output, loc);
  if (root.spec().count() != 1)
    fail("grad can be implicitly created only for scalar outputs: this tensor has shape " +
             shapeText(root.spec().shape) + "; take .sum() or .mean() first",
         loc, {root});
  checkHistory(root, loc);
  return reshapeTo(root, {}, loc);
}

/// Adds the sum of the elements of `output` times those of `weights`. Without create_graph no gradient flows
/// into the weights.
static void addWeighted(WeightedRoot &root, const Tensor &output, const Tensor &weights, Loc loc) {
  if (weights.sizes(loc) != output.sizes(loc))
    fail("Mismatch in shape: grad_output has a shape of " + shapeText(weights.sizes(loc)) +
             " and the tensor has a shape of " + shapeText(output.sizes(loc)),
         loc, {use(output, loc), use(weights, loc)});
  checkHistory(use(output, loc), loc);
  root.add(use(output, loc), convertTo(use(weights, loc), output.dtype(loc), loc));
}

/// Calls `visit` once for each value that a gradient reaches from `root`, as far as the leaves, and `check`
/// for each of its uses. Nodes older than `oldest` are skipped; operands are older than their users.
template <typename Visit, typename Check>
static void walkBack(const Ref &root, uint64_t oldest, Visit visit, Check check) {
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
      if (operand.requiresGrad() && operand.node->serial >= oldest) {
        check(operand, *ref.node);
        stack.push_back(operand);
      }
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

/// Notes in the trace of a function that the operations between a root and `ends` have passed a gradient on,
/// which uses their history up unless it keeps the graph. `seen` has the nodes that a gradient reaches from
/// the root.
static void notePassed(std::vector<const Node *> seen, const std::vector<Ref> &ends, bool byBackward,
                       bool keepsGraph) {
  Trace *trace = Trace::current();
  if (!trace || trace->isBody())
    return;
  const auto note = [&](const Node &node) {
    keepsGraph ? trace->notePassed(node) : trace->noteSpent(node, byBackward);
  };
  const RefSet isEnd(ends.begin(), ends.end());
  for (const Ref &end : ends)
    if (const GradAccumulator *accumulator = end.node->accumulator(end.result);
        accumulator && !accumulator->isLeaf())
      note(*end.node);
  std::ranges::sort(seen, {}, &Node::serial); // operands first
  std::unordered_set<const Node *> between;
  for (const Node *node : seen)
    if (std::ranges::any_of(node->operands, [&](const Ref &operand) {
          return operand.requiresGrad() && (isEnd.contains(operand) || between.contains(operand.node.get()));
        })) {
      between.insert(node);
      note(*node);
    }
}

static bool isOlder(const Ref &a, const Ref &b) {
  return std::pair(a.node->serial, a.result) < std::pair(b.node->serial, b.result);
}

//===----------------------------------------------------------------------===//
// Hooks
//===----------------------------------------------------------------------===//

namespace {

/// A value with hooks, or a result of a function whose gradient has a rule of its own, and the gradient that
/// has reached it so far.
struct Waiting {
  Ref value, gradient;
  const GradAccumulator &accumulator() const { return *value.node->accumulator(value.result); }
  /// The serial number up to which values may get a gradient from it: that of the value through which the
  /// gradient goes on, which is older than its value with hooks.
  uint64_t reach() const {
    const GradAccumulator &own = accumulator();
    return own.inner ? own.inner->node->serial : value.node->serial;
  }
};

/// The values with hooks or rules at which reverse mode has stopped.
class WaitingValues {
public:
  void add(const Ref &value, Ref gradient, Loc loc) {
    for (Waiting &each : list_)
      if (each.value == value) {
        each.gradient = record1("add", {each.gradient, gradient}, {}, loc);
        return;
      }
    list_.push_back({value, std::move(gradient)});
  }
  bool empty() const { return list_.empty(); }
  /// Removes and returns the one that was computed last, as PyTorch does, with the other results of its
  /// function. No gradient flows to it from the others, which reach older values only.
  std::vector<Waiting> take() {
    const auto youngest = std::ranges::max_element(list_, {}, [](const Waiting &each) {
      return std::tuple(each.reach(), each.value.node->serial, each.value.result);
    });
    std::vector<Waiting> taken{*youngest};
    const auto boundary = youngest->accumulator().boundary;
    list_.erase(youngest);
    if (boundary)
      std::erase_if(list_, [&](const Waiting &each) {
        const bool belongs = each.accumulator().boundary == boundary;
        if (belongs)
          taken.push_back(each);
        return belongs;
      });
    return taken;
  }

private:
  std::vector<Waiting> list_;
};

} // namespace

/// What the hooks make of a gradient. They are the user's, and run without the graph's lock.
static Ref callHooks(const GradHooks *hooks, Ref gradient, bool create_graph, Loc loc) {
  if (!hooks)
    return gradient;
  const auto list = hooks->list; // a hook may remove itself
  const GradMode recording(create_graph);
  for (const auto &[number, hook] : list) {
    const Tensor given = wrap(gradient, loc);
    Tensor made;
    {
      const GraphRelease release;
      made = hook(given);
    }
    const Ref result = use(made.defined() ? made : given, loc);
    if (result.spec() != gradient.spec())
      fail("a hook has changed the shape, dtype or device of the gradient: expected " +
               gradient.spec().str() + ", found " + result.spec().str(),
           loc, {result});
    gradient = result;
  }
  return gradient;
}

/// In a trace, the function depends on which hooks a view from outside has.
static void guardOuterHooks(const GradAccumulator &accumulator) {
  Trace *trace = Trace::current();
  const auto slot = accumulator.slot.lock();
  if (trace && slot && slot->trace != TraceMark(trace) && accumulator.hooks)
    trace->guard(accumulator.hooks->unchanged, "a hook of a gradient was registered or removed");
}

/// Whether a gradient that flows from `user` to a value passes the hooks that are there in its place. A leaf
/// collects the gradients of all of its uses, whatever hooks a view of it has.
static bool isPastHooks(const Ref &value, const Node &user) {
  const GradWatch *watch = value.node->accumulator(value.result) ? nullptr : value.node->watch(value.result);
  return watch && watch->hooks && !watch->hooks->list.empty() && !user.beginsAnew &&
         std::string_view(user.name) != "gradient";
}

[[noreturn]] static void failPastHooks(const Ref &value, Loc loc) {
  fail("the gradient would flow to a tensor past the hook that was registered on it, because the tensor was "
       "used before (WEFT-G005): register the hook before the tensor is used\n  made at " +
           str(value.node->loc),
       loc, {}, "WEFT-G005");
}

/// Where reverse mode goes on from values that waited. Replaces the gradient of a value with hooks by what
/// these made of it.
static GradStart continued(std::vector<Waiting> &waiting, bool create_graph, Loc loc) {
  const GradAccumulator &accumulator = waiting.front().accumulator();
  if (accumulator.inner) {
    Ref &gradient = waiting.front().gradient;
    guardOuterHooks(accumulator);
    gradient = callHooks(accumulator.hooks.get(), gradient, create_graph, loc);
    WeightedRoot root(create_graph, loc);
    root.add(*accumulator.inner, gradient);
    return root.take();
  }
  for (const Ref &value : accumulator.boundary->below())
    if (isPastHooks(value, *waiting.front().value.node))
      failPastHooks(value, loc);
  std::vector<Ref> values(accumulator.boundary->results()), gradients(values.size());
  for (const Waiting &each : waiting) {
    values[each.accumulator().index] = each.value;
    gradients[each.accumulator().index] = each.gradient;
  }
  return accumulator.boundary->goOn(values, gradients, create_graph, loc);
}

/// In a trace, the function depends on which hooks a leaf has.
static void guardHooks(GradAccumulator &leaf) {
  Trace *trace = Trace::current();
  if (!trace)
    return;
  if (!leaf.hooks)
    leaf.hooks = std::make_shared<GradHooks>();
  trace->guard(leaf.hooks->unchanged, "a hook of a gradient was registered or removed");
}

//===----------------------------------------------------------------------===//
// backward
//===----------------------------------------------------------------------===//

namespace {

/// The values whose gradients reverse mode from one root finds: leaves, values with hooks or rules, at which
/// it stops, and values whose gradient a tensor retains.
struct Reached {
  std::vector<Ref> inputs;
  size_t leaves = 0, hooked = 0; ///< leaves come first, then values with hooks or rules
};

} // namespace

static Reached reachedFrom(const GradStart &start, bool keepsGraph, Loc loc) {
  std::vector<Ref> leaves, hooked, retained;
  std::vector<const Node *> nodes;
  walkBack(
      start.root, 0,
      [&](const Ref &ref) {
        if (std::ranges::find(start.weights, ref) != start.weights.end())
          return;
        if (const GradAccumulator *accumulator = ref.node->accumulator(ref.result)) {
          (accumulator->isLeaf() ? leaves : hooked).push_back(ref);
          return;
        }
        if (ref.node->kind == NodeKind::input)
          failFlowsOut(ref, loc);
        nodes.push_back(ref.node.get());
        if (const GradWatch *watch = ref.node->watch(ref.result))
          if (std::ranges::any_of(watch->retained, [](const auto &each) { return !each->slot.expired(); }))
            retained.push_back(ref);
      },
      [&](const Ref &value, const Node &user) {
        if (isPastHooks(value, user))
          failPastHooks(value, loc);
      });
  if (leaves.empty() && hooked.empty() && retained.empty())
    fail("this tensor was computed from none that collects a gradient: requires_grad_() was called inside a "
         "compiled function, on a tensor of its trace; call it before, on a tensor that you keep",
         loc, {start.root});
  // If all leaves are gone or no longer require a gradient, nothing can read one.
  std::erase_if(leaves, [](const Ref &ref) { return !ref.node->accumulator(ref.result)->isSeen(); });
  // Sorted by use, not by age: after an optimiser's step a parameter is younger than a leaf that the step
  // does not update, and the program should be the same.
  std::sort(nodes.begin(), nodes.end(), [](auto *a, auto *b) { return a->serial < b->serial; });
  sortByUse(nodes, leaves);
  std::ranges::sort(hooked, isOlder);
  std::ranges::sort(retained, isOlder);
  Reached reached{leaves, leaves.size(), hooked.size()};
  reached.inputs.insert(reached.inputs.end(), hooked.begin(), hooked.end());
  reached.inputs.insert(reached.inputs.end(), retained.begin(), retained.end());
  notePassed(std::move(nodes), reached.inputs, /*byBackward=*/true, keepsGraph);
  return reached;
}

/// Finds all gradients of the root, and calls the hooks on the way. `keepsGraph`: whether the function that
/// is traced may pass gradients through the operations again.
static void findAdditions(GradAdditions &additions, GradStart start, bool create_graph, bool keepsGraph,
                          Loc loc) {
  WaitingValues waiting;
  std::vector<std::pair<std::shared_ptr<GradAccumulator>, Ref>> leavesWithHooks;
  const auto take = [&](const Ref &leaf, const Ref &value) {
    const auto &accumulator = leaf.node->accumulators[leaf.result];
    guardHooks(*accumulator);
    if (!accumulator->hooks || accumulator->hooks->list.empty())
      return additions.add(accumulator, value);
    for (auto &[known, sum] : leavesWithHooks)
      if (known == accumulator) {
        sum = record1("add", {sum, value}, {}, loc);
        return;
      }
    leavesWithHooks.emplace_back(accumulator, value);
  };
  for (;;) {
    const Reached reached = start.root ? reachedFrom(start, keepsGraph, loc) : Reached();
    if (!reached.inputs.empty()) {
      const std::shared_ptr<Node> gradient = gradientOf(start.root, reached.inputs, loc);
      for (uint32_t i = 0; i < reached.inputs.size(); ++i) {
        const Ref &input = reached.inputs[i], value{gradient, i};
        if (i < reached.leaves)
          take(input, value);
        else if (i < reached.leaves + reached.hooked)
          waiting.add(input, value, loc);
        else
          for (const auto &accumulator : input.node->watch(input.result)->retained)
            if (!accumulator->slot.expired())
              additions.addRetained(accumulator, value, input);
      }
    }
    if (waiting.empty())
      break;
    std::vector<Waiting> next = waiting.take();
    additions.writeRetained(next.front().reach());
    start = continued(next, create_graph, loc);
  }
  if (!leavesWithHooks.empty())
    additions.writeRetained(0);
  for (const auto &[accumulator, sum] : leavesWithHooks)
    additions.add(accumulator, callHooks(accumulator->hooks.get(), sum, create_graph, loc));
}

static void runBackward(GradStart start, bool create_graph, bool keepsGraph, Loc loc) {
  if (const Trace *trace = Trace::current(); trace && trace->isBody())
    fail("the body of a loop or a branch sets gradients with backward() (WEFT-T001): it computes values "
         "only; use "
         "grad(), which returns them",
         loc, {}, "WEFT-T001");
  const GradMode recording(create_graph);
  GradAdditions additions(create_graph, loc);
  try {
    findAdditions(additions, std::move(start), create_graph, keepsGraph, loc);
  } catch (...) {
    additions.takeBack();
    throw;
  }
  additions.write();
}

void Tensor::backward(Loc loc) const {
  GraphLock lock(graphMutex());
  runBackward({differentiable(*this, loc)}, /*create_graph=*/false, /*keepsGraph=*/false, loc);
}

void Tensor::backward(const Tensor &gradient, Loc loc) const { backward(gradient, std::nullopt, false, loc); }

void Tensor::backward(const Tensor &gradient, std::optional<bool> retain_graph, bool create_graph,
                      Loc loc) const {
  GraphLock lock(graphMutex());
  const GradMode recording(true); // outputs have a history, whatever the thread records now
  WeightedRoot root(create_graph, loc);
  if (gradient.defined())
    addWeighted(root, *this, gradient, loc);
  else
    root.add(differentiable(*this, loc));
  runBackward(root.take(), create_graph, retain_graph.value_or(create_graph), loc);
}

//===----------------------------------------------------------------------===//
// grad
//===----------------------------------------------------------------------===//

namespace {

/// Where the gradients of inputs are among the values that a gradient node is asked for.
struct Wanted {
  std::vector<Ref> values;  ///< those of inputs, then values with hooks or rules
  std::vector<size_t> ends; ///< where the part of each input ends; an empty part for one that is not reached
  Ref outside; ///< the first value from outside of the trace, if any, to which the trace cannot follow a
               ///< gradient
};

/// The sum of the outputs, each times its factors.
GradStart rootOf(const std::vector<Tensor> &outputs, const GradOptions &options, Loc loc) {
  if (!options.grad_outputs.empty() && options.grad_outputs.size() != outputs.size())
    fail("grad() has " + std::to_string(outputs.size()) + " outputs and " +
             std::to_string(options.grad_outputs.size()) + " grad_outputs: give one for each output",
         loc);
  const GradMode recording(true); // outputs have a history, whatever the thread records now
  WeightedRoot root(options.create_graph, loc);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!options.grad_outputs.empty() && options.grad_outputs[i].defined())
      addWeighted(root, outputs[i], options.grad_outputs[i], loc);
    else
      root.add(differentiable(outputs[i], loc));
  return root.take();
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
    // A value whose hooks are removed is the one in whose place it is, from which others may be computed.
    if (const auto *own = value.node->accumulator(value.result);
        own && own->inner && (!own->hooks || own->hooks->list.empty()))
      value = Ref(*own->inner);
    // The node of a leaf or of a value from outside is as old as its first use, and bounds nothing.
    bool isAnyAge = value.node->accumulator(value.result) || value.node->kind == NodeKind::input;
    oldest = isAnyAge ? 0 : std::min(oldest, value.node->serial);
    values.push_back(std::move(value));
  }
  return values;
}

/// Whether a gradient of some values goes on to one of others, also through those that have hooks or a rule;
/// or would, by a history that is used up.
bool anyLeadsTo(std::vector<Ref> roots, const std::vector<Ref> &values, uint64_t oldest) {
  bool reaches = false;
  while (!roots.empty() && !reaches) {
    const Ref next = std::move(roots.back());
    roots.pop_back();
    walkBack(
        next, oldest,
        [&](const Ref &ref) {
          const auto *accumulator = ref.node->accumulator(ref.result);
          reaches |= std::ranges::any_of(values, [&](const Ref &value) {
            return value == ref || (accumulator && value.node->accumulator(value.result) == accumulator);
          });
          if (!accumulator)
            return;
          reaches |= hasLostWayTo(*accumulator, values);
          for (Ref &value : below(*accumulator))
            roots.push_back(std::move(value));
        },
        [](const Ref &, const Node &) {});
  }
  return reaches;
}

/// The same from a value with hooks or a rule.
bool leadsTo(const GradAccumulator &from, const std::vector<Ref> &values, uint64_t oldest) {
  return hasLostWayTo(from, values) || anyLeadsTo(below(from), values, oldest);
}

/// Whether one of the values stands, with its hooks, in the place of this one.
bool isReplaced(const Ref &value, const std::vector<Ref> &values) {
  return std::ranges::any_of(values, [&](const Ref &each) {
    const auto *accumulator = each.node->accumulator(each.result);
    return accumulator && accumulator->inner && *accumulator->inner == value;
  });
}

Wanted wantedOf(const GradStart &start, const std::vector<Ref> &values, uint64_t oldest, bool keepsGraph,
                Loc loc) {
  // A leaf may have had several nodes, because computing or writing it gives it another one.
  std::unordered_map<const GradAccumulator *, std::vector<Ref>> leaves;
  RefSet computed;
  std::vector<Ref> hooked, past;
  Wanted wanted;
  walkBack(
      start.root, oldest,
      [&](const Ref &ref) {
        if (std::ranges::find(start.weights, ref) != start.weights.end())
          return;
        if (const auto *accumulator = ref.node->accumulator(ref.result)) {
          if (accumulator->isLeaf())
            leaves[accumulator].push_back(ref);
          else
            hooked.push_back(ref);
          return;
        }
        computed.insert(ref);
        if (ref.node->kind == NodeKind::input && (!wanted.outside || isOlder(ref, wanted.outside)))
          wanted.outside = ref;
      },
      [&](const Ref &value, const Node &user) {
        if (isPastHooks(value, user))
          past.push_back(value);
      });
  for (const Ref &value : past)
    if (isReplaced(value, values) || anyLeadsTo({value}, values, oldest))
      failPastHooks(value, loc);
  for (const Ref &value : values) {
    const auto *accumulator = value.node->accumulator(value.result);
    if (accumulator && accumulator->isLeaf()) {
      auto &held = leaves[accumulator];
      std::sort(held.begin(), held.end(), isOlder);
      wanted.values.insert(wanted.values.end(), held.begin(), held.end());
    } else if (computed.contains(value)) {
      wanted.values.push_back(value);
    }
    wanted.ends.push_back(wanted.values.size());
  }
  std::erase_if(hooked, [&](const Ref &ref) {
    return std::ranges::find(values, ref) == values.end() &&
           !leadsTo(*ref.node->accumulator(ref.result), values, oldest);
  });
  std::ranges::sort(hooked, isOlder);
  wanted.values.insert(wanted.values.end(), hooked.begin(), hooked.end());
  std::vector<const Node *> seen;
  for (const Ref &ref : computed)
    seen.push_back(ref.node.get());
  notePassed(std::move(seen), wanted.values, /*byBackward=*/false, keepsGraph);
  return wanted;
}

Wanted nothingWanted(size_t inputs) { return {{}, std::vector<size_t>(inputs, 0), {}}; }

/// The gradients of inputs with these values, null for those that the root does not depend on, and the value
/// of `Wanted::outside`, if there was one.
std::pair<std::vector<Ref>, Ref> gradientsOf(GradStart start, const std::vector<Ref> &values, uint64_t oldest,
                                             const GradOptions &options, Loc loc) {
  const bool create_graph = options.create_graph, keepsGraph = options.retain_graph.value_or(create_graph);
  const GradMode recording(create_graph);
  std::vector<Ref> sums(values.size());
  Ref outside;
  WaitingValues waiting;
  for (;;) {
    const Wanted wanted =
        start.root ? wantedOf(start, values, oldest, keepsGraph, loc) : nothingWanted(values.size());
    outside = outside ? outside : wanted.outside;
    const auto gradient = wanted.values.empty() ? nullptr : gradientOf(start.root, wanted.values, loc);
    uint32_t next = 0;
    for (size_t i = 0; i < values.size(); ++i)
      for (; next < wanted.ends[i]; ++next)
        sums[i] = sums[i] ? record1("add", {sums[i], {gradient, next}}, {}, loc) : Ref{gradient, next};
    for (; next < wanted.values.size(); ++next)
      waiting.add(wanted.values[next], {gradient, next}, loc);
    if (waiting.empty())
      break;
    std::vector<Waiting> taken = waiting.take();
    // The gradient with respect to a result of a rule does not need the rule.
    const GradAccumulator &from = taken.front().accumulator();
    const bool goesOn = from.inner || leadsTo(from, values, oldest);
    start = goesOn ? continued(taken, create_graph, loc) : GradStart();
    for (const Waiting &each : taken)
      for (size_t i = 0; i < values.size(); ++i)
        if (values[i] == each.value)
          sums[i] = each.gradient;
  }
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].node->isGradLeaf(values[i].result)) {
      GradAccumulator &leaf = *values[i].node->accumulator(values[i].result);
      guardHooks(leaf);
      if (sums[i])
        sums[i] = callHooks(leaf.hooks.get(), sums[i], create_graph, loc);
    }
  return {std::move(sums), outside};
}

} // namespace

std::vector<Tensor> grad(const std::vector<Tensor> &outputs, const std::vector<Tensor> &inputs,
                         const GradOptions &options, Loc loc) {
  GraphLock lock(graphMutex());
  if (inputs.empty())
    return {};
  if (outputs.empty())
    fail("grad requires non-empty outputs", loc);
  GradStart root = rootOf(outputs, options, loc);
  uint64_t oldest = 0;
  const std::vector<Ref> values = valuesOf(inputs, oldest, loc);
  const auto [gradients, outside] = gradientsOf(std::move(root), values, oldest, options, loc);
  std::vector<Tensor> results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (gradients[i]) {
      results.push_back(wrap(gradients[i], loc));
      continue;
    }
    // A value from outside may depend on the input there.
    if (outside)
      failFlowsOut(outside, loc);
    if (!options.allow_unused && !options.materialize_grads)
      fail("One of the differentiated Tensors appears to not have been used in the graph: input " +
               std::to_string(i) + " of grad(); with allow_unused its gradient is undefined",
           loc, {values[i]});
    Tensor none = options.materialize_grads ? zeros_like(inputs[i], loc) : Tensor();
    const Trace *trace = Trace::current();
    if (none.defined() && options.create_graph && !(trace && trace->isBody()))
      none.requires_grad_(true, loc); // a penalty may be computed from such gradients alone
    results.push_back(std::move(none));
  }
  return results;
}

std::vector<Tensor> grad(const Tensor &output, const std::vector<Tensor> &inputs, const GradOptions &options,
                         Loc loc) {
  return grad(std::vector<Tensor>{output}, inputs, options, loc);
}

} // namespace weft
