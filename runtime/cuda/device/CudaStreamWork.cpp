//===- CudaStreamWork.cpp - What a run on an NVIDIA GPU consists of -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/CallKernels.h"
#include "runtime/cuda/device/CudaStream.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/queue/Buffer.h"

#include <algorithm>
#include <cstring>

namespace weft::runtime {
namespace {

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

/// What an item does with an operand of its launch.
RangeAccess access_of(const LaunchRun &run, const Launch &launch, size_t operand) {
  const Operand &place = run.function->operands[launch.first_operand + operand];
  const OperandUse &use = run.function->uses[launch.first_operand + operand];
  return {place.base, place.offset, place.offset + use.bytes,
          use.written ? AccessKind::written : AccessKind::read};
}

/// All of the call's record, and the flags that only those look at or set that also look at the record.
RangeAccess access_of_record(AccessKind kind) { return {spaces::record, 0, sizeof(FailureRecord), kind}; }

/// weft_checks of a kernel's text.
struct ChecksParameter {
  CUdeviceptr record;
  uint64_t launch;
  int64_t first;
  uint32_t check_bits, unused;
};

} // namespace

//===----------------------------------------------------------------------===//
// What a run consists of
//===----------------------------------------------------------------------===//

/// Resets the call's record and looks at the flags of its arguments.
void CudaStream::write_down_beginning(const LaunchRun &run) {
  words_.clear();
  if (run.flags) {
    for (const uint64_t *flag : run.flags->cleared)
      words_.push_back(address_of(flag) | 1);
    // What is cleared says nothing.
    for (uint64_t *flag : run.flags->blocking)
      if (std::ranges::find(run.flags->cleared, flag) == run.flags->cleared.end())
        words_.push_back(address_of(flag));
  }
  const CallCode &code = device_.call_code();
  if (words_.size() <= call_kernels::fewFlags)
    write_down_beginning<call_kernels::fewFlags>(run, code.begin_call_few);
  else
    write_down_beginning<call_kernels::mostFlags>(run, code.begin_call);
}

/// The flags are in words_.
template <size_t Room> void CudaStream::write_down_beginning(const LaunchRun &run, CUfunction kernel) {
  size_t at = 0;
  do {
    call_kernels::Flags<Room> part = {};
    const size_t count = std::min(words_.size() - at, Room);
    std::copy_n(words_.begin() + static_cast<ptrdiff_t>(at), count, part.addresses);
    list_.add_kernel(kernel, {1}, {call_kernels::threads}, 0, nullptr);
    if (list_.keeps_accesses())
      list_.add_access(access_of_record(AccessKind::written));
    list_.add_parameter(address_of(run.failure));
    list_.add_parameter(static_cast<uint32_t>(count));
    list_.add_parameter(uint32_t(at == 0));
    list_.add_parameter(part);
    at += count;
  } while (at < words_.size());
}

template <size_t Room> void CudaStream::write_down_end(const LaunchRun &run, CUfunction kernel) {
  const std::vector<uint64_t *> &flags = run.flags->flagged;
  for (size_t at = 0; at < flags.size(); at += Room) {
    call_kernels::Flags<Room> part = {};
    const size_t count = std::min(flags.size() - at, Room);
    std::transform(flags.begin() + static_cast<ptrdiff_t>(at),
                   flags.begin() + static_cast<ptrdiff_t>(at + count), part.addresses, address_of);
    list_.add_kernel(kernel, {1}, {call_kernels::threads}, 0, nullptr);
    if (list_.keeps_accesses())
      list_.add_access(access_of_record(AccessKind::read));
    list_.add_parameter(address_of(run.failure));
    list_.add_parameter(static_cast<uint32_t>(count));
    list_.add_parameter(part);
  }
}

/// What a kernel reads and writes, for the edges of a graph.
void CudaStream::add_accesses(const LaunchRun &run, const Launch &launch, const DeviceLaunch &own) {
  const fb::DeviceKernel &kernel = *own.kernel;
  for (const uint32_t pointer : own.pointers)
    list_.add_access(access_of(run, launch, pointer));
  if (kernel.takes_table())
    for (size_t i = 0; i < operand_count(run, launch); ++i)
      list_.add_access(access_of(run, launch, i));
  // Of two checks that fail, the record has the first in the order of the program, whichever ran first.
  if (kernel.takes_checks())
    list_.add_access(access_of_record(AccessKind::atomic));
  if (kernel.takes_predicate() && run.failure && launch.predicated)
    list_.add_access(access_of_record(AccessKind::read));
}

void CudaStream::write_down(const LaunchRun &run, const Launch &launch, const DeviceLaunch &own,
                            uint64_t &table) {
  const fb::DeviceKernel &kernel = *own.kernel;
  const auto &code = static_cast<const CudaCode &>(*run.function->devices[launch.device].code);
  void **const at = run.pointers.data() + launch.first_operand;
  if (own.raw)
    return write_down_raw(run, *own.raw, code.function(&kernel), launch, at);
  list_.add_kernel(code.function(&kernel), {own.blocks}, {kernel.threads()}, kernel.shared_bytes(), &launch);
  if (list_.keeps_accesses())
    add_accesses(run, launch, own);
  for (const uint32_t pointer : own.pointers)
    list_.add_parameter(address_of(at[pointer]));
  for (const int64_t size : own.sizes)
    list_.add_parameter(size);
  for (const Reciprocal &reciprocal : own.reciprocals)
    list_.add_parameter(reciprocal);
  if (kernel.takes_table()) {
    list_.add_parameter(table);
    list_.add_parameter(table + operand_count(run, launch) * sizeof(uint64_t));
    table += table_words(run, launch) * sizeof(uint64_t);
  }
  if (kernel.takes_checks()) {
    ChecksParameter checks = {};
    checks.record = address_of(run.failure);
    checks.launch = run.function->failure_key.pack({launch.failure_number, 0, 0});
    checks.first = launch.first_check + int64_t(1);
    checks.check_bits = run.function->failure_key.check_bits;
    list_.add_parameter(checks);
  }
  if (kernel.takes_predicate())
    list_.add_parameter(run.failure && launch.predicated ? address_of(run.failure) : device_.never_failed());
}

void CudaStream::write_down_product(const LaunchRun &run, const Launch &launch) {
  const size_t of_caller = run.function->signature.arguments.size() + run.function->signature.results.size();
  void **const at = run.pointers.data() + launch.first_operand;
  const size_t operands = launch.bias ? 4 : 3;
  uint8_t foreign = 0;
  for (size_t i = 0; i < operands; ++i)
    if (run.function->operands[launch.first_operand + i].base < of_caller)
      foreign |= static_cast<uint8_t>(1U << i);
  list_.add_product(*launch.contraction, foreign, &launch);
  const size_t workspace = launch.contraction->workspace_bytes();
  if (list_.keeps_accesses()) {
    for (size_t i = 0; i < operands; ++i)
      list_.add_access(access_of(run, launch, i));
    // Those that share a place of a workspace wait for each other.
    const size_t begin = launch.workspace_offset;
    list_.add_access({spaces::workspace, begin, begin + workspace, AccessKind::written});
  }
  for (size_t i = 0; i + 1 < productOperands; ++i)
    list_.add_parameter(i < operands ? address_of(at[i]) : CUdeviceptr(0));
  list_.add_parameter(workspace ? address_of(run.library_scratch) + launch.workspace_offset : CUdeviceptr(0));
}

/// A kernel of the user, after copies of the tensors that it changes and that something else needs. What it
/// writes is no argument, so it does not matter that it runs after a failure, too.
void CudaStream::write_down_raw(const LaunchRun &run, const RawForm &raw, CUfunction function,
                                const Launch &launch, void *const *at) {
  for (const RawForm::Copy &copy : raw.copies)
    if (copy.bytes) {
      list_.add_copy(address_of(at[copy.to]), address_of(at[copy.from]), copy.bytes, &launch);
      if (list_.keeps_accesses())
        for (const uint32_t operand : {copy.from, copy.to})
          list_.add_access(access_of(run, launch, operand));
    }
  if (raw.grid.x == 0 || raw.grid.y == 0 || raw.grid.z == 0)
    return;
  list_.add_kernel(function, raw.grid, raw.block, raw.shared_bytes, &launch);
  if (list_.keeps_accesses())
    for (const RawParameter &parameter : raw.parameters)
      if (parameter.operand >= 0)
        list_.add_access(access_of(run, launch, static_cast<size_t>(parameter.operand)));
  for (const RawParameter &parameter : raw.parameters)
    if (parameter.operand >= 0)
      list_.add_parameter(address_of(at[parameter.operand]));
    else
      list_.add_number(parameter.bits, parameter.bytes);
}

/// A copy within the device, which writes an argument only if the call has not failed.
void CudaStream::write_down_copy(const LaunchRun &run, const Launch &launch) {
  void **const at = run.pointers.data() + launch.first_operand;
  const auto bytes = static_cast<uint64_t>(launch.copy_bytes);
  if (bytes == 0)
    return;
  const auto add_accesses = [&] {
    for (size_t i = 0; i < 2 && list_.keeps_accesses(); ++i)
      list_.add_access(access_of(run, launch, i));
  };
  if (!launch.predicated || !run.failure) {
    list_.add_copy(address_of(at[1]), address_of(at[0]), bytes, &launch);
    return add_accesses();
  }
  constexpr uint64_t bytesOfBlock = 16 * call_kernels::threads;
  constexpr uint64_t mostBlocks = 4096;
  const uint64_t blocks = std::min((bytes + bytesOfBlock - 1) / bytesOfBlock, mostBlocks);
  list_.add_kernel(device_.call_code().copy, {static_cast<uint32_t>(blocks)}, {call_kernels::threads}, 0,
                   &launch);
  add_accesses();
  if (list_.keeps_accesses())
    list_.add_access(access_of_record(AccessKind::read));
  list_.add_parameter(address_of(at[1]));
  list_.add_parameter(address_of(at[0]));
  list_.add_parameter(bytes);
  list_.add_parameter(address_of(run.failure));
}

void CudaStream::write_down(const LaunchRun &run, const Launch &launch, uint64_t &table) {
  if (launch.kind == LaunchKind::copy)
    return write_down_copy(run, launch);
  if (launch.contraction)
    return write_down_product(run, launch);
  for (const DeviceLaunch &own : launch.on_device)
    if (own.blocks)
      write_down(run, launch, own, table);
}

/// The launches of a part of a loop or a branch, which are counted from that.
void CudaStream::write_down_part(const LaunchRun &run, const Launch &around,
                                 std::span<const LaunchRange> part, CUdeviceptr table) {
  for (const LaunchRange &range : part) {
    const Launch *const begin = &around + range.first, *const end = &around + range.last;
    if (range.decides) {
      write_down_conditional(run, *begin, table);
      continue;
    }
    for (const Launch *launch = begin; launch != end; ++launch) {
      uint64_t words = table + table_places_[static_cast<size_t>(launch - run.launches.data())];
      write_down(run, *launch, words);
    }
  }
}

/// What the kernel touches that sets the conditions of a loop or a branch.
void CudaStream::add_accesses_of_decision(const LaunchRun &run, const Launch &launch) {
  if (!list_.keeps_accesses())
    return;
  list_.add_access(access_of(run, launch, 0));
  list_.add_access(access_of_record(AccessKind::read));
  // No two threads may set conditions at the same time.
  list_.add_access({spaces::conditions, 0, 1, AccessKind::written});
}

/// A branch whose predicate the device looks at: a node for each function, of which one runs.
void CudaStream::write_down_branch(const LaunchRun &run, const Launch &branch, CUdeviceptr table) {
  const BranchParts &parts = *branch.parts;
  if (parts.if_true.empty() && parts.if_false.empty())
    return;
  const uint32_t if_true = list_.new_node(), if_false = list_.new_node();
  list_.add_chooser(if_true, device_.graph_loops().choose_branch(),
                    address_of(run.pointers[branch.first_operand]),
                    run.failure ? address_of(run.failure) : device_.never_failed());
  add_accesses_of_decision(run, branch);
  list_.begin_branch(if_true);
  write_down_part(run, branch, parts.if_true, table);
  list_.end_node(if_true);
  list_.begin_other_branch(if_false);
  write_down_part(run, branch, parts.if_false, table);
  list_.end_node(if_false);
}

/// A loop whose condition the device looks at. The nodes of its body are the same in each trip, so the
/// carries have one place at the beginning of each, that of the results: they are copied there before the
/// first trip, and at the end of each one.
void CudaStream::write_down_loop(const LaunchRun &run, const Launch &loop, CUdeviceptr table) {
  const WhileTrips &trips = *loop.trips;
  const uint32_t number = list_.new_node();
  const auto decide = [&] {
    write_down_part(run, loop, trips.at[WhileTrips::result].condition, table);
    list_.add_setter(number, device_.graph_loops().set_condition(),
                     address_of(run.pointers[loop.first_operand]),
                     run.failure ? address_of(run.failure) : device_.never_failed());
    add_accesses_of_decision(run, loop);
  };
  write_down_part(run, loop, trips.begin, table);
  decide();
  list_.begin_loop(number);
  write_down_part(run, loop, trips.at[WhileTrips::result].body, table);
  write_down_part(run, loop, trips.at[WhileTrips::second].finish, table);
  decide();
  list_.end_node(number);
}

void CudaStream::write_down_conditional(const LaunchRun &run, const Launch &launch, CUdeviceptr table) {
  if (&launch == run.launches.data()) {
    table_places_.clear();
    uint64_t bytes = 0;
    for (const Launch &each : run.launches) {
      table_places_.push_back(bytes);
      bytes += table_words(run, each) * sizeof(uint64_t);
    }
  }
  launch.parts ? write_down_branch(run, launch, table) : write_down_loop(run, launch, table);
}

void CudaStream::write_down(const LaunchRun &run, const Repeated &kept) {
  list_.clear();
  if (run.failure && run.begins)
    write_down_beginning(run);
  if (run.failure && run.foreign_keys) {
    list_.add_kernel(device_.call_code().merge_keys, {1}, {1}, 0, nullptr);
    if (list_.keeps_accesses())
      list_.add_access(access_of_record(AccessKind::written));
    list_.add_parameter(address_of(run.failure));
    list_.add_parameter(run.foreign_keys);
  }
  uint64_t table = address_of(kept.table.data);
  if (!run.launches.empty() && run.launches.front().decides()) {
    write_down_conditional(run, run.launches.front(), table);
  } else {
    for (const Launch &launch : run.launches)
      write_down(run, launch, table);
  }
  if (run.ends && run.flags) {
    const CallCode &code = device_.call_code();
    if (run.flags->flagged.size() <= call_kernels::fewFlags)
      write_down_end<call_kernels::fewFlags>(run, code.end_call_few);
    else
      write_down_end<call_kernels::mostFlags>(run, code.end_call);
  }
  if (run.ends && run.report) {
    list_.add_copy_to_host(run.report, address_of(run.failure), sizeof(FailureRecord));
    if (list_.keeps_accesses()) {
      list_.add_access(access_of_record(AccessKind::read));
      list_.add_access({spaces::hostRecord, 0, sizeof(FailureRecord), AccessKind::written});
    }
  }
}

//===----------------------------------------------------------------------===//
// Operands in memory of the device
//===----------------------------------------------------------------------===//

void CudaStream::free_later(CachingAllocator &allocator, const MemoryBlock &block) noexcept {
  StreamPoints uses;
  try {
    if (const Expected<Point> point = record(); point)
      uses.push_back({id(), *point});
  } catch (...) { // NOLINT(bugprone-empty-catch): there is no memory for a point
  }
  if (uses.empty())
    (void)device_.context().end_wait(device_.context().table().cuStreamSynchronize(stream_),
                                     "waiting for its work");
  allocator.free(block, std::move(uses));
}

Status CudaStream::upload(const std::vector<uint64_t> &words, void *to) {
  CachingAllocator &pinned = device_.pinned_allocator();
  const size_t bytes = words.size() * sizeof(uint64_t);
  // For no stream: the host writes it at once, so it is free for the next only when the copy is done.
  const Expected<MemoryBlock> from =
      pinned.allocate(bytes, pinned.intern_label({"operands of kernels"}), {}, Queue::finish_passed_all);
  if (!from)
    return from.status();
  std::memcpy(from->data, words.data(), bytes);
  Status status =
      issue_copy(device_.context(), stream_, to, from->data, bytes, CopyDirection::host_to_device);
  free_later(pinned, *from);
  return status;
}

/// Sends the operands that kernels read from memory of the device, unless those are there.
Status CudaStream::send_table(const LaunchRun &run, Repeated &kept) {
  words_.clear();
  for (const Launch &launch : run.launches)
    if (table_words(run, launch)) {
      void **const at = run.pointers.data() + launch.first_operand;
      std::transform(at, at + operand_count(run, launch), std::back_inserter(words_), address_of);
      words_.insert(words_.end(), launch.table.begin(), launch.table.end());
    }
  if (words_.empty() || words_ == kept.words)
    return {};
  CachingAllocator &allocator = device_.allocator();
  const size_t bytes = words_.size() * sizeof(uint64_t);
  if (bytes > kept.table.bytes) {
    const Expected<MemoryBlock> block = allocator.allocate(
        bytes, allocator.intern_label({"operands of kernels"}), {.stream = id()}, Queue::finish_passed_all);
    if (!block)
      return block.status();
    if (const MemoryBlock before = std::exchange(kept.table, *block); before.handle)
      free_later(allocator, before);
  }
  kept.words.clear(); // until it is known what is there
  if (Status status = upload(words_, kept.table.data); !status)
    return status;
  kept.words = words_;
  return {};
}

} // namespace weft::runtime
