//===- CaptureTest.cpp - Streams whose work becomes a graph ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/cudasim/driver/SoftwareDriver.h"

#include <gtest/gtest.h>
#include <thread>

using namespace weft::cusim;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

void begin(SoftwareDriver &driver, CUstream stream,
           CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) {
  EXPECT_EQ(driver.cuStreamBeginCapture(stream, mode), CUDA_SUCCESS);
}

/// `later` waits for what `earlier` has.
void hand(SoftwareDriver &driver, CUstream earlier, CUstream later) {
  CUevent event = driver.event();
  EXPECT_EQ(driver.cuEventRecord(event, earlier), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamWaitEvent(later, event, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy(event), CUDA_SUCCESS);
}

TEST(Capture, MakesNodesOfWhatAStreamGetsAndRunsNothing) {
  run({{"CUSIM_EAGER", "1"}, {"CUSIM_RACE", "1"}}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    const CUdeviceptr a = driver.allocate(4), b = driver.allocate(4);
    uint32_t *pinned = driver.pinned(1), pageable = 0, called = 0;
    *pinned = 1;
    begin(driver, stream);
    EXPECT_EQ(driver.cuMemsetD32Async(b, 9, 1, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyHtoDAsync(a, pinned, 4, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.add(stream, a, 2, 1), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoDAsync(b, a, 4, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync(&pageable, b, 4, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuLaunchHostFunc(
                  stream, [](void *count) { ++*static_cast<uint32_t *>(count); }, &called),
              CUDA_SUCCESS);
    CUgraph graph = nullptr;
    EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    EXPECT_EQ(pageable, 0u) << "nothing has run";
    CUgraphNode nodes[8] = {}, before = nullptr;
    size_t count = 8;
    EXPECT_EQ(driver.cuGraphGetNodes(graph, nodes, &count), CUDA_SUCCESS);
    ASSERT_EQ(count, 6u);
    const CUgraphNodeType types[] = {CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY,
                                     CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY,
                                     CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_HOST};
    for (size_t k = 0; k < count; ++k) {
      CUgraphNodeType type{};
      size_t one = 1;
      EXPECT_EQ(driver.cuGraphNodeGetType(nodes[k], &type), CUDA_SUCCESS);
      EXPECT_EQ(type, types[k]) << k;
      EXPECT_EQ(driver.cuGraphNodeGetDependencies(nodes[k], &before, nullptr, &one), CUDA_SUCCESS);
      EXPECT_EQ(before, k ? nodes[k - 1] : nullptr) << "in the order of the stream";
    }
    CUgraphExec executable = nullptr;
    EXPECT_EQ(driver.cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    for (uint32_t value : {1u, 5u}) {
      *pinned = value;
      EXPECT_EQ(driver.cuGraphLaunch(executable, stream), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
      EXPECT_EQ(pageable, value + 2) << "memory of the host is read and written by each launch";
    }
    EXPECT_EQ(called, 2u);
  });
}

/// Two streams of a capture write to the same number; `joins` says whether the second waits for the first.
std::string fork(bool joins) {
  return run({{"CUSIM_RACE", "1"}}, [=](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream(), side = driver.stream();
    const CUdeviceptr a = driver.allocate(4);
    begin(driver, stream);
    driver.cuMemsetD32Async(a, 1, 1, stream);
    hand(driver, stream, side);
    driver.add(side, a, 2, 1);
    if (joins)
      hand(driver, side, stream);
    driver.add(stream, a, 4, 1);
    if (!joins)
      hand(driver, side, stream);
    CUgraphExec executable = driver.endCapture(stream);
    EXPECT_EQ(driver.cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), joins ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED);
    if (joins) {
      EXPECT_EQ(driver.read(a), 7u);
    }
  });
}

TEST(Capture, ForksAndJoinsByEvents) {
  EXPECT_EQ(fork(true), "");
  EXPECT_TRUE(contains(fork(false), "race: kernel 'add' of node 3 in cuGraphLaunch"));
}

TEST(Capture, SaysWhatItKnows) {
  run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    const CUdeviceptr a = driver.allocate(4);
    CUstreamCaptureStatus status{};
    cuuint64_t id = 0;
    CUgraph graph = nullptr;
    const CUgraphNode *after = nullptr;
    size_t count = 0;
    auto ask = [&] {
      EXPECT_EQ(driver.cuStreamGetCaptureInfo(stream, &status, &id, &graph, &after, nullptr, &count),
                CUDA_SUCCESS);
    };
    ask();
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
    begin(driver, stream);
    driver.cuMemsetD32Async(a, 1, 1, stream);
    driver.cuMemsetD32Async(a, 2, 1, stream);
    ask();
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_EQ(id, 1u);
    CUgraphNode nodes[2];
    size_t two = 2;
    EXPECT_EQ(driver.cuGraphGetNodes(graph, nodes, &two), CUDA_SUCCESS);
    ASSERT_EQ(count, 1u);
    EXPECT_EQ(after[0], nodes[1]);
    EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE) << "it belongs to the capture";
    EXPECT_EQ(driver.cuStreamQuery(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    ask();
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(driver.cuMemsetD32Async(a, 1, 1, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(driver.cuMemsetD32Async(a, 1, 1, stream), CUDA_SUCCESS);
  });
}

TEST(Capture, DoesNotMixWithTheLegacyStreamOrOtherCaptures) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream blocking = driver.stream(CU_STREAM_DEFAULT), other = driver.stream(), third = driver.stream();
    const CUdeviceptr a = driver.allocate(4);
    CUgraph graph = nullptr;
    CUstreamCaptureStatus status{};
    EXPECT_EQ(driver.cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    begin(driver, blocking);
    EXPECT_EQ(driver.cuStreamIsCapturing(nullptr, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    EXPECT_EQ(driver.cuMemsetD32Async(a, 1, 1, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    EXPECT_EQ(driver.cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(driver, blocking);
    begin(driver, other);
    CUevent event = driver.event();
    EXPECT_EQ(driver.cuEventRecord(event, blocking), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamWaitEvent(other, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    EXPECT_EQ(driver.cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(driver.cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(driver.cuStreamWaitEvent(third, event, 0), CUDA_ERROR_CAPTURED_EVENT) << "of an ended capture";
    begin(driver, other);
    hand(driver, other, third);
    EXPECT_EQ(driver.cuStreamEndCapture(third, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    EXPECT_EQ(driver.cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  });
  EXPECT_TRUE(contains(output, "the legacy stream waits for stream 1, which is captured")) << output;
}

TEST(Capture, TheModeOfAThreadSaysWhoseCapturesCount) {
  run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    CUdeviceptr address = 0;
    begin(driver, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CUcontext context = nullptr;
    driver.cuCtxGetCurrent(&context);
    std::thread([&] {
      CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
      driver.cuCtxSetCurrent(context);
      EXPECT_EQ(driver.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
      EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL) << "which was that of the thread";
      EXPECT_EQ(driver.cuMemAlloc(&address, 4), CUDA_SUCCESS);
    }).join();
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    EXPECT_EQ(driver.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAlloc(&address, 4), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    driver.endCapture(stream);
  });
}

TEST(Capture, EventsOutsideOfAGraphAreNodes) {
  run({{"CUSIM_RACE", "1"}}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream(), side = driver.stream();
    const CUdeviceptr a = driver.allocate(4), b = driver.allocate(4);
    CUevent before = driver.event(), after = driver.event();
    begin(driver, stream);
    EXPECT_EQ(driver.cuStreamWaitEvent(stream, before, CU_EVENT_WAIT_EXTERNAL), CUDA_SUCCESS);
    driver.cuMemcpyDtoDAsync(b, a, 4, stream);
    EXPECT_EQ(driver.cuEventRecordWithFlags(after, stream, CU_EVENT_RECORD_EXTERNAL), CUDA_SUCCESS);
    CUgraphExec executable = driver.endCapture(stream);
    EXPECT_EQ(driver.cuEventRecordWithFlags(after, stream, CU_EVENT_RECORD_EXTERNAL),
              CUDA_ERROR_INVALID_VALUE);
    driver.cuMemsetD32Async(a, 3, 1, side);
    driver.cuEventRecord(before, side);
    EXPECT_EQ(driver.cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamWaitEvent(side, after, 0), CUDA_SUCCESS);
    driver.cuMemsetD32Async(a, 4, 1, side);
    EXPECT_EQ(driver.cuStreamSynchronize(side), CUDA_SUCCESS);
    EXPECT_EQ(driver.read(b), 3u);
    EXPECT_EQ(driver.cuEventDestroy(before), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(executable, stream), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(Capture, EndsWithItsStreamAndLeavesNothing) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    const CUdeviceptr a = driver.allocate(4);
    CUdeviceptr made = 0;
    CUgraph graph = nullptr;
    begin(driver, stream);
    driver.cuMemsetD32Async(a, 1, 1, stream);
    EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFree(a), CUDA_SUCCESS) << "no capture forbids it any more";
    stream = driver.stream();
    begin(driver, stream);
    EXPECT_EQ(driver.cuMemAllocAsync(&made, 4, stream), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_SUCCESS);
    EXPECT_STREQ(driver.report(), "");
  });
  EXPECT_TRUE(contains(output, "graphs do not allocate here: allocate before the capture")) << output;
}

} // namespace
