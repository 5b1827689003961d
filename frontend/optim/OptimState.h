//===- OptimState.h - The state of optimisers -----------------------------===//
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

/// A 0-dimensional run-time number, such as a learning rate. The tensor is on the host wherever the
/// parameters are, so that its value travels in a call's block of scalars.
struct Hyperparameter {
  const char *name;
  double value;
  Tensor tensor;
};

/// What a piece of state of one parameter is.
struct PieceKind {
  const char *name;
  double initial = 0;          ///< of all its elements
  bool isNumber = false;       ///< 0-dimensional and f32; else as the parameter is
  bool beginsWithRate = false; ///< all its elements are the group's learning rate at first
  size_t single = 0;           ///< the dimension that has one element, counted from the end; 0 for none
  Shape shapeFor(const Shape &parameter) const {
    Shape shape = isNumber ? Shape() : parameter;
    if (single > 0)
      shape[shape.size() - single] = 1;
    return shape;
  }
};

/// A piece of state of one parameter.
struct Piece {
  PieceKind kind;
  Tensor tensor;
};

struct Group;
struct Member;

/// One update rule with its options; the parameters of a group share it.
struct Rule {
  virtual ~Rule() = default;
  /// The pieces of state that a parameter has.
  virtual std::vector<PieceKind> pieces() const = 0;
  /// Those of a parameter of this shape, where they depend on that.
  virtual std::vector<PieceKind> piecesOf(const Shape & /*parameter*/) const { return pieces(); }
  /// Records a step: the new value of the parameter, then those of its pieces, in their order.
  virtual std::vector<frontend::Ref> record(const Member &member, const Tensor &gradient, const Group &group,
                                            Loc loc) const = 0;
  /// Why the rule does not permit a number to be `value`, or to change to it; empty if it does.
  virtual std::string refusal(std::string_view /*name*/, double /*value*/) const { return ""; }
};

/// A rule that is one op, whose operands are the parameter, its gradient, the pieces, the count of steps
/// before this one, and the group's numbers.
struct OpRule : Rule {
  virtual const char *op() const = 0;
  virtual std::vector<frontend::Attr> attributes() const = 0;
  std::vector<frontend::Ref> record(const Member &member, const Tensor &gradient, const Group &group,
                                    Loc loc) const final;
};

/// Why the momentum of a group that was made with `present` cannot become `value`; empty if it can. A
/// momentum takes a piece of state, so that with and without it are two formulas.
std::string momentumRefusal(const char *optimizer, double present, double value);
/// Why an option of a group is out of its range; empty if it is not.
std::string rangeProblem(std::string_view name, double value);
/// Throws Error if it is.
void checkNumber(std::string_view name, double value, Loc loc);
/// Throws Error if the rule does not permit a number.
void checkRule(const Rule &rule, std::string_view name, double value, Loc loc);

/// Counts steps, as an i64. Parameters that were updated by the same steps share a count: nearly always a
/// whole group. If later only some of them have a gradient, the count is split, so that each parameter has
/// its own count as in PyTorch.
struct Counter {
  Tensor steps;
};

struct Group {
  std::shared_ptr<Rule> rule;
  std::vector<Hyperparameter> numbers; ///< in the order of the op's operands; the first is the learning rate
  /// What the elements of a piece of state are at first.
  double initialOf(const PieceKind &piece) const {
    return piece.beginsWithRate ? numbers.front().value : piece.initial;
  }
};

struct Member {
  Tensor parameter;
  std::string name;
  size_t group;
  std::shared_ptr<Counter> counter; ///< null before the first update
  std::vector<Piece> pieces;        ///< empty before the first update
};

struct OptimizerState : std::enable_shared_from_this<OptimizerState> {
  std::string kind; ///< "adam": the prefix of the names of slots
  std::vector<Group> groups;
  std::vector<Member> members;
  std::vector<double> initialLr; ///< of each group, when the first schedule was made
  uint64_t changes = 0;          ///< how often members or their state were added, made anew or moved
  std::shared_ptr<const void> self = std::make_shared<char>(); ///< how its parameters refer to it

  /// Throws Error if a number is out of its range, or one that the rule does not permit.
  void addGroup(std::shared_ptr<Rule> rule, std::vector<Tensor> parameters,
                std::initializer_list<std::pair<const char *, double>> numbers, Loc loc);
  /// Records one step, which the caller runs. Returns the slots that were written, with their old values.
  struct Written {
    std::shared_ptr<frontend::Slot> slot;
    frontend::Ref before;
  };
  std::vector<Written> record(Loc loc);

  StateDict save() const;
  std::vector<std::string> check(const StateDict &state) const;
  void load(const StateDict &state, Loc loc);

  /// The state of an optimiser without parameters. `kind`: "adam".
  static std::shared_ptr<OptimizerState> make(const char *kind);

private:
  class Draft;
  std::shared_ptr<Counter> makeCounter(int64_t value, Device device, Loc loc);
  /// Gives the members of one count that take part in a step a count of their own.
  void splitCounter(const std::vector<Member *> &taking, const std::vector<Member *> &rest, Draft &draft,
                    Loc loc);
  /// Splits the counts that only some of their members advance.
  void splitCounters(const std::vector<Member *> &stepping, Draft &draft, Loc loc);
  /// Makes the count and state of every member that steps, if it has none. They are older than a trace under
  /// way, but become state of the program only with it; if making them or the trace fails, there are none.
  void prepare(const std::vector<Member *> &stepping, Loc loc);
  void makeState(const std::vector<Member *> &stepping, Draft &draft, Loc loc);
  void makePieces(Member &member);
  void checkPlacement(const Member &member, Loc loc) const;
};

} // namespace weft::optim::detail

#endif // WEFT_FRONTEND_OPTIM_OPTIMSTATE_H
