//===- Capture.h - Streams whose work becomes a graph ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A capture begins at a stream. Other streams join it when they wait for an event that was recorded in it.
// What is enqueued on its streams becomes nodes of its graph. A call that it forbids makes it invalid; it
// stays there until it is ended, which gives no graph then. What is forbidden is what an H100 refused, where
// test/cudasim/calibration has asked it, and what CUDA's documentation says otherwise.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_CAPTURE_H
#define WEFT_TEST_CUDASIM_DRIVER_CAPTURE_H

#include "test/cudasim/driver/Graph.h"

#include <thread>

namespace weft::cusim {

struct Capture {
  uint64_t number = 0; ///< of all captures, from 1
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread; ///< that began it
  Stream *origin = nullptr;
  Graph *graph = nullptr;
  bool isActive = true; ///< it was not ended
  bool isValid = true;
  std::set<Stream *> streams;
};

/// Of this thread: which captures its calls must respect.
CUstreamCaptureMode &threadCaptureMode();

CUresult beginCapture(Stream &stream, CUstreamCaptureMode mode);
/// The graph is null unless the code is CUDA_SUCCESS.
CUresult endCapture(Stream &stream, Graph *&graph);
/// A stream that is destroyed leaves its capture, and ends it if it began there.
void leaveCapture(Stream &stream);

/// Whether a stream that is captured and blocking forbids to use the legacy stream.
bool legacyIsForbidden(const Context &context);
/// Why the stream cannot be used: its capture is invalid, or it is the legacy one and forbidden.
CUresult checkUse(Stream &stream);
/// The same for what no graph can hold: it must not be captured either, and the capture becomes invalid.
CUresult checkNotCaptured(Stream &stream);
/// For calls that may allocate or wait outside of streams: captures that forbid them become invalid.
CUresult checkSafe();
/// For waiting for everything: all captures of the context become invalid.
CUresult checkWaitForAll(const Context &context);
/// Whether an event may be waited for or queried: its last record must not be in a capture.
CUresult checkEvent(const Event &event);

/// Enqueues work on a stream, or adds a node for it if the stream is captured.
CUresult submit(Stream &stream, const std::string &what, Work work);
/// Records an event in the capture of the stream.
void recordCaptured(const Stream &stream, Event &event);
/// The stream waits for the event, and one of them or both are captured.
CUresult waitCaptured(Stream &stream, const Event &event);

} // namespace weft::cusim

#endif // WEFT_TEST_CUDASIM_DRIVER_CAPTURE_H
