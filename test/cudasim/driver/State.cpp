//===- State.cpp - What the driver holds ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/State.h"

#include "test/cudasim/driver/Capture.h"
#include "test/cudasim/driver/Settings.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace weft::cusim {
namespace {

/// Devices have addresses of their own, so that a pointer says whose it is.
constexpr uint64_t addressesOfDevice = uint64_t(1) << 40;
/// Addresses are not used twice, so a device has more of them than bytes.
constexpr uint64_t capacityOfDevice = uint64_t(1) << 38;
/// A pool reserves memory in such pieces.
constexpr uint64_t pieceOfPool = uint64_t(2) << 20;

uint64_t roundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

uint64_t firstAddress(int ordinal) { return cudasim::Memory::base + uint64_t(ordinal) * addressesOfDevice; }

std::string uuidOf(int physical) {
  char text[48];
  std::snprintf(text, sizeof text, "GPU-63757369-6d00-0000-0000-0000000000%02x", unsigned(physical));
  return text;
}

/// The devices that CUDA_VISIBLE_DEVICES lets a program see, in its order: numbers, or the beginning of a
/// UUID. As with the driver, the list ends at the first entry that is no device.
std::vector<int> visibleDevices() {
  std::vector<int> found;
  const int count = int(settings().devices);
  if (!settings().visibleDevices) {
    for (int k = 0; k < count; ++k)
      found.push_back(k);
    return found;
  }
  std::istringstream entries(*settings().visibleDevices);
  for (std::string entry; std::getline(entries, entry, ',');) {
    int device = -1;
    for (int k = 0; k < count && device < 0; ++k)
      if (entry == std::to_string(k) || (entry.starts_with("GPU-") && uuidOf(k).starts_with(entry)))
        device = k;
    if (device < 0)
      break;
    if (std::find(found.begin(), found.end(), device) != found.end())
      return {}; // a device that is named twice makes the whole list wrong
    found.push_back(device);
  }
  return found;
}

void reportAtExit() {
  std::istringstream lines(state().leaks());
  for (std::string line; std::getline(lines, line);) {
    writeLog("leak: " + line);
    if (settings().leaks)
      complain("leak: " + line);
  }
}

constexpr DeviceNumbers numbersOfDevices[] = {
#include "test/cudasim/DeviceNumbers.inc"
};

} // namespace

const DeviceNumbers &numbersOf(uint64_t computeCapability) {
  const DeviceNumbers *best = &numbersOfDevices[0];
  for (const DeviceNumbers &one : numbersOfDevices)
    if (std::strtoull(one.name + 3, nullptr, 10) <= computeCapability) // after "sm_"
      best = &one;
  return *best;
}

//===----------------------------------------------------------------------===//
// Devices and their memory
//===----------------------------------------------------------------------===//

Device::Device(int ordinal, int physical)
    : ordinal(ordinal), physical(physical), numbers(numbersOf(settings().computeCapability)),
      memory(capacityOfDevice, firstAddress(ordinal)) {}

uint64_t Device::usedBytes() const {
  uint64_t bytes = memory.liveBytes() + graphBytes;
  for (const Pool *pool : pools)
    bytes += pool->reserved - pool->used;
  return bytes;
}

Allocations::iterator Device::find(uint64_t address) {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin())
    return allocations.end();
  --after;
  const bool has = address - after->first < after->second.bytes && !after->second.isGone;
  return has ? after : allocations.end();
}

uint64_t Device::allocate(uint64_t bytes, Pool *pool) {
  uint64_t more = bytes; // that the device has to have
  if (pool) {
    const uint64_t needed = roundUp(pool->used + bytes, pieceOfPool);
    more = needed > pool->reserved ? needed - pool->reserved : 0;
    if (pool->largest && needed > pool->largest)
      return 0;
  }
  auto fits = [&] { return more <= settings().memory && usedBytes() <= settings().memory - more; };
  // What other pools do not use is given back if it is needed.
  for (Pool *one : pools)
    if (!fits() && one != pool)
      one->trim(0);
  const uint64_t address = fits() ? memory.allocate(bytes) : 0;
  if (!address)
    return 0;
  if (pool) {
    pool->reserved += more;
    pool->used += bytes;
    pool->mostUsed = std::max(pool->mostUsed, pool->used);
    pool->mostReserved = std::max(pool->mostReserved, pool->reserved);
  }
  allocations[address] = {bytes, pool};
  return address;
}

