//===- EngineDevice.cpp - A device whose kernels run on the engine -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EngineDevice.h"

#include "runtime/execution/LaunchRun.h"
#include "runtime/plan/AttentionPlan.h"
#include "runtime/plan/ConvolutionPlan.h"
#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/SortPlan.h"
#include "runtime/plan/plan_generated.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

namespace weft::cudasim {

using namespace weft::runtime;

namespace {

/// Carries out everything at once, so that every point has passed when it is recorded.
class EngineStream final : public DeviceStream {
public:
  explicit EngineStream(EngineDevice &device) : device_(device) {}
  Status copy(void *to, const void *from, size_t bytes, CopyDirection direction) override {
    return device_.copy_now(to, from, bytes, direction);
  }
  Status issue(const LaunchRun &run) override { return device_.issue(run); }
  Status wait_for(const Point &point) override {
    point.wait_passed();
    return {};
  }
  Expected<Point> record() override { return Point(); }

private:
  EngineDevice &device_;
};

} // namespace

EngineDevice &EngineDevice::get() {
  static auto *const device = new EngineDevice;
  return *device;
}

void EngineDevice::use(const CudaProgram &program, const RunStyle &style, uint64_t spoilt,
                       uint64_t mostMultiplyAdds) {
  program_ = &program;
  code_ = program.target;
  traffic_ = nullptr;
  style_ = style;
  spoilt_ = spoilt;
  mostMultiplyAdds_ = mostMultiplyAdds;
  next_ = 0;
  steps_ += notes_.steps;
  notes_ = {};
}

void EngineDevice::count(const CudaProgram &program, std::map<std::string, KernelTraffic> &into,
                         uint64_t mostBlocks) {
  use(program, {});
  traffic_ = &into;
  mostBlocks_ = mostBlocks;
}

static void add(GlobalTraffic &to, const GlobalTraffic &from) {
  to.requests += from.requests;
  to.sectors += from.sectors;
  to.leastSectors += from.leastSectors;
  to.uniqueBytes += from.uniqueBytes;
}

static void add(Traffic &to, const Traffic &from) {
  add(to.loads, from.loads);
  add(to.stores, from.stores);
  to.shared.requests += from.shared.requests;
  to.shared.wavefronts += from.shared.wavefronts;
  to.shared.leastWavefronts += from.shared.leastWavefronts;
}

/// Counts a launch.
static Status countLaunch(const DeviceKernel &kernel, const KernelCall &call, uint64_t mostBlocks,
                          KernelTraffic &into) {
  Expected<Traffic> traffic = countTraffic(kernel, call, mostBlocks);
  if (!traffic)
    return traffic.status();
  ++into.launches;
  into.blocks += static_cast<uint64_t>((call.tasks + kernel.blockTasks - 1) / kernel.blockTasks);
  add(into.traffic, *traffic);
  return {};
}

Expected<std::unique_ptr<DeviceStream>> EngineDevice::make_stream() {
  return std::unique_ptr<DeviceStream>(std::make_unique<EngineStream>(*this));
}

Status EngineDevice::copy_now(void *to, const void *from, size_t bytes, CopyDirection) {
  if (bytes)
    std::memcpy(to, from, bytes);
  return {};
}

Status EngineDevice::countLibrary(const DeviceKernel &kernel, const KernelCall &call) {
  constexpr uint64_t mostProductBlocks = 4;
  KernelTraffic &into = (*traffic_)[kernel.symbol];
  if (into.launches == 0)
    return countLaunch(kernel, call, std::min(mostBlocks_, mostProductBlocks), into);
  ++into.launches;
  into.blocks += static_cast<uint64_t>(call.tasks);
  for (const CallOperand &operand : call.operands)
    if (operand.written)
      std::memset(operand.data, 0, operand.bytes);
  return {};
}

/// Carries out a launch as the host does it, which has memory that the device's is. A plan for a GPU has
/// nothing for the host to carry out products, attention, convolutions and sorts with.
static Status runOnHost(LaunchRun run, const Launch &launch) {
  const fb::Launch &planned = *launch.planned;
  Launch own = launch;
  size_t scratch = 0;
  if (const fb::ContractionLaunch *product = planned.op_as_ContractionLaunch()) {
    auto contraction = Contraction::get(contraction_shape(*product), {});
    if (!contraction)
      return contraction.status();
    own.contraction = *contraction;
    scratch = own.contraction->scratch_bytes(run.width);
  } else if (const fb::AttentionLaunch *attention = planned.op_as_AttentionLaunch()) {
    own.attention = std::make_shared<Attention>(attention_shape(*attention));
    scratch = own.attention->scratch_bytes(run.width);
  } else if (const fb::ConvolutionLaunch *convolution = planned.op_as_ConvolutionLaunch()) {
    own.convolution = std::make_shared<Convolution>(convolution_shape(*convolution));
    scratch = own.convolution->scratch_bytes(run.width);
  } else if (const fb::SortLaunch *sort = planned.op_as_SortLaunch()) {
    own.sort.emplace(sort_shape(*sort));
    scratch = own.sort->scratch_bytes(run.width);
  }
  constexpr size_t line = 64;
  std::vector<std::byte> memory(scratch + line);
  void *at = memory.data();
  size_t room = memory.size();
  run.library_scratch = static_cast<std::byte *>(std::align(line, scratch, at, room));
  run.launches = {&own, 1};
  return run_launches(run);
}

Status EngineDevice::runOnEngine(const DeviceKernel &kernel, const KernelCall &call) {
  if (traffic_)
    return countLaunch(kernel, call, mostBlocks_, (*traffic_)[kernel.symbol]);
  RunStyle style = style_;
  if (next_++ != spoilt_)
    style.spoil = Spoil::nothing;
  ++counts_.kernelLaunches;
  counts_.raceLaunches += style.race;
  return runKernel(kernel, call, style, notes_);
}

Status EngineDevice::runFusion(const LaunchRun &run, const Launch &launch) {
  const Executable::Impl &function = *run.function;
  const fb::KernelLaunch &fusion = *launch.planned->op_as_KernelLaunch();
  KernelCall call;
  for (uint32_t i = 0; i < fusion.buffers()->size(); ++i) {
    const size_t operand = launch.first_operand + i;
    call.operands.push_back({static_cast<std::byte *>(run.pointers[operand]), function.uses[operand].bytes,
                             i >= fusion.first_result()});
  }
  call.sizes = launch.table;
  if (launch.table.empty() && fusion.sizes())
    call.sizes = {fusion.sizes()->data(), fusion.sizes()->size()};
  call.tasks = launch.tasks;
  if (launch.may_fail) {
    call.failure = run.failure;
    call.launchKey = function.failure_key.pack({launch.failure_number, 0, 0});
    call.firstCheck = launch.first_check + int64_t(1);
    call.checkBits = function.failure_key.check_bits;
  }
  return runOnEngine(program_->kernels.at(fusion.symbol()->str()), call);
}

/// Fused multiply-adds of a launch of our own, or comparisons of a sort, about: what it costs the engine.
static uint64_t multiplyAddsOf(const DeviceLaunch &launch, const fb::Launch &planned) {
  if (const fb::ContractionLaunch *product = planned.op_as_ContractionLaunch()) {
    const fb::ProductKernel &kernel = *launch.kernel->product();
    return uint64_t(launch.blocks) * kernel.tile_m() * kernel.tile_n() * static_cast<uint64_t>(product->k());
  }
  if (const fb::ConvolutionLaunch *convolution = planned.op_as_ConvolutionLaunch()) {
    const fb::ConvolutionKernel &kernel = *launch.kernel->convolution();
    const ConvolutionShape shape = convolution_shape(*convolution);
    const int64_t steps = shape.channels * shape.window[0] * shape.window[1] * shape.window[2];
    return uint64_t(launch.blocks) * kernel.tile_m() * kernel.tile_n() * static_cast<uint64_t>(steps);
  }
  if (const fb::SortLaunch *sort = planned.op_as_SortLaunch()) {
    const auto extent = static_cast<uint64_t>(sort->extent());
    const auto digits = static_cast<uint64_t>(std::bit_width(extent));
    return static_cast<uint64_t>(sort->rows()) * extent * digits * digits;
  }
  const AttentionShape shape = attention_shape(*planned.op_as_AttentionLaunch());
  int64_t batch = 1;
  for (const int64_t extent : shape.batch)
    batch *= extent;
  // A derivative computes scores twice.
  const int64_t columns = shape.features + shape.values;
  return static_cast<uint64_t>(batch * shape.rows * shape.keys * (shape.backward ? 4 : 1) * columns);
}

/// Runs a launch of a library by kernels of our own; by the host if they would take too long.
Status EngineDevice::runLibrary(const LaunchRun &run, const Launch &launch) {
  LibraryCounts &counts = launch.kind == LaunchKind::contraction ? counts_.products
                          : launch.kind == LaunchKind::attention ? counts_.attentions
                          : launch.kind == LaunchKind::sort      ? counts_.sorts
                                                                 : counts_.convolutions;
  uint64_t multiplyAdds = 0;
  for (const DeviceLaunch &each : launch.on_device)
    multiplyAdds += multiplyAddsOf(each, *launch.planned);
  // The host has no convolutions of halves.
  const fb::ConvolutionLaunch *convolution = launch.planned->op_as_ConvolutionLaunch();
  const bool onHost = !convolution || convolution_supports(static_cast<DType>(convolution->dtype()));
  if (multiplyAdds > mostMultiplyAdds_ && onHost) {
    ++counts.host;
    return runOnHost(run, launch);
  }
  ++counts.engine;
  for (const DeviceLaunch &each : launch.on_device) {
    KernelCall call;
    for (auto pointer = each.pointers.begin(); pointer != each.pointers.end(); ++pointer) {
      const size_t operand = launch.first_operand + *pointer;
      const OperandUse &use = run.function->uses[operand];
      // A product that is added to a result reads it as its residual and writes it, in this order.
      const bool isLast = std::find(pointer + 1, each.pointers.end(), *pointer) == each.pointers.end();
      call.operands.push_back(
          {static_cast<std::byte *>(run.pointers[operand]), use.bytes, use.written && isLast});
    }
    call.sizes = each.sizes;
    call.tasks = each.blocks;
    if (!call.tasks)
      continue;
    const DeviceKernel &code = program_->kernels.at(each.kernel->symbol()->str());
    if (Status status = traffic_ ? countLibrary(code, call) : runOnEngine(code, call); !status)
      return status;
  }
  return {};
}

Status EngineDevice::issue(const LaunchRun &given) {
  // What begins and ends a call is done around the launches, as the host does it.
  LaunchRun run = given;
  run.stops = false;
  run.launches = {};
  run.ends = false;
  if (Status status = run_launches(run); !status)
    return status;
  run.begins = false;
  run.foreign_keys = 0;
  for (const Launch &launch : given.launches) {
    if (run.failure && launch.predicated && run.failure->failed())
      continue;
    Status status;
    switch (launch.kind) {
    case LaunchKind::kernel:
      if (launch.tasks)
        status = runFusion(run, launch);
      break;
    case LaunchKind::contraction:
    case LaunchKind::attention:
    case LaunchKind::convolution:
    case LaunchKind::sort:
      status = runLibrary(run, launch);
      break;
    case LaunchKind::matrices:
    case LaunchKind::fourier:
    case LaunchKind::loop:
    case LaunchKind::branch:
    case LaunchKind::while_loop:
      return Status::error("'" + launch.name + "' is a launch of the host");
    case LaunchKind::raw:
      return Status::error("'" + launch.name + "' is a kernel of the user, whose results have no reference");
    case LaunchKind::copy:
    case LaunchKind::print:
    case LaunchKind::require:
      ++(launch.kind == LaunchKind::copy ? counts_.copies : counts_.others);
      status = runOnHost(run, launch);
      break;
    }
    if (!status)
      return status;
  }
  run.launches = {};
  run.ends = given.ends;
  return run_launches(run);
}

} // namespace weft::cudasim
