//===- ExecutableCheck.cpp - What a call must bring -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that is found wrong with a call before it has a place in a queue: its arguments, the memory that
// it gives for results, what these share, what earlier calls left failed, and what the process may allocate.
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/ExecutableImpl.h"
#include "runtime/memory/Layout.h"
#include "runtime/support/PerThread.h"
#include "runtime/support/TensorText.h"
#include "runtime/threads/Executor.h"

#include <algorithm>

namespace weft::runtime {
namespace {

/// Memory of a call's arguments and results. It outlives the call so that a steady loop allocates nothing.
struct RangesOfCall {
  struct Range {
    uintptr_t begin, end;
    uint32_t number; // arguments first, then results
    bool written;
  };
  std::vector<Range> ranges;
};

} // namespace

Status Executable::Impl::check_outputs(std::span<const std::shared_ptr<Buffer>> outputs) const {
  if (outputs.empty())
    return {};
  if (outputs.size() != signature.results.size())
    return Status::error("'" + signature.function + "' gives " + std::to_string(signature.results.size()) +
                         " results, found memory for " + std::to_string(outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Buffer *buffer = outputs[i].get();
    const ResultInfo &result = signature.results[i];
    const auto complain = [&](const std::string &problem) {
      return Status::error("'" + signature.function + "': the memory for " +
                           value_name("result", i, result.name) + " " + problem);
    };
    if (!buffer)
      continue;
    if (result.tied_to >= 0)
      return complain("cannot be chosen: it is that of argument " + std::to_string(result.tied_to));
    if (result.is_alias())
      return complain("cannot be chosen: it shares the storage of another value");
    if (Device &device = *result_devices[i]; &buffer->device() != &device)
      return complain("must be on '" + device.name() + "', found memory on '" + buffer->device().name() +
                      "'");
    if (buffer->bytes() != result.type.bytes)
      return complain("must have " + std::to_string(result.type.bytes) + " bytes, found " +
                      std::to_string(buffer->bytes()));
    if (reinterpret_cast<uintptr_t>(buffer->data()) % itemsize(result.type.dtype) != 0)
      return complain("begins at an address that is no multiple of its element size " +
                      std::to_string(itemsize(result.type.dtype)));
    if (image && image->device() && !result_devices[i]->is_host() &&
        reinterpret_cast<uintptr_t>(buffer->data()) % widestAccess != 0)
      return complain("begins at an address that is no multiple of " + std::to_string(widestAccess) +
                      " bytes, which kernels of a GPU write at once");
  }
  return {};
}

Status Executable::Impl::check_arguments(std::span<const std::shared_ptr<Buffer>> arguments,
                                         std::span<const std::shared_ptr<Buffer>> outputs,
                                         bool host_sees) const {
  const auto complain = [&](size_t i, const std::string &problem) {
    return Status::error("'" + signature.function +
                         "': " + value_name("argument", i, signature.arguments[i].name) + " " + problem);
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Buffer *buffer = arguments[i].get();
    const TensorInfo &type = signature.arguments[i].type;
    if (!buffer)
      return complain(i, "is missing");
    if (Device &device = *argument_devices[i]; &buffer->device() != &device)
      return complain(i, "is taken on '" + device.name() + "', found a buffer on '" +
                             buffer->device().name() + "': copy it there first");
    if (buffer->bytes() != type.bytes)
      return complain(i, "takes " + std::to_string(type.bytes) + " bytes, found a buffer of " +
                             std::to_string(buffer->bytes()));
    if (reinterpret_cast<uintptr_t>(buffer->data()) % itemsize(type.dtype) != 0)
      return complain(i, "begins at an address that is no multiple of its element size " +
                             std::to_string(itemsize(type.dtype)) + ": copy it into a buffer of the runtime");
    if (type.alignment && reinterpret_cast<uintptr_t>(buffer->data()) % type.alignment != 0)
      return complain(
          i, "begins at an address that is no multiple of " + std::to_string(type.alignment) +
                 " bytes, for which its kernels were compiled: copy it into a buffer of the runtime, "
                 "or compile the function with weft.alignment for this argument");
  }
  if (Status status = check_outputs(outputs); !status)
    return status;
  for (const std::shared_ptr<Buffer> &argument : arguments)
    if (argument->tracked())
      if (Status status = argument->settle(host_sees); !status)
        return status;
  return any_donated || !outputs.empty() ? check_overlaps(arguments, outputs) : Status();
}

// A donated argument and the memory of a result are written, so they may be those of no other argument.
Status Executable::Impl::check_overlaps(std::span<const std::shared_ptr<Buffer>> arguments,
                                        std::span<const std::shared_ptr<Buffer>> outputs) const {
  std::vector<RangesOfCall::Range> &ranges = PerThread<RangesOfCall>::get().ranges;
  ranges.clear();
  const auto add = [&](const Buffer &buffer, size_t number, bool written) {
    const auto begin = reinterpret_cast<uintptr_t>(buffer.data());
    if (buffer.bytes())
      ranges.push_back({begin, begin + buffer.bytes(), static_cast<uint32_t>(number), written});
  };
  for (size_t i = 0; i < arguments.size(); ++i)
    add(*arguments[i], i, signature.arguments[i].donated);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i])
      add(*outputs[i], arguments.size() + i, true);
  std::sort(ranges.begin(), ranges.end(),
            [](const RangesOfCall::Range &a, const RangesOfCall::Range &b) { return a.begin < b.begin; });
  const auto describe = [&](uint32_t number) {
    const size_t count = signature.arguments.size();
    return number < count ? value_name("argument", number, signature.arguments[number].name)
                          : "the memory for " +
                                value_name("result", number - count, signature.results[number - count].name);
  };
  // The ranges that reach furthest so far, of all and of those that are written.
  const RangesOfCall::Range *reach = nullptr, *written_reach = nullptr;
  for (const RangesOfCall::Range &range : ranges) {
    const RangesOfCall::Range *clash = range.written ? reach : written_reach;
    if (clash && clash->end > range.begin) {
      const uint32_t written = range.written ? range.number : clash->number;
      const uint32_t other = range.written ? clash->number : range.number;
      const bool donated = written < signature.arguments.size();
      return Status::error("'" + signature.function + "': " + describe(written) +
                           (donated ? " is donated and shares memory with " : " shares memory with ") +
                           describe(other) + ": pass a copy");
    }
    if (!reach || range.end > reach->end)
      reach = &range;
    if (range.written && (!written_reach || range.end > written_reach->end))
      written_reach = &range;
  }
  return {};
}

