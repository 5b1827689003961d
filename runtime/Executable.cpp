//===- Executable.cpp - A compiled function, ready to call ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Executable.h"

#include "runtime/Contraction.h"
#include "runtime/DynamicPlan.h"
#include "runtime/Executor.h"
#include "runtime/PlanVerifier.h"
#include "runtime/Profiler.h"
#include "runtime/plan_generated.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <immintrin.h>
#include <list>
#include <mutex>

namespace weft::runtime {
namespace {

constexpr size_t lineBytes = 64;
constexpr int64_t copyChunkBytes = 256 << 10;

size_t align_line(size_t bytes) { return (bytes + lineBytes - 1) / lineBytes * lineBytes; }

std::string text(const flatbuffers::String *string) { return string ? string->str() : std::string(); }

template <typename T> uint32_t length(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

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

// One check record to a cache line, so that threads do not share them.
struct alignas(lineBytes) CheckSlot {
  CheckRecord record;
};

void replace_all(std::string &message, std::string_view from, const std::string &to) {
  for (size_t at = message.find(from); at != std::string::npos; at = message.find(from, at + to.size()))
    message.replace(at, from.size(), to);
}

// Where a pointer of the plan comes from: arguments, results, the arena, constants, in this order.
struct Operand {
  uint32_t base;
  uint64_t offset;
};

enum class LaunchKind : uint8_t { kernel, contraction, copy };

struct Launch {
  LaunchKind kind = LaunchKind::kernel;
  bool may_fail = false;
  uint32_t first_operand = 0; // in Impl::operands
  // Kernel
  KernelFn function = nullptr;
  const int64_t *sizes = nullptr;
  int64_t tasks = 0, grain = 1;
  // Contraction: operands a, b, c, bias
  std::shared_ptr<const Contraction> contraction;
  bool bias = false;
  // Copy
  int64_t copy_bytes = 0;
  // For the profiler
  std::string name, location;
  uint64_t bytes = 0, flops = 0;
};

struct CheckText {
  std::string message, location;
};

} // namespace

struct Executable::Impl {
  std::shared_ptr<const Package> package; // keeps constants and sizes mapped
  std::shared_ptr<const Image> image;
  Signature signature;
  std::vector<Launch> launches;
  std::vector<Operand> operands;
  std::vector<CheckText> checks;
  std::vector<uint32_t> result_labels;
  const std::byte *constants = nullptr;
  uint64_t arena_bytes = 0, arena_lower_bound = 0;
  size_t kernel_scratch = 0; // per worker
  double cost_ns = 0;
  bool any_donated = false;
  bool any_fallible = false;
  std::shared_ptr<std::atomic<uint64_t>> calls = std::make_shared<std::atomic<uint64_t>>(0);
  // Of a function with symbols: its plan, and executables for the sizes that were used last, newest first.
  const fb::Plan *dynamic = nullptr;
  uint64_t constant_bytes = 0;
  std::mutex instances_mutex;
  std::list<std::pair<std::vector<int64_t>, std::shared_ptr<Executable>>> instances;
  // Of one of these: the plan of numbers.
  std::vector<uint64_t> own_plan;