void Device::free(Allocations::iterator allocation) {
  memory.free(allocation->first);
  if (Pool *pool = allocation->second.pool) {
    pool->used -= allocation->second.bytes;
    if (pool->isDestroyed && !pool->used) {
      std::erase(pools, pool);
      state().destroy(pool);
    }
  }
  allocations.erase(allocation);
}

std::string Device::uuid() const { return uuidOf(physical); }

void Pool::trim(uint64_t keep) { reserved = std::min(reserved, roundUp(std::max(used, keep), pieceOfPool)); }

//===----------------------------------------------------------------------===//
// Contexts and streams
//===----------------------------------------------------------------------===//

Stream::Stream(Context &context, bool isBlocking, int priority)
    : Object("stream"), context(context), isBlocking(isBlocking), priority(priority),
      chain(state().schedule.newChain()) {
  context.streams.insert(this);
}

void Context::poison(CUresult code, const std::string &message) {
  if (error != CUDA_SUCCESS)
    return;
  error = code;
  complain(message + "; from now on every call on device " + std::to_string(device.ordinal) +
           " returns error " + std::to_string(int(code)));
}

std::vector<ItemPointer> Context::predecessorsOn(const Stream &stream) const {
  std::vector<ItemPointer> before{stream.last};
  if (&stream == legacy) {
    for (const Stream *one : streams)
      if (one->isBlocking)
        before.push_back(one->last);
    for (const Ended &one : ended)
      if (one.isBlocking)
        before.push_back(one.last);
  } else if (stream.isBlocking) {
    before.push_back(legacy->last);
  }
  return before;
}

std::vector<ItemPointer> Context::lastItems() const {
  std::vector<ItemPointer> items;
  for (const Stream *one : streams)
    items.push_back(one->last);
  for (const Ended &one : ended)
    items.push_back(one.last);
  return items;
}

void Context::destroy(Stream *stream) {
  if (stream->last)
    ended.push_back({stream->last, stream->isBlocking});
  streams.erase(stream);
  state().destroy(stream);
}

ItemPointer Context::enqueue(Stream &stream, const std::string &what, std::function<Outcome()> run,
                             const std::vector<ItemPointer> &more, bool callsHost) {
  std::vector<ItemPointer> before = predecessorsOn(stream);
  before.insert(before.end(), more.begin(), more.end());
  const std::string place = &stream == legacy ? "stream 0" : stream.name();
  ItemPointer item = state().schedule.add(
      {this, stream.chain, what + " on " + place, std::move(before), std::move(run), callsHost});
  stream.last = item;
  if (settings().eager)
    state().schedule.run(*currentCall().lock, item);
  return item;
}

bool Stream::leave(Context &released) {
  if (&released != &context || this == context.legacy)
    return false;
  context.streams.erase(this);
  return true;
}

void Context::release() {
  const std::vector<std::shared_ptr<Capture>> captures = state().captures;
  for (const std::shared_ptr<Capture> &capture : captures)
    if (&capture->origin->context == this)
      leaveCapture(*capture->origin);
  state().each([this](Object &object) { object.isGone |= object.leave(*this); });
  // A pool is the device's, and what it gave as well.
  for (auto &[address, allocation] : device.allocations)
    if (!allocation.pool && !std::exchange(allocation.isGone, true))
      device.memory.free(address);
  for (auto &[address, range] : state().pinned)
    range.isGone |= range.device == &device;
}

void Context::trimPools() {
  for (Pool *pool : device.pools)
    pool->trim(pool->threshold);
}

//===----------------------------------------------------------------------===//
// The state
//===----------------------------------------------------------------------===//

