//===- ExecutableBuild.cpp - From a plan to a function that can run --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/Branch.h"
#include "runtime/execution/BranchParts.h"
#include "runtime/execution/ExecutableImpl.h"
#include "runtime/execution/IssuedCall.h"
#include "runtime/execution/LoopTrips.h"
#include "runtime/execution/ProductCandidates.h"
#include "runtime/execution/ProductWorkspaces.h"
#include "runtime/execution/Segments.h"
#include "runtime/execution/WhileTrips.h"
#include "runtime/memory/Layout.h"
#include "runtime/package/PlanTargets.h"
#include "runtime/plan/AttentionPlan.h"
#include "runtime/plan/ConvolutionPlan.h"
#include "runtime/plan/FourierPlan.h"
#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/MatrixPlan.h"
#include "runtime/plan/PlanDevices.h"
#include "runtime/plan/PlanFields.h"
#include "runtime/plan/SortPlan.h"
#include "runtime/plan/StepTable.h"
#include "runtime/support/TensorText.h"

#include <algorithm>
#include <array>

namespace weft::runtime {

Status Executable::Impl::place(const fb::Plan &plan, const DeviceMap &map) {
  // Kernels of every CPU target are code of the host: "image.cpu", "image.x86-64-v3:16".
  constexpr std::string_view prefix = "image.";
  const std::string image = plan.image() ? plan.image()->str() : "image.cpu";
  std::string code = image.starts_with(prefix) ? image.substr(prefix.size()) : image;
  const bool for_gpu = has_device_code(plan);
  if (!for_gpu)
    code = "cpu";
  else if (const std::optional<GpuTargetName> target = parse_gpu_target(code))
    code = std::string(target->gpu);
  for (const PlanDevice &wanted : plan_devices(plan)) {
    FunctionDevice device;
    device.name = wanted.name;
    if (wanted.name == host_device().name())
      device.device = &host_device();
    else if (const auto found = map.find(wanted.name); found != map.end())
      device.device = found->second;
    if (!device.device)
      return Status::error("'" + text(plan.function()) + "' runs on '" + wanted.name +
                               "', which is mapped to no device: name one for it when the function is loaded",
                           "WEFT-L017");
    if (for_gpu ? !device.device->is_host() && !device.device->suits(code) : device.device->code() != code)
      return Status::error("'" + text(plan.function()) + "' has kernels in '" + image + "', and '" +
                               device.device->name() + "', which '" + wanted.name +
                               "' is mapped to, runs code for '" + std::string(device.device->code()) + "'",
                           "WEFT-L017");
    // Each has memory for its own part of the temporaries, and one device has memory for one part.
    for (const FunctionDevice &other : devices)
      if (other.device == device.device)
        return Status::error("'" + text(plan.function()) + "' keeps '" + other.name + "' and '" +
                                 wanted.name + "' apart, and both are mapped to '" + device.device->name() +
                                 "'",
                             "WEFT-L017");
    if (constant_bytes && !device.device->is_host()) {
      Expected<std::shared_ptr<Buffer>> copy = Buffer::allocate(constant_bytes, 0, *device.device);
      if (!copy)
        return copy.status();
      if (Status status = (*copy)->write(0, {constants, constant_bytes}); !status)
        return status;
      device.constants = *std::move(copy);
    }
    if (for_gpu && !device.device->is_host() && this->image && this->image->device()) {
      auto loaded = device.device->load(this->image->device());
      if (!loaded)
        return loaded.status();
      device.code = *std::move(loaded);
    }
    devices.push_back(std::move(device));
  }
  return {};
}

Device *Executable::Impl::device_of(const TensorInfo &type) const {
  const auto found = std::ranges::find(devices, type.device, &FunctionDevice::name);
  return found != devices.end() ? found->device : devices[0].device;
}

namespace {

/// Where a launch or a check comes from.
template <typename T> Origin origin_of(const T &part) {
  Origin origin;
  origin.text = text(part.location());
  origin.recorded = part.recorded();
  if (const fb::Place *place = part.place()) {
    origin.file = text(place->file());
    origin.line = place->line();
    origin.column = place->column();
  }
  return origin;
}

/// Builds the launches of a function and their operands. The function has its devices, scalars and signature.
class LaunchBuilder {
public:
  LaunchBuilder(Executable::Impl &function, const fb::Plan &plan)
      : function_(function), plan_(plan), made_by_(function.signature.results.size()) {}

