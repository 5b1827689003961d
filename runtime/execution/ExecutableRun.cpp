//===- ExecutableRun.cpp - One call of a compiled function ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/Branch.h"
#include "runtime/execution/ExecutableImpl.h"
#include "runtime/execution/IssuedCall.h"
#include "runtime/execution/LaunchRun.h"
#include "runtime/execution/Loop.h"
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

size_t Executable::Impl::library_scratch(const FunctionDevice &device, int width) const {
  size_t bytes = device.workspace_bytes;
  for (const Launch &launch : launches)
    if (&devices[launch.device] != &device)
      continue;
    else if (launch.contraction)
      bytes = std::max(bytes, launch.contraction->scratch_bytes(width));
    else if (launch.attention)
      bytes = std::max(bytes, launch.attention->scratch_bytes(width));
    else if (launch.convolution)
      bytes = std::max(bytes, launch.convolution->scratch_bytes(width));
    else if (launch.sort)
      bytes = std::max(bytes, launch.sort->scratch_bytes(width));
    else if (launch.matrices)
      bytes = std::max(bytes, launch.matrices->scratch_bytes(width));
    else if (launch.fourier)
      bytes = std::max(bytes, launch.fourier->scratch_bytes(width));
    else if (launch.loop)
      bytes = std::max(bytes, launch.loop->scratch_bytes(width));
    else if (launch.branch)
      bytes = std::max(bytes, launch.branch->scratch_bytes(width));
    else if (launch.while_loop)
      bytes = std::max(bytes, launch.while_loop->scratch_bytes(width));
  return align_line(bytes);
}

CallMemory Executable::Impl::memory_on(const FunctionDevice &device, int width) const {
  const auto threads = static_cast<size_t>(width);
  CallMemory memory;
  // Libraries of GPUs want this alignment of a workspace.
  constexpr size_t workspaceAlignment = 256;
  memory.library_scratch = device.device->is_host() ? align_line(device.arena_bytes)
                                                    : align_to(workspaceAlignment, device.arena_bytes);
  memory.scratch = memory.library_scratch + library_scratch(device, width);
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
  const size_t of_devices = argument_count + result_count + basesOfDevice * devices.size();
  const size_t base_count = of_devices + loop_constants.size();
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
      Expected<std::byte *> found = queue.arena(*device.device, layout.total, number);
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
  for (size_t i = 0; i < loop_constants.size(); ++i)
    bases[of_devices + i] = loop_constants[i] ? loop_constants[i]->data() : nullptr;
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
  issued->queue = &queue.of_work();
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
  // Executable::run() has finished the calls that had passed. That does not happen below, since it may run
  // what frees the memory of others.
  queue.await_room(bytes);
  std::unique_lock order(order_mutex());
  issued->sequence = next_sequence(); // a failure that is seen from here on stops this call
  bool may_fail = any_fallible;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Buffer &argument = *arguments[i];
    const bool donated = signature.arguments[i].donated;
    argument.prepare_use();
    may_fail |= argument.is_flagged();
    if (!argument.tracked())
      continue;
    may_fail |= argument.uncertain();
    // A call that clears a flag has an order with all that read it.
    argument.foreign_tickets(queue, donated || argument.is_flagged(), issued->foreign);
    if (argument.device().is_host()) // and has no flag
      argument.unfinished_write(issued->awaited);
    argument.points_before(donated, issued->points);
  }
  for (const std::shared_ptr<Buffer> &output : options.outputs) {
    may_fail |= output && (output->is_flagged() || output->uncertain());
    if (output && output->tracked()) {
      output->foreign_tickets(queue, /*writes=*/true, issued->foreign);
      output->points_before(/*writes=*/true, issued->points);
    }
  }
  issued->may_fail = may_fail;
  // Issuing takes less than a hand-off to the queue's thread.
  Ticket place;
  if (mode == QueueMode::automatic && issued->is_ready())
    place = queue.try_begin_issue();
  const Ticket ticket = place ? place : queue.submit(issued, bytes);
  for (size_t i = 0; i < arguments.size(); ++i) {
    arguments[i]->note_use(ticket);
    if (signature.arguments[i].donated || arguments[i]->is_flagged())
      arguments[i]->note_write(ticket, may_fail);
  }
  for (size_t i = 0; i < made.size(); ++i)
    if (!signature.results[i].is_alias())
      made[i]->note_write(ticket, may_fail);
  order.unlock();
  if (!place) {
    // What comes after the call on a stream of the embedder's must not be there before it.
    if (queue.adopts_stream())
      ticket.wait_issued();
    return {};
  }
  Status status = issued->issue_here(options.host_sees);
  queue.end_issue(place, issued, bytes);
  return status;
}

