//===- Queue.cpp - Asynchronous queues of the CPU --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/queue/Queue.h"

#include "runtime/device/Device.h"

#include "runtime/memory/CachingAllocator.h"
#include "runtime/queue/Profiler.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace weft::runtime {

uint64_t next_sequence() {
  static std::atomic<uint64_t> counter{1};
  return counter.fetch_add(1, std::memory_order_relaxed);
}

const Status &out_of_memory() {
  static const Status *const status = new Status(Status::error("out of memory", "WEFT-M001"));
  return *status;
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

/// The stream and memory of a queue on a device other than the host.
struct DeviceLane {
  Device &device;
  std::unique_ptr<DeviceStream> stream;
  MemoryBlock arena;

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
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Work> work;
  uint64_t submitted = 0; // places that were assigned
  uint64_t bytes = 0;     // the bytes that incomplete work keeps alive
  std::atomic<uint64_t> completed{0};
  uint64_t issued = 0;                   // the last place whose work has run or was issued
  std::shared_ptr<IssuedWork> in_flight; // a list of the work from completed + 1 to `issued`
  IssuedWork *last_in_flight = nullptr;
  bool finishing = false; // a thread is in finish_first()
  uint64_t granted = 0;   // on an external queue: the caller's place that the executor has reached
  bool stopping = false;
  Queue::Post post; // of an external queue
  Ticket before;    // must be done before any work of this queue runs
  std::thread thread;
  uint64_t unposted = 0; // on an external queue: work whose post failed, and that runs with what comes next
  std::shared_ptr<Failure> failures; // that were reported, oldest first: a list that needs no memory
  std::exception_ptr thrown;         // by work that lets exceptions out
  // These are touched only by whoever runs the queue's work.
  MemoryBlock arena;
  std::vector<std::unique_ptr<DeviceLane>> lanes; // of devices beside the host

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
  void complete_locked() {
    const uint64_t now = completed.load(std::memory_order_relaxed) + 1;
    issued = std::max(issued, now);
    completed.store(now, std::memory_order_release);
    changed.notify_all();
  }
  void finish_first(std::unique_lock<std::mutex> &lock);
  /// Whether there was any.
  bool finish_passed(std::unique_lock<std::mutex> &lock) {
    bool any = false;
    for (; in_flight && !finishing && in_flight->passed(); any = true)
      finish_first(lock);
    return any;
  }
  /// Adds work that was issued for a place, with the lock held.
  void add_issued(std::shared_ptr<IssuedWork> added, uint64_t number, uint64_t kept) {
    issued = added->number_ = number;
    added->bytes_ = kept;
    IssuedWork *const last = added.get();
    (in_flight ? last_in_flight->next_ : in_flight) = std::move(added);
    last_in_flight = last;
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

namespace {

/// All queues of the process, and the work that the first queue after the default had to wait for.
struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<QueueState>> states;
  Ticket transition;

  static Registry &get() {
    static Registry *const registry = new Registry;
    return *registry;
  }
  std::vector<std::shared_ptr<QueueState>> live() {
    const std::lock_guard lock(mutex);
    std::vector<std::shared_ptr<QueueState>> result;
    for (const std::weak_ptr<QueueState> &state : states)
      if (std::shared_ptr<QueueState> alive = state.lock())
        result.push_back(std::move(alive));
    return result;
  }
  void add(const std::shared_ptr<QueueState> &state) {
    const std::lock_guard lock(mutex);
    std::erase_if(states, [](const std::weak_ptr<QueueState> &known) { return known.expired(); });
    states.push_back(state);
  }
};

std::atomic<bool> severalQueues{false};
// Each call reads several of these, so they are in static thread-local storage, which needs no function call.
[[gnu::tls_model("initial-exec")]] thread_local Queue *currentQueue = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local bool runsQueue = false;
/// A place in a queue.
struct Place {
  const QueueState *queue = nullptr;
  uint64_t number = 0;
};
/// The place of the queue's work that this thread runs.
[[gnu::tls_model("initial-exec")]] thread_local Place runningWork;
/// How many queues this thread has entered, and where it entered the last.
[[gnu::tls_model("initial-exec")]] thread_local int queuesEntered = 0;
[[gnu::tls_model("initial-exec")]] thread_local Place lastEntered;

/// Counts an entered queue. A place counts once, because a caller that has entered an idle queue may still
/// wait for its turn.
void note_entered(const QueueState &queue, uint64_t number) {
  queuesEntered += lastEntered.queue != &queue || lastEntered.number != number;
  lastEntered = {&queue, number};
}

void note_left() {
  --queuesEntered;
  lastEntered = {};
}

/// The caller's place that this thread is about to take on an external queue, whose executor may run what is
/// posted at once, on this thread.
[[gnu::tls_model("initial-exec")]] thread_local const QueueState *takesPlaceOn = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local uint64_t takesPlace = 0;

} // namespace

void QueueState::run() {
  runsQueue = true;
  before.wait();
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return work.empty() ? stopping : issued + 1 == work.front().number; });
    if (work.empty())
      return wait_until(lock, [&] { return !in_flight && !finishing; });
    if (work.front().issued) {
      Work next = std::move(work.front());
      work.pop_front();
      issue_work(next, lock);
      continue;
    }
    wait_until(lock, [&] { return turn(work.front().number); });
    Work next = std::move(work.front());
    work.pop_front();
    run_work(next, lock);
  }
}

