//===- Queue.h - Asynchronous queues and events of the CPU ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A queue runs submitted work in order, on a thread of its own. If it is idle, a caller may enter it and run
// work itself, because a hand-off between threads costs 5-10 us, more than a small plan. All work, on any
// thread, has a number; the work with number n runs when n - 1 are done.
//
// An embedder may provide an executor (Queue::external). The queue then posts one piece of work to it for
// every submission, and runs nothing on callers, so that its work stays in order with the embedder's own.
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
#include <span>
#include <string>
#include <vector>

namespace weft::runtime {

/// Numbers the calls and the reports of failures in a process, which orders them.
WEFT_RUNTIME_API uint64_t next_sequence();

/// The failure of an asynchronous call. Until it is reported to the host, it blocks calls that use the same
/// state: calls that were issued before the report do nothing.
class Failure {
public:
  explicit Failure(Status status) : status_(std::move(status)) {}
  const Status &status() const { return status_; }
  bool seen() const { return seen_at_.load(std::memory_order_acquire) != 0; }
  void mark_seen() {
    uint64_t unseen = 0;
    seen_at_.compare_exchange_strong(unseen, next_sequence(), std::memory_order_acq_rel);
  }
  /// Whether a call with this sequence number was issued before the failure was reported to the host.
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

/// Whether a plan runs on the thread of its caller.
enum class QueueMode {
  automatic, ///< if it is cheap and the queue is idle
  async,     ///< never
  inlined,   ///< always: the caller waits until the queue is idle
};

/// The error that there is no memory for a call. Copies share one text and allocate nothing.
WEFT_RUNTIME_API const Status &out_of_memory();

/// The mode that WEFT_CPU_QUEUE names: auto (also when unset), async or inline.
WEFT_RUNTIME_API Expected<QueueMode> queue_mode_from_environment();

struct QueueState;
class Queue;
class Device;
class DeviceStream;

/// A point in a queue. It is done when all work up to it has run.
class WEFT_RUNTIME_API Ticket {
public:
  Ticket() = default;
  explicit operator bool() const { return state_ != nullptr; }
  bool done() const;
  void wait() const;
  /// Whether the work has run, or goes on without the host; and waits for that.
  bool is_issued() const;
  void wait_issued() const;
  /// Appends the moments at which the issued work ends on the streams that carry it out; nothing if it is
  /// done. False if its streams do not tell: then the host has to wait.
  bool add_ends(StreamPoints &points) const;
  /// The same for all work of the queue up to this.
  bool add_ends_so_far(StreamPoints &points) const;
  /// An order in which tickets of one queue are in the order of their work.
  bool sorts_before(const Ticket &other) const {
    return state_ != other.state_ ? state_ < other.state_ : number_ < other.number_;
  }
  bool belongs_to(const Queue &queue) const;
  bool same_queue(const Ticket &other) const { return state_ == other.state_; }
  /// The number of the queue among the streams of the process.
  StreamId stream() const;
  /// The ticket as a point, for code that does not depend on queues.
  Point point() const;
  /// Whether the calling thread runs the work that ends with this ticket. That work may free its own memory
  /// without waiting for itself.
  bool is_of_running_work() const;

private:
  friend class Queue;
  std::shared_ptr<QueueState> state_;
  uint64_t number_ = 0;
};

/// Work that goes on after it was issued, as a call on another device does. A queue issues the next work
/// meanwhile, and finishes what it has issued in order.
class WEFT_RUNTIME_API IssuedWork {
public:
  virtual ~IssuedWork();
  /// Issues the work, when everything before it has run or was issued.
  virtual void issue() noexcept = 0;
  /// Whether finish() has nothing to wait for.
  virtual bool passed() const = 0;
  /// Waits for the end of the work, and does what comes after it. Called once, by a thread that needs the
  /// result, or by one that found that it has passed.
  virtual void finish() noexcept = 0;
  /// Appends the moments, once it was issued, after which its streams are done with it. False if it has none.
  virtual bool add_ends(StreamPoints &) const { return false; }

private:
  friend class Queue;
  friend struct QueueState;
  std::shared_ptr<IssuedWork> next_; ///< in its queue's list, which needs no memory
  uint64_t number_ = 0, bytes_ = 0;
};

class WEFT_RUNTIME_API Queue {
public:
  /// Takes a piece of work, and must run it later, once, on any thread. Pieces must run in the order in which
  /// they were posted. A piece that is run again does nothing.
  using Post = std::function<void(std::function<void()>)>;