namespace {

/// A call on its queue's thread. It holds all that it uses.
struct QueuedCall {
  std::shared_ptr<Executable> executable;
  const Executable::Impl *function;
  std::vector<std::shared_ptr<Buffer>> arguments, results;
  std::vector<Ticket> foreign;
  StreamPoints points;
  Queue *queue;
  uint64_t number, sequence;
  std::optional<CallOrigin> origin;
  bool serial;
  std::shared_ptr<Failure> no_memory; ///< made beforehand: then there may be none for it

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
        const ProfiledCall profile{function->signature.function, number, origin ? &*origin : nullptr};
        const Status status = function->in_call(
            function->execute(arguments.data(), results.data(), *queue, serial, origin ? &*origin : nullptr),
            number, origin);
        if (status.ok())
          return;
        failure = std::make_shared<Failure>(status);
      } catch (...) {
        failure = no_memory;
      }
      queue->report(failure);
    }
    function->note_failure(arguments, results, failure);
  }
};

/// A call whose arguments were checked, on the thread of its caller.
struct CallerCall {
  Executable &executable;
  const Executable::Impl &function;
  std::span<const std::shared_ptr<Buffer>> arguments;
  std::span<std::shared_ptr<Buffer>> made,
      results; ///< where results are made, and the caller's place for them
  const RunOptions &options;
  Queue &queue;
  QueueMode mode;
  uint64_t number;
  bool serial, on_caller;
  StreamPoints points = {};

  const CallOrigin *origin() const { return options.origin ? &*options.origin : nullptr; }

  Status make_results() {
    const std::vector<ResultInfo> &infos = function.signature.results;
    for (size_t i = 0; i < made.size(); ++i) {
      const ResultInfo &info = infos[i];
      if (info.tied_to >= 0) {
        made[i] = arguments[static_cast<size_t>(info.tied_to)];
        continue;
      }
      if (info.is_alias()) {
        made[i] = info.alias_argument >= 0 ? arguments[static_cast<size_t>(info.alias_argument)]
                                           : made[static_cast<size_t>(info.alias_result)];
        continue;
      }
      if (!options.outputs.empty() && options.outputs[i]) {
        made[i] = options.outputs[i];
        continue;
      }
      Device &on = *function.result_devices[i];
      Device *const pinned_for =
          options.pinned_for.empty() || !on.is_host() ? nullptr : options.pinned_for[i];
      const auto allocate = [&] {
        return pinned_for ? Buffer::allocate_pinned(info.type.bytes, *pinned_for)
                          : Buffer::allocate(info.type.bytes, function.result_labels[i], on);
      };
      Expected<std::shared_ptr<Buffer>> buffer = allocate();
      if (!buffer && function.overlaps) {
        queue.finish_issued(); // earlier calls keep their results until they end
        buffer = allocate();
      }
      if (!buffer)
        return function.in_call(buffer.status(), number, options.origin);
      made[i] = *std::move(buffer);
    }
    return {};
  }

  void give_results() { std::move(made.begin(), made.end(), results.begin()); }

  Status run() {
    find_points();
    if ((mode == QueueMode::inlined || (mode == QueueMode::automatic && on_caller)) && enter_only_queue())
      return run_here({});
    const uint64_t bytes = function.kept_bytes();
    queue.await_room(bytes);
    queue.finish_passed(); // not below, since it may run what frees the memory of others
    std::unique_lock order(order_mutex());
    std::vector<Ticket> foreign = foreign_tickets();
    const bool may_fail =
        function.any_fallible || std::any_of(arguments.begin(), arguments.end(),
                                             [](const auto &argument) { return argument->uncertain(); });
    if (const Ticket place = take_place(foreign)) {
      note_place(place, may_fail, order);
      order.unlock();
      Queue::await_turn(place);
      return run_here(foreign);
    }
    submit(std::move(foreign), bytes, may_fail);
    order.unlock(); // what the caller's place held until now goes back to its owner
    give_results();
    return {};
  }

private:
  void find_points() {
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i]->tracked())
        arguments[i]->points_before(function.signature.arguments[i].donated, points);
    for (const std::shared_ptr<Buffer> &output : options.outputs)
      if (output && output->tracked())
        output->points_before(/*writes=*/true, points);
  }

  /// Enters the queue if there is one queue alone. Its order is then the order of all calls, and nothing
  /// needs to be noted.
  bool enter_only_queue() const {
    if (Queue::several())
      return false;
    if (mode == QueueMode::inlined)
      queue.enter();
    else {
      queue.finish_passed();
      if (!queue.enter_if_idle())
        return false;
    }
    if (!Queue::several())
      return true;
    queue.leave();
    return false;
  }

  /// Runs the call on this thread, which has entered the queue, and leaves the queue.
  Status run_here(std::span<const Ticket> foreign) {
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
    const ProfiledCall profile{function.signature.function, number, origin()};
    if (status.ok())
      status = function.in_call(function.execute(arguments.data(), made.data(), queue, serial, origin()),
                                number, options.origin);
    if (status.ok())
      give_results();
    return status;
  }

  /// The calls of other queues that must end before this one begins.
  std::vector<Ticket> foreign_tickets() const {
    std::vector<Ticket> foreign;
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i]->tracked())
        arguments[i]->foreign_tickets(queue, function.signature.arguments[i].donated, foreign);
    for (const std::shared_ptr<Buffer> &output : options.outputs)
      if (output && output->tracked())
        output->foreign_tickets(queue, /*writes=*/true, foreign);
    return foreign;
  }

  /// A place in the queue, if this thread is to run the call.
  Ticket take_place(std::span<const Ticket> foreign) const {
    if (mode == QueueMode::inlined)
      return queue.reserve();
    if (mode == QueueMode::automatic && on_caller && foreign.empty())
      return queue.try_enter();
    return {};
  }

  void note_arguments(const Ticket &ticket, bool may_fail) const {
    for (size_t i = 0; i < arguments.size(); ++i) {
      arguments[i]->note_use(ticket);
      if (function.signature.arguments[i].donated)
        arguments[i]->note_write(ticket, may_fail);
    }
  }

  /// Notes a place of this thread in the buffers that it uses.
  void note_place(const Ticket &place, bool may_fail, std::unique_lock<std::mutex> &order) const {
    try {
      note_arguments(place, may_fail);
    } catch (...) {
      // What waits behind this place goes on.
      order.unlock();
      Queue::await_turn(place);
      queue.leave();
      throw;
    }
    for (const std::shared_ptr<Buffer> &output : options.outputs)
      if (output)
        output->note_write(place);
  }

  /// Gives the call to the queue's thread, and notes it in its buffers.
  void submit(std::vector<Ticket> foreign, uint64_t bytes, bool may_fail) {
    if (queue.is_external())
      for (const std::shared_ptr<Buffer> &argument : arguments)
        argument->prepare_use();
    const Ticket ticket = queue.submit(QueuedCall{executable.shared_from_this(),
                                                  &function,
                                                  {arguments.begin(), arguments.end()},
                                                  {made.begin(), made.end()},
                                                  std::move(foreign),
                                                  std::move(points),
                                                  &queue.of_work(),
                                                  number,
                                                  next_sequence(),
                                                  options.origin,
                                                  serial,
                                                  std::make_shared<Failure>(out_of_memory())},
                                       bytes);
    try {
      note_arguments(ticket, may_fail);
    } catch (...) {
      // Without a note nobody would wait for the call. For an external queue, which may be waiting for this
      // thread, notes have their memory.
      ticket.wait();
    }
    for (size_t i = 0; i < made.size(); ++i)
      if (!function.signature.results[i].is_alias())
        made[i]->note_write(ticket, may_fail);
  }
};

