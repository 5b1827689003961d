//===- Json.cpp - A strict reader of JSON --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Json.h"

#include "frontend/io/Message.h"

#include "runtime/support/JsonText.h"

namespace weft::io {

namespace {

/// The length of the well-formed sequence that `text` starts with; 0 if there is none. Overlong forms,
/// surrogates and values above U+10FFFF are not well formed.
size_t sequence_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto tail = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80)
    return text.empty() ? 0 : 1;
  if (first >= 0xc2 && first <= 0xdf)
    return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool bad = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f);
    return tail(1) && tail(2) && !bad ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool bad = (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
    return tail(1) && tail(2) && tail(3) && !bad ? 4 : 0;
  }
  return 0;
}

void append_utf8(std::string &out, uint32_t code) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

} // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = sequence_bytes(text);
    if (bytes == 0)
      return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string json_quoted(std::string_view text) { return runtime::json_string(text); }

Status JsonReader::error(std::string_view expected, std::string_view found) const {
  return failure(where_, " at byte ", position(), ": expected ", expected, ", found ", found,
                 "; the file is damaged or its writer is wrong, so write it again");
}

std::string JsonReader::found() const {
  return at_ < text_.size() ? quoted(text_.substr(at_, 16)) : "the end";
}

void JsonReader::skip_space() {
  while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
    ++at_;
}

Status JsonReader::begin(char open) {
  skip_space();
  if (at_ >= text_.size() || text_[at_] != open)
    return error(cat('\'', open, '\''), found());
  if (started_.size() == deepest)
    return error(cat("at most ", deepest, " levels"), "another");
  ++at_;
  started_.push_back(false);
  return {};
}

Expected<bool> JsonReader::next(char close) {
  skip_space();
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (c == close) {
    ++at_;
    started_.pop_back();
    return false;
  }
  if (started_.back()) {
    if (c != ',')
      return error(cat("',' or '", close, "'"), found());
    ++at_;
  }
  started_.back() = true;
  return true;
}

Expected<bool> JsonReader::next_key(std::string &key) {
  Expected<bool> more = next('}');
  if (!more || !*more)
    return more;
  Expected<std::string> text = string();
  if (!text)
    return text.status();
  key = std::move(*text);
  skip_space();
  if (at_ >= text_.size() || text_[at_] != ':')
    return error("':'", found());
  ++at_;
  return true;
}

Expected<bool> JsonReader::next_element() { return next(']'); }

Expected<std::string> JsonReader::string() {
  skip_space();
  if (at_ >= text_.size() || text_[at_] != '"')
    return error("a string", found());
  ++at_;
  std::string out;
  while (true) {
    if (at_ >= text_.size())
      return error("'\"' at the end of a string", "the end");
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return out;
    }
    if (c == '\\') {
      ++at_;
      if (Status status = escape(out); !status)
        return status;
      continue;
    }
    const size_t bytes = sequence_bytes(text_.substr(at_));
    if (bytes == 0)
      return error("UTF-8", found());
    if (static_cast<unsigned char>(c) < 0x20)
      return error("control characters in a string to be escaped", found());
    out.append(text_, at_, bytes);
    at_ += bytes;
  }
}

Status JsonReader::escape(std::string &out) {
  constexpr std::string_view codes = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (const size_t i = codes.find(c); c != '\0' && i != std::string_view::npos) {
    out += values[i];
    ++at_;
    return {};
  }
  if (c != 'u')
    return error("an escape of JSON", found());
  ++at_;
  Expected<uint32_t> high = hex4();
  if (!high)
    return high.status();
  uint32_t code = *high;
  if (code >= 0xdc00 && code <= 0xdfff)
    return error("the first half of a surrogate pair", "the second");
  if (code >= 0xd800 && code <= 0xdbff) {
    if (text_.substr(at_, 2) != "\\u")
      return error("the second half of a surrogate pair", found());
    at_ += 2;
    Expected<uint32_t> low = hex4();
    if (!low)
      return low.status();
    if (*low < 0xdc00 || *low > 0xdfff)
      return error("the second half of a surrogate pair", "another character");
    code = 0x10000 + ((code - 0xd800) << 10) + (*low - 0xdc00);
  }
  append_utf8(out, code);
  return {};
}

Expected<uint32_t> JsonReader::hex4() {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    const size_t digit = std::string_view("0123456789abcdef").find(c >= 'A' && c <= 'F' ? char(c + 32) : c);
    if (c == '\0' || digit == std::string_view::npos)
      return error("four hexadecimal digits", found());
    value = value << 4 | static_cast<uint32_t>(digit);
  }
  return value;
}

Expected<uint64_t> JsonReader::unsigned_integer() {
  skip_space();
  const size_t begin = at_;
  uint64_t value = 0;
  for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
    if (__builtin_mul_overflow(value, uint64_t{10}, &value) ||
        __builtin_add_overflow(value, static_cast<uint64_t>(text_[at_] - '0'), &value))
      return error("an integer below 2^64", "a larger one");
  if (at_ == begin)
    return error("an integer from 0 on", found());
  if (text_[begin] == '0' && at_ != begin + 1)
    return error("an integer without leading zeros", quoted(text_.substr(begin, at_ - begin)));
  if (at_ < text_.size() && std::string_view(".eE").find(text_[at_]) != std::string_view::npos)
    return error("an integer", "a fraction or exponent");
  return value;
}

Status JsonReader::end() {
  skip_space();
  if (at_ != text_.size())
    return error("the end", found());
  return {};
}

} // namespace weft::io
