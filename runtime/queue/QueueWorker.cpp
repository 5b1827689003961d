//===- QueueWorker.cpp - Running the work of a queue ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/queue/QueueState.h"

#include <exception>
#include <new>

namespace weft::runtime {

[[gnu::tls_model("initial-exec")]] constinit thread_local QueueThread queueThread;

void QueueState::run() {
  queueThread.runs_work = true;
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
  {
    const RunningWork running(*this, next.number);
    next.issued->issue();
  }
  lock.lock();
  add_issued(std::move(next.issued), next.number, next.bytes);
}

void QueueState::finish_first(std::unique_lock<std::mutex> &lock) {
  do
    finish_one(lock);
  while (finishes_all && in_flight);
}

// Call it with the lock held, and with issued work that no other thread finishes.
void QueueState::finish_one(std::unique_lock<std::mutex> &lock) {
  finishing = true;
  std::shared_ptr<IssuedWork> work = in_flight;
  const uint64_t kept = work->bytes_;
  lock.unlock();
  {
    const RunningWork running(*this, work->number_);
    work->finish();
    lock.lock();
    in_flight = std::move(work->next_);
    any_in_flight.store(in_flight != nullptr, std::memory_order_relaxed);
    lock.unlock();
    // Buffers that only this work kept alive return to the allocator before the work counts as done.
    work = nullptr;
  }
  lock.lock();
  bytes -= kept;
  finishing = false;
  complete_locked();
}

// Call it with the lock held; the lock is held again when it returns.
void QueueState::run_work(Work &next, std::unique_lock<std::mutex> &lock) {
  lock.unlock();
  std::exception_ptr stray;
  {
    const RunningWork running(*this, next.number);
    try {
      next.run();
    } catch (...) {
      stray = std::current_exception();
    }
    // Buffers that only this call kept alive return to the allocator before the call counts as done.
    next.run = nullptr;
  }
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
  if (queueThread.takes_place_on == this && queueThread.takes_place == next.number)
    return true; // this thread goes on with it when the executor returns
  changed.wait(lock, [&] { return completed.load(std::memory_order_relaxed) >= next.number; });
  return true;
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

} // namespace weft::runtime
