//===- PlanDevices.cpp -----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/PlanDevices.h"

#include "runtime/package/PlanTargets.h"
#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanFields.h"
#include "runtime/support/DeviceName.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace weft::runtime {
namespace {

class Checker {
public:
  explicit Checker(const fb::Plan &plan) : plan_(plan), devices_(plan_devices(plan)) {}

  Status run() const {
    for (auto step :
         {&Checker::check_parts, &Checker::check_values, &Checker::check_buffers, &Checker::check_launches})
      if (Status status = (this->*step)(); !status)
        return status;
    return {};
  }

private:
  Status check_parts() const {
    if (devices_.size() > maxPlanDevices)
      return Status::error("has " + number(devices_.size()) + " devices, and at most " +
                           number(maxPlanDevices) + " are possible");
    uint64_t end = 0;
    for (size_t i = 0; i < devices_.size(); ++i) {
      const PlanDevice &device = devices_[i];
      const std::string what = "device " + number(i) + " '" + device.name + "' ";
      if (Expected<DeviceName> name = parse_device_name(device.name); !name)
        return name.status().context("device " + number(i) + ": ");
      for (size_t j = 0; j < i; ++j)
        if (devices_[j].name == device.name)
          return Status::error(what + "is also device " + number(j));
      if (device.arena_begin != end || device.arena_bytes > plan_.arena_bytes() - end)
        return Status::error(what + "has the bytes [" + number(device.arena_begin) + ", +" +
                             number(device.arena_bytes) + ") of the arena, expected a part from " +
                             number(end) + " on of its " + number(plan_.arena_bytes()) + " bytes");
      end += device.arena_bytes;
    }
    if (end != plan_.arena_bytes())
      return Status::error("the parts of the devices are " + number(end) + " of the arena's " +
                           number(plan_.arena_bytes()) + " bytes");
    return {};
  }

  /// The number of the device of a type, or that of all devices where the plan has none of that name.
  size_t device_of(const fb::TensorType &type) const {
    const auto found = std::ranges::find(devices_, text(type.device()), &PlanDevice::name);
    return static_cast<size_t>(found - devices_.begin());
  }

  Status check_values() const {
    const auto check = [&](const char *what, uint32_t i, const fb::TensorType &type) -> Status {
      if (length(plan_.devices()) == 0 || device_of(type) < devices_.size())
        return {};
      return Status::error(std::string(what) + " " + number(i) + " is on '" + text(type.device()) +
                           "', which is no device of the plan");
    };
    for (uint32_t i = 0; i < length(plan_.arguments()); ++i)
      if (Status status = check("argument", i, *plan_.arguments()->Get(i)->type()); !status)
        return status;
    for (uint32_t i = 0; i < length(plan_.results()); ++i) {
      const fb::Result &result = *plan_.results()->Get(i);
      if (Status status = check("result", i, *result.type()); !status)
        return status;
      const fb::TensorType *shared =
          result.alias_argument() >= 0
              ? plan_.arguments()->Get(static_cast<uint32_t>(result.alias_argument()))->type()
          : result.alias_result() >= 0
              ? plan_.results()->Get(static_cast<uint32_t>(result.alias_result()))->type()
              : nullptr;
      if (shared && text(shared->device()) != text(result.type()->device()))
        return Status::error("result " + number(i) + " is on '" + text(result.type()->device()) +
                             "', and shares a buffer on '" + text(shared->device()) + "'");
    }
    return {};
  }

