//===- TraceScope.h - Whether a trace is under way, and which ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_TRACESCOPE_H
#define WEFT_FRONTEND_GRAPH_TRACESCOPE_H

#include <cstdint>

namespace weft::frontend {

/// A trace as nodes and slots know it: that one is under way on this thread, and which. What a trace records
/// is in Trace.h; every scope is one.
class TraceScope {
public:
  TraceScope(const TraceScope &) = delete;
  TraceScope &operator=(const TraceScope &) = delete;

  /// The innermost one of this thread, or null.
  static TraceScope *current();

protected:
  /// Begins: operations on this thread go to it.
  TraceScope();
  ~TraceScope() = default;
  /// Ends: they go to what was current when it began.
  void leave();

private:
  friend class TraceMark;
  const uint64_t number_; ///< of all traces of the process, from 1 on
  TraceScope *previous_;
};

/// Which trace something was made in, if any. A number of its own, since the next trace may well lie where
/// the last one did.
class TraceMark {
public:
  TraceMark() = default;
  TraceMark(const TraceScope *trace) : number_(trace ? trace->number_ : 0) {}
  explicit operator bool() const { return number_ != 0; }
  friend bool operator==(const TraceMark &, const TraceMark &) = default;

private:
  uint64_t number_ = 0;
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
  TraceScope *suspended_;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_TRACESCOPE_H
