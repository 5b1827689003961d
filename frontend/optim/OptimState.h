//===- OptimState.h - What an optimiser holds ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_OPTIM_OPTIMSTATE_H
#define WEFT_FRONTEND_OPTIM_OPTIMSTATE_H

#include "frontend/graph/Graph.h"
#include "weft/optim.hpp"

namespace weft::optim::detail {

/// A 0-dimensional run-time number. The value is kept on the host as well, where it was set.
struct Hyperparameter {
  const char *name;
  double value;
  Tensor tensor;
};

/// A piece of state of one parameter.
struct Piece {
  const char *name;
  Tensor tensor;
};

/// One update rule with its options; the parameters of a group share it.
struct Rule {
  virtual ~Rule() = default;
  /// The pieces of state that a parameter has, in the order of the op's operands.
  virtual std::vector<const char *> pieces() const = 0;
  virtual const char *op() const = 0;
  virtual std::vector<frontend::Attr> attributes() const = 0;
  /// Throws where a number cannot be, or become, `value` while the rule stays what it is.
  virtual void checkChange(std::string_view, double, Loc) const {}
};

/// Parameters that have been updated by the same steps share a count of them, an i64: nearly always all of a
/// group. Where later only some of them have a gradient, the count is split (as PyTorch's, which is one per
/// parameter).
struct Counter {
  Tensor steps;
};

struct Group {
  std::shared_ptr<Rule> rule;
  std::vector<Hyperparameter> numbers; ///< in the order of the op's operands
};

struct Member {
  Tensor parameter;
  std::string name;
  size_t group;
  std::shared_ptr<Counter> counter; ///< null before the first update
  std::vector<Piece> pieces;        ///< empty before the first update
};

struct OptimizerState {
  std::string kind; ///< "adam": the prefix of the names of slots
  std::vector<Group> groups;
  std::vector<Member> members;
  std::shared_ptr<const void> self = std::make_shared<char>(); ///< what its parameters know it by

  void addGroup(std::shared_ptr<Rule> rule, std::vector<Tensor> parameters,
                std::initializer_list<std::pair<const char *, double>> numbers, Loc loc);
  /// Records one step; the caller runs it. Returns what was written, with the values before.
  struct Written {
    std::shared_ptr<frontend::Slot> slot;
    frontend::Ref before;
  };
  std::vector<Written> record(Loc loc);

  StateDict save() const;
  std::vector<std::string> check(const StateDict &state) const;
  void load(const StateDict &state, Loc loc);

private:
  std::shared_ptr<Counter> makeCounter(int64_t value, Device device, Loc loc);
  /// The members of one count that take part in a step, after which they have a count of their own.
  void splitCounter(const std::vector<Member *> &taking, const std::vector<Member *> &rest, Loc loc);
  /// Gives every member that steps a count and state, made now if need be. They count as older than a trace
  /// under way, and vanish again if that fails.
  void prepare(const std::vector<Member *> &stepping, Loc loc);
  /// The same, where a failure leaves what was made by then.
  void makeState(const std::vector<Member *> &stepping, Loc loc);
  void makePieces(Member &member);
  void checkPlacement(const Member &member, Loc loc) const;
};

} // namespace weft::optim::detail

#endif // WEFT_FRONTEND_OPTIM_OPTIMSTATE_H
