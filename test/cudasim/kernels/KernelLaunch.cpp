//===- KernelLaunch.cpp - One launch of a kernel on the engine -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "KernelLaunch.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>

namespace weft::cudasim {

using runtime::FailureRecord;

namespace {

/// Operands that overlap, as one range of the host's memory, and where it is in the engine.
struct Region {
  std::byte *data = nullptr;
  uint64_t bytes = 0;
  bool read = false, written = false;
  uint64_t shift = 0;   ///< bytes before it, for its alignment
  uint64_t address = 0; ///< in the engine
};

/// What a kernel sees of a failure record (weft_failures of its text).
constexpr uint64_t recordBytes = offsetof(FailureRecord, foreign);

/// The last parameter of a kernel with checks (weft_checks of its text).
struct ChecksParameter {
  uint64_t record, launch;
  int64_t first;
  uint32_t checkBits, unused;
};

struct Outcome {
  std::vector<std::vector<std::byte>> regions;
  FailureRecord record;
  Traffic traffic;
};

class Run {
public:
  Run(const DeviceKernel &kernel, const KernelCall &call, const RunStyle &style)
      : kernel(kernel), call(call), style(style) {
    findRegions();
  }
  Status twice(LaunchNotes &notes);
  Expected<Traffic> counted(uint64_t mostBlocks);

private:
  void findRegions();
  LaunchOptions sizes() const;
  void keep(const Outcome &outcome);
  uint64_t addressOf(const CallOperand &operand) const;
  uint64_t neededBytes() const;
  Expected<Outcome> once(const LaunchOptions &options, std::byte fill, LaunchNotes &notes);
  Expected<std::vector<std::byte>> parameters(Memory &memory, uint64_t record);
  Status compare(const Outcome &first, const Outcome &second) const;
  Status checkUnwritten(const Outcome &outcome) const;
  Status checkPredicate(LaunchOptions options, LaunchNotes &notes);
  Status problem(const std::string &what) const {
    return Status::error("kernel '" + kernel.symbol + "': " + what);
  }
  std::string describe(size_t region, uint64_t byte) const;

  const DeviceKernel &kernel;
  const KernelCall &call;
  const RunStyle &style;
  std::vector<Region> regions;
  std::vector<size_t> regionOf;              ///< of each operand
  uint64_t failedKey = FailureRecord::noKey; ///< what a kernel with a predicate reads
};

void Run::findRegions() {
  std::vector<size_t> order(call.operands.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(call.operands[a].data, a) < std::pair(call.operands[b].data, b);
  });
  regionOf.resize(order.size());
  for (size_t i : order) {
    const CallOperand &operand = call.operands[i];
    const bool joins = operand.bytes && !regions.empty() && regions.back().bytes &&
                       operand.data < regions.back().data + regions.back().bytes;
    if (!joins)
      regions.push_back({operand.data, 0});
    Region &region = regions.back();
    region.bytes = std::max<uint64_t>(region.bytes, operand.data + operand.bytes - region.data);
    region.read |= !operand.written;
    region.written |= operand.written;
    // What is before the first byte counts as allocated, so nothing is put there for an operand without any:
    // its address says nothing, and a kernel that reads before it is to be found.
    region.shift = region.bytes ? reinterpret_cast<uintptr_t>(region.data) % Memory::granule : 0;
    regionOf[i] = regions.size() - 1;
  }
}

uint64_t Run::addressOf(const CallOperand &operand) const {
  const Region &region = regions[regionOf[&operand - call.operands.data()]];
  return region.address + (operand.data - region.data);
}

/// Of an engine's memory for the launch, with what allocations have between them.
uint64_t Run::neededBytes() const {
  uint64_t bytes = uint64_t(16) << 20;
  for (const Region &region : regions)
    bytes += region.bytes + 4 * Memory::granule;
  return bytes + (call.operands.size() + call.sizes.size()) * sizeof(uint64_t);
}

std::string Run::describe(size_t region, uint64_t byte) const {
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const CallOperand &operand = call.operands[i];
    const std::byte *at = regions[region].data + byte;
    if (regionOf[i] == region && at >= operand.data && at < operand.data + operand.bytes)
      return "byte " + std::to_string(at - operand.data) + " of operand " + std::to_string(i) + " (" +
             std::to_string(operand.bytes) + " bytes)";
  }
  return "a byte of no operand";
}

