//===- Profiler.h - Times of launches ---------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_QUEUE_PROFILER_H
#define WEFT_RUNTIME_QUEUE_PROFILER_H

#include "weft/export.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

/// Has times that are known only later, as those of a device.
class WEFT_RUNTIME_API ProfileSource {
public:
  virtual ~ProfileSource();
  /// Records the launches that have ended. Those that have not are waited for.
  virtual void collect() noexcept = 0;
};

/// While it is on, collects the launches of all executables in the process, and calls, compilations and
/// waits. While it is off, it costs a call one load.
class WEFT_RUNTIME_API Profiler {
public:
  /// Kinds of events other than launches. A call is the time in which its launches run, on the thread that
  /// runs them.
  enum class Span : uint8_t { call, compile, wait };
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
  /// `lane`: of add_lane(); 0: the calling thread.
  void record(std::string_view name, std::string_view location, int64_t begin_ns, int64_t end_ns,
              uint64_t bytes, uint64_t flops, long lane = 0) noexcept;
  /// A line of the trace for launches of no thread, as "cuda:0 stream 1".
  long add_lane(const std::string &name);
  /// A source is asked before what was recorded is read, until it is removed.
  void add_source(ProfileSource *source);
  void remove_source(ProfileSource *source);

  /// `detail`: text that a viewer shows with the name, such as the reason of a compilation.
  void record(Span kind, std::string_view name, std::string_view detail, int64_t begin_ns,
              int64_t end_ns) noexcept;

  /// The time between start and stop, by kind.
  struct Totals {
    double wall_ms = 0;
    double launch_ms = 0;  ///< in which at least one launch ran
    double compile_ms = 0; ///< in which something was compiled
    double idle_ms = 0;    ///< in which nothing ran and nothing was compiled
    double wait_ms = 0;    ///< of all threads together; a thread that waits may wait for launches
    uint64_t calls = 0, compilations = 0, waits = 0;
  };
  Totals totals() const;

  /// Launches by total time, largest first; ties by name.
  std::vector<Row> rows() const;
  /// A table of rows() with the share of the launches' time, calls, mean, GB/s, GFLOP/s, name and source
  /// line; then the wall-clock time and the idle time.
  std::string table() const;
  /// The trace event format of chrome://tracing and Perfetto; the first million events. Each has its kind as
  /// category: launch, call, compile, wait.
  std::string chrome_trace() const;

private:
  Profiler();
  void collect() const;
  static std::atomic<bool> on_;
  struct Impl;
  Impl *impl_; ///< never destroyed, as the instance
};

/// Records the time of its scope, if the profiler is on at its beginning and its end.
class ProfiledSpan {
public:
  ProfiledSpan(Profiler::Span kind, std::string_view name)
      : kind_(kind), name_(name), begin_ns_(Profiler::enabled() ? Profiler::now() : 0) {}
  ProfiledSpan(const ProfiledSpan &) = delete;
  ProfiledSpan &operator=(const ProfiledSpan &) = delete;
  ~ProfiledSpan() {
    if (begin_ns_ && Profiler::enabled())
      Profiler::get().record(kind_, name_, {}, begin_ns_, Profiler::now());
  }

private:
  Profiler::Span kind_;
  std::string_view name_;
  int64_t begin_ns_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_QUEUE_PROFILER_H
