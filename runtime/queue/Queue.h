//===- Queue.h - Asynchronous queues and events of the CPU ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A queue runs what is submitted in order, on a thread of its own. When it is idle, a caller may instead
// enter it and run something itself: a hand-off between threads costs 5-10 us, more than a small plan.
// Everything that runs, on whichever thread, has a number; the work with number n runs once n - 1 are done.
//
// An embedder may bring its own executor (Queue::external): the queue then posts one piece of work to it for
// every submission, and never runs anything on a caller, so that it stays in order with what the embedder
// puts there itself.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_QUEUE_QUEUE_H
#define WEFT_RUNTIME_QUEUE_QUEUE_H

#include "runtime/support/Point.h"
#include "weft/export.hpp"
#include "weft/status.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace weft::runtime {

/// Numbers the calls and observations of a process, so that "before the host saw the error" has a meaning.
WEFT_RUNTIME_API uint64_t next_sequence();

/// Why an asynchronous call failed. It blocks what touches the same state until the host has seen it:
/// calls that were issued before that moment do nothing.
class Failure {
public:
  explicit Failure(Status status) : status_(std::move(status)) {}
  const Status &status() const { return status_; }
  bool seen() const { return seen_at_.load(std::memory_order_acquire) != 0; }
  void mark_seen() {
    uint64_t unseen = 0;
    seen_at_.compare_exchange_strong(unseen, next_sequence(), std::memory_order_acq_rel);
  }
  /// Whether a call with this sequence number was issued before the host saw the failure.
  bool blocks(uint64_t sequence) const {
    const uint64_t seen = seen_at_.load(std::memory_order_acquire);
    return seen == 0 || sequence < seen;
  }

private:
  friend struct QueueState;
  const Status status_;
  std::atomic<uint64_t> seen_at_{0};
  std::shared_ptr<Failure> reported_next_; ///< in its queue's list
};

/// When a plan runs on the thread of its caller.
enum class QueueMode {
  automatic, ///< when it is cheap and the queue is idle
  async,     ///< never
  inlined,   ///< always: the caller waits until the queue is idle
};

/// That there is no memory for a call. Copies share one text: they allocate nothing.
WEFT_RUNTIME_API const Status &out_of_memory();

/// The mode that WEFT_CPU_QUEUE names: auto (also when unset), async or inline.
WEFT_RUNTIME_API Expected<QueueMode> queue_mode_from_environment();

struct QueueState;
class Queue;
class Device;
class DeviceStream;

/// A point in a queue: done once everything submitted up to it has run.
class WEFT_RUNTIME_API Ticket {
public:
  Ticket() = default;
  explicit operator bool() const { return state_ != nullptr; }
  bool done() const;
  void wait() const;
  bool belongs_to(const Queue &queue) const;
  bool same_queue(const Ticket &other) const { return state_ == other.state_; }
  /// Of the queue, which no other stream has.
  StreamId stream() const;
  /// The same moment, for those who do not know queues.
  Point point() const;
  /// Whether the calling thread does the work that ends with this ticket: it knows best what it is done with.
  bool is_of_running_work() const;

private:
  friend class Queue;
  std::shared_ptr<QueueState> state_;
  uint64_t number_ = 0;
};

class WEFT_RUNTIME_API Queue {
public:
  /// Takes a piece of work and runs it later, once, on any thread; pieces run in the order they were posted.
  /// A piece that is run again does nothing.
  using Post = std::function<void(std::function<void()>)>;

  /// The process's queue; it is never destroyed.
  static Queue &get_default();
  /// The queue that calls of this thread go to: the default, unless set_current() said otherwise.
  static Queue &current();
  /// Null brings the default back. The queue that was set before, or null.
  static Queue *set_current(Queue *queue);
  /// The next of `poolSize` queues, round robin: number poolSize + 1 is the first again (torch-semantics row
  /// 51). They live as long as the process.
  static Queue &pooled();
  static constexpr size_t poolSize = 32;
  /// A queue on an embedder's executor. Its destructor waits until what was submitted has run.
  static std::unique_ptr<Queue> external(Post post);
  /// Waits for everything submitted so far to every queue of the process; the first failure unseen.
  static Status synchronize_all();
  /// Gives the arenas of all queues back, as trim() does.
  static void trim_all();

