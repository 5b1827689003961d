//===- ExecutableRun.cpp - One call of a compiled function ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ExecutableImpl.h"
#include "runtime/Executor.h"
#include "runtime/Profiler.h"
#include "runtime/TensorText.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <immintrin.h>
#include <mutex>

namespace weft::runtime {
namespace {

constexpr int64_t copyChunkBytes = 256 << 10;

// One check record to a cache line, so that threads do not share them.
struct alignas(64) CheckSlot {
  CheckRecord record;
};

void replace_all(std::string &message, std::string_view from, const std::string &to) {
  for (size_t at = message.find(from); at != std::string::npos; at = message.find(from, at + to.size()))
    message.replace(at, from.size(), to);
}

/// Calls take their places in queues, and note themselves in the buffers that they use, under this lock: so
/// there is one order of all calls, and a call waits for earlier ones only.
std::mutex &order_mutex() {
  static auto *const mutex = new std::mutex;
  return *mutex;
}

/// Records the time of a call's launches where the profiler is on.
struct ProfiledCall {
  const std::string &function;
  const uint64_t number;
  const CallOrigin *const origin;
  const int64_t begin_ns = Profiler::enabled() ? Profiler::now() : 0;

  ~ProfiledCall() {
    if (!begin_ns)
      return;
    std::string detail = number ? "call " + std::to_string(number) : "";
    if (origin && origin->file)
      detail += std::string(" at ") + origin->file + ":" + std::to_string(origin->line);
    Profiler::get().record(Profiler::Span::call, function, detail, begin_ns, Profiler::now());
  }
};

} // namespace

size_t Executable::Impl::temporary_bytes(int width) const {
  return arena_bytes + contraction_scratch(width) +
         static_cast<size_t>(width) * (kernel_scratch + (any_fallible ? sizeof(CheckSlot) : 0));
}

/// The end of a message: the source line that the call gives, or else the program.
static std::string at_line(const CallOrigin *origin, int32_t recorded, const std::string &location) {
  const bool given =
      origin && origin->lines && recorded >= 0 && static_cast<size_t>(recorded) < origin->lines->size();
  const std::string &line = given ? (*origin->lines)[static_cast<size_t>(recorded)] : location;
  return line.empty() ? "" : " (at " + line + ")";
}

Status Executable::Impl::failed_check(const CheckRecord &record, const Launch &launch, uint64_t call,
                                      const CallOrigin *origin) const {
  std::string message =
      "check " + std::to_string(record.check) + " failed at position {position} with value {value}";
  std::string location = launch.location;
  int32_t recorded = launch.recorded;
  if (record.check >= 1 && static_cast<uint64_t>(record.check) <= checks.size()) {
    const CheckText &check = checks[static_cast<size_t>(record.check - 1)];
    if (!check.message.empty())
      message = check.message;
    if (!check.location.empty()) {
      location = check.location;
      recorded = check.recorded;
    }
  }
  replace_all(message, "{value}", std::to_string(record.value));
  replace_all(message, "{position}", std::to_string(record.position));
  return Status::error(call_name(call) + message + at_line(origin, recorded, location));
}

Status Executable::Impl::execute(const std::shared_ptr<Buffer> *arguments,
                                 const std::shared_ptr<Buffer> *results, Queue &queue, bool serial,
                                 uint64_t call, const CallOrigin *origin) const {
  const ProfiledCall profile{signature.function, call, origin};
  Executor &team = executor();
  const int width = serial ? 1 : team.width();
  const size_t shared_scratch = contraction_scratch(width);
  const size_t total = temporary_bytes(width);
  std::byte *arena = nullptr;
  if (total) {
    Expected<std::byte *> memory = queue.arena(total);
    if (!memory)
      return memory.status().context(call_name(call));
    arena = *memory;
  }
  std::byte *const library_scratch = arena + arena_bytes;
  std::byte *const scratch = library_scratch + shared_scratch;
  // Null where no launch can fail.
  CheckSlot *const slots =
      arena && any_fallible
          ? reinterpret_cast<CheckSlot *>(scratch + static_cast<size_t>(width) * kernel_scratch)
          : nullptr;

  // One array of pointers for all launches; it outlives the call so that a steady loop allocates nothing.
  static thread_local std::vector<void *> storage;
  const size_t argument_count = signature.arguments.size(), result_count = signature.results.size();
  const size_t base_count = argument_count + result_count + 2;
  if (storage.size() < base_count + operands.size())
    storage.resize(base_count + operands.size());
  void **const bases = storage.data();
  for (size_t i = 0; i < argument_count; ++i)
    bases[i] = arguments[i]->data();
  for (size_t i = 0; i < result_count; ++i)
    bases[argument_count + i] = results[i]->data();
  bases[base_count - 2] = arena;
  bases[base_count - 1] = const_cast<std::byte *>(constants);
  void **const pointers = bases + base_count;
  for (size_t i = 0; i < operands.size(); ++i)
    pointers[i] = static_cast<std::byte *>(bases[operands[i].base]) + operands[i].offset;

  const bool profiled = profile.begin_ns != 0;
  for (const Launch &launch : launches) {
    void **const at = pointers + launch.first_operand;
    const int64_t begin_ns = profiled ? Profiler::now() : 0;
    const bool checked = slots && launch.may_fail && launch.kind == LaunchKind::kernel && launch.tasks > 0;
    switch (launch.kind) {
    case LaunchKind::kernel: {
      if (launch.tasks == 0)
        break;
      if (checked)
        for (int worker = 0; worker < width; ++worker)
          slots[worker].record = CheckRecord();
      const auto body = [&](int64_t begin, int64_t end, int worker) {
        const KernelFrame frame = {at, launch.sizes, kernel_imports(),
                                   scratch + static_cast<size_t>(worker) * kernel_scratch,
                                   slots ? &slots[worker].record : nullptr};
        launch.function(&frame, begin, end);
        // Kernels may use streaming stores, which only this orders before what comes next.
        _mm_sfence();
      };
      if (serial)
        body(0, launch.tasks, 0);
      else
        team.parallel_for(launch.tasks, launch.grain, body);
      break;
    }
    case LaunchKind::contraction:
      // The primitive exists and its scratch is there: what can still fail here is a bug or a broken
      // machine, and something may have been written already.
      if (Status status = launch.contraction->run(at[0], at[1], at[2], launch.bias ? at[3] : nullptr,
                                                  launch.residual ? at[launch.bias ? 4 : 3] : nullptr,
                                                  library_scratch, serial);
          !status)
        return status.context(call_name(call) + launch.name + " (at " + launch.location +
                              "), donated arguments are no longer valid: ");
      break;
    case LaunchKind::copy: {
      const auto body = [&](int64_t begin, int64_t end, int) {
        const int64_t from = begin * copyChunkBytes, to = std::min(end * copyChunkBytes, launch.copy_bytes);
        std::memcpy(static_cast<std::byte *>(at[1]) + from, static_cast<const std::byte *>(at[0]) + from,
                    static_cast<size_t>(to - from));
      };
      const int64_t chunks = (launch.copy_bytes + copyChunkBytes - 1) / copyChunkBytes;
      if (serial && chunks)
        body(0, chunks, 0);
      else
        team.parallel_for(chunks, 1, body);
      break;
    }
    case LaunchKind::print: {
      // One write, so that lines of several queues do not mix.
      const std::string line = (launch.text.empty() ? "" : launch.text + ": ") +
                               tensor_text(launch.dtype, launch.shape, at[0]) + "\n";
      std::fwrite(line.data(), 1, line.size(), stdout);
      std::fflush(stdout);
      break;
    }
    case LaunchKind::require:
      if (const void *wrong = launch.value_bytes ? std::memchr(at[0], 0, launch.value_bytes) : nullptr)
        return Status::error(
            call_name(call) + launch.text + " (the condition is false at position " +
            std::to_string(static_cast<const std::byte *>(wrong) - static_cast<const std::byte *>(at[0])) +
            ")" + at_line(origin, launch.recorded, launch.location));
      break;
    }
    if (profiled)
      Profiler::get().record(launch.name, launch.location, begin_ns, Profiler::now(), launch.bytes,
                             launch.flops);
    if (!checked)
      continue;
    CheckRecord first;
    for (int worker = 0; worker < width; ++worker) {
      const CheckRecord &record = slots[worker].record;
      if (record.check && (!first.check || record.position < first.position ||
                           (record.position == first.position && record.check < first.check)))
        first = record;
    }
    if (first.check)
      return failed_check(first, launch, call, origin);
  }
  return {};
}

/// An error with the source line of its call.
static Status called_at(Status status, const std::optional<CallOrigin> &origin) {
  if (status.ok() || !origin || !origin->file)
    return status;
  return Status::error(status.message() + "\n  in the call at " + origin->file + ":" +
                           std::to_string(origin->line),
                       status.code());
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
  const bool cheap = impl.is_cheap();
  if (Status status = impl.check_memory(queue, options.outputs, cheap); !status)
    return called_at(status.context(impl.call_name(call)), options.origin);

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
    Expected<std::shared_ptr<Buffer>> buffer =
        Buffer::allocate(signature.results[i].type.bytes, impl.result_labels[i]);
    if (!buffer)
      return called_at(buffer.status().context(impl.call_name(call)), options.origin);
    made[i] = *std::move(buffer);
  }

