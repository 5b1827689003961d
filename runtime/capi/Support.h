//===- Support.h - Helpers of the C interface -------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CAPI_SUPPORT_H
#define WEFT_RUNTIME_CAPI_SUPPORT_H

#include "runtime/execution/Executable.h"
#include "runtime/support/ArgumentError.h"
#include "weft/status.hpp"
#include "weft/weft.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

namespace weft::capi {

using runtime::argument_error;
using runtime::argumentCode;

/// Keeps a failure for weft_last_error(). Without memory for its text, the kind and the code are still
/// reported.
weft_status record(const Status &status) noexcept;
/// Records the exception that is being handled. It needs no memory.
weft_status record_exception() noexcept;

/// Runs `body`, which returns a Status. Exceptions become a status.
template <typename Body> weft_status guarded(Body body) noexcept {
  try {
    const Status status = body();
    return status.ok() ? WEFT_OK : record(status);
  } catch (...) {
    return record_exception();
  }
}

template <typename T> Status require(const T *pointer, const char *name) {
  return pointer ? Status() : argument_error("the argument '" + std::string(name) + "' is NULL");
}

/// Copies a struct of the caller, whose version may have fewer or more fields; missing fields are zero.
template <typename T> Expected<T> read_struct(const T *from, const char *name) {
  if (from->struct_size < 2 * sizeof(size_t))
    return argument_error("the struct_size of '" + std::string(name) + "' is " +
                          std::to_string(from->struct_size) + "; set it to sizeof, which is " +
                          std::to_string(sizeof(T)) + " here");
  T value = {};
  std::memcpy(&value, from, std::min(from->struct_size, sizeof(T)));
  return value;
}

/// Fills the fields of the caller's version of the struct.
template <typename T> Status write_struct(T *to, T value, const char *name) {
  if (Status status = require(to, name); !status)
    return status;
  const Expected<T> before = read_struct(to, name);
  if (!before)
    return before.status();
  const size_t bytes = to->struct_size;
  value.struct_size = bytes;
  std::memcpy(to, &value, std::min(bytes, sizeof(T)));
  return {};
}

/// The public description of an argument or result.
weft_tensor_info info_of(const std::string &name, const runtime::TensorInfo &type);
weft_tensor_info info_of(const runtime::ArgumentInfo &argument);
weft_tensor_info info_of(const runtime::ResultInfo &result);

/// A copy that weft_text_free() frees.
Status give_text(const std::string &text, char **out);

Status out_of_range(const char *what, size_t index, size_t count);

} // namespace weft::capi

/// The queue of a stream.
weft::runtime::Queue &queue_of(weft_stream *stream);

#endif // WEFT_RUNTIME_CAPI_SUPPORT_H