// Call it with the lock held; the lock is held again when it returns.
void QueueState::issue_work(Work &next, std::unique_lock<std::mutex> &lock) {
  finish_passed(lock);
  lock.unlock();
  const Place before = std::exchange(runningWork, Place{this, next.number});
  next.issued->issue();
  runningWork = before;
  lock.lock();
  add_issued(std::move(next.issued), next.number, next.bytes);
}

// Call it with the lock held, and with issued work that no other thread finishes.
void QueueState::finish_first(std::unique_lock<std::mutex> &lock) {
  finishing = true;
  std::shared_ptr<IssuedWork> work = in_flight;
  const uint64_t kept = work->bytes_;
  lock.unlock();
  const Place before = std::exchange(runningWork, Place{this, work->number_});
  work->finish();
  lock.lock();
  in_flight = std::move(work->next_);
  lock.unlock();
  // Buffers that only this work kept alive return to the allocator before the work counts as done.
  work = nullptr;
  runningWork = before;
  lock.lock();
  bytes -= kept;
  finishing = false;
  complete_locked();
}

// Call it with the lock held; the lock is held again when it returns.
void QueueState::run_work(Work &next, std::unique_lock<std::mutex> &lock) {
  lock.unlock();
  const Place before = std::exchange(runningWork, Place{this, next.number});
  std::exception_ptr stray;
  try {
    next.run();
  } catch (...) {
    stray = std::current_exception();
  }
  // Buffers that only this call kept alive return to the allocator before the call counts as done.
  next.run = nullptr;
  runningWork = before;
  lock.lock();
  if (stray && !thrown)
    thrown = std::move(stray);
  bytes -= next.bytes;
  complete_locked();
}

// Runs the oldest work, for one posted piece. That need not be the work of the same submission.
void QueueState::run_posted() {
  before.wait();
  std::unique_lock lock(mutex);
  const uint64_t more = std::exchange(unposted, 0);
  for (uint64_t i = 0; i <= more && run_next(lock); ++i) {
  }
}

bool QueueState::run_next(std::unique_lock<std::mutex> &lock) {
  // Wait for the work's turn, because an executor may run posted pieces in parallel.
  changed.wait(lock, [&] { return work.empty() || turn(work.front().number); });
  if (work.empty())
    return false;
  Work next = std::move(work.front());
  work.pop_front();
  if (next.run) {
    run_work(next, lock);
    return true;
  }
  granted = next.number;
  changed.notify_all();
  if (takesPlaceOn == this && takesPlace == next.number)
    return true; // this thread goes on with it when the executor returns
  changed.wait(lock, [&] { return completed.load(std::memory_order_relaxed) >= next.number; });
  return true;
}

IssuedWork::~IssuedWork() = default;

bool Ticket::done() const { return !state_ || state_->completed.load(std::memory_order_acquire) >= number_; }
void Ticket::wait() const {
  if (state_)
    state_->wait(number_);
}
bool Ticket::belongs_to(const Queue &queue) const { return state_ == queue.state_; }
StreamId Ticket::stream() const { return state_ ? state_->id : StreamId::none; }
bool Ticket::is_of_running_work() const {
  return state_ && state_.get() == runningWork.queue && number_ <= runningWork.number;
}

