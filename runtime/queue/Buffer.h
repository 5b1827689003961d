//===- Buffer.h - A counted block of memory ---------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_QUEUE_BUFFER_H
#define WEFT_RUNTIME_QUEUE_BUFFER_H

#include "runtime/device/Device.h"
#include "runtime/queue/Queue.h"
#include "weft/export.hpp"
#include "weft/status.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace weft::runtime {

/// Memory of a device, for arguments and results. It records the last asynchronous call that writes it and
/// the last calls that use it. Call wait() before the host reads it, and wait_unused() before the host writes
/// it.
class WEFT_RUNTIME_API Buffer {
public:
  /// Uninitialised memory from the device's caching allocator, aligned to 512 bytes. `label` is a number of
  /// intern_label(). Memory for `stream` may be memory that earlier work of this stream still uses. If there
  /// is no memory, finishes the calls that have passed (Queue::finish_passed), and tries once more.
  static Expected<std::shared_ptr<Buffer>> allocate(size_t bytes, uint32_t label = 0,
                                                    Device &device = host_device(),
                                                    StreamId stream = StreamId::none);
  /// Memory of the host that copies from and to `device` need no detour for.
  static Expected<std::shared_ptr<Buffer>> allocate_pinned(size_t bytes, Device &device, uint32_t label = 0);
  /// Memory of someone else. When the last user is done, and the points that were noted have passed,
  /// `deleter` is called with the pointer.
  static std::shared_ptr<Buffer> wrap(void *data, size_t bytes, std::function<void(void *)> deleter = {},
                                      Device &device = host_device());
  /// `bytes` of `whole` from `offset` on, which must be within it. The part keeps the memory alive and shares
  /// calls and failures with the whole, so a wait for one is a wait for the other. A part may only be read; a
  /// buffer that is written or donated must be a whole one.
  static std::shared_ptr<Buffer> part(std::shared_ptr<Buffer> whole, size_t offset, size_t bytes);
  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  /// The address on its device. The host may dereference it only if `device().is_host()`.
  void *data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device &device() const { return device_; }
  /// Whether it is memory of someone else.
  bool is_wrapped() const { return !root().allocator_; }
  /// Whether it is of allocate_pinned(), for a device other than the host.
  bool is_pinned() const;
  /// Copies bytes from `offset` on to memory of the host, or from it. A range outside of the buffer is an
  /// error. Wait before, as for any other read or write.
  Status read(size_t offset, std::span<std::byte> to) const;
  Status write(size_t offset, std::span<const std::byte> from);

  /// Waits for the call that writes this buffer, and returns its error if it failed. The error then counts as
  /// reported to the host, unless `seen` is false. State keeps its value from before that call; a fresh
  /// result has no value, and keeps the error.
  Status wait(bool seen = true);
  /// Waits until no asynchronous call, and no work up to a point that was noted, reads or writes this buffer;
  /// errors as wait().
  Status wait_unused();
  /// Whether its value may be an error: a call that may fail has still to write it, or has failed.
  bool uncertain() const;
  /// Whether it has no value because of a failure that was reported to the host.
  bool lost() const;

  /// \name Points of streams
  /// For work on the buffer that no call of an executable does. A later point of a stream replaces an earlier
  /// one.
  /// @{
  /// Work of a stream reads the buffer up to `point`. Calls that write the buffer wait for it, in the stream
  /// of their device where they have one. Whoever drops the buffer, its memory is kept for that work.
  void note_point(StreamId stream, Point point);
  /// Work of a stream writes the buffer up to `point`. Calls that read it wait for it too, and so does
  /// wait().
  void note_ready(StreamId stream, Point point);
  /// What has to pass before someone else may write the memory: noted points, those of streams that calls on
  /// devices use, and calls that are under way.
  StreamPoints points() const;
  /// @}

