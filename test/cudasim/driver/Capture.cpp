//===- Capture.cpp - Streams whose work becomes a graph ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Capture.h"

#include "test/cudasim/driver/LoopBody.h"

#include <algorithm>

namespace weft::cusim {
namespace {

CUresult invalidate(Capture &capture, CUresult code, const std::string &why) {
  capture.isValid = false;
  return refuse(code, why + ", which makes the capture invalid");
}

std::string nameOf(const Capture &capture) { return "the capture that began on " + capture.origin->name(); }

/// Its streams are as they were before.
void finish(const std::shared_ptr<Capture> &capture) {
  capture->isActive = false;
  for (Stream *stream : capture->streams)
    stream->place = {};
  capture->streams.clear();
  std::erase(state().captures, capture);
}

/// Ends a capture without a graph.
void drop(const std::shared_ptr<Capture> &capture) {
  destroy(capture->graph);
  capture->graph = nullptr;
  finish(capture);
}

void addNew(std::vector<Node *> &to, const std::vector<Node *> &nodes) {
  for (Node *node : nodes)
    if (std::find(to.begin(), to.end(), node) == to.end())
      to.push_back(node);
}

} // namespace

CUstreamCaptureMode &threadCaptureMode() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

CUresult beginCapture(Stream &stream, CUstreamCaptureMode mode) {
  if (&stream == stream.context.legacy)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot be captured");
  if (stream.place.capture)
    return refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is captured already");
  auto capture = std::make_shared<Capture>();
  capture->number = ++state().captureCount;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &stream;
  capture->graph = state().make<Graph>();
  capture->graph->isProgram = false; // until the program gets it
  capture->streams = {&stream};
  stream.place.capture = capture;
  state().captures.push_back(capture);
  return CUDA_SUCCESS;
}

CUresult endCapture(Stream &stream, Graph *&graph) {
  graph = nullptr;
  const std::shared_ptr<Capture> capture = stream.place.capture;
  if (!capture)
    return refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is not captured");
  if (capture->origin != &stream)
    return invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
                      "the capture began on " + capture->origin->name());
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id()) {
    drop(capture);
    return refuse(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "another thread began the capture");
  }
  if (!capture->isValid) {
    drop(capture);
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED; // the call that made it invalid has said why
  }
  if (withAncestors(stream.place.after).size() != capture->graph->nodes.size()) {
    drop(capture);
    return refuse(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                  "a stream that joined the capture has work that its first stream does not wait for");
  }
  graph = capture->graph;
  graph->isProgram = true;
  finish(capture);
  return CUDA_SUCCESS;
}

void leaveCapture(Stream &stream) {
  const std::shared_ptr<Capture> capture = stream.place.capture;
  if (!capture)
    return;
  if (capture->origin == &stream)
    return drop(capture);
  capture->streams.erase(&stream);
  stream.place = {};
}

bool legacyIsForbidden(const Context &context) {
  return std::any_of(context.streams.begin(), context.streams.end(),
                     [](const Stream *one) { return one->isBlocking && one->place.capture; });
}

CUresult checkUse(Stream &stream) {
  if (stream.place.capture && !stream.place.capture->isValid)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                  nameOf(*stream.place.capture) + " is invalid and must be ended");
  if (&stream != stream.context.legacy || !legacyIsForbidden(stream.context))
    return CUDA_SUCCESS;
  CUresult code = CUDA_SUCCESS;
  for (Stream *one : stream.context.streams)
    if (one->isBlocking && one->place.capture)
      code = invalidate(*one->place.capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                        "the legacy stream waits for " + one->name() + ", which is captured");
  return code;
}

CUresult checkNotCaptured(Stream &stream) {
  const CUresult code = checkUse(stream);
  if (code != CUDA_SUCCESS || !stream.place.capture)
    return code;
  return invalidate(*stream.place.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                    "the stream is captured, and no graph can hold this");
}

CUresult checkSafe() {
  const CUstreamCaptureMode mode = threadCaptureMode();
  CUresult code = CUDA_SUCCESS;
  for (const std::shared_ptr<Capture> &one : state().captures) {
    const bool isOwn = one->thread == std::this_thread::get_id();
    const bool isGlobal = mode == CU_STREAM_CAPTURE_MODE_GLOBAL && one->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (mode == CU_STREAM_CAPTURE_MODE_RELAXED || one->mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
        (!isOwn && !isGlobal))
      continue;
    code = invalidate(*one, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                      nameOf(*one) + " forbids this, unless it or this thread is in relaxed mode");
  }
  return code;
}

CUresult checkWaitForAll(const Context &context) {
  CUresult code = CUDA_SUCCESS;
  for (Stream *one : context.streams)
    if (one->place.capture)
      code = invalidate(*one->place.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                        one->name() + " is captured and cannot be waited for");
  return code;
}

CUresult checkEvent(const Event &event) {
  if (!event.place.capture)
    return CUDA_SUCCESS;
  return invalidate(*event.place.capture, CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capture");
}

/// What an item that is in no graph runs.
static std::function<Outcome()> runAlone(const Work &work) {
  if (!std::holds_alternative<Launch>(work))
    return runOf(work);
  return [run = runOf(work)] { return withoutConditions(run()); };
}

CUresult submit(Stream &stream, const std::string &what, Work work) {
  if (const CUresult code = checkUse(stream); code != CUDA_SUCCESS)
    return code;
  if (stream.place.capture)
    stream.place.after = {stream.place.capture->graph->add(std::move(work), stream.place.after)};
  else
    stream.context.enqueue(stream, what, runAlone(work), {}, std::holds_alternative<HostCall>(work));
  return CUDA_SUCCESS;
}

void recordCaptured(const Stream &stream, Event &event) {
  event.place = stream.place;
  event.recorded = nullptr;
}

CUresult waitCaptured(Stream &stream, const Event &event) {
  const std::shared_ptr<Capture> from = event.place.capture;
  if (Capture *into = stream.place.capture.get(); into && into != from.get()) {
    if (from && from->isActive) {
      from->isValid = false;
      return invalidate(*into, CUDA_ERROR_STREAM_CAPTURE_MERGE, "the event is of another capture");
    }
    return from || event.recorded
               ? invalidate(
                     *into, CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                     "the event was recorded outside of the capture (CU_EVENT_WAIT_EXTERNAL allows it)")
               : CUDA_SUCCESS; // an event that was never recorded is complete
  }
  if (!from->isActive)
    return refuse(CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capture, which has ended");
  if (!from->isValid)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, nameOf(*from) + " is invalid and must be ended");
  if (&stream == stream.context.legacy)
    return invalidate(*from, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                      "the legacy stream would wait for " + nameOf(*from));
  if (!stream.place.capture) {
    stream.place.capture = from;
    from->streams.insert(&stream);
  }
  addNew(stream.place.after, event.place.after);
  return CUDA_SUCCESS;
}

} // namespace weft::cusim