Point Ticket::point() const {
  struct State final : Point::State {
    explicit State(Ticket of) : ticket(std::move(of)) {}
    bool passed() const override { return ticket.done(); }
    // The queue and the buffers report a failure of the work.
    Status wait() override {
      ticket.wait();
      return {};
    }
    void wait_passed() override { ticket.wait(); }
    // Earlier work may wait for work that this thread does for a queue, or this thread may be the executor
    // that has to run it.
    bool may_wait() const override {
      return !runningWork.queue && queuesEntered == 0 && !ticket.state_->post;
    }
    const Ticket ticket;
  };
  return state_ ? Point(std::make_shared<State>(*this)) : Point();
}

Queue &Queue::get_default() {
  static Queue *const queue = [] {
    auto state = std::make_shared<QueueState>();
    Registry::get().add(state);
    return new Queue(std::move(state));
  }();
  return *queue;
}

Queue &Queue::current() { return currentQueue ? *currentQueue : get_default(); }

Queue *Queue::set_current(Queue *queue) { return std::exchange(currentQueue, queue); }

Queue &Queue::pooled() {
  // Do not use std::call_once: if memory runs out, an exception cannot pass through the C library's function.
  static std::mutex *const mutex = new std::mutex;
  static size_t next = 0;
  static std::array<Queue *, poolSize> pool = {};
  const std::lock_guard lock(*mutex);
  Queue *&queue = pool[next % poolSize];
  if (!queue)
    queue = new Queue;
  ++next;
  return *queue;
}

std::unique_ptr<Queue> Queue::external(Post post) {
  std::shared_ptr<QueueState> state = make_state();
  state->post = std::move(post);
  return std::unique_ptr<Queue>(new Queue(std::move(state)));
}

bool Queue::several() { return severalQueues.load(std::memory_order_seq_cst); }

// While there is one queue, calls that run on their callers are not recorded in their buffers. Therefore the
// first other queue waits for the work that is on the default queue when it is made.
std::shared_ptr<QueueState> Queue::make_state() {
  auto state = std::make_shared<QueueState>();
  QueueState &main = *get_default().state_;
  Registry &registry = Registry::get();
  {
    const std::lock_guard lock(registry.mutex);
    if (!severalQueues.exchange(true, std::memory_order_seq_cst)) {
      const std::lock_guard main_lock(main.mutex);
      registry.transition.state_ = get_default().state_;
      registry.transition.number_ = main.submitted;
    }
    state->before = registry.transition;
  }
  registry.add(state);
  return state;
}

Queue::Queue(std::shared_ptr<QueueState> state) : state_(std::move(state)) {}
Queue::Queue() : Queue(make_state()) {}

Queue::~Queue() {
  std::thread thread;
  uint64_t last;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    thread = std::move(state_->thread);
    last = state_->submitted;
  }
  state_->changed.notify_all();
  if (state_->post) {
    state_->wait(last);
    return;
  }
  if (!thread.joinable()) {
    // What callers have issued.
    std::unique_lock lock(state_->mutex);
    if (runningWork.queue != state_.get())
      state_->wait_until(lock, [&] { return !state_->in_flight && !state_->finishing; });
    return;
  }
  // If the queue's own work destroys the last handle, the thread cannot join itself.
  if (thread.get_id() == std::this_thread::get_id())
    thread.detach();
  else
    thread.join();
}

Ticket Queue::submit(const std::shared_ptr<QueueState> &state, std::function<void()> work, uint64_t bytes) {
  Ticket ticket;
  ticket.state_ = state;
  const bool has_work = static_cast<bool>(work);
  std::function<void()> piece;
  if (state->post)
    // A piece that is run twice does nothing the second time, so that other work does not run early.
    piece = [state, once = std::make_shared<std::atomic<bool>>(false)] {
      if (!once->exchange(true))
        state->run_posted();
    };
  {
    const std::lock_guard lock(state->mutex);
    // The thread may start before its work is added; then it waits.
    if (!state->post && !state->thread.joinable() && !state->stopping)
      state->thread = std::thread([state] { state->run(); });
    ticket.number_ = state->submitted + 1;
    state->work.push_back({ticket.number_, std::move(work), bytes});
    ++state->submitted;
    state->bytes += bytes;
  }
  if (!state->post) {
    state->changed.notify_all();
    return ticket;
  }
  if (!has_work) {
    takesPlaceOn = state.get();
    takesPlace = ticket.number_;
  }
  try {
    state->post(std::move(piece));
    takesPlaceOn = nullptr;
  } catch (...) {
    takesPlaceOn = nullptr;
    const std::lock_guard lock(state->mutex);
    if (state->submitted == ticket.number_ && !state->work.empty() &&
        state->work.back().number == ticket.number_) {
      state->work.pop_back();
      --state->submitted;
      state->bytes -= bytes;
      throw;
    }
    ++state->unposted; // later work waits for it
  }
  return ticket;
}

