//===- QueueState.h - The work that a queue has yet to do -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the handle of a queue (Queue.cpp), its tickets (Ticket.cpp), its memory on devices (QueueMemory.cpp)
// and the threads that run its work (QueueWorker.cpp) share.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_QUEUE_QUEUESTATE_H
#define WEFT_RUNTIME_QUEUE_QUEUESTATE_H

#include "runtime/queue/Queue.h"

#include "runtime/device/Device.h"
#include "runtime/memory/CachingAllocator.h"
#include "runtime/queue/Profiler.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weft::runtime {

/// The stream and memory of a queue on a device other than the host.
struct DeviceLane {
  Device &device;
  std::unique_ptr<DeviceStream> stream;
  MemoryBlock arena;
  uint64_t arena_user = 0; // the function whose call had it last
  // The block of scalars that its last call has sent, and where to; null if none is known to be there.
  const std::byte *scalars_at = nullptr;
  std::vector<std::byte> scalars;

  explicit DeviceLane(Device &of) : device(of) {}
  /// The moment until which issued work may use the arena.
  StreamPoints uses() {
    StreamPoints points;
    if (!stream)
      return points;
    if (Expected<Point> point = stream->record())
      points.push_back({stream->id(), *point});
    else
      stream = nullptr; // which waits
    return points;
  }
  void release_arena() {
    if (!arena.handle)
      return;
    device.allocator().free(arena, uses());
    device.allocator().note_arena_bytes(-static_cast<int64_t>(arena.bytes));
    arena = {};
    scalars_at = nullptr;
  }
};

/// The state that the queue's thread shares with the handle and with tickets. It may outlive the handle.
struct QueueState {
  struct Work {
    uint64_t number;
    std::function<void()> run;                    // empty on an external queue: a caller's place
    uint64_t bytes = 0;                           // the bytes that it keeps alive
    std::shared_ptr<IssuedWork> issued = nullptr; // in place of `run`
  };
  const StreamId id = new_stream_id();
  Queue handle{std::shared_ptr<QueueState>(std::shared_ptr<void>(), this)}; // Queue::of_work; it owns nothing
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Work> work;
  uint64_t submitted = 0; // places that were assigned
  uint64_t bytes = 0;     // the bytes that incomplete work keeps alive
  std::atomic<uint64_t> completed{0};
  uint64_t issued = 0;                   // the last place whose work has run or was issued
  std::shared_ptr<IssuedWork> in_flight; // a list of the work from completed + 1 to `issued`
  IssuedWork *last_in_flight = nullptr;
  std::atomic<bool> any_in_flight{false}; // whether there is work in that list
  bool finishing = false;                 // a thread is in finish_first()
  bool finishes_all = false; // nobody else will finish what is in flight: its own work destroyed the handle
  uint64_t granted = 0;      // on an external queue: the caller's place that the executor has reached
  bool stopping = false;
  Queue::Post post;                 // of an external queue
  int priority = 0;                 // of its streams
  Device *adopted_device = nullptr; // of Queue::adopting(),
  void *adopted_stream = nullptr;   // and the handle of its stream there
  Ticket before;                    // must be done before any work of this queue runs
  std::thread thread;
  uint64_t unposted = 0; // on an external queue: work whose post failed, and that runs with what comes next
  std::shared_ptr<Failure> failures; // that were reported, oldest first: a list that needs no memory
  std::exception_ptr thrown;         // by work that lets exceptions out
  // These are touched only by whoever runs the queue's work.
  MemoryBlock arena;
  std::vector<std::unique_ptr<DeviceLane>> lanes; // of devices beside the host
  StreamPoints awaited;                           // by streams that are made from now on

  std::atomic<size_t> arena_bytes{0};  // the host's
  std::atomic<bool> has_arenas{false}; // on any device

