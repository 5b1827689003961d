//===- TraceScope.h - The current trace of a thread -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_TRACESCOPE_H
#define WEFT_FRONTEND_GRAPH_TRACESCOPE_H

#include <cstdint>

namespace weft::frontend {

struct Slot;
class TraceMark;

/// The part of a trace that nodes, slots and the graph's lock need: whether one is under way on this thread,
/// and which. Every scope is a `Trace` (Trace.h), which has the rest.
///
/// A trace gives slots values that only its own thread may see, and it does not hold the graph's lock. So the
/// slots hold the values of one thread at a time: the first lock that another thread takes withdraws those of
/// the trace, and the next lock of the trace's thread installs them again. While no other thread uses the
/// graph, nothing is exchanged.
class TraceScope {
public:
  TraceScope(const TraceScope &) = delete;
  TraceScope &operator=(const TraceScope &) = delete;

  /// The innermost scope of this thread, or null.
  static TraceScope *current();
  /// The trace whose values of slots this thread sees: the innermost one, even while it is suspended.
  static TraceScope *innermost();
  /// Called before a view that is older than the trace is cut off its base. Returns whether it is that in the
  /// trace only.
  virtual bool noteCut(Slot &view) = 0;

  /// Whether this trace is inside of the one that the mark names.
  bool isInside(const TraceMark &mark) const;

protected:
  TraceScope();
  virtual ~TraceScope() = default;
  /// Makes the scope current: it receives the operations of this thread. The caller holds the graph's lock.
  void enter();
  /// Makes the scope current again that was so before. The caller holds the graph's lock, and has given every
  /// slot the value from before the trace.
  void leave();
  /// \name Called with the graph's lock held
  /// They allocate nothing: who takes a lock that is out of memory must not find half of the values
  /// exchanged.
  /// @{
  /// Gives the slots the values of the trace again.
  virtual void install() noexcept = 0;
  /// Gives the slots the values that they have for the rest of the program.
  virtual void withdraw() noexcept = 0;
  /// @}

private:
  friend class TraceMark;
  friend class GraphMutex;
  static void installFrom(TraceScope *innermost) noexcept;
  const uint64_t number_;          ///< from 1 on, different for all traces of the process
  TraceScope *previous_ = nullptr; ///< what was current before
  TraceScope *outer_ = nullptr; ///< the trace of this thread, perhaps suspended, inside of which this one is
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
/// must count as older than the trace. Slots have the trace's values nevertheless.
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
