//===- Registry.cpp ---------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Registry.h"

#include "runtime/cuda/device/Devices.h"
#include "runtime/support/DeviceName.h"

#include <mutex>

namespace weft::runtime {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, Device *, std::less<>> devices;

  static Registry &get() {
    static auto *const registry = new Registry;
    return *registry;
  }
};

} // namespace

void register_device(std::string_view name, Device *device) {
  Registry &registry = Registry::get();
  const std::lock_guard lock(registry.mutex);
  if (device)
    registry.devices.insert_or_assign(std::string(name), device);
  else if (const auto found = registry.devices.find(name); found != registry.devices.end())
    registry.devices.erase(found);
}

Expected<Device *> open_device(std::string_view name) {
  if (name == host_device().name())
    return &host_device();
  Registry &registry = Registry::get();
  {
    const std::lock_guard lock(registry.mutex);
    if (const auto found = registry.devices.find(name); found != registry.devices.end())
      return found->second;
  }
  const Expected<DeviceName> parsed = parse_device_name(name);
  if (!parsed)
    return parsed.status();
  if (!parsed->cuda)
    return &host_device();
  Expected<Device *> opened = cuda_device(parsed->index.value_or(0));
  if (!opened)
    return opened;
  const std::lock_guard lock(registry.mutex);
  return registry.devices.try_emplace(std::string(name), *opened).first->second;
}

Device *find_device(std::string_view name) {
  const Expected<Device *> found = open_device(name);
  return found ? *found : nullptr;
}

std::map<std::string, Device *, std::less<>> registered_devices() {
  Registry &registry = Registry::get();
  const std::lock_guard lock(registry.mutex);
  return registry.devices;
}

} // namespace weft::runtime