  Status build() {
    for (uint32_t i = 0; i < length(plan_.launches()); ++i) {
      first_of_.push_back(function_.launches.size());
      if (Status status = add(i); !status)
        return status;
    }
    first_of_.push_back(function_.launches.size());
    return {};
  }
  /// Launch `i` of the plan is the launches from number `first_of()[i]` to number `first_of()[i + 1]`.
  std::span<const size_t> first_of() const { return first_of_; }
  /// The launch that writes a result last, or null.
  const fb::Launch *maker(size_t result) const { return made_by_[result]; }

private:
  Status add(uint32_t number) {
    const fb::Launch &source = *plan_.launches()->Get(number);
    Launch launch;
    launch.planned = &source;
    launch.first_operand = static_cast<uint32_t>(function_.operands.size());
    launch.device = static_cast<uint8_t>(source.device());
    launch.predicated = source.predicate() == fb::Predicate::failure;
    launch.region = source.region();
    launch.first_check = next_check_;
    next_check_ += source.check_count();
    launch.may_fail = source.may_fail();
    if (launch.may_fail) {
      function_.fallible.push_back(static_cast<uint32_t>(function_.launches.size()));
      launch.failure_number = static_cast<uint32_t>(function_.fallible.size());
      function_.any_fallible = function_.devices[launch.device].any_fallible = true;
    }
    launch.name = text(source.name());
    launch.origin = origin_of(source);
    launch.flops = source.flops();
    if (const fb::LoopLaunch *loop = source.op_as_LoopLaunch();
        loop && !function_.devices[launch.device].device->is_host())
      return add_trips(launch, *loop, source);
    if (const fb::BranchLaunch *branch = source.op_as_BranchLaunch();
        branch && !function_.devices[launch.device].device->is_host())
      return add_branch(std::move(launch), *branch, source);
    if (const fb::WhileLaunch *loop = source.op_as_WhileLaunch();
        loop && !function_.devices[launch.device].device->is_host())
      return add_while(std::move(launch), *loop, source);
    if (Status status = take_work(launch, source); !status)
      return status;
    const uint64_t touched = add_operands(source);
    launch.bytes = source.bytes_read() + source.bytes_written();
    if (launch.bytes == 0)
      launch.bytes = touched;
    // Serial speed of one core: 8 bytes or 16 operations a nanosecond.
    function_.cost_ns += 50 + static_cast<double>(launch.bytes) / 8 + static_cast<double>(launch.flops) / 16;
    function_.launches.push_back(std::move(launch));
    return {};
  }

  Status take_work(Launch &launch, const fb::Launch &source) {
    if (const fb::KernelLaunch *kernel = source.op_as_KernelLaunch())
      return take_kernel(launch, *kernel, is_device_launch(plan_, source));
    if (source.op_as_ContractionLaunch())
      return take_contraction(launch, source);
    if (source.op_as_AttentionLaunch())
      return take_attention(launch, source);
    if (const fb::ConvolutionLaunch *convolution = source.op_as_ConvolutionLaunch()) {
      launch.kind = LaunchKind::convolution;
      if (launch.name.empty())
        launch.name = "convolution";
      if (is_device_launch(plan_, source))
        return take_own_kernels(launch, source);
      launch.convolution = std::make_shared<Convolution>(convolution_shape(*convolution));
      return {};
    }
    if (const fb::SortLaunch *sort = source.op_as_SortLaunch()) {
      launch.kind = LaunchKind::sort;
      if (launch.name.empty())
        launch.name = "sort";
      if (is_device_launch(plan_, source))
        return take_own_kernels(launch, source);
      launch.sort.emplace(sort_shape(*sort));
      return {};
    }
    if (const fb::MatrixLaunch *matrices = source.op_as_MatrixLaunch()) {
      launch.kind = LaunchKind::matrices;
      if (launch.name.empty())
        launch.name = "matrices";
      launch.matrices.emplace(matrix_shape(*matrices));
      return {};
    }
    if (const fb::FourierLaunch *fourier = source.op_as_FourierLaunch()) {
      launch.kind = LaunchKind::fourier;
      if (launch.name.empty())
        launch.name = "fourier transform";
      launch.fourier.emplace(fourier_shape(*fourier));
      return {};
    }
    if (const fb::LoopLaunch *loop = source.op_as_LoopLaunch())
      return take_loop(launch, *loop);
    if (const fb::BranchLaunch *branch = source.op_as_BranchLaunch())
      return take_branch(launch, *branch);
    if (const fb::WhileLaunch *loop = source.op_as_WhileLaunch())
      return take_while(launch, *loop);
    if (source.op_as_RawLaunch()) {
      launch.kind = LaunchKind::raw;
      if (launch.name.empty())
        launch.name = "raw kernel";
      return take_own_kernels(launch, source);
    }
    if (const fb::HostLaunch *host = source.op_as_HostLaunch())
      take_host_action(launch, *host);
    else
      take_copy(launch, *source.op_as_CopyLaunch());
    return {};
  }

