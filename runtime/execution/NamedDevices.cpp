//===- NamedDevices.cpp - The devices that a function is loaded on --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/NamedDevices.h"

#include "runtime/device/Registry.h"
#include "runtime/package/PlanTargets.h"
#include "runtime/plan/PlanDevices.h"
#include "runtime/plan/PlanVerifier.h"
#include "runtime/support/DeviceName.h"

#include <algorithm>
#include <set>

namespace weft::runtime {
namespace {

constexpr const char *what = "device map: ";

Expected<std::string> full_name(std::string_view text) {
  const Expected<DeviceName> name = parse_device_name(text);
  if (!name)
    return name.status().context(what);
  return name->cuda ? "cuda:" + std::to_string(name->index.value_or(0)) : std::string("cpu");
}

Status wrong(const std::string &problem) { return Status::error(what + problem, "WEFT-E004"); }

/// Adds one item of a list, "cuda:0=cuda:1".
Status add_item(std::string_view item, NamedDevices &named) {
  const size_t equals = item.find('=');
  if (equals == std::string_view::npos)
    return wrong("expected logical=real, found '" + std::string(item) + "'");
  const Expected<std::string> logical = full_name(item.substr(0, equals));
  if (!logical)
    return logical.status();
  const Expected<std::string> real = full_name(item.substr(equals + 1));
  if (!real)
    return real.status();
  if (*logical == host_device().name() && *real != *logical)
    return wrong("the host stands for itself alone, found '" + std::string(item) + "'");
  if (!named.each.try_emplace(*logical, *real).second)
    return wrong("'" + *logical + "' is named twice");
  return {};
}

/// The devices that the plans of a function name beside the host.
std::set<std::string> devices_of_plans(const Package &package, std::string_view function) {
  std::set<std::string> names;
  for (const std::string &target : plan_targets(package, function)) {
    const auto section = package.section("plan." + std::string(function) + "." + target);
    if (!section)
      continue; // an error of the plan that is loaded, if it is this one
    const Expected<const fb::Plan *> plan = read_plan(*section);
    if (!plan)
      continue;
    for (const PlanDevice &device : plan_devices(**plan))
      if (device.name != host_device().name())
        names.insert(device.name);
  }
  return names;
}

std::string list_of(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

bool runs_on_host(const Package &package, std::string_view function) {
  return std::ranges::any_of(plan_targets(package, function),
                             [](const std::string &target) { return parse_cpu_target(target).has_value(); });
}

/// Whether a device runs one of the function's plans for a GPU.
bool runs_on(const Device &device, const Package &package, std::string_view function) {
  return std::ranges::any_of(plan_targets(package, function), [&](const std::string &target) {
    const std::optional<GpuTargetName> gpu = parse_gpu_target(target);
    return gpu && device.suits(gpu->gpu) > 0;
  });
}

/// Of a device whose kernels are not code of the host.
bool is_gpu(const Device &device) { return device.code() != host_device().code(); }

/// What the text asks for, and the package has no plan for; no error if it has one.
Status check_plans(const Package &package, std::string_view function, const DeviceMap &devices) {
  const auto missing = [&](const std::string &plan, const std::string &target) {
    return Status::error("package '" + package.source() + "' has no plan of '" + std::string(function) +
                             "' " + plan + "; it has " + list_of(plan_targets(package, function)) +
                             ": save it with {.targets = {" + target + "}}",
                         "WEFT-L007");
  };
  const auto gpu = std::ranges::find_if(devices, [](const auto &entry) { return is_gpu(*entry.second); });
  if (gpu == devices.end())
    return runs_on_host(package, function) ? Status() : missing("for the target 'cpu'", "\"cpu\"");
  const bool any = std::ranges::any_of(
      devices, [&](const auto &entry) { return runs_on(*entry.second, package, function); });
  const std::string code(gpu->second->code());
  return any ? Status()
             : missing("that '" + gpu->second->name() + "' runs, which takes kernels for '" + code + "'",
                       "\"cpu\", \"" + code + "\"");
}

/// The devices of this machine that the text names, by their names.
Expected<DeviceMap> open_all(const NamedDevices &named) {
  DeviceMap opened;
  const auto open = [&](const std::string &name) -> Status {
    const Expected<Device *> device = open_device(name);
    if (!device)
      return device.status().context(what);
    opened.emplace(name, *device);
    return {};
  };
  if (!named.all.empty())
    if (Status status = open(named.all); !status)
      return status;
  for (const auto &[logical, real] : named.each)
    if (Status status = open(real); !status)
      return status;
  return opened;
}

/// The devices of the names in the plans, if all are there and run a plan. Otherwise the host.
Expected<DeviceMap> open_by_name(const Package &package, std::string_view function) {
  DeviceMap devices;
  Status absent;
  bool runs = true;
  for (const std::string &name : devices_of_plans(package, function)) {
    const Expected<Device *> device = open_device(name);
    if (!device && absent.ok())
      absent = device.status();
    if (device)
      devices.emplace(name, *device);
    runs &= device && (!is_gpu(**device) || runs_on(**device, package, function));
  }
  if (runs && !devices.empty())
    return devices;
  if (!absent.ok() && !runs_on_host(package, function))
    return absent.context("package '" + package.source() + "', function '" + std::string(function) + "': ");
  if (runs_on_host(package, function))
    return DeviceMap();
  if (Status status = check_plans(package, function, devices); !status)
    return status;
  return devices;
}

} // namespace

Expected<NamedDevices> parse_named_devices(std::string_view text) {
  NamedDevices named;
  if (text.empty())
    return named;
  if (text.find('=') == std::string_view::npos) {
    Expected<std::string> all = full_name(text);
    if (!all)
      return all.status();
    named.all = *std::move(all);
    return named;
  }
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (Status status = add_item(text.substr(0, comma), named); !status)
      return status;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return named;
}

Status check_device_map(std::string_view text) {
  const Expected<NamedDevices> named = parse_named_devices(text);
  return named ? open_all(*named).status() : named.status();
}

Expected<DeviceMap> open_named_devices(const Package &package, std::string_view function,
                                       std::string_view text) {
  const Expected<NamedDevices> named = parse_named_devices(text);
  if (!named)
    return named.status();
  const Expected<DeviceMap> opened = open_all(*named);
  if (!opened)
    return opened.status();
  if (opened->empty())
    return open_by_name(package, function);
  DeviceMap devices;
  for (const auto &[logical, real] : named->each)
    devices.emplace(logical, opened->at(real));
  if (!named->all.empty()) {
    Device *const device = opened->at(named->all);
    for (const std::string &name : devices_of_plans(package, function))
      devices.emplace(name, device);
    devices.emplace(named->all, device); // so that it is asked for a plan where none names a device
  }
  if (Status status = check_plans(package, function, devices); !status)
    return status;
  // The host needs no map, and a plan for it takes none.
  std::erase_if(devices, [&](const auto &entry) { return !named->all.empty() && entry.second->is_host(); });
  return devices;
}

} // namespace weft::runtime
