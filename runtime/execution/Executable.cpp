//===- Executable.cpp - A compiled function, ready to call ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/Executable.h"

#include "runtime/execution/ExecutableImpl.h"
#include "runtime/memory/Layout.h"
#include "runtime/package/PlanTargets.h"
#include "runtime/plan/DynamicPlan.h"
#include "runtime/plan/LoopPlan.h"
#include "runtime/plan/PlanDevices.h"
#include "runtime/plan/PlanFields.h"
#include "runtime/plan/PlanVerifier.h"
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

} // namespace

Signature signature_of(const fb::Plan &plan) {
  Signature signature;
  signature.function = text(plan.function());
  signature.target = text(plan.target());
  for (uint32_t i = 0; i < length(plan.arguments()); ++i) {
    const fb::Argument *argument = plan.arguments()->Get(i);
    signature.arguments.push_back({text(argument->name()), tensor_info(*argument->type()),
                                   static_cast<ArgumentRole>(argument->role()), argument->donated()});
    TensorInfo &type = signature.arguments.back().type;
    type.alignment = has_device_code(plan) ? argument->alignment() : 0;
    if (length(argument->strides()) == 0)
      continue;
    type.strides.assign(argument->strides()->begin(), argument->strides()->end());
    type.bytes = strided_elements(type.shape, type.strides).value_or(0) * itemsize(type.dtype);
  }
  for (uint32_t i = 0; i < length(plan.results()); ++i) {
    const fb::Result *result = plan.results()->Get(i);
    signature.results.push_back({text(result->name()), tensor_info(*result->type()), result->tied_to(),
                                 result->alias_argument(), result->alias_result()});
    if (has_device_code(plan))
      signature.results.back().type.alignment = result->alignment() ? result->alignment() : widestAccess;
  }
  for (uint32_t i = 0; i < length(plan.symbols()); ++i) {
    const fb::Symbol *symbol = plan.symbols()->Get(i);
    signature.symbols.push_back({text(symbol->name()), symbol->min(), symbol->max()});
  }
  return signature;
}

