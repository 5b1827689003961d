//===- ExecutableRun.cpp - One call of a compiled function ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/ExecutableImpl.h"
#include "runtime/execution/IssuedCall.h"
#include "runtime/execution/LaunchRun.h"
#include "runtime/execution/ProfiledCall.h"
#include "runtime/execution/Segments.h"
#include "runtime/plan/PlanDevices.h"
#include "runtime/queue/Profiler.h"
#include "runtime/support/PerThread.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

namespace weft::runtime {
namespace {

/// Calls take their places in queues, and note themselves in the buffers that they use, under this lock: so
/// there is one order of all calls, and a call waits for earlier ones only.
std::mutex &order_mutex() {
  static auto *const mutex = new std::mutex;
  return *mutex;
}

} // namespace

CallMemory Executable::Impl::memory_on(const FunctionDevice &device, int width) const {
  const auto threads = static_cast<size_t>(width);
  CallMemory memory;
  memory.library_scratch = align_line(device.arena_bytes);
  memory.scratch = memory.library_scratch + contraction_scratch(device, width);
  memory.scalars = memory.scratch + threads * device.kernel_scratch;
  memory.failure = memory.scalars + (device.reads_scalars ? align_line(scalar_bytes) : 0);
  // A call that overlaps with an earlier one may be stopped by that one.
  memory.checks = memory.failure + (any_fallible || overlaps ? align_line(sizeof(FailureRecord)) : 0);
  memory.total = memory.checks + (device.any_fallible ? threads * sizeof(CheckSlot) : 0);
  return memory;
}

void Executable::Impl::write_scalars(const std::shared_ptr<Buffer> *arguments, std::byte *block) const {
  for (const ScalarPlace &scalar : scalars)
    std::memcpy(block + scalar.offset, arguments[scalar.argument]->data(), scalar.bytes);
}

Status Executable::Impl::bind_call(const std::shared_ptr<Buffer> *arguments,
                                   const std::shared_ptr<Buffer> *results, Queue &queue, bool serial,
                                   const CallOrigin *origin, CallPointers &kept,
                                   std::span<LaunchRun> runs) const {
  const int width = serial ? 1 : executor().width();
  std::vector<void *> &storage = kept.pointers;
  const size_t argument_count = signature.arguments.size(), result_count = signature.results.size();
  const size_t base_count = argument_count + result_count + basesOfDevice * devices.size();
  if (storage.size() < base_count + operands.size())
    storage.resize(base_count + operands.size());
  void **const bases = storage.data();
  for (size_t i = 0; i < argument_count; ++i)
    bases[i] = arguments[i]->data();
  for (size_t i = 0; i < result_count; ++i)
    bases[argument_count + i] = results[i]->data();
  void **const pointers = bases + base_count;
  // All memory is there before anything is issued.
  for (size_t i = 0; i < devices.size(); ++i) {
    const FunctionDevice &device = devices[i];
    LaunchRun &run = runs[i];
    const CallMemory layout = memory_on(device, width);
    std::byte *memory = nullptr;
    if (layout.total) {
      Expected<std::byte *> found = queue.arena(*device.device, layout.total);
      if (!found)
        return found.status();
      memory = *found;
    }
    run.function = this;
    run.pointers = {pointers, operands.size()};
    run.library_scratch = memory + layout.library_scratch;
    run.scratch = memory + layout.scratch;
    if (device.reads_scalars)
      run.scalars = memory + layout.scalars;
    if (any_fallible || overlaps)
      run.failure = reinterpret_cast<FailureRecord *>(memory + layout.failure);
    if (device.any_fallible)
      run.checks = reinterpret_cast<CheckSlot *>(memory + layout.checks);
    run.width = width;
    run.serial = serial;
    run.origin = origin;
    // Offsets count from the beginning of the function's arena, of which this device has a part.
    void **const of_device = bases + argument_count + result_count + basesOfDevice * i;
    of_device[arenaBase] = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(memory) - device.arena_begin);
    of_device[constantsBase] =
        device.constants ? device.constants->data() : const_cast<std::byte *>(constants);
    of_device[scalarsBase] = run.scalars;
    if (run.scalars && device.device->is_host())
      write_scalars(arguments, run.scalars);
  }
  for (size_t i = 0; i < operands.size(); ++i)
    pointers[i] =
        reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(bases[operands[i].base]) + operands[i].offset);
  return {};
}

