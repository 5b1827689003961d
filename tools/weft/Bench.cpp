//===- Bench.cpp - weft bench -----------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runnable.h"

#include "codegen/Report.h"
#include "frontend/io/Json.h"
#include "runtime/queue/Profiler.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace weft::tool {

static const char *help = R"(usage: weft bench FILE [options]

Measures a function of a program (FILE.mlir) or of a package (FILE.weft): the time of a call, and for each kernel its
time, the bytes that it moves, and how that compares with copying memory on this machine. Of a kernel whose data come
from the cache, since they fit into it or move faster than memory can, it says so instead: a copy of memory is no
measure of it. Of a function on a GPU it measures calls, and copies in the GPU's memory, and no single kernels.

  --function NAME      which function; the only one if left out
  --input VALUE        an argument, in order, as for weft run; random numbers if left out
  --size NAME=NUMBER   the value of a symbol of dynamic dimensions
  --iterations N       calls to measure; 50 if left out
)";
static const char *lastHelp = R"(  --json               an object instead of a table

example: weft bench scaled.mlir --iterations=200
example: weft bench scaled.weft --json
)";

using Clock = std::chrono::steady_clock;

static double microseconds(Clock::time_point from) {
  return std::chrono::duration<double, std::micro>(Clock::now() - from).count();
}

/// The bytes that a copy reads and writes per second, in GB/s, on all threads and beyond the caches: the best
/// of a few runs.
static Expected<double> copyGigabytes() {
  constexpr int64_t bytes = 64 << 20, chunk = 1 << 20;
  auto from = runtime::Buffer::allocate(bytes), to = runtime::Buffer::allocate(bytes);
  for (auto *buffer : {&from, &to}) {
    if (!*buffer)
      return buffer->status();
    std::memset((**buffer)->data(), 1, bytes);
  }
  double best = 0;
  for (int i = 0; i < 8; ++i) {
    auto start = Clock::now();
    runtime::executor().parallel_for(bytes / chunk, 1, [&](int64_t begin, int64_t end, int) {
      std::memcpy(static_cast<std::byte *>((*to)->data()) + begin * chunk,
                  static_cast<const std::byte *>((*from)->data()) + begin * chunk,
                  static_cast<size_t>((end - begin) * chunk));
    });
    best = std::max(best, 2.0 * bytes / microseconds(start) * 1e-3);
  }
  return best;
}

/// The same on a GPU, for copies in its memory.
static Expected<double> copyGigabytes(runtime::Device &device) {
  constexpr size_t bytes = 256 << 20;
  auto from = runtime::Buffer::allocate(bytes, 0, device), to = runtime::Buffer::allocate(bytes, 0, device);
  for (auto *buffer : {&from, &to})
    if (!*buffer)
      return buffer->status();
  auto stream = device.make_stream();
  if (!stream)
    return stream.status();
  double best = 0;
  for (int i = 0; i < 8; ++i) {
    auto start = Clock::now();
    if (Status status =
            (*stream)->copy((*to)->data(), (*from)->data(), bytes, runtime::CopyDirection::device_to_device);
        !status)
      return status;
    auto point = (*stream)->record();
    if (!point)
      return point.status();
    if (Status status = point->wait(); !status)
      return status;
    best = std::max(best, 2.0 * bytes / microseconds(start) * 1e-3);
  }
  return best;
}

/// A GPU that arguments or results of a function are on; the host if there is none.
static runtime::Device &deviceOf(const runtime::Executable &executable) {
  for (size_t i = 0; i < executable.signature().arguments.size(); ++i)
    if (runtime::Device &device = executable.argument_device(i); !device.is_host())
      return device;
  for (size_t i = 0; i < executable.signature().results.size(); ++i)
    if (runtime::Device &device = executable.result_device(i); !device.is_host())
      return device;
  return runtime::host_device();
}

/// The size of the last-level cache; 0 if the system does not report it.
static uint64_t lastLevelCacheBytes() {
  long bytes = 0;
  for (int level : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE})
    bytes = std::max(bytes, ::sysconf(level));
  return static_cast<uint64_t>(bytes);
}

/// Whether a launch reads its data from a cache, so that its rate cannot be compared with that of a copy.
static bool comesFromCache(const runtime::Profiler::Row &row, double rate, double copy) {
  // The fastest of a few copies and of a few launches differ by a few percent.
  return rate > 1.1 * copy || row.bytes / std::max<uint64_t>(1, row.count) <= lastLevelCacheBytes();
}

