//===- LaunchRun.cpp - Launches on the processors of the host ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/LaunchRun.h"

#include "runtime/execution/Branch.h"
#include "runtime/execution/Loop.h"
#include "runtime/queue/Profiler.h"
#include "runtime/support/Nvtx.h"
#include "runtime/support/TensorText.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <immintrin.h>
#include <utility>

namespace weft::runtime {

static constexpr int64_t copyChunkBytes = 256 << 10;

/// Sets the location of a failure: the source line from the call, or else the one in the program.
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

uint64_t Executable::Impl::key_of(const Launch &launch, const CheckRecord &record) const {
  // The kernel numbers all checks of the plan from 1 on; the key has the number among those of the launch.
  const auto number = static_cast<uint64_t>(record.check) - 1 - launch.first_check;
  return failure_key.pack({launch.failure_number, static_cast<uint64_t>(record.position), number});
}

Status Executable::Impl::failure_of(uint64_t key, std::optional<int64_t> value,
                                    const CallOrigin *origin) const {
  const Violation violation = failure_key.unpack(key);
  const Launch &launch = launches[fallible[static_cast<size_t>(violation.launch - 1)]];
  FailureInfo info;
  info.position = static_cast<int64_t>(violation.position);
  if (launch.kind == LaunchKind::require) {
    info.check = FailedCheck::condition;
    info.what = launch.text;
    set_location(info, launch.origin, origin);
    return Status::error(std::move(info));
  }
  info.check = FailedCheck::other;
  info.value = value.value_or(0);
  info.value_known = value.has_value();
  const Origin *from = &launch.origin;
  const uint64_t number = launch.first_check + violation.check;
  if (number < checks.size()) {
    const Check &check = checks[static_cast<size_t>(number)];
    info.check = check.kind;
    info.dimension = check.dimension;
    info.size = check.size;
    info.subject = check.subject;
    if (!check.origin.text.empty())
      from = &check.origin;
  }
  if (info.check == FailedCheck::other)
    info.what = "check " + std::to_string(number + 1) + " failed";
  set_location(info, *from, origin);
  return Status::error(std::move(info));
}

std::optional<int64_t> failed_value(const FailureRecord &record, std::span<const CheckSlot> checks) {
  if (const std::optional<int64_t> logged = record.value_of(record.key))
    return logged;
  const auto found = std::ranges::find(checks, record.key, &CheckSlot::key);
  return found == checks.end() ? std::nullopt : std::optional(found->value);
}

/// Moves a violation that a thread's part of a launch has found to the failure record.
static void note_violation(const LaunchRun &run, const Launch &launch, CheckSlot &slot) {
  const CheckRecord found = std::exchange(slot.record, CheckRecord());
  const uint64_t key = run.function->key_of(launch, found);
  if (key < slot.key) {
    slot.key = key;
    slot.value = found.value;
  }
  run.failure->note(key, found.value);
}

/// Runs the tasks of a kernel.
static void run_kernel(const LaunchRun &run, const Launch &launch, void **at) {
  const size_t kernel_scratch = run.function->devices[launch.device].kernel_scratch;
  const auto body = [&](int64_t begin, int64_t end, int worker) {
    const KernelFrame frame = {at, launch.sizes, kernel_imports(),
                               run.scratch + static_cast<size_t>(worker) * kernel_scratch,
                               run.checks ? &run.checks[worker].record : nullptr};
    launch.function(&frame, begin, end);
    if (launch.may_fail && run.checks && run.checks[worker].record.check)
      note_violation(run, launch, run.checks[worker]);
    // Kernels may use streaming stores, which only this fence orders before later stores.
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
    // State may already be written, so the call must not fail here.
    std::fputs("(no memory for the text of a tensor)\n", stdout);
  }
  std::fflush(stdout);
}

static void run_require(const LaunchRun &run, const Launch &launch, const void *value) {
  const void *wrong = launch.value_bytes ? std::memchr(value, 0, launch.value_bytes) : nullptr;
  if (!wrong)
    return;
  const auto position = static_cast<const std::byte *>(wrong) - static_cast<const std::byte *>(value);
  const CheckRecord found = {launch.first_check + int64_t(1), position, 0};
  run.failure->note(run.function->key_of(launch, found), 0);
}

/// Initialises the record and the slots of threads for a call.
static void begin_call(const LaunchRun &run) {
  run.failure->reset();
  if (run.checks)
    std::fill_n(run.checks, run.width, CheckSlot());
  if (!run.flags)
    return;
  for (uint64_t *flag : run.flags->cleared)
    *flag = 0;
  if (std::ranges::any_of(run.flags->blocking, [](const uint64_t *flag) { return *flag != 0; }))
    run.failure->key = FailureRecord::blockedKey;
}

/// Runs a launch that runs functions of the package.
static Status run_bodies(const LaunchRun &run, const Launch &launch, void *const *at) {
  if (launch.loop)
    return launch.loop->run(at, run.library_scratch, run.serial, run.origin);
  if (launch.branch)
    return launch.branch->run(at, run.library_scratch, run.serial, run.origin);
  return launch.while_loop->run(at, run.library_scratch, run.serial, run.origin);
}

static Status run_contraction(const LaunchRun &run, const Launch &launch, void **at) {
  // The primitive exists and its scratch is there: what can still fail here is a bug or a broken machine, and
  // something may have been written already.
  const Status status = launch.contraction->run({at[0], at[1], at[2], launch.bias ? at[3] : nullptr,
                                                 launch.residual ? at[launch.bias ? 4 : 3] : nullptr,
                                                 run.library_scratch, at + 3 + launch.bias + launch.residual},
                                                {run.serial});
  if (status)
    return status;
  return status.with([&](FailureInfo &info) {
    info.what = launch.name + ", donated arguments are no longer valid: " + info.what;
    set_location(info, launch.origin, run.origin);
  });
}

Status run_launches(const LaunchRun &run) {
  const bool profiled = Profiler::enabled();
  if (run.failure) {
    if (run.begins)
      begin_call(run);
    if (run.foreign_keys)
      run.failure->merge(run.foreign_keys);
  }
  for (const Launch &launch : run.launches) {
    if (run.failure && (run.stops || launch.predicated) && run.failure->failed()) {
      if (run.stops)
        break;
      continue;
    }
    void **const at = run.pointers.data() + launch.first_operand;
    const NvtxRange range([&] { return "'" + launch.name + "' (" + launch.origin.text + ")"; });
    const int64_t begin_ns = profiled ? Profiler::now() : 0;
    switch (launch.kind) {
    case LaunchKind::kernel:
      if (launch.tasks)
        run_kernel(run, launch, at);
      break;
    case LaunchKind::contraction:
      if (Status status = run_contraction(run, launch, at); !status)
        return status;
      break;
    case LaunchKind::attention:
      launch.attention->run(at, run.library_scratch, run.serial);
      break;
    case LaunchKind::convolution:
      launch.convolution->run(at[0], at[1], at[2], at + 3, run.library_scratch, run.serial);
      break;
    case LaunchKind::sort:
      launch.sort->run({at[0], at[1], at[2]}, run.library_scratch, run.serial);
      break;
    case LaunchKind::matrices:
      launch.matrices->run(at, run.library_scratch, run.serial);
      break;
    case LaunchKind::fourier:
      launch.fourier->run(at[0], at[1], run.library_scratch, run.serial);
      break;
    case LaunchKind::loop:
    case LaunchKind::branch:
    case LaunchKind::while_loop:
      if (Status status = run_bodies(run, launch, at); !status)
        return status;
      break;
    case LaunchKind::raw: // the plan's verifier lets no such launch run on the host
      return Status::error("'" + launch.name + "' is a kernel for a GPU; this is an error of Weft");
    case LaunchKind::copy:
      run_copy(run, launch, at);
      break;
    case LaunchKind::print:
      run_print(launch, at[0]);
      break;
    case LaunchKind::require:
      run_require(run, launch, at[0]);
      break;
    }
    // The launches of its trips or of its branch have recorded themselves.
    if (profiled && !runs_bodies(launch.kind))
      Profiler::get().record(launch.name, launch.origin.text, begin_ns, Profiler::now(), launch.bytes,
                             launch.flops);
  }
  if (run.ends && run.flags && run.failure->failed())
    for (uint64_t *flag : run.flags->flagged)
      *flag = 1;
  if (run.ends && run.report)
    *run.report = *run.failure;
  return {};
}

} // namespace weft::runtime
