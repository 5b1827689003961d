//===- Stream.cpp - ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/stream.hpp"

#include "frontend/graph/Devices.h"
#include "frontend/graph/Trace.h"
#include "frontend/lazy/Lazy.h"
#include "runtime/queue/Queue.h"
#include "weft/tensor.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <future>
#include <string>
#include <utility>

namespace weft {

using runtime::Queue;

namespace detail {
struct StreamState {
  Queue *queue = nullptr;
  Device device;                ///< that the stream was made for; its queue takes work of every device
  std::unique_ptr<Queue> owned; ///< for an external stream
};

struct EventState {
  explicit EventState(bool is_timed) : event(is_timed), timing(is_timed) {}
  runtime::Event event;
  const bool timing;
};
} // namespace detail

using detail::StreamState;

static std::shared_ptr<StreamState> refersTo(Queue &queue, Device device) {
  auto state = std::make_shared<StreamState>();
  state->queue = &queue;
  state->device = resolve(device);
  return state;
}

/// The stream of this thread's current queue; null for the default one.
static std::shared_ptr<StreamState> &currentState() {
  static thread_local std::shared_ptr<StreamState> state;
  return state;
}

Stream::Stream(Device device, int priority, Loc loc) {
  if (priority > 0)
    frontend::fail("Expected stream priority to be less than or equal to 0, got " + std::to_string(priority) +
                       ": smaller numbers come first",
                   loc);
  const int first = priority == 0 ? 0 : priority_range(device, loc).second;
  (void)frontend::backendOf(device, loc);
  state_ = refersTo(Queue::pooled(std::max(priority, first)), device);
}

int Stream::priority() const { return state_->queue->priority(); }

std::pair<int, int> Stream::priority_range(Device device, Loc loc) {
  const Expected<int> first = frontend::backendOf(device, loc).first_priority();
  frontend::throwAt(first.status(), loc);
  return {0, std::max(*first, Queue::firstPriority)};
}

Stream Stream::current(Device device, Loc loc) {
  (void)frontend::backendOf(device, loc);
  return Stream(currentState() ? currentState() : refersTo(Queue::current(), device));
}

Stream Stream::default_stream(Device device, Loc loc) {
  (void)frontend::backendOf(device, loc);
  return Stream(refersTo(Queue::get_default(), device));
}

Stream Stream::external(Device device, std::function<void(std::function<void()>)> post, Loc loc) {
  (void)frontend::backendOf(device, loc);
  if (!post)
    frontend::fail("an external stream needs a function that runs what is posted to it", loc);
  auto state = std::make_shared<StreamState>();
  state->device = resolve(device);
  state->owned = Queue::external(std::move(post));
  state->queue = state->owned.get();
  return Stream(std::move(state));
}

Stream Stream::external(Device device, void *native, Loc loc) {
  auto state = std::make_shared<StreamState>();
  state->device = resolve(device);
  frontend::flushAll();
  Expected<std::unique_ptr<Queue>> queue = Queue::adopting(frontend::backendOf(device, loc), native);
  frontend::throwAt(queue.status(), loc);
  state->owned = *std::move(queue);
  state->queue = state->owned.get();
  return Stream(std::move(state));
}

Device Stream::device() const { return state_->device; }

// Pending operations belong to the current stream, so they are flushed first.
void Stream::synchronize() const {
  frontend::synchronizeAfter([&] { return state_->queue->synchronize(); });
}

bool Stream::query() const {
  frontend::flushAll();
  return state_->queue->idle();
}

void Stream::wait_stream(const Stream &other) const {
  frontend::refuseInTrace("waiting for a stream", {});
  frontend::flushAll();
  state_->queue->wait_for(*other.state_->queue);
}

void Stream::wait_event(const Event &event) const { event.wait(*this); }

namespace {

/// Finds the stream of a queue on a device when the queue's earlier work was issued, and not when it has
/// ended.
class FindStream final : public runtime::IssuedWork {
public:
  FindStream(Queue &queue, runtime::Device &device) : queue_(queue), device_(device) {}
  void issue() noexcept override {
    try {
      found_.set_value(queue_.stream(device_));
    } catch (...) {
      found_.set_exception(std::current_exception());
    }
  }
  bool passed() const override { return true; }
  void finish() noexcept override {}
  bool add_ends(runtime::StreamPoints &) const override { return true; }
  Expected<runtime::DeviceStream *> get() { return found_.get_future().get(); }

private:
  Queue &queue_;
  runtime::Device &device_;
  std::promise<Expected<runtime::DeviceStream *>> found_;
};

} // namespace

void *Stream::native_handle(Loc loc) const {
  if (state_->device.is_cpu())
    return state_->queue;
  runtime::Device &device = frontend::backendOf(state_->device, loc);
  Queue &queue = *state_->queue;
  if (queue.is_external())
    frontend::fail("the stream runs on an executor of the program, which has no stream of the driver", loc);
  const auto finds = std::make_shared<FindStream>(queue.of_work(), device);
  queue.issue(finds, /*ready=*/true);
  const Expected<runtime::DeviceStream *> stream = finds->get();
  frontend::throwAt(stream.status(), loc);
  return (*stream)->native();
}

bool operator==(const Stream &a, const Stream &b) { return a.state_->queue == b.state_->queue; }

StreamGuard::StreamGuard(Stream stream) : stream_(std::move(stream)) {
  frontend::refuseInTrace("a StreamGuard", {});
  frontend::flushAll();
  before_ = Queue::set_current(stream_.state_->queue);
  before_state_ = std::exchange(currentState(), stream_.state_);
}

StreamGuard::~StreamGuard() {
  try {
    frontend::flushAll();
  } catch (const std::exception &error) {
    // An operation that fails on its data does not arrive here: it throws when its value is read. A
    // destructor must not throw, but that work runs elsewhere must not go unreported.
    std::fprintf(
        stderr,
        "weft: what was recorded for a stream could not be run when its guard ended, and runs where it is "
        "read: %s\n",
        error.what());
  }
  Queue::set_current(static_cast<Queue *>(before_));
  currentState() = std::move(before_state_);
}

Event::Event(bool enable_timing) : state_(std::make_shared<detail::EventState>(enable_timing)) {}

void Event::record(const Stream &stream) {
  frontend::refuseInTrace("recording an event", {});
  frontend::flushAll();
  state_->event.record(*stream.state_->queue);
}

void Event::wait(const Stream &stream) const {
  frontend::refuseInTrace("waiting for an event", {});
  frontend::flushAll();
  state_->event.wait(*stream.state_->queue);
}

void Event::synchronize() const { state_->event.synchronize(); }
bool Event::query() const { return state_->event.query(); }

double Event::elapsed_time(const Event &end, Loc loc) const {
  if (!state_->timing || !end.state_->timing)
    frontend::fail("Both events must be created with argument 'enable_timing=True': write Event(true)", loc);
  const Expected<double> milliseconds = end.state_->event.elapsed_time(state_->event);
  frontend::throwAt(milliseconds.status(), loc);
  return *milliseconds;
}

void synchronize(Device device, Loc loc) {
  (void)frontend::backendOf(device, loc);
  synchronize();
}

} // namespace weft