Expected<std::vector<std::byte>> Run::parameters(Memory &memory, uint64_t record) {
  const KernelInfo &info = kernel.module->kernels().front();
  std::vector<std::byte> bytes(info.parameterBytes);
  size_t next = 0;
  bool fits = true;
  auto add = [&](const void *value, size_t size) {
    fits &= next < info.parameters.size() && info.parameters[next].size == size;
    if (fits)
      std::memcpy(bytes.data() + info.parameters[next].offset, value, size);
    ++next;
  };
  auto addNumber = [&](uint64_t value) { add(&value, sizeof value); };
  for (int64_t slot : kernel.slots)
    addNumber(addressOf(call.operands.at(static_cast<size_t>(slot))));
  for (uint32_t i = 0; i < kernel.sizeCount; ++i)
    addNumber(static_cast<uint64_t>(call.sizes[i]));
  if (kernel.packed) {
    auto reciprocals = runtime::reciprocals_of(*kernel.packed, call.sizes);
    if (!reciprocals)
      return reciprocals.status();
    for (const runtime::Reciprocal &each : *reciprocals)
      add(&each, sizeof each);
  }
  if (kernel.usesTable) {
    const uint64_t buffers = memory.allocate(call.operands.size() * sizeof(uint64_t)),
                   sizes = memory.allocate(call.sizes.size_bytes());
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const uint64_t address = addressOf(call.operands[i]);
      std::memcpy(memory.host(buffers + i * sizeof address, sizeof address), &address, sizeof address);
    }
    if (!call.sizes.empty())
      std::memcpy(memory.host(sizes, call.sizes.size_bytes()), call.sizes.data(), call.sizes.size_bytes());
    addNumber(buffers);
    addNumber(sizes);
  }
  if (kernel.usesChecks) {
    const ChecksParameter checks = {record, call.launchKey, call.firstCheck, call.checkBits, 0};
    add(&checks, sizeof checks);
  }
  if (kernel.usesPredicate) {
    const uint64_t failed = memory.allocate(sizeof failedKey);
    std::memcpy(memory.host(failed, sizeof failedKey), &failedKey, sizeof failedKey);
    addNumber(failed);
  }
  if (!fits || next != info.parameters.size())
    return problem("its text has other parameters than its launch");
  return bytes;
}