  /// The process's queue; it is never destroyed.
  static Queue &get_default();
  /// The queue for calls of this thread: the default, or that of set_current().
  static Queue &current();
  /// Sets the queue for calls of this thread; null sets the default. Returns the queue that was set before,
  /// or null.
  static Queue *set_current(Queue *queue);
  /// The next of `poolSize` queues of a priority, round robin: number poolSize + 1 is the first again
  /// (torch-semantics row 51). They live as long as the process. Streams of the queue on devices have the
  /// priority, which is 0 or less: a smaller number comes first. Numbers below `firstPriority` count as that.
  static Queue &pooled(int priority = 0);
  static constexpr int firstPriority = -3;
  static constexpr size_t poolSize = 32;
  /// A queue on an embedder's executor. Its destructor waits until all submitted work has run.
  static std::unique_ptr<Queue> external(Post post);
  /// A queue whose calls run on a stream of a device's driver that another part of the program has made. They
  /// are issued by their callers, so that what is put on that stream afterwards comes after them.
  static Expected<std::unique_ptr<Queue>> adopting(Device &device, void *native);
  /// Waits for all work submitted so far to every queue of the process. Returns the first unreported failure.
  static Status synchronize_all();
  /// Releases the arenas of all queues, as trim() does.
  static void trim_all();

  Queue();
  /// Runs all submitted work first. If work of the queue itself destroys it, or memory that such work gives
  /// back, the rest is run after that.
  ~Queue();
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  /// Runs `work` when its turn comes. `bytes` is the memory that it keeps alive until then, for await_room().
  /// If `work` throws, synchronize() returns that failure. Throws if there is no memory or no thread for the
  /// work, and has then changed nothing.
  Ticket submit(std::function<void()> work, uint64_t bytes = 0);
  /// The same for work that another device carries out. The ticket is done when it is finished. Not for an
  /// external queue.
  Ticket submit(std::shared_ptr<IssuedWork> work, uint64_t bytes = 0);
  /// Claims the queue for the calling thread, which issues such work itself, until end_issue(). Returns a
  /// null ticket if other work has not been issued yet, or if the queue is external.
  Ticket try_begin_issue();
  void end_issue(const Ticket &place, std::shared_ptr<IssuedWork> work, uint64_t bytes = 0);
  /// Finishes the issued work that has passed, without waiting. That frees what only this work held, and so
  /// runs what embedders do when their memory is free: no lock may be held that this could take.
  void finish_passed();
  /// The same for all queues of the process. Returns whether there was any.
  static bool finish_passed_all();
  /// Waits for all issued work, and finishes it: what it held is then free.
  void finish_issued();
  /// Waits while the queue has `maxWaiting` pieces of work that have not run, or more than `manyWaiting` that
  /// keep more than `maxWaitingBytes` alive together with `bytes` more. So a caller that never reads results
  /// cannot run ahead without limit. Does nothing for an external queue, whose executor may be the caller's
  /// thread, and in the work of a queue.
  void await_room(uint64_t bytes);
  static constexpr uint64_t maxWaiting = 1024, manyWaiting = 4, maxWaitingBytes = uint64_t(1) << 30;
  /// Waits for all work submitted so far, and returns the first unreported failure. All failures up to here
  /// then count as reported.
  Status synchronize();
  bool idle() const;
  bool is_external() const;
  /// Whether it is one of adopting().
  bool adopts_stream() const;
  /// Work submitted to this queue from now on runs after everything submitted to `other` so far. Where
  /// devices carry both out, their streams wait, and the host goes on.
  void wait_for(Queue &other);
  /// Issues work that takes no time on the caller, if it is `ready` and comes next, or submits it. Not for an
  /// external queue.
  void issue(const std::shared_ptr<IssuedWork> &work, bool ready);
  int priority() const;

