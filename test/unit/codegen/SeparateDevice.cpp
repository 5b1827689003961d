//===- SeparateDevice.cpp -------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SeparateDevice.h"

#include "runtime/execution/LaunchRun.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace weft::testing {

using runtime::CopyDirection;
using runtime::LaunchRun;
using runtime::Point;

namespace {

/// Runs pieces of work in order on one thread. It is not a queue of the runtime: calls on a queue make their
/// streams themselves, and queues are ordered after calls.
class Worker {
public:
  Worker() : thread_([this] { run(); }) {}
  ~Worker() {
    submit(nullptr);
    thread_.join();
  }
  /// The number of the piece.
  uint64_t submit(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
    return ++submitted_;
  }
  bool done(uint64_t number) {
    const std::lock_guard lock(mutex_);
    return done_ >= number;
  }
  void wait(uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= number; });
  }

private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return !work_.empty(); });
      const std::function<void()> next = std::move(work_.front());
      work_.pop_front();
      if (!next)
        return;
      lock.unlock();
      next();
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  uint64_t submitted_ = 0, done_ = 0;
  std::thread thread_;
};

class SeparateStream final : public runtime::DeviceStream {
public:
  explicit SeparateStream(SeparateDevice &device) : device_(device) {}
  // Points keep the worker, and may be kept for longer than the stream.
  ~SeparateStream() override {
    worker_->wait(worker_->submit([] {}));
  }

  Status copy(void *to, const void *from, size_t bytes, CopyDirection direction) override {
    submit([this, to, from, bytes, direction] {
      std::memcpy(SeparateDevice::own(to), SeparateDevice::own(from), bytes);
      device_.count(direction, bytes);
      return Status();
    });
    return {};
  }

  Status issue(const LaunchRun &run) override {
    submit([this, run] {
      ++device_.runs;
      if (device_.runsLeft-- <= 0)
        return Status::error("'" + device_.name() + "' has failed");
      if (Status status = check_regions(run); !status)
        return status;
      device_.launches += run.launches.size();
      std::vector<void *> pointers;
      for (void *pointer : run.pointers)
        pointers.push_back(SeparateDevice::own(pointer));
      LaunchRun own = run;
      own.pointers = pointers;
      own.library_scratch = static_cast<std::byte *>(SeparateDevice::own(run.library_scratch));
      own.scratch = static_cast<std::byte *>(SeparateDevice::own(run.scratch));
      own.checks = static_cast<runtime::CheckSlot *>(SeparateDevice::own(run.checks));
      own.failure = static_cast<runtime::FailureRecord *>(SeparateDevice::own(run.failure));
      runtime::CallFlags flags;
      if (run.flags) {
        flags = *run.flags;
        for (auto *list : {&flags.cleared, &flags.blocking, &flags.flagged})
          for (uint64_t *&flag : *list)
            flag = static_cast<uint64_t *>(SeparateDevice::own(flag));
        own.flags = &flags;
      }
      // As on a device whose results the host does not read in between: only predicates prevent writes to
      // arguments.
      own.stops = false;
      return runtime::run_launches(own);
    });
    return {};
  }

  Status wait_for(const Point &point) override {
    // A failure belongs to the stream that failed, and is reported there.
    worker_->submit([point] { point.wait_passed(); });
    return {};
  }

  Expected<Point> record() override {
    if (device_.recordsLeft <= 0)
      return Status::error("'" + device_.name() + "' can record no point");
    --device_.recordsLeft;
    return Point(std::make_shared<Passed>(device_, worker_, worker_->submit([] {}), failure_));
  }

private:
  struct Failure {
    std::mutex mutex;
    Status status;
  };
  struct Passed final : Point::State {
    Passed(SeparateDevice &on, std::shared_ptr<Worker> of, uint64_t at, std::shared_ptr<Failure> failed)
        : device(on), worker(std::move(of)), number(at), failure(std::move(failed)) {}
    bool passed() const override { return worker->done(number); }
    void wait_passed() override { worker->wait(number); }
    Status wait() override {
      ++device.waits;
      device.stalls += !worker->done(number);
      worker->wait(number);
      const std::lock_guard lock(failure->mutex);
      return std::exchange(failure->status, Status());
    }
    SeparateDevice &device;
    std::shared_ptr<Worker> worker;
    uint64_t number;
    std::shared_ptr<Failure> failure;
  };

  /// Whether the launches of each region of a call come together, in order and once.
  Status check_regions(const LaunchRun &run) {
    if (run.begins)
      lastRegion_ = -1;
    int32_t before = -1;
    for (const runtime::Launch &launch : run.launches) {
      if (launch.region >= 0 && launch.region != before && launch.region <= lastRegion_)
        return Status::error("a part of region " + std::to_string(launch.region) + " comes after region " +
                             std::to_string(lastRegion_));
      device_.regions += launch.region >= 0 && launch.region != before;
      before = launch.region;
      lastRegion_ = std::max(lastRegion_, before);
    }
    return {};
  }

