//===- CudaDevice.cpp - An NVIDIA GPU -------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/CudaDevice.h"

#include "runtime/cuda/device/CudaStream.h"
#include "runtime/cuda/device/Devices.h"

#include <charconv>
#include <cstdlib>

namespace weft::runtime {
namespace {

/// 90 for "sm_90"; 0 for anything else.
int capability_in(std::string_view architecture) {
  constexpr std::string_view prefix = "sm_";
  int capability = 0;
  if (!architecture.starts_with(prefix))
    return 0;
  const char *const end = architecture.data() + architecture.size();
  const auto [last, error] = std::from_chars(architecture.data() + prefix.size(), end, capability);
  return error == std::errc() && last == end ? capability : 0;
}

/// What the value of a variable of the environment says, or `otherwise` if it is not set.
bool is_on(const char *value, bool otherwise) {
  return value && *value ? std::string_view(value) != "0" : otherwise;
}

} // namespace

CudaDevice::CudaDevice(std::unique_ptr<CudaContext> context, int capability)
    : Device(context->name()), context_(std::move(context)), capability_(capability),
      code_("cuda:sm_" + std::to_string(nearest_cuda_target(capability_))),
      blocking_(is_on(std::getenv("WEFT_LAUNCH_BLOCKING"), false)),
      graphs_(!blocking_ && is_on(std::getenv("WEFT_CUDA_GRAPHS"), true)),
      loops_(graphs_ && is_on(std::getenv("WEFT_CUDA_LOOPS"), true)) {}

Expected<CudaDevice *> CudaDevice::open(const DriverTable &table, int ordinal) {
  Expected<std::unique_ptr<CudaContext>> context = CudaContext::open(table, ordinal);
  if (!context)
    return context.status();
  const Expected<CudaProperties> properties = cuda_properties(ordinal);
  if (!properties)
    return properties.status();
  auto *const device = new CudaDevice(*std::move(context), properties->capability);
  if (Status status = device->prepare(); !status) {
    delete device; // the next caller tries again
    return status;
  }
  return device;
}

CudaDevice::~CudaDevice() {
  const ContextScope scope(*context_);
  if (scope.status().ok() && copies_)
    (void)context_->table().cuStreamDestroy(copies_);
}

Status CudaDevice::prepare() {
  const ContextScope scope(*context_);
  if (!scope.status().ok())
    return scope.status();
  // The allocator asks again, and has no way to tell an error: it would find no memory.
  size_t free = 0, total = 0;
  if (Status status = context_->check(context_->table().cuMemGetInfo(&free, &total), "asking for its memory");
      !status)
    return status;
  if (nearest_cuda_target(capability_) == 0)
    return Status::error("'" + name() + "' has compute capability " + std::to_string(capability_ / 10) + "." +
                             std::to_string(capability_ % 10) +
                             ", and Weft needs 7.5 or more: use another GPU, or \"cpu\"",
                         "WEFT-E006");
  if (Status status = prepare_memory(); !status)
    return status;
  const DriverTable &table = context_->table();
  if (Status status = context_->check(table.cuStreamCreateWithPriority(&copies_, CU_STREAM_NON_BLOCKING, 0),
                                      "making a stream");
      !status)
    return status;
  Expected<std::unique_ptr<const CallCode>> code = CallCode::load(*context_);
  if (!code)
    return code.status();
  call_code_ = *std::move(code);
  const Expected<MemoryBlock> word = allocator_->allocate(sizeof(uint64_t) + GraphLoops::bytes);
  if (!word)
    return word.status();
  never_failed_ = address_of(word->data);
  products_ = std::make_unique<CublasLtProducts>(*context_, capability_, never_failed_);
  const uint64_t key = FailureRecord::noKey;
  return copy_now(word->data, &key, sizeof key, CopyDirection::host_to_device);
}

Status CudaDevice::prepare_memory() {
  const CachingAllocator &host = CachingAllocator::get();
  const AllocatorConfig &config = host.config();
  if (config.expandable_segments)
    return Status::error("WEFT_ALLOC_CONF: '" + name() +
                             "' has no 'expandable_segments': leave the option out, or take "
                             "backend:cudaMallocAsync, whose pool grows",
                         "WEFT-M002");
  RawAllocator raw{
      .user = this, .allocate = allocate_segment, .free = free_segment, .measure = measure, .health = health};
  if (config.driver_pools) {
    Expected<std::unique_ptr<DriverPool>> pool = DriverPool::open(*context_);
    if (!pool)
      return pool.status();
    pool_ = *std::move(pool);
    raw = pool_->raw();
  }
  // The driver's pool keeps what is freed.
  allocator_ =
      std::make_unique<CachingAllocator>(config, host.is_caching() && !config.driver_pools, name(), raw);
  pinned_ = std::make_unique<CachingAllocator>(
      AllocatorConfig(), host.is_caching(), "host memory pinned for " + name(),
      RawAllocator{.user = this, .allocate = allocate_pinned, .free = free_pinned, .health = health});
  return {};
}

int CudaDevice::suits(std::string_view target) const {
  constexpr std::string_view prefix = "cuda:";
  if (!target.starts_with(prefix))
    return 0;
  const int wanted = capability_in(target.substr(prefix.size()));
  if (wanted == 0 || wanted > capability_)
    return 0;
  constexpr int sameMajor = 1000;
  return wanted + (wanted / 10 == capability_ / 10 ? sameMajor : 0);
}

Expected<std::shared_ptr<const DeviceCode>>
CudaDevice::load(const std::shared_ptr<const DeviceImage> &image) {
  const std::lock_guard lock(code_mutex_);
  std::erase_if(loaded_, [](const auto &known) { return known.second.expired(); });
  if (const auto known = loaded_.find(image.get()); known != loaded_.end())
    if (std::shared_ptr<const DeviceCode> code = known->second.lock())
      return code;
  const ContextScope scope(*context_);
  if (!scope.status().ok())
    return scope.status();
  const int made_for = capability_in(image->architecture());
  const bool machine_code = made_for / 10 == capability_ / 10 && made_for <= capability_;
  Expected<std::shared_ptr<const CudaCode>> code = CudaCode::load(*context_, image, machine_code);
  if (!code)
    return code.status();
  loaded_.insert_or_assign(image.get(), *code);
  return std::shared_ptr<const DeviceCode>(*std::move(code));
}

Expected<DeviceContraction> CudaDevice::contraction(const ContractionShape &shape,
                                                    const ContractionChoice &choice,
                                                    const ContractionAlignment &alignment) {
  const ContextScope scope(*context_);
  if (!scope.status().ok())
    return scope.status();
  return products_->find(shape, choice, alignment);
}

const GraphLoops &CudaDevice::graph_loops() {
  // A refusal may come from a lack of memory. Another trial follows when loops have asked so often.
  constexpr size_t mostTrials = 4, asksBetween = 100;
  const std::lock_guard lock(loops_mutex_);
  if (!loops_ && trials_.empty())
    trials_.push_back(std::make_unique<GraphLoops>(*context_, std::string(GraphLoops::switchedOff)));
  const bool again = loops_ && !trials_.empty() && !trials_.back()->refusal().empty() &&
                     trials_.size() < mostTrials && ++asked_ % asksBetween == 0;
  if (trials_.empty() || again)
    trials_.push_back(GraphLoops::probe(*context_, never_failed_, *allocator_));
  return *trials_.back();
}

std::string CudaDevice::refuses_loops() {
  const ContextScope scope(*context_);
  return scope.status().ok() ? graph_loops().refusal() : std::string(scope.status().message());
}

Expected<std::unique_ptr<DeviceStream>> CudaDevice::make_stream_with_priority(int priority) {
  return CudaStream::make(*this, priority);
}

Expected<int> CudaDevice::first_priority() {
  const ContextScope scope(*context_);
  if (!scope.status().ok())
    return scope.status();
  int last = 0, first = 0;
  if (Status status = context_->check(context_->table().cuCtxGetStreamPriorityRange(&last, &first),
                                      "asking for its priorities of streams");
      !status)
    return status;
  return first;
}

Expected<std::unique_ptr<DeviceStream>> CudaDevice::adopt_stream(void *native) {
  return CudaStream::adopt(*this, static_cast<CUstream>(native));
}

Status CudaDevice::copy_now(void *to, const void *from, size_t bytes, CopyDirection direction) {
  if (bytes == 0)
    return {};
  const ContextScope scope(*context_);
  if (!scope.status().ok())
    return scope.status();
  const std::lock_guard lock(copies_mutex_);
  Status status = issue_copy(*context_, copies_, to, from, bytes, direction);
  if (status.ok())
    status = context_->end_wait(context_->table().cuStreamSynchronize(copies_), "copying");
  return status;
}

Expected<CUevent> CudaDevice::take_event(bool timed) {
  {
    const std::lock_guard lock(events_mutex_);
    std::vector<CUevent> &events = timed ? timed_events_ : events_;
    if (!events.empty()) {
      const CUevent event = events.back();
      events.pop_back();
      return event;
    }
  }
  CUevent event = nullptr;
  if (Status status = context_->check(
          context_->table().cuEventCreate(&event, timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING),
          "making an event");
      !status)
    return status;
  return event;
}

void CudaDevice::give_event(CUevent event, bool timed) noexcept {
  try {
    const std::lock_guard lock(events_mutex_);
    (timed ? timed_events_ : events_).push_back(event);
    return;
  } catch (...) { // NOLINT(bugprone-empty-catch): there is no memory to keep it
  }
  (void)context_->table().cuEventDestroy(event);
}

void *CudaDevice::allocate_segment(void *device, size_t bytes, size_t) {
  const CudaContext &context = *static_cast<CudaDevice *>(device)->context_;
  const ContextScope scope(context);
  CUdeviceptr address = 0;
  // An error of earlier work may be told here first, and is remembered.
  if (!scope.status().ok() ||
      !context.check(context.table().cuMemAlloc(&address, bytes), "allocating memory").ok())
    return nullptr;
  return reinterpret_cast<void *>(address);
}

void CudaDevice::free_segment(void *device, void *data, size_t) {
  const CudaContext &context = *static_cast<CudaDevice *>(device)->context_;
  const ContextScope scope(context);
  if (scope.status().ok())
    (void)context.table().cuMemFree(address_of(data));
}

MemoryAmount CudaDevice::measure(void *device) {
  const CudaContext &context = *static_cast<CudaDevice *>(device)->context_;
  const ContextScope scope(context);
  size_t free = 0, total = 0;
  if (!scope.status().ok() || context.table().cuMemGetInfo(&free, &total) != CUDA_SUCCESS)
    return {};
  return {total, free};
}

Status CudaDevice::health(void *device) { return static_cast<CudaDevice *>(device)->context_->usable(); }

void *CudaDevice::allocate_pinned(void *device, size_t bytes, size_t) {
  const CudaContext &context = *static_cast<CudaDevice *>(device)->context_;
  const ContextScope scope(context);
  void *data = nullptr;
  if (!scope.status().ok() ||
      !context.check(context.table().cuMemHostAlloc(&data, bytes, CU_MEMHOSTALLOC_PORTABLE), "pinning memory")
           .ok())
    return nullptr;
  return data;
}

void CudaDevice::free_pinned(void *device, void *data, size_t) {
  const CudaContext &context = *static_cast<CudaDevice *>(device)->context_;
  const ContextScope scope(context);
  if (scope.status().ok())
    (void)context.table().cuMemFreeHost(data);
}

} // namespace weft::runtime
