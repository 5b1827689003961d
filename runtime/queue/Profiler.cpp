//===- Profiler.cpp - Times of launches -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/queue/Profiler.h"

#include "runtime/support/JsonText.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::runtime {

std::atomic<bool> Profiler::on_{false};

ProfileSource::~ProfileSource() = default;

namespace {

constexpr size_t maxEvents = 1'000'000;

enum class Kind : uint8_t { launch, call, compile, wait };
constexpr const char *kindNames[] = {"launch", "call", "compile", "wait"};

Kind kind_of(Profiler::Span span) {
  return span == Profiler::Span::call      ? Kind::call
         : span == Profiler::Span::compile ? Kind::compile
                                           : Kind::wait;
}

using Interval = std::pair<int64_t, int64_t>;

/// The time in nanoseconds that the union of intervals covers within `windows`, which do not overlap.
int64_t covered(std::vector<Interval> intervals, const std::vector<Interval> &windows) {
  std::sort(intervals.begin(), intervals.end());
  int64_t total = 0;
  for (const auto &[open, close] : windows) {
    int64_t until = open;
    for (const auto &[begin, end] : intervals) {
      const int64_t from = std::max(begin, until), to = std::min(end, close);
      if (from < to) {
        total += to - from;
        until = to;
      }
    }
  }
  return total;
}

} // namespace

struct Profiler::Impl {
  struct Event {
    const std::pair<std::string, std::string> *name; ///< name, and source line or detail
    int64_t begin_ns, end_ns;
    uint64_t bytes, flops;
    long thread;
    Kind kind;
  };
  mutable std::mutex mutex;
  std::map<std::pair<std::string, std::string>, Row, std::less<>> rows;
  std::set<std::pair<std::string, std::string>> spans; ///< names and details of events other than launches
  std::vector<Event> events;
  uint64_t left_out = 0;          ///< events beyond the first million
  std::vector<Interval> windows;  ///< from each start to its stop; the end of an open one is 0
  std::vector<std::string> lanes; ///< lane -1 is the first
  std::mutex sources_mutex;       ///< held while sources are asked, which record
  std::vector<ProfileSource *> sources;

  void add(const Event &event) {
    if (events.size() < maxEvents)
      events.push_back(event);
    else
      ++left_out;
  }
};

Profiler::Profiler() : impl_(new Impl) {}

Profiler &Profiler::get() {
  static Profiler *const instance = new Profiler;
  return *instance;
}

void Profiler::start() {
  const std::lock_guard lock(impl_->mutex);
  if (!on_.exchange(true, std::memory_order_relaxed))
    impl_->windows.emplace_back(now(), 0);
}

void Profiler::stop() {
  const std::lock_guard lock(impl_->mutex);
  if (on_.exchange(false, std::memory_order_relaxed) && !impl_->windows.empty())
    impl_->windows.back().second = now();
}

void Profiler::clear() {
  collect(); // what ran before is cleared, too
  const std::lock_guard lock(impl_->mutex);
  impl_->events.clear();
  impl_->rows.clear();
  impl_->spans.clear();
  impl_->left_out = 0;
  impl_->windows.clear();
  if (enabled())
    impl_->windows.emplace_back(now(), 0);
}

long Profiler::add_lane(const std::string &name) {
  const std::lock_guard lock(impl_->mutex);
  impl_->lanes.push_back(name);
  return -static_cast<long>(impl_->lanes.size());
}

void Profiler::add_source(ProfileSource *source) {
  const std::lock_guard lock(impl_->sources_mutex);
  impl_->sources.push_back(source);
}

void Profiler::remove_source(ProfileSource *source) {
  const std::lock_guard lock(impl_->sources_mutex);
  std::erase(impl_->sources, source);
}

void Profiler::collect() const {
  const std::lock_guard lock(impl_->sources_mutex);
  for (ProfileSource *source : impl_->sources)
    source->collect();
}

