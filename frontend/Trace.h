//===- Trace.h - Records a function -----------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_TRACE_H
#define WEFT_FRONTEND_TRACE_H

#include "frontend/Graph.h"

#include <functional>
#include <map>
#include <unordered_map>

namespace weft::frontend {

/// A slot from outside that a trace read or wrote.
struct TouchedSlot {
  std::shared_ptr<Slot> slot;
  Ref before;                       ///< its value outside
  Ref input;                        ///< what the trace sees of that
  std::shared_ptr<Slot> gradBefore; ///< its gradient outside, null for none
};

/// A mode of the program that a trace read, and that is therefore part of the signature: train or eval of a
/// module.
struct ModeGuard {
  std::shared_ptr<const bool> flag;
  bool value;
};

/// One run of the user's function, recorded. While it lives, operations on its thread go to it. A trace is a
/// transaction: `restore` gives every slot back what it had.
class Trace {
public:
  Trace();
  ~Trace();
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

  /// The trace under way on this thread, or null.
  static Trace *current();

  /// The input that stands for an argument.
  Ref addArgument(Spec spec, bool requiresGrad, Loc loc);
  /// Makes a slot from outside part of the trace.
  TouchedSlot &touch(const std::shared_ptr<Slot> &slot);
  void guardMode(std::shared_ptr<const bool> flag);
  /// Something that the function does beside its results, as printing: calls do it in the order of the trace.
  void addEffect(Ref effect) { effects_.push_back(std::move(effect)); }
  const std::vector<Ref> &effects() const { return effects_; }
  /// What to undo if the trace fails: state made by an optimiser in it.
  void onFailure(std::function<void()> undo) { undo_.push_back(std::move(undo)); }

  /// Ends recording and puts every slot back; what the trace left in them is in `after`.
  struct Change {
    TouchedSlot touched;
    Ref after;                       ///< the value that the trace left
    std::shared_ptr<Slot> gradAfter; ///< the gradient that the trace left, null for none
  };
  std::vector<Change> finish();

  const std::vector<Ref> &arguments() const { return arguments_; }
  const std::vector<ModeGuard> &modes() const { return modes_; }

private:
  void restore();
  Trace *previous_;
  bool active_ = true;
  std::vector<Ref> arguments_, effects_;
  std::vector<TouchedSlot> touched_;
  std::unordered_map<const Slot *, size_t> index_;
  std::vector<ModeGuard> modes_;
  std::vector<std::function<void()>> undo_;
};

/// While one lives, operations go to the lazy graph although a trace is under way: for state that counts as
/// older than the trace.
class SuspendTrace {
public:
  SuspendTrace();
  ~SuspendTrace();
  SuspendTrace(const SuspendTrace &) = delete;
  SuspendTrace &operator=(const SuspendTrace &) = delete;

private:
  Trace *suspended_;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_TRACE_H
