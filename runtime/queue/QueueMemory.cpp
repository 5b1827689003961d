//===- QueueMemory.cpp - Arenas and streams of a queue --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/queue/QueueState.h"

namespace weft::runtime {

Expected<DeviceStream *> Queue::stream(Device &device) {
  DeviceLane &lane = state_->lane(device);
  if (!lane.stream) {
    Expected<std::unique_ptr<DeviceStream>> made = &device == state_->adopted_device
                                                       ? device.adopt_stream(state_->adopted_stream)
                                                       : device.make_stream_with_priority(state_->priority);
    if (!made)
      return made.status();
    for (const StreamPoint &before : state_->awaited)
      if (Status status = (*made)->wait_for(before.point); !status)
        return status;
    lane.stream = *std::move(made);
  }
  return lane.stream.get();
}

StreamPoints Queue::record(bool timed) {
  StreamPoints points;
  DeviceLane *first = nullptr;
  // What the queue waits for is before its own work, which may be none.
  if (std::ranges::none_of(state_->lanes, [](const auto &lane) { return lane->stream != nullptr; }))
    return state_->awaited;
  for (const std::unique_ptr<DeviceLane> &lane : state_->lanes) {
    if (!lane->stream)
      continue;
    if (timed && !first)
      first = lane.get();
    else
      points.splice(points.end(), lane->uses());
  }
  if (!first)
    return points;
  for (const StreamPoint &other : points)
    if (!first->stream->wait_for(other.point))
      other.point.wait_passed();
  if (Expected<Point> point = first->stream->record_timed())
    return {{first->stream->id(), *point}};
  first->stream = nullptr; // which waits
  return {};
}

void Queue::order_after(const StreamPoints &points) {
  std::erase_if(state_->awaited, [](const StreamPoint &known) { return known.point.passed(); });
  for (const StreamPoint &before : points) {
    for (const std::unique_ptr<DeviceLane> &lane : state_->lanes)
      if (lane->stream && lane->stream->id() != before.stream)
        if (!lane->stream->wait_for(before.point))
          before.point.wait_passed();
    note_point(state_->awaited, before);
  }
}

std::vector<DeviceStream *> Queue::streams() {
  std::vector<DeviceStream *> streams;
  for (const std::unique_ptr<DeviceLane> &lane : state_->lanes)
    if (lane->stream)
      streams.push_back(lane->stream.get());
  return streams;
}

void Queue::end_stream(Device &device) { state_->lane(device).stream = nullptr; }

Expected<std::byte *> Queue::arena(Device &device, size_t bytes, uint64_t function) {
  if (device.is_host())
    return arena(bytes);
  DeviceLane &lane = state_->lane(device);
  if (std::exchange(lane.arena_user, function) != function)
    lane.scalars_at = nullptr;
  if (bytes > lane.arena.bytes) {
    CachingAllocator &allocator = device.allocator();
    lane.release_arena();
    Expected<MemoryBlock> block =
        allocator.allocate(bytes, allocator.intern_label({"arena of temporaries"}), {}, finish_passed_all);
    if (!block)
      return block.status();
    lane.arena = *block;
    allocator.note_arena_bytes(static_cast<int64_t>(bytes));
    state_->has_arenas.store(true, std::memory_order_relaxed);
  }
  return static_cast<std::byte *>(lane.arena.data);
}

bool Queue::has_scalars(Device &device, const std::byte *at, std::span<const std::byte> block) const {
  const DeviceLane &lane = state_->lane(device);
  return lane.scalars_at == at && std::ranges::equal(lane.scalars, block);
}

void Queue::note_scalars(Device &device, const std::byte *at, std::span<const std::byte> block) {
  DeviceLane &lane = state_->lane(device);
  lane.scalars.assign(block.begin(), block.end());
  lane.scalars_at = at;
}

Expected<std::byte *> Queue::arena(size_t bytes) {
  QueueState &state = *state_;
  if (bytes > state.arena.bytes) {
    CachingAllocator &allocator = CachingAllocator::get();
    static const uint32_t label = allocator.intern_label({"arena of temporaries"});
    finish_issued(); // devices copy to it and from it
    if (state.arena.handle)
      state.release_arena();
    Expected<MemoryBlock> block = allocator.allocate(bytes, label, {}, finish_passed_all);
    if (!block)
      return block.status();
    state.arena = *block;
    state.arena_bytes.store(bytes, std::memory_order_relaxed);
    state.has_arenas.store(true, std::memory_order_relaxed);
    allocator.note_arena_bytes(static_cast<int64_t>(bytes));
  }
  return static_cast<std::byte *>(state.arena.data);
}

size_t Queue::arena_bytes() const { return state_->arena_bytes.load(std::memory_order_relaxed); }

void Queue::trim(const std::shared_ptr<QueueState> &state) {
  if (!state->has_arenas.load(std::memory_order_relaxed))
    return;
  // The executor of an external queue may be the caller's thread, so do not wait for it.
  if (state->post) {
    std::unique_lock lock(state->mutex);
    if (!state->busy()) { // nothing can begin while the lock is held
      state->release_arenas();
      return;
    }
    lock.unlock();
    // The work must not own the state: the state owns its work, so neither would be freed. The posted piece
    // owns the state.
    submit(state, [raw = state.get()] {
      raw->release_arenas();
      CachingAllocator::get().empty_cache();
    });
    return;
  }
  await_turn(reserve(state));
  queueThread.note_left();
  state->release_arenas();
  const std::lock_guard lock(state->mutex);
  state->complete_locked();
}

void Queue::trim() { trim(state_); }

} // namespace weft::runtime
