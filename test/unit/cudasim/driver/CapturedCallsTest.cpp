//===- CapturedCallsTest.cpp - What an H100 allowed in a capture ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each row of "calls_while_capturing" in the answers of a real device (test/cudasim/calibration) is asked
// here again: a stream is captured in a mode, a call is made, and the capture is ended. The calls have the
// names that they have in calibration/driver.cu.
//
//===----------------------------------------------------------------------===//
#include "test/unit/cudasim/driver/SoftwareDriver.h"

#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <thread>

using namespace weft::cusim;

namespace {

/// What the calls of a row use.
struct Scene {
  explicit Scene(SoftwareDriver &driver)
      : driver(driver), buffer(driver.allocate(4096)), other(driver.allocate(4096)), side(driver.stream()),
        captured(driver.stream()), early(driver.event()), pinned(driver.pinned(16)), pageable(1 << 12) {
    EXPECT_EQ(driver.cuEventRecord(early, side), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamBeginCapture(side, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    launch(side);
    ready = driver.endCapture(side);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  }
  CUresult launch(CUstream stream) { return driver.add(stream, buffer, 1, 1); }

  SoftwareDriver &driver;
  CUdeviceptr buffer, other;
  CUstream side, captured;
  CUevent early;
  uint32_t *pinned;
  std::vector<char> pageable;
  CUgraphExec ready = nullptr;
};

using CapturedCall = std::function<CUresult(Scene &)>;
using CapturedCalls = std::map<std::string, CapturedCall>;

template <class Act> CUresult onAnotherThread(SoftwareDriver &driver, Act act) {
  CUresult code = CUDA_SUCCESS;
  CUcontext context = nullptr;
  driver.cuCtxGetCurrent(&context);
  std::thread([&] {
    driver.cuCtxSetCurrent(context);
    code = act();
  }).join();
  return code;
}

void addMemoryCalls(CapturedCalls &calls) {
  calls["cuMemAlloc"] = [](Scene &s) {
    CUdeviceptr made = 0;
    return s.driver.cuMemAlloc(&made, 64);
  };
  calls["cuMemAllocAsync, uncaptured"] = [](Scene &s) {
    CUdeviceptr made = 0;
    return s.driver.cuMemAllocAsync(&made, 64, s.side);
  };
  calls["cuMemFree"] = [](Scene &s) { return s.driver.cuMemFree(s.other); };
  calls["cuMemFreeAsync, uncaptured"] = [](Scene &s) { return s.driver.cuMemFreeAsync(s.other, s.side); };
  calls["cuMemHostAlloc"] = [](Scene &s) {
    void *made = nullptr;
    return s.driver.cuMemHostAlloc(&made, 64, 0);
  };
  calls["cuMemHostRegister"] = [](Scene &s) {
    return s.driver.cuMemHostRegister(s.pageable.data(), s.pageable.size(), 0);
  };
  calls["cuMemGetInfo"] = [](Scene &s) {
    size_t free = 0, total = 0;
    return s.driver.cuMemGetInfo(&free, &total);
  };
  calls["cuPointerGetAttribute"] = [](Scene &s) {
    CUmemorytype type{};
    return s.driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, s.buffer);
  };
  calls["cuMemAlloc on another thread"] = [](Scene &s) {
    return onAnotherThread(s.driver, [&] {
      CUdeviceptr made = 0;
      return s.driver.cuMemAlloc(&made, 64);
    });
  };
  calls["cuMemcpyHtoDAsync, pageable"] = [](Scene &s) {
    return s.driver.cuMemcpyHtoDAsync(s.buffer, s.pageable.data(), 64, s.captured);
  };
  calls["cuMemcpyHtoDAsync, pinned"] = [](Scene &s) {
    return s.driver.cuMemcpyHtoDAsync(s.buffer, s.pinned, 64, s.captured);
  };
  calls["cuMemcpyDtoHAsync, pageable"] = [](Scene &s) {
    return s.driver.cuMemcpyDtoHAsync(s.pageable.data(), s.buffer, 64, s.captured);
  };
  calls["cuMemcpyDtoDAsync"] = [](Scene &s) {
    return s.driver.cuMemcpyDtoDAsync(s.buffer, s.other, 64, s.captured);
  };
  calls["cuMemsetD8Async"] = [](Scene &s) { return s.driver.cuMemsetD8Async(s.buffer, 0, 64, s.captured); };
}

void addWaitingCalls(CapturedCalls &calls) {
  calls["cuStreamSynchronize, captured"] = [](Scene &s) { return s.driver.cuStreamSynchronize(s.captured); };
  calls["cuStreamSynchronize, uncaptured"] = [](Scene &s) { return s.driver.cuStreamSynchronize(s.side); };
  calls["cuStreamSynchronize, legacy"] = [](Scene &s) { return s.driver.cuStreamSynchronize(nullptr); };
  calls["cuStreamQuery, captured"] = [](Scene &s) { return s.driver.cuStreamQuery(s.captured); };
  calls["cuStreamQuery, uncaptured"] = [](Scene &s) { return s.driver.cuStreamQuery(s.side); };
  calls["cuStreamQuery, legacy"] = [](Scene &s) { return s.driver.cuStreamQuery(nullptr); };
  calls["cuCtxSynchronize"] = [](Scene &s) { return s.driver.cuCtxSynchronize(); };
}

void addEventCalls(CapturedCalls &calls) {
  auto recorded = [](Scene &s) {
    CUevent made = s.driver.event();
    EXPECT_EQ(s.driver.cuEventRecord(made, s.captured), CUDA_SUCCESS);
    return made;
  };
  calls["cuEventRecord, captured; query"] = [=](Scene &s) { return s.driver.cuEventQuery(recorded(s)); };
  calls["cuEventRecord, captured; synchronize"] = [=](Scene &s) {
    return s.driver.cuEventSynchronize(recorded(s));
  };
  calls["cuEventRecord, captured; destroy"] = [=](Scene &s) { return s.driver.cuEventDestroy(recorded(s)); };
  calls["cuEventQuery, recorded before"] = [](Scene &s) { return s.driver.cuEventQuery(s.early); };
  calls["cuEventSynchronize, recorded before"] = [](Scene &s) {
    return s.driver.cuEventSynchronize(s.early);
  };
  calls["cuStreamWaitEvent, recorded before"] = [](Scene &s) {
    return s.driver.cuStreamWaitEvent(s.captured, s.early, 0);
  };
  calls["cuStreamWaitEvent, recorded before, external"] = [](Scene &s) {
    return s.driver.cuStreamWaitEvent(s.captured, s.early, CU_EVENT_WAIT_EXTERNAL);
  };
  calls["cuEventRecord external"] = [](Scene &s) {
    return s.driver.cuEventRecordWithFlags(s.early, s.captured, CU_EVENT_RECORD_EXTERNAL);
  };
  calls["fork that is not joined"] = [=](Scene &s) {
    s.driver.cuStreamWaitEvent(s.side, recorded(s), 0);
    return s.launch(s.side);
  };
  calls["fork that is joined"] = [=](Scene &s) {
    s.driver.cuStreamWaitEvent(s.side, recorded(s), 0);
    s.launch(s.side);
    CUevent end = s.driver.event();
    s.driver.cuEventRecord(end, s.side);
    return s.driver.cuStreamWaitEvent(s.captured, end, 0);
  };
  calls["cuEventCreate"] = [](Scene &s) {
    CUevent made = nullptr;
    return s.driver.cuEventCreate(&made, 0);
  };
}

void addOtherCalls(CapturedCalls &calls) {
  calls["nothing"] = [](Scene &) { return CUDA_SUCCESS; };
  calls["launch"] = [](Scene &s) { return s.launch(s.captured); };
  calls["launch, uncaptured stream"] = [](Scene &s) { return s.launch(s.side); };
  calls["launch, legacy stream"] = [](Scene &s) { return s.launch(CU_STREAM_LEGACY); };
  calls["cuLaunchHostFunc"] = [](Scene &s) {
    return s.driver.cuLaunchHostFunc(s.captured, [](void *) {}, nullptr);
  };
  calls["cuStreamCreate"] = [](Scene &s) {
    CUstream made = nullptr;
    return s.driver.cuStreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, 0);
  };
  calls["cuModuleLoadData, text"] = [](Scene &s) {
    CUmodule made = nullptr;
    return s.driver.cuModuleLoadDataEx(&made, kernelText().c_str(), 0, nullptr, nullptr);
  };
  calls["cuFuncGetAttribute"] = [](Scene &s) {
    int value = 0;
    return s.driver.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, s.driver.kernel("add"));
  };
  calls["cuFuncSetAttribute"] = [](Scene &s) {
    return s.driver.cuFuncSetAttribute(s.driver.kernel("add"),
                                       CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536);
  };
  calls["cuStreamBeginCapture again"] = [](Scene &s) {
    return s.driver.cuStreamBeginCapture(s.captured, CU_STREAM_CAPTURE_MODE_RELAXED);
  };
  calls["cuGraphLaunch, captured"] = [](Scene &s) { return s.driver.cuGraphLaunch(s.ready, s.captured); };
  calls["cuGraphLaunch, uncaptured"] = [](Scene &s) { return s.driver.cuGraphLaunch(s.ready, s.side); };
  calls["cuGraphInstantiate another"] = [](Scene &s) {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    s.driver.cuGraphCreate(&graph, 0);
    return s.driver.cuGraphInstantiate(&executable, graph, 0);
  };
  calls["cuGraphUpload, uncaptured"] = [](Scene &s) { return s.driver.cuGraphUpload(s.ready, s.side); };
  calls["cuStreamEndCapture on another thread"] = [](Scene &s) {
    return onAnotherThread(s.driver, [&] {
      CUgraph graph = nullptr;
      return s.driver.cuStreamEndCapture(s.captured, &graph);
    });
  };
}

