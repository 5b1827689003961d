//===- Support.cpp - Errors, version and devices of the C interface ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/Support.h"

#include "runtime/DeviceName.h"

#include <cstdlib>

namespace weft::capi {
namespace {

struct LastError {
  std::string message, code;
  std::shared_ptr<const FailureInfo> info;
};
LastError &last_error() {
  static thread_local LastError error;
  return error;
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
  LastError &error = last_error();
  error.info = status.info();
  try {
    error.message = status.message();
    error.code = status.code() == argumentCode ? "" : status.code();
  } catch (...) {
    // No memory even for the text: the kind is still told.
    error.message.clear();
    error.code.clear();
  }
  return kind_of(status.code());
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

const char *weft_last_error(void) { return last_error().message.c_str(); }
const char *weft_last_error_code(void) { return last_error().code.c_str(); }
weft_status weft_last_failure(weft_failure *failure) {
  return guarded([&]() -> Status {
    static const FailureInfo nothing;
    const std::shared_ptr<const FailureInfo> kept = last_error().info;
    const FailureInfo &info = kept ? *kept : nothing;
    weft_failure value = {};
    value.check = static_cast<weft_failed_check>(info.check);
    value.dimension = static_cast<int32_t>(info.dimension);
    value.position = info.position;
    value.value = info.value;
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
    *count = type == WEFT_CPU ? 1 : 0;
    return {};
  });
}