int64_t Profiler::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static long thread_id() {
  static thread_local const long thread = ::syscall(SYS_gettid);
  return thread;
}

void Profiler::record(std::string_view name, std::string_view location, int64_t begin_ns, int64_t end_ns,
                      uint64_t bytes, uint64_t flops, long lane) noexcept {
  const std::lock_guard lock(impl_->mutex);
  try {
    const auto it = impl_->rows.try_emplace(std::pair(std::string(name), std::string(location))).first;
    Row &row = it->second;
    const double ms = static_cast<double>(end_ns - begin_ns) * 1e-6;
    if (row.count == 0) {
      row.name = name;
      row.location = location;
      row.min_ms = ms;
    }
    ++row.count;
    row.total_ms += ms;
    row.min_ms = std::min(row.min_ms, ms);
    row.bytes += bytes;
    row.flops += flops;
    impl_->add({&it->first, begin_ns, end_ns, bytes, flops, lane ? lane : thread_id(), Kind::launch});
  } catch (const std::bad_alloc &) { // NOLINT(bugprone-empty-catch): the launch counts, its record does not
  }
}

void Profiler::record(Span kind, std::string_view name, std::string_view detail, int64_t begin_ns,
                      int64_t end_ns) noexcept {
  const std::lock_guard lock(impl_->mutex);
  try {
    const auto *text = &*impl_->spans.emplace(name, detail).first;
    impl_->add({text, begin_ns, end_ns, 0, 0, thread_id(), kind_of(kind)});
  } catch (const std::bad_alloc &) { // NOLINT(bugprone-empty-catch): as above
  }
}

Profiler::Totals Profiler::totals() const {
  collect();
  const std::lock_guard lock(impl_->mutex);
  std::vector<Interval> windows = impl_->windows, launches, compilations, both;
  Totals totals;
  int64_t wall = 0, waited = 0;
  for (auto &[begin, end] : windows) {
    end = end ? end : now();
    wall += end - begin;
  }
  for (const Impl::Event &event : impl_->events) {
    const Interval interval(event.begin_ns, event.end_ns);
    switch (event.kind) {
    case Kind::launch:
      launches.push_back(interval);
      both.push_back(interval);
      break;
    case Kind::compile:
      ++totals.compilations;
      compilations.push_back(interval);
      both.push_back(interval);
      break;
    case Kind::wait:
      ++totals.waits;
      waited += event.end_ns - event.begin_ns;
      break;
    case Kind::call:
      ++totals.calls;
      break;
    }
  }
  const auto ms = [](int64_t ns) { return static_cast<double>(ns) * 1e-6; };
  totals.wall_ms = ms(wall);
  totals.wait_ms = ms(waited);
  totals.launch_ms = ms(covered(std::move(launches), windows));
  totals.compile_ms = ms(covered(std::move(compilations), windows));
  totals.idle_ms = ms(wall - covered(std::move(both), windows));
  return totals;
}

std::vector<Profiler::Row> Profiler::rows() const {
  collect();
  const std::lock_guard lock(impl_->mutex);
  std::vector<Row> result;
  result.reserve(impl_->rows.size());
  for (const auto &[key, row] : impl_->rows)
    result.push_back(row);
  std::sort(result.begin(), result.end(), [](const Row &a, const Row &b) {
    if (a.total_ms != b.total_ms)
      return a.total_ms > b.total_ms;
    return std::pair(a.name, a.location) < std::pair(b.name, b.location);
  });
  return result;
}

