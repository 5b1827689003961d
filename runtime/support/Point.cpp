//===- Point.cpp ------------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Point.h"

#include <atomic>
#include <utility>

namespace weft::runtime {

Point::State::~State() = default;

StreamId new_stream_id() {
  static std::atomic<uint64_t> last{0};
  return static_cast<StreamId>(last.fetch_add(1, std::memory_order_relaxed) + 1);
}

void note_point(StreamPoints &points, StreamPoint point) {
  for (StreamPoint &known : points)
    if (known.stream == point.stream) {
      known.point = std::move(point.point);
      return;
    }
  points.push_back(std::move(point));
}

} // namespace weft::runtime
