//===- FailureFlags.cpp - Words that stop calls on a device -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/FailureFlags.h"

#include "runtime/device/Device.h"

#include <array>

namespace weft::runtime {

constexpr size_t flagsAtOnce = 512;

Status FailureFlags::grow() {
  static constexpr std::array<uint64_t, flagsAtOnce> clear = {};
  CachingAllocator &allocator = device_.allocator();
  free_.reserve(count_ + flagsAtOnce);
  const Expected<MemoryBlock> block =
      allocator.allocate(sizeof clear, allocator.intern_label({"flags of failures"}));
  if (!block)
    return block.status();
  if (Status status =
          device_.copy_now(block->data, clear.data(), sizeof clear, CopyDirection::host_to_device);
      !status) {
    allocator.free(*block);
    return status;
  }
  for (size_t i = flagsAtOnce; i-- > 0;)
    free_.push_back(static_cast<uint64_t *>(block->data) + i);
  count_ += flagsAtOnce;
  return {};
}

Expected<uint64_t *> FailureFlags::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty())
    if (Status status = grow(); !status)
      return status;
  uint64_t *const flag = free_.back();
  free_.pop_back();
  return flag;
}

void FailureFlags::give(uint64_t *flag, bool set) noexcept {
  constexpr uint64_t clear = 0;
  // A flag that cannot be cleared is not used again.
  if (set && !device_.copy_now(flag, &clear, sizeof clear, CopyDirection::host_to_device))
    return;
  const std::lock_guard lock(mutex_);
  free_.push_back(flag);
}

} // namespace weft::runtime
