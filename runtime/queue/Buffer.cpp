//===- Buffer.cpp - A counted block of memory -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/queue/Buffer.h"

#include "runtime/device/FailureFlags.h"

namespace weft::runtime {

Expected<std::shared_ptr<Buffer>> Buffer::from(CachingAllocator &allocator, size_t bytes, uint32_t label,
                                               Device &device, MemoryPlace place) {
  // Calls that have passed hold their buffers until somebody finishes them.
  Expected<MemoryBlock> block = allocator.allocate(bytes, label, place, Queue::finish_passed_all);
  if (!block)
    return block.status();
  try {
    return std::make_shared<Buffer>(device, allocator, *block);
  } catch (...) {
    allocator.free(*block);
    throw;
  }
}

Expected<std::shared_ptr<Buffer>> Buffer::allocate(size_t bytes, uint32_t label, Device &device,
                                                   StreamId stream) {
  return from(device.allocator(), bytes, label, device, {.stream = stream});
}

Expected<std::shared_ptr<Buffer>> Buffer::allocate_pinned(size_t bytes, Device &device, uint32_t label) {
  return from(device.pinned_allocator(), bytes, label, host_device(), {});
}

std::shared_ptr<Buffer> Buffer::wrap(void *data, size_t bytes, std::function<void(void *)> deleter,
                                     Device &device) {
  return std::make_shared<Buffer>(device, data, bytes, std::move(deleter));
}

std::shared_ptr<Buffer> Buffer::part(std::shared_ptr<Buffer> whole, size_t offset, size_t bytes) {
  auto made = std::make_shared<Buffer>(whole->device(), static_cast<std::byte *>(whole->data()) + offset,
                                       bytes, nullptr);
  made->whole_ = whole->whole_ ? whole->whole_ : std::move(whole);
  return made;
}

Buffer::~Buffer() {
  // The calls that used the flag held the buffer until they were done.
  if (elsewhere_ && elsewhere_->flag)
    device_.failure_flags().give(elsewhere_->flag, elsewhere_->flag_set);
  if (handle_) {
    allocator_->free({data_, bytes_, handle_},
                     tracked_.load(std::memory_order_acquire) ? take_points() : StreamPoints());
  } else if (deleter_) {
    if (elsewhere_)
      for (const StreamPoints *points : {&elsewhere_->ready, &elsewhere_->points})
        for (const StreamPoint &use : *points)
          use.point.wait_passed();
    deleter_(data_);
  }
}

bool Buffer::is_pinned() const {
  const CachingAllocator *const own = root().allocator_;
  return own && device_.is_host() && own != &device_.allocator();
}

// Nobody else has the buffer any more.
StreamPoints Buffer::take_points() {
  StreamPoints points;
  if (elsewhere_) {
    points.splice(points.end(), elsewhere_->points);
    points.splice(points.end(), elsewhere_->ready);
  }
  const auto add = [&](const Ticket &ticket) {
    if (ticket.done() || ticket.is_of_running_work())
      return;
    try {
      points.push_back({ticket.stream(), ticket.point()});
    } catch (...) {
      ticket.wait(); // there is no memory to let another wait
    }
  };
  for (const Ticket &use : uses_)
    add(use);
  add(write_);
  return points;
}

static Status outside(size_t offset, size_t bytes, size_t capacity) {
  return Status::error("bytes [" + std::to_string(offset) + ", +" + std::to_string(bytes) +
                       ") lie outside of a buffer of " + std::to_string(capacity));
}

Status Buffer::read(size_t offset, std::span<std::byte> to) const {
  if (offset > bytes_ || to.size() > bytes_ - offset)
    return outside(offset, to.size(), bytes_);
  return copy_between(host_device(), to.data(), device_, static_cast<const std::byte *>(data_) + offset,
                      to.size());
}

Status Buffer::write(size_t offset, std::span<const std::byte> from) {
  if (offset > bytes_ || from.size() > bytes_ - offset)
    return outside(offset, from.size(), bytes_);
  return copy_between(device_, static_cast<std::byte *>(data_) + offset, host_device(), from.data(),
                      from.size());
}

Status Buffer::settle_locked(bool seen) {
  if (write_.done())
    write_ = {};
  std::erase_if(uses_, [](const Ticket &use) { return use.done(); });
  bool any_points = false;
  if (elsewhere_)
    for (StreamPoints *points : {&elsewhere_->points, &elsewhere_->ready}) {
      std::erase_if(*points, [](const StreamPoint &use) { return use.point.passed(); });
      any_points |= !points->empty();
    }
  Status status;
  if (failure_) {
    if (permanent_ || !failure_->seen())
      status = failure_->status();
    if (seen) {
      failure_->mark_seen();
      // Calls under way that were issued before must still find it, and do nothing.
      if (!permanent_ && !write_ && uses_.empty())
        failure_ = nullptr;
    }
  }
  tracked_.store(write_ || !uses_.empty() || any_points || failure_, std::memory_order_release);
  return status;
}

Status Buffer::settle(bool seen) {
  if (whole_)
    return whole_->settle(seen);
  if (!tracked())
    return {};
  const std::lock_guard lock(mutex_);
  return settle_locked(seen);
}

Status Buffer::wait(bool seen) {
  if (whole_)
    return whole_->wait(seen);
  if (!tracked())
    return {};
  Ticket ticket;
  StreamPoints ready;
  {
    const std::lock_guard lock(mutex_);
    ticket = write_;
    if (elsewhere_)
      ready = elsewhere_->ready;
  }
  ticket.wait();
  for (const StreamPoint &write : ready)
    write.point.wait_passed();
  return settle(seen);
}

Status Buffer::wait_unused() {
  if (whole_)
    return whole_->wait_unused();
  if (!tracked())
    return {};
  std::vector<Ticket> tickets;
  StreamPoints points;
  {
    const std::lock_guard lock(mutex_);
    tickets = uses_;
    if (elsewhere_)
      points = elsewhere_->points;
  }
  for (const Ticket &ticket : tickets)
    ticket.wait();
  for (const StreamPoint &use : points)
    use.point.wait_passed();
  return wait();
}

bool Buffer::uncertain() const {
  if (whole_)
    return whole_->uncertain();
  if (!tracked())
    return false;
  // A call records its failure before it is done, so check both under the lock.
  const std::lock_guard lock(mutex_);
  return failure_ || (write_may_fail_ && write_ && !write_.done());
}

bool Buffer::lost() const {
  if (whole_)
    return whole_->lost();
  if (!tracked())
    return false;
  const std::lock_guard lock(mutex_);
  return failure_ && permanent_ && failure_->seen();
}

void Buffer::note_write(const Ticket &ticket, bool may_fail) {
  if (whole_)
    return whole_->note_write(ticket, may_fail);
  const std::lock_guard lock(mutex_);
  write_ = ticket;
  write_may_fail_ = may_fail;
  tracked_.store(true, std::memory_order_release);
}

void Buffer::note_use(const Ticket &ticket) {
  if (whole_)
    return whole_->note_use(ticket);
  const std::lock_guard lock(mutex_);
  std::erase_if(uses_, [&](const Ticket &use) { return use.same_queue(ticket); });
  uses_.push_back(ticket);
  tracked_.store(true, std::memory_order_release);
}

void Buffer::note_point(StreamId stream, Point point) {
  if (whole_)
    return whole_->note_point(stream, std::move(point));
  const std::lock_guard lock(mutex_);
  runtime::note_point(elsewhere().points, {stream, std::move(point)});
  tracked_.store(true, std::memory_order_release);
}

void Buffer::note_ready(StreamId stream, Point point) {
  if (whole_)
    return whole_->note_ready(stream, std::move(point));
  const std::lock_guard lock(mutex_);
  runtime::note_point(elsewhere().ready, {stream, std::move(point)});
  tracked_.store(true, std::memory_order_release);
}

StreamPoints Buffer::points() const {
  StreamPoints points;
  points_before(/*writes=*/true, points);
  const Buffer &of = root();
  const std::lock_guard lock(of.mutex_);
  for (const Ticket &use : of.uses_)
    if (!use.done())
      points.push_back({use.stream(), use.point()});
  if (!of.write_.done())
    points.push_back({of.write_.stream(), of.write_.point()});
  return points;
}

void Buffer::points_before(bool writes, StreamPoints &points) const {
  if (whole_)
    return whole_->points_before(writes, points);
  if (!tracked())
    return;
  const std::lock_guard lock(mutex_);
  if (!elsewhere_)
    return;
  points.insert(points.end(), elsewhere_->ready.begin(), elsewhere_->ready.end());
  if (writes)
    points.insert(points.end(), elsewhere_->points.begin(), elsewhere_->points.end());
}

void Buffer::prepare_use() {
  if (whole_)
    return whole_->prepare_use();
  const std::lock_guard lock(mutex_);
  uses_.reserve(uses_.size() + 1);
}

void Buffer::note_failure(std::shared_ptr<Failure> failure, bool permanent) {
  if (whole_)
    return whole_->note_failure(std::move(failure), permanent);
  const std::lock_guard lock(mutex_);
  if (permanent_)
    return;
  failure_ = std::move(failure);
  permanent_ = permanent;
  tracked_.store(true, std::memory_order_release);
}

std::shared_ptr<Failure> Buffer::blocking(uint64_t sequence) const {
  if (whole_)
    return whole_->blocking(sequence);
  if (!tracked())
    return nullptr;
  const std::lock_guard lock(mutex_);
  return failure_ && (permanent_ || failure_->blocks(sequence)) ? failure_ : nullptr;
}

void Buffer::foreign_tickets(const Queue &queue, bool writes, std::vector<Ticket> &tickets) const {
  if (whole_)
    return whole_->foreign_tickets(queue, writes, tickets);
  if (!tracked())
    return;
  const std::lock_guard lock(mutex_);
  if (write_ && !write_.belongs_to(queue))
    tickets.push_back(write_);
  if (writes)
    for (const Ticket &use : uses_)
      if (!use.belongs_to(queue))
        tickets.push_back(use);
}

void Buffer::unfinished_write(std::vector<Ticket> &tickets) const {
  if (whole_)
    return whole_->unfinished_write(tickets);
  if (!tracked())
    return;
  const std::lock_guard lock(mutex_);
  if (!write_.done())
    tickets.push_back(write_);
}

//===----------------------------------------------------------------------===//
// The flag
//===----------------------------------------------------------------------===//

Buffer::Elsewhere &Buffer::elsewhere() {
  if (!elsewhere_)
    elsewhere_ = std::make_unique<Elsewhere>();
  return *elsewhere_;
}

uint64_t *Buffer::flag() const {
  const Buffer &of = root();
  const std::lock_guard lock(of.mutex_);
  return of.elsewhere_ ? of.elsewhere_->flag : nullptr;
}

Expected<uint64_t *> Buffer::make_flag() {
  Buffer &of = root();
  const std::lock_guard lock(of.mutex_);
  Elsewhere &own = of.elsewhere();
  if (!own.flag) {
    Expected<uint64_t *> made = of.device_.failure_flags().take();
    if (!made)
      return made;
    own.flag = *made;
  }
  return own.flag;
}

void Buffer::note_flag(std::shared_ptr<Failure> failure, uint64_t sequence) {
  Buffer &of = root();
  const std::lock_guard lock(of.mutex_);
  Elsewhere &own = of.elsewhere();
  own.flag_failure = std::move(failure);
  // A call that was issued later may have cleared it already, and set it again. A call that fails may have
  // cleared the flag itself, before it set it.
  own.flag_set |= own.flag && sequence >= own.flag_cleared_at;
}

bool Buffer::is_flagged() const {
  const Buffer &of = root();
  const std::lock_guard lock(of.mutex_);
  return of.elsewhere_ && of.elsewhere_->flag_set;
}

bool Buffer::take_clear(uint64_t sequence) {
  Buffer &of = root();
  const std::lock_guard lock(of.mutex_);
  if (!of.elsewhere_ || !of.elsewhere_->flag_set || of.elsewhere_->flag_failure->blocks(sequence))
    return false;
  of.elsewhere_->flag_set = false;
  of.elsewhere_->flag_cleared_at = sequence;
  return true;
}

std::shared_ptr<Failure> Buffer::flag_failure() const {
  const Buffer &of = root();
  const std::lock_guard lock(of.mutex_);
  return of.elsewhere_ ? of.elsewhere_->flag_failure : nullptr;
}

} // namespace weft::runtime