Ticket Queue::submit(std::function<void()> work, uint64_t bytes) {
  return submit(state_, std::move(work), bytes);
}

Ticket Queue::submit(std::shared_ptr<IssuedWork> work, uint64_t bytes) {
  Ticket ticket;
  ticket.state_ = state_;
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->thread.joinable() && !state_->stopping)
      state_->thread = std::thread([state = state_] { state->run(); });
    ticket.number_ = state_->submitted + 1;
    state_->work.push_back({ticket.number_, nullptr, bytes, std::move(work)});
    ++state_->submitted;
    state_->bytes += bytes;
  }
  state_->changed.notify_all();
  return ticket;
}

Ticket Queue::try_begin_issue() {
  Ticket place;
  if (state_->post || !state_->before.done())
    return place;
  const std::lock_guard lock(state_->mutex);
  if (state_->issued != state_->submitted)
    return place;
  place.state_ = state_;
  place.number_ = ++state_->submitted;
  note_entered(*state_, place.number_);
  return place;
}

void Queue::end_issue(const Ticket &place, std::shared_ptr<IssuedWork> work, uint64_t bytes) {
  note_left();
  const std::lock_guard lock(state_->mutex);
  state_->bytes += bytes;
  state_->add_issued(std::move(work), place.number_, bytes);
}

void Queue::finish_passed() {
  std::unique_lock lock(state_->mutex);
  state_->finish_passed(lock);
}

bool Queue::finish_passed_all() {
  bool any = false;
  for (const std::shared_ptr<QueueState> &state : Registry::get().live()) {
    std::unique_lock lock(state->mutex);
    any |= state->finish_passed(lock);
  }
  return any;
}

void Queue::finish_issued() {
  std::unique_lock lock(state_->mutex);
  state_->wait_until(lock, [&] { return !state_->in_flight && !state_->finishing; });
}

void Queue::await_room(uint64_t bytes) {
  if (state_->post || runsQueue)
    return;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->has_room(bytes))
      return;
  }
  const ProfiledSpan span(Profiler::Span::wait, "wait for room in the queue");
  std::unique_lock lock(state_->mutex);
  state_->wait_until(lock, [&] { return state_->has_room(bytes); });
}

Status QueueState::synchronize() {
  const ProfiledSpan span(Profiler::Span::wait, "synchronize");
  std::unique_lock lock(mutex);
  const uint64_t last = submitted;
  wait_until(lock, [&] { return completed.load(std::memory_order_relaxed) >= last; });
  const std::exception_ptr stray = std::exchange(thrown, nullptr);
  std::shared_ptr<Failure> seen = std::exchange(failures, nullptr);
  lock.unlock();
  std::shared_ptr<Failure> first;
  while (seen) {
    if (!first && !seen->seen())
      first = seen;
    seen->mark_seen();
    seen = std::exchange(seen->reported_next_, nullptr);
  }
  if (first)
    return first->status();
  if (!stray)
    return {};
  try {
    std::rethrow_exception(stray);
  } catch (const std::bad_alloc &) {
    return out_of_memory();
  } catch (const std::exception &error) {
    return Status::error(error.what());
  } catch (...) {
    return Status::error("unknown error");
  }
}

Status Queue::synchronize() { return state_->synchronize(); }

Status Queue::synchronize_all() {
  Status first;
  for (const std::shared_ptr<QueueState> &state : Registry::get().live())
    if (Status status = state->synchronize(); !status && first.ok())
      first = status;
  return first;
}

void Queue::trim_all() {
  for (const std::shared_ptr<QueueState> &state : Registry::get().live())
    trim(state);
}

bool Queue::idle() const {
  std::unique_lock lock(state_->mutex);
  state_->finish_passed(lock);
  return !state_->busy();
}

bool Queue::is_external() const { return state_->post != nullptr; }

void Queue::wait_for(Queue &other) {
  Ticket last;
  {
    const std::lock_guard lock(other.state_->mutex);
    last.state_ = other.state_;
    last.number_ = other.state_->submitted;
  }
  if (!last.done() && !last.belongs_to(*this))
    submit([last] { last.wait(); });
}