  Status check_buffers() const {
    for (uint32_t i = 0; i < length(plan_.buffers()); ++i) {
      const fb::Buffer &buffer = *plan_.buffers()->Get(i);
      const std::string what = "buffer " + number(i) + " ";
      if (buffer.device() >= devices_.size())
        return Status::error(what + "is on device " + number(buffer.device()) + " of " +
                             number(devices_.size()));
      const PlanDevice &device = devices_[buffer.device()];
      const fb::TensorType *type = nullptr;
      if (buffer.storage() == fb::Storage::argument)
        type = plan_.arguments()->Get(buffer.index())->type();
      if (buffer.storage() == fb::Storage::result)
        type = plan_.results()->Get(buffer.index())->type();
      if (type && length(plan_.devices()) && device_of(*type) != buffer.device())
        return Status::error(what + "is on '" + device.name + "', and lies in a value on '" +
                             text(type->device()) + "'");
      if (buffer.storage() == fb::Storage::arena &&
          (buffer.offset() < device.arena_begin ||
           buffer.offset() + buffer.bytes() > device.arena_begin + device.arena_bytes))
        return Status::error(what + "is on '" + device.name + "', and lies outside of its part of the arena");
    }
    return {};
  }

  Status check_launches() const {
    for (uint32_t i = 0; i < length(plan_.launches()); ++i) {
      const fb::Launch &launch = *plan_.launches()->Get(i);
      const std::string what = "launch " + number(i) + " ";
      if (launch.device() >= devices_.size())
        return Status::error(what + "runs on device " + number(launch.device()) + " of " +
                             number(devices_.size()));
      const auto is_elsewhere = [&](uint32_t buffer) {
        return plan_.buffers()->Get(buffer)->device() != launch.device();
      };
      const auto elsewhere = [&](uint32_t buffer) {
        return Status::error(what + "runs on '" + devices_[launch.device()].name + "', and buffer " +
                             number(buffer) + " is on '" +
                             devices_[plan_.buffers()->Get(buffer)->device()].name + "'");
      };
      if (const auto *copy = launch.op_as_CopyLaunch()) {
        if (is_elsewhere(copy->source()) && is_elsewhere(copy->destination()))
          return elsewhere(copy->source());
        continue;
      }
      for (const BufferAccess &access : accesses_of(launch))
        if (is_elsewhere(access.buffer))
          return elsewhere(access.buffer);
    }
    return {};
  }

  const fb::Plan &plan_;
  const std::vector<PlanDevice> devices_;
};

} // namespace

Status check_regions(const fb::Plan &plan) {
  int32_t region = -1, before = -1;
  for (uint32_t i = 0; i < length(plan.launches()); ++i) {
    const fb::Launch &launch = *plan.launches()->Get(i);
    const std::string what = "launch " + number(i) + " ";
    if (launch.region() < -1 ||
        (launch.region() >= 0 && launch.region() != before && launch.region() <= region))
      return Status::error(what + "is of region " + number(launch.region()) + ", after launches of region " +
                           number(region) + " and others");
    const auto *host = launch.op_as_HostLaunch();
    if (launch.region() >= 0 && host && host->action() == fb::HostAction::print)
      return Status::error(what + "prints, and is in region " + number(launch.region()));
    before = launch.region();
    region = std::max(region, before);
  }
  return {};
}

bool has_device_code(const fb::Plan &plan) {
  constexpr std::string_view prefix = "image.";
  const std::string image = text(plan.image());
  return image.starts_with(prefix) && !parse_cpu_target(image.substr(prefix.size()));
}

bool is_off_host(const fb::Plan &plan, const fb::Launch &launch) {
  return launch.device() < length(plan.devices()) &&
         text(plan.devices()->Get(launch.device())->name()) != "cpu";
}

bool is_device_launch(const fb::Plan &plan, const fb::Launch &launch) {
  return is_off_host(plan, launch) && has_device_code(plan);
}

std::vector<PlanDevice> plan_devices(const fb::Plan &plan) {
  std::vector<PlanDevice> devices;
  for (uint32_t i = 0; i < length(plan.devices()); ++i) {
    const fb::DevicePart &part = *plan.devices()->Get(i);
    devices.push_back({text(part.name()), part.arena_begin(), part.arena_bytes()});
  }
  if (devices.empty())
    devices.push_back({"cpu", 0, plan.arena_bytes()});
  return devices;
}

Status check_plan_devices(const fb::Plan &plan) { return Checker(plan).run(); }

} // namespace weft::runtime
