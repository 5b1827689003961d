//===- DeviceName.cpp - The grammar of device strings ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/support/DeviceName.h"

#include <string>

namespace weft::runtime {

Expected<DeviceName> parse_device_name(std::string_view text) {
  const auto wrong = [](const std::string &message) { return Status::error(message, "WEFT-E004"); };
  const auto invalid = [&] { return wrong("Invalid device string: '" + std::string(text) + "'"); };
  if (text.empty())
    return wrong("Device string must not be empty");
  // The grammar comes before the type: letters and underscores, then perhaps a number without leading zeros.
  size_t colon = text.find(':');
  std::string_view type = text.substr(0, colon);
  if (type.empty())
    return invalid();
  for (char c : type)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'))
      return invalid();
  std::optional<int> index;
  if (colon != std::string_view::npos) {
    std::string_view digits = text.substr(colon + 1);
    if (digits.empty() || (digits.size() > 1 && digits[0] == '0'))
      return invalid();
    int value = 0;
    for (char c : digits) {
      if (c < '0' || c > '9')
        return invalid();
      value = value * 10 + (c - '0');
      if (value > 127)
        return wrong("device number in '" + std::string(text) + "' is larger than 127");
    }
    index = value;
  }
  if (type == "cuda")
    return DeviceName{true, index};
  if (type != "cpu")
    return wrong("Expected one of cpu, cuda device type at start of device string: '" + std::string(text) +
                 "'");
  if (index.value_or(0) != 0)
    return wrong("there is one CPU device, so '" + std::string(text) + "' does not exist: use 'cpu'");
  return DeviceName{};
}

} // namespace weft::runtime
