//===- Memory.cpp - Memory, threads and profiler in the C interface -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/Support.h"

#include "runtime/memory/CachingAllocator.h"
#include "runtime/queue/Profiler.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

using namespace weft;
using namespace weft::capi;

namespace {

/// Kernels on the embedder's threads.
class EmbeddersExecutor final : public runtime::Executor {
public:
  explicit EmbeddersExecutor(const weft_executor &executor) : executor_(executor) {}
  void parallel_for(int64_t tasks, int64_t grain, Body body) override {
    // A single range, and a call from inside a body, run on the calling thread.
    if (tasks <= 0)
      return;
    if (tasks <= grain || current_worker >= 0)
      return body(0, tasks, std::max(current_worker, 0));
    const auto run = [](void *held, int64_t begin, int64_t end, int32_t worker) {
      current_worker = worker;
      (*static_cast<Body *>(held))(begin, end, worker);
      current_worker = -1;
    };
    executor_.parallel_for(executor_.user, tasks, grain, run, &body);
  }
  int width() const override { return executor_.width; }

private:
  static thread_local int current_worker;
  weft_executor executor_;
};
thread_local int EmbeddersExecutor::current_worker = -1;

} // namespace

weft_status weft_memory_get(weft_memory_info *info) {
  return guarded([&] {
    const runtime::CachingAllocator &allocator = runtime::CachingAllocator::get();
    weft_memory_info value = {};
    value.allocated = allocator.memory_allocated();
    value.max_allocated = allocator.max_memory_allocated();
    value.reserved = allocator.memory_reserved();
    value.max_reserved = allocator.max_memory_reserved();
    value.limit = allocator.limit();
    value.arenas = static_cast<uint64_t>(allocator.stats().at("weft.arena_bytes.current"));
    return write_struct(info, value, "info");
  });
}

weft_status weft_memory_reset_peaks(void) {
  return guarded([]() -> Status {
    runtime::CachingAllocator::get().reset_peak_stats();
    return {};
  });
}

weft_status weft_memory_stats_json(char **text) {
  return guarded([&] { return give_text(runtime::CachingAllocator::get().stats_json(), text); });
}

weft_status weft_memory_snapshot_json(char **text) {
  return guarded([&] { return give_text(runtime::CachingAllocator::get().snapshot_json(), text); });
}

weft_status weft_memory_set_limit(uint64_t bytes) {
  return guarded([&]() -> Status {
    runtime::CachingAllocator::get().set_limit(bytes);
    return {};
  });
}

weft_status weft_memory_empty_cache(void) {
  return guarded([]() -> Status {
    runtime::CachingAllocator::get().empty_cache();
    return {};
  });
}

weft_status weft_trim(void) {
  return guarded([]() -> Status {
    runtime::Queue::trim_all();
    runtime::CachingAllocator::get().empty_cache();
    return {};
  });
}

weft_status weft_set_allocator(const weft_allocator *allocator) {
  return guarded([&]() -> Status {
    if (!allocator)
      return runtime::CachingAllocator::get().set_raw({});
    const Expected<weft_allocator> known = read_struct(allocator, "allocator");
    if (!known)
      return known.status();
    if (!known->allocate || !known->free)
      return argument_error("an allocator needs both functions, allocate and free");
    return runtime::CachingAllocator::get().set_raw({known->user, known->allocate, known->free});
  });
}

weft_status weft_set_executor(const weft_executor *executor) {
  return guarded([&]() -> Status {
    if (!executor) {
      runtime::set_executor(nullptr);
      return {};
    }
    const Expected<weft_executor> known = read_struct(executor, "executor");
    if (!known)
      return known.status();
    if (!known->parallel_for || known->width < 1)
      return argument_error("an executor needs parallel_for and a width of at least 1, found " +
                            std::to_string(known->width));
    // Never freed, because another thread may still hold it.
    static std::mutex mutex;
    static auto *const kept = new std::vector<std::unique_ptr<EmbeddersExecutor>>;
    const std::lock_guard lock(mutex);
    kept->push_back(std::make_unique<EmbeddersExecutor>(*known));
    runtime::set_executor(kept->back().get());
    return {};
  });
}

weft_status weft_profiler_start(void) {
  return guarded([]() -> Status {
    runtime::Profiler::get().start();
    return {};
  });
}

weft_status weft_profiler_stop(void) {
  return guarded([]() -> Status {
    runtime::Profiler::get().stop();
    return {};
  });
}

weft_status weft_profiler_clear(void) {
  return guarded([]() -> Status {
    runtime::Profiler::get().clear();
    return {};
  });
}

weft_status weft_profiler_table(char **text) {
  return guarded([&] { return give_text(runtime::Profiler::get().table(), text); });
}

weft_status weft_profiler_chrome_trace(char **text) {
  return guarded([&] { return give_text(runtime::Profiler::get().chrome_trace(), text); });
}
