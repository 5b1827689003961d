//===- Executable.cpp - A compiled function, ready to call ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/Executable.h"

#include "runtime/execution/ExecutableImpl.h"
#include "runtime/execution/IssuedCall.h"
#include "runtime/execution/Segments.h"
#include "runtime/memory/Layout.h"
#include "runtime/package/PlanTargets.h"
#include "runtime/plan/AttentionPlan.h"
#include "runtime/plan/DynamicPlan.h"
#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanDevices.h"
#include "runtime/plan/PlanFields.h"
#include "runtime/plan/PlanVerifier.h"
#include "runtime/plan/StepTable.h"
#include "runtime/support/TensorText.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <cstring>

namespace weft::runtime {
namespace {

TensorInfo tensor_info(const fb::TensorType &type) {
  TensorInfo info;
  info.dtype = static_cast<DType>(type.dtype());
  info.device = text(type.device());
  info.bytes = itemsize(info.dtype);
  for (uint32_t i = 0; i < length(type.shape()); ++i)
    info.shape.push_back(is_expression(type.shape()->Get(i)) ? -1 : type.shape()->Get(i));
  for (int64_t extent : info.shape)
    info.bytes *= extent < 0 ? 0 : static_cast<size_t>(extent);
  return info;
}

Signature signature_of(const fb::Plan &plan) {
  Signature signature;
  signature.function = text(plan.function());
  signature.target = text(plan.target());
  for (uint32_t i = 0; i < length(plan.arguments()); ++i) {
    const fb::Argument *argument = plan.arguments()->Get(i);
    signature.arguments.push_back({text(argument->name()), tensor_info(*argument->type()),
                                   static_cast<ArgumentRole>(argument->role()), argument->donated()});
    if (length(argument->strides()) == 0)
      continue;
    TensorInfo &type = signature.arguments.back().type;
    type.strides.assign(argument->strides()->begin(), argument->strides()->end());
    type.bytes = strided_elements(type.shape, type.strides).value_or(0) * itemsize(type.dtype);
  }
  for (uint32_t i = 0; i < length(plan.results()); ++i) {
    const fb::Result *result = plan.results()->Get(i);
    signature.results.push_back({text(result->name()), tensor_info(*result->type()), result->tied_to(),
                                 result->alias_argument(), result->alias_result()});
  }
  for (uint32_t i = 0; i < length(plan.symbols()); ++i) {
    const fb::Symbol *symbol = plan.symbols()->Get(i);
    signature.symbols.push_back({text(symbol->name()), symbol->min(), symbol->max()});
  }
  return signature;
}

/// What a package has of one function for the target that suits this processor.
struct PlanSections {
  std::string target;
  const fb::Plan *plan = nullptr;
  std::span<const std::byte> plan_bytes;
  std::span<const std::byte> constants;
};

Expected<PlanSections> read_sections(const Package &package, std::string_view function) {
  Expected<std::string> target = choose_plan_target(package, function, cpu_level(), default_width());
  if (!target)
    return target.status();
  const std::string suffix = std::string(function) + "." + *target;
  const Expected<std::span<const std::byte>> section = package.section("plan." + suffix);
  if (!section)
    return section.status();
  const Expected<const fb::Plan *> plan = read_plan(*section);
  if (!plan)
    return plan.status().context("package '" + package.source() + "', section 'plan." + suffix + "': ");
  PlanSections sections;
  sections.target = *std::move(target);
  sections.plan = *plan;
  sections.plan_bytes = *section;
  for (const std::string &name : {"constants." + suffix, std::string("constants")}) {
    if (!package.contains(name))
      continue;
    const Expected<std::span<const std::byte>> constants = package.section(name);
    if (!constants)
      return constants.status();
    sections.constants = *constants;
    break;
  }
  return sections;
}

/// Whether the plan was made for these kernels, and nobody changed it since.
Status check_seal(const Package &package, std::string_view function, const PlanSections &sections,
                  const Image *image) {
  const std::string name = "seal." + std::string(function) + "." + sections.target;
  const Expected<std::span<const std::byte>> section = package.section(name);
  if (!section)
    return section.status();
  uint64_t seal = 0;
  if (section->size() == sizeof seal)
    std::memcpy(&seal, section->data(), sizeof seal);
  if (section->size() == sizeof seal && seal == plan_seal(sections.plan_bytes, image ? image->binding() : 0))
    return {};
  return Status::error(
      "package '" + package.source() + "': the plan of '" + std::string(function) +
          "' and its kernels were not made together, or one of them was changed: compile the "
          "program again",
      "WEFT-L016");
}

Status check_plan(const Package &package, std::string_view function, const PlanSections &sections,
                  const Image *image) {
  const fb::Plan &plan = *sections.plan;
  // Of a plan with symbols the rest is checked for the sizes of each call.
  Status status =
      length(plan.symbols()) ? verify_symbols(plan) : verify_plan(plan, sections.constants.size(), image);
  if (!status)
    return status.context("package '" + package.source() + "': ");
  if (text(plan.function()) != function || text(plan.target()) != sections.target)
    return Status::error("package '" + package.source() + "': section 'plan." + std::string(function) + "." +
                             sections.target + "' holds the plan of '" + text(plan.function()) + "' for " +
                             text(plan.target()),
                         "WEFT-L008");
  return {};
}

} // namespace

Executable::Executable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Executable::~Executable() = default;
const Signature &Executable::signature() const { return impl_->signature; }
Device &Executable::argument_device(size_t index) const {
  return *impl_->device_of(impl_->signature.arguments[index].type);
}
uint64_t Executable::arena_bytes() const { return impl_->arena_bytes; }
uint64_t Executable::arena_lower_bound_bytes() const { return impl_->arena_lower_bound; }
PlannedMemory Executable::planned_memory() const { return impl_->planned_memory(impl_->is_serial()); }
double Executable::estimated_ns() const { return impl_->cost_ns; }
size_t Executable::launch_count() const { return impl_->launches.size(); }

Expected<std::shared_ptr<Executable>> Executable::load(std::shared_ptr<const Package> package,
                                                       std::string_view function) {
  return load(std::move(package), function, nullptr);
}

Expected<std::shared_ptr<Executable>> Executable::load(std::shared_ptr<const Package> package,
                                                       std::string_view function,
                                                       std::shared_ptr<const Image> image,
                                                       const DeviceMap &devices) {
  Expected<PlanSections> sections = read_sections(*package, function);
  if (!sections)
    return sections.status();
  const fb::Plan &plan = *sections->plan;
  bool kernels = false;
  for (uint32_t i = 0; i < length(plan.launches()); ++i)
    kernels |= plan.launches()->Get(i)->op_type() == fb::LaunchOp::KernelLaunch;
  if (!image && kernels) {
    const std::string prefix = plan.image() ? plan.image()->str() : "image.cpu";
    Expected<std::shared_ptr<Image>> loaded = Image::load(*package, prefix);
    if (!loaded)
      return loaded.status();
    image = *loaded;
  }
  // A plan without kernels is bound to none, whatever its neighbours launch.
  if (Status status = check_seal(*package, function, *sections, kernels ? image.get() : nullptr); !status)
    return status;
  if (Status status = check_plan(*package, function, *sections, image.get()); !status)
    return status;
  auto impl = std::make_unique<Impl>();
  impl->package = std::move(package);
  impl->constants = sections->constants.data();
  impl->image = image;
  impl->constant_bytes = sections->constants.size();
  if (Status status = impl->place(plan, devices); !status)
    return status.context("package '" + impl->package->source() + "': ");
  if (length(plan.symbols()) == 0) {
    if (Status status = impl->build(plan); !status)
      return status.context("package '" + impl->package->source() + "': ");
    return std::make_shared<Executable>(std::move(impl));
  }
  impl->dynamic = &plan;
  impl->signature = signature_of(plan);
  auto executable = std::make_shared<Executable>(std::move(impl));
  // What does not depend on sizes is found wrong here, and not at the first call.
  std::vector<int64_t> least;
  for (const SymbolInfo &symbol : executable->signature().symbols)
    least.push_back(symbol.min);
  if (auto first = executable->at(least); !first)
    return first.status();
  return executable;
}

Expected<std::vector<int64_t>> Executable::bind(std::span<const std::vector<int64_t>> argument_shapes) const {
  if (!impl_->dynamic)
    return std::vector<int64_t>();
  return bind_symbols(*impl_->dynamic, argument_shapes);
}

namespace {

std::vector<std::string> sizes_of(const TensorInfo &type, const fb::Plan *plan,
                                  const fb::TensorType *symbolic) {
  std::vector<std::string> sizes;
  for (uint32_t i = 0; i < type.shape.size(); ++i)
    sizes.push_back(plan ? expression_text(*plan, symbolic->shape()->Get(i)) : std::to_string(type.shape[i]));
  return sizes;
}

} // namespace

std::vector<std::string> Executable::argument_sizes(size_t index) const {
  const fb::Plan *plan = impl_->dynamic;
  return sizes_of(impl_->signature.arguments.at(index).type, plan,
                  plan ? plan->arguments()->Get(static_cast<uint32_t>(index))->type() : nullptr);
}

std::vector<std::string> Executable::result_sizes(size_t index) const {
  const fb::Plan *plan = impl_->dynamic;
  return sizes_of(impl_->signature.results.at(index).type, plan,
                  plan ? plan->results()->Get(static_cast<uint32_t>(index))->type() : nullptr);
}

Expected<std::shared_ptr<Executable>> Executable::at(std::span<const int64_t> sizes) {
  Impl &impl = *impl_;
  if (!impl.dynamic)
    return shared_from_this();
  constexpr size_t capacity = 64;
  const std::vector<int64_t> key(sizes.begin(), sizes.end());
  {
    const std::lock_guard lock(impl.instances_mutex);
    const auto found = std::find_if(impl.instances.begin(), impl.instances.end(),
                                    [&](const auto &instance) { return instance.first == key; });
    if (found != impl.instances.end()) {
      impl.instances.splice(impl.instances.begin(), impl.instances, found);
      return found->second;
    }
  }
  const std::string where = "package '" + impl.package->source() + "': ";
  Expected<std::vector<uint64_t>> bytes = plan_of_numbers(*impl.dynamic, sizes);
  if (!bytes)
    return bytes.status().context(where);
  auto made = std::make_unique<Impl>();
  made->package = impl.package;
  made->image = impl.image;
  made->constants = impl.constants;
  made->devices = impl.devices;
  made->calls = impl.calls;
  made->own_plan = *std::move(bytes);
  Expected<const fb::Plan *> plan = read_plan(std::as_bytes(std::span(made->own_plan)));
  if (!plan)
    return plan.status().context(where);
  if (Status status = verify_plan(**plan, impl.constant_bytes, impl.image.get()); !status)
    return status.context(where);
  if (Status status = made->build(**plan); !status)
    return status.context(where);
  auto instance = std::make_shared<Executable>(std::move(made));
  const std::lock_guard lock(impl.instances_mutex);
  impl.instances.emplace_front(key, instance);
  if (impl.instances.size() > capacity)
    impl.instances.pop_back();
  return instance;
}

Expected<Signature> read_signature(const Package &package, std::string_view function) {
  const Expected<PlanSections> sections = read_sections(package, function);
  if (!sections)
    return sections.status();
  if (Status status = check_plan(package, function, *sections, nullptr); !status)
    return status;
  return signature_of(*sections->plan);
}

/// Where a launch or a check comes from.
template <typename T> static Origin origin_of(const T &part) {
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

Status Executable::Impl::place(const fb::Plan &plan, const DeviceMap &map) {
  // Kernels of every CPU target are code of the host: "image.cpu", "image.x86-64-v3:16".
  constexpr std::string_view prefix = "image.";
  const std::string image = plan.image() ? plan.image()->str() : "image.cpu";
  std::string code = image.starts_with(prefix) ? image.substr(prefix.size()) : image;
  if (parse_cpu_target(code))
    code = "cpu";
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
    if (device.device->code() != code)
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
    devices.push_back(std::move(device));
  }
  return {};
}

Device *Executable::Impl::device_of(const TensorInfo &type) const {
  const auto found = std::ranges::find(devices, type.device, &FunctionDevice::name);
  return found != devices.end() ? found->device : devices[0].device;
}

Status Executable::Impl::build(const fb::Plan &plan) {
  signature = signature_of(plan);
  const std::vector<PlanDevice> parts = plan_devices(plan);
  for (size_t i = 0; i < devices.size(); ++i) {
    devices[i].arena_begin = parts[i].arena_begin;
    devices[i].arena_bytes = parts[i].arena_bytes;
  }
  for (const ArgumentInfo &argument : signature.arguments)
    any_donated |= argument.donated;
  for (const ArgumentInfo &argument : signature.arguments)
    argument_devices.push_back(device_of(argument.type));
  for (const ResultInfo &result : signature.results) {
    result_devices.push_back(device_of(result.type));
    if (result.tied_to >= 0 || result.is_alias())
      continue;
    fresh_bytes += result.type.bytes;
    fresh_host_bytes += result_devices.back()->is_host() ? result.type.bytes : 0;
  }
  for (uint32_t i = 0; i < length(plan.checks()); ++i) {
    const fb::Check &check = *plan.checks()->Get(i);
    checks.push_back({check.kind() == fb::CheckKind::index ? FailedCheck::index : FailedCheck::other,
                      check.dimension(), check.size(), text(check.subject()), origin_of(check)});
  }
  if (const fb::FailureKey *key = plan.failure_key())
    failure_key = {key->position_bits(), key->check_bits()};
  uint32_t next_check = 0;
  scalar_bytes = plan.scalar_bytes();
  for (uint32_t i = 0; i < length(plan.scalars()); ++i) {
    const fb::ScalarPlace &scalar = *plan.scalars()->Get(i);
    scalars.push_back({scalar.argument(), scalar.offset(), itemsize(static_cast<DType>(scalar.dtype()))});
  }
  arena_bytes = align_line(plan.arena_bytes());
  arena_lower_bound = plan.arena_lower_bound_bytes();
  for (const FunctionDevice &device : devices)
    if (CachingAllocator &own = device.device->allocator(); device.arena_bytes > own.limit())
      return own.out_of_memory(device.arena_bytes, "the temporaries of '" + signature.function + "'");

  // An out-of-memory report names a result by the line that computes it.
  std::vector<const fb::Launch *> made_by(signature.results.size());
  const auto argument_count = static_cast<uint32_t>(signature.arguments.size());
  const auto result_count = static_cast<uint32_t>(signature.results.size());
  const auto add_operand = [&](const fb::Buffer &buffer) {
    uint32_t base = argument_count + result_count + basesOfDevice * buffer.device();
    uint64_t offset = buffer.offset();
    switch (buffer.storage()) {
    case fb::Storage::argument:
      base = buffer.index();
      break;
    case fb::Storage::result:
      base = argument_count + buffer.index();
      break;
    case fb::Storage::arena:
      break;
    case fb::Storage::constant:
      base += constantsBase;
      break;
    case fb::Storage::scalar:
      base += scalarsBase;
      offset += scalars[buffer.index()].offset;
      devices[buffer.device()].reads_scalars = true;
      break;
    }
    operands.push_back({base, offset});
  };
  for (uint32_t i = 0; i < length(plan.launches()); ++i) {
    const fb::Launch *source = plan.launches()->Get(i);
    Launch launch;
    launch.first_operand = static_cast<uint32_t>(operands.size());
    launch.may_fail = source->may_fail();
    launch.device = static_cast<uint8_t>(source->device());
    FunctionDevice &device = devices[launch.device];
    launch.predicated = source->predicate() == fb::Predicate::failure;
    launch.region = source->region();
    launch.first_check = next_check;
    next_check += source->check_count();
    if (launch.may_fail) {
      fallible.push_back(i);
      launch.failure_number = static_cast<uint32_t>(fallible.size());
      any_fallible = device.any_fallible = true;
    }
    launch.name = text(source->name());
    launch.origin = origin_of(*source);
    launch.flops = source->flops();
    if (const fb::KernelLaunch *kernel = source->op_as_KernelLaunch()) {
      Expected<KernelFn> function = image->find(kernel->symbol()->string_view());
      if (!function)
        return function.status();
      launch.function = *function;
      if (launch.name.empty())
        launch.name = kernel->symbol()->str();
      launch.sizes = kernel->sizes() ? kernel->sizes()->data() : nullptr;
      if (kernel->chunk()) {
        launch.table = step_table(*kernel);
        launch.sizes = launch.table.data();
      }
      launch.tasks = kernel->tasks();
      launch.grain = kernel->grain();
      if (const fb::Grid *grid = source->grid()) {
        std::ranges::copy(*grid->blocks(), launch.grid.blocks.begin());
        std::ranges::copy(*grid->threads(), launch.grid.threads.begin());
        launch.grid.shared_bytes = grid->shared_bytes();
      }
      device.kernel_scratch = std::max(device.kernel_scratch, align_line(kernel->scratch_bytes()));
    } else if (const fb::ContractionLaunch *product = source->op_as_ContractionLaunch()) {
      launch.kind = LaunchKind::contraction;
      ContractionShape shape;
      shape.dtype = static_cast<DType>(product->dtype());
      shape.batch = product->batch();
      shape.m = product->m();
      shape.n = product->n();
      shape.k = product->k();
      for (uint32_t d = 0; d < 3; ++d) {
        shape.a_strides[d] = product->a_strides()->Get(d);
        shape.b_strides[d] = product->b_strides()->Get(d);
        shape.c_strides[d] = product->c_strides()->Get(d);
      }
      shape.bias = launch.bias = product->bias() >= 0;
      shape.residual = launch.residual = product->residual() >= 0;
      shape.relu = product->relu();
      shape.more = length(product->more()) / 2;
      Expected<std::shared_ptr<const Contraction>> contraction =
          Contraction::get(shape, {text(product->library()), product->library_flops(),
                                   static_cast<int64_t>(product->workspace_bytes())});
      if (!contraction)
        return contraction.status();
      launch.contraction = *contraction;
      if (launch.name.empty())
        launch.name = "contraction";
      // Unsigned: if one extent is 0, the product of the others may overflow.
      uint64_t flops = 2 * (1 + static_cast<uint64_t>(shape.more));
      for (const int64_t extent : {shape.batch, shape.m, shape.n, shape.k})
        flops *= static_cast<uint64_t>(extent);
      launch.flops = std::max(launch.flops, flops);
    } else if (const fb::AttentionLaunch *attention = source->op_as_AttentionLaunch()) {
      launch.kind = LaunchKind::attention;
      if (launch.name.empty())
        launch.name = "attention";
      launch.attention = std::make_shared<Attention>(attention_shape(*attention));
    } else if (const fb::HostLaunch *host = source->op_as_HostLaunch()) {
      launch.kind = host->action() == fb::HostAction::print ? LaunchKind::print : LaunchKind::require;
      launch.dtype = static_cast<DType>(host->dtype());
      for (uint32_t d = 0; d < length(host->shape()); ++d)
        launch.shape.push_back(host->shape()->Get(d));
      launch.text = text(host->text());
      launch.value_bytes = plan.buffers()->Get(host->buffer())->bytes();
      if (launch.name.empty())
        launch.name = launch.kind == LaunchKind::print ? "print" : "assert";
    } else {
      const fb::CopyLaunch *copy = source->op_as_CopyLaunch();
      launch.kind = LaunchKind::copy;
      if (launch.name.empty())
        launch.name = "copy";
      const fb::Buffer *from = plan.buffers()->Get(copy->source());
      launch.copy_bytes = static_cast<int64_t>(from->bytes());
      launch.source_device = static_cast<uint8_t>(from->device());
      launch.destination_device = static_cast<uint8_t>(plan.buffers()->Get(copy->destination())->device());
    }
    uint64_t touched = 0;
    for (const BufferAccess &access : accesses_of(*source)) {
      const fb::Buffer &buffer = *plan.buffers()->Get(access.buffer);
      add_operand(buffer);
      touched += buffer.bytes();
      if (access.written && buffer.storage() == fb::Storage::result)
        made_by[buffer.index()] = source;
    }
    launch.bytes = source->bytes_read() + source->bytes_written();
    if (launch.bytes == 0)
      launch.bytes = touched;
    // Serial speed of one core: 8 bytes or 16 operations a nanosecond.
    cost_ns += 50 + static_cast<double>(std::max(launch.bytes, touched)) / 8 +
               static_cast<double>(launch.flops) / 16;
    launches.push_back(std::move(launch));
  }
  segments = segments_of(plan, launches, devices);
  overlaps = calls_overlap(*this);
  // Each label holds the function's name again, so that long ones are cut.
  const std::string of = " of '" + shortened(signature.function) + "'";
  for (size_t i = 0; i < signature.results.size(); ++i) {
    const std::string &name = signature.results[i].name;
    const Origin at = made_by[i] ? origin_of(*made_by[i]) : Origin();
    const std::string what =
        (name.empty() ? "result " + std::to_string(i) : "result '" + shortened(name) + "'") + of;
    result_labels.push_back(
        result_devices[i]->allocator().intern_label({what, shortened(at.text), shortened(at.file), at.line}));
  }
  return {};
}

} // namespace weft::runtime