  /// The kernels of the plan's GPU. The verifier has found those that launches name, if there was an image.
  Expected<const DeviceImage *> device_image() const {
    if (function_.image && function_.image->device())
      return function_.image->device().get();
    return Status::error(
        "'" + function_.signature.function + "' has launches for a GPU and no kernels of one", "WEFT-L008");
  }

  /// The kernels with which a GPU carries out a contraction, attention, a convolution or a sort, or the one
  /// of the user.
  Status take_own_kernels(Launch &launch, const fb::Launch &source) const {
    const Expected<const DeviceImage *> image = device_image();
    if (!image)
      return image.status();
    Expected<std::vector<DeviceLaunch>> own = (*image)->own_launches(source);
    if (!own)
      return own.status();
    launch.on_device = *std::move(own);
    return {};
  }

  Status take_code(Launch &launch, const fb::KernelLaunch &kernel, bool on_device) const {
    if (on_device) {
      const Expected<const DeviceImage *> image = device_image();
      if (!image)
        return image.status();
      Expected<DeviceLaunch> made = (*image)->launch_of(kernel);
      if (!made)
        return made.status();
      if (made->kernel->takes_table() && kernel.sizes())
        launch.table.assign(kernel.sizes()->begin(), kernel.sizes()->end());
      launch.on_device.push_back(*std::move(made));
      return {};
    }
    Expected<KernelFn> code = function_.image->find(kernel.symbol()->string_view());
    if (!code)
      return code.status();
    launch.function = *code;
    return {};
  }

  Status take_kernel(Launch &launch, const fb::KernelLaunch &kernel, bool on_device) {
    if (Status status = take_code(launch, kernel, on_device); !status)
      return status;
    if (launch.name.empty())
      launch.name = kernel.symbol()->str();
    launch.sizes = kernel.sizes() ? kernel.sizes()->data() : nullptr;
    if (kernel.chunk()) {
      launch.table = step_table(kernel);
      launch.sizes = launch.table.data();
    }
    launch.tasks = kernel.tasks();
    launch.grain = kernel.grain();
    // A GPU has shared memory for it.
    FunctionDevice &device = function_.devices[launch.device];
    if (!on_device)
      device.kernel_scratch = std::max(device.kernel_scratch, align_line(kernel.scratch_bytes()));
    return {};
  }

  /// A GPU has kernels of our own for it, which its library may take the place of.
  Status take_contraction_of_device(Launch &launch, const fb::Launch &source,
                                    const ContractionShape &shape) const {
    if (Status status = take_own_kernels(launch, source); !status)
      return status;
    const fb::ContractionLaunch &product = *source.op_as_ContractionLaunch();
    if (text(product.library()) == contractionLibraries.back()) // the compiler has said why
      return {};
    Expected<DeviceContraction> found = function_.devices[launch.device].device->contraction(
        shape, contraction_choice(product), contraction_alignment(plan_, product));
    if (!found)
      return found.status();
    launch.contraction = std::move(found->contraction);
    launch.refusal = std::move(found->refusal);
    launch.refuses_candidates = found->refuses_candidates;
    return {};
  }

