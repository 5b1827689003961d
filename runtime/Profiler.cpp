//===- Profiler.cpp - Where the time of launches goes ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Profiler.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::runtime {
namespace {

constexpr size_t maxEvents = 1'000'000;

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      result += escape;
      continue;
    }
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + "\"";
}

} // namespace

std::atomic<bool> Profiler::on_{false};

struct Profiler::Impl {
  struct Event {
    const Row *row;
    int64_t begin_ns, end_ns;
    uint64_t bytes, flops;
    long thread;
  };
  mutable std::mutex mutex;
  std::map<std::pair<std::string, std::string>, Row, std::less<>> rows;
  std::vector<Event> events;
};

Profiler::Profiler() : impl_(new Impl) {}

Profiler &Profiler::get() {
  static Profiler *const instance = new Profiler;
  return *instance;
}

void Profiler::start() { on_.store(true, std::memory_order_relaxed); }
void Profiler::stop() { on_.store(false, std::memory_order_relaxed); }

void Profiler::clear() {
  const std::lock_guard lock(impl_->mutex);
  impl_->events.clear();
  impl_->rows.clear();
}

int64_t Profiler::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Profiler::record(std::string_view name, std::string_view location, int64_t begin_ns, int64_t end_ns,
                      uint64_t bytes, uint64_t flops) noexcept {
  static thread_local const long thread = ::syscall(SYS_gettid);
  const std::lock_guard lock(impl_->mutex);
  try {
    Row &row = impl_->rows[{std::string(name), std::string(location)}];
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
    if (impl_->events.size() < maxEvents)
      impl_->events.push_back({&row, begin_ns, end_ns, bytes, flops, thread});
  } catch (const std::bad_alloc &) { // NOLINT(bugprone-empty-catch): the launch counts, its record does not
  }
}

std::vector<Profiler::Row> Profiler::rows() const {
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
  return text;
}

std::string Profiler::chrome_trace() const {
  const std::lock_guard lock(impl_->mutex);
  // Metadata events first: viewers show their names in place of numbers.
  const std::string process = std::to_string(::getpid());
  std::string text =
      "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n{\"name\": \"process_name\", \"ph\": \"M\", "
      "\"pid\": " +
      process + ", \"args\": {\"name\": \"weft\"}}";
  std::set<long> threads;
  for (const Impl::Event &event : impl_->events)
    if (threads.insert(event.thread).second)
      text += ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": " + process +
              ", \"tid\": " + std::to_string(event.thread) + ", \"args\": {\"name\": \"cpu launches " +
              std::to_string(threads.size()) + "\"}}";
  for (size_t i = 0; i < impl_->events.size(); ++i) {
    const Impl::Event &event = impl_->events[i];
    char numbers[256];
    std::snprintf(numbers, sizeof numbers,
                  ", \"ph\": \"X\", \"pid\": %d, \"tid\": %ld, \"ts\": %.3f, \"dur\": %.3f, \"args\": "
                  "{\"bytes\": %llu, \"flops\": %llu, \"GB/s\": %.3f, \"location\": ",
                  static_cast<int>(::getpid()), event.thread, static_cast<double>(event.begin_ns) * 1e-3,
                  static_cast<double>(event.end_ns - event.begin_ns) * 1e-3,
                  static_cast<unsigned long long>(event.bytes), static_cast<unsigned long long>(event.flops),
                  event.end_ns > event.begin_ns
                      ? static_cast<double>(event.bytes) / static_cast<double>(event.end_ns - event.begin_ns)
                      : 0.0);
    text +=
        ",\n{\"name\": " + json_string(event.row->name) + numbers + json_string(event.row->location) + "}}";
  }
  return text + "\n]}\n";
}

} // namespace weft::runtime
