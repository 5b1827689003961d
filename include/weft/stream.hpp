//===- stream.hpp - Streams and events -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Work runs on the current stream of the thread that issues it. Streams are unordered among each other,
// except that what reads or writes the same tensor keeps the order in which it was issued: no program has to
// wait for that. The CPU has real asynchronous streams, so that a wrong order shows without a GPU.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_STREAM_HPP
#define WEFT_STREAM_HPP

#include "weft/device.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace weft {

class Event;
namespace detail {
struct StreamState;
struct EventState;
} // namespace detail

/// An ordered queue of work on a device; a shared handle.
class WEFT_API Stream {
public:
  /// One of 32 streams of the device, handed out round robin: the 33rd is the first again. Throws Error
  /// (WEFT-E001) for a device that is not there, as everything here does. `priority`: work of streams with a
  /// smaller number comes first, where the device has a choice; less than the second number of
  /// priority_range() counts as that, and more than 0 is an error. Each priority has 32 streams of its own.
  explicit Stream(Device device = {}, int priority = 0, Loc loc = Loc::current());
  /// The current stream of this thread, which receives its work.
  static Stream current(Device device = {}, Loc loc = Loc::current());
  /// The default stream, which is used unless another one is current.
  static Stream default_stream(Device device = {}, Loc loc = Loc::current());
  /// A stream on the program's own executor. Weft calls `post` with each piece of work, and `post` arranges
  /// that it runs once, on any thread, in the order of the posts. Other work that the executor runs in
  /// between is thereby ordered with Weft's work, without waiting. Neither `post` nor what runs on that
  /// executor may call Weft: a thread that reads a value may be waiting for the executor. Destroying the last
  /// handle waits until all posted work has run.
  static Stream external(Device device, std::function<void(std::function<void()>)> post,
                         Loc loc = Loc::current());

  /// A stream of the CUDA driver that the program has made itself (a CUstream of the device's primary
  /// context, as CUDA's runtime and other libraries use them). What is recorded while it is current
  /// (StreamGuard) is issued to it when the guard ends, behind what is on it by then and before what is put
  /// there later, and the host waits for nothing. It must exist until the last handle is gone. Error
  /// WEFT-E006 for a stream of another context or device, WEFT-E001 for the device "cpu".
  static Stream external(Device device, void *native, Loc loc = Loc::current());

  Device device() const;
  /// 0 or less.
  int priority() const;
  /// The priorities of streams whose work comes last and first, as {0, -3}; {0, 0} for "cpu", whose streams
  /// have a thread each.
  static std::pair<int, int> priority_range(Device device = {}, Loc loc = Loc::current());
  /// Waits for everything on the stream; throws the first failure that was not reported yet.
  void synchronize() const;
  /// Whether nothing is left to run.
  bool query() const;
  /// Later work on this stream runs after the present work of `other`, or after the event.
  void wait_stream(const Stream &other) const;
  void wait_event(const Event &event) const;
  /// The backend's own handle: on the CPU a `weft::runtime::Queue *`, on a CUDA device a CUstream. It lives
  /// as long as the stream.
  void *native_handle(Loc loc = Loc::current()) const;
  friend WEFT_API bool operator==(const Stream &a, const Stream &b);

private:
  friend class Event;
  friend class StreamGuard;
  explicit Stream(std::shared_ptr<detail::StreamState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::StreamState> state_;
};

/// Makes a stream current on this thread for a scope. Operations that were recorded before run on the stream
/// that was current then.
class WEFT_API StreamGuard {
public:
  explicit StreamGuard(Stream stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard &) = delete;
  StreamGuard &operator=(const StreamGuard &) = delete;

private:
  Stream stream_;
  void *before_;
  std::shared_ptr<detail::StreamState> before_state_;
};

/// A moment in a stream; a shared handle.
class WEFT_API Event {
public:
  explicit Event(bool enable_timing = false);
  /// Marks the present point of the stream; recorded again, the event means the newer point.
  void record(const Stream &stream = Stream::current());
  /// Later work on `stream` runs after the event. An event that was never recorded delays nothing.
  void wait(const Stream &stream = Stream::current()) const;
  /// Blocks this thread until the point has passed; throws nothing.
  void synchronize() const;
  /// Whether the point has passed; true for an event never recorded.
  bool query() const;
  /// Milliseconds from this event to `end`. Both must be made with timing, recorded, and have passed.
  double elapsed_time(const Event &end, Loc loc = Loc::current()) const;

private:
  friend class Stream;
  std::shared_ptr<detail::EventState> state_;
};

/// Waits for all streams of a device; throws the first failure that was not reported yet.
WEFT_API void synchronize(Device device, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_STREAM_HPP
