//===- LaunchRun.cpp - Launches on the processors of the host ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/LaunchRun.h"

#include "runtime/queue/Profiler.h"
#include "runtime/support/TensorText.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <immintrin.h>

namespace weft::runtime {

static constexpr int64_t copyChunkBytes = 256 << 10;

/// Where it comes from: the source line that the call gives, or else the program.
static void set_location(FailureInfo &info, const Origin &from, const CallOrigin *call) {
  info.operation = from.recorded;
  if (call && call->lines && from.recorded >= 0 && static_cast<size_t>(from.recorded) < call->lines->size()) {
    const SourceLine &line = (*call->lines)[static_cast<size_t>(from.recorded)];
    info.file = line.file ? line.file : "";
    info.line = line.line;
    info.column = line.column;
    info.location = info.file + ":" + std::to_string(line.line) + ":" + std::to_string(line.column);
    return;
  }
  info.location = from.text;
  info.file = from.file;
  info.line = from.line;
  info.column = from.column;
}

Status Executable::Impl::failed_check(const CheckRecord &record, const Launch &launch,
                                      const CallOrigin *origin) const {
  FailureInfo info;
  info.check = FailedCheck::other;
  info.position = record.position;
  info.value = record.value;
  const Origin *from = &launch.origin;
  if (record.check >= 1 && static_cast<uint64_t>(record.check) <= checks.size()) {
    const Check &check = checks[static_cast<size_t>(record.check - 1)];
    info.check = check.kind;
    info.dimension = check.dimension;
    info.size = check.size;
    info.subject = check.subject;
    if (!check.origin.text.empty())
      from = &check.origin;
  }
  if (info.check == FailedCheck::other)
    info.what = "check " + std::to_string(record.check) + " failed";
  set_location(info, *from, origin);
  return Status::error(std::move(info));
}

/// Runs the tasks of a kernel.
static void run_kernel(const LaunchRun &run, const Launch &launch, void **at) {
  const size_t kernel_scratch = run.function->devices[launch.device].kernel_scratch;
  const auto body = [&](int64_t begin, int64_t end, int worker) {
    const KernelFrame frame = {at, launch.sizes, kernel_imports(),
                               run.scratch + static_cast<size_t>(worker) * kernel_scratch,
                               run.checks ? &run.checks[worker].record : nullptr};
    launch.function(&frame, begin, end);
    // Kernels may use streaming stores, which only this orders before what comes next.
    _mm_sfence();
  };
  if (run.serial)
    body(0, launch.tasks, 0);
  else
    executor().parallel_for(launch.tasks, launch.grain, body);
}

static void run_copy(const LaunchRun &run, const Launch &launch, void **at) {
  const auto body = [&](int64_t begin, int64_t end, int) {
    const int64_t from = begin * copyChunkBytes, to = std::min(end * copyChunkBytes, launch.copy_bytes);
    std::memcpy(static_cast<std::byte *>(at[1]) + from, static_cast<const std::byte *>(at[0]) + from,
                static_cast<size_t>(to - from));
  };
  const int64_t chunks = (launch.copy_bytes + copyChunkBytes - 1) / copyChunkBytes;
  if (run.serial && chunks)
    body(0, chunks, 0);
  else
    executor().parallel_for(chunks, 1, body);
}

static void run_print(const Launch &launch, const void *value) {
  // One write, so that lines of several queues do not mix.
  try {
    const std::string line = (launch.text.empty() ? "" : launch.text + ": ") +
                             tensor_text(launch.dtype, launch.shape, value) + "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
  } catch (const std::bad_alloc &) {
    // State may have been written already, so that the call must not fail here.
    std::fputs("(no memory for the text of a tensor)\n", stdout);
  }
  std::fflush(stdout);
}

/// The first violation that the threads found, in row-major order; none where `check` is 0.
static CheckRecord first_violation(const LaunchRun &run) {
  CheckRecord first;
  for (int worker = 0; worker < run.width; ++worker) {
    const CheckRecord &record = run.checks[worker].record;
    if (record.check && (!first.check || record.position < first.position ||
                         (record.position == first.position && record.check < first.check)))
      first = record;
  }
  return first;
}

Status run_launches(const LaunchRun &run) {
  const bool profiled = Profiler::enabled();
  for (const Launch &launch : run.launches) {
    void **const at = run.pointers.data() + launch.first_operand;
    const int64_t begin_ns = profiled ? Profiler::now() : 0;
    const bool checked =
        run.checks && launch.may_fail && launch.kind == LaunchKind::kernel && launch.tasks > 0;
    switch (launch.kind) {
    case LaunchKind::kernel:
      if (checked)
        for (int worker = 0; worker < run.width; ++worker)
          run.checks[worker].record = CheckRecord();
      if (launch.tasks)
        run_kernel(run, launch, at);
      break;
    case LaunchKind::contraction:
      // The primitive exists and its scratch is there: what can still fail here is a bug or a broken
      // machine, and something may have been written already.
      if (Status status = launch.contraction->run({at[0], at[1], at[2], launch.bias ? at[3] : nullptr,
                                                   launch.residual ? at[launch.bias ? 4 : 3] : nullptr,
                                                   run.library_scratch},
                                                  {run.serial});
          !status)
        return status.with([&](FailureInfo &info) {
          info.what = launch.name + ", donated arguments are no longer valid: " + info.what;
          set_location(info, launch.origin, run.origin);
        });
      break;
    case LaunchKind::attention:
      launch.attention->run(at, run.library_scratch, run.serial);
      break;
    case LaunchKind::copy:
      run_copy(run, launch, at);
      break;
    case LaunchKind::print:
      run_print(launch, at[0]);
      break;
    case LaunchKind::require:
      if (const void *wrong = launch.value_bytes ? std::memchr(at[0], 0, launch.value_bytes) : nullptr) {
        FailureInfo info;
        info.check = FailedCheck::condition;
        info.what = launch.text;
        info.position = static_cast<const std::byte *>(wrong) - static_cast<const std::byte *>(at[0]);
        set_location(info, launch.origin, run.origin);
        return Status::error(std::move(info));
      }
      break;
    }
    if (profiled)
      Profiler::get().record(launch.name, launch.origin.text, begin_ns, Profiler::now(), launch.bytes,
                             launch.flops);
    if (!checked)
      continue;
    if (const CheckRecord first = first_violation(run); first.check)
      return run.function->failed_check(first, launch, run.origin);
  }
  return {};
}

} // namespace weft::runtime