  // On the caller's thread, once the queue is the caller's.
  const auto run_here = [&](std::span<const Ticket> foreign) -> Status {
    for (const Ticket &ticket : foreign)
      ticket.wait();
    // A call that this one waited for may have failed since the arguments were checked.
    Status status;
    for (size_t i = 0; i < arguments.size() && status.ok(); ++i)
      if (arguments[i]->tracked())
        status = arguments[i]->settle(options.host_sees);
    if (status.ok())
      status = called_at(impl.execute(arguments.data(), made, queue, cheap, call,
                                      options.origin ? &*options.origin : nullptr),
                         options.origin);
    queue.leave();
    if (status.ok())
      std::move(made, made + results.size(), results.begin());
    return status;
  };
  // While there is one queue, its order is the order of all calls, and nothing needs to be noted.
  if (!Queue::several() && (mode == QueueMode::inlined || (mode == QueueMode::automatic && cheap))) {
    bool entered = true;
    if (mode == QueueMode::inlined)
      queue.enter();
    else
      entered = static_cast<bool>(queue.try_enter());
    if (entered && !Queue::several())
      return run_here({});
    if (entered)
      queue.leave();
  }

  struct Call {
    std::shared_ptr<Executable> executable;
    std::vector<std::shared_ptr<Buffer>> arguments, results;
    std::vector<Ticket> foreign;
    Queue *queue;
    uint64_t number, sequence;
    std::optional<CallOrigin> origin;
    bool serial;