/// What is wrong with a call that the function cannot take, whatever its buffers are.
Status wrong_call(const Executable::Impl &function, size_t arguments, size_t results) {
  const Signature &signature = function.signature;
  if (function.dynamic)
    return Status::error("'" + signature.function +
                         "' has sizes that a call chooses: bind them to the arguments' shapes, and run the "
                         "executable for these sizes");
  return Status::error("'" + signature.function + "' takes " + std::to_string(signature.arguments.size()) +
                       " arguments and gives " + std::to_string(signature.results.size()) +
                       " results, found " + std::to_string(arguments) + " and room for " +
                       std::to_string(results));
}

} // namespace

Status Executable::run(std::span<const std::shared_ptr<Buffer>> arguments,
                       std::span<std::shared_ptr<Buffer>> results, const RunOptions &options) {
  Impl &impl = *impl_;
  const Signature &signature = impl.signature;
  if (impl.dynamic || arguments.size() != signature.arguments.size() ||
      results.size() != signature.results.size())
    return wrong_call(impl, arguments.size(), results.size());
  static const Expected<QueueMode> default_mode = queue_mode_from_environment();
  if (!options.mode && !default_mode)
    return default_mode.status();
  Queue &queue = options.queue ? *options.queue : Queue::current();
  QueueMode mode = options.mode ? *options.mode : *default_mode;
  if (queue.adopts_stream())
    mode = impl.overlaps ? QueueMode::automatic : QueueMode::inlined;
  if (Status status = impl.check_arguments(arguments, options.outputs, options.host_sees); !status)
    return status;
  const uint64_t number =
      options.origin ? options.origin->number : impl.calls->fetch_add(1, std::memory_order_relaxed) + 1;
  const bool serial = impl.is_serial();
  if (impl.overlaps)
    queue.finish_passed(); // whose memory is then free
  if (Status status = impl.check_memory(queue, options.outputs, serial); !status)
    return impl.in_call(status, number, options.origin);

  // Results are made beside the caller's span, which may be where the arguments are.
  constexpr size_t few = 8;
  std::array<std::shared_ptr<Buffer>, few> few_results;
  std::vector<std::shared_ptr<Buffer>> many_results;
  if (results.size() > few)
    many_results.resize(results.size());
  std::shared_ptr<Buffer> *const made = results.size() > few ? many_results.data() : few_results.data();
  CallerCall call{*this, impl,   arguments, {made, results.size()}, results, options, queue,
                  mode,  number, serial,    impl.runs_on_caller()};
  if (Status status = call.make_results(); !status)
    return status;
  if (!impl.overlaps || mode == QueueMode::inlined || queue.is_external())
    return call.run();
  if (Status status =
          impl.run_ahead(shared_from_this(), arguments, {made, results.size()}, queue, mode, number, options);
      !status)
    return status;
  call.give_results();
  return {};
}

} // namespace weft::runtime
