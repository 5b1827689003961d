//===- CaptureFunctions.cpp - The functions that capture streams ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Capture.h"
#include "test/cudasim/driver/Functions.h"

namespace weft::cusim {
namespace {

bool isMode(CUstreamCaptureMode mode) {
  return mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
         mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUresult refuseMode(CUstreamCaptureMode mode) {
  return refuse(CUDA_ERROR_INVALID_VALUE, "there is no capture mode " + std::to_string(int(mode)));
}

/// The stream whose capture is asked for; null with a code. Asking leaves the capture as it is.
Stream *askedStream(CUstream handle, CUresult &code) {
  Stream *stream = state().streamOf(handle);
  code = stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  if (stream && stream == stream->context.legacy && legacyIsForbidden(stream->context)) {
    code = refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "a blocking stream is captured");
    return nullptr;
  }
  return stream;
}

CUstreamCaptureStatus statusOf(const Stream &stream) {
  const Capture *capture = stream.place.capture.get();
  return !capture           ? CU_STREAM_CAPTURE_STATUS_NONE
         : capture->isValid ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                            : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

template <class T> void give(T *to, T value) {
  if (to)
    *to = value;
}

} // namespace

namespace functions {

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  Stream *stream = state().streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  return isMode(mode) ? beginCapture(*stream, mode) : refuseMode(mode);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graphHandle) {
  Stream *stream = state().streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  Graph *graph = nullptr;
  const CUresult code = endCapture(*stream, graph);
  give(graphHandle, handleOf<CUgraph>(graph));
  return code;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  CUresult code = CUDA_SUCCESS;
  if (const Stream *stream = askedStream(handle, code))
    *status = statusOf(*stream);
  return code;
}

CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
                                CUgraph *graph, const CUgraphNode **nodes, const CUgraphEdgeData **edges,
                                size_t *count) {
  thread_local std::vector<CUgraphNode> after; // which the program may read until the next call
  CUresult code = CUDA_SUCCESS;
  const Stream *stream = askedStream(handle, code);
  if (!stream)
    return code;
  *status = statusOf(*stream);
  after.clear();
  for (Node *node : stream->place.after)
    after.push_back(handleOf<CUgraphNode>(node));
  const Capture *capture = stream->place.capture.get();
  give(id, cuuint64_t(capture ? capture->number : 0));
  give(graph, handleOf<CUgraph>(capture ? capture->graph : nullptr));
  give(nodes, static_cast<const CUgraphNode *>(after.data()));
  give(edges, static_cast<const CUgraphEdgeData *>(nullptr));
  give(count, after.size());
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  if (!isMode(*mode))
    return refuseMode(*mode);
  std::swap(*mode, threadCaptureMode());
  return CUDA_SUCCESS;
}

} // namespace functions
} // namespace weft::cusim