/// Runs the launch with what it only writes filled with `fill`.
Expected<Outcome> Run::once(const LaunchOptions &options, std::byte fill, LaunchNotes &notes) {
  Memory memory(neededBytes());
  if (!kernel.module->load(memory))
    return problem("no memory for its variables");
  // A kernel writes each element of its results, but need not read each of its operands.
  const bool results = std::any_of(regions.begin(), regions.end(),
                                   [](const Region &each) { return !each.read && each.bytes; });
  auto mayBeCut = [&](const Region &region) { return !results || !region.read; };
  uint64_t largest = 0;
  for (const Region &region : regions)
    if (mayBeCut(region))
      largest = std::max(largest, region.bytes);
  for (Region &region : regions) {
    // The spoilt bound is that of one region.
    const bool cut = style.spoil == Spoil::bound && largest && mayBeCut(region) && region.bytes == largest;
    largest = cut ? 0 : largest;
    const uint64_t bytes = region.bytes - cut, base = memory.allocate(region.shift + bytes);
    if (!base)
      return problem("no memory for " + std::to_string(bytes) + " bytes");
    region.address = base + region.shift;
    std::byte *at = memory.host(base, region.shift + bytes);
    if (!bytes)
      continue;
    if (region.read)
      std::memcpy(at + region.shift, region.data, bytes);
    else
      std::memset(at + region.shift, static_cast<int>(fill), bytes);
  }
  uint64_t record = 0;
  if (kernel.usesChecks) {
    if (!call.failure)
      return problem("it has checks, and its call has no record of failures");
    record = memory.allocate(recordBytes);
    std::memcpy(memory.host(record, recordBytes), call.failure, recordBytes);
  }
  Expected<std::vector<std::byte>> bytes = parameters(memory, record);
  if (!bytes)
    return bytes.status();
  const LaunchResult result =
      launch(*kernel.module, kernel.module->kernels().front().name, memory, options, *bytes);
  notes.steps += result.steps;
  if (result.racyRead && notes.racyRead.empty())
    notes.racyRead = "kernel '" + kernel.symbol + "': " + result.racyRead->str();
  if (result.fault)
    return problem(result.fault->str());
  Outcome outcome;
  outcome.traffic = result.traffic;
  for (const Region &region : regions) {
    // The bytes before a region are compared too: nothing may write there. A spoilt bound has lost its last
    // byte.
    const uint64_t bytes = region.shift + region.bytes, base = region.address - region.shift;
    std::vector<std::byte> &kept = outcome.regions.emplace_back(bytes);
    for (uint64_t length : {bytes, bytes - std::min<uint64_t>(bytes, 1)})
      if (const std::byte *from = memory.host(base, length)) {
        std::copy_n(from, length, kept.begin());
        break;
      }
  }
  if (record)
    std::memcpy(static_cast<void *>(&outcome.record), memory.host(record, recordBytes), recordBytes);
  return outcome;
}

/// Whether memory that the launch does not write has its bytes.
Status Run::checkUnwritten(const Outcome &outcome) const {
  for (size_t i = 0; i < regions.size(); ++i) {
    const Region &region = regions[i];
    const std::vector<std::byte> &bytes = outcome.regions[i];
    const auto before = bytes.begin() + static_cast<ptrdiff_t>(region.shift);
    if (std::any_of(bytes.begin(), before, [](std::byte each) { return each != std::byte(0xFF); }))
      return problem("it writes before " + describe(i, 0));
    for (uint64_t byte = 0; !region.written && byte < region.bytes; ++byte)
      if (before[static_cast<ptrdiff_t>(byte)] != region.data[byte])
        return problem("it changes " + describe(i, byte) + ", which it only reads");
  }
  return {};
}

Status Run::compare(const Outcome &first, const Outcome &second) const {
  for (size_t i = 0; i < regions.size(); ++i) {
    const auto [a, b] =
        std::mismatch(first.regions[i].begin(), first.regions[i].end(), second.regions[i].begin());
    if (a != first.regions[i].end())
      return problem("two orders of warps and blocks differ in " +
                     describe(i, static_cast<uint64_t>(a - first.regions[i].begin()) - regions[i].shift) +
                     ", or nothing writes it");
  }
  if (first.record.key != second.record.key)
    return problem("two orders of warps and blocks report different failures");
  return {};
}

/// Whether a kernel with a predicate writes nothing once its call has failed.
Status Run::checkPredicate(LaunchOptions options, LaunchNotes &notes) {
  constexpr auto fill = std::byte(0x5A);
  failedKey = FailureRecord::blockedKey;
  const Expected<Outcome> outcome = once(options, fill, notes);
  failedKey = FailureRecord::noKey;
  if (!outcome)
    return outcome.status();
  for (size_t i = 0; i < regions.size(); ++i) {
    const Region &region = regions[i];
    const std::byte *const now = outcome->regions[i].data() + region.shift;
    for (uint64_t byte = 0; byte < region.bytes; ++byte)
      if (now[byte] != (region.read ? region.data[byte] : fill))
        return problem("it changes " + describe(i, byte) + ", and its call has failed");
  }
  return {};
}

