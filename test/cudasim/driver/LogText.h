//===- LogText.h - Arguments of calls in words -----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the log shows an argument. Objects have their names ("stream 2"), device addresses are numbers, and
// addresses of the host, which differ between runs, are "host", or "pinned" if the driver has pinned them. A
// result is shown after an arrow.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_LOGTEXT_H
#define WEFT_TEST_CUDASIM_DRIVER_LOGTEXT_H

#include "test/cudasim/driver/Settings.h"
#include "test/cudasim/driver/State.h"

#include <string>
#include <type_traits>
#include <vector>

namespace weft::cusim {

inline std::string dimensions(uint64_t x, uint64_t y, uint64_t z) {
  return std::to_string(x) + "x" + std::to_string(y) + "x" + std::to_string(z);
}

inline std::string addressText(uint64_t address) {
  if (!address || state().deviceOf(address))
    return address ? hex(address) : "null";
  return state().isPinned(address, 1) ? "pinned" : "host";
}

/// An argument as the call gets it.
template <class T> std::string logText(T value) {
  if constexpr (std::is_same_v<T, const char *>) {
    return value ? "'" + std::string(value) + "'" : "null";
  } else if constexpr (std::is_same_v<T, CUdeviceptr>) {
    return addressText(value);
  } else if constexpr (std::is_same_v<T, const CUlaunchConfig *>) {
    return !value ? "null"
                  : "grid " + dimensions(value->gridDimX, value->gridDimY, value->gridDimZ) + ", block " +
                        dimensions(value->blockDimX, value->blockDimY, value->blockDimZ) + ", shared " +
                        std::to_string(value->sharedMemBytes) + ", " + logText(value->hStream);
  } else if constexpr (std::is_same_v<T, CUstream>) {
    if (!value)
      return "stream 0";
    const std::string name = state().nameOf(value);
    return name.empty() ? "no stream" : name;
  } else if constexpr (std::is_pointer_v<T>) {
    if (!value)
      return "null";
    if constexpr (std::is_function_v<std::remove_pointer_t<T>>) {
      return "function";
    } else {
      const std::string name = state().nameOf(value);
      return name.empty() ? addressText(reinterpret_cast<uint64_t>(value)) : name;
    }
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<long long>(value));
  } else {
    return std::to_string(value);
  }
}

/// What a call that succeeded wrote through an argument: an address or an object; otherwise empty.
template <class T> std::string resultText(T value) {
  if constexpr (std::is_same_v<T, CUdeviceptr *>) {
    return value ? addressText(*value) : "";
  } else if constexpr (std::is_pointer_v<T> && !std::is_same_v<T, void **>) { // which are parameters
    using Target = std::remove_pointer_t<T>;
    if constexpr (std::is_pointer_v<Target> && !std::is_const_v<Target>)
      return value ? state().nameOf(*value) : "";
  }
  return "";
}

/// "cuMemAlloc(-> 0xf00000000100, 256)"
inline std::string callText(const char *function, const std::vector<std::string> &arguments,
                            const std::vector<std::string> &results) {
  std::string text;
  for (size_t k = 0; k < arguments.size(); ++k)
    text += (k ? ", " : "") + (results[k].empty() ? arguments[k] : "-> " + results[k]);
  return std::string(function) + "(" + text + ")";
}

} // namespace weft::cusim

#endif // WEFT_TEST_CUDASIM_DRIVER_LOGTEXT_H
