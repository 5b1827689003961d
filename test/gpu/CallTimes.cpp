//===- CallTimes.cpp - What a call costs host and device ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/gpu/CallTimes.h"

#include "runtime/cuda/Driver.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace weft::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char *emptyText = R"(.version 7.0
.target sm_75
.address_size 64

.visible .entry empty()
{
  ret;
}
)";
/// Of the memory whose copies hold a stream.
constexpr size_t heldBytes = size_t(32) << 20;

const runtime::DriverTable &table() { return *runtime::driver().table; }

Status checked(CUresult code, const char *what) {
  if (code == CUDA_SUCCESS)
    return {};
  const char *name = nullptr;
  (void)table().cuGetErrorName(code, &name);
  return Status::error(std::string(what) + ": " + (name ? name : std::to_string(code).c_str()));
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

CUgraphExec lastGraph = nullptr;
decltype(&::cuGraphLaunch) driverGraphLaunch = nullptr;

decltype(&::cuGraphExecDestroy) driverGraphDestroy = nullptr;

CUresult launch_and_note(CUgraphExec graph, CUstream stream) {
  lastGraph = graph;
  return driverGraphLaunch(graph, stream);
}
CUresult destroy_and_forget(CUgraphExec graph) {
  if (graph == lastGraph)
    lastGraph = nullptr;
  return driverGraphDestroy(graph);
}

} // namespace

Expected<std::unique_ptr<CallTimer>> CallTimer::make(int ordinal) {
  CUdevice device = 0;
  if (Status status = checked(table().cuDeviceGet(&device, ordinal), "cuDeviceGet"); !status)
    return status;
  std::unique_ptr<CallTimer> made(new CallTimer(device));
  if (Status status = made->prepare(); !status)
    return status;
  return made;
}

Status CallTimer::prepare() {
  if (!driverGraphLaunch) {
    // The table is the process's own object, which the runtime fills once and calls through.
    auto &functions = const_cast<runtime::DriverTable &>(table());
    driverGraphLaunch = std::exchange(functions.cuGraphLaunch, launch_and_note);
    driverGraphDestroy = std::exchange(functions.cuGraphExecDestroy, destroy_and_forget);
  }
  const runtime::DriverTable &driver = table();
  Status status = checked(driver.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  const auto next = [&](const char *what, const auto &act) {
    if (status.ok())
      status = checked(act(), what);
  };
  next("cuCtxSetCurrent", [&] { return driver.cuCtxSetCurrent(context_); });
  next("cuLibraryLoadData", [&] {
    return driver.cuLibraryLoadData(&library_, emptyText, nullptr, nullptr, 0, nullptr, nullptr, 0);
  });
  CUkernel kernel = nullptr;
  next("cuLibraryGetKernel", [&] { return driver.cuLibraryGetKernel(&kernel, library_, "empty"); });
  next("cuKernelGetFunction", [&] { return driver.cuKernelGetFunction(&empty_, kernel); });
  next("cuStreamCreateWithPriority",
       [&] { return driver.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0); });
  next("cuMemAlloc", [&] { return driver.cuMemAlloc(&memory_, 2 * heldBytes); });
  next("cuMemsetD8Async", [&] { return driver.cuMemsetD8Async(memory_, 0, 2 * heldBytes, stream_); });
  next("cuStreamSynchronize", [&] { return driver.cuStreamSynchronize(stream_); });
  next("cuEventCreate", [&] { return driver.cuEventCreate(&begin_, CU_EVENT_DEFAULT); });
  next("cuEventCreate", [&] { return driver.cuEventCreate(&end_, CU_EVENT_DEFAULT); });
  if (!status)
    return status;
  constexpr int copies = 20;
  Clock::time_point begin;
  for (int i = -1; i < copies && status.ok(); ++i) {
    if (i == 0)
      begin = Clock::now();
    status = hold(stream_, 0);
    if (status.ok() && (i < 0 || i + 1 == copies))
      status = checked(driver.cuStreamSynchronize(stream_), "cuStreamSynchronize");
  }
  copy_seconds_ = seconds_since(begin) / copies;
  return status;
}

CallTimer::~CallTimer() {
  const runtime::DriverTable &driver = table();
  for (CUevent event : {begin_, end_})
    if (event)
      (void)driver.cuEventDestroy(event);
  if (memory_)
    (void)driver.cuMemFree(memory_);
  if (stream_)
    (void)driver.cuStreamDestroy(stream_);
  if (library_)
    (void)driver.cuLibraryUnload(library_);
  if (context_)
    (void)driver.cuDevicePrimaryCtxRelease(device_);
}

/// Issues copies that keep the stream busy for about so long.
Status CallTimer::hold(CUstream stream, double seconds) const {
  constexpr double most = 0.1;
  const double copies = seconds > 0 ? std::min(seconds, most) / copy_seconds_ : 0;
  for (int i = 0; i <= static_cast<int>(copies); ++i)
    if (Status status =
            checked(table().cuMemcpyDtoDAsync(memory_ + heldBytes, memory_, heldBytes, stream), "a copy");
        !status)
      return status;
  return {};
}