Status Executable::Impl::execute(const std::shared_ptr<Buffer> *arguments,
                                 const std::shared_ptr<Buffer> *results, Queue &queue, bool serial,
                                 const CallOrigin *origin) const {
  // One array of pointers for all launches; it outlives the call so that a steady loop allocates nothing.
  CallPointers &kept = PerThread<CallPointers>::get();
  if (segments.empty()) { // the host alone
    LaunchRun run;
    if (Status status = bind_call(arguments, results, queue, serial, origin, kept, {&run, 1}); !status)
      return status;
    run.launches = launches;
    if (Status status = run_launches(run); !status || !run.failure || !run.failure->failed())
      return status;
    const uint64_t key = run.failure->key;
    return failure_of(key, failed_value(*run.failure, {run.checks, static_cast<size_t>(run.width)}), origin);
  }
  std::array<LaunchRun, maxPlanDevices> runs;
  if (Status status = bind_call(arguments, results, queue, serial, origin, kept, runs); !status)
    return status;
  kept.scalars.resize(scalar_bytes);
  write_scalars(arguments, kept.scalars.data());
  return run_segments(*this, std::span(runs).first(devices.size()), kept.scalars, queue);
}

Status Executable::Impl::in_call(const Status &status, uint64_t call,
                                 const std::optional<CallOrigin> &origin) const {
  return status.with([&](FailureInfo &info) {
    info.function = signature.function;
    info.call = call;
    if (!origin)
      return;
    info.caller = origin->caller;
    info.call_file = origin->file ? origin->file : "";
    info.call_line = origin->line;
  });
}

void Executable::Impl::note_failure(std::span<const std::shared_ptr<Buffer>> arguments,
                                    std::span<const std::shared_ptr<Buffer>> results,
                                    const std::shared_ptr<Failure> &failure) const {
  for (size_t i = 0; i < results.size(); ++i)
    if (!signature.results[i].is_alias())
      results[i]->note_failure(failure, /*permanent=*/signature.results[i].tied_to < 0);
  for (size_t i = 0; i < arguments.size(); ++i)
    if (signature.arguments[i].donated)
      arguments[i]->note_failure(failure, /*permanent=*/false);
}

Status Executable::Impl::run_ahead(const std::shared_ptr<Executable> &self,
                                   std::span<const std::shared_ptr<Buffer>> arguments,
                                   std::span<const std::shared_ptr<Buffer>> made, Queue &queue,
                                   QueueMode mode, uint64_t call, const RunOptions &options) const {
  const auto issued = std::make_shared<IssuedCall>();
  issued->executable = self;
  issued->function = this;
  issued->arguments.assign(arguments.begin(), arguments.end());
  issued->results.assign(made.begin(), made.end());
  issued->queue = &queue;
  issued->number = call;
  issued->origin = options.origin;
  issued->serial = is_serial();
  // Temporaries there are in one place for all calls of a queue.
  issued->writes_host_memory =
      std::ranges::any_of(
          devices,
          [](const FunctionDevice &device) { return device.device->is_host() && device.arena_bytes; }) ||
      std::ranges::any_of(options.outputs, [](const std::shared_ptr<Buffer> &output) {
        return output && output->device().is_host();
      });
  issued->no_memory = std::make_shared<Failure>(out_of_memory());
  const uint64_t bytes = kept_bytes();
  queue.await_room(bytes);
  queue.finish_passed(); // not below, since it may run what frees the memory of others
  std::unique_lock order(order_mutex());
  issued->sequence = next_sequence(); // a failure that is seen from here on stops this call
  bool may_fail = any_fallible;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Buffer &argument = *arguments[i];
    const bool donated = signature.arguments[i].donated;
    argument.prepare_use();
    if (!argument.tracked())
      continue;
    may_fail |= argument.uncertain();
    // A flag is cleared in the order of one stream.
    argument.foreign_tickets(queue, donated || argument.is_flagged(), issued->foreign);
    if (argument.device().is_host()) // and has no flag
      argument.unfinished_write(issued->foreign);
    argument.points_before(donated, issued->points);
  }
  for (const std::shared_ptr<Buffer> &output : options.outputs)
    if (output && output->tracked()) {
      output->foreign_tickets(queue, /*writes=*/true, issued->foreign);
      output->points_before(/*writes=*/true, issued->points);
    }
  // Issuing takes less than a hand-off to the queue's thread.
  Ticket place;
  if (mode == QueueMode::automatic && issued->foreign.empty())
    place = queue.try_begin_issue();
  const Ticket ticket = place ? place : queue.submit(issued, bytes);
  for (size_t i = 0; i < arguments.size(); ++i) {
    arguments[i]->note_use(ticket);
    if (signature.arguments[i].donated)
      arguments[i]->note_write(ticket, may_fail);
  }
  for (size_t i = 0; i < made.size(); ++i)
    if (!signature.results[i].is_alias())
      made[i]->note_write(ticket, may_fail);
  order.unlock();
  if (!place)
    return {};
  Status status = issued->issue_here(options.host_sees);
  queue.end_issue(place, issued, bytes);
  return status;
}

