//===- Message.cpp - Building the texts of errors ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Message.h"

#include <cstdio>

namespace weft::io {

std::string quoted(std::string_view text) {
  constexpr size_t longest = 80;
  std::string out = "'";
  for (char c : text.substr(0, longest)) {
    if (c >= 0x20 && c < 0x7f) {
      out += c;
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof(escaped), "\\x%02x", static_cast<unsigned char>(c));
    out += escaped;
  }
  out += "'";
  if (text.size() > longest)
    out += cat("... (", text.size(), " bytes)");
  return out;
}

} // namespace weft::io
