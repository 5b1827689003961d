//===- Profiler.h - Where the time of launches goes -------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PROFILER_H
#define WEFT_RUNTIME_PROFILER_H

#include "weft/export.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

/// Collects the launches of every executable in the process while it is on. Off, a plan pays one load.
class WEFT_RUNTIME_API Profiler {
public:
  /// The launches of one name and location, together.
  struct Row {
    std::string name, location;
    uint64_t count = 0;
    double total_ms = 0, min_ms = 0;
    uint64_t bytes = 0, flops = 0; ///< of all launches together
    double gigabytes_per_second() const {
      return total_ms > 0 ? static_cast<double>(bytes) / total_ms * 1e-6 : 0;
    }
  };

  static Profiler &get();
  static bool enabled() { return on_.load(std::memory_order_relaxed); }
  void start();
  void stop();
  void clear();
  /// Nanoseconds of a monotonic clock.
  static int64_t now();
  void record(std::string_view name, std::string_view location, int64_t begin_ns, int64_t end_ns,
              uint64_t bytes, uint64_t flops) noexcept;

  /// By total time, largest first; ties by name.
  std::vector<Row> rows() const;
  /// rows() for people: share of the time, calls, mean, GB/s, GFLOP/s, name, source line.
  std::string table() const;
  /// The trace event format of chrome://tracing and Perfetto; the first million launches.
  std::string chrome_trace() const;

private:
  Profiler();
  static std::atomic<bool> on_;
  struct Impl;
  Impl *impl_; ///< never destroyed, as the instance
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PROFILER_H
