//===- status.hpp - Errors as values ---------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside Weft an error is a value: `Status`, or `Expected<T>` for functions with a result. The C++ interface
// throws `weft::Error` at its boundary; the C interface returns a code. Nothing aborts.
//
// A failure is passed on as data, a `FailureInfo`, from where it happened to that boundary.
// `FailureInfo::str()` makes the text, and no code reads that text again: the line or the number of an
// operation is in the record.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_STATUS_HPP
#define WEFT_STATUS_HPP

#include "weft/export.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace weft {

/// The kind of check of values that failed when a program ran.
enum class FailedCheck : uint8_t {
  none,      ///< the failure is not that of a check
  index,     ///< `value` is no index of a dimension
  condition, ///< an assertion is false at `position`
  other,     ///< another check, which only `what` describes
};

/// A failure as data. A field that does not apply has its default; those below `check` are set if a check of
/// values failed.
struct FailureInfo {
  /// The stable code, such as "WEFT-P001"; empty for none.
  std::string code;
  /// What failed, in words; for a condition, what it demands. Empty for an index.
  std::string what;
  /// What was being done, in words, outermost first. It begins the text.
  std::string context;

  FailedCheck check = FailedCheck::none;
  /// The first element that failed: its number in row-major order, and its value.
  int64_t position = -1, value = 0;
  /// Whether the value is known. A device has a short log of values; if it is full, `value` is 0 and unknown.
  bool value_known = true;
  /// For an index: its dimension, the size of that dimension (allowed is [0, size)), and the user's word for
  /// the index if that is not "index", such as "Target" for a loss.
  int64_t dimension = -1, size = 0;
  std::string subject;

  /// The source line in the program, "train.cpp:12:3", or several, separated by ", ", if one kernel computes
  /// them. The next three fields are those of the first line; the line is 0 if it is not known.
  std::string location, file;
  uint32_t line = 0, column = 0;
  /// The number of the operation among those of its program that can fail; -1 if they have no numbers.
  int64_t operation = -1;

  /// The compiled function that failed, and the number of the call; 0 if calls are not counted.
  std::string function;
  uint64_t call = 0;
  /// The source line of that call; empty and 0 for none.
  std::string call_file;
  uint32_t call_line = 0;
  /// Further lines of the text, after everything else.
  std::string notes;
  /// Identifies the caller (runtime::CallOrigin); 0 for none.
  uint64_t caller = 0;

  /// The text for people.
  std::string str() const {
    std::string text = context;
    if (call)
      text += "call " + std::to_string(call) + " of '" + function + "' failed: ";
    const std::string at = " (at position " + std::to_string(position) + ")";
    const std::string found = value_known ? std::to_string(value) : "(value unknown)";
    switch (check) {
    case FailedCheck::none:
      text += what;
      break;
    case FailedCheck::index:
      text += subject.empty() ? "index " + found + " is out of bounds for dimension " +
                                    std::to_string(dimension) + " with size " + std::to_string(size) + at
                              : subject + " " + found + " is out of bounds: expected a number in [0, " +
                                    std::to_string(size) + ")" + at;
      break;
    case FailedCheck::condition:
      text += what + " (the condition is false at position " + std::to_string(position) + ")";
      break;
    case FailedCheck::other:
      text += what + " at position " + std::to_string(position) + " with " +
              (value_known ? "value " + found : "a value that is not known");
      break;
    }
    if (!location.empty())
      text += " (at " + location + ")";
    if (!call_file.empty())
      text += "\n  in the call at " + call_file + ":" + std::to_string(call_line);
    return notes.empty() ? text : text + "\n" + notes;
  }
};

/// Success, or a failure with its data. Success allocates nothing, and copies of a failure share the data.
class [[nodiscard]] Status {
public:
  Status() = default;
  static Status error(std::string message, std::string code = {}) {
    FailureInfo info;
    info.what = std::move(message);
    info.code = std::move(code);
    return error(std::move(info));
  }
  static Status error(FailureInfo info) {
    Status status;
    status.info_ = std::make_shared<const FailureInfo>(std::move(info));
    return status;
  }
  bool ok() const { return !info_; }
  explicit operator bool() const { return ok(); }
  /// The text for people; empty for success. Made anew by each call.
  std::string message() const { return info_ ? info_->str() : std::string(); }
  const std::string &code() const {
    static const std::string none;
    return info_ ? info_->code : none;
  }
  /// Null for success.
  const std::shared_ptr<const FailureInfo> &info() const { return info_; }
  /// The same failure after `edit` has changed a copy of its record. A success has nothing else.
  template <typename Edit> Status with(Edit edit) const {
    if (!info_)
      return {};
    FailureInfo info = *info_;
    edit(info);
    return error(std::move(info));
  }
  /// The same failure with `prefix` put before what it says.
  Status context(const std::string &prefix) const {
    return with([&](FailureInfo &info) { info.context.insert(0, prefix); });
  }
  void throw_if_failed() const;

private:
  std::shared_ptr<const FailureInfo> info_;
};

/// The exception of the C++ interface. `what()` says what failed, where, and what to do about it.
class WEFT_API Error : public std::runtime_error {
public:
  explicit Error(const std::string &message, const std::string &code = {})
      : Error(Status::error(message, code)) {}
  explicit Error(const Status &status) : Error(status.message(), status) {}
  /// With another text than that of the failure: source lines are added to it.
  Error(const std::string &text, const Status &status)
      : std::runtime_error(text), info_(status.ok() ? Status::error(text).info() : status.info()) {}
  /// The stable code, such as "WEFT-P001"; empty where the error has none.
  const std::string &code() const { return info_->code; }
  /// The failure as data: the position and value of a failed check, its line, the call.
  const FailureInfo &info() const { return *info_; }

private:
  std::shared_ptr<const FailureInfo> info_;
};

inline void Status::throw_if_failed() const {
  if (!ok())
    throw Error(*this);
}

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
  /// The value; throws Error if there is none.
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