  /// Claims an idle queue for the calling thread: no work of it runs until leave(). Returns a null ticket if
  /// the queue is busy or external. Issued work counts until finish_passed() or a wait has finished it.
  Ticket try_enter();
  /// The same for a caller that needs no ticket. Returns whether it has the queue.
  bool enter_if_idle();
  /// Takes the next place in the queue for the calling thread, without waiting for it.
  Ticket reserve();
  /// Waits for the turn of a place from reserve(). The queue then belongs to the caller until leave().
  static void await_turn(const Ticket &place);
  /// reserve() and await_turn(). Must not be called from the queue's own work.
  void enter();
  void leave();

  /// The queue for its own work, which may outlive this object: the memory that work gives back can run code
  /// of its owner, who destroys the queue. Only the functions below are for it: what returns a ticket is not.
  Queue &of_work();
  /// Records a failure for synchronize(), which reports it once.
  void report(std::shared_ptr<Failure> failure);

  /// Memory for temporaries of plans, of at least `bytes` bytes, 64-byte aligned. Call it only in the queue's
  /// work, or between enter() and leave(). To grow, it releases the old memory first, so contents are lost.
  Expected<std::byte *> arena(size_t bytes);
  size_t arena_bytes() const;
  /// The same on a device, in its memory, for a call of the function with this number.
  Expected<std::byte *> arena(Device &device, size_t bytes, uint64_t function);
  /// Whether that memory has this block of scalars at `at`: the function's last call has sent it there, and
  /// no other function has had the memory since. Under the same rule.
  bool has_scalars(Device &device, const std::byte *at, std::span<const std::byte> block) const;
  /// Takes note that it will, in the order of the device's stream.
  void note_scalars(Device &device, const std::byte *at, std::span<const std::byte> block);
  /// The stream that this queue's calls use on a device, under the same rule.
  Expected<DeviceStream *> stream(Device &device);
  /// Those that there are, under the same rule.
  std::vector<DeviceStream *> streams();
  /// Moments after which all that was issued to the queue's streams is done, under the same rule. `timed`:
  /// one moment at most, which DeviceStream::record_timed() gives.
  StreamPoints record(bool timed = false);
  /// What is issued to the queue's streams from now on waits for the points, under the same rule; also what
  /// is issued to streams that there are not yet.
  void order_after(const StreamPoints &points);
  /// Ends that stream when its work is done. The next call gets a new stream.
  void end_stream(Device &device);
  /// Releases the arena when the queue is idle. An external queue releases it in a piece of work, for which
  /// the call does not wait.
  void trim();

  /// Whether this process has ever had a queue other than the default. If not, calls that run on their
  /// callers need not be recorded in their buffers, because one queue orders them.
  static bool several();

private:
  friend class Ticket;
  friend class Event;
  friend struct QueueState;
  explicit Queue(std::shared_ptr<QueueState> state);
  static std::shared_ptr<QueueState> make_state();
  static Ticket submit(const std::shared_ptr<QueueState> &state, std::function<void()> work,
                       uint64_t bytes = 0);
  static Ticket reserve(const std::shared_ptr<QueueState> &state);
  static void trim(const std::shared_ptr<QueueState> &state);
  /// Runs all submitted work, for the destructor.
  void wait_for_end();
  std::shared_ptr<QueueState> state_;
};

/// Leaves a queue that was entered, at the end of the scope.
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

/// A point in a queue, as in CUDA: one queue records it, and other queues or the host wait for it. Streams of
/// devices wait for each other without the host.
class WEFT_RUNTIME_API Event {
public:
  /// `timed`: for elapsed_time().
  explicit Event(bool timed = true);
  /// Records the current point of `queue`. If the event is recorded again, it stands for the newer point.
  void record(Queue &queue);
  /// Work submitted to `queue` from now on runs after the event. An event that was never recorded has no
  /// effect.
  void wait(Queue &queue) const;
  /// Blocks the calling thread until the point has passed.
  void synchronize() const;
  /// Whether the point has passed; true for an event that was never recorded.
  bool query() const;
  /// Milliseconds from `start` to this event; an error unless both were recorded and have passed. By the
  /// clock of the device, if both points are on one; otherwise by that of the host, which learns that work of
  /// a device has ended when something asks.
  Expected<double> elapsed_time(const Event &start) const;

private:
  struct State;
  struct Recording;
  struct RecordingWork;
  struct RecordWork;
  struct WaitWork;
  std::shared_ptr<State> state_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_QUEUE_QUEUE_H
