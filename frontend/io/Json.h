//===- Json.h - A strict reader of JSON ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_IO_JSON_H
#define WEFT_FRONTEND_IO_JSON_H

#include "weft/status.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::io {

/// Reads JSON (RFC 8259) piece by piece as the caller expects it. No tree is built, so memory does not grow
/// with the text, and nothing recurses, so depth cannot exhaust the stack. Numbers are unsigned integers.
class JsonReader {
public:
  /// Errors start with `where` and give offsets as if the text began at byte `offset` of it.
  JsonReader(std::string_view text, std::string where, uint64_t offset = 0)
      : text_(text), where_(std::move(where)), offset_(offset) {}

  Status begin_object() { return begin('{'); }
  /// Puts the next key into `key`, or returns false and leaves the object.
  Expected<bool> next_key(std::string &key);
  Status begin_array() { return begin('['); }
  /// True where another element follows; false leaves the array.
  Expected<bool> next_element();
  Expected<std::string> string();
  Expected<uint64_t> unsigned_integer();
  /// Nothing but white space is left.
  Status end();

  uint64_t position() const { return offset_ + at_; }
  /// An error at the current place.
  Status error(std::string_view expected, std::string_view found) const;

private:
  static constexpr size_t deepest = 64;

  Status begin(char open);
  Expected<bool> next(char close);
  void skip_space();
  std::string found() const;
  Expected<uint32_t> hex4();
  Status escape(std::string &out);

  std::string_view text_;
  std::string where_;
  uint64_t offset_;
  size_t at_ = 0;
  std::vector<bool> started_; ///< per open object or array: whether a first element was read
};

/// Whether every byte belongs to a well-formed UTF-8 sequence.
bool is_utf8(std::string_view text);

/// `text`, which must be UTF-8, as a JSON string with its quotes.
std::string json_quoted(std::string_view text);

} // namespace weft::io

#endif // WEFT_FRONTEND_IO_JSON_H
