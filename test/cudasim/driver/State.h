//===- State.h - What the driver holds -------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices, contexts, streams, events and memory pools, and the one state that has them all. A handle is the
// address of its object; a handle that is no live object of its type is refused. One mutex protects
// everything: each function of the driver holds it from its start to its end, except while it waits for
// another thread or runs a function of the program.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_STATE_H
#define WEFT_TEST_CUDASIM_DRIVER_STATE_H

#include "test/cudasim/driver/Schedule.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace weft::cusim {

struct Context;

/// What a handle stands for.
struct Object {
  explicit Object(const char *kind) : kind(kind) {}
  virtual ~Object() = default;
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;
  /// Called when the last user of a context releases it: gives back what this has of its device. Whether it
  /// is gone with the context.
  virtual bool leave(Context &) { return false; }
  /// "stream 2"
  std::string name() const { return std::string(kind) + " " + std::to_string(number); }

  const char *const kind;
  uint64_t number = 0;   ///< among the objects of its kind, from 1
  bool isProgram = true; ///< whether the program made it, and so has to destroy it
  bool isGone = false;   ///< its context was released before the program destroyed it
};

/// The numbers of a kind of device, which are those of ir/devices.
struct DeviceNumbers {
  const char *name;
  uint64_t dramBytesPerUs, cores, lastLevelBytes, warpThreads, blockThreads, coreWarps, coreBlocks,
      coreRegisters, threadRegisters, warpRegisterUnit, coreSharedBytes, blockSharedBytes,
      reservedSharedBytes;
};
/// Those of the newest device of the list that is not newer than the compute capability.
const DeviceNumbers &numbersOf(uint64_t computeCapability);

struct Device;

/// Memory that cuMemAllocAsync gives.
struct Pool : Object {
  explicit Pool(Device &device) : Object("pool"), device(device) {}
  /// Gives back to the device what is not in use, down to `keep` bytes.
  void trim(uint64_t keep);

  Device &device;
  uint64_t used = 0, reserved = 0, mostUsed = 0, mostReserved = 0;
  uint64_t threshold = 0; ///< that stays reserved when the host waits
  uint64_t largest = 0;   ///< the most that the pool may reserve; 0 if there is no limit
  bool isDestroyed = false;
};

/// An allocation that the program made.
struct Allocation {
  uint64_t bytes = 0;
  Pool *pool = nullptr; ///< null if cuMemAlloc made it
  bool isFreed = false; ///< cuMemFreeAsync was called, and has not run yet
  bool isGone = false;  ///< its context was released before the program freed it
};
using Allocations = std::map<uint64_t, Allocation>; ///< by their addresses

struct Device {
  Device(int ordinal, int physical);
  /// Bytes that are not available: of allocations, of modules, and reserved by pools.
  uint64_t usedBytes() const;
  uint64_t graphBytes = 0; ///< of instantiated graphs
  /// The allocation that has the address; the end of the list if there is none.
  Allocations::iterator find(uint64_t address);
  /// Allocates; 0 if the device has not that many bytes left.
  uint64_t allocate(uint64_t bytes, Pool *pool);
  void free(Allocations::iterator allocation);
  std::string uuid() const;

  const int ordinal;  ///< as the program counts
  const int physical; ///< before CUDA_VISIBLE_DEVICES
  const DeviceNumbers &numbers;
  cudasim::Memory memory;
  Allocations allocations;
  std::vector<Pool *> pools;
  Pool *defaultPool = nullptr;
  Context *primary = nullptr;
  uint64_t retained = 0; ///< how often the primary context is
};

struct Capture;
struct Node;

/// Where a stream that is captured is, or where an event was recorded in a capture.
struct CapturePlace {
  std::shared_ptr<Capture> capture;
  std::vector<Node *> after; ///< that what is enqueued next comes after
};

struct Stream : Object {
  Stream(Context &context, bool isBlocking, int priority);
  bool leave(Context &released) override;
  Context &context;
  const bool isBlocking; ///< whether it is ordered with the legacy stream
  const int priority;
  const uint32_t chain;
  ItemPointer last;
  CapturePlace place;
};

struct Event : Object {
  Event(Context &context, bool hasTime) : Object("event"), context(context), hasTime(hasTime) {}
  bool leave(Context &released) override { return &released == &context; }
  Context &context;
  const bool hasTime;
  ItemPointer recorded; ///< null if it never was, or in a capture at last
  CapturePlace place;
};