  Status build(const fb::Plan &plan);
  void describe(const fb::Plan &plan);
  Status execute(const std::shared_ptr<Buffer> *arguments, const std::shared_ptr<Buffer> *results,
                 Queue &queue, bool serial, uint64_t call) const;
  Status check_arguments(std::span<const std::shared_ptr<Buffer>> arguments) const;
  Status check_donations(std::span<const std::shared_ptr<Buffer>> arguments) const;
  Status failed_check(const CheckRecord &record, const Launch &launch, uint64_t call) const;
  std::string call_name(uint64_t call) const {
    return call == 0 ? "" : "call " + std::to_string(call) + " of '" + signature.function + "' failed: ";
  }
  size_t contraction_scratch(int width) const {
    size_t bytes = 0;
    for (const Launch &launch : launches)
      if (launch.contraction)
        bytes = std::max(bytes, launch.contraction->scratch_bytes(width));
    return align_line(bytes);
  }
};

Executable::Executable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Executable::~Executable() = default;
const Signature &Executable::signature() const { return impl_->signature; }
uint64_t Executable::arena_bytes() const { return impl_->arena_bytes; }
uint64_t Executable::arena_lower_bound_bytes() const { return impl_->arena_lower_bound; }
double Executable::estimated_ns() const { return impl_->cost_ns; }
size_t Executable::launch_count() const { return impl_->launches.size(); }

Expected<std::shared_ptr<Executable>> Executable::load(std::shared_ptr<const Package> package,
                                                       std::string_view function) {
  return load(std::move(package), function, nullptr);
}

Expected<std::shared_ptr<Executable>> Executable::load(std::shared_ptr<const Package> package,
                                                       std::string_view function,
                                                       std::shared_ptr<const Image> image) {
  const std::string suffix = std::string(function) + ".cpu";
  Expected<std::span<const std::byte>> section = package->section("plan." + suffix);
  if (!section)
    return section.status();
  Expected<const fb::Plan *> plan = read_plan(*section);
  if (!plan)
    return plan.status().context("package '" + package->source() + "', section 'plan." + suffix + "': ");
  auto impl = std::make_unique<Impl>();
  impl->package = package;
  uint64_t constant_bytes = 0;
  for (const std::string &name : {"constants." + suffix, std::string("constants")}) {
    if (!package->contains(name))
      continue;
    Expected<std::span<const std::byte>> constants = package->section(name);
    if (!constants)
      return constants.status();
    impl->constants = constants->data();
    constant_bytes = constants->size();
    break;
  }
  bool kernels = false;
  for (uint32_t i = 0; i < length((*plan)->launches()); ++i)
    kernels |= (*plan)->launches()->Get(i)->op_type() == fb::LaunchOp::KernelLaunch;
  if (!image && kernels) {
    const std::string prefix = (*plan)->image() ? (*plan)->image()->str() : "image.cpu";
    Expected<std::shared_ptr<Image>> loaded = Image::load(*package, prefix);
    if (!loaded)
      return loaded.status();
    image = *loaded;
  }
  impl->image = image;
  if (text((*plan)->function()) != function || text((*plan)->target()) != "cpu")
    return Status::error("package '" + package->source() + "': section 'plan." + suffix +
                             "' holds the plan of '" + text((*plan)->function()) + "' for " +
                             text((*plan)->target()),
                         "WEFT-L008");
  impl->constant_bytes = constant_bytes;
  const std::string where = "package '" + package->source() + "': ";
  if (length((*plan)->symbols()) == 0) {
    if (Status status = verify_plan(**plan, constant_bytes, image.get()); !status)
      return status.context(where);
    if (Status status = impl->build(**plan); !status)
      return status.context(where);
    return std::make_shared<Executable>(std::move(impl));
  }
  if (Status status = verify_symbols(**plan); !status)
    return status.context(where);
  impl->dynamic = *plan;
  impl->describe(**plan);
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

void Executable::Impl::describe(const fb::Plan &plan) {
  signature.function = text(plan.function());
  signature.target = text(plan.target());
  HostAllocator &allocator = HostAllocator::get();
  for (uint32_t i = 0; i < length(plan.arguments()); ++i) {
    const fb::Argument *argument = plan.arguments()->Get(i);
    signature.arguments.push_back({text(argument->name()), tensor_info(*argument->type()),
                                   static_cast<ArgumentRole>(argument->role()), argument->donated()});
    any_donated |= argument->donated();
  }
  for (uint32_t i = 0; i < length(plan.results()); ++i) {
    const fb::Result *result = plan.results()->Get(i);
    signature.results.push_back({text(result->name()), tensor_info(*result->type()), result->tied_to()});
    result_labels.push_back(
        allocator.intern_label("result '" + text(result->name()) + "' of '" + signature.function + "'"));
  }
  for (uint32_t i = 0; i < length(plan.symbols()); ++i) {
    const fb::Symbol *symbol = plan.symbols()->Get(i);
    signature.symbols.push_back({text(symbol->name()), symbol->min(), symbol->max()});
  }
}

Status Executable::Impl::build(const fb::Plan &plan) {
  describe(plan);
  HostAllocator &allocator = HostAllocator::get();
  for (uint32_t i = 0; i < length(plan.checks()); ++i)
    checks.push_back({text(plan.checks()->Get(i)->message()), text(plan.checks()->Get(i)->location())});
  arena_bytes = align_line(plan.arena_bytes());
  arena_lower_bound = plan.arena_lower_bound_bytes();
  if (arena_bytes > allocator.limit())
    return Status::error("CPU out of memory. Tried to allocate " + std::to_string(arena_bytes) +
                             " bytes for the temporaries of '" + signature.function + "'; the limit is " +
                             std::to_string(allocator.limit()) + " bytes",
                         "WEFT-M001");

  const auto argument_count = static_cast<uint32_t>(signature.arguments.size());
  const auto result_count = static_cast<uint32_t>(signature.results.size());
  const auto add_operand = [&](uint32_t index) -> uint64_t {
    const fb::Buffer *buffer = plan.buffers()->Get(index);
    uint32_t base = argument_count + result_count;
    switch (buffer->storage()) {
    case fb::Storage::argument:
      base = buffer->index();
      break;
    case fb::Storage::result:
      base = argument_count + buffer->index();
      break;
    case fb::Storage::arena:
      break;
    case fb::Storage::constant:
      ++base;
      break;
    }
    operands.push_back({base, buffer->offset()});
    return buffer->bytes();
  };
  for (uint32_t i = 0; i < length(plan.launches()); ++i) {
    const fb::Launch *source = plan.launches()->Get(i);
    Launch launch;
    launch.first_operand = static_cast<uint32_t>(operands.size());
    launch.may_fail = source->may_fail();
    any_fallible |= launch.may_fail;
    launch.name = text(source->name());
    launch.location = text(source->location());
    launch.flops = source->flops();
    uint64_t touched = 0;
    if (const fb::KernelLaunch *kernel = source->op_as_KernelLaunch()) {
      Expected<KernelFn> function = image->find(kernel->symbol()->string_view());
      if (!function)
        return function.status();
      launch.function = *function;
      if (launch.name.empty())
        launch.name = kernel->symbol()->str();
      launch.sizes = kernel->sizes() ? kernel->sizes()->data() : nullptr;
      launch.tasks = kernel->tasks();
      launch.grain = kernel->grain();
      kernel_scratch = std::max(kernel_scratch, align_line(kernel->scratch_bytes()));
      for (uint32_t j = 0; j < length(kernel->buffers()); ++j)
        touched += add_operand(kernel->buffers()->Get(j));
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
      shape.relu = product->relu();
      Expected<std::shared_ptr<const Contraction>> contraction = Contraction::get(shape);
      if (!contraction)
        return contraction.status();
      launch.contraction = *contraction;
      if (launch.name.empty())
        launch.name = "contraction";
      for (uint32_t buffer : {product->a(), product->b(), product->c()})
        touched += add_operand(buffer);
      if (launch.bias)
        touched += add_operand(static_cast<uint32_t>(product->bias()));
      launch.flops = std::max<uint64_t>(launch.flops,
                                        static_cast<uint64_t>(2 * shape.batch * shape.m * shape.n * shape.k));
    } else {
      const fb::CopyLaunch *copy = source->op_as_CopyLaunch();
      launch.kind = LaunchKind::copy;
      if (launch.name.empty())
        launch.name = "copy";
      launch.copy_bytes = static_cast<int64_t>(add_operand(copy->source()));
      touched = 2 * static_cast<uint64_t>(launch.copy_bytes);
      add_operand(copy->destination());
    }
    launch.bytes = source->bytes_read() + source->bytes_written();
    if (launch.bytes == 0)
      launch.bytes = touched;
    // Serial speed of one core: 8 bytes or 16 operations a nanosecond.
    cost_ns += 50 + static_cast<double>(std::max(launch.bytes, touched)) / 8 +
               static_cast<double>(launch.flops) / 16;
    launches.push_back(std::move(launch));
  }
  return {};
}

Status Executable::Impl::check_arguments(std::span<const std::shared_ptr<Buffer>> arguments) const {
  const auto complain = [&](size_t i, const std::string &problem) {
    return Status::error("'" + signature.function + "': argument " + std::to_string(i) + " '" +
                         signature.arguments[i].name + "' " + problem);
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Buffer *buffer = arguments[i].get();
    const TensorInfo &type = signature.arguments[i].type;
    if (!buffer)
      return complain(i, "is missing");
    if (buffer->bytes() != type.bytes)
      return complain(i, "takes " + std::to_string(type.bytes) + " bytes, found a buffer of " +
                             std::to_string(buffer->bytes()));
    if (reinterpret_cast<uintptr_t>(buffer->data()) % itemsize(type.dtype) != 0)
      return complain(i, "begins at an address that is no multiple of its element size " +
                             std::to_string(itemsize(type.dtype)) + ": copy it into a buffer of the runtime");
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i]->tracked())
      if (Status status = arguments[i]->settle(); !status)
        return status;
  return any_donated ? check_donations(arguments) : Status();
}

// A donated argument is written, so its memory may be that of no other argument.
Status Executable::Impl::check_donations(std::span<const std::shared_ptr<Buffer>> arguments) const {
  struct Range {
    uintptr_t begin, end;
    uint32_t argument;
  };
  static thread_local std::vector<Range> ranges;
  ranges.clear();
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    const auto begin = reinterpret_cast<uintptr_t>(arguments[i]->data());
    if (arguments[i]->bytes())
      ranges.push_back({begin, begin + arguments[i]->bytes(), i});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) { return a.begin < b.begin; });
  // The ranges that reach furthest so far, of all arguments and of donated ones.
  const Range *reach = nullptr, *donated_reach = nullptr;
  for (const Range &range : ranges) {
    const bool donated = signature.arguments[range.argument].donated;
    const Range *clash = donated ? reach : donated_reach;
    if (clash && clash->end > range.begin) {
      const uint32_t written = donated ? range.argument : clash->argument;
      const uint32_t other = donated ? clash->argument : range.argument;
      return Status::error("'" + signature.function + "': argument " + std::to_string(written) + " '" +
                           signature.arguments[written].name +
                           "' is donated and shares memory with argument " + std::to_string(other) + " '" +
                           signature.arguments[other].name + "': pass a copy");
    }
    if (!reach || range.end > reach->end)
      reach = &range;
    if (donated && (!donated_reach || range.end > donated_reach->end))
      donated_reach = &range;
  }
  return {};
}