/// A row for each launch that was profiled, or the elements of a JSON list and its end. `copy` is the rate of
/// a copy in GB/s.
static void printLaunches(const runtime::Profiler &profiler, double copy, bool json) {
  bool first = true, someCached = false;
  for (const runtime::Profiler::Row &row : profiler.rows()) {
    const double us = row.min_ms * 1e3;
    const double rate = us > 0 ? static_cast<double>(row.bytes) /
                                     static_cast<double>(std::max<uint64_t>(1, row.count)) / us * 1e-3
                               : 0;
    const bool cached = comesFromCache(row, rate, copy);
    someCached |= cached;
    const double percent = 100 * rate / copy;
    char share[32] = "cache";
    if (!cached)
      std::snprintf(share, sizeof share, "%.0f", percent);
    if (json)
      std::printf("%s{\"name\": %s, \"location\": %s, \"fastest_us\": %.3f, \"gb_per_s\": %.2f, "
                  "\"from_cache\": %s, \"percent_of_copy\": %.1f}",
                  first ? "" : ", ", io::json_quoted(row.name).c_str(), io::json_quoted(row.location).c_str(),
                  us, rate, cached ? "true" : "false", percent);
    else
      std::printf("%10.1f %9.1f %7s  %s%s%s\n", us, rate, share, row.name.c_str(),
                  row.location.empty() ? "" : "  ", row.location.c_str());
    first = false;
  }
  if (json)
    std::printf("]}\n");
  else if (someCached)
    std::printf(
        "cache: the data of the launch come from the cache%s, and a copy of memory is no measure of it\n",
        lastLevelCacheBytes()
            ? (" (" + codegen::bytesText(static_cast<int64_t>(lastLevelCacheBytes())) + ")").c_str()
            : "");
}

static Status bench(const Arguments &arguments) {
  const std::string &path = arguments.positional[0];
  const Expected<long> read = readIterations(arguments, 50);
  if (!read)
    return read.status();
  const long iterations = *read;
  auto made = makeRunnable({path, arguments.get("function"), arguments.all("input"), arguments.all("size"),
                            arguments.get("target"), arguments.get("device"), ""});
  if (!made)
    return made.status();
  Runnable &runnable = **made;
  runtime::Device &device = deviceOf(*runnable.executable);
  auto copy = device.is_host() ? copyGigabytes() : copyGigabytes(device);
  if (!copy)
    return copy.status();

  std::vector<std::shared_ptr<runtime::Buffer>> results(runnable.executable->signature().results.size());
  auto call = [&]() -> Status {
    if (Status status = runnable.executable->run(runnable.buffers, results); !status)
      return status;
    return runtime::Queue::get_default().synchronize();
  };
  if (Status status = call(); !status) // not measured, because the first call makes executables and buffers
    return status;
  std::vector<double> times;
  for (long i = 0; i < iterations; ++i) {
    auto start = Clock::now();
    if (Status status = call(); !status)
      return status;
    times.push_back(microseconds(start));
  }
  std::sort(times.begin(), times.end());
  const double fastest = times.front(), median = times[times.size() / 2];
  // Measure kernels in other calls than those above, because reading the clock takes time too.
  runtime::Profiler &profiler = runtime::Profiler::get();
  profiler.clear();
  profiler.start();
  for (long i = 0; i < std::min(iterations, 50L); ++i)
    if (Status status = call(); !status)
      return status;
  profiler.stop();

  if (arguments.has("json"))
    std::printf("{\"function\": %s, \"device\": %s, \"calls\": %ld, \"fastest_us\": %.3f, "
                "\"median_us\": %.3f, \"copy_gb_per_s\": %.2f, \"launches\": [",
                io::json_quoted(runnable.function).c_str(), io::json_quoted(device.name()).c_str(),
                iterations, fastest, median, *copy);
  else
    std::printf("'%s': %.1f us a call (fastest of %ld; median %.1f us); copy %.1f GB/s\n"
                "%10s %9s %7s  %s\n",
                runnable.function.c_str(), fastest, iterations, median, *copy, "us", "GB/s", "% copy",
                "launch");
  printLaunches(profiler, *copy, arguments.has("json"));
  if (!device.is_host() && !arguments.has("json"))
    std::printf("launches on %s are measured together, as the call\n", device.name().c_str());
  return {};
}

int benchCommand(int argc, char **argv) {
  Arguments arguments;
  if (auto code = beginCommand("bench", (std::string(help) + placeHelp + lastHelp).c_str(), argc, argv,
                               {{"function", true},
                                {"input", true},
                                {"size", true},
                                {"iterations", true},
                                {"target", true},
                                {"device", true},
                                {"json", false}},
                               arguments))
    return *code;
  Status status = bench(arguments);
  return status ? 0 : complain("bench", status);
}

} // namespace weft::tool
