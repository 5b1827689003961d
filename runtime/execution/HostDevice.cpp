//===- HostDevice.cpp - The host as a device --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Device.h"
#include "runtime/execution/LaunchRun.h"

#include <cstring>

namespace weft::runtime {
namespace {

/// Runs all work at once, so that every point has passed when it is recorded.
class HostStream final : public DeviceStream {
public:
  Status copy(void *to, const void *from, size_t bytes, CopyDirection) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Status issue(const LaunchRun &run) override { return run_launches(run); }
  Status wait_for(const Point &point) override {
    point.wait_passed();
    return {};
  }
  Expected<Point> record() override { return Point(); }
};

class HostDevice final : public Device {
public:
  HostDevice() : Device("cpu") {}
  bool is_host() const override { return true; }
  std::string_view code() const override { return "cpu"; }
  CachingAllocator &allocator() override { return CachingAllocator::get(); }
  CachingAllocator &pinned_allocator() override { return CachingAllocator::get(); }
  Expected<std::unique_ptr<DeviceStream>> make_stream() override {
    return std::unique_ptr<DeviceStream>(std::make_unique<HostStream>());
  }
  Status copy_now(void *to, const void *from, size_t bytes, CopyDirection) override {
    std::memcpy(to, from, bytes);
    return {};
  }
};

} // namespace

Device &host_device() {
  static auto *const device = new HostDevice;
  return *device;
}

} // namespace weft::runtime
