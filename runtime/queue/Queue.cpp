//===- Queue.cpp - Asynchronous queues of the CPU --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/queue/QueueState.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

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
// Each call reads it, so it is in static thread-local storage, which needs no function call.
[[gnu::tls_model("initial-exec")]] thread_local Queue *currentQueue = nullptr;

} // namespace

IssuedWork::~IssuedWork() = default;

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

Queue &Queue::pooled(int priority) {
  // Do not use std::call_once: if memory runs out, an exception cannot pass through the C library's function.
  static std::mutex *const mutex = new std::mutex;
  struct Pool {
    size_t next = 0;
    std::array<Queue *, poolSize> queues = {};
  };
  static std::array<Pool, size_t(1 - firstPriority)> pools = {};
  const int rank = -std::clamp(priority, firstPriority, 0);
  const std::lock_guard lock(*mutex);
  Pool &pool = pools[static_cast<size_t>(rank)];
  Queue *&queue = pool.queues[pool.next % poolSize];
  if (!queue) {
    auto made = std::make_unique<Queue>();
    made->state_->priority = -rank;
    queue = made.release();
  }
  ++pool.next;
  return *queue;
}

int Queue::priority() const { return state_->priority; }

std::unique_ptr<Queue> Queue::external(Post post) {
  std::shared_ptr<QueueState> state = make_state();
  state->post = std::move(post);
  return std::unique_ptr<Queue>(new Queue(std::move(state)));
}

Expected<std::unique_ptr<Queue>> Queue::adopting(Device &device, void *native) {
  Expected<std::unique_ptr<DeviceStream>> stream = device.adopt_stream(native);
  if (!stream)
    return stream.status();
  std::shared_ptr<QueueState> state = make_state();
  state->adopted_device = &device;
  state->adopted_stream = native;
  state->lane(device).stream = *std::move(stream);
  return std::unique_ptr<Queue>(new Queue(std::move(state)));
}

bool Queue::adopts_stream() const { return state_->adopted_device != nullptr; }

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
  if (state_.use_count() == 0)
    return; // the state's own handle
  wait_for_end();
  // Tickets may keep the state longer than the owner of an adopted stream keeps that.
  if (state_->adopted_device) {
    DeviceLane &lane = state_->lane(*state_->adopted_device);
    lane.release_arena();
    lane.stream = nullptr;
  }
}

void Queue::wait_for_end() {
  std::thread thread;
  uint64_t last;
  // Work of this queue that runs on this thread, and ends only when this is done.
  const bool inside = queueThread.running_work.is_within(*state_);
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    thread = std::move(state_->thread);
    last = state_->submitted;
    state_->finishes_all = inside && !state_->post && !thread.joinable();
  }
  state_->changed.notify_all();
  if (state_->post) {
    if (!inside)
      state_->wait(last);
    return;
  }
  if (!thread.joinable()) {
    // What callers have issued.
    std::unique_lock lock(state_->mutex);
    if (!inside)
      state_->wait_until(lock, [&] { return !state_->in_flight && !state_->finishing; });
    return;
  }
  if (inside || thread.get_id() == std::this_thread::get_id())
    thread.detach();
  else
    thread.join();
}

Queue &Queue::of_work() { return state_->handle; }

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
    queueThread.takes_place_on = state.get();
    queueThread.takes_place = ticket.number_;
  }
  try {
    state->post(std::move(piece));
    queueThread.takes_place_on = nullptr;
  } catch (...) {
    queueThread.takes_place_on = nullptr;
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
  queueThread.note_entered(*state_, place.number_);
  return place;
}

void Queue::end_issue(const Ticket &place, std::shared_ptr<IssuedWork> work, uint64_t bytes) {
  queueThread.note_left();
  const std::lock_guard lock(state_->mutex);
  state_->bytes += bytes;
  state_->add_issued(std::move(work), place.number_, bytes);
}

void Queue::finish_passed() {
  // Every call asks, and most have issued nothing.
  if (!state_->any_in_flight.load(std::memory_order_relaxed))
    return;
  const std::shared_ptr<QueueState> state = state_; // also if the queue is destroyed meanwhile
  std::unique_lock lock(state->mutex);
  state->finish_passed(lock);
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
  const std::shared_ptr<QueueState> state = state_;
  std::unique_lock lock(state->mutex);
  state->wait_until(lock, [&] { return !state->in_flight && !state->finishing; });
}

void Queue::await_room(uint64_t bytes) {
  if (state_->post || queueThread.runs_work)
    return;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->has_room(bytes))
      return;
  }
  const ProfiledSpan span(Profiler::Span::wait, "wait for room in the queue");
  const std::shared_ptr<QueueState> state = state_;
  std::unique_lock lock(state->mutex);
  state->wait_until(lock, [&] { return state->has_room(bytes); });
}

Status Queue::synchronize() {
  const std::shared_ptr<QueueState> state = state_;
  return state->synchronize();
}

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
  const std::shared_ptr<QueueState> state = state_;
  std::unique_lock lock(state->mutex);
  state->finish_passed(lock);
  return !state->busy();
}

bool Queue::is_external() const { return state_->post != nullptr; }

Ticket Queue::try_enter() {
  Ticket place;
  if (state_->post || !state_->before.done())
    return place;
  const std::lock_guard lock(state_->mutex);
  if (state_->busy())
    return place;
  place.state_ = state_;
  place.number_ = ++state_->submitted;
  queueThread.note_entered(*state_, place.number_);
  return place;
}

bool Queue::enter_if_idle() {
  if (state_->post || !state_->before.done())
    return false;
  const std::lock_guard lock(state_->mutex);
  if (state_->busy())
    return false;
  queueThread.note_entered(*state_, ++state_->submitted);
  return true;
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
  queueThread.note_entered(state, place.number_);
}

void Queue::enter() { await_turn(reserve()); }

void Queue::leave() {
  queueThread.note_left();
  const std::lock_guard lock(state_->mutex);
  state_->complete_locked();
}

void Queue::report(std::shared_ptr<Failure> failure) {
  const std::lock_guard lock(state_->mutex);
  state_->report_locked(std::move(failure));
}

} // namespace weft::runtime