Status Executable::run(std::span<const std::shared_ptr<Buffer>> arguments,
                       std::span<std::shared_ptr<Buffer>> results, const RunOptions &options) {
  Impl &impl = *impl_;
  const Signature &signature = impl.signature;
  if (impl.dynamic)
    return Status::error("'" + signature.function +
                         "' has sizes that a call chooses: bind them to the arguments' shapes, and run the "
                         "executable for these sizes");
  if (arguments.size() != signature.arguments.size() || results.size() != signature.results.size())
    return Status::error("'" + signature.function + "' takes " + std::to_string(signature.arguments.size()) +
                         " arguments and gives " + std::to_string(signature.results.size()) +
                         " results, found " + std::to_string(arguments.size()) + " and room for " +
                         std::to_string(results.size()));
  static const Expected<QueueMode> default_mode = queue_mode_from_environment();
  if (!options.mode && !default_mode)
    return default_mode.status();
  const QueueMode mode = options.mode ? *options.mode : *default_mode;
  if (Status status = impl.check_arguments(arguments, options.outputs, options.host_sees); !status)
    return status;
  const uint64_t call =
      options.origin ? options.origin->number : impl.calls->fetch_add(1, std::memory_order_relaxed) + 1;
  Queue &queue = options.queue ? *options.queue : Queue::current();
  const bool serial = impl.is_serial(), on_caller = impl.runs_on_caller();
  if (impl.overlaps)
    queue.finish_passed(); // whose memory is then free
  if (Status status = impl.check_memory(queue, options.outputs, serial); !status)
    return impl.in_call(status, call, options.origin);

  // Results are made beside the caller's span, which may be where the arguments are.
  constexpr size_t few = 8;
  std::array<std::shared_ptr<Buffer>, few> few_results;
  std::vector<std::shared_ptr<Buffer>> many_results;
  if (results.size() > few)
    many_results.resize(results.size());
  std::shared_ptr<Buffer> *const made = results.size() > few ? many_results.data() : few_results.data();
  for (size_t i = 0; i < results.size(); ++i) {
    if (signature.results[i].tied_to >= 0) {
      made[i] = arguments[static_cast<size_t>(signature.results[i].tied_to)];
      continue;
    }
    if (const ResultInfo &alias = signature.results[i]; alias.is_alias()) {
      made[i] = alias.alias_argument >= 0 ? arguments[static_cast<size_t>(alias.alias_argument)]
                                          : made[static_cast<size_t>(alias.alias_result)];
      continue;
    }
    if (!options.outputs.empty() && options.outputs[i]) {
      made[i] = options.outputs[i];
      continue;
    }
    const auto allocate = [&] {
      return Buffer::allocate(signature.results[i].type.bytes, impl.result_labels[i],
                              *impl.result_devices[i]);
    };
    Expected<std::shared_ptr<Buffer>> buffer = allocate();
    if (!buffer && impl.overlaps) {
      queue.finish_issued(); // earlier calls keep their results until they end
      buffer = allocate();
    }
    if (!buffer)
      return impl.in_call(buffer.status(), call, options.origin);
    made[i] = *std::move(buffer);
  }

  if (impl.overlaps && mode != QueueMode::inlined && !queue.is_external()) {
    if (Status status =
            impl.run_ahead(shared_from_this(), arguments, {made, results.size()}, queue, mode, call, options);
        !status)
      return status;
    std::move(made, made + results.size(), results.begin());
    return {};
  }

  StreamPoints points;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i]->tracked())
      arguments[i]->points_before(signature.arguments[i].donated, points);
  for (const std::shared_ptr<Buffer> &output : options.outputs)
    if (output && output->tracked())
      output->points_before(/*writes=*/true, points);
  // On the caller's thread, once the queue is the caller's.
  const auto run_here = [&](std::span<const Ticket> foreign) -> Status {
    const LeaveScope leave(queue);
    for (const Ticket &ticket : foreign)
      ticket.wait();
    for (const StreamPoint &use : points)
      use.point.wait_passed();
    // A call that this one waited for may have failed since the arguments were checked.
    Status status;
    for (size_t i = 0; i < arguments.size() && status.ok(); ++i)
      if (arguments[i]->tracked())
        status = arguments[i]->settle(options.host_sees);
    const ProfiledCall profile{impl.signature.function, call, options.origin ? &*options.origin : nullptr};
    if (status.ok())
      status = impl.in_call(
          impl.execute(arguments.data(), made, queue, serial, options.origin ? &*options.origin : nullptr),
          call, options.origin);
    if (status.ok())
      std::move(made, made + results.size(), results.begin());
    return status;
  };
  // While there is one queue, its order is the order of all calls, and nothing needs to be noted.
  if (!Queue::several() && (mode == QueueMode::inlined || (mode == QueueMode::automatic && on_caller))) {
    bool entered = true;
    if (mode == QueueMode::inlined)
      queue.enter();
    else {
      queue.finish_passed();
      entered = static_cast<bool>(queue.try_enter());
    }
    if (entered && !Queue::several())
      return run_here({});
    if (entered)
      queue.leave();
  }

  struct Call {
    std::shared_ptr<Executable> executable;
    std::vector<std::shared_ptr<Buffer>> arguments, results;
    std::vector<Ticket> foreign;
    StreamPoints points;
    Queue *queue;
    uint64_t number, sequence;
    std::optional<CallOrigin> origin;
    bool serial;
    std::shared_ptr<Failure> no_memory; // made beforehand: then there may be none for it

    void operator()() const noexcept {
      for (const Ticket &ticket : foreign)
        ticket.wait();
      for (const StreamPoint &use : points)
        use.point.wait_passed();
      std::shared_ptr<Failure> failure;
      for (size_t i = 0; i < arguments.size() && !failure; ++i)
        failure = arguments[i]->blocking(sequence);
      if (!failure) {
        try {
          const Impl &impl = *executable->impl_;
          const ProfiledCall profile{impl.signature.function, number, origin ? &*origin : nullptr};
          const Status status = impl.in_call(
              impl.execute(arguments.data(), results.data(), *queue, serial, origin ? &*origin : nullptr),
              number, origin);
          if (status.ok())
            return;
          failure = std::make_shared<Failure>(status);
        } catch (...) {
          failure = no_memory;
        }
        queue->report(failure);
      }
      executable->impl_->note_failure(arguments, results, failure);
    }
  };
  const uint64_t bytes = impl.kept_bytes();
  queue.await_room(bytes);
  queue.finish_passed(); // not below, since it may run what frees the memory of others
  std::unique_lock order(order_mutex());
  std::vector<Ticket> foreign;
  const std::span<const std::shared_ptr<Buffer>> outputs = options.outputs;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i]->tracked())
      arguments[i]->foreign_tickets(queue, signature.arguments[i].donated, foreign);
  for (const std::shared_ptr<Buffer> &output : outputs)
    if (output && output->tracked())
      output->foreign_tickets(queue, /*writes=*/true, foreign);
  const bool may_fail =
      impl.any_fallible || std::any_of(arguments.begin(), arguments.end(),
                                       [](const auto &argument) { return argument->uncertain(); });
  const auto note = [&](const Ticket &ticket, std::span<const std::shared_ptr<Buffer>> used) {
    for (size_t i = 0; i < used.size(); ++i) {
      used[i]->note_use(ticket);
      if (signature.arguments[i].donated)
        used[i]->note_write(ticket, may_fail);
    }
  };
  Ticket place;
  if (mode == QueueMode::inlined)
    place = queue.reserve();
  else if (mode == QueueMode::automatic && on_caller && foreign.empty())
    place = queue.try_enter();
  if (place) {
    try {
      note(place, arguments);
    } catch (...) {
      // What waits behind this place goes on.
      order.unlock();
      Queue::await_turn(place);
      queue.leave();
      throw;
    }
    for (const std::shared_ptr<Buffer> &output : outputs)
      if (output)
        output->note_write(place);
    order.unlock();
    Queue::await_turn(place);
    return run_here(foreign);
  }
  const std::vector<std::shared_ptr<Buffer>> held(arguments.begin(), arguments.end());
  if (queue.is_external())
    for (const std::shared_ptr<Buffer> &argument : held)
      argument->prepare_use();
  const Ticket ticket = queue.submit(Call{shared_from_this(),
                                          held,
                                          {made, made + results.size()},
                                          std::move(foreign),
                                          std::move(points),
                                          &queue,
                                          call,
                                          next_sequence(),
                                          options.origin,
                                          serial,
                                          std::make_shared<Failure>(out_of_memory())},
                                     bytes);
  try {
    note(ticket, held);
  } catch (...) {
    // Without a note nobody would wait for the call. For an external queue, which may be waiting for this
    // thread, notes have their memory.
    ticket.wait();
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (!signature.results[i].is_alias())
      made[i]->note_write(ticket, may_fail);
  std::move(made, made + results.size(), results.begin());
  return {};
}

} // namespace weft::runtime