  bool has_room(uint64_t more) const {
    const uint64_t waiting = submitted - completed.load(std::memory_order_relaxed);
    return waiting < Queue::manyWaiting ||
           (waiting < Queue::maxWaiting && bytes + more <= Queue::maxWaitingBytes);
  }
  bool busy() const { return completed.load(std::memory_order_relaxed) != submitted; }
  /// Whether the work with this number is next. Call it with the lock held.
  bool turn(uint64_t number) const { return completed.load(std::memory_order_relaxed) + 1 == number; }
  void wait(uint64_t number) {
    if (completed.load(std::memory_order_acquire) >= number)
      return;
    const ProfiledSpan span(Profiler::Span::wait, "wait for a call");
    std::unique_lock lock(mutex);
    wait_until(lock, [&] { return completed.load(std::memory_order_relaxed) >= number; });
  }
  /// Waits until a condition holds that completed work makes true. Nobody else may be there to finish issued
  /// work, so whoever waits does it.
  template <typename Condition> void wait_until(std::unique_lock<std::mutex> &lock, Condition condition) {
    while (!condition())
      if (!in_flight || finishing)
        changed.wait(lock);
      else
        finish_first(lock);
  }
  void wait_issued(uint64_t number) {
    // The queue's thread issues what was submitted without help, unlike the end of what is in flight.
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return issued >= number; });
  }
  void complete_locked() {
    const uint64_t now = completed.load(std::memory_order_relaxed) + 1;
    issued = std::max(issued, now);
    completed.store(now, std::memory_order_release);
    changed.notify_all();
  }
  /// Waits for the first work in flight, and finishes it. No other thread may be doing that.
  void finish_first(std::unique_lock<std::mutex> &lock);
  void finish_one(std::unique_lock<std::mutex> &lock);
  /// Whether there was any.
  bool finish_passed(std::unique_lock<std::mutex> &lock) {
    bool any = false;
    for (; in_flight && !finishing && in_flight->passed(); any = true)
      finish_first(lock);
    return any;
  }
  /// The work that was issued for a place, until it is finished. Call it with the lock held.
  std::shared_ptr<IssuedWork> issued_at(uint64_t number) const {
    const std::shared_ptr<IssuedWork> *at = &in_flight;
    while (*at && (*at)->number_ != number)
      at = &(*at)->next_;
    return *at;
  }
  /// Appends the moments at which the work in flight up to a place ends on its streams. False if some of it
  /// does not tell. Call it with the lock held.
  bool add_ends(uint64_t last, StreamPoints &points) const {
    for (const IssuedWork *work = in_flight.get(); work && work->number_ <= last; work = work->next_.get())
      if (!work->add_ends(points))
        return false;
    return true;
  }
  /// Adds work that was issued for a place, with the lock held.
  void add_issued(std::shared_ptr<IssuedWork> added, uint64_t number, uint64_t kept) {
    issued = added->number_ = number;
    added->bytes_ = kept;
    IssuedWork *const last = added.get();
    (in_flight ? last_in_flight->next_ : in_flight) = std::move(added);
    last_in_flight = last;
    any_in_flight.store(true, std::memory_order_relaxed);
    changed.notify_all();
  }
  void issue_work(Work &next, std::unique_lock<std::mutex> &lock);
  void run();
  void run_posted();
  bool run_next(std::unique_lock<std::mutex> &lock);
  void run_work(Work &next, std::unique_lock<std::mutex> &lock);
  Status synchronize();
  /// Appends a failure to those that were not reported to the host, and removes the others.
  void report_locked(std::shared_ptr<Failure> failure) {
    std::shared_ptr<Failure> *end = &failures;
    while (*end)
      if ((*end)->seen())
        *end = std::exchange((*end)->reported_next_, nullptr);
      else
        end = &(*end)->reported_next_;
    *end = std::move(failure);
  }
  DeviceLane &lane(Device &device) {
    for (const std::unique_ptr<DeviceLane> &lane : lanes)
      if (&lane->device == &device)
        return *lane;
    return *lanes.emplace_back(std::make_unique<DeviceLane>(device));
  }
  void release_arenas() {
    for (const std::unique_ptr<DeviceLane> &lane : lanes)
      lane->release_arena();
    if (arena.handle)
      release_arena();
    has_arenas.store(false, std::memory_order_relaxed);
  }
  void release_arena() {
    CachingAllocator::get().free(arena);
    CachingAllocator::get().note_arena_bytes(-static_cast<int64_t>(arena.bytes));
    arena = {};
    arena_bytes.store(0, std::memory_order_relaxed);
  }
  ~QueueState() {
    while (failures) // release one by one, because each owns the next: a recursion could be deep
      failures = std::exchange(failures->reported_next_, nullptr);
    release_arenas();
  }
};

/// A place in a queue.
struct Place {
  const QueueState *queue = nullptr;
  uint64_t number = 0;
  /// The place whose work this is part of: that work finishes what it depends on. Null for none.
  const Place *outer = nullptr;

  bool is_within(const QueueState &of) const { return queue == &of || (outer && outer->is_within(of)); }
};

/// What the calling thread does in queues. Each call reads several of these, so they are in static
/// thread-local storage, and `constinit` says that no thread has to initialize them: no access calls a
/// function.
struct QueueThread {
  bool runs_work = false; ///< it is the thread of a queue
  Place running_work;     ///< the place of the queue's work that it runs
  /// How many queues it has entered, and where it entered the last.
  int queues_entered = 0;
  Place last_entered;
  /// The caller's place that it is about to take on an external queue, whose executor may run what is posted
  /// at once, on this thread.
  const QueueState *takes_place_on = nullptr;
  uint64_t takes_place = 0;

  /// Counts an entered queue. A place counts once, because a caller that has entered an idle queue may still
  /// wait for its turn.
  void note_entered(const QueueState &queue, uint64_t number) {
    queues_entered += last_entered.queue != &queue || last_entered.number != number;
    last_entered = {&queue, number};
  }
  void note_left() {
    --queues_entered;
    last_entered = {};
  }
};
[[gnu::tls_model("initial-exec")]] extern constinit thread_local QueueThread queueThread;

/// The calling thread runs the work of a place for a scope.
class RunningWork {
public:
  RunningWork(const QueueState &queue, uint64_t number) : before_(queueThread.running_work) {
    queueThread.running_work = {&queue, number, before_.queue ? &before_ : nullptr};
  }
  ~RunningWork() { queueThread.running_work = before_; }
  RunningWork(const RunningWork &) = delete;
  RunningWork &operator=(const RunningWork &) = delete;

private:
  const Place before_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_QUEUE_QUEUESTATE_H