  template <typename Work> void submit(Work work) {
    worker_->submit([this, work] {
      {
        const std::lock_guard lock(failure_->mutex);
        if (!failure_->status)
          return;
      }
      if (const int delay = device_.delayUs)
        std::this_thread::sleep_for(std::chrono::microseconds(delay));
      if (Status status = work(); !status) {
        const std::lock_guard lock(failure_->mutex);
        failure_->status = std::move(status);
      }
    });
  }

  SeparateDevice &device_;
  int32_t lastRegion_ = -1; ///< of the call; used by the worker
  std::shared_ptr<Failure> failure_ = std::make_shared<Failure>();
  // Last: its destructor waits for work that uses the others.
  std::shared_ptr<Worker> worker_ = std::make_shared<Worker>();
};

} // namespace

SeparateDevice &SeparateDevice::get(size_t number) {
  static SeparateDevice *const devices[] = {new SeparateDevice("separate:0"),
                                            new SeparateDevice("separate:1")};
  SeparateDevice &device = *devices[number];
  device.copiesIn = device.copiesOut = device.copiesWithin = device.bytesIn = device.bytesOut = 0;
  device.regions = device.runs = device.launches = device.waits = device.stalls = 0;
  device.delayUs = 0;
  device.recordsLeft = device.runsLeft = INT_MAX;
  return device;
}

SeparateDevice::SeparateDevice(std::string name, std::string code)
    : Device(name), code_(std::move(code)), allocator_({}, true, name),
      pinned_({}, true, name + " (pinned)") {
  (void)allocator_.set_raw({.user = nullptr, .allocate = map, .free = unmap});
  (void)pinned_.set_raw({.user = this, .allocate = pin, .free = unpin});
}

Expected<std::unique_ptr<runtime::DeviceStream>> SeparateDevice::make_stream() {
  return std::unique_ptr<runtime::DeviceStream>(std::make_unique<SeparateStream>(*this));
}

Status SeparateDevice::copy_now(void *to, const void *from, size_t bytes, CopyDirection direction) {
  std::memcpy(own(to), own(from), bytes);
  count(direction, bytes);
  return {};
}

SeparateDevice::Segments &SeparateDevice::segments() {
  static auto *const segments = new Segments;
  return *segments;
}

void *SeparateDevice::own(const void *address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  Segments &known = segments();
  const std::lock_guard lock(known.mutex);
  auto found = known.all.upper_bound(wanted);
  if (found == known.all.begin())
    return const_cast<void *>(address);
  --found;
  // One past the end is the address of an empty value.
  if (wanted > found->first + found->second.bytes)
    return const_cast<void *>(address);
  return found->second.own + (wanted - found->first);
}

void SeparateDevice::count(CopyDirection direction, size_t bytes) {
  switch (direction) {
  case CopyDirection::host_to_device:
    ++copiesIn;
    bytesIn += bytes;
    break;
  case CopyDirection::device_to_host:
    ++copiesOut;
    bytesOut += bytes;
    break;
  case CopyDirection::device_to_device:
    ++copiesWithin;
    break;
  }
}

void *SeparateDevice::map(void *, size_t bytes, size_t alignment) {
  const int file = ::memfd_create("separate device", MFD_CLOEXEC);
  if (file < 0)
    return nullptr;
  void *own = MAP_FAILED, *reserved = MAP_FAILED;
  if (::ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    own = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    reserved =
        ::mmap(nullptr, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ::close(file);
  if (own == MAP_FAILED || reserved == MAP_FAILED)
    return nullptr;
  // The addresses around the aligned segment stay reserved, so that no other mapping follows it directly.
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(reserved) + alignment - 1) / alignment * alignment;
  const std::lock_guard lock(segments().mutex);
  segments().all[begin] = {bytes, static_cast<std::byte *>(own)};
  return reinterpret_cast<void *>(begin);
}

void *SeparateDevice::pin(void *device, size_t bytes, size_t alignment) {
  void *const data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (data)
    static_cast<SeparateDevice *>(device)->pinnedBytes += bytes;
  return data;
}

void SeparateDevice::unpin(void *device, void *data, size_t bytes) {
  static_cast<SeparateDevice *>(device)->pinnedBytes -= bytes;
  std::free(data);
}

void SeparateDevice::unmap(void *, void *data, size_t bytes) {
  Segments &known = segments();
  const std::lock_guard lock(known.mutex);
  const auto found = known.all.find(reinterpret_cast<uintptr_t>(data));
  ::munmap(found->second.own, bytes);
  ::munmap(data, bytes);
  known.all.erase(found);
}

} // namespace weft::testing
