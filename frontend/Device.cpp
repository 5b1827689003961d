//===- Device.cpp --------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/device.hpp"

#include "runtime/DeviceName.h"

#include <cstdlib>
#include <mutex>

namespace weft {

Expected<Device> Device::parse(std::string_view text) {
  Expected<runtime::DeviceName> name = runtime::parse_device_name(text);
  if (!name)
    return name.status();
  return name->cuda ? Device(DeviceType::cuda, name->index) : Device();
}

Device::Device(const char *text) : Device(parse(text ? text : "").value_or_throw()) {}

std::string Device::str() const {
  std::string text = is_cpu() ? "cpu" : "cuda";
  return index_ ? text + ":" + std::to_string(*index_) : text;
}

namespace {
struct DefaultDevice {
  std::mutex mutex;
  std::optional<Device> device;
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
        throw Error("the environment variable WEFT_DEVICE is wrong: " + parsed.status().message());
      state().device = *parsed;
    } else {
      state().device = Device();
    }
  }
  return *state().device;
}

void set_default_device(Device device) {
  std::lock_guard lock(state().mutex);
  state().device = device;
}

} // namespace weft
