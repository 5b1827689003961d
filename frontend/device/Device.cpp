//===- Device.cpp --------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/device.hpp"

#include "frontend/graph/Message.h"
#include "runtime/cuda/Driver.h"
#include "runtime/support/DeviceName.h"

#include <cstdlib>
#include <mutex>

namespace weft {

Expected<Device> Device::parse(std::string_view text) {
  Expected<runtime::DeviceName> name = runtime::parse_device_name(text);
  if (!name)
    return name.status();
  return name->cuda ? Device(DeviceType::cuda, name->index) : Device();
}

Device::Device(const char *text, Loc loc) {
  Expected<Device> parsed = parse(text ? text : "");
  frontend::throwAt(parsed.status(), loc);
  *this = *parsed;
}

void Device::refuse(DeviceType type, int index, Loc loc) {
  const std::string number = std::to_string(index);
  frontend::fail(type == DeviceType::cpu
                     ? "there is one CPU device, so number " + number + " does not exist: use Device(\"cpu\")"
                     : "the number of a CUDA device is from 0 to 127, found " + number,
                 loc, {}, "WEFT-E004");
}

std::string Device::str() const {
  std::string text = is_cpu() ? "cpu" : "cuda";
  return index_ ? text + ":" + std::to_string(*index_) : text;
}

namespace {
struct DefaultDevice {
  std::mutex mutex;
  std::optional<Device> device; ///< the result of default_device(), once known
  std::optional<Device> chosen; ///< the device given to set_default_device(), if any
};
DefaultDevice &state() {
  static auto *state = new DefaultDevice;
  return *state;
}
} // namespace

Device default_device() {
  std::lock_guard lock(state().mutex);
  if (!state().device) {
    const char *wanted = std::getenv("WEFT_DEVICE");
    if (wanted && *wanted) {
      auto parsed = Device::parse(wanted);
      if (!parsed)
        parsed.status().context("the environment variable WEFT_DEVICE is wrong: ").throw_if_failed();
      state().device = *parsed;
    } else {
      state().device =
          runtime::driver().state == runtime::DriverState::ready ? Device(DeviceType::cuda, 0) : Device();
    }
  }
  return *state().device;
}

void set_default_device(Device device) {
  std::lock_guard lock(state().mutex);
  state().device = device;
  state().chosen = device;
}

static std::optional<Device> &scopedDevice() {
  static thread_local std::optional<Device> device;
  return device;
}

static int &currentIndex() {
  static thread_local int index = 0;
  return index;
}

Device creation_device() {
  if (scopedDevice())
    return *scopedDevice();
  std::lock_guard lock(state().mutex);
  return state().chosen.value_or(Device());
}

DefaultDeviceGuard::DefaultDeviceGuard(Device device) : before_(scopedDevice()) { scopedDevice() = device; }
DefaultDeviceGuard::~DefaultDeviceGuard() { scopedDevice() = before_; }

DeviceGuard::DeviceGuard(Device device) : before_(currentIndex()) {
  if (device.is_cuda() && device.index())
    currentIndex() = *device.index();
}
DeviceGuard::~DeviceGuard() { currentIndex() = before_; }

Device resolve(Device device) {
  return device.is_cuda() && !device.index() ? Device(DeviceType::cuda, currentIndex()) : device;
}

} // namespace weft