/// Microseconds of a call between two events, behind work during which the host issues all calls.
Expected<double> CallTimer::device_time(CUstream stream, const std::function<Status()> &call,
                                        const std::function<Status()> &settle, int calls, double host) const {
  if (Status status = hold(stream, 1.5e-6 * host * calls + 2e-4); !status)
    return status;
  if (Status status = checked(table().cuEventRecord(begin_, stream), "cuEventRecord"); !status)
    return status;
  for (int i = 0; i < calls; ++i)
    if (Status status = call(); !status)
      return status;
  if (Status status = checked(table().cuEventRecord(end_, stream), "cuEventRecord"); !status)
    return status;
  if (Status status = settle(); !status)
    return status;
  if (Status status = checked(table().cuStreamSynchronize(stream), "cuStreamSynchronize"); !status)
    return status;
  float milliseconds = 0;
  if (Status status = checked(table().cuEventElapsedTime(&milliseconds, begin_, end_), "cuEventElapsedTime");
      !status)
    return status;
  return static_cast<double>(milliseconds) * 1e3 / calls;
}

Expected<CallTimes> CallTimer::time(CUstream stream, const std::function<Status()> &call,
                                    const std::function<Status()> &settle) const {
  constexpr int warm = 5, most = 50, least = 2;
  constexpr double budget = 0.5;
  Clock::time_point begin = Clock::now();
  for (int i = 0; i < warm; ++i) // the first ones make the graph
    if (Status status = call(); !status)
      return status;
  if (Status status = settle(); !status)
    return status;
  CallTimes times;
  times.calls =
      static_cast<int>(std::clamp(budget * warm / seconds_since(begin), double(least), double(most)));
  begin = Clock::now();
  for (int i = 0; i < times.calls; ++i)
    if (Status status = call(); !status)
      return status;
  times.host = seconds_since(begin) * 1e6 / times.calls;
  if (Status status = settle(); !status)
    return status;
  times.wall = seconds_since(begin) * 1e6 / times.calls;
  times.device = INFINITY;
  for (int round = 0; round < 2; ++round) {
    const Expected<double> found = device_time(stream, call, settle, times.calls, times.host);
    if (!found)
      return found.status();
    times.device = std::min(times.device, *found);
  }
  return times;
}

Expected<CallTimes> CallTimer::copy(void *to, const void *from, size_t bytes) const {
  const auto target = reinterpret_cast<CUdeviceptr>(to), source = reinterpret_cast<CUdeviceptr>(from);
  return time(
      stream_, [&] { return checked(table().cuMemcpyDtoDAsync(target, source, bytes, stream_), "a copy"); },
      [&] { return checked(table().cuStreamSynchronize(stream_), "cuStreamSynchronize"); });
}

Expected<CallTimes> CallTimer::empty_launch() const {
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream_;
  return time(
      stream_,
      [&] { return checked(table().cuLaunchKernelEx(&config, empty_, nullptr, nullptr), "a launch"); },
      [&] { return checked(table().cuStreamSynchronize(stream_), "cuStreamSynchronize"); });
}

Expected<CallTimes> CallTimer::time_graph(CUgraphExec graph) const {
  return time(
      stream_, [&] { return checked(driverGraphLaunch(graph, stream_), "cuGraphLaunch"); },
      [&] { return checked(table().cuStreamSynchronize(stream_), "cuStreamSynchronize"); });
}

Expected<CallTimes> CallTimer::empty_graph(size_t kernels) const {
  CUgraph graph = nullptr;
  Status status = checked(table().cuGraphCreate(&graph, 0), "cuGraphCreate");
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  kernel.func = empty_;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = 32;
  kernel.blockDimY = kernel.blockDimZ = 1;
  CUgraphNode before = nullptr;
  for (size_t i = 0; i < kernels && status.ok(); ++i) {
    CUgraphNode node = nullptr;
    status = checked(table().cuGraphAddKernelNode(&node, graph, &before, i ? 1 : 0, &kernel),
                     "cuGraphAddKernelNode");
    before = node;
  }
  CUgraphExec executable = nullptr;
  if (status.ok())
    status = checked(table().cuGraphInstantiate(&executable, graph, 0), "cuGraphInstantiate");
  if (status.ok())
    status = checked(table().cuGraphUpload(executable, stream_), "cuGraphUpload");
  Expected<CallTimes> times = status.ok() ? time_graph(executable) : Expected<CallTimes>(status);
  if (executable)
    (void)table().cuGraphExecDestroy(executable);
  if (graph)
    (void)table().cuGraphDestroy(graph);
  return times;
}

Expected<std::optional<CallTimes>> CallTimer::last_graph() const {
  if (!lastGraph)
    return std::optional<CallTimes>();
  const Expected<CallTimes> times = time_graph(lastGraph);
  if (!times)
    return times.status();
  return std::optional(*times);
}

void CallTimer::forget_graph() { lastGraph = nullptr; }

} // namespace weft::testing
