//===- CudaStream.cpp - Work on an NVIDIA GPU -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/CudaStream.h"

#include "runtime/cuda/device/ArgumentWriters.h"
#include "runtime/queue/Buffer.h"
#include "runtime/support/Nvtx.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace weft::runtime {
namespace {

/// The moment of an event.
class EventState final : public Point::State {
public:
  EventState(CudaDevice &device, CUevent event, bool timed) : device_(device), event_(event), timed_(timed) {}
  ~EventState() override { device_.give_event(event_, timed_); }
  bool passed() const override {
    if (passed_.load(std::memory_order_acquire))
      return true;
    const CudaContext &context = device_.context();
    const ContextScope scope(context);
    // Nothing runs any more for a context that is lost, or that is the parent's. Other errors of a scope say
    // nothing of the work.
    if (!scope.status().ok()) {
      if (context.usable().ok())
        return false;
    } else {
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
    if (passed_.load(std::memory_order_acquire))
      return context.usable();
    const ContextScope scope(context);
    if (!scope.status().ok())
      return scope.status();
    Status status = context.end_wait(context.table().cuEventSynchronize(event_), "waiting for its work");
    passed_.store(status.ok() || context.is_lost(), std::memory_order_release);
    return status;
  }
  void wait_passed() override { (void)wait(); }

  std::optional<double> milliseconds_since(const State &earlier) const override {
    const auto *const start = dynamic_cast<const EventState *>(&earlier);
    if (!timed_ || !start || !start->timed_ || &start->device_ != &device_)
      return std::nullopt;
    const CudaContext &context = device_.context();
    const ContextScope scope(context);
    float ms = 0;
    if (!scope.status().ok() ||
        context.table().cuEventElapsedTime(&ms, start->event_, event_) != CUDA_SUCCESS)
      return std::nullopt;
    return ms;
  }

  CUevent event() const { return event_; }

private:
  CudaDevice &device_;
  const CUevent event_;
  const bool timed_;
  mutable std::atomic<bool> passed_{false};
};

/// The time that a run is issued from which on it is a graph.
constexpr uint64_t firstAsGraph = 3;

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

Expected<std::unique_ptr<DeviceStream>> CudaStream::make(CudaDevice &device, int priority) {
  const CudaContext &context = device.context();
  const ContextScope scope(context);
  if (!scope.status().ok())
    return scope.status();
  CUstream stream = nullptr;
  const DriverTable &table = context.table();
  if (priority != 0) {
    const Expected<int> first = device.first_priority();
    if (!first)
      return first.status();
    priority = std::max(priority, *first);
  }
  if (Status status = context.check(
          table.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, priority), "making a stream");
      !status)
    return status;
  return std::unique_ptr<DeviceStream>(new CudaStream(device, stream, /*owned=*/true));
}

Expected<std::unique_ptr<DeviceStream>> CudaStream::adopt(CudaDevice &device, CUstream stream) {
  const CudaContext &context = device.context();
  const ContextScope scope(context);
  if (!scope.status().ok())
    return scope.status();
  if (!stream)
    return Status::error("'" + device.name() +
                             "': 0 is no stream of your own: make one, or give CU_STREAM_PER_THREAD or "
                             "CU_STREAM_LEGACY if you mean these",
                         "WEFT-E006");
  std::unique_ptr<DeviceStream> made(new CudaStream(device, stream, /*owned=*/false));
  // The driver refuses events on a stream that is not one of the device's primary context.
  if (const Expected<Point> point = made->record(); !point)
    return point.status().context("a stream that was given to Weft cannot be used (it must be one of the "
                                  "device's primary context, and not be capturing): ");
  return made;
}

CudaStream::~CudaStream() {
  const CudaContext &context = device_.context();
  const ContextScope scope(context);
  if (!scope.status().ok())
    return;
  (void)context.end_wait(context.table().cuStreamSynchronize(stream_), "waiting for its work");
  times_ = nullptr;
  for (RunsKept *runs : {&repeated_, &conditionals_}) {
    for (const auto &[key, kept] : *runs)
      for (const MemoryBlock *block : {&kept.table, &kept.moving})
        if (block->handle)
          device_.allocator().free(*block);
    runs->clear();
  }
  if (captures_)
    (void)context.table().cuStreamDestroy(captures_);
  if (owned_)
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

Expected<Point> CudaStream::record(bool timed) {
  const CudaContext &context = device_.context();
  const ContextScope scope(context);
  if (!scope.status().ok())
    return scope.status();
  Expected<CUevent> event = device_.take_event(timed);
  if (!event)
    return event.status();
  auto state = std::make_shared<EventState>(device_, *event, timed);
  if (Status status = context.check(context.table().cuEventRecord(*event, stream_), "recording an event");
      !status)
    return status;
  return Point(std::move(state));
}

//===----------------------------------------------------------------------===//
// Launches and graphs
//===----------------------------------------------------------------------===//

CudaStream::RunsKept::iterator CudaStream::forget(RunsKept &runs, RunsKept::iterator kept) noexcept {
  forget_graph(kept->second);
  if (kept->second.table.handle)
    free_later(device_.allocator(), kept->second.table);
  return runs.erase(kept);
}

CudaStream::Repeated &CudaStream::repeated(RunsKept &runs, const LaunchRun &run) {
  constexpr size_t mostKept = 1024; // as many as lazy programs that are kept
  const RunKey key{run.launches.data(), run.launches.size(), run.begins, run.ends, run.failure != nullptr};
  if (runs.size() >= mostKept && !runs.contains(key))
    forget(runs, std::ranges::min_element(runs, {}, [](const auto &kept) { return kept.second.last_use; }));
  Repeated &kept = runs[key];
  kept.last_use = ++uses_;
  ++kept.calls;
  return kept;
}

Status CudaStream::launch_product(const WorkList &list, const WorkItem &item) {
  Status status = item.product->run(call_of(list.operands_of(item)), {.stream = stream_});
  if (status.ok() && device_.is_blocking())
    status = device_.context().check(device_.context().table().cuStreamSynchronize(stream_), "multiplying");
  return status;
}

CUresult CudaStream::launch_kernel(WorkList &list, const WorkItem &item) {
  const DriverTable &table = device_.context().table();
  CUlaunchConfig config = {};
  set_shape(config, item);
  config.hStream = stream_;
  const CUresult code =
      item.function ? table.cuLaunchKernelEx(&config, item.function, list.parameters_of(item), nullptr)
      : item.to_host
          ? table.cuMemcpyDtoHAsync(reinterpret_cast<void *>(item.to), item.from, item.bytes, stream_)
          : table.cuMemcpyDtoDAsync(item.to, item.from, item.bytes, stream_);
  return code == CUDA_SUCCESS && device_.is_blocking() ? table.cuStreamSynchronize(stream_) : code;
}

Status CudaStream::launch_each(const LaunchRun &run, WorkList &list, bool writes) {
  // Behind the last launch of the call that was issued, if launches of the list write arguments.
  const std::vector<Launch> &all = run.function->launches;
  const Launch *reached =
      !run.launches.empty() ? run.launches.data() : all.data() + (run.begins ? 0 : all.size());
  const bool timed = Profiler::enabled();
  if (timed && !times_)
    times_ = std::make_unique<LaunchTimes>(device_.context(), stream_);
  for (const WorkItem &item : list.items()) {
    const Launch *const launch = item.launch;
    const auto what = [&] {
      return "running " + (launch ? named(*launch) : "a kernel of the runtime") +
             written_arguments(*run.function, reached);
    };
    const NvtxRange range([&] { return launch ? named(*launch) : std::string("record of failures"); });
    if (timed)
      if (Status status = times_->begin(); !status)
        return status;
    if (item.product) {
      if (const Status status = launch_product(list, item); !status)
        return status.context(what() + ": ");
    } else if (const CUresult code = launch_kernel(list, item); code != CUDA_SUCCESS) {
      return device_.context().check(code, what());
    }
    reached = launch && writes ? launch + 1 : reached;
    if (timed)
      if (Status status = launch
                              ? times_->end(launch->name, launch->origin.text, launch->bytes, launch->flops)
                              : times_->end("record of failures", "", 0, 0);
          !status)
        return status;
  }
  return {};
}

/// What writes arguments is the end of the run and one graph, so that the driver refuses all of it or nothing
/// after the first byte is written.
Status CudaStream::launch_writers_last(const LaunchRun &run, const Repeated &kept) {
  // Each launch of a profile has its time, and each that is waited for its error.
  if (Profiler::enabled() || device_.is_blocking())
    return launch_each(run, list_, /*writes=*/true);
  // Once more, with what is read and written.
  list_.keep_accesses(true);
  write_down(run, kept);
  list_.keep_accesses(false);
  WorkList writers = take_argument_writers(list_, *run.function);
  if (Status status = launch_each(run, list_, /*writes=*/false); !status)
    return status;
  const bool has_products =
      std::ranges::any_of(writers.items(), [](const WorkItem &item) { return item.product != nullptr; });
  if (writers.items().size() > 1 && device_.makes_graphs() && !has_products) {
    GraphParts parts;
    parts.code = run.function->devices[run.launches.front().device].code;
    parts.allocator = &device_.allocator();
    Expected<std::unique_ptr<CudaGraph>> graph =
        CudaGraph::make(device_.context(), writers, std::move(parts), stream_, nullptr);
    if (graph)
      return (*graph)->launch(stream_);
    if (device_.context().is_lost())
      return graph.status();
  }
  return launch_each(run, writers, /*writes=*/true);
}

void CudaStream::forget_graph(Repeated &kept) noexcept {
  kept.graph = nullptr;
  if (kept.moving.handle)
    free_later(device_.allocator(), std::exchange(kept.moving, {}));
}

Expected<std::unique_ptr<CudaGraph>> CudaStream::make_graph(const LaunchRun &run, Repeated &kept) {
  const CudaContext &context = device_.context();
  // Once more, with what is read and written.
  list_.keep_accesses(true);
  write_down(run, kept);
  list_.keep_accesses(false);
  GraphParts parts;
  parts.code = run.function->devices[run.launches.front().device].code;
  parts.places = kept.products.layout(list_);
  parts.allocator = &device_.allocator();
  for (const Launch &launch : run.launches)
    if (launch.contraction)
      parts.products.push_back(launch.contraction);
  if (parts.places.bytes) {
    CachingAllocator &allocator = device_.allocator();
    const Expected<MemoryBlock> block =
        allocator.allocate(parts.places.bytes, allocator.intern_label({"operands of products in a graph"}),
                           {.stream = id()}, Queue::finish_passed_all);
    if (!block)
      return block.status();
    kept.moving = *block;
    parts.memory = address_of(block->data);
  }
  if (!parts.products.empty() && !captures_)
    if (Status status =
            context.check(context.table().cuStreamCreateWithPriority(&captures_, CU_STREAM_NON_BLOCKING, 0),
                          "making a stream");
        !status)
      return status;
  return CudaGraph::make(context, list_, std::move(parts), stream_, captures_);
}

/// Launches the list as a graph if it is time for that.
Status CudaStream::launch_as_graph(const LaunchRun &run, Repeated &kept, bool &launched) {
  constexpr uint64_t pauseAfterRefusal = 100;
  // A profile has the time of each launch, which a graph does not tell.
  if (!device_.makes_graphs() || Profiler::enabled() || run.launches.empty() || list_.items().size() < 2)
    return {};
  if (kept.graph && !kept.graph->fits(list_)) { // another function, or more flags
    forget_graph(kept);
    kept.products = {};
    kept.calls = 1;
  }
  if (!kept.products.note(list_))
    forget_graph(kept);
  if (!kept.graph) {
    if (kept.calls < std::max(firstAsGraph, kept.next_graph))
      return {};
    Expected<std::unique_ptr<CudaGraph>> made = make_graph(run, kept);
    if (!made) {
      forget_graph(kept);
      // The launches go on, if the device does.
      kept.next_graph = kept.calls + pauseAfterRefusal;
      return device_.context().is_lost() ? made.status() : Status();
    }
    kept.graph = *std::move(made);
  }
  if (Status status = kept.graph->set(list_); !status) {
    // Some nodes are set to this call already. Nothing of it was launched.
    forget_graph(kept);
    kept.next_graph = kept.calls + pauseAfterRefusal;
    return device_.context().is_lost() ? status : Status();
  }
  launched = true;
  return kept.graph->launch(stream_);
}

Status CudaStream::issue(const LaunchRun &run) {
  const ContextScope scope(device_.context());
  if (!scope.status().ok())
    return scope.status();
  const NvtxRange range([&] { return "'" + run.function->signature.function + "' on " + device_.name(); });
  Repeated &kept = repeated(repeated_, run);
  if (Status status = send_table(run, kept); !status)
    return status;
  write_down(run, kept);
  bool launched = false;
  Status status = launch_as_graph(run, kept, launched);
  return status.ok() && !launched ? launch_writers_last(run, kept) : status;
}

void CudaStream::forget_parts(const LaunchRun &run) {
  const Launch *const begin = run.launches.data(), *const end = begin + run.launches.size();
  for (auto kept = repeated_.begin(); kept != repeated_.end();) {
    const Launch *const first = std::get<0>(kept->first);
    const bool is_part = std::less<>()(begin, first) && std::less<>()(first, end);
    kept = is_part ? forget(repeated_, kept) : std::next(kept);
  }
}

Expected<bool> CudaStream::issue_conditional(const LaunchRun &run) {
  if (!device_.makes_graphs() || Profiler::enabled())
    return false;
  const ContextScope scope(device_.context());
  if (!scope.status().ok())
    return scope.status();
  Repeated &kept = repeated(conditionals_, run);
  if (kept.calls < std::max(firstAsGraph, kept.graph ? 0 : kept.next_graph) ||
      !device_.graph_loops().refusal().empty())
    return false;
  const NvtxRange range([&] { return named(run.launches.front()) + " on " + device_.name(); });
  if (Status status = send_table(run, kept); !status)
    return status;
  write_down(run, kept);
  const bool had_graph = kept.graph != nullptr;
  bool launched = false;
  if (Status status = launch_as_graph(run, kept, launched); !status)
    return status;
  if (launched && !had_graph)
    forget_parts(run);
  return launched;
}

} // namespace weft::runtime
