//===- Executables.cpp - Executables in the C interface ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/Executables.h"
#include "runtime/capi/Packages.h"

using namespace weft;
using namespace weft::capi;

namespace {

template <typename Body> weft_status with(const weft_executable *executable, Body body) {
  return guarded([&]() -> Status {
    if (Status status = require(executable, "executable"); !status)
      return status;
    return body(*executable->executable);
  });
}

weft_status count_of(const weft_executable *executable, size_t *count, size_t number) {
  return with(executable, [&](const runtime::StatefulExecutable &) -> Status {
    if (Status status = require(count, "count"); !status)
      return status;
    *count = number;
    return {};
  });
}

} // namespace

weft_status weft_executable_load(weft_package *package, const char *function, const char *devices,
                                 weft_executable **executable) {
  return guarded([&]() -> Status {
    if (Status status = require(package, "package"); !status)
      return status;
    if (Status status = require(function, "function"); !status)
      return status;
    if (Status status = require(executable, "executable"); !status)
      return status;
    Expected<std::shared_ptr<runtime::StatefulExecutable>> loaded =
        runtime::StatefulExecutable::load(package->package, function, devices ? devices : "");
    if (!loaded)
      return loaded.status();
    auto made = std::make_unique<weft_executable>();
    made->executable = *std::move(loaded);
    for (const auto &[name, entry] : made->executable->state())
      made->state_names.push_back(name);
    *executable = made.release();
    return {};
  });
}

void weft_executable_destroy(weft_executable *executable) { delete executable; }

weft_status weft_executable_input_count(const weft_executable *executable, size_t *count) {
  return count_of(executable, count, executable ? executable->executable->inputs().size() : 0);
}
weft_status weft_executable_output_count(const weft_executable *executable, size_t *count) {
  return count_of(executable, count, executable ? executable->executable->outputs().size() : 0);
}
weft_status weft_executable_state_count(const weft_executable *executable, size_t *count) {
  return count_of(executable, count, executable ? executable->state_names.size() : 0);
}

weft_status weft_executable_input(const weft_executable *executable, size_t index, weft_tensor_info *info) {
  return with(executable, [&](const runtime::StatefulExecutable &own) -> Status {
    if (index >= own.inputs().size())
      return out_of_range("input", index, own.inputs().size());
    weft_tensor_info value = info_of(own.signature().arguments[own.inputs()[index]]);
    value.device = own.executable().argument_device(own.inputs()[index]).name().c_str();
    return write_struct(info, value, "info");
  });
}

weft_status weft_executable_output(const weft_executable *executable, size_t index, weft_tensor_info *info) {
  return with(executable, [&](const runtime::StatefulExecutable &own) -> Status {
    if (index >= own.outputs().size())
      return out_of_range("output", index, own.outputs().size());
    weft_tensor_info value = info_of(own.signature().results[own.outputs()[index]]);
    value.device = own.executable().result_device(own.outputs()[index]).name().c_str();
    return write_struct(info, value, "info");
  });
}

weft_status weft_executable_state(const weft_executable *executable, size_t index, weft_tensor_info *info) {
  return with(executable, [&](const runtime::StatefulExecutable &own) -> Status {
    if (index >= executable->state_names.size())
      return out_of_range("piece of state", index, executable->state_names.size());
    const auto &entry = own.state().find(executable->state_names[index])->second;
    weft_tensor_info value = info_of(own.signature().arguments[entry.argument]);
    value.written = entry.written;
    value.device = own.executable().argument_device(entry.argument).name().c_str();
    return write_struct(info, value, "info");
  });
}

weft_status weft_executable_state_get(weft_executable *executable, const char *name, void *data,
                                      size_t bytes) {
  return with(executable, [&](runtime::StatefulExecutable &own) -> Status {
    if (Status status = require(name, "name"); !status)
      return status;
    if (Status status = bytes ? require(data, "data") : Status(); !status)
      return status;
    return own.get_state(name, {static_cast<std::byte *>(data), bytes});
  });
}

weft_status weft_executable_state_set(weft_executable *executable, const char *name, const void *data,
                                      size_t bytes) {
  return with(executable, [&](runtime::StatefulExecutable &own) -> Status {
    if (Status status = require(name, "name"); !status)
      return status;
    if (Status status = bytes ? require(data, "data") : Status(); !status)
      return status;
    return own.set_state(name, {static_cast<const std::byte *>(data), bytes});
  });
}

weft_status weft_executable_scalar_set(weft_executable *executable, const char *name, double value) {
  return with(executable, [&](runtime::StatefulExecutable &own) -> Status {
    if (Status status = require(name, "name"); !status)
      return status;
    return own.set_scalar(name, value);
  });
}
