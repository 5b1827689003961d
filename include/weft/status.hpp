//===- status.hpp - Errors as values ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside Weft an error is a value: `Status`, or `Expected<T>` where there is a result. The C++ interface
// throws `weft::Error` at its boundary; the C interface returns a code. Nothing aborts.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_STATUS_HPP
#define WEFT_STATUS_HPP

#include "weft/export.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace weft {

/// What the C++ interface throws. `what()` says what failed, where, and what to do about it.
class WEFT_API Error : public std::runtime_error {
public:
  explicit Error(const std::string &message, std::string code = {})
      : std::runtime_error(message), code_(std::move(code)) {}
  /// The stable code, such as "WEFT-P001"; empty where the error has none.
  const std::string &code() const { return code_; }

private:
  std::string code_;
};

/// Success, or a message with an optional stable code.
class [[nodiscard]] Status {
public:
  Status() = default;
  static Status error(std::string message, std::string code = {}) {
    Status status;
    status.failed_ = true;
    status.message_ = std::move(message);
    status.code_ = std::move(code);
    return status;
  }
  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  const std::string &message() const { return message_; }
  const std::string &code() const { return code_; }
  /// The same error with `prefix` put before its message.
  Status context(const std::string &prefix) const { return error(prefix + message_, code_); }
  void throw_if_failed() const {
    if (failed_)
      throw Error(message_, code_);
  }

private:
  bool failed_ = false;
  std::string message_, code_;
};

/// A value, or the Status that says why there is none.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : storage_(std::in_place_index<0>, std::move(value)) {}
  Expected(Status status) : storage_(std::in_place_index<1>, std::move(status)) {}
  bool ok() const { return storage_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T &operator*() & { return std::get<0>(storage_); }
  const T &operator*() const & { return std::get<0>(storage_); }
  T &&operator*() && { return std::get<0>(std::move(storage_)); }
  T *operator->() { return &std::get<0>(storage_); }
  const T *operator->() const { return &std::get<0>(storage_); }
  Status status() const { return ok() ? Status() : std::get<1>(storage_); }
  /// The value; throws Error where there is none.
  T value_or_throw() && {
    if (!ok())
      std::get<1>(storage_).throw_if_failed();
    return std::get<0>(std::move(storage_));
  }

private:
  std::variant<T, Status> storage_;
};

} // namespace weft

#endif // WEFT_STATUS_HPP
