//===- profile.hpp - Profiles of launches ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PROFILE_HPP
#define WEFT_PROFILE_HPP

#include "weft/device.hpp"
#include "weft/export.hpp"

#include <functional>
#include <string>

namespace weft {

/// The launches, calls, compilations and waits of a profiled piece of work.
class WEFT_API Profile {
public:
  /// Launches by total time: share, calls, mean, achieved GB/s and GFLOP/s, name and source line. Then the
  /// wall clock: how long launches ran, how long something was compiled, how long neither happened, and how
  /// long threads waited.
  std::string table() const { return table_; }
  /// JSON for chrome://tracing and Perfetto: an event for each launch, with its bytes, GB/s and source line,
  /// and for each call, compilation and wait.
  std::string chrome_trace() const { return trace_; }
  /// Writes it to a file; throws Error if that cannot be written.
  void save_chrome_trace(const std::string &path, Loc loc = Loc::current()) const;

private:
  friend WEFT_API Profile profile(const std::function<void()> &work);
  std::string table_, trace_;
};

/// Runs `work`, waits for everything it started, and returns where the time went. Exceptions of `work` are
/// passed on.
WEFT_API Profile profile(const std::function<void()> &work);

} // namespace weft

#endif // WEFT_PROFILE_HPP
