//===- memory_check.cpp - Planned memory against what a call takes --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library that is loaded before a program's own: its `Executable::run` comes before that of
// libweft-runtime. The first calls of each executable run alone, from an empty arena, and what they allocate
// is compared with their plan; later calls go on as ever. At the end of the process the counts are added to
// the file WEFT_MEMORY_CHECK.
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/Executable.h"
#include "runtime/memory/CachingAllocator.h"
#include "runtime/queue/Queue.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <mutex>

namespace weft::runtime {
namespace {

using Run = Status (*)(Executable *, std::span<const std::shared_ptr<Buffer>>,
                       std::span<std::shared_ptr<Buffer>>, const RunOptions &);

/// The function that this library stands before. A member function takes its object as its first argument.
Run real() {
  static const auto found = reinterpret_cast<Run>(
      ::dlsym(RTLD_NEXT,
              "_ZN4weft7runtime10Executable3runESt4spanIKSt10shared_ptrINS0_6BufferEELm18446744073709551615EE"
              "S2_IS5_Lm18446744073709551615EERKNS0_10RunOptionsE"));
  if (!found) {
    std::fputs("memory check: libweft-runtime has no Executable::run of this type\n", stderr);
    std::abort();
  }
  return found;
}

struct Report {
  std::mutex mutex;
  std::map<const Executable *, int> calls;
  uint64_t compared = 0, disturbed = 0, wrong = 0;
  std::string messages;

  ~Report() {
    const char *path = std::getenv("WEFT_MEMORY_CHECK");
    std::FILE *file = path ? std::fopen(path, "a") : nullptr;
    if (!file)
      return;
    std::fprintf(file, "%scompared %llu, disturbed %llu, wrong %llu\n", messages.c_str(),
                 static_cast<unsigned long long>(compared), static_cast<unsigned long long>(disturbed),
                 static_cast<unsigned long long>(wrong));
    std::fclose(file);
  }
};

Report &report() {
  static Report instance;
  return instance;
}

constexpr int callsOfEach = 3;

int64_t stat(const std::map<std::string, int64_t> &stats, const char *name) { return stats.at(name); }

} // namespace

Status Executable::run(std::span<const std::shared_ptr<Buffer>> arguments,
                       std::span<std::shared_ptr<Buffer>> results, const RunOptions &options) {
  Report &all = report();
  std::unique_lock lock(all.mutex);
  // What fails before it runs is the business of the real function alone.
  if (!signature().symbols.empty() || results.size() != signature().results.size() ||
      all.calls[this]++ >= callsOfEach) {
    lock.unlock();
    return real()(this, arguments, results, options);
  }
  if (Status status = Queue::synchronize_all(); !status)
    return status;
  Queue::trim_all();
  CachingAllocator &allocator = CachingAllocator::get();
  allocator.reset_peak_stats();
  const auto before = allocator.stats();
  Status status = real()(this, arguments, results, options);
  if (!status)
    return status;
  if (Status waited = Queue::synchronize_all(); !waited)
    return waited;
  const auto after = allocator.stats();

  const PlannedMemory planned = planned_memory();
  uint64_t expected = planned.results + planned.temporaries, blocks = planned.temporaries ? 1 : 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const ResultInfo &info = signature().results[i];
    const bool given = !options.outputs.empty() && options.outputs[i];
    if (info.tied_to >= 0 || info.is_alias())
      continue;
    ++blocks;
    if (given) {
      --blocks;
      expected -= info.type.bytes;
    }
  }
  // Other threads of the program, those of a loader, may allocate and free meanwhile.
  if (stat(after, "allocation.all.allocated") - stat(before, "allocation.all.allocated") >
          static_cast<int64_t>(blocks) ||
      stat(after, "allocation.all.freed") != stat(before, "allocation.all.freed")) {
    ++all.disturbed;
    return status;
  }
  ++all.compared;
  const int64_t peak = stat(after, "requested_bytes.all.peak") - stat(before, "requested_bytes.all.current");
  if (peak != static_cast<int64_t>(expected)) {
    ++all.wrong;
    all.messages += "'" + signature().function + "' took " + std::to_string(peak) +
                    " bytes beside its arguments, planned are " + std::to_string(expected) + "\n";
  }
  return status;
}

} // namespace weft::runtime
