//===- Streams.cpp - Streams and events in the C interface --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/Support.h"

#include "runtime/device/Registry.h"
#include "runtime/queue/Queue.h"

#include <mutex>
#include <unordered_map>

using namespace weft;
using namespace weft::capi;

struct weft_stream {
  runtime::Queue *queue = nullptr;
  std::unique_ptr<runtime::Queue> owned; ///< of an external stream
};

namespace {

/// The work that was posted to embedders' executors. They get numbers and no pointers: if one runs the same
/// work twice, its number is no longer found, and no freed memory is touched.
class PostedWork {
public:
  static PostedWork &get() {
    static auto *const instance = new PostedWork;
    return *instance;
  }
  void *add(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.emplace(next_, std::move(work));
    return reinterpret_cast<void *>(next_++);
  }
  void run(void *number) {
    std::function<void()> work;
    {
      const std::lock_guard lock(mutex_);
      const auto found = work_.find(reinterpret_cast<uintptr_t>(number));
      if (found == work_.end())
        return;
      work = std::move(found->second);
      work_.erase(found);
    }
    work();
  }

private:
  std::mutex mutex_;
  uintptr_t next_ = 1;
  std::unordered_map<uintptr_t, std::function<void()>> work_;
};

} // namespace

struct weft_event {
  explicit weft_event(bool is_timed) : event(is_timed), timing(is_timed) {}
  runtime::Event event;
  const bool timing;
};

runtime::Queue &queue_of(weft_stream *stream) {
  return stream ? *stream->queue : runtime::Queue::get_default();
}

/// A handle that owns its queue.
static weft_stream *stream_on(std::unique_ptr<runtime::Queue> queue) {
  auto made = std::make_unique<weft_stream>();
  made->owned = std::move(queue);
  made->queue = made->owned.get();
  return made.release();
}

weft_status weft_stream_create(const char *device, weft_stream **stream) {
  return weft_stream_create_with_priority(device, 0, stream);
}

weft_status weft_stream_create_with_priority(const char *device, int32_t priority, weft_stream **stream) {
  return guarded([&]() -> Status {
    if (Status status = require(stream, "stream"); !status)
      return status;
    if (priority > 0)
      return argument_error("the argument 'priority' is " + std::to_string(priority) +
                            ": it must be 0 or less, and smaller numbers come first");
    const Expected<runtime::Device *> found = runtime::open_device(device ? device : "cpu");
    if (!found)
      return found.status();
    auto made = std::make_unique<weft_stream>();
    made->queue = &runtime::Queue::pooled(priority);
    *stream = made.release();
    return {};
  });
}

weft_status weft_stream_create_external(void (*post)(void *user, void (*run)(void *work), void *work),
                                        void *user, weft_stream **stream) {
  return guarded([&]() -> Status {
    if (Status status = require(stream, "stream"); !status)
      return status;
    if (!post)
      return argument_error("the argument 'post' is NULL");
    *stream = stream_on(runtime::Queue::external([post, user](std::function<void()> work) {
      post(user, [](void *number) { PostedWork::get().run(number); }, PostedWork::get().add(std::move(work)));
    }));
    return {};
  });
}

weft_status weft_stream_create_native(const char *device, void *native, weft_stream **stream) {
  return guarded([&]() -> Status {
    if (Status status = require(stream, "stream"); !status)
      return status;
    if (!native)
      return argument_error("the argument 'native' is NULL: make a stream, or give CU_STREAM_PER_THREAD or "
                            "CU_STREAM_LEGACY if you mean these");
    const Expected<runtime::Device *> found = runtime::open_device(device ? device : "cpu");
    if (!found)
      return found.status();
    Expected<std::unique_ptr<runtime::Queue>> queue = runtime::Queue::adopting(**found, native);
    if (!queue)
      return queue.status();
    *stream = stream_on(*std::move(queue));
    return {};
  });
}

void weft_stream_destroy(weft_stream *stream) { delete stream; }

weft_status weft_stream_synchronize(weft_stream *stream) {
  return guarded([&] { return queue_of(stream).synchronize(); });
}

weft_status weft_stream_query(weft_stream *stream, int32_t *idle) {
  return guarded([&]() -> Status {
    if (Status status = require(idle, "idle"); !status)
      return status;
    *idle = queue_of(stream).idle();
    return {};
  });
}

weft_status weft_stream_wait_stream(weft_stream *stream, weft_stream *other) {
  return guarded([&]() -> Status {
    queue_of(stream).wait_for(queue_of(other));
    return {};
  });
}

weft_status weft_stream_wait_event(weft_stream *stream, weft_event *event) {
  return guarded([&]() -> Status {
    if (Status status = require(event, "event"); !status)
      return status;
    event->event.wait(queue_of(stream));
    return {};
  });
}

weft_status weft_synchronize(void) {
  return guarded([] { return runtime::Queue::synchronize_all(); });
}

weft_status weft_event_create(int32_t timing, weft_event **event) {
  return guarded([&]() -> Status {
    if (Status status = require(event, "event"); !status)
      return status;
    *event = std::make_unique<weft_event>(timing != 0).release();
    return {};
  });
}

void weft_event_destroy(weft_event *event) { delete event; }

weft_status weft_event_record(weft_event *event, weft_stream *stream) {
  return guarded([&]() -> Status {
    if (Status status = require(event, "event"); !status)
      return status;
    event->event.record(queue_of(stream));
    return {};
  });
}

weft_status weft_event_synchronize(weft_event *event) {
  return guarded([&]() -> Status {
    if (Status status = require(event, "event"); !status)
      return status;
    event->event.synchronize();
    return {};
  });
}

weft_status weft_event_query(weft_event *event, int32_t *passed) {
  return guarded([&]() -> Status {
    if (Status status = require(event, "event"); !status)
      return status;
    if (Status status = require(passed, "passed"); !status)
      return status;
    *passed = event->event.query();
    return {};
  });
}

weft_status weft_event_elapsed_ms(weft_event *start, weft_event *end, double *milliseconds) {
  return guarded([&]() -> Status {
    if (Status status = require(start, "start"); !status)
      return status;
    if (Status status = require(end, "end"); !status)
      return status;
    if (Status status = require(milliseconds, "milliseconds"); !status)
      return status;
    if (!start->timing || !end->timing)
      return argument_error("both events must be made with timing to be measured with");
    const Expected<double> elapsed = end->event.elapsed_time(start->event);
    if (!elapsed)
      return elapsed.status();
    *milliseconds = *elapsed;
    return {};
  });
}
