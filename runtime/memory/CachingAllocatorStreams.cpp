//===- CachingAllocatorStreams.cpp - Freed blocks that streams still use ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/memory/CachingAllocatorImpl.h"

#include <algorithm>

namespace weft::runtime {
using namespace allocator_blocks;

// Whether a freed block must wait in the list, because not even its own stream may use it. Without caching,
// it waits for all its points, because its segment is then unmapped.
bool CachingAllocatorImpl::waits_for_others(const Block &block) const {
  return std::ranges::any_of(block.points, [&](const StreamPoint &use) {
    return use.stream != block.stream || block.stream == StreamId::none || !caching;
  });
}

void CachingAllocatorImpl::drop_passed(Block *block, StreamPoints &passed) {
  for (auto at = block->points.begin(); at != block->points.end();) {
    const auto use = at++;
    if (use->point.passed())
      passed.splice(passed.end(), block->points, use);
  }
}

bool CachingAllocatorImpl::settle_waiting(StreamPoints &passed) {
  bool any = false;
  for (Block *block = waiting; block;) {
    Block *const next = block->bin_after;
    drop_passed(block, passed);
    if (!waits_for_others(*block)) {
      (block->bin_before ? block->bin_before->bin_after : waiting) = next;
      if (next)
        next->bin_before = block->bin_before;
      block->bin_before = block->bin_after = nullptr;
      --unsettled;
      join_and_keep(block);
      any = true;
    }
    block = next;
  }
  return any;
}

bool CachingAllocatorImpl::settle(StreamPoints &passed) {
  if (unsettled == 0)
    return false;
  bool any = settle_waiting(passed);
  for (const auto &[place, cache] : caches)
    if (place.second != StreamId::none)
      any |= settle_stream(*cache, passed);
  return any;
}

// Moves the blocks whose points have passed from a stream's cache to the cache that serves all streams.
bool CachingAllocatorImpl::settle_stream(Cache &cache, StreamPoints &passed) {
  bool any = false;
  cache.for_each([&](Block *block) {
    if (std::ranges::any_of(block->points, [](const StreamPoint &use) { return !use.point.passed(); }))
      return;
    remove_free(block);
    passed.splice(passed.end(), block->points);
    keep_free(block);
    any = true;
  });
  return any;
}

std::optional<Point> CachingAllocatorImpl::next_point() const {
  const auto point_of = [](const Block *block) -> const Point * {
    for (const StreamPoint &use : block->points)
      if (!use.point.passed() && use.point.may_wait())
        return &use.point;
    return nullptr;
  };
  if (unsettled == 0)
    return std::nullopt;
  for (const auto &[data, first] : segments)
    for (const Block *block = first; block; block = block->after)
      if (block->state != BlockState::live)
        if (const Point *point = point_of(block))
          return *point;
  return std::nullopt;
}

} // namespace weft::runtime