PlannedMemory Executable::Impl::planned_memory(bool serial) const {
  PlannedMemory planned;
  for (const ArgumentInfo &argument : signature.arguments)
    planned.arguments += argument.type.bytes;
  planned.results = fresh_bytes;
  for (const FunctionDevice &device : devices)
    planned.temporaries += memory_on(device, serial ? 1 : executor().width()).total;
  return planned;
}

// What the call will allocate on the host is known from the plan, so that running out is found before
// anything runs. Other devices hand out results and arenas before anything is issued, and say there what does
// not fit.
Status Executable::Impl::check_memory(const Queue &queue, std::span<const std::shared_ptr<Buffer>> outputs,
                                      bool serial) const {
  uint64_t temporaries = 0;
  for (const FunctionDevice &device : devices)
    temporaries += device.device->is_host() ? memory_on(device, serial ? 1 : executor().width()).total : 0;
  const uint64_t arena = queue.arena_bytes();
  uint64_t needed = fresh_host_bytes + (temporaries > arena ? temporaries - arena : 0);
  for (const std::shared_ptr<Buffer> &output : outputs)
    needed -= output && output->device().is_host() ? output->bytes() : 0;
  CachingAllocator &allocator = CachingAllocator::get();
  if (allocator.fits(needed))
    return {};
  (void)Queue::finish_passed_all();
  if (allocator.fits(needed)) // what they held is free now, or others have freed memory meanwhile
    return {};
  const PlannedMemory planned = planned_memory(serial);
  return allocator.out_of_memory(
      needed, "the results and temporaries of '" + signature.function + "' (planned peak " +
                  std::to_string(planned.peak()) + " bytes: arguments and state " +
                  std::to_string(planned.arguments) + ", results " + std::to_string(planned.results) +
                  ", temporaries " + std::to_string(planned.temporaries) + ")");
}

} // namespace weft::runtime