/// Rows that are not asked. The driver has no such functions, except for allocations of a graph, which it
/// refuses, and for the end of a capture whose stream is destroyed, which CaptureTest.cpp has.
const std::set<std::string> otherRows = {"launch, per-thread stream",
                                         "cuMemcpyHtoD",
                                         "cuMemcpyDtoH",
                                         "cuMemsetD8",
                                         "cuStreamAddCallback",
                                         "cuMemAllocAsync, captured",
                                         "cuStreamDestroy, captured"};

/// What lies behind "NAME": in a line, without quotation marks.
std::string fieldOf(const std::string &line, const std::string &name) {
  const std::string key = "\"" + name + "\": ";
  size_t begin = line.find(key);
  if (begin == std::string::npos)
    return "";
  begin += key.size();
  const bool isText = line[begin] == '"';
  return isText ? line.substr(begin + 1, line.find('"', begin + 1) - begin - 1)
                : line.substr(begin, line.find_first_of(",}", begin) - begin);
}

CUstreamCaptureMode modeOf(const std::string &name) {
  return name == "global"         ? CU_STREAM_CAPTURE_MODE_GLOBAL
         : name == "thread_local" ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
                                  : CU_STREAM_CAPTURE_MODE_RELAXED;
}

/// Asks what a row asked, and writes the answer as the row does.
std::string answer(SoftwareDriver &driver, const std::string &mode, const CapturedCall &call) {
  auto nameOf = [&](CUresult code) {
    const char *name = nullptr;
    driver.cuGetErrorName(code, &name);
    return std::string(name);
  };
  Scene scene(driver);
  EXPECT_EQ(driver.cuStreamBeginCapture(scene.captured, modeOf(mode)), CUDA_SUCCESS);
  EXPECT_EQ(scene.launch(scene.captured), CUDA_SUCCESS);
  std::ostringstream text;
  text << nameOf(call(scene));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_EQ(driver.cuStreamIsCapturing(scene.captured, &status), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  const CUresult end = driver.cuStreamEndCapture(scene.captured, &graph);
  CUgraphExec executable = nullptr;
  const CUresult instantiate =
      graph ? driver.cuGraphInstantiate(&executable, graph, 0) : CUDA_ERROR_INVALID_VALUE;
  text << " " << int(status) << " " << nameOf(end) << " " << (graph ? driver.nodeCount(graph) : 0) << " "
       << nameOf(instantiate);
  EXPECT_EQ(driver.cuStreamIsCapturing(scene.side, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE) << "streams that joined are free again";
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  return text.str();
}

TEST(CapturedCalls, GiveWhatAnH100Gave) {
  run({}, [](SoftwareDriver &driver) {
    driver.start();
    CapturedCalls calls;
    addMemoryCalls(calls);
    addWaitingCalls(calls);
    addEventCalls(calls);
    addOtherCalls(calls);
    std::ifstream file(std::string(WEFT_CUDASIM_DIR) + "/calibration/h100/driver.json");
    size_t asked = 0;
    for (std::string line; std::getline(file, line);) {
      const std::string mode = fieldOf(line, "mode"), call = fieldOf(line, "call");
      if (mode.empty() || otherRows.contains(call))
        continue;
      ASSERT_TRUE(calls.contains(call)) << call;
      EXPECT_EQ(answer(driver, mode, calls[call]),
                fieldOf(line, "gives") + " " + fieldOf(line, "capture") + " " + fieldOf(line, "end") + " " +
                    fieldOf(line, "nodes") + " " + fieldOf(line, "instantiate"))
          << call << ", " << mode;
      ++asked;
    }
    EXPECT_EQ(asked, calls.size() * 3);
  });
}

} // namespace
