//===- Recording.h - The lock, serial numbers and modes of recording -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_RECORDING_H
#define WEFT_FRONTEND_GRAPH_RECORDING_H

#include <cstdint>
#include <mutex>

namespace weft::frontend {

class TraceScope;

/// A recursive mutex that knows how often its thread holds it. While a thread holds it, every slot has the
/// value that this thread sees (TraceScope.h).
class GraphMutex {
public:
  void lock() {
    mutex_.lock();
    ++depth_;
    if (traces_ > 0) [[unlikely]]
      showOwnValues();
  }
  void unlock() {
    --depth_;
    mutex_.unlock();
  }
  /// Only the thread that holds it may ask.
  int depth() const { return depth_; }

private:
  friend class TraceScope;
  void showOwnValues() noexcept;
  std::recursive_mutex mutex_;
  int depth_ = 0;
  int traces_ = 0;              ///< how many traces are under way, in all threads
  TraceScope *shown_ = nullptr; ///< the innermost trace whose values the slots have, or null
};

/// The lock of the whole graph. It is recursive because functions of the interface call each other.
GraphMutex &graphMutex();
using GraphLock = std::lock_guard<GraphMutex>;
using UniqueGraphLock = std::unique_lock<GraphMutex>;

/// While it exists, functions called on this thread may release the graph's lock to compile. It is for entry
/// points of the interface that afterwards rely on nothing they read from the graph before. If the lock was
/// held already when the entry point took it, nothing is permitted.
class PausePermit {
public:
  PausePermit();
  ~PausePermit();
  PausePermit(const PausePermit &) = delete;
  PausePermit &operator=(const PausePermit &) = delete;

private:
  bool previous_;
};

/// Releases the graph's lock while it exists, if that is permitted.
class GraphPause {
public:
  GraphPause();
  ~GraphPause();
  GraphPause(const GraphPause &) = delete;
  GraphPause &operator=(const GraphPause &) = delete;
  /// Whether the lock was released, so that other threads may have changed the graph.
  explicit operator bool() const { return depth_ > 0; }

private:
  int depth_ = 0;
};

/// Releases the graph's lock while it exists, to run code of the user. That code is like any caller of the
/// interface: a `PausePermit` from before does not hold in it.
class GraphRelease {
public:
  GraphRelease();
  ~GraphRelease();
  GraphRelease(const GraphRelease &) = delete;
  GraphRelease &operator=(const GraphRelease &) = delete;

private:
  const int depth_;
  const bool previous_;
};

/// Increases with every call, in all threads.
uint64_t nextSerial();
/// The number of this thread, from 1 on.
uint32_t threadNumber();
/// How many nodes this thread has recorded.
uint64_t &recordedNodes();

/// Whether operations on this thread record gradients.
bool &gradEnabled();

/// While it exists, operations on this thread record gradients, or do not.
class GradMode {
public:
  explicit GradMode(bool enabled) : previous_(gradEnabled()) { gradEnabled() = enabled; }
  ~GradMode() { gradEnabled() = previous_; }
  GradMode(const GradMode &) = delete;
  GradMode &operator=(const GradMode &) = delete;

private:
  bool previous_;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_RECORDING_H