  Status take_contraction(Launch &launch, const fb::Launch &source) {
    const fb::ContractionLaunch &product = *source.op_as_ContractionLaunch();
    launch.kind = LaunchKind::contraction;
    const ContractionShape shape = contraction_shape(product);
    launch.bias = shape.bias;
    launch.residual = shape.residual;
    if (launch.name.empty())
      launch.name = "contraction";
    // Unsigned: if one extent is 0, the product of the others may overflow.
    uint64_t flops = 2 * (1 + static_cast<uint64_t>(shape.more));
    for (const int64_t extent : {shape.batch, shape.m, shape.n, shape.k})
      flops *= static_cast<uint64_t>(extent);
    launch.flops = std::max(launch.flops, flops);
    if (is_device_launch(plan_, source))
      return take_contraction_of_device(launch, source, shape);
    Expected<std::shared_ptr<const Contraction>> contraction =
        Contraction::get(shape, contraction_choice(product));
    if (!contraction)
      return contraction.status();
    launch.contraction = *contraction;
    return {};
  }

  Status take_attention(Launch &launch, const fb::Launch &source) const {
    launch.kind = LaunchKind::attention;
    if (launch.name.empty())
      launch.name = "attention";
    if (is_device_launch(plan_, source))
      return take_own_kernels(launch, source);
    launch.attention = std::make_shared<Attention>(attention_shape(*source.op_as_AttentionLaunch()));
    return {};
  }

  Expected<std::shared_ptr<const Loop>> make_loop(const Launch &launch, const fb::LoopLaunch &loop) {
    Expected<std::shared_ptr<const Executable::Impl>> body = load_body(loop.body()->string_view());
    if (!body)
      return body.status();
    Expected<std::shared_ptr<const Loop>> made =
        Loop::make(*std::move(body), loop, plan_, function_.devices[launch.device].device);
    if (made)
      function_.cost_ns += (*made)->cost_ns();
    return made;
  }

  Status take_loop(Launch &launch, const fb::LoopLaunch &loop) {
    launch.kind = LaunchKind::loop;
    if (launch.name.empty())
      launch.name = "loop";
    Expected<std::shared_ptr<const Loop>> made = make_loop(launch, loop);
    if (!made)
      return made.status();
    launch.loop = *std::move(made);
    return {};
  }

  /// A device beside the host has the launches of all trips.
  Status add_trips(const Launch &around, const fb::LoopLaunch &loop, const fb::Launch &source) {
    Expected<std::shared_ptr<const Loop>> made = make_loop(around, loop);
    if (!made)
      return made.status();
    Status status = runtime::add_trips(function_, **made, around, places_of(source));
    function_.device_loops.push_back(*std::move(made));
    return status;
  }

  /// A device beside the host has the launches of both branches, of which those of one are issued.
  Status add_branch(Launch launch, const fb::BranchLaunch &branch, const fb::Launch &source) {
    if (launch.name.empty())
      launch.name = "branch";
    Expected<std::shared_ptr<const Branch>> made =
        Branch::make(branch, plan_, loader(), *function_.devices[launch.device].device);
    if (!made)
      return made.status();
    function_.cost_ns += (*made)->cost_ns();
    Status status = runtime::add_branch(function_, **made, std::move(launch), places_of(source));
    function_.device_loops.push_back(*std::move(made));
    return status;
  }

  /// A device beside the host has launches of trips, which the host issues one after the other.
  Status add_while(Launch launch, const fb::WhileLaunch &loop, const fb::Launch &source) {
    if (launch.name.empty())
      launch.name = "while loop";
    Expected<std::shared_ptr<const WhileLoop>> made =
        WhileLoop::make(loop, plan_, loader(), *function_.devices[launch.device].device);
    if (!made)
      return made.status();
    function_.cost_ns += (*made)->cost_ns();
    Status status = runtime::add_while(function_, **made, std::move(launch), places_of(source));
    function_.device_loops.push_back(*std::move(made));
    return status;
  }

  /// Loads a function of the package that a launch runs. One device has one image, from which all of them
  /// take their kernels, also if the function itself has none.
  Expected<std::shared_ptr<const Executable::Impl>> load_body(std::string_view name) const {
    Expected<std::shared_ptr<const Executable::Impl>> body = function_.load_body(plan_, name);
    if (body && !function_.image)
      function_.image = (*body)->image;
    return body;
  }

