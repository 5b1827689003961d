//===- Trace.h - Records a function -----------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_TRACE_H
#define WEFT_FRONTEND_GRAPH_TRACE_H

#include "frontend/graph/Graph.h"
#include "weft/compile.hpp"
#include "weft/dim.hpp"

#include <functional>
#include <optional>
#include <unordered_map>

namespace weft::frontend {

/// A slot that a trace read or wrote and that is older than the trace, or stands for an argument.
struct TouchedSlot {
  std::shared_ptr<Slot> slot;
  Ref before; ///< its value outside; null for a view and for an argument
  Ref input;  ///< what the trace sees of that; null for a view, whose base is touched too
  std::shared_ptr<Slot> gradBefore; ///< its gradient outside, null for none
  int argument = -1;                ///< stands for this argument of the call, or its gradient
  std::shared_ptr<Slot> gradientOf; ///< it is the gradient of this slot
  bool gradSeen = false;            ///< the function depends on whether there was a gradient, or on its value
  bool gradDropped = false;         ///< its gradient was set before the function depended on it
};

/// Train or eval of a module.
struct ModeChange {
  std::shared_ptr<bool> flag;
  bool before = true;
  bool read = false;         ///< before it was written: the value is part of the signature
  std::optional<bool> after; ///< written: what every call leaves
};

/// One run of the user's function, recorded. Until `finish`, operations on its thread go to it. A trace is a
/// transaction: `restore` gives every slot back what it had, and without `keep` the state that was made for
/// it goes with it.
class Trace : public TraceScope {
public:
  Trace();
  ~Trace();
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

  /// The trace under way on this thread, or null.
  static Trace *current() { return static_cast<Trace *>(TraceScope::current()); }

  /// A tensor that stands for an argument of the call: same type, or the one that is declared for it, and the
  /// same place in gradients.
  Tensor addArgument(int number, const std::shared_ptr<Slot> &caller, Loc loc,
                     const Spec *declared = nullptr);
  /// The symbols of declared types.
  std::vector<Dim> symbols;
  /// The compiled function that is traced, and what may be done to its bits.
  std::string function;
  Numerics numerics = Numerics::eager;
  /// Makes a slot from outside part of the trace.
  TouchedSlot &touch(const std::shared_ptr<Slot> &slot);
  /// The function is about to depend on the gradient of this slot, if any: a part of the signature, unless
  /// the function has set the gradient before.
  void seeGrad(const std::shared_ptr<Slot> &slot);
  /// The function sets the gradient of this slot, whatever it was.
  void dropGrad(const std::shared_ptr<Slot> &slot);
  void readMode(const std::shared_ptr<bool> &flag);
  void writeMode(const std::shared_ptr<bool> &flag, bool value);
  /// Something that the function does beside its results, as printing: calls do it in the order of the trace.
  void addEffect(Ref effect) { effects_.push_back(std::move(effect)); }
  const std::vector<Ref> &effects() const { return effects_; }
  /// What to undo where nothing comes of the trace: state made by an optimiser in it.
  void onFailure(std::function<void()> undo) { undo_.push_back(std::move(undo)); }
  /// What was recorded is complete, with all that follows from it: nothing is undone.
  void keep() { undo_.clear(); }
  /// Notes that the function takes gradients itself.
  void noteBackward() { backward_ = true; }
  bool tookGradients() const { return backward_; }

  /// Ends recording and puts every slot back; what the trace left in them is in `after`.
  struct Change {
    TouchedSlot touched;
    Ref after;                       ///< the value that the trace left; null for a view
    std::shared_ptr<Slot> gradAfter; ///< the gradient that the trace left, null for none
    Ref gradValue;                   ///< its value, where the trace made it
  };
  std::vector<Change> finish();
  /// Whether a slot from outside was met by itself, and not as an argument.
  bool touched(const Slot &slot) const { return index_.contains(&slot); }
  const std::vector<ModeChange> &modes() const { return modes_; }

private:
  void restore();
  /// What was touched before, or is touched now; null for what the trace made.
  TouchedSlot *known(const std::shared_ptr<Slot> &slot);
  ModeChange &mode(const std::shared_ptr<bool> &flag);
  bool active_ = true, backward_ = false;
  std::vector<Ref> effects_;
  std::vector<TouchedSlot> touched_;
  std::unordered_map<const Slot *, size_t> index_;
  std::vector<ModeChange> modes_;
  std::vector<std::function<void()>> undo_;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_TRACE_H