struct Context : Object {
  explicit Context(Device &device) : Object("context"), device(device) { isProgram = false; }
  /// Notes the first failure, after which every call returns it.
  void poison(CUresult code, const std::string &message);
  /// Enqueues an item on a stream, after what the stream and the legacy stream have, and after `more`. With
  /// CUSIM_EAGER, it runs at once.
  ItemPointer enqueue(Stream &stream, const std::string &what, std::function<Outcome()> run,
                      const std::vector<ItemPointer> &more = {}, bool callsHost = false);
  /// What a new item of the stream comes after.
  std::vector<ItemPointer> predecessorsOn(const Stream &stream) const;
  /// The last item of each stream, also of those that are destroyed.
  std::vector<ItemPointer> lastItems() const;
  void destroy(Stream *stream);
  /// Takes from the program what it made here and has not destroyed: each of its handles is refused from now
  /// on, and its memory is no memory any more. For the report it stays.
  void release();
  /// When the host has waited, pools keep no more than their thresholds.
  void trimPools();

  Device &device;
  CUresult error = CUDA_SUCCESS;
  std::set<Stream *> streams;
  Stream *legacy = nullptr;

private:
  friend void waitForAll(Context &context);
  struct Ended {
    ItemPointer last;
    bool isBlocking;
  };
  std::vector<Ended> ended; ///< of streams that were destroyed since the host has waited for all
};

/// Host memory that a device can reach by itself.
struct PinnedRange {
  uint64_t end = 0;
  bool isOwned = false;           ///< the driver allocated it
  const Device *device = nullptr; ///< of the context that pinned it
  bool isGone = false;            ///< that was released before the program freed it
};

/// The call of the driver that a thread is in.
struct Call {
  std::string function;
  uint64_t number = 0;
  Schedule::Lock *lock = nullptr;
  /// "cuMemAlloc (call 12)"
  std::string text() const { return function + " (call " + std::to_string(number) + ")"; }
};

class State {
public:
  /// Makes the devices. The code of cuInit.
  CUresult start();
  bool isStarted() const { return started; }

  template <class T, class... Arguments> T *make(Arguments &&...arguments) {
    auto made = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    T *object = made.get();
    object->number = ++counts[object->kind];
    objects[static_cast<const Object *>(object)] = std::move(made);
    return object;
  }
  /// Null if the handle is none of a live T.
  template <class T> T *find(const void *handle) const {
    auto found = objects.find(handle);
    return found == objects.end() || found->second->isGone ? nullptr : dynamic_cast<T *>(found->second.get());
  }
  /// Calls `use` with each object.
  template <class Use> void each(Use use) const {
    for (const auto &[handle, object] : objects)
      use(*object);
  }
  void destroy(const Object *object) { objects.erase(object); }
  /// "stream 2"; empty if the handle is of no object.
  std::string nameOf(const void *handle) const;
  /// The device whose memory has the address; null for an address of the host.
  Device *deviceOf(uint64_t address) const;
  bool isPinned(uint64_t address, uint64_t bytes) const;
  /// The stream of a handle; null, after a complaint, if there is none.
  Stream *streamOf(CUstream handle);
  /// What the program made and has not destroyed, a line each.
  std::string leaks() const;

  std::mutex mutex;
  uint64_t calls = 0; ///< of functions of the driver
  Schedule schedule;
  std::vector<std::unique_ptr<Device>> devices;
  std::map<uint64_t, PinnedRange> pinned;         ///< by their addresses
  std::vector<std::shared_ptr<Capture>> captures; ///< that were not ended
  uint64_t captureCount = 0;

private:
  std::map<const void *, std::unique_ptr<Object>> objects;
  std::map<std::string, uint64_t> counts; ///< of the objects that were made, by kind
  bool started = false;
};

/// The one of this process. It is never destroyed, because other libraries may call until the very end.
State &state();

/// The context of this thread.
Context *&currentContext();
/// The call of this thread.
Call &currentCall();

/// Why a call that needs a context cannot run; CUDA_SUCCESS if it can.
CUresult checkContext();

/// The handle of an object, which may be null.
template <class Handle> Handle handleOf(Object *object) { return reinterpret_cast<Handle>(object); }

/// Says why a call is refused, and gives the code.
CUresult refuse(CUresult code, const std::string &why);

/// Runs what these items need, and them; the host waits for it.
void waitFor(const std::vector<ItemPointer> &items);
void waitForAll(Context &context);

} // namespace weft::cusim

#endif // WEFT_TEST_CUDASIM_DRIVER_STATE_H