Status Executable::Impl::failed_check(const CheckRecord &record, const Launch &launch, uint64_t call) const {
  std::string message =
      "check " + std::to_string(record.check) + " failed at position {position} with value {value}";
  std::string location = launch.location;
  if (record.check >= 1 && static_cast<uint64_t>(record.check) <= checks.size()) {
    const CheckText &check = checks[static_cast<size_t>(record.check - 1)];
    if (!check.message.empty())
      message = check.message;
    if (!check.location.empty())
      location = check.location;
  }
  replace_all(message, "{value}", std::to_string(record.value));
  replace_all(message, "{position}", std::to_string(record.position));
  return Status::error(call_name(call) + message + (location.empty() ? "" : " (at " + location + ")"));
}

Status Executable::Impl::execute(const std::shared_ptr<Buffer> *arguments,
                                 const std::shared_ptr<Buffer> *results, Queue &queue, bool serial,
                                 uint64_t call) const {
  Executor &team = executor();
  const int width = serial ? 1 : team.width();
  const size_t shared_scratch = contraction_scratch(width);
  const size_t total = arena_bytes + shared_scratch +
                       static_cast<size_t>(width) * (kernel_scratch + (any_fallible ? sizeof(CheckSlot) : 0));
  std::byte *arena = nullptr;
  if (total) {
    Expected<std::byte *> memory = queue.arena(total);
    if (!memory)
      return memory.status().context(call_name(call));
    arena = *memory;
  }
  std::byte *const library_scratch = arena + arena_bytes;
  std::byte *const scratch = library_scratch + shared_scratch;
  auto *const slots = reinterpret_cast<CheckSlot *>(scratch + static_cast<size_t>(width) * kernel_scratch);

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

  const bool profiled = Profiler::enabled();
  for (const Launch &launch : launches) {
    void **const at = pointers + launch.first_operand;
    const int64_t begin_ns = profiled ? Profiler::now() : 0;
    switch (launch.kind) {
    case LaunchKind::kernel: {
      if (launch.tasks == 0)
        break;
      if (launch.may_fail)
        for (int worker = 0; worker < width; ++worker)
          slots[worker].record = CheckRecord();
      const auto body = [&](int64_t begin, int64_t end, int worker) {
        const KernelFrame frame = {at, launch.sizes, kernel_imports(),
                                   scratch + static_cast<size_t>(worker) * kernel_scratch,
                                   any_fallible ? &slots[worker].record : nullptr};
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
    }
    if (profiled)
      Profiler::get().record(launch.name, launch.location, begin_ns, Profiler::now(), launch.bytes,
                             launch.flops);
    if (!launch.may_fail || launch.kind != LaunchKind::kernel || launch.tasks == 0)
      continue;
    CheckRecord first;
    for (int worker = 0; worker < width; ++worker) {
      const CheckRecord &record = slots[worker].record;
      if (record.check && (!first.check || record.position < first.position ||
                           (record.position == first.position && record.check < first.check)))
        first = record;
    }
    if (first.check)
      return failed_check(first, launch, call);
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
  if (Status status = impl.check_arguments(arguments); !status)
    return status;
  const uint64_t call =
      options.origin ? options.origin->number : impl.calls->fetch_add(1, std::memory_order_relaxed) + 1;

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
    Expected<std::shared_ptr<Buffer>> buffer =
        Buffer::allocate(signature.results[i].type.bytes, impl.result_labels[i]);
    if (!buffer)
      return buffer.status().context(impl.call_name(call));
    made[i] = *std::move(buffer);
  }

  Queue &queue = options.queue ? *options.queue : Queue::get_default();
  std::vector<Ticket> foreign;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i]->tracked())
      arguments[i]->foreign_tickets(queue, signature.arguments[i].donated, foreign);

  const bool cheap = impl.cost_ns < inlineCostNs;
  bool entered = false;
  if (mode == QueueMode::inlined) {
    queue.enter();
    entered = true;
  } else if (mode == QueueMode::automatic && cheap && foreign.empty()) {
    entered = queue.try_enter();
  }
  if (entered) {
    for (const Ticket &ticket : foreign)
      ticket.wait();
    // A call that this one waited for may have failed since the arguments were checked.
    Status status;
    for (size_t i = 0; i < arguments.size() && status.ok(); ++i)
      if (arguments[i]->tracked())
        status = arguments[i]->settle();
    if (status.ok())
      status = called_at(impl.execute(arguments.data(), made, queue, cheap, call), options.origin);
    queue.leave();
    if (!status)
      return status;
    std::move(made, made + results.size(), results.begin());
    return {};
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
        const Status status = called_at(
            executable->impl_->execute(arguments.data(), results.data(), *queue, serial, number), origin);
        if (status.ok())
          return;
        failure = std::make_shared<Failure>(status);
        queue->report(failure);
      }
      const Signature &signature = executable->impl_->signature;
      for (size_t i = 0; i < results.size(); ++i)
        results[i]->note_failure(failure, /*permanent=*/signature.results[i].tied_to < 0);
      for (size_t i = 0; i < arguments.size(); ++i)
        if (signature.arguments[i].donated)
          arguments[i]->note_failure(failure, /*permanent=*/false);
    }
  };
  const std::vector<std::shared_ptr<Buffer>> held(arguments.begin(), arguments.end());
  const Ticket ticket = queue.submit(Call{shared_from_this(),
                                          held,
                                          {made, made + results.size()},
                                          std::move(foreign),
                                          &queue,
                                          call,
                                          next_sequence(),
                                          options.origin,
                                          cheap});
  for (size_t i = 0; i < held.size(); ++i) {
    held[i]->note_use(ticket);
    if (signature.arguments[i].donated)
      held[i]->note_write(ticket);
  }
  for (size_t i = 0; i < results.size(); ++i)
    made[i]->note_write(ticket);
  std::move(made, made + results.size(), results.begin());
  return {};
}

} // namespace weft::runtime
