//===- SeparateDevice.h - A device whose memory the host cannot read -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second implementation of the device interface, for tests. Its kernels are code of the host, run by the
// device's thread. Its memory is mapped twice. The addresses that the allocator returns can be neither read
// nor written, so that a host that dereferences one of them is killed by a signal. The device's thread uses
// the other mapping.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_CODEGEN_SEPARATEDEVICE_H
#define WEFT_TEST_UNIT_CODEGEN_SEPARATEDEVICE_H

#include "runtime/device/Device.h"
#include "runtime/memory/CachingAllocator.h"

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace weft::testing {

class SeparateDevice final : public runtime::Device {
public:
  /// Number 0 or 1 of the process, "separate:0" and "separate:1", with its counts at zero.
  static SeparateDevice &get(size_t number);
  explicit SeparateDevice(std::string name, std::string code = "cpu");

  std::string_view code() const override { return code_; }
  runtime::CachingAllocator &allocator() override { return allocator_; }
  /// Ordinary memory of the host, whose segments are counted.
  runtime::CachingAllocator &pinned_allocator() override { return pinned_; }
  Expected<std::unique_ptr<runtime::DeviceStream>> make_stream() override;
  Status copy_now(void *to, const void *from, size_t bytes, runtime::CopyDirection direction) override;

  /// The address in the device's mapping that belongs to a returned address; an address of the host is
  /// unchanged.
  static void *own(const void *address);
  void count(runtime::CopyDirection direction, size_t bytes);

  std::atomic<uint64_t> copiesIn{0}, copiesOut{0}, copiesWithin{0}, bytesIn{0}, bytesOut{0};
  std::atomic<uint64_t> runs{0}, launches{0}; ///< that it was asked to carry out
  std::atomic<uint64_t> regions{0};           ///< of launches that a graph may hold
  std::atomic<uint64_t> pinnedBytes{0};       ///< of the host's memory that is pinned now
  std::atomic<uint64_t> waits{0};             ///< of the host, for a point
  std::atomic<uint64_t> stalls{0};            ///< those of them that found it had not passed yet
  /// Microseconds that the device waits before each copy and run, so that a missing wait of the host is
  /// found.
  std::atomic<int> delayUs{0};
  /// How many more points its streams can record; an error then.
  std::atomic<int> recordsLeft{INT_MAX};
  /// How many more runs it carries out; an error of the device then, which ends what its stream has left.
  std::atomic<int> runsLeft{INT_MAX};

private:
  struct Segment {
    size_t bytes;
    std::byte *own;
  };
  static void *map(void *, size_t bytes, size_t alignment);
  static void unmap(void *, void *data, size_t bytes);
  static void *pin(void *device, size_t bytes, size_t alignment);
  static void unpin(void *device, void *data, size_t bytes);

  /// Of all devices, by the address that is handed out: one copies from another.
  struct Segments {
    std::mutex mutex;
    std::map<uintptr_t, Segment> all;
  };
  static Segments &segments();

  const std::string code_;
  runtime::CachingAllocator allocator_, pinned_;
};

} // namespace weft::testing

#endif // WEFT_TEST_UNIT_CODEGEN_SEPARATEDEVICE_H