std::string Profiler::table() const {
  const std::vector<Row> all = rows();
  double total = 0;
  for (const Row &row : all)
    total += row.total_ms;
  std::string text = "  share   total ms   calls    mean us      GB/s   GFLOP/s  launch\n";
  for (const Row &row : all) {
    char line[128];
    std::snprintf(line, sizeof line, "%6.1f%% %10.3f %7llu %10.2f %9.1f %9.1f  ",
                  total > 0 ? 100 * row.total_ms / total : 0, row.total_ms,
                  static_cast<unsigned long long>(row.count),
                  row.total_ms * 1e3 / static_cast<double>(row.count), row.gigabytes_per_second(),
                  row.total_ms > 0 ? static_cast<double>(row.flops) / row.total_ms * 1e-6 : 0);
    text += line + row.name + (row.location.empty() ? "" : "  " + row.location) + "\n";
  }
  const Totals sums = totals();
  char line[320];
  std::snprintf(
      line, sizeof line,
      "wall clock %.3f ms: launches run in %.3f ms of it, compilations in %.3f ms, idle %.3f ms (%.0f%%)\n"
      "calls: %llu, compilations: %llu, waits: %llu, together %.3f ms\n",
      sums.wall_ms, sums.launch_ms, sums.compile_ms, sums.idle_ms,
      sums.wall_ms > 0 ? 100 * sums.idle_ms / sums.wall_ms : 0, static_cast<unsigned long long>(sums.calls),
      static_cast<unsigned long long>(sums.compilations), static_cast<unsigned long long>(sums.waits),
      sums.wait_ms);
  text += line;
  const std::lock_guard lock(impl_->mutex);
  if (impl_->left_out)
    text += "the first " + std::to_string(maxEvents) + " events count for the wall clock; " +
            std::to_string(impl_->left_out) + " more do not, so that more is called idle than was\n";
  return text;
}

std::string Profiler::chrome_trace() const {
  collect();
  const std::lock_guard lock(impl_->mutex);
  // Metadata events come first: viewers show their names instead of numbers.
  const std::string process = std::to_string(::getpid());
  std::string text =
      "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n{\"name\": \"process_name\", \"ph\": \"M\", "
      "\"pid\": " +
      process + ", \"args\": {\"name\": \"weft\"}}";
  // Threads that run launches have numbers of their own; the others call and wait.
  std::set<long> computing, others;
  for (const Impl::Event &event : impl_->events)
    (event.kind == Kind::launch ? computing : others).insert(event.thread);
  const auto named = [&](long thread, const std::string &name) {
    text += ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": " + process +
            ", \"tid\": " + std::to_string(thread) + ", \"args\": {\"name\": \"" + name + "\"}}";
  };
  size_t number = 0;
  for (long thread : computing)
    named(thread, thread < 0 ? impl_->lanes[static_cast<size_t>(-thread - 1)]
                             : "cpu launches " + std::to_string(++number));
  number = 0;
  for (long thread : others)
    if (!computing.contains(thread))
      named(thread, "host thread " + std::to_string(++number));
  for (const Impl::Event &event : impl_->events) {
    char numbers[256];
    std::snprintf(numbers, sizeof numbers,
                  ", \"cat\": \"%s\", \"ph\": \"X\", \"pid\": %d, \"tid\": %ld, \"ts\": %.3f, \"dur\": %.3f, "
                  "\"args\": {",
                  kindNames[static_cast<size_t>(event.kind)], static_cast<int>(::getpid()), event.thread,
                  static_cast<double>(event.begin_ns) * 1e-3,
                  static_cast<double>(event.end_ns - event.begin_ns) * 1e-3);
    text += ",\n{\"name\": " + json_string(event.name->first) + numbers;
    if (event.kind != Kind::launch) {
      text += (event.name->second.empty() ? "" : "\"detail\": " + json_string(event.name->second)) + "}}";
      continue;
    }
    std::snprintf(numbers, sizeof numbers, "\"bytes\": %llu, \"flops\": %llu, \"GB/s\": %.3f, \"location\": ",
                  static_cast<unsigned long long>(event.bytes), static_cast<unsigned long long>(event.flops),
                  event.end_ns > event.begin_ns
                      ? static_cast<double>(event.bytes) / static_cast<double>(event.end_ns - event.begin_ns)
                      : 0.0);
    text += numbers + json_string(event.name->second) + "}}";
  }
  return text + "\n]}\n";
}

} // namespace weft::runtime