    void operator()() const {
      for (const Ticket &ticket : foreign)
        ticket.wait();
      std::shared_ptr<Failure> failure;
      for (size_t i = 0; i < arguments.size() && !failure; ++i)
        failure = arguments[i]->blocking(sequence);
      if (!failure) {
        const Status status =
            called_at(executable->impl_->execute(arguments.data(), results.data(), *queue, serial, number,
                                                 origin ? &*origin : nullptr),
                      origin);
        if (status.ok())
          return;
        failure = std::make_shared<Failure>(status);
        queue->report(failure);
      }
      const Signature &signature = executable->impl_->signature;
      for (size_t i = 0; i < results.size(); ++i)
        if (!signature.results[i].is_alias())
          results[i]->note_failure(failure, /*permanent=*/signature.results[i].tied_to < 0);
      for (size_t i = 0; i < arguments.size(); ++i)
        if (signature.arguments[i].donated)
          arguments[i]->note_failure(failure, /*permanent=*/false);
    }
  };
  uint64_t bytes = impl.fresh_bytes;
  for (const ArgumentInfo &argument : signature.arguments)
    bytes += argument.role == ArgumentRole::argument ? argument.type.bytes : 0;
  queue.await_room(bytes);
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
  else if (mode == QueueMode::automatic && cheap && foreign.empty())
    place = queue.try_enter();
  if (place) {
    note(place, arguments);
    for (const std::shared_ptr<Buffer> &output : outputs)
      if (output)
        output->note_write(place);
    order.unlock();
    Queue::await_turn(place);
    return run_here(foreign);
  }
  const std::vector<std::shared_ptr<Buffer>> held(arguments.begin(), arguments.end());
  const Ticket ticket = queue.submit(Call{shared_from_this(),
                                          held,
                                          {made, made + results.size()},
                                          std::move(foreign),
                                          &queue,
                                          call,
                                          next_sequence(),
                                          options.origin,
                                          cheap},
                                     bytes);
  note(ticket, held);
  for (size_t i = 0; i < results.size(); ++i)
    if (!signature.results[i].is_alias())
      made[i]->note_write(ticket, may_fail);
  std::move(made, made + results.size(), results.begin());
  return {};
}

} // namespace weft::runtime
