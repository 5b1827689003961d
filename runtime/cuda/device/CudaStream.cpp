//===- CudaStream.cpp - Work on an NVIDIA GPU -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/CudaStream.h"

#include "runtime/cuda/device/CallKernels.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/queue/Buffer.h"

#include <algorithm>
#include <cstring>

namespace weft::runtime {
namespace {

CUdeviceptr address_of(const void *pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

/// The moment of an event.
class EventState final : public Point::State {
public:
  EventState(CudaDevice &device, CUevent event) : device_(device), event_(event) {}
  ~EventState() override { device_.give_event(event_); }
  bool passed() const override {
    if (passed_.load(std::memory_order_acquire))
      return true;
    const CudaContext &context = device_.context();
    const ContextScope scope(context);
    // Nothing runs any more for a context that is lost, or that is the parent's.
    if (scope.status().ok()) {
      const CUresult code = context.table().cuEventQuery(event_);
      // Work that has failed is over, too. Of other errors, which say nothing of the work, wait() tells.
      if (code == CUDA_ERROR_NOT_READY ||
          (!context.check(code, "asking for an event").ok() && !context.is_lost()))
        return false;
    }
    passed_.store(true, std::memory_order_release);
    return true;
  }
  Status wait() override {
    const CudaContext &context = device_.context();
    const ContextScope scope(context);
    if (!scope.status().ok())
      return scope.status();
    if (passed_.load(std::memory_order_acquire))
      return {};
    Status status = context.end_wait(context.table().cuEventSynchronize(event_), "waiting for its work");
    passed_.store(status.ok() || context.is_lost(), std::memory_order_release);
    return status;
  }
  void wait_passed() override { (void)wait(); }

  const CudaDevice &device() const { return device_; }
  CUevent event() const { return event_; }

private:
  CudaDevice &device_;
  const CUevent event_;
  mutable std::atomic<bool> passed_{false};
};

/// How many operands a launch of the run's function has.
size_t operand_count(const LaunchRun &run, const Launch &launch) {
  const Launch *const next = &launch + 1;
  const std::vector<Launch> &all = run.function->launches;
  const size_t end = next == all.data() + all.size() ? run.pointers.size() : next->first_operand;
  return end - launch.first_operand;
}

/// Words of the table that a launch's kernel reads: the addresses of all operands, and its sizes.
size_t table_words(const LaunchRun &run, const Launch &launch) {
  const bool takes_table = !launch.on_device.empty() && launch.on_device.front().kernel->takes_table();
  return takes_table && launch.tasks ? operand_count(run, launch) + launch.table.size() : 0;
}

/// weft_checks of a kernel's text.
struct ChecksParameter {
  CUdeviceptr record;
  uint64_t launch;
  int64_t first;
  uint32_t check_bits, unused;
};

std::string named(const Launch &launch) {
  return "'" + launch.name + "'" + (launch.origin.text.empty() ? "" : " (" + launch.origin.text + ")");
}

} // namespace

Status issue_copy(const CudaContext &context, CUstream stream, void *to, const void *from, size_t bytes,
                  CopyDirection direction) {
  const DriverTable &table = context.table();
  const CUdeviceptr target = address_of(to), source = address_of(from);
  switch (direction) {
  case CopyDirection::host_to_device:
    return context.check(table.cuMemcpyHtoDAsync(target, from, bytes, stream), "copying to it");
  case CopyDirection::device_to_host:
    return context.check(table.cuMemcpyDtoHAsync(to, source, bytes, stream), "copying from it");
  case CopyDirection::device_to_device:
    // The addresses say which devices these are.
    return context.check(table.cuMemcpyAsync(target, source, bytes, stream), "copying within it");
  }
  return {};
}

Expected<std::unique_ptr<DeviceStream>> CudaStream::make(CudaDevice &device) {
  const CudaContext &context = device.context();
  const ContextScope scope(context);
  if (!scope.status().ok())
    return scope.status();
  CUstream stream = nullptr;
  if (Status status = context.check(
          context.table().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0), "making a stream");
      !status)
    return status;
  return std::unique_ptr<DeviceStream>(new CudaStream(device, stream));
}

CudaStream::~CudaStream() {
  const CudaContext &context = device_.context();
  const ContextScope scope(context);
  if (!scope.status().ok())
    return;
  (void)context.end_wait(context.table().cuStreamSynchronize(stream_), "waiting for its work");
  (void)context.table().cuStreamDestroy(stream_);
}

Status CudaStream::copy(void *to, const void *from, size_t bytes, CopyDirection direction) {
  if (bytes == 0)
    return {};
  const ContextScope scope(device_.context());
  return scope.status().ok() ? issue_copy(device_.context(), stream_, to, from, bytes, direction)
                             : scope.status();
}

Status CudaStream::wait_for(const Point &point) {
  const auto *const event = dynamic_cast<const EventState *>(point.state());
  if (!event) {
    point.wait_passed();
    return {};
  }
  const ContextScope scope(device_.context());
  if (!scope.status().ok())
    return scope.status();
  return device_.context().check(device_.context().table().cuStreamWaitEvent(stream_, event->event(), 0),
                                 "letting a stream wait");
}

Expected<Point> CudaStream::record() {
  const CudaContext &context = device_.context();
  const ContextScope scope(context);
  if (!scope.status().ok())
    return scope.status();
  Expected<CUevent> event = device_.take_event();
  if (!event)
    return event.status();
  auto state = std::make_shared<EventState>(device_, *event);
  if (Status status = context.check(context.table().cuEventRecord(*event, stream_), "recording an event");
      !status)
    return status;
  return Point(std::move(state));
}

Status CudaStream::launch(CUfunction function, uint32_t blocks, uint32_t threads, uint32_t shared_bytes,
                          void *const *parameters, const Launch *carried_out) {
  CUlaunchConfig config = {};
  config.gridDimX = blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = threads;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = shared_bytes;
  config.hStream = stream_;
  const CudaContext &context = device_.context();
  CUresult code =
      context.table().cuLaunchKernelEx(&config, function, const_cast<void **>(parameters), nullptr);
  if (code == CUDA_SUCCESS && device_.is_blocking())
    code = context.table().cuStreamSynchronize(stream_);
  if (code == CUDA_SUCCESS)
    return {};
  return context.check(code, "running " + (carried_out ? named(*carried_out) : "a kernel of the runtime"));
}

/// Resets the call's record and looks at the flags of its arguments.
Status CudaStream::begin_call(const LaunchRun &run) {
  std::vector<uint64_t> flags;
  if (run.flags) {
    for (const uint64_t *flag : run.flags->cleared)
      flags.push_back(address_of(flag) | 1);
    // What is cleared says nothing.
    for (uint64_t *flag : run.flags->blocking)
      if (std::ranges::find(run.flags->cleared, flag) == run.flags->cleared.end())
        flags.push_back(address_of(flag));
  }
  CUdeviceptr record = address_of(run.failure);
  uint32_t resets = 1;
  size_t at = 0;
  do {
    call_kernels::Flags part;
    auto count = static_cast<uint32_t>(std::min(flags.size() - at, call_kernels::mostFlags));
    std::copy_n(flags.begin() + static_cast<ptrdiff_t>(at), count, part.addresses);
    void *const parameters[] = {&record, &count, &resets, &part};
    if (Status status = launch(device_.call_code().begin_call, 1, call_kernels::threads, 0, parameters);
        !status)
      return status;
    at += count;
    resets = 0;
  } while (at < flags.size());
  return {};
}

Status CudaStream::end_call(const LaunchRun &run) {
  const std::vector<uint64_t *> &flags = run.flags->flagged;
  CUdeviceptr record = address_of(run.failure);
  for (size_t at = 0; at < flags.size(); at += call_kernels::mostFlags) {
    call_kernels::Flags part;
    auto count = static_cast<uint32_t>(std::min(flags.size() - at, call_kernels::mostFlags));
    std::transform(flags.begin() + static_cast<ptrdiff_t>(at),
                   flags.begin() + static_cast<ptrdiff_t>(at + count), part.addresses, address_of);
    void *const parameters[] = {&record, &count, &part};
    if (Status status = launch(device_.call_code().end_call, 1, call_kernels::threads, 0, parameters);
        !status)
      return status;
  }
  return {};
}

Status CudaStream::launch_code(const LaunchRun &run, const Launch &launch, const DeviceLaunch &own,
                               uint64_t &table) {
  const fb::DeviceKernel &kernel = *own.kernel;
  void **const at = run.pointers.data() + launch.first_operand;
  numbers_.clear();
  for (const uint32_t pointer : own.pointers)
    numbers_.push_back(address_of(at[pointer]));
  for (const int64_t size : own.sizes)
    numbers_.push_back(static_cast<uint64_t>(size));
  if (kernel.takes_table()) {
    numbers_.push_back(table);
    numbers_.push_back(table + operand_count(run, launch) * sizeof(uint64_t));
    table += table_words(run, launch) * sizeof(uint64_t);
  }
  parameters_.clear();
  for (uint64_t &number : numbers_)
    parameters_.push_back(&number);
  ChecksParameter checks = {};
  if (kernel.takes_checks()) {
    checks.record = address_of(run.failure);
    checks.launch = run.function->failure_key.pack({launch.failure_number, 0, 0});
    checks.first = launch.first_check + int64_t(1);
    checks.check_bits = run.function->failure_key.check_bits;
    parameters_.push_back(&checks);
  }
  CUdeviceptr failed = run.failure && launch.predicated ? address_of(run.failure) : device_.never_failed();
  if (kernel.takes_predicate())
    parameters_.push_back(&failed);
  const auto &code = static_cast<const CudaCode &>(*run.function->devices[launch.device].code);
  return this->launch(code.function(&kernel), own.blocks, kernel.threads(), kernel.shared_bytes(),
                      parameters_.data(), &launch);
}

/// A copy within the device, which writes an argument only if the call has not failed.
Status CudaStream::copy_in_run(const LaunchRun &run, const Launch &launch) {
  void **const at = run.pointers.data() + launch.first_operand;
  if (launch.copy_bytes == 0)
    return {};
  if (!launch.predicated || !run.failure) {
    const CudaContext &context = device_.context();
    Status status = issue_copy(context, stream_, at[1], at[0], static_cast<size_t>(launch.copy_bytes),
                               CopyDirection::device_to_device);
    if (status.ok() && device_.is_blocking())
      status = context.check(context.table().cuStreamSynchronize(stream_), "running " + named(launch));
    return status;
  }
  constexpr int64_t bytesOfBlock = 16 * call_kernels::threads;
  constexpr int64_t mostBlocks = 4096;
  CUdeviceptr to = address_of(at[1]), from = address_of(at[0]), record = address_of(run.failure);
  auto bytes = static_cast<uint64_t>(launch.copy_bytes);
  const int64_t blocks = std::min((launch.copy_bytes + bytesOfBlock - 1) / bytesOfBlock, mostBlocks);
  void *const parameters[] = {&to, &from, &bytes, &record};
  return this->launch(device_.call_code().copy, static_cast<uint32_t>(blocks), call_kernels::threads, 0,
                      parameters, &launch);
}

Status CudaStream::carry_out(const LaunchRun &run, const Launch &launch, uint64_t &table) {
  switch (launch.kind) {
  case LaunchKind::kernel:
  case LaunchKind::contraction:
  case LaunchKind::attention:
    for (const DeviceLaunch &own : launch.on_device)
      if (own.blocks)
        if (Status status = launch_code(run, launch, own, table); !status)
          return status;
    return {};
  case LaunchKind::copy:
    return copy_in_run(run, launch);
  case LaunchKind::print:
  case LaunchKind::require:
    break;
  }
  return Status::error(named(launch) + " is the host's, and '" + device_.name() +
                       "' was asked for it; this is an error of Weft: please report it with the program");
}

Status CudaStream::prepare_tables(const LaunchRun &run, Tables &tables) {
  for (const Launch &launch : run.launches)
    tables.bytes += table_words(run, launch) * sizeof(uint64_t);
  if (!tables.bytes)
    return {};
  for (const auto &[allocator, block] : {std::pair(&device_.allocator(), &tables.on_device),
                                         std::pair(&device_.pinned_allocator(), &tables.pinned)}) {
    Expected<MemoryBlock> made =
        allocator->allocate(tables.bytes, allocator->intern_label({"operands of steps"}), {.stream = id()},
                            Queue::finish_passed_all);
    if (!made)
      return made.status();
    *block = *made;
  }
  auto *to = static_cast<std::byte *>(tables.pinned.data);
  const auto add = [&](const void *words, size_t count) {
    std::memcpy(to, words, count * sizeof(uint64_t));
    to += count * sizeof(uint64_t);
  };
  for (const Launch &launch : run.launches)
    if (table_words(run, launch)) {
      add(run.pointers.data() + launch.first_operand, operand_count(run, launch));
      add(launch.table.data(), launch.table.size());
    }
  return issue_copy(device_.context(), stream_, tables.on_device.data, tables.pinned.data, tables.bytes,
                    CopyDirection::host_to_device);
}

void CudaStream::free_tables(const Tables &tables) {
  if (!tables.on_device.handle && !tables.pinned.handle)
    return;
  const Expected<Point> point = record();
  if (!point)
    (void)device_.context().end_wait(device_.context().table().cuStreamSynchronize(stream_),
                                     "waiting for tables");
  for (const auto &[allocator, block] : {std::pair(&device_.allocator(), &tables.on_device),
                                         std::pair(&device_.pinned_allocator(), &tables.pinned)}) {
    StreamPoints uses;
    if (point)
      uses.push_back({id(), *point});
    if (block->handle)
      allocator->free(*block, std::move(uses));
  }
}

Status CudaStream::issue_all(const LaunchRun &run, Tables &tables) {
  if (Status status = prepare_tables(run, tables); !status)
    return status;
  if (run.failure && run.begins)
    if (Status status = begin_call(run); !status)
      return status;
  if (run.failure && run.foreign_keys) {
    CUdeviceptr record = address_of(run.failure);
    uint32_t devices = run.foreign_keys;
    void *const parameters[] = {&record, &devices};
    if (Status status = launch(device_.call_code().merge_keys, 1, 1, 0, parameters); !status)
      return status;
  }
  uint64_t table = address_of(tables.on_device.data);
  for (const Launch &launch : run.launches)
    if (Status status = carry_out(run, launch, table); !status)
      return status;
  return run.ends && run.flags ? end_call(run) : Status();
}

Status CudaStream::issue(const LaunchRun &run) {
  const ContextScope scope(device_.context());
  if (!scope.status().ok())
    return scope.status();
  Tables tables;
  Status status = issue_all(run, tables);
  free_tables(tables);
  return status;
}

} // namespace weft::runtime
