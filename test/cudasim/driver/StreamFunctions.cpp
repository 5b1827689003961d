//===- StreamFunctions.cpp - Streams and events -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Capture.h"
#include "test/cudasim/driver/Functions.h"

namespace weft::cusim {
namespace {

Event *eventOf(CUevent handle) {
  Event *event = state().find<Event>(handle);
  if (!event)
    refuse(CUDA_ERROR_INVALID_HANDLE, "the event does not exist, or was destroyed");
  return event;
}

/// What forbids to wait for a stream or to query it.
CUresult checkWait(Stream &stream) {
  const CUresult code = checkNotCaptured(stream);
  return code == CUDA_SUCCESS ? checkSafe() : code;
}

/// The same for an event.
CUresult checkWait(const Event &event) {
  const CUresult code = checkEvent(event);
  return code == CUDA_SUCCESS ? checkSafe() : code;
}

CUresult record(Stream &stream, Event &event) {
  if (&event.context != &stream.context)
    return refuse(CUDA_ERROR_INVALID_HANDLE, "event and stream are of different contexts");
  if (const CUresult code = checkUse(stream); code != CUDA_SUCCESS)
    return code;
  if (stream.place.capture) {
    recordCaptured(stream, event);
    return CUDA_SUCCESS;
  }
  event.place = {};
  event.recorded = stream.context.enqueue(stream, currentCall().text(), nullptr);
  return CUDA_SUCCESS;
}

} // namespace

namespace functions {

CUresult cuStreamCreateWithPriority(CUstream *handle, unsigned flags, int priority) {
  if (flags != CU_STREAM_DEFAULT && flags != CU_STREAM_NON_BLOCKING)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the flags " + std::to_string(flags) + " are not known");
  Stream *stream = state().make<Stream>(*currentContext(), flags == CU_STREAM_DEFAULT, priority);
  *handle = handleOf<CUstream>(stream);
  return CUDA_SUCCESS;
}

/// The work of the stream runs, but the host does not count as having waited for it.
CUresult cuStreamDestroy(CUstream handle) {
  Stream *stream = state().find<Stream>(handle);
  if (!stream || stream == stream->context.legacy)
    return refuse(CUDA_ERROR_INVALID_HANDLE, "the stream does not exist, or was destroyed");
  leaveCapture(*stream);
  state().schedule.run(*currentCall().lock, stream->last);
  stream->context.destroy(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream handle) {
  Stream *stream = state().streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult code = checkWait(*stream); code != CUDA_SUCCESS)
    return code;
  Context &context = stream->context;
  // The legacy stream waits for all blocking streams.
  waitFor(stream == context.legacy ? context.predecessorsOn(*stream) : std::vector{stream->last});
  context.trimPools();
  return context.error;
}

CUresult cuStreamQuery(CUstream handle) {
  Stream *stream = state().streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult code = checkWait(*stream); code != CUDA_SUCCESS)
    return code;
  if (!state().schedule.advance(*currentCall().lock, stream->last))
    return CUDA_ERROR_NOT_READY;
  return stream->context.error;
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent eventHandle, unsigned flags) {
  Stream *stream = state().streamOf(handle);
  Event *event = eventOf(eventHandle);
  if (!stream || !event)
    return CUDA_ERROR_INVALID_HANDLE;
  if (flags & ~unsigned(CU_EVENT_WAIT_EXTERNAL) || (flags && !stream->place.capture))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the flags must be 0, or CU_EVENT_WAIT_EXTERNAL in a capture");
  if (const CUresult code = checkUse(*stream); code != CUDA_SUCCESS)
    return code;
  if (flags)
    return submit(*stream, currentCall().text(), EventWait{event});
  if (stream->place.capture || event->place.capture)
    return waitCaptured(*stream, *event);
  // An event that was never recorded is complete.
  if (event->recorded)
    stream->context.enqueue(*stream, currentCall().text(), nullptr, {event->recorded});
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data) {
  Stream *stream = state().streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!function)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the function is null");
  return submit(*stream, currentCall().text(), HostCall{function, data});
}

CUresult cuEventCreate(CUevent *handle, unsigned flags) {
  if (flags & ~unsigned(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING))
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "the flags " + std::to_string(flags) + " are not supported");
  Event *event = state().make<Event>(*currentContext(), !(flags & CU_EVENT_DISABLE_TIMING));
  *handle = handleOf<CUevent>(event);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent handle) {
  const Event *event = eventOf(handle);
  if (!event)
    return CUDA_ERROR_INVALID_HANDLE;
  state().destroy(event);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent handle, CUstream streamHandle) {
  Stream *stream = state().streamOf(streamHandle);
  Event *event = eventOf(handle);
  if (!stream || !event)
    return CUDA_ERROR_INVALID_HANDLE;
  return record(*stream, *event);
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream streamHandle, unsigned flags) {
  Stream *stream = state().streamOf(streamHandle);
  Event *event = eventOf(handle);
  if (!stream || !event)
    return CUDA_ERROR_INVALID_HANDLE;
  if (flags & ~unsigned(CU_EVENT_RECORD_EXTERNAL) || (flags && !stream->place.capture))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the flags must be 0, or CU_EVENT_RECORD_EXTERNAL in a capture");
  return flags ? submit(*stream, currentCall().text(), EventRecord{event}) : record(*stream, *event);
}

CUresult cuEventQuery(CUevent handle) {
  const Event *event = eventOf(handle);
  if (!event)
    return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult code = checkWait(*event); code != CUDA_SUCCESS)
    return code;
  if (!state().schedule.advance(*currentCall().lock, event->recorded))
    return CUDA_ERROR_NOT_READY;
  return event->context.error;
}

CUresult cuEventSynchronize(CUevent handle) {
  const Event *event = eventOf(handle);
  if (!event)
    return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult code = checkWait(*event); code != CUDA_SUCCESS)
    return code;
  waitFor({event->recorded});
  event->context.trimPools();
  return event->context.error;
}

/// The clock is virtual: times grow, and mean nothing else.
CUresult cuEventElapsedTime(float *milliseconds, CUevent startHandle, CUevent endHandle) {
  const Event *start = eventOf(startHandle), *end = eventOf(endHandle);
  if (!start || !end)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!start->hasTime || !end->hasTime || !start->recorded || !end->recorded)
    return refuse(CUDA_ERROR_INVALID_HANDLE,
                  "both events must be recorded, and made without CU_EVENT_DISABLE_TIMING");
  if (!start->recorded->isDone() || !end->recorded->isDone())
    return CUDA_ERROR_NOT_READY;
  *milliseconds = float(double(int64_t(end->recorded->endTime - start->recorded->endTime)) / 1e6);
  return CUDA_SUCCESS;
}

} // namespace functions
} // namespace weft::cusim
