//===- profile.hpp - Where the time goes ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PROFILE_HPP
#define WEFT_PROFILE_HPP

#include "weft/export.hpp"

#include <functional>
#include <string>

namespace weft {

/// What ran while a profile was taken.
class WEFT_API Profile {
public:
  /// Launches by total time, with share, bytes per second and source line.
  std::string table() const { return table_; }
  /// For the trace viewers of browsers.
  std::string chrome_trace() const { return trace_; }

private:
  friend WEFT_API Profile profile(const std::function<void()> &work);
  std::string table_, trace_;
};

/// Runs `work`, waits for what it started, and returns where the time went.
WEFT_API Profile profile(const std::function<void()> &work);

} // namespace weft

#endif // WEFT_PROFILE_HPP
