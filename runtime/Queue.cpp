//===- Queue.cpp - Asynchronous queues and events of the CPU --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Queue.h"

#include "runtime/HostAllocator.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace weft::runtime {

uint64_t next_sequence() {
  static std::atomic<uint64_t> counter{1};
  return counter.fetch_add(1, std::memory_order_relaxed);
}

Expected<QueueMode> queue_mode_from_environment() {
  const char *value = std::getenv("WEFT_CPU_QUEUE");
  const std::string_view text = value ? value : "auto";
  if (text == "auto" || text.empty())
    return QueueMode::automatic;
  if (text == "async")
    return QueueMode::async;
  if (text == "inline")
    return QueueMode::inlined;
  return Status::error("WEFT_CPU_QUEUE is '" + std::string(text) + "'; expected auto, async or inline");
}

/// What the queue's thread shares with the handle and with tickets: it may outlive the handle.
struct QueueState {
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;
  uint64_t submitted = 0;
  std::atomic<uint64_t> completed{0};
  bool entered = false; // a caller runs something itself
  bool stopping = false;
  std::thread thread;
  std::vector<std::shared_ptr<Failure>> failures;
  HostBlock arena; // touched only by whoever runs the queue's work
  std::atomic<size_t> arena_bytes{0};

  bool busy() const { return entered || completed.load(std::memory_order_relaxed) != submitted; }
  void wait(uint64_t number) {
    if (completed.load(std::memory_order_acquire) >= number)
      return;
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return completed.load(std::memory_order_relaxed) >= number; });
  }
  void run();
  void release_arena() {
    HostAllocator::get().free(arena);
    HostAllocator::get().note_arena_bytes(-static_cast<int64_t>(arena.bytes));
    arena = {};
    arena_bytes.store(0, std::memory_order_relaxed);
  }
  ~QueueState() {
    if (arena.handle)
      release_arena();
  }
};

void QueueState::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return !entered && (stopping || !work.empty()); });
    if (work.empty())
      return;
    std::function<void()> next = std::move(work.front());
    work.pop_front();
    lock.unlock();
    next();
    // Buffers that only this call kept alive return to the allocator before the call counts as done.
    next = nullptr;
    lock.lock();
    completed.store(completed.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    changed.notify_all();
  }
}

bool Ticket::done() const { return !state_ || state_->completed.load(std::memory_order_acquire) >= number_; }
void Ticket::wait() const {
  if (state_)
    state_->wait(number_);
}
bool Ticket::belongs_to(const Queue &queue) const { return state_ == queue.state_; }

Queue &Queue::get_default() {
  static Queue *const queue = new Queue;
  return *queue;
}

Queue::Queue() : state_(std::make_shared<QueueState>()) {}

Queue::~Queue() {
  std::thread thread;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    thread = std::move(state_->thread);
  }
  state_->changed.notify_all();
  if (!thread.joinable())
    return;
  // The last handle may go away in the queue's own work; the thread then ends by itself.
  if (thread.get_id() == std::this_thread::get_id())
    thread.detach();
  else
    thread.join();
}

Ticket Queue::submit(std::function<void()> work) {
  Ticket ticket;
  ticket.state_ = state_;
  {
    const std::lock_guard lock(state_->mutex);
    state_->work.push_back(std::move(work));
    ticket.number_ = ++state_->submitted;
    if (!state_->thread.joinable() && !state_->stopping)
      state_->thread = std::thread([state = state_] { state->run(); });
  }
  state_->changed.notify_all();
  return ticket;
}

Status Queue::synchronize() {
  std::unique_lock lock(state_->mutex);
  const uint64_t last = state_->submitted;
  state_->changed.wait(
      lock, [&] { return !state_->entered && state_->completed.load(std::memory_order_relaxed) >= last; });
  std::vector<std::shared_ptr<Failure>> failures = std::move(state_->failures);
  state_->failures.clear();
  lock.unlock();
  Status first;
  for (const std::shared_ptr<Failure> &failure : failures) {
    if (first.ok() && !failure->seen())
      first = failure->status();
    failure->mark_seen();
  }
  return first;
}

bool Queue::idle() const {
  const std::lock_guard lock(state_->mutex);
  return !state_->busy();
}

bool Queue::try_enter() {
  const std::lock_guard lock(state_->mutex);
  if (state_->busy())
    return false;
  return state_->entered = true;
}

void Queue::enter() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return !state_->busy(); });
  state_->entered = true;
}

void Queue::leave() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->entered = false;
  }
  state_->changed.notify_all();
}

void Queue::report(std::shared_ptr<Failure> failure) {
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->failures, [](const std::shared_ptr<Failure> &known) { return known->seen(); });
  state_->failures.push_back(std::move(failure));
}

Expected<std::byte *> Queue::arena(size_t bytes) {
  QueueState &state = *state_;
  if (bytes > state.arena.bytes) {
    HostAllocator &allocator = HostAllocator::get();
    static const uint32_t label = allocator.intern_label("arena of temporaries");
    if (state.arena.handle)
      state.release_arena();
    Expected<HostBlock> block = allocator.allocate(bytes, label);
    if (!block)
      return block.status();
    state.arena = *block;
    state.arena_bytes.store(bytes, std::memory_order_relaxed);
    allocator.note_arena_bytes(static_cast<int64_t>(bytes));
  }
  return static_cast<std::byte *>(state.arena.data);
}

size_t Queue::arena_bytes() const { return state_->arena_bytes.load(std::memory_order_relaxed); }

void Queue::trim() {
  enter();
  if (state_->arena.handle)
    state_->release_arena();
  leave();
}

struct Event::State {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0; // how often record() was called
  uint64_t passed = 0;   // the newest of these that the queue has reached
  std::chrono::steady_clock::time_point time;

  void pass(uint64_t number) {
    {
      const std::lock_guard lock(mutex);
      if (number > passed) {
        passed = number;
        time = std::chrono::steady_clock::now();
      }
    }
    changed.notify_all();
  }
  void wait(uint64_t number) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return passed >= number; });
  }
  uint64_t newest() {
    const std::lock_guard lock(mutex);
    return recorded;
  }
};

Event::Event() : state_(std::make_shared<State>()) {}

void Event::record(Queue &queue) {
  uint64_t number;
  {
    const std::lock_guard lock(state_->mutex);
    number = ++state_->recorded;
  }
  if (queue.try_enter()) {
    state_->pass(number);
    queue.leave();
    return;
  }
  queue.submit([state = state_, number] { state->pass(number); });
}

void Event::wait(Queue &queue) const {
  if (query())
    return;
  queue.submit([state = state_, number = state_->newest()] { state->wait(number); });
}

void Event::synchronize() const { state_->wait(state_->newest()); }

bool Event::query() const {
  const std::lock_guard lock(state_->mutex);
  return state_->passed == state_->recorded;
}

Expected<double> Event::elapsed_time(const Event &start) const {
  const auto time_of = [](State &state) -> Expected<std::chrono::steady_clock::time_point> {
    const std::lock_guard lock(state.mutex);
    if (state.recorded == 0)
      return Status::error("elapsed_time: an event was never recorded");
    if (state.passed != state.recorded)
      return Status::error("elapsed_time: an event has not passed yet; synchronize with it first");
    return state.time;
  };
  Expected<std::chrono::steady_clock::time_point> begin = time_of(*start.state_), end = time_of(*state_);
  if (!begin)
    return begin.status();
  if (!end)
    return end.status();
  return std::chrono::duration<double, std::milli>(*end - *begin).count();
}

} // namespace weft::runtime
