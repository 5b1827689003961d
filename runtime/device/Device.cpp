//===- Device.cpp ----------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Device.h"

#include "runtime/device/FailureFlags.h"

#include <algorithm>

namespace weft::runtime {

DeviceStream::~DeviceStream() = default;
DeviceCode::~DeviceCode() = default;
Device::Device(std::string name)
    : name_(std::move(name)), failure_flags_(std::make_unique<FailureFlags>(*this)) {}
Device::~Device() = default;

Expected<std::shared_ptr<const DeviceCode>> Device::load(const std::shared_ptr<const DeviceImage> &) {
  return std::shared_ptr<const DeviceCode>();
}

Expected<DeviceContraction> Device::contraction(const ContractionShape &, const ContractionChoice &,
                                                const ContractionAlignment &) {
  return DeviceContraction{nullptr, "'" + name_ + "' has no library of contractions"};
}

Expected<std::unique_ptr<DeviceStream>> Device::adopt_stream(void *) {
  return Status::error("'" + name_ + "' has no streams of a driver: give one of a CUDA device", "WEFT-E001");
}

Status copy_between(Device &to_device, void *to, Device &from_device, const void *from, size_t bytes) {
  if (bytes == 0)
    return {};
  if (&to_device == &from_device)
    return to_device.copy_now(to, from, bytes, CopyDirection::device_to_device);
  if (from_device.is_host())
    return to_device.copy_now(to, from, bytes, CopyDirection::host_to_device);
  if (to_device.is_host())
    return from_device.copy_now(to, from, bytes, CopyDirection::device_to_host);
  constexpr size_t pieceBytes = size_t(4) << 20;
  CachingAllocator &allocator = from_device.pinned_allocator();
  Expected<MemoryBlock> block = allocator.allocate(std::min(bytes, pieceBytes));
  if (!block)
    return block.status();
  Status status;
  for (size_t at = 0; at < bytes && status.ok(); at += pieceBytes) {
    const size_t piece = std::min(bytes - at, pieceBytes);
    status = from_device.copy_now(block->data, static_cast<const std::byte *>(from) + at, piece,
                                  CopyDirection::device_to_host);
    if (status.ok())
      status = to_device.copy_now(static_cast<std::byte *>(to) + at, block->data, piece,
                                  CopyDirection::host_to_device);
  }
  allocator.free(*block);
  return status;
}

} // namespace weft::runtime