  /// \name For the executable
  /// @{
  /// Whether an asynchronous call was recorded since the last wait(), or there is a failure.
  bool tracked() const { return root().tracked_.load(std::memory_order_acquire); }
  /// What wait() would return, without waiting for calls that are still under way.
  Status settle(bool seen = true);
  /// `may_fail`: whether the call can fail, or be stopped by the failure of another.
  void note_write(const Ticket &ticket, bool may_fail = true);
  /// Throws if there is no memory for the record, and has then recorded nothing.
  void note_use(const Ticket &ticket);
  /// Makes room for the next note_use().
  void prepare_use();
  /// `permanent`: the buffer has no value, because the failed call should have written it.
  void note_failure(std::shared_ptr<Failure> failure, bool permanent);
  /// The failure because of which the call with this sequence number must not use the buffer, or null.
  std::shared_ptr<Failure> blocking(uint64_t sequence) const;
  /// Appends the tickets of calls on other queues that must run before a call on `queue` may read (or, with
  /// `writes`, write) the buffer.
  void foreign_tickets(const Queue &queue, bool writes, std::vector<Ticket> &tickets) const;
  /// Appends the call that has still to write the buffer, on whichever queue.
  void unfinished_write(std::vector<Ticket> &tickets) const;
  /// Appends the points that must pass before a call may read (or, with `writes`, write) the buffer.
  void points_before(bool writes, StreamPoints &points) const;
  /// @}

  /// \name The flag on the device
  /// For calls that overlap (FailureFlags). A part has the flag of its whole.
  /// @{
  /// The address of the flag; null if there is none.
  uint64_t *flag() const;
  /// The same, but makes the flag if there is none.
  Expected<uint64_t *> make_flag();
  /// A call has set the flag, if there is one, because of `failure`, which is noted in any case.
  void note_flag(std::shared_ptr<Failure> failure, uint64_t sequence);
  /// Whether the flag may be set by a call that is done.
  bool is_flagged() const;
  /// Whether the call with this sequence number has to clear the flag, which it then does: the failure was
  /// reported before the call was issued.
  bool take_clear(uint64_t sequence);
  /// The last failure that set the flag, or null.
  std::shared_ptr<Failure> flag_failure() const;
  /// @}

  Buffer(Device &device, void *data, size_t bytes, std::function<void(void *)> deleter)
      : device_(device), data_(data), bytes_(bytes), deleter_(std::move(deleter)) {}
  Buffer(Device &device, CachingAllocator &allocator, const MemoryBlock &block)
      : device_(device), data_(block.data), bytes_(block.bytes), allocator_(&allocator),
        handle_(block.handle) {}

private:
  /// What only devices and embedders use.
  struct Elsewhere {
    StreamPoints points; ///< of work that reads: the last of each stream
    StreamPoints ready;  ///< of work that writes: the same
    uint64_t *flag = nullptr;
    bool flag_set = false;
    uint64_t flag_cleared_at = 0; ///< the sequence number of the last call that clears it
    std::shared_ptr<Failure> flag_failure;
  };
  Elsewhere &elsewhere();
  Status settle_locked(bool seen);
  static Expected<std::shared_ptr<Buffer>> from(CachingAllocator &allocator, size_t bytes, uint32_t label,
                                                Device &device, MemoryPlace place);
  StreamPoints take_points();
  /// The buffer that records calls and failures: the whole of a part, otherwise this one.
  const Buffer &root() const { return whole_ ? *whole_ : *this; }
  Buffer &root() { return whole_ ? *whole_ : *this; }

  Device &device_;
  void *data_;
  size_t bytes_;
  CachingAllocator *allocator_ = nullptr; ///< whose memory it is; null for memory of someone else
  void *handle_ = nullptr;                ///< of the allocator
  std::function<void(void *)> deleter_;
  std::shared_ptr<Buffer> whole_; ///< of a part: its whole, which is not a part
  std::atomic<bool> tracked_{false};
  mutable std::mutex mutex_; ///< guards the members below
  Ticket write_;
  bool write_may_fail_ = false;
  std::vector<Ticket> uses_;             ///< the last of each queue
  std::unique_ptr<Elsewhere> elsewhere_; ///< null for most buffers of the host
  std::shared_ptr<Failure> failure_;
  bool permanent_ = false;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_QUEUE_BUFFER_H
