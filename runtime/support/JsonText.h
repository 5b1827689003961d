//===- JsonText.h - Strings of JSON -----------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_SUPPORT_JSONTEXT_H
#define WEFT_RUNTIME_SUPPORT_JSONTEXT_H

#include <cstdio>
#include <string>
#include <string_view>

namespace weft::runtime {

/// The text as a string of JSON, in quotes. Control characters, which JSON does not allow in strings, are
/// escaped.
inline std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      result += escape;
      continue;
    }
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + "\"";
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SUPPORT_JSONTEXT_H
