//===- Event.cpp - Events of queues ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/queue/Queue.h"

#include "runtime/queue/Profiler.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace weft::runtime {

/// One call of record(). What waits for an event waits for the recording that it had then.
struct Event::Recording {
  using Clock = std::chrono::steady_clock;

  /// The queue has reached the point: its streams have the rest of the work before it.
  void issue(StreamPoints points) {
    {
      const std::lock_guard lock(mutex_);
      points_ = std::move(points);
      issued_ = true;
    }
    changed_.notify_all();
    (void)query();
  }
  bool is_issued() {
    const std::lock_guard lock(mutex_);
    return issued_;
  }
  /// Waits until it was issued. The moments at which the point passes on streams, none if it has passed.
  StreamPoints points() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return issued_; });
    return passed_ ? StreamPoints() : points_;
  }
  void wait() {
    for (const StreamPoint &point : points())
      point.point.wait_passed();
    pass();
  }
  bool query() {
    {
      const std::lock_guard lock(mutex_);
      if (!issued_ || passed_)
        return passed_;
    }
    for (const StreamPoint &point : points())
      if (!point.point.passed())
        return false;
    pass();
    return true;
  }
  /// Milliseconds from another one that has passed to this one, which has, too.
  double milliseconds_since(Recording &start) {
    // Points stay where they are once their recording was issued.
    if (points_.size() == 1 && start.points_.size() == 1)
      if (const Point::State *end = points_.front().point.state(),
          *begin = start.points_.front().point.state();
          end && begin)
        if (const std::optional<double> measured = end->milliseconds_since(*begin))
          return *measured;
    return std::chrono::duration<double, std::milli>(time_ - start.time_).count();
  }

private:
  void pass() {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(passed_, true))
      time_ = Clock::now();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool issued_ = false, passed_ = false;
  StreamPoints points_;
  Clock::time_point time_;
};

struct Event::State {
  explicit State(bool is_timed) : timed(is_timed) {}
  const bool timed;
  std::mutex mutex;
  std::shared_ptr<Recording> newest; // null if it was never recorded

  std::shared_ptr<Recording> get() {
    const std::lock_guard lock(mutex);
    return newest;
  }
};

/// Work of a queue that ends when a recording has passed.
struct Event::RecordingWork : IssuedWork {
  RecordingWork(Queue &of, std::shared_ptr<Recording> awaited) : queue(of), recording(std::move(awaited)) {}
  bool passed() const override { return recording->query(); }
  void finish() noexcept override { recording->wait(); }
  bool add_ends(StreamPoints &points) const override {
    for (const StreamPoint &point : recording->points())
      note_point(points, point);
    return true;
  }

  Queue &queue;
  const std::shared_ptr<Recording> recording;
};

struct Event::RecordWork final : RecordingWork {
  RecordWork(Queue &of, std::shared_ptr<Recording> made, bool is_timed)
      : RecordingWork(of, std::move(made)), timed(is_timed) {}
  void issue() noexcept override {
    StreamPoints points;
    try {
      points = queue.record(timed);
    } catch (...) { // there is no memory for points
      queue.finish_issued();
      points.clear();
    }
    recording->issue(std::move(points));
  }
  const bool timed;
};

struct Event::WaitWork final : RecordingWork {
  using RecordingWork::RecordingWork;
  void issue() noexcept override {
    try {
      queue.order_after(recording->points());
    } catch (...) { // there is no memory for points
      recording->wait();
    }
  }
};

Event::Event(bool timed) : state_(std::make_shared<State>(timed)) {}

void Event::record(Queue &queue) {
  const auto recording = std::make_shared<Recording>();
  {
    const std::lock_guard lock(state_->mutex);
    state_->newest = recording;
  }
  try {
    queue.finish_passed();
    // An idle queue's streams are done, so that its events pass where they are recorded. Two have points all
    // the same: an event with a time, and one of a stream that others use as well. A queue that waits for its
    // work (Queue::synchronize) has to wait for these, so they are work.
    const bool asks = state_->timed || queue.adopts_stream();
    if (!asks && queue.enter_if_idle()) {
      const LeaveScope leave(queue);
      recording->issue({});
    } else if (queue.is_external()) {
      queue.submit([recording] { recording->issue({}); });
    } else {
      queue.issue(std::make_shared<RecordWork>(queue.of_work(), recording, state_->timed), /*ready=*/true);
    }
  } catch (...) {
    // No queue will reach this point, so nothing may wait for it.
    recording->issue({});
    throw;
  }
}

void Event::wait(Queue &queue) const {
  const std::shared_ptr<Recording> recording = state_->get();
  if (!recording || recording->query())
    return;
  if (queue.is_external())
    queue.submit([recording] { recording->wait(); });
  else
    queue.issue(std::make_shared<WaitWork>(queue.of_work(), recording), recording->is_issued());
}

void Event::synchronize() const {
  const ProfiledSpan span(Profiler::Span::wait, "wait for an event");
  if (const std::shared_ptr<Recording> recording = state_->get())
    recording->wait();
}

bool Event::query() const {
  const std::shared_ptr<Recording> recording = state_->get();
  return !recording || recording->query();
}

Expected<double> Event::elapsed_time(const Event &start) const {
  const std::shared_ptr<Recording> begin = start.state_->get(), end = state_->get();
  if (!begin || !end)
    return Status::error("elapsed_time: an event was never recorded");
  if (!begin->query() || !end->query())
    return Status::error("elapsed_time: an event has not passed yet; synchronize with it first");
  return end->milliseconds_since(*begin);
}

} // namespace weft::runtime
