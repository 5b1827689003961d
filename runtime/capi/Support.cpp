//===- Support.cpp - Errors, version and devices of the C interface ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/Support.h"

#include "runtime/cuda/Driver.h"
#include "runtime/support/DeviceName.h"
#include "runtime/support/PerThread.h"

#include <cstdlib>
#include <new>
#include <system_error>

namespace weft::capi {
namespace {

struct LastError {
  std::string message, code;
  std::shared_ptr<const FailureInfo> info;
};

/// The texts of weft_last_error() and weft_last_error_code(): those of this thread's LastError, or a fixed
/// text if there was no memory for one.
struct Shown {
  const char *message, *code;
};
thread_local Shown shown = {"", ""};

weft_status show_out_of_memory() noexcept {
  shown = {"out of memory for the runtime's own data: free memory, and call again", "WEFT-M001"};
  return WEFT_ERROR_MEMORY;
}

weft_status record_text(const char *text) noexcept {
  try {
    return record(Status::error(text));
  } catch (...) {
    return show_out_of_memory();
  }
}

weft_status record_error(const Error &error) noexcept {
  try {
    return record(Status::error(error.info()));
  } catch (...) {
    return show_out_of_memory();
  }
}

weft_status kind_of(const std::string &code) {
  if (code == argumentCode)
    return WEFT_ERROR_ARGUMENT;
  if (!code.starts_with("WEFT-") || code.size() < 6)
    return WEFT_ERROR;
  switch (code[5]) {
  case 'L':
    return WEFT_ERROR_PACKAGE;
  case 'M':
    return WEFT_ERROR_MEMORY;
  case 'E':
    return WEFT_ERROR_DEVICE;
  case 'S':
    return WEFT_ERROR_ARGUMENT;
  default:
    return WEFT_ERROR;
  }
}

} // namespace

weft_status record(const Status &status) noexcept {
  const weft_status kind = kind_of(status.code());
  try {
    LastError &error = runtime::PerThread<LastError>::get();
    error.info = status.info();
    error.message = status.message();
    error.code = status.code() == argumentCode ? "" : status.code();
    shown = {error.message.c_str(), error.code.c_str()};
  } catch (...) {
    // The kind of error can still be reported.
    if (kind == WEFT_ERROR_MEMORY)
      return show_out_of_memory();
    shown = {"the call failed, and there is no memory for the text that says why", ""};
  }
  return kind;
}

weft_status record_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return show_out_of_memory();
  } catch (const std::system_error &error) {
    // A thread could not be started: there is no memory for its stack, or there are too many.
    if (error.code() == std::errc::resource_unavailable_try_again ||
        error.code() == std::errc::not_enough_memory) {
      shown = {"the system has no memory for another thread, or gives no more: free memory, and call again",
               "WEFT-M001"};
      return WEFT_ERROR_MEMORY;
    }
    return record_text(error.what());
  } catch (const Error &error) {
    return record_error(error);
  } catch (const std::exception &error) {
    return record_text(error.what());
  } catch (...) {
    shown = {"the call failed for an unknown reason", ""};
    return WEFT_ERROR;
  }
}

weft_tensor_info info_of(const std::string &name, const runtime::TensorInfo &type) {
  weft_tensor_info info = {};
  info.name = name.c_str();
  info.device = type.device.c_str();
  info.dtype = static_cast<weft_dtype>(type.dtype);
  info.rank = static_cast<int32_t>(type.shape.size());
  info.shape = type.shape.data();
  info.bytes = type.bytes;
  info.strides = type.strides.empty() ? nullptr : type.strides.data();
  info.tied_to = -1;
  return info;
}

weft_tensor_info info_of(const runtime::ArgumentInfo &argument) {
  weft_tensor_info info = info_of(argument.name, argument.type);
  info.role = static_cast<weft_role>(argument.role);
  info.donated = argument.donated;
  return info;
}

weft_tensor_info info_of(const runtime::ResultInfo &result) {
  weft_tensor_info info = info_of(result.name, result.type);
  info.tied_to = result.tied_to;
  return info;
}

Status give_text(const std::string &text, char **out) {
  if (Status status = require(out, "text"); !status)
    return status;
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (!copy)
    return Status::error("out of memory for a text of " + std::to_string(text.size()) + " bytes",
                         "WEFT-M001");
  std::memcpy(copy, text.c_str(), text.size() + 1);
  *out = copy;
  return {};
}

Status out_of_range(const char *what, size_t index, size_t count) {
  return argument_error("there is no " + std::string(what) + " " + std::to_string(index) + ": there are " +
                        std::to_string(count) + ", counted from 0");
}

} // namespace weft::capi

using namespace weft;
using namespace weft::capi;

const char *weft_last_error(void) { return shown.message; }
const char *weft_last_error_code(void) { return shown.code; }
weft_status weft_last_failure(weft_failure *failure) {
  return guarded([&]() -> Status {
    static const FailureInfo nothing;
    const std::shared_ptr<const FailureInfo> kept = runtime::PerThread<LastError>::get().info;
    const FailureInfo &info = kept ? *kept : nothing;
    weft_failure value = {};
    value.check = static_cast<weft_failed_check>(info.check);
    value.dimension = static_cast<int32_t>(info.dimension);
    value.position = info.position;
    value.value = info.value;
    value.value_known = info.value_known;
    value.size = info.size;
    value.file = info.file.c_str();
    value.line = info.line;
    value.column = info.column;
    value.function = info.function.c_str();
    value.call = info.call;
    return write_struct(failure, value, "failure");
  });
}
const char *weft_version(void) { return WEFT_VERSION_TEXT; }
int32_t weft_version_number(void) {
  return WEFT_VERSION_MAJOR * 1000000 + WEFT_VERSION_MINOR * 1000 + WEFT_VERSION_PATCH;
}
void weft_text_free(char *text) { std::free(text); }

weft_status weft_device_parse(const char *text, weft_device *device) {
  return guarded([&]() -> Status {
    if (Status status = require(text, "text"); !status)
      return status;
    const Expected<runtime::DeviceName> name = runtime::parse_device_name(text);
    if (!name)
      return name.status();
    weft_device value = {};
    value.type = name->cuda ? WEFT_CUDA : WEFT_CPU;
    value.index = name->index.value_or(-1);
    return write_struct(device, value, "device");
  });
}

weft_status weft_device_count(weft_device_type type, int32_t *count) {
  return guarded([&]() -> Status {
    if (Status status = require(count, "count"); !status)
      return status;
    if (type != WEFT_CPU && type != WEFT_CUDA)
      return argument_error("there is no device type " + std::to_string(static_cast<int>(type)));
    *count = type == WEFT_CPU ? 1 : runtime::driver().devices;
    return {};
  });
}
