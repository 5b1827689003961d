//===- GradBoundary.h - Where a gradient goes on by a rule of its own -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a recorded operation follows from its definition. That of a value with hooks, of a function
// whose operations are recorded again (`checkpoint`) and of a function with a derivative of the user
// (`autograd::Function`) does not: reverse mode ends at such values as at a leaf, has the gradient made, and
// begins anew at another value with that.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_GRADBOUNDARY_H
#define WEFT_FRONTEND_GRAPH_GRADBOUNDARY_H

#include "frontend/graph/Node.h"

#include <functional>
#include <memory>
#include <set>
#include <unordered_map>

namespace weft::frontend {

/// Where reverse mode begins anew.
struct GradStart {
  Ref root; ///< a value of one element, or null if no gradient goes on
  /// Values in the root that reverse mode must not follow: the gradients that it carries on, if they have a
  /// history themselves.
  std::vector<Ref> weights = {};
};

/// Makes the root with which given gradients of values go on: the sum of the values' elements, each times its
/// gradient. A derivative of the results with respect to the gradients goes through the weights.
class WeightedRoot {
public:
  WeightedRoot(bool create_graph, Loc loc) : createGraph_(create_graph), loc_(loc) {}
  void add(const Ref &value, const Ref &gradient);
  /// Of a value of one element, whose gradient is 1.
  void add(Ref value);
  GradStart take() { return std::move(start_); }

private:
  bool createGraph_;
  Loc loc_;
  GradStart start_;
};

/// Copies of nodes, and what stands for other values.
using RefMap = std::function<Ref(const Ref &)>;
/// The types that copies of values have.
using SpecMap = std::function<Spec(const Spec &)>;

/// The leaves and the computed values to which gradients of a value would get. Keeps none of them alive.
struct LostWays {
  std::set<std::weak_ptr<GradAccumulator>, std::owner_less<>> leaves;
  std::set<std::weak_ptr<Node>, std::owner_less<>> computed;
};

/// The results of a function whose gradient has a rule of its own. The accumulators of the results have it.
class GradBoundary {
public:
  explicit GradBoundary(size_t results) : results_(results) {}
  virtual ~GradBoundary() = default;
  GradBoundary(const GradBoundary &) = delete;
  GradBoundary &operator=(const GradBoundary &) = delete;
  size_t results() const { return results_; }
  /// The values to which gradients go on.
  virtual std::vector<Ref> below() const = 0;
  /// Those, and others that the rule reads.
  virtual std::vector<Ref> read() const { return below(); }
  /// Where gradients would get to by ways that are not there any more, so that `below` does not have them.
  virtual std::vector<std::shared_ptr<const LostWays>> lost() const { return {}; }
  /// Where reverse mode goes on. `values` and `gradients` are of each result, null where no gradient reached
  /// it.
  virtual GradStart goOn(const std::vector<Ref> &values, const std::vector<Ref> &gradients, bool create_graph,
                         Loc loc) = 0;
  /// The same for copies of the nodes. `copyOf` gives null for a value that has no copy.
  virtual std::shared_ptr<GradBoundary> copied(const RefMap &copyOf, const SpecMap &specOf) const = 0;

private:
  const size_t results_;
};

/// The values to which a gradient goes on from one that has such a rule, or hooks.
std::vector<Ref> below(const GradAccumulator &accumulator);
/// Those, and others that the rule reads.
std::vector<Ref> readBy(const GradAccumulator &accumulator);
/// Calls `visit(value, stack)` with a value and with those that it puts on the stack, each once and only if
/// it requires a gradient. Ends if `visit` returns false.
template <typename Visit> void walkHistory(const Ref &value, const Visit &visit) {
  RefSet seen;
  std::vector<Ref> stack{value};
  while (!stack.empty()) {
    const Ref ref = std::move(stack.back());
    stack.pop_back();
    if (ref.requiresGrad() && seen.insert(ref).second && !visit(ref, stack))
      return;
  }
}
/// Whether a gradient from it would get to one of the values by a way that is lost.
bool hasLostWayTo(const GradAccumulator &accumulator, const std::vector<Ref> &values);

/// Gives a new value the place of result `index` of a boundary. The value has no history of its own.
void setBoundary(const Ref &value, std::shared_ptr<GradBoundary> boundary, size_t index);

/// A value for a tensor that is result `index` of a boundary. It is computed from the one that has that
/// place, so that hooks, and gradients that are retained, are those of a value as all others.
Ref resultOf(const Ref &value, std::shared_ptr<GradBoundary> boundary, size_t index);

/// The boundaries of copied nodes, each copied once.
class BoundaryCopies {
public:
  /// The copies have the types of the values, unless `specOf` gives others.
  explicit BoundaryCopies(
      RefMap copyOf, SpecMap specOf = [](const Spec &spec) { return spec; })
      : copyOf_(std::move(copyOf)), specOf_(std::move(specOf)) {}
  /// Gives the copy of a node the hooks and rules that the node's results have, leaves left out.
  void copy(const Node &node, Node &made);

private:
  RefMap copyOf_;
  SpecMap specOf_;
  std::unordered_map<const GradBoundary *, std::shared_ptr<GradBoundary>> made_;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_GRADBOUNDARY_H