namespace {

/// What a package has of one function for the target that suits this processor.
struct PlanSections {
  std::string target;
  const fb::Plan *plan = nullptr;
  std::span<const std::byte> plan_bytes;
  std::span<const std::byte> constants;
};

/// The sections of a function, or of the body of a loop, for a target.
Expected<PlanSections> sections_of(const Package &package, std::string_view function, std::string target,
                                   const std::string &kind) {
  const std::string suffix = std::string(function) + "." + target;
  const Expected<std::span<const std::byte>> section = package.section(kind + suffix);
  if (!section)
    return section.status();
  const Expected<const fb::Plan *> plan = read_plan(*section);
  if (!plan)
    return plan.status().context("package '" + package.source() + "', section '" + kind + suffix + "': ");
  PlanSections sections;
  sections.target = std::move(target);
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

Expected<PlanSections> read_sections(const Package &package, std::string_view function,
                                     const SuitsTarget &suits = nullptr) {
  Expected<std::string> target = choose_plan_target(package, function, cpu_level(), default_width(), suits);
  if (!target)
    return target.status();
  return sections_of(package, function, *std::move(target), "plan.");
}

/// Whether launches of the plan are kernels, which are bound to an image.
bool has_kernels(const fb::Plan &plan) {
  bool kernels = false;
  for (uint32_t i = 0; i < length(plan.launches()); ++i)
    kernels |= plan.launches()->Get(i)->op_type() == fb::LaunchOp::KernelLaunch ||
               length(plan.launches()->Get(i)->own()) != 0;
  return kernels;
}

/// The kernels that a plan is for.
Expected<std::shared_ptr<const Image>> image_of(const Package &package, const fb::Plan &plan) {
  const std::string prefix = plan.image() ? plan.image()->str() : "image.cpu";
  Expected<std::shared_ptr<Image>> loaded = Image::load(package, prefix);
  if (!loaded)
    return loaded.status();
  return std::shared_ptr<const Image>(*std::move(loaded));
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

/// A failure with the name of its package. Memory that is short is not the package's fault, and one that lies
/// in memory has no name: it is of a compiled function, which the caller names.
Status in_package(const Status &status, const Package &package) {
  if (status.code() == "WEFT-M001" && package.source() == "<memory>")
    return status;
  return status.context("package '" + package.source() + "': ");
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
Device &Executable::result_device(size_t index) const {
  return *impl_->device_of(impl_->signature.results[index].type);
}
uint64_t Executable::arena_bytes() const { return impl_->arena_bytes; }
uint64_t Executable::arena_lower_bound_bytes() const { return impl_->arena_lower_bound; }
std::vector<RefusedContraction> Executable::refused_contractions() const {
  std::vector<RefusedContraction> refused;
  for (const Launch &launch : impl_->launches)
    if (!launch.refusal.empty())
      refused.push_back({launch.name, launch.origin.text, launch.refusal, launch.refuses_candidates});
  return refused;
}

std::vector<DeviceLoop> Executable::device_loops() const {
  std::vector<DeviceLoop> loops;
  for (const Segment &segment : impl_->segments) {
    const Launch &launch = impl_->launches[segment.first];
    if (launch.decides())
      loops.push_back({launch.name, launch.origin.text, impl_->devices[launch.device].device->refuses_loops(),
                       launch.parts != nullptr});
  }
  return loops;
}

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
  const auto suits = [&](std::string_view target) {
    int best = 0;
    for (const auto &[logical, device] : devices)
      best = std::max(best, device && !device->is_host() ? device->suits(target) : 0);
    return best;
  };
  Expected<PlanSections> sections = read_sections(*package, function, suits);
  if (!sections)
    return sections.status();
  const fb::Plan &plan = *sections->plan;
  const bool kernels = has_kernels(plan);
  if (!image && kernels) {
    Expected<std::shared_ptr<const Image>> loaded = image_of(*package, plan);
    if (!loaded)
      return loaded.status();
    image = *std::move(loaded);
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
    return in_package(status, *impl->package);
  if (length(plan.symbols()) == 0) {
    if (Status status = impl->build(plan); !status)
      return in_package(status, *impl->package);
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

Status Executable::Impl::build_numbers(std::vector<uint64_t> bytes) {
  own_plan = std::move(bytes);
  Expected<const fb::Plan *> plan = read_plan(std::as_bytes(std::span(own_plan)));
  if (!plan)
    return plan.status();
  if (Status status = verify_plan(**plan, constant_bytes, image.get()); !status)
    return status;
  return build(**plan);
}

Expected<std::shared_ptr<const Executable::Impl>> Executable::Impl::load_body(const fb::Plan &around,
                                                                              std::string_view name) {
  if (const auto found = bodies->find(name); found != bodies->end())
    if (const std::shared_ptr<const Impl> body = found->second.lock();
        body && depth + 1 + body->height <= mostNested) {
      height = std::max(height, body->height + 1);
      return body;
    }
  if (depth >= mostNested)
    return Status::error("the plan of '" + signature.function + "' is in " + std::to_string(mostNested) +
                             " loops and branches, or is the body of one in itself",
                         "WEFT-L008");
  Expected<PlanSections> sections = sections_of(*package, name, text(around.target()), "body.");
  if (!sections)
    return sections.status();
  const fb::Plan &plan = *sections->plan;
  auto body = std::make_shared<Impl>();
  body->package = package;
  body->image = image;
  body->depth = depth + 1;
  body->bodies = bodies;
  const bool kernels = has_kernels(plan);
  if (!body->image && kernels) { // the function around it has none
    Expected<std::shared_ptr<const Image>> loaded = image_of(*package, plan);
    if (!loaded)
      return loaded.status();
    body->image = *std::move(loaded);
  }
  if (Status status = check_seal(*package, name, *sections, kernels ? body->image.get() : nullptr); !status)
    return status;
  if (Status status = check_plan(*package, name, *sections, body->image.get()); !status)
    return status;
  body->constants = sections->constants.data();
  body->constant_bytes = sections->constants.size();
  DeviceMap map;
  for (const FunctionDevice &device : devices)
    map.emplace(device.name, device.device);
  if (Status status = body->place(plan, map); !status)
    return status;
  Status built;
  if (length(plan.symbols())) {
    // The sizes of the function around it, by name.
    std::vector<int64_t> values;
    for (uint32_t i = 0; i < length(plan.symbols()); ++i) {
      const std::string symbol = text(plan.symbols()->Get(i)->name());
      const auto known = std::ranges::find(symbol_values, symbol, &std::pair<std::string, int64_t>::first);
      if (known == symbol_values.end())
        return Status::error("the body '" + std::string(name) + "' of a loop has the size '" + symbol +
                                 "', which the function around it has not",
                             "WEFT-L008");
      values.push_back(known->second);
      body->symbol_values.push_back(*known);
    }
    Expected<std::vector<uint64_t>> numbers = plan_of_numbers(plan, values);
    built = numbers ? body->build_numbers(*std::move(numbers)) : numbers.status();
  } else {
    built = body->build(plan);
  }
  if (!built)
    return built;
  height = std::max(height, body->height + 1);
  (*bodies)[std::string(name)] = body;
  return std::shared_ptr<const Impl>(std::move(body));
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
  made->constant_bytes = impl.constant_bytes;
  for (size_t i = 0; i < key.size(); ++i)
    made->symbol_values.emplace_back(impl.signature.symbols[i].name, key[i]);
  if (Status status = made->build_numbers(*std::move(bytes)); !status)
    return in_package(status, *impl.package);
  auto instance = std::make_shared<Executable>(std::move(made));
  const std::lock_guard lock(impl.instances_mutex);
  impl.instances.emplace_front(key, instance);
  if (impl.instances.size() > capacity)
    impl.instances.pop_back();
  return instance;
}

Expected<Signature> read_signature(const Package &package, std::string_view function) {
  Expected<PlanSections> sections = read_sections(package, function);
  if (!sections && sections.status().code() == "WEFT-L010")
    if (Expected<PlanSections> of_gpu = read_sections(package, function, [](std::string_view) { return 1; }))
      sections = std::move(of_gpu);
  if (!sections)
    return sections.status();
  if (Status status = check_plan(package, function, *sections, nullptr); !status)
    return status;
  return signature_of(*sections->plan);
}

} // namespace weft::runtime