  Queue();
  /// Runs what was submitted, then ends.
  ~Queue();
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  /// Runs `work` when its turn comes; until then it keeps `bytes` alive, as far as await_room() is concerned.
  /// What `work` throws is a failure that synchronize() returns. Throws where there is no memory, or no
  /// thread, for it, and has then changed nothing.
  Ticket submit(std::function<void()> work, uint64_t bytes = 0);
  /// Waits while the queue has `maxWaiting` pieces of work that have not run, or more than `manyWaiting` that
  /// keep more than `maxWaitingBytes` alive together with `bytes` more: a caller that never looks at results
  /// must not run ahead without end. Not on an external queue, whose executor may be the caller's thread, nor
  /// from the work of a queue.
  void await_room(uint64_t bytes);
  static constexpr uint64_t maxWaiting = 1024, manyWaiting = 4, maxWaitingBytes = uint64_t(1) << 30;
  /// Waits for everything submitted so far and returns the first failure that the host has not seen; all
  /// failures up to here count as seen.
  Status synchronize();
  bool idle() const;
  bool is_external() const;
  /// Work submitted to this queue from now on runs after everything submitted to `other` so far.
  void wait_for(Queue &other);

  /// Claims an idle queue for the calling thread: nothing of it runs until leave(). Null when it is busy, and
  /// for an external queue.
  Ticket try_enter();
  /// Takes the next place in the queue for the calling thread, without waiting for it.
  Ticket reserve();
  /// Waits until the place that reserve() gave has come; then the queue is the caller's until leave().
  static void await_turn(const Ticket &place);
  /// reserve() and await_turn(). Not from the queue's own work.
  void enter();
  void leave();

  /// Keeps a failure for synchronize(). Each is reported once.
  void report(std::shared_ptr<Failure> failure);

  /// The memory for temporaries of plans, at least `bytes` large and 64-byte aligned. Only from the queue's
  /// work or between enter and leave. Growing gives the old memory back first: contents are not kept.
  Expected<std::byte *> arena(size_t bytes);
  size_t arena_bytes() const;
  /// The same on a device, in its memory.
  Expected<std::byte *> arena(Device &device, size_t bytes);
  /// The stream that this queue's calls use on a device, under the same rule.
  Expected<DeviceStream *> stream(Device &device);
  /// Ends that stream, once what was issued to it is done; the next call gets another.
  void end_stream(Device &device);
  /// Gives the arena back once the queue is idle: an external queue's by a piece of its work, for which the
  /// call does not wait.
  void trim();

  /// Whether this process has ever had a queue beside the default. While it has not, calls that run on their
  /// callers need not be noted in the buffers they use: one queue orders them.
  static bool several();

private:
  friend class Ticket;
  friend class Event;
  explicit Queue(std::shared_ptr<QueueState> state);
  static std::shared_ptr<QueueState> make_state();
  static Ticket submit(const std::shared_ptr<QueueState> &state, std::function<void()> work,
                       uint64_t bytes = 0);
  static Ticket reserve(const std::shared_ptr<QueueState> &state);
  static void trim(const std::shared_ptr<QueueState> &state);
  std::shared_ptr<QueueState> state_;
};

/// Gives a queue that was entered back when the scope is left, whichever way.
class LeaveScope {
public:
  explicit LeaveScope(Queue &queue) : queue_(queue) {}
  ~LeaveScope() { queue_.leave(); }
  LeaveScope(const LeaveScope &) = delete;
  LeaveScope &operator=(const LeaveScope &) = delete;

private:
  Queue &queue_;
};

/// Makes a queue current on this thread for a scope.
class CurrentQueueScope {
public:
  explicit CurrentQueueScope(Queue &queue) : before_(Queue::set_current(&queue)) {}
  ~CurrentQueueScope() { Queue::set_current(before_); }
  CurrentQueueScope(const CurrentQueueScope &) = delete;
  CurrentQueueScope &operator=(const CurrentQueueScope &) = delete;

private:
  Queue *before_;
};

/// A moment in a queue, as in CUDA: recorded by one, waited for by others or by the host.
class WEFT_RUNTIME_API Event {
public:
  Event();
  /// Marks this point of `queue`; recorded again, the event means the newer point.
  void record(Queue &queue);
  /// Work submitted to `queue` from now on runs after the event. An event never recorded holds up nothing.
  void wait(Queue &queue) const;
  /// Blocks the calling thread.
  void synchronize() const;
  /// Whether the point has passed; true for an event never recorded.
  bool query() const;
  /// Milliseconds from `start` to this event; an error unless both were recorded and have passed.
  Expected<double> elapsed_time(const Event &start) const;

private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_QUEUE_QUEUE_H
