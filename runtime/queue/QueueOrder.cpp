//===- QueueOrder.cpp - One queue after another ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/queue/QueueState.h"

namespace weft::runtime {
namespace {

/// Lets a queue go on after a place of another one. It ends with the work of that place.
class WaitForPlace final : public IssuedWork {
public:
  WaitForPlace(Queue &queue, Ticket last) : queue_(queue), last_(std::move(last)) {}
  void issue() noexcept override {
    last_.wait_issued();
    try {
      if (last_.add_ends_so_far(points_))
        return queue_.order_after(points_);
    } catch (...) { // NOLINT(bugprone-empty-catch): there is no memory for the points
    }
    last_.wait();
    points_.clear();
  }
  bool passed() const override {
    return std::ranges::all_of(points_, [](const StreamPoint &use) { return use.point.passed(); });
  }
  void finish() noexcept override {
    for (const StreamPoint &use : points_)
      use.point.wait_passed();
  }
  bool add_ends(StreamPoints &points) const override {
    for (const StreamPoint &use : points_)
      note_point(points, use);
    return true;
  }

private:
  Queue &queue_;
  const Ticket last_;
  StreamPoints points_;
};

} // namespace

void Queue::wait_for(Queue &other) {
  if (other.adopts_stream()) { // what its owner has put on the stream counts, too
    Event event(/*timed=*/false);
    event.record(other);
    return event.wait(*this);
  }
  Ticket last;
  {
    const std::lock_guard lock(other.state_->mutex);
    last.state_ = other.state_;
    last.number_ = other.state_->submitted;
  }
  if (last.done() || last.belongs_to(*this))
    return;
  if (is_external())
    submit([last] { last.wait(); });
  else
    issue(std::make_shared<WaitForPlace>(of_work(), last), last.is_issued());
}

void Queue::issue(const std::shared_ptr<IssuedWork> &work, bool ready) {
  if (const Ticket place = ready ? try_begin_issue() : Ticket()) {
    work->issue();
    end_issue(place, work);
    return;
  }
  const Ticket ticket = submit(work);
  // What the owner of an adopted stream puts there comes after the work.
  if (adopts_stream())
    ticket.wait_issued();
}

} // namespace weft::runtime
