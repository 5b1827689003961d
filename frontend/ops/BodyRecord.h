//===- BodyRecord.h - Functions that a graph has as operations --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_OPS_BODYRECORD_H
#define WEFT_FRONTEND_OPS_BODYRECORD_H

#include "frontend/graph/Region.h"
#include "frontend/graph/Trace.h"
#include "weft/tree.hpp"

#include <functional>
#include <optional>
#include <unordered_set>

namespace weft::frontend {

/// How messages name a body, and what they advise instead of an effect in it.
struct BodyWords {
  const char *name;   ///< "the body of a loop"
  const char *whole;  ///< what it is a part of: "the loop"
  const char *advice; ///< why it has none, and what to do
};

/// A value from outside that a body reads. The operands of a loop or a condition are on one device, so what a
/// body computes of values from outside alone and moves to another device is computed outside.
struct CapturedValue {
  std::shared_ptr<Slot> slot;        ///< whose value it is; null for one that is computed
  Ref made;                          ///< the transfer that the body recorded; null for the value of a slot
  std::vector<Trace::Capture> reads; ///< what that may be computed of
  friend bool operator==(const CapturedValue &a, const CapturedValue &b) {
    return a.slot == b.slot && a.made == b.made;
  }
  /// The value for the function around the body. Called with the graph's lock held.
  Ref outside(Loc loc) const;
};

/// The body of a loop or a branch: a function of values, which is called once, with tensors that stand for
/// these values, and becomes text. It may read tensors from outside.
class BodyRecord {
public:
  BodyRecord(const BodyWords &words, Loc loc) : words_(words), loc_(loc) {}

  struct Input {
    Spec spec;
    Loc loc;
  };
  /// What the body gets, and what it returns, in parts.
  using Function = std::function<std::vector<Flat>(const std::vector<Tensor> &inputs)>;

  /// Calls the function. Returns false if another thread changed what it read: then it has to be called
  /// again. Throws Error (WEFT-T001) if it does anything but compute values.
  bool record(const std::vector<Input> &inputs, const Function &function);

  /// \name Of a body that is recorded
  /// @{
  const std::vector<Ref> &results() const { return results_; }
  /// The structure of each part that the function returned.
  const std::vector<Structure> &structures() const { return structures_; }
  /// How many tensors each part has.
  const std::vector<size_t> &counts() const { return counts_; }
  /// What it reads from outside.
  const std::vector<CapturedValue> &captured() const { return captured_; }
  /// An operation of it that may fail, or null.
  const Node *fallible() const;
  /// Whether another thread changed the type of a tensor that it reads. Called with the graph's lock held, as
  /// is the next.
  bool isOutdated() const { return trace_->isCaptureOutdated(); }
  /// Throws Error (WEFT-G005) if a gradient may flow through `node`, which has the body, to hooks or
  /// derivatives of its own in the body. The last operands of the node are the inputs and these values from
  /// outside; its first `carries` results are inputs of the next trip. In a body, that one is checked.
  void checkDerivative(const std::shared_ptr<Node> &node, const std::vector<CapturedValue> &outer,
                       size_t carries) const;
  /// The function as text. Its arguments are the inputs, and then these values from outside, of which some
  /// are those that it reads.
  std::string text(const std::vector<CapturedValue> &outer) const;
  /// @}

private:
  void checkInputs(const std::vector<Tensor> &tensors) const;
  void checkEffects(const std::vector<Trace::Change> &changes) const;
  void collectNodes();
  std::unordered_set<const Node *> movedFromOutside() const;
  Ref inputOf(const CapturedValue &value) const;
  /// Whether a gradient gets from a result to a rule, and by that to one of these inputs.
  bool passes(const Trace::UnknownRule &rule, RefSet inputs, size_t carries) const;
  [[noreturn]] void refuseEffect(const std::string &what, Loc where) const;

  const BodyWords &words_;
  Loc loc_;
  std::optional<Trace> trace_;
  std::vector<Ref> inputs_, results_;
  std::vector<Structure> structures_;
  std::vector<size_t> counts_;
  std::vector<Node *> nodes_;
  std::vector<CapturedValue> captured_;
};

/// The values from outside that any of the bodies reads, each once.
std::vector<CapturedValue> allCaptured(std::initializer_list<const BodyRecord *> bodies);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_BODYRECORD_H
