//===- Point.h - Moments in the work of streams -----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_SUPPORT_POINT_H
#define WEFT_RUNTIME_SUPPORT_POINT_H

#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <optional>

namespace weft::runtime {

/// A moment in the work of a stream: it has passed once everything that was issued before it is done.
class WEFT_RUNTIME_API Point {
public:
  struct State {
    virtual ~State();
    virtual bool passed() const = 0;
    /// Waits until the point has passed. The error of the work before it that nobody has been told of.
    virtual Status wait() = 0;
    /// Waits until the point has passed. A failure of the work before it stays unreported.
    virtual void wait_passed() = 0;
    /// False while the calling thread does work that what lies before the point may wait for.
    virtual bool may_wait() const { return true; }
    /// Milliseconds from an earlier point to this one by the clock of their device. None unless both were
    /// recorded for that (DeviceStream::record_timed) and have passed.
    virtual std::optional<double> milliseconds_since(const State &) const { return std::nullopt; }
  };
  /// A point that has passed.
  Point() = default;
  explicit Point(std::shared_ptr<State> state) : state_(std::move(state)) {}
  bool passed() const { return !state_ || state_->passed(); }
  bool may_wait() const { return !state_ || state_->may_wait(); }
  Status wait() const { return state_ ? state_->wait() : Status(); }
  void wait_passed() const {
    if (state_)
      state_->wait_passed();
  }

  /// Null of a point that had passed when it was made.
  const State *state() const { return state_.get(); }

private:
  std::shared_ptr<State> state_;
};

/// Tells the streams and queues of a process apart.
enum class StreamId : uint64_t {
  none = 0, ///< the order in which the host does things
};
WEFT_RUNTIME_API StreamId new_stream_id();

/// A point with the stream that it is of. A later point of a stream has not passed before an earlier one.
struct StreamPoint {
  StreamId stream = StreamId::none;
  Point point;
};

/// What has to pass before memory is free for everybody. A list, which is joined with another without memory.
using StreamPoints = std::list<StreamPoint>;
/// Adds a point, or puts it in the place of an earlier one of its stream.
WEFT_RUNTIME_API void note_point(StreamPoints &points, StreamPoint point);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SUPPORT_POINT_H
