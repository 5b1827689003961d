//===- Device.h - Memory, streams and points of a device --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of devices. The host is the first device: its memory is that of the process, and its stream
// runs work on the calling thread. Other devices run in parallel with the host: copies and launches are
// issued to a stream, which returns at once, and a point tells when they are done.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_DEVICE_DEVICE_H
#define WEFT_RUNTIME_DEVICE_DEVICE_H

#include "runtime/memory/CachingAllocator.h"
#include "runtime/support/Point.h"
#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft::runtime {

class Contraction;            // runtime/gemm/Contraction.h
struct ContractionCandidates; // runtime/gemm/Contraction.h
struct ContractionChoice;     // runtime/gemm/Contraction.h
struct ContractionShape;      // runtime/gemm/Contraction.h
class DeviceImage;            // runtime/plan/DeviceImage.h
class FailureFlags;           // runtime/device/FailureFlags.h
struct LaunchRun;             // runtime/execution/LaunchRun.h

/// Which side of a copy is memory of the host.
enum class CopyDirection : uint8_t {
  host_to_device,
  device_to_host,
  device_to_device, ///< of this device, or from another one of its kind
};

/// Work of one device, in the order in which it is issued. After a failure the stream does nothing more until
/// a point has reported it.
class WEFT_RUNTIME_API DeviceStream {
public:
  /// Waits for the issued work.
  virtual ~DeviceStream();
  /// Issues a copy. Both ranges must stay valid until a later point has passed.
  virtual Status copy(void *to, const void *from, size_t bytes, CopyDirection direction) = 0;
  /// Issues launches, which run in order. Objects that `run` refers to must stay valid until a later point
  /// has passed.
  virtual Status issue(const LaunchRun &run) = 0;
  /// Issues a branch or a while loop of the run's function of which the device decides what is carried out.
  /// `run.launches` begins with it, and has all that belongs to it. False, and nothing is issued, if the host
  /// has to decide.
  virtual Expected<bool> issue_conditional(const LaunchRun &) { return false; }
  /// Work that is issued from now on waits for a point, which may be one of another device. A failure before
  /// that point is reported by the point's own stream.
  virtual Status wait_for(const Point &point) = 0;
  virtual Expected<Point> record() = 0;
  /// The same for Point::State::milliseconds_since(), of devices that have a clock.
  virtual Expected<Point> record_timed() { return record(); }
  /// The driver's own handle, as a CUstream; null if there is none.
  virtual void *native() const { return nullptr; }
  StreamId id() const { return id_; }

private:
  const StreamId id_ = new_stream_id();
};

/// The kernels of an image, on a device that has loaded them. They stay there as long as this exists, which
/// is as long as a launch of them may be running.
class WEFT_RUNTIME_API DeviceCode {
public:
  DeviceCode() = default;
  DeviceCode(const DeviceCode &) = delete;
  DeviceCode &operator=(const DeviceCode &) = delete;
  virtual ~DeviceCode();
};

/// Bytes of which the addresses of a contraction's operands are multiples, in each call.
struct ContractionAlignment {
  uint32_t a = 1, b = 1, c = 1, bias = 1;
};

/// What the library of a device does for a contraction.
struct DeviceContraction {
  std::shared_ptr<const Contraction> contraction; ///< null if it does not take it
  std::string refusal;                            ///< the reason then
  bool refuses_candidates = false; ///< the refusal is of candidates that a package has (WEFT-N012)
  std::shared_ptr<const ContractionCandidates> candidates = {}; ///< what it proposed, if it was asked
};

/// A device exists as long as the process, because queues keep streams and memory on it.
class WEFT_RUNTIME_API Device {
public:
  explicit Device(std::string name);
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// "cpu", "cuda:0"
  const std::string &name() const { return name_; }
  /// Whether the host reads and writes its memory by address.
  virtual bool is_host() const { return false; }
  /// The kind of machine code that the device runs, as in the names of a package's images: "cpu".
  virtual std::string_view code() const = 0;
  /// How well it runs the kernels of a target with a GPU, as "cuda:sm_90": the larger the better, 0 not at
  /// all.
  virtual int suits(std::string_view target) const { return target == code(); }
  /// Loads the kernels of an image, or finds that it has. Null from a device whose kernels are code of the
  /// host.
  virtual Expected<std::shared_ptr<const DeviceCode>> load(const std::shared_ptr<const DeviceImage> &image);
  /// Asks the device's library for a contraction. No error is a refusal: a kernel of our own is behind each.
  virtual Expected<DeviceContraction> contraction(const ContractionShape &shape,
                                                  const ContractionChoice &choice,
                                                  const ContractionAlignment &alignment);
  /// The allocator of the device's memory.
  virtual CachingAllocator &allocator() = 0;
  /// Hands out memory of the host that copies from and to this device need no detour for.
  virtual CachingAllocator &pinned_allocator() = 0;
  /// Why the host reads whether a while loop has another trip; empty if a graph of the device decides that
  /// once the loop is issued for the third time.
  virtual std::string refuses_loops() { return "the device has no graphs"; }
  /// Whether an error of the device itself is the outcome of each point after it, for the rest of the
  /// process.
  virtual bool errors_are_final() const { return false; }
  /// The flags of buffers on this device.
  FailureFlags &failure_flags() { return *failure_flags_; }
  virtual Expected<std::unique_ptr<DeviceStream>> make_stream() = 0;
  /// The number of the streams whose work comes first, where the device has a choice: 0 or less.
  virtual Expected<int> first_priority() { return 0; }
  /// A stream of priority 0, which make_stream() gives, or less; less than the first counts as the first.
  virtual Expected<std::unique_ptr<DeviceStream>> make_stream_with_priority(int) { return make_stream(); }
  /// A stream of the driver's that is another program part's, as a CUstream. It must exist as long as this.
  virtual Expected<std::unique_ptr<DeviceStream>> adopt_stream(void *native);
  /// Copies before it returns. The caller must have waited for work that uses either range.
  virtual Status copy_now(void *to, const void *from, size_t bytes, CopyDirection direction) = 0;

protected:
  virtual ~Device();

private:
  const std::string name_;
  const std::unique_ptr<FailureFlags> failure_flags_;
};

/// The machine that the process runs on. It is never destroyed.
WEFT_RUNTIME_API Device &host_device();

/// Copies between the memories of two devices, one of which may be the host, before it returns. Between two
/// other devices the bytes go through pinned memory of the host.
WEFT_RUNTIME_API Status copy_between(Device &to_device, void *to, Device &from_device, const void *from,
                                     size_t bytes);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_DEVICE_DEVICE_H
