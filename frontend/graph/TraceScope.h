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

/// The part of a trace that nodes and slots need: whether one is under way on this thread, and which. Every
/// scope is a `Trace` (Trace.h), which has the rest.
class TraceScope {
public:
  TraceScope(const TraceScope &) = delete;
  TraceScope &operator=(const TraceScope &) = delete;

  /// The innermost scope of this thread, or null.
  static TraceScope *current();

protected:
  /// Makes the scope current: it receives the operations of this thread.
  TraceScope();
  ~TraceScope() = default;
  /// Makes the scope current again that was so before.
  void leave();

private:
  friend class TraceMark;
  const uint64_t number_; ///< from 1 on, different for all traces of the process
  TraceScope *previous_;
};

/// Which trace something was made in, if any. It is a number and no address, since a later trace may have the
/// same address.
class TraceMark {
public:
  TraceMark() = default;
  TraceMark(const TraceScope *trace) : number_(trace ? trace->number_ : 0) {}
  explicit operator bool() const { return number_ != 0; }
  friend bool operator==(const TraceMark &, const TraceMark &) = default;

private:
  uint64_t number_ = 0;
};

/// While it exists, operations are recorded in the lazy graph although a trace is under way. For state that
/// must count as older than the trace.
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
