//===- DeviceName.h - The grammar of device strings -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_SUPPORT_DEVICENAME_H
#define WEFT_RUNTIME_SUPPORT_DEVICENAME_H

#include "weft/export.hpp"
#include "weft/status.hpp"

#include <optional>
#include <string_view>

namespace weft::runtime {

/// A device as it is written: "cpu", "cuda", "cuda:1" (torch-semantics rows 1 and 2).
struct DeviceName {
  bool cuda = false;
  std::optional<int> index; ///< never of the CPU
};

/// Errors begin with PyTorch's words.
WEFT_RUNTIME_API Expected<DeviceName> parse_device_name(std::string_view text);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SUPPORT_DEVICENAME_H