  /// Where the buffers of a launch that runs bodies are.
  std::vector<Operand> places_of(const fb::Launch &source) {
    std::vector<Operand> places;
    for (const BufferAccess &access : accesses_of(source)) {
      places.push_back(operand_of(*plan_.buffers()->Get(access.buffer)));
      note_maker(access, source);
    }
    return places;
  }

  /// Finds functions of the package that launches run.
  Branch::Load loader() const {
    return [this](std::string_view name) { return load_body(name); };
  }

  Status take_branch(Launch &launch, const fb::BranchLaunch &branch) {
    launch.kind = LaunchKind::branch;
    if (launch.name.empty())
      launch.name = "branch";
    Expected<std::shared_ptr<const Branch>> made = Branch::make(branch, plan_, loader(), host_device());
    if (!made)
      return made.status();
    launch.branch = *std::move(made);
    function_.cost_ns += launch.branch->cost_ns();
    return {};
  }

  Status take_while(Launch &launch, const fb::WhileLaunch &loop) {
    launch.kind = LaunchKind::while_loop;
    if (launch.name.empty())
      launch.name = "while loop";
    Expected<std::shared_ptr<const WhileLoop>> made = WhileLoop::make(loop, plan_, loader(), host_device());
    if (!made)
      return made.status();
    launch.while_loop = *std::move(made);
    function_.cost_ns += launch.while_loop->cost_ns();
    return {};
  }

  void take_host_action(Launch &launch, const fb::HostLaunch &host) const {
    launch.kind = host.action() == fb::HostAction::print ? LaunchKind::print : LaunchKind::require;
    launch.dtype = static_cast<DType>(host.dtype());
    for (uint32_t d = 0; d < length(host.shape()); ++d)
      launch.shape.push_back(host.shape()->Get(d));
    launch.text = text(host.text());
    launch.value_bytes = plan_.buffers()->Get(host.buffer())->bytes();
    if (launch.name.empty())
      launch.name = launch.kind == LaunchKind::print ? "print" : "assert";
  }

  void take_copy(Launch &launch, const fb::CopyLaunch &copy) const {
    launch.kind = LaunchKind::copy;
    if (launch.name.empty())
      launch.name = "copy";
    const fb::Buffer &from = *plan_.buffers()->Get(copy.source());
    launch.copy_bytes = static_cast<int64_t>(from.bytes());
    launch.source_device = static_cast<uint8_t>(from.device());
    launch.destination_device = static_cast<uint8_t>(plan_.buffers()->Get(copy.destination())->device());
  }

  /// Adds the operands of a launch. Returns how many bytes they have.
  uint64_t add_operands(const fb::Launch &source) {
    uint64_t touched = 0;
    for (const BufferAccess &access : accesses_of(source)) {
      const fb::Buffer &buffer = *plan_.buffers()->Get(access.buffer);
      function_.operands.push_back(operand_of(buffer));
      function_.uses.push_back({buffer.bytes(), access.written});
      touched += buffer.bytes();
      note_maker(access, source);
    }
    return touched;
  }

  void note_maker(const BufferAccess &access, const fb::Launch &source) {
    const fb::Buffer &buffer = *plan_.buffers()->Get(access.buffer);
    if (access.written && buffer.storage() == fb::Storage::result)
      made_by_[buffer.index()] = &source;
  }

  Operand operand_of(const fb::Buffer &buffer) {
    const auto arguments = static_cast<uint32_t>(function_.signature.arguments.size());
    const auto results = static_cast<uint32_t>(function_.signature.results.size());
    const uint32_t of_device = arguments + results + basesOfDevice * buffer.device();
    switch (buffer.storage()) {
    case fb::Storage::argument:
      return {buffer.index(), buffer.offset()};
    case fb::Storage::result:
      // A tied result is the argument's buffer. Operands share bytes only if they have the same base.
      if (const int tied = function_.signature.results[buffer.index()].tied_to; tied >= 0)
        return {static_cast<uint32_t>(tied), buffer.offset()};
      return {arguments + buffer.index(), buffer.offset()};
    case fb::Storage::constant:
      return {of_device + constantsBase, buffer.offset()};
    case fb::Storage::scalar:
      function_.devices[buffer.device()].reads_scalars = true;
      return {of_device + scalarsBase, buffer.offset() + function_.scalars[buffer.index()].offset};
    case fb::Storage::arena:
      break;
    }
    return {of_device + arenaBase, buffer.offset()};
  }