CUresult State::start() {
  if (started)
    return CUDA_SUCCESS;
  if (!settings().problem.empty())
    return refuse(CUDA_ERROR_INVALID_VALUE, settings().problem);
  if (!cudasim::processorSuffices())
    return refuse(CUDA_ERROR_SYSTEM_NOT_READY,
                  "this processor lacks AVX2, FMA or F16C, for which the driver is compiled");
  const std::vector<int> visible = visibleDevices();
  if (visible.empty())
    return CUDA_ERROR_NO_DEVICE;
  for (int physical : visible) {
    devices.push_back(std::make_unique<Device>(int(devices.size()), physical));
    Device &device = *devices.back();
    device.defaultPool = make<Pool>(device);
    device.defaultPool->isProgram = false;
    device.pools.push_back(device.defaultPool);
    device.primary = make<Context>(device);
    device.primary->legacy = make<Stream>(*device.primary, /*isBlocking=*/false, 0);
    device.primary->legacy->isProgram = false;
  }
  counts["stream"] = 0; // those of the program are counted from 1
  std::atexit(reportAtExit);
  started = true;
  return CUDA_SUCCESS;
}

std::string State::nameOf(const void *handle) const {
  auto found = objects.find(handle);
  return found == objects.end() ? "" : found->second->name();
}

Device *State::deviceOf(uint64_t address) const {
  if (address < cudasim::Memory::base)
    return nullptr;
  const uint64_t ordinal = (address - cudasim::Memory::base) / addressesOfDevice;
  return ordinal < devices.size() ? devices[ordinal].get() : nullptr;
}

bool State::isPinned(uint64_t address, uint64_t bytes) const {
  auto after = pinned.upper_bound(address);
  if (after == pinned.begin())
    return false;
  --after;
  return !after->second.isGone && address <= after->second.end && bytes <= after->second.end - address;
}

Stream *State::streamOf(CUstream handle) {
  if (!handle || handle == CU_STREAM_LEGACY)
    return currentContext()->legacy;
  if (handle == CU_STREAM_PER_THREAD) {
    refuse(CUDA_ERROR_NOT_SUPPORTED, "threads have no default streams of their own; create a stream");
    return nullptr;
  }
  Stream *found = find<Stream>(handle);
  if (!found)
    refuse(CUDA_ERROR_INVALID_HANDLE, "the stream does not exist, or was destroyed");
  return found;
}

std::string State::leaks() const {
  std::string text;
  for (const auto &device : devices)
    for (const auto &[address, allocation] : device->allocations)
      if (!allocation.isFreed)
        text += "allocation of " + std::to_string(allocation.bytes) + " bytes at " + hex(address) + "\n";
  for (const auto &[address, range] : pinned)
    text += std::string(range.isOwned ? "allocated" : "registered") + " host memory of " +
            std::to_string(range.end - address) + " bytes\n";
  std::set<std::pair<std::string, uint64_t>> live; // in an order that does not depend on addresses
  for (const auto &[handle, object] : objects)
    if (object->isProgram)
      live.emplace(object->kind, object->number);
  for (const auto &[kind, number] : live)
    text += kind + " " + std::to_string(number) + "\n";
  return text;
}

State &state() {
  static State *const made = new State;
  return *made;
}

Context *&currentContext() {
  thread_local Context *current = nullptr;
  return current;
}

Call &currentCall() {
  thread_local Call call;
  return call;
}

CUresult checkContext() {
  const Context *context = currentContext();
  if (!state().isStarted())
    return refuse(CUDA_ERROR_NOT_INITIALIZED, "call cuInit first");
  if (!context)
    return refuse(CUDA_ERROR_INVALID_CONTEXT, "this thread has no context: call cuCtxSetCurrent first");
  if (!context->device.retained)
    return refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context of this thread was released");
  return context->error;
}

CUresult refuse(CUresult code, const std::string &why) {
  complain(currentCall().text() + ": " + why);
  return code;
}

void waitFor(const std::vector<ItemPointer> &items) {
  for (const ItemPointer &one : items)
    state().schedule.wait(*currentCall().lock, one);
}

void waitForAll(Context &context) {
  state().schedule.waitAll(*currentCall().lock, context);
  context.ended.clear();
}

} // namespace weft::cusim