Ticket Queue::try_enter() {
  Ticket place;
  if (state_->post || !state_->before.done())
    return place;
  const std::lock_guard lock(state_->mutex);
  if (state_->busy())
    return place;
  place.state_ = state_;
  place.number_ = ++state_->submitted;
  note_entered(*state_, place.number_);
  return place;
}

Ticket Queue::reserve(const std::shared_ptr<QueueState> &state) {
  if (state->post)
    return submit(state, nullptr);
  Ticket place;
  const std::lock_guard lock(state->mutex);
  place.state_ = state;
  place.number_ = ++state->submitted;
  return place;
}

Ticket Queue::reserve() { return reserve(state_); }

void Queue::await_turn(const Ticket &place) {
  QueueState &state = *place.state_;
  state.before.wait();
  std::unique_lock lock(state.mutex);
  state.wait_until(lock,
                   [&] { return state.post ? state.granted == place.number_ : state.turn(place.number_); });
  note_entered(state, place.number_);
}

void Queue::enter() { await_turn(reserve()); }

void Queue::leave() {
  note_left();
  const std::lock_guard lock(state_->mutex);
  state_->complete_locked();
}

void Queue::report(std::shared_ptr<Failure> failure) {
  const std::lock_guard lock(state_->mutex);
  state_->report_locked(std::move(failure));
}

Expected<DeviceStream *> Queue::stream(Device &device) {
  DeviceLane &lane = state_->lane(device);
  if (!lane.stream) {
    Expected<std::unique_ptr<DeviceStream>> made = device.make_stream();
    if (!made)
      return made.status();
    lane.stream = *std::move(made);
  }
  return lane.stream.get();
}

void Queue::end_stream(Device &device) { state_->lane(device).stream = nullptr; }

Expected<std::byte *> Queue::arena(Device &device, size_t bytes) {
  if (device.is_host())
    return arena(bytes);
  DeviceLane &lane = state_->lane(device);
  if (bytes > lane.arena.bytes) {
    CachingAllocator &allocator = device.allocator();
    lane.release_arena();
    Expected<MemoryBlock> block =
        allocator.allocate(bytes, allocator.intern_label({"arena of temporaries"}), {}, finish_passed_all);
    if (!block)
      return block.status();
    lane.arena = *block;
    allocator.note_arena_bytes(static_cast<int64_t>(bytes));
    state_->has_arenas.store(true, std::memory_order_relaxed);
  }
  return static_cast<std::byte *>(lane.arena.data);
}

Expected<std::byte *> Queue::arena(size_t bytes) {
  QueueState &state = *state_;
  if (bytes > state.arena.bytes) {
    CachingAllocator &allocator = CachingAllocator::get();
    static const uint32_t label = allocator.intern_label({"arena of temporaries"});
    if (state.arena.handle)
      state.release_arena();
    Expected<MemoryBlock> block = allocator.allocate(bytes, label, {}, finish_passed_all);
    if (!block)
      return block.status();
    state.arena = *block;
    state.arena_bytes.store(bytes, std::memory_order_relaxed);
    state.has_arenas.store(true, std::memory_order_relaxed);
    allocator.note_arena_bytes(static_cast<int64_t>(bytes));
  }
  return static_cast<std::byte *>(state.arena.data);
}

size_t Queue::arena_bytes() const { return state_->arena_bytes.load(std::memory_order_relaxed); }

void Queue::trim(const std::shared_ptr<QueueState> &state) {
  if (!state->has_arenas.load(std::memory_order_relaxed))
    return;
  // The executor of an external queue may be the caller's thread, so do not wait for it.
  if (state->post) {
    std::unique_lock lock(state->mutex);
    if (!state->busy()) { // nothing can begin while the lock is held
      state->release_arenas();
      return;
    }
    lock.unlock();
    // The work must not own the state: the state owns its work, so neither would be freed. The posted piece
    // owns the state.
    submit(state, [raw = state.get()] {
      raw->release_arenas();
      CachingAllocator::get().empty_cache();
    });
    return;
  }
  await_turn(reserve(state));
  note_left();
  state->release_arenas();
  const std::lock_guard lock(state->mutex);
  state->complete_locked();
}

void Queue::trim() { trim(state_); }

} // namespace weft::runtime