/// The launch's grid and block.
LaunchOptions Run::sizes() const {
  LaunchOptions options;
  options.grid.x = static_cast<uint32_t>((call.tasks + kernel.blockTasks - 1) / kernel.blockTasks);
  options.block.x = kernel.threads;
  options.dynamicShared = kernel.dynamicShared;
  return options;
}

/// Puts what was written where the host has it.
void Run::keep(const Outcome &outcome) {
  for (size_t i = 0; i < regions.size(); ++i)
    if (regions[i].written && regions[i].bytes)
      std::memcpy(regions[i].data, outcome.regions[i].data() + regions[i].shift, regions[i].bytes);
}

Expected<Traffic> Run::counted(uint64_t mostBlocks) {
  LaunchOptions options = sizes();
  options.counts = true;
  options.mostBlocks = mostBlocks;
  LaunchNotes notes;
  Expected<Outcome> outcome = once(options, std::byte(0), notes);
  if (!outcome)
    return outcome.status();
  keep(*outcome);
  return outcome->traffic;
}

Status Run::twice(LaunchNotes &notes) {
  LaunchOptions options = sizes();
  options.race = style.race;
  options.budget = style.budget;
  Expected<Outcome> first = once(options, std::byte(0xFF), notes);
  if (!first)
    return first.status();
  options.order = style.seed % 2 ? Order::shuffled : Order::reverse;
  options.seed = style.seed;
  Expected<Outcome> second = once(options, std::byte(0), notes);
  if (!second)
    return second.status();
  const auto spoilt = std::find_if(regions.begin(), regions.end(),
                                   [](const Region &region) { return region.written && region.bytes; });
  if (style.spoil == Spoil::bit && spoilt != regions.end())
    for (Outcome *outcome : {&*first, &*second})
      outcome->regions[static_cast<size_t>(spoilt - regions.begin())].back() ^= std::byte(1);
  // A failed call's results are not used, and what is then written may depend on the order.
  const bool failed = kernel.usesChecks && first->record.key != FailureRecord::noKey;
  if (Status status = checkUnwritten(*first); !status)
    return status;
  if (Status status = failed ? Status() : compare(*first, *second); !status)
    return status;
  if (Status status = kernel.usesPredicate ? checkPredicate(options, notes) : Status(); !status)
    return status;
  if (failed && first->record.key != second->record.key)
    return problem("two orders of warps and blocks report different failures");
  keep(*first);
  if (!failed)
    return {};
  // The value of the first violation is in a log that may be full.
  std::optional<int64_t> value = first->record.value_of(first->record.key);
  if (!value)
    value = second->record.value_of(second->record.key);
  call.failure->note(first->record.key, value.value_or(0));
  return {};
}

} // namespace

Status checkSpills(const DeviceKernel &kernel, const std::string &target) {
  const codegen::CudaResources &used = kernel.resources;
  if (!used.spillStoreBytes && !used.spillLoadBytes)
    return {};
  return Status::error("kernel '" + kernel.symbol + "' stores " + std::to_string(used.spillStoreBytes) +
                       " and loads " + std::to_string(used.spillLoadBytes) +
                       " bytes of spilled registers on " + target);
}

Status LaunchNotes::explain(const Status &error) const {
  return racyRead.empty() ? error
                          : Status::error(error.message() +
                                          "; it may depend on a read that raced and gave ones, " + racyRead);
}

Status runKernel(const DeviceKernel &kernel, const KernelCall &call, const RunStyle &style,
                 LaunchNotes &notes) {
  const Status status = Run(kernel, call, style).twice(notes);
  return status.ok() ? status : notes.explain(status);
}

Expected<Traffic> countTraffic(const DeviceKernel &kernel, const KernelCall &call, uint64_t mostBlocks) {
  return Run(kernel, call, {}).counted(mostBlocks);
}

} // namespace weft::cudasim
