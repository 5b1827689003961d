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

/// Memory of a device that arguments and results live in. It remembers the last asynchronous call that writes
/// it and the last that uses it. A host that reads calls wait() first, one that writes wait_unused().
class WEFT_RUNTIME_API Buffer {
public:
  /// Uninitialised memory from the device's caching allocator, aligned to 512 bytes. `label` is the
  /// allocator's. Of `stream`: work of that stream may use memory that earlier work of it still uses.
  static Expected<std::shared_ptr<Buffer>> allocate(size_t bytes, uint32_t label = 0,
                                                    Device &device = host_device(),
                                                    StreamId stream = StreamId::none);
  /// Memory of the host that copies from and to `device` need no detour for.
  static Expected<std::shared_ptr<Buffer>> allocate_pinned(size_t bytes, Device &device, uint32_t label = 0);
  /// Memory of someone else; `deleter` is called with the pointer when the last user is done.
  static std::shared_ptr<Buffer> wrap(void *data, size_t bytes, std::function<void(void *)> deleter = {},
                                      Device &device = host_device());
  /// `bytes` of `whole` from `offset` on, which must lie in it: the same memory, kept alive, and the same
  /// calls and failures, so that a wait for one is a wait for the other. For readers only: what is written
  /// to, or donated, is a whole buffer.
  static std::shared_ptr<Buffer> part(std::shared_ptr<Buffer> whole, size_t offset, size_t bytes);
  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  /// As its device addresses it: the host follows the pointer only where `device().is_host()`.
  void *data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device &device() const { return device_; }
  /// Copies bytes from `offset` on to memory of the host, or back. Error for a range that is not in the
  /// buffer. The caller has waited as for any other read or write.
  Status read(size_t offset, std::span<std::byte> to) const;
  Status write(size_t offset, std::span<const std::byte> from);

  /// Waits for the call that writes this buffer. The error of that call, if it failed: the host has then
  /// seen it, unless `seen` says that it goes no further. State keeps the value it had before that call; a
  /// fresh result has none, and the error stays.
  Status wait(bool seen = true);
  /// Waits until no asynchronous call, and no work up to a point that was noted, reads or writes this buffer;
  /// errors as wait().
  Status wait_unused();
  /// Whether what is in it may still turn out to be an error: a call that can fail is to write it, or failed.
  bool uncertain() const;
  /// Whether it has no value, and the host knows.
  bool lost() const;

  /// Work of a stream uses the buffer up to `point`. Whoever drops the buffer, its memory is kept for that
  /// work. Replaces an earlier point of the stream.
  void note_point(StreamId stream, Point point);

  /// \name For the executable
  /// @{
  /// False: nothing asynchronous was ever noted since the last wait(), and there is no failure.
  bool tracked() const { return root().tracked_.load(std::memory_order_acquire); }
  /// What wait() would return, without waiting for calls that are still under way.
  Status settle(bool seen = true);
  /// `may_fail`: whether the call can fail, or be stopped by the failure of another.
  void note_write(const Ticket &ticket, bool may_fail = true);
  /// Throws where there is no memory for the note, and has then made none.
  void note_use(const Ticket &ticket);
  /// Makes room for the next note_use().
  void prepare_use();
  /// `permanent`: the buffer has no value at all, as it should have been written by the failed call.
  void note_failure(std::shared_ptr<Failure> failure, bool permanent);
  /// The failure that forbids the call with this sequence number to touch the buffer, or null.
  std::shared_ptr<Failure> blocking(uint64_t sequence) const;
  /// The tickets of calls on other queues than `queue` that must have run before a call on `queue` may read
  /// (or, with `writes`, write) the buffer.
  void foreign_tickets(const Queue &queue, bool writes, std::vector<Ticket> &tickets) const;
  /// @}

  Buffer(Device &device, void *data, size_t bytes, std::function<void(void *)> deleter)
      : device_(device), data_(data), bytes_(bytes), deleter_(std::move(deleter)) {}
  Buffer(Device &device, CachingAllocator &allocator, const MemoryBlock &block)
      : device_(device), data_(block.data), bytes_(block.bytes), allocator_(&allocator),
        handle_(block.handle) {}

private:
  Status settle_locked(bool seen);
  static Expected<std::shared_ptr<Buffer>> from(CachingAllocator &allocator, size_t bytes, uint32_t label,
                                                Device &device, MemoryPlace place);
  StreamPoints take_points();
  /// The buffer that keeps account of calls: of a part, the one that it is a part of.
  const Buffer &root() const { return whole_ ? *whole_ : *this; }
  Buffer &root() { return whole_ ? *whole_ : *this; }

  Device &device_;
  void *data_;
  size_t bytes_;
  CachingAllocator *allocator_ = nullptr; ///< whose memory it is; null for memory of someone else
  void *handle_ = nullptr;                ///< of the allocator
  std::function<void(void *)> deleter_;
  std::shared_ptr<Buffer> whole_; ///< of a part; no part itself
  std::atomic<bool> tracked_{false};
  mutable std::mutex mutex_; ///< guards what follows
  Ticket write_;
  bool write_may_fail_ = false;
  std::vector<Ticket> uses_; ///< the last of each queue
  StreamPoints points_;      ///< the last of each stream
  std::shared_ptr<Failure> failure_;
  bool permanent_ = false;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_QUEUE_BUFFER_H
