//===- Message.h - Building the texts of errors --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_MESSAGE_H
#define WEFT_FRONTEND_IO_MESSAGE_H

#include "weft/status.hpp"

#include <concepts>
#include <string>
#include <string_view>

namespace weft::io {

namespace detail {
inline void append(std::string &out, std::string_view text) { out += text; }
inline void append(std::string &out, char c) { out += c; }
template <std::integral T> void append(std::string &out, T value) { out += std::to_string(value); }
} // namespace detail

/// Joins texts and integers.
template <typename... Parts> std::string cat(const Parts &...parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

/// An error whose message is `parts` joined.
template <typename... Parts> Status failure(const Parts &...parts) { return Status::error(cat(parts...)); }

/// `text` in single quotes, shortened, with everything that is not printable ASCII escaped: bytes of a
/// damaged file must not reach a terminal as they are.
std::string quoted(std::string_view text);

/// "[2, 3]".
template <typename Dims> std::string shape_text(const Dims &dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    out += cat(i ? ", " : "", dims[i]);
  return out + "]";
}

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_MESSAGE_H
