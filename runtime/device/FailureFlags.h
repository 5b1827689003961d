//===- FailureFlags.h - Words that stop calls on a device -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls on a device overlap: a call is issued before the host knows whether the one before it failed. So each
// buffer that such a call writes has a word in memory of the device, its flag. A failed call sets the flags
// of what it should have written, and a call that finds a flag of one of its arguments set does nothing, and
// sets its own. Once the host has seen the failure, the next call on the buffer clears the flag first.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_DEVICE_FAILUREFLAGS_H
#define WEFT_RUNTIME_DEVICE_FAILUREFLAGS_H

#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace weft::runtime {

class Device;

/// The flags of one device. Their memory is never given back.
class WEFT_RUNTIME_API FailureFlags {
public:
  explicit FailureFlags(Device &device) : device_(device) {}
  /// The address on the device of a flag that is clear.
  Expected<uint64_t *> take();
  /// Takes a flag back. No work may use it any more; `set` says whether it may be set.
  void give(uint64_t *flag, bool set) noexcept;

private:
  Status grow();

  Device &device_;
  std::mutex mutex_;
  std::vector<uint64_t *> free_; ///< has room for all flags
  size_t count_ = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_DEVICE_FAILUREFLAGS_H