  Executable::Impl &function_;
  const fb::Plan &plan_;
  std::vector<const fb::Launch *> made_by_;
  std::vector<size_t> first_of_;
  uint32_t next_check_ = 0;
};

/// Takes from a plan what memory its calls need beside scratch.
void take_memory(Executable::Impl &function, const fb::Plan &plan) {
  const std::vector<PlanDevice> parts = plan_devices(plan);
  for (size_t i = 0; i < function.devices.size(); ++i) {
    function.devices[i].arena_begin = parts[i].arena_begin;
    function.devices[i].arena_bytes = parts[i].arena_bytes;
  }
  for (const ArgumentInfo &argument : function.signature.arguments) {
    function.any_donated |= argument.donated;
    function.argument_devices.push_back(function.device_of(argument.type));
  }
  for (const ResultInfo &result : function.signature.results) {
    Device *const device = function.device_of(result.type);
    function.result_devices.push_back(device);
    if (result.tied_to >= 0 || result.is_alias())
      continue;
    function.fresh_bytes += result.type.bytes;
    function.fresh_host_bytes += device->is_host() ? result.type.bytes : 0;
  }
  function.scalar_bytes = plan.scalar_bytes();
  for (uint32_t i = 0; i < length(plan.scalars()); ++i) {
    const fb::ScalarPlace &scalar = *plan.scalars()->Get(i);
    function.scalars.push_back(
        {scalar.argument(), scalar.offset(), itemsize(static_cast<DType>(scalar.dtype()))});
  }
  function.arena_bytes = align_line(plan.arena_bytes());
  function.arena_lower_bound = plan.arena_lower_bound_bytes();
}

/// An error (WEFT-M001) if the temporaries, those of loops among them, do not fit.
Status check_arena(const Executable::Impl &function) {
  for (const FunctionDevice &device : function.devices)
    if (CachingAllocator &own = device.device->allocator(); device.arena_bytes > own.limit())
      return own.out_of_memory(device.arena_bytes,
                               "the temporaries of '" + function.signature.function + "'");
  return {};
}

void take_checks(Executable::Impl &function, const fb::Plan &plan) {
  for (uint32_t i = 0; i < length(plan.checks()); ++i) {
    const fb::Check &check = *plan.checks()->Get(i);
    function.checks.push_back({check.kind() == fb::CheckKind::index ? FailedCheck::index : FailedCheck::other,
                               check.dimension(), check.size(), text(check.subject()), origin_of(check)});
  }
  if (const fb::FailureKey *key = plan.failure_key())
    function.failure_key = {key->position_bits(), key->check_bits()};
}

/// An out-of-memory report names a result by the line that computes it.
void label_results(Executable::Impl &function, const LaunchBuilder &launches) {
  // Each label holds the function's name again, so that long ones are cut.
  const std::string of = " of '" + shortened(function.signature.function) + "'";
  for (size_t i = 0; i < function.signature.results.size(); ++i) {
    const std::string &name = function.signature.results[i].name;
    const fb::Launch *const maker = launches.maker(i);
    const Origin at = maker ? origin_of(*maker) : Origin();
    const std::string what =
        (name.empty() ? "result " + std::to_string(i) : "result '" + shortened(name) + "'") + of;
    function.result_labels.push_back(function.result_devices[i]->allocator().intern_label(
        {what, shortened(at.text), shortened(at.file), at.line}));
  }
}

} // namespace

Status Executable::Impl::build(const fb::Plan &plan) {
  signature = signature_of(plan);
  take_checks(*this, plan);
  take_memory(*this, plan);
  if (Status status = check_arena(*this); !status)
    return status;
  LaunchBuilder builder(*this, plan);
  if (Status status = builder.build(); !status)
    return status;
  if (Status status = check_arena(*this); !status)
    return status;
  place_workspaces(*this, plan, builder.first_of());
  segments = segments_of(plan, launches, builder.first_of(), devices);
  overlaps = calls_overlap(*this);
  label_results(*this, builder);
  return {};
}

} // namespace weft::runtime
