//===- Ticket.cpp - Points in queues --------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/queue/QueueState.h"

namespace weft::runtime {

bool Ticket::done() const { return !state_ || state_->completed.load(std::memory_order_acquire) >= number_; }
void Ticket::wait() const {
  if (state_)
    state_->wait(number_);
}
bool Ticket::is_issued() const {
  if (done())
    return true;
  const std::lock_guard lock(state_->mutex);
  return state_->issued >= number_;
}
void Ticket::wait_issued() const {
  if (!done())
    state_->wait_issued(number_);
}
bool Ticket::add_ends(StreamPoints &points) const {
  if (done())
    return true;
  std::shared_ptr<IssuedWork> work;
  {
    const std::lock_guard lock(state_->mutex);
    work = state_->issued_at(number_);
  }
  return work ? work->add_ends(points) : done();
}
bool Ticket::add_ends_so_far(StreamPoints &points) const {
  if (done())
    return true;
  const std::lock_guard lock(state_->mutex);
  return state_->add_ends(number_, points);
}
bool Ticket::belongs_to(const Queue &queue) const { return state_ == queue.state_; }
StreamId Ticket::stream() const { return state_ ? state_->id : StreamId::none; }
bool Ticket::is_of_running_work() const {
  return state_ && state_.get() == queueThread.running_work.queue &&
         number_ <= queueThread.running_work.number;
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
      return !queueThread.running_work.queue && queueThread.queues_entered == 0 && !ticket.state_->post;
    }
    const Ticket ticket;
  };
  return state_ ? Point(std::make_shared<State>(*this)) : Point();
}

} // namespace weft::runtime
