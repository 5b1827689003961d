//===- driver.cu - What the driver answers ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Result codes of the driver where its documentation leaves room: calls while a stream is captured, calls
// after a fault, changes of an instantiated graph, launches at their limits; and the device's attributes.
//
//   driver              everything, as JSON
//   driver --fault N    causes fault N in this process and prints what calls give afterwards
//
//===----------------------------------------------------------------------===//
#include "Calibration.h"

#include <cassert>
#include <cstring>
#include <functional>
#include <map>
#include <thread>
#include <vector>

__global__ void touch(float *p) { p[threadIdx.x] += 1; }
__global__ void other(float *p) { p[threadIdx.x] += 2; }
__global__ void nothing() {}
__global__ void writeFar(float *p) { p[size_t(1) << 40] = 1; }
__global__ void writeNull() { *reinterpret_cast<volatile float *>(threadIdx.x * 4) = 1; }
__global__ void writeOdd(char *p) { *reinterpret_cast<volatile float *>(p + 1) = 1; }
__global__ void trapped() { asm volatile("trap;"); }
__global__ void asserted(int x) { assert(x == 1); }
__global__ void sharedFar() {
  extern __shared__ float s[];
  reinterpret_cast<volatile float *>(s)[1 << 20] = 1;
}
__global__ void sharedOdd() {
  extern __shared__ char c[];
  *reinterpret_cast<volatile float *>(c + 1) = 1;
}
__global__ void divergentBarrier() {
  if (threadIdx.x < 16)
    __syncthreads();
}
__global__ void exitedShuffle(float *p) {
  if (threadIdx.x >= 16)
    return;
  p[threadIdx.x] = __shfl_down_sync(0xffffffffu, p[threadIdx.x], 1);
}
template <int N> struct Parameters {
  char bytes[N];
};
template <int N> __global__ void manyParameters(Parameters<N> p, char *out) { *out = p.bytes[N - 1]; }

static const char *nameOf(CUresult code) {
  const char *name = nullptr;
  cuGetErrorName(code, &name);
  return name ? name : "?";
}

/// Remembered, as the runtime answers nothing after a fault.
static CUfunction functionOf(const void *kernel) {
  static std::map<const void *, CUfunction> known;
  if (auto it = known.find(kernel); it != known.end())
    return it->second;
  cudaFunction_t function;
  CHECK(cudaGetFuncBySymbol(&function, kernel));
  return known[kernel] = reinterpret_cast<CUfunction>(function);
}

//===----------------------------------------------------------------------===//
// Calls while a stream is captured
//===----------------------------------------------------------------------===//

static CUdeviceptr buffer, buffer2;
static CUstream side;
static CUevent early;
static std::vector<char> pageable(1 << 20);
static char *pinned;
static CUgraphExec ready;

struct CapturedCall {
  const char *name;
  std::function<CUresult(CUstream captured)> call;
  bool destroysStream = false; ///< using a destroyed stream ends the process inside of the driver
};

static CUresult launch(CUstream stream, const void *kernel = reinterpret_cast<const void *>(touch)) {
  void *arguments[] = {&buffer};
  return cuLaunchKernel(functionOf(kernel), 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr);
}

static std::vector<CapturedCall> capturedCalls() {
  return {
      {"nothing", [](CUstream) { return CUDA_SUCCESS; }},
      {"launch", [](CUstream s) { return launch(s); }},
      {"launch, uncaptured stream", [](CUstream) { return launch(side); }},
      {"launch, legacy stream", [](CUstream) { return launch(CU_STREAM_LEGACY); }},
      {"launch, per-thread stream", [](CUstream) { return launch(CU_STREAM_PER_THREAD); }},
      {"cuMemAlloc",
       [](CUstream) {
         CUdeviceptr p;
         return cuMemAlloc(&p, 1 << 20);
       }},
      {"cuMemAllocAsync, captured",
       [](CUstream s) {
         CUdeviceptr p;
         return cuMemAllocAsync(&p, 1 << 20, s);
       }},
      {"cuMemAllocAsync, uncaptured",
       [](CUstream) {
         CUdeviceptr p;
         return cuMemAllocAsync(&p, 1 << 20, side);
       }},
      {"cuMemFree", [](CUstream) { return cuMemFree(buffer2); }},
      {"cuMemFreeAsync, uncaptured", [](CUstream) { return cuMemFreeAsync(buffer2, side); }},
      {"cuMemHostAlloc",
       [](CUstream) {
         void *p;
         return cuMemHostAlloc(&p, 1 << 20, 0);
       }},
      {"cuMemHostRegister", [](CUstream) { return cuMemHostRegister(pageable.data(), pageable.size(), 0); }},
      {"cuMemGetInfo",
       [](CUstream) {
         size_t a, b;
         return cuMemGetInfo(&a, &b);
       }},
      {"cuPointerGetAttribute",
       [](CUstream) {
         CUmemorytype t;
         return cuPointerGetAttribute(&t, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, buffer);
       }},
      {"cuStreamSynchronize, captured", [](CUstream s) { return cuStreamSynchronize(s); }},
      {"cuStreamSynchronize, uncaptured", [](CUstream) { return cuStreamSynchronize(side); }},
      {"cuStreamSynchronize, legacy", [](CUstream) { return cuStreamSynchronize(nullptr); }},
      {"cuStreamQuery, captured", [](CUstream s) { return cuStreamQuery(s); }},
      {"cuStreamQuery, uncaptured", [](CUstream) { return cuStreamQuery(side); }},
      {"cuStreamQuery, legacy", [](CUstream) { return cuStreamQuery(nullptr); }},
      {"cuCtxSynchronize", [](CUstream) { return cuCtxSynchronize(); }},
      {"cuEventRecord, captured; query",
       [](CUstream s) {
         CUevent e;
         cuEventCreate(&e, 0);
         if (CUresult code = cuEventRecord(e, s))
           return code;
         return cuEventQuery(e);
       }},
      {"cuEventRecord, captured; synchronize",
       [](CUstream s) {
         CUevent e;
         cuEventCreate(&e, 0);
         cuEventRecord(e, s);
         return cuEventSynchronize(e);
       }},
      {"cuEventRecord, captured; destroy",
       [](CUstream s) {
         CUevent e;
         cuEventCreate(&e, 0);
         cuEventRecord(e, s);
         return cuEventDestroy(e);
       }},
      {"cuEventQuery, recorded before", [](CUstream) { return cuEventQuery(early); }},
      {"cuEventSynchronize, recorded before", [](CUstream) { return cuEventSynchronize(early); }},
      {"cuStreamWaitEvent, recorded before", [](CUstream s) { return cuStreamWaitEvent(s, early, 0); }},
      {"cuStreamWaitEvent, recorded before, external",
       [](CUstream s) { return cuStreamWaitEvent(s, early, CU_EVENT_WAIT_EXTERNAL); }},
      {"cuEventRecord external",
       [](CUstream s) { return cuEventRecordWithFlags(early, s, CU_EVENT_RECORD_EXTERNAL); }},
      {"fork that is not joined",
       [](CUstream s) {
         CUevent e;
         cuEventCreate(&e, 0);
         cuEventRecord(e, s);
         cuStreamWaitEvent(side, e, 0);
         return launch(side);
       }},
      {"fork that is joined",
       [](CUstream s) {
         CUevent e, f;
         cuEventCreate(&e, 0);
         cuEventCreate(&f, 0);
         cuEventRecord(e, s);
         cuStreamWaitEvent(side, e, 0);
         launch(side);
         cuEventRecord(f, side);
         return cuStreamWaitEvent(s, f, 0);
       }},
      {"cuMemcpyHtoD", [](CUstream) { return cuMemcpyHtoD(buffer, pageable.data(), 64); }},
      {"cuMemcpyDtoH", [](CUstream) { return cuMemcpyDtoH(pageable.data(), buffer, 64); }},
      {"cuMemcpyHtoDAsync, pageable",
       [](CUstream s) { return cuMemcpyHtoDAsync(buffer, pageable.data(), 64, s); }},
      {"cuMemcpyHtoDAsync, pinned", [](CUstream s) { return cuMemcpyHtoDAsync(buffer, pinned, 64, s); }},
      {"cuMemcpyDtoHAsync, pageable",
       [](CUstream s) { return cuMemcpyDtoHAsync(pageable.data(), buffer, 64, s); }},
      {"cuMemcpyDtoDAsync", [](CUstream s) { return cuMemcpyDtoDAsync(buffer, buffer2, 64, s); }},
      {"cuMemsetD8", [](CUstream) { return cuMemsetD8(buffer, 0, 64); }},
      {"cuMemsetD8Async", [](CUstream s) { return cuMemsetD8Async(buffer, 0, 64, s); }},
      {"cuLaunchHostFunc", [](CUstream s) { return cuLaunchHostFunc(s, [](void *) {}, nullptr); }},
      {"cuStreamAddCallback",
       [](CUstream s) { return cuStreamAddCallback(s, [](CUstream, CUresult, void *) {}, nullptr, 0); }},
      {"cuStreamCreate",
       [](CUstream) {
         CUstream s;
         return cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
       }},
      {"cuStreamDestroy, captured", [](CUstream s) { return cuStreamDestroy(s); }, true},
      {"cuEventCreate",
       [](CUstream) {
         CUevent e;
         return cuEventCreate(&e, 0);
       }},
      {"cuModuleLoadData, text",
       [](CUstream) {
         CUmodule m;
         return cuModuleLoadData(
             &m, ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n");
       }},
      {"cuFuncGetAttribute",
       [](CUstream) {
         int n;
         return cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS,
                                   functionOf(reinterpret_cast<const void *>(touch)));
       }},
      {"cuFuncSetAttribute",
       [](CUstream) {
         return cuFuncSetAttribute(functionOf(reinterpret_cast<const void *>(touch)),
                                   CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536);
       }},
      {"cuStreamBeginCapture again",
       [](CUstream s) { return cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED); }},
      {"cuGraphLaunch, captured", [](CUstream s) { return cuGraphLaunch(ready, s); }},
      {"cuGraphLaunch, uncaptured", [](CUstream) { return cuGraphLaunch(ready, side); }},
      {"cuGraphInstantiate another",
       [](CUstream) {
         CUgraph g;
         CUgraphExec e;
         cuGraphCreate(&g, 0);
         return cuGraphInstantiate(&e, g, 0);
       }},
      {"cuGraphUpload, uncaptured", [](CUstream) { return cuGraphUpload(ready, side); }},
      {"cuStreamEndCapture on another thread",
       [](CUstream s) {
         CUresult code = CUDA_SUCCESS;
         CUcontext context;
         cuCtxGetCurrent(&context);
         std::thread([&] {
           cuCtxSetCurrent(context);
           CUgraph g;
           code = cuStreamEndCapture(s, &g);
         }).join();
         return code;
       }},
      {"cuMemAlloc on another thread",
       [](CUstream) {
         CUresult code = CUDA_SUCCESS;
         CUcontext context;
         cuCtxGetCurrent(&context);
         std::thread([&] {
           cuCtxSetCurrent(context);
           CUdeviceptr p;
           code = cuMemAlloc(&p, 1 << 20);
         }).join();
         return code;
       }},
  };
}

static void captures(Json &json) {
  json.open("calls_while_capturing", '[');
  const std::pair<CUstreamCaptureMode, const char *> modes[] = {
      {CU_STREAM_CAPTURE_MODE_GLOBAL, "global"},
      {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, "thread_local"},
      {CU_STREAM_CAPTURE_MODE_RELAXED, "relaxed"}};
  for (auto [mode, modeName] : modes)
    for (const CapturedCall &entry : capturedCalls()) {
      CHECK(cuMemAlloc(&buffer, 1 << 20));
      CHECK(cuMemAlloc(&buffer2, 1 << 20));
      CHECK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
      CHECK(cuEventCreate(&early, 0));
      CHECK(cuEventRecord(early, side));
      CHECK(cuCtxSynchronize());
      CUstream stream;
      CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
      CHECK(cuStreamBeginCapture(stream, mode));
      CHECK(launch(stream));
      CUresult code = entry.call(stream);
      if (entry.destroysStream && code == CUDA_SUCCESS) {
        json.value(nullptr, "{\"mode\": \"%s\", \"call\": \"%s\", \"gives\": \"%s\"}", modeName, entry.name,
                   nameOf(code));
        continue;
      }
      CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
      CUresult statusCode = cuStreamIsCapturing(stream, &status);
      CUgraph graph = nullptr;
      CUresult end = statusCode == CUDA_SUCCESS ? cuStreamEndCapture(stream, &graph) : statusCode;
      size_t nodes = 0;
      if (end == CUDA_SUCCESS && graph)
        cuGraphGetNodes(graph, nullptr, &nodes);
      CUgraphExec exec = nullptr;
      CUresult instantiate = graph ? cuGraphInstantiate(&exec, graph, 0) : CUDA_ERROR_INVALID_VALUE;
      json.value(nullptr,
                 "{\"mode\": \"%s\", \"call\": \"%s\", \"gives\": \"%s\", \"capture\": %d, \"end\": \"%s\", "
                 "\"nodes\": %zu, \"instantiate\": \"%s\"}",
                 modeName, entry.name, nameOf(code), status, nameOf(end), nodes, nameOf(instantiate));
      CUstreamCaptureStatus sideStatus;
      if (cuStreamIsCapturing(side, &sideStatus) == CUDA_SUCCESS &&
          sideStatus != CU_STREAM_CAPTURE_STATUS_NONE) {
        CUgraph rest;
        cuStreamEndCapture(side, &rest);
      }
      cuMemHostUnregister(pageable.data());
      CUresult after = cuCtxSynchronize();
      if (after != CUDA_SUCCESS)
        std::fprintf(stderr, "%s (%s): the context gives %s afterwards\n", entry.name, modeName,
                     nameOf(after));
    }
  json.close(']');
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

struct Fault {
  const char *name;
  std::function<CUresult()> cause;
};

static std::vector<Fault> faults() {
  auto run = [](auto kernel, dim3 block, size_t shared, auto... arguments) {
    return [=] {
      void *pointers[] = {(void *)&arguments..., nullptr};
      return cuLaunchKernel(functionOf(reinterpret_cast<const void *>(kernel)), 1, 1, 1, block.x, block.y,
                            block.z, static_cast<unsigned>(shared), side, pointers, nullptr);
    };
  };
  auto *p = reinterpret_cast<float *>(buffer);
  return {
      {"none", run(touch, 32, 0, p)},
      {"write far outside of any allocation", run(writeFar, 1, 0, p)},
      {"write near address 0", run(writeNull, 32, 0)},
      {"misaligned write", run(writeOdd, 1, 0, reinterpret_cast<char *>(buffer))},
      {"trap", run(trapped, 1, 0)},
      {"assert", run(asserted, 1, 0, 0)},
      {"shared write out of range", run(sharedFar, 1, 1024)},
      {"misaligned shared write", run(sharedOdd, 1, 1024)},
      {"barrier in a divergent branch", run(divergentBarrier, 32, 0)},
      {"shuffle names lanes that have exited", run(exitedShuffle, 32, 0, p)},
      {"block of 2048 threads", run(touch, 2048, 0, p)},
      {"block of 1024 x 2", run(touch, dim3(1024, 2), 0, p)},
      {"shared memory of 64 KiB without opting in", run(nothing, 32, 65536)},
      {"shared memory of 1 MiB", run(nothing, 32, 1 << 20)},
      {"freed memory",
       [] {
         CUdeviceptr q;
         cuMemAlloc(&q, 64 << 20);
         cuMemFree(q);
         void *arguments[] = {&q};
         return cuLaunchKernel(functionOf(reinterpret_cast<const void *>(touch)), 1, 1, 1, 32, 1, 1, 0, side,
                               arguments, nullptr);
       }},
      {"pageable host memory",
       [] {
         void *q = pageable.data();
         void *arguments[] = {&q};
         return cuLaunchKernel(functionOf(reinterpret_cast<const void *>(touch)), 1, 1, 1, 32, 1, 1, 0, side,
                               arguments, nullptr);
       }},
      {"grid y of 65536",
       [] {
         void *arguments[] = {&buffer};
         return cuLaunchKernel(functionOf(reinterpret_cast<const void *>(touch)), 1, 65536, 1, 1, 1, 1, 0,
                               side, arguments, nullptr);
       }},
      {"grid x of 0",
       [] {
         void *arguments[] = {&buffer};
         return cuLaunchKernel(functionOf(reinterpret_cast<const void *>(touch)), 0, 1, 1, 1, 1, 1, 0, side,
                               arguments, nullptr);
       }},
  };
}

static void start() {
  CHECK(cudaFree(nullptr)); // the primary context, current on this thread
  CHECK(cuMemAlloc(&buffer, 1 << 20));
  CHECK(cuMemsetD8(buffer, 0, 1 << 20));
  CHECK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
  void *memory;
  CHECK(cuMemHostAlloc(&memory, 1 << 20, 0));
  pinned = static_cast<char *>(memory);
  CUgraph graph;
  CHECK(cuStreamBeginCapture(side, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(launch(side));
  CHECK(cuStreamEndCapture(side, &graph));
  CHECK(cuGraphInstantiate(&ready, graph, 0));
}

/// One line: what calls give after the fault, in this order.
static int fault(size_t number) {
  start();
  std::vector<Fault> all = faults();
  if (number >= all.size())
    return 2;
  CUevent event;
  CHECK(cuEventCreate(&event, 0));
  functionOf(reinterpret_cast<const void *>(touch));
  // Printed as it comes: a call may end the process.
  std::printf("{\"fault\": \"%s\"", all[number].name);
  auto add = [&](const char *name, CUresult code) {
    std::printf(", \"%s\": \"%s\"", name, nameOf(code));
    std::fflush(stdout);
  };
  add("launch", all[number].cause());
  cuEventRecord(event, side);
  add("cuStreamSynchronize", cuStreamSynchronize(side));
  add("again", cuStreamSynchronize(side));
  add("cuEventQuery", cuEventQuery(event));
  add("cuStreamQuery, legacy", cuStreamQuery(nullptr));
  add("cuCtxSynchronize", cuCtxSynchronize());
  add("next launch", launch(side));
  CUdeviceptr p;
  add("cuMemAlloc", cuMemAlloc(&p, 1 << 20));
  add("cuMemcpyDtoH", cuMemcpyDtoH(pageable.data(), buffer, 64));
  add("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync(pinned, buffer, 64, side));
  CUmodule module;
  add("cuModuleLoadData",
      cuModuleLoadData(&module,
                       ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n"));
  add("cuGraphLaunch", cuGraphLaunch(ready, side));
  add("cuMemGetInfo", [] {
    size_t a, b;
    return cuMemGetInfo(&a, &b);
  }());
  add("cuPointerGetAttribute", [] {
    CUmemorytype t;
    return cuPointerGetAttribute(&t, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, buffer);
  }());
  add("cuStreamCreate", [] {
    CUstream s;
    return cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
  }());
  add("cuMemFree", cuMemFree(buffer));
  add("cuStreamDestroy", cuStreamDestroy(side));
  CUdevice device;
  cuDeviceGet(&device, 0);
  add("cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset(device));
  CUcontext context = nullptr;
  CUresult retained = cuDevicePrimaryCtxRetain(&context, device);
  add("cuDevicePrimaryCtxRetain", retained);
  if (retained == CUDA_SUCCESS) {
    add("cuCtxSetCurrent", cuCtxSetCurrent(context));
    add("cuMemAlloc after reset", cuMemAlloc(&p, 1 << 20));
    add("cuMemsetD8 after reset", cuMemsetD8(p, 0, 64));
    add("cuCtxSynchronize after reset", cuCtxSynchronize());
  }
  std::printf("}\n");
  return 0;
}

static void allFaults(Json &json, const char *program) {
  json.open("calls_after_a_fault", '[');
  for (size_t i = 0;; ++i) {
    std::string command = std::string(program) + " --fault " + std::to_string(i) + " 2>/dev/null";
    FILE *pipe = popen(command.c_str(), "r");
    char line[8192] = "";
    bool any = std::fgets(line, sizeof line, pipe) != nullptr;
    int code = pclose(pipe);
    if (!any && WEXITSTATUS(code) == 2)
      break;
    size_t end = std::strcspn(line, "\n");
    bool whole = line[end] == '\n';
    line[end] = 0;
    json.value(nullptr, "%s%s", line, whole ? "" : ", \"the next call\": \"ended the process\"}");
  }
  json.close(']');
}

//===----------------------------------------------------------------------===//
// Instantiated graphs
//===----------------------------------------------------------------------===//

static void updates(Json &json) {
  json.open("changes_of_an_instantiated_graph", '[');
  auto add = [&](const char *name, CUresult code) {
    json.value(nullptr, "{\"change\": \"%s\", \"gives\": \"%s\"}", name, nameOf(code));
  };
  CHECK(cuMemAlloc(&buffer2, 1 << 20));
  CUgraph graph;
  CHECK(cuGraphCreate(&graph, 0));
  void *arguments[] = {&buffer};
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  kernel.func = functionOf(reinterpret_cast<const void *>(touch));
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = 32, kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = arguments;
  CUgraphNode first, copy, set;
  CHECK(cuGraphAddKernelNode(&first, graph, nullptr, 0, &kernel));
  CUDA_MEMCPY3D move = {};
  move.srcMemoryType = CU_MEMORYTYPE_HOST, move.srcHost = pinned;
  move.dstMemoryType = CU_MEMORYTYPE_DEVICE, move.dstDevice = buffer;
  move.WidthInBytes = 64, move.Height = move.Depth = 1;
  CUcontext context;
  CHECK(cuCtxGetCurrent(&context));
  CHECK(cuGraphAddMemcpyNode(&copy, graph, &first, 1, &move, context));
  CUDA_MEMSET_NODE_PARAMS fill = {};
  fill.dst = buffer, fill.value = 0, fill.elementSize = 1, fill.width = 64, fill.height = 1;
  CHECK(cuGraphAddMemsetNode(&set, graph, &copy, 1, &fill, context));
  CUgraphExec exec;
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  add("same parameters", cuGraphExecKernelNodeSetParams(exec, first, &kernel));
  void *otherArguments[] = {&buffer2};
  kernel.kernelParams = otherArguments;
  add("another address", cuGraphExecKernelNodeSetParams(exec, first, &kernel));
  kernel.gridDimX = 7;
  add("another grid", cuGraphExecKernelNodeSetParams(exec, first, &kernel));
  kernel.blockDimX = 64;
  add("another block", cuGraphExecKernelNodeSetParams(exec, first, &kernel));
  kernel.sharedMemBytes = 4096;
  add("other shared memory", cuGraphExecKernelNodeSetParams(exec, first, &kernel));
  kernel.func = functionOf(reinterpret_cast<const void *>(other));
  add("another function", cuGraphExecKernelNodeSetParams(exec, first, &kernel));
  kernel.sharedMemBytes = 1 << 20;
  add("too much shared memory", cuGraphExecKernelNodeSetParams(exec, first, &kernel));
  move.srcHost = pinned + 4096;
  add("copy from another pinned address", cuGraphExecMemcpyNodeSetParams(exec, copy, &move, context));
  move.srcHost = pageable.data();
  add("copy from a pageable address", cuGraphExecMemcpyNodeSetParams(exec, copy, &move, context));
  move.srcMemoryType = CU_MEMORYTYPE_DEVICE, move.srcDevice = buffer2;
  add("copy from device instead of host", cuGraphExecMemcpyNodeSetParams(exec, copy, &move, context));
  move.srcMemoryType = CU_MEMORYTYPE_HOST, move.srcHost = pinned, move.WidthInBytes = 128;
  add("copy of another size", cuGraphExecMemcpyNodeSetParams(exec, copy, &move, context));
  fill.value = 1;
  add("another value of a fill", cuGraphExecMemsetNodeSetParams(exec, set, &fill, context));
  fill.width = 128;
  add("another size of a fill", cuGraphExecMemsetNodeSetParams(exec, set, &fill, context));
  add("node disabled", cuGraphNodeSetEnabled(exec, first, 0));
  add("launch", cuGraphLaunch(exec, side));
  add("change while it runs", cuGraphExecMemsetNodeSetParams(exec, set, &fill, context));
  add("launch while it runs", cuGraphLaunch(exec, side));
  CHECK(cuCtxSynchronize());
  CUgraph clone;
  CHECK(cuGraphClone(&clone, graph));
  CUgraphExecUpdateResultInfo info = {};
  auto update = [&](const char *name) {
    CUresult code = cuGraphExecUpdate(exec, clone, &info);
    json.value(nullptr, "{\"change\": \"cuGraphExecUpdate: %s\", \"gives\": \"%s\", \"result\": %d}", name,
               nameOf(code), info.result);
  };
  update("a clone");
  CUgraphNode extra;
  CHECK(cuGraphAddEmptyNode(&extra, clone, nullptr, 0));
  update("one node more");
  CHECK(cuGraphDestroyNode(extra));
  CUgraphNode found[3];
  size_t count = 3;
  CHECK(cuGraphGetNodes(clone, found, &count));
  CUgraphNode from[2], to[2];
  size_t edges = 2;
  CHECK(cuGraphGetEdges(clone, from, to, nullptr, &edges));
  CHECK(cuGraphRemoveDependencies(clone, from, to, nullptr, 1));
  update("one edge less");
  json.close(']');
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

template <int Registers> __global__ void __launch_bounds__(1024, Registers) bounded(float *p) {
  float values[32];
  for (int i = 0; i < 32; ++i)
    values[i] = p[i * 1024 + threadIdx.x];
  for (int i = 0; i < 32; ++i)
    p[i * 1024 + threadIdx.x] = values[31 - i] * values[i];
}

static void occupancy(Json &json) {
  json.open("blocks_per_multiprocessor", '[');
  const void *kernels[] = {reinterpret_cast<const void *>(touch), reinterpret_cast<const void *>(bounded<1>),
                           reinterpret_cast<const void *>(bounded<2>)};
  for (const void *kernel : kernels) {
    CUfunction function = functionOf(kernel);
    CHECK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200 << 10));
    int registers, shared;
    CHECK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
    CHECK(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    for (int block : {32, 64, 96, 128, 256, 384, 512, 768, 1024})
      for (int dynamic : {0, 1024, 8192, 24576, 49152, 102400, 204800}) {
        int blocks = 0;
        CUresult code = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, block, dynamic);
        json.value(nullptr,
                   "{\"registers\": %d, \"static\": %d, \"block\": %d, \"dynamic\": %d, \"blocks\": %d, "
                   "\"code\": %d}",
                   registers, shared, block, dynamic, blocks, code);
      }
  }
  json.close(']');
}

template <int N> static void parameters(Json &json, CUfunction function) {
  CUdeviceptr out = buffer;
  static Parameters<N> value;
  void *arguments[] = {&value, &out};
  CUresult code = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, side, arguments, nullptr);
  json.value(nullptr, "[%d, \"%s\"]", N, nameOf(code));
}

int main(int count, char **arguments) {
  if (count == 3 && std::strcmp(arguments[1], "--fault") == 0)
    return fault(std::strtoul(arguments[2], nullptr, 10));
  start();
  std::setvbuf(stdout, nullptr, _IOLBF, 0); // what was found stays if the driver ends the process
  Json json;
  int driver;
  CHECK(cuDriverGetVersion(&driver));
  json.value("driver", "%d", driver);
  char name[128];
  CHECK(cuDeviceGetName(name, sizeof name, 0));
  json.value("device", "\"%s\"", name);
  size_t total;
  CHECK(cuDeviceTotalMem(&total, 0));
  json.value("memory_bytes", "%zu", total);
  json.open("attributes");
  for (int i = 1; i < CU_DEVICE_ATTRIBUTE_MAX; ++i) {
    int value;
    if (cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(i), 0) == CUDA_SUCCESS)
      json.value(std::to_string(i).c_str(), "%d", value);
  }
  json.close();
  int least, greatest;
  CHECK(cuCtxGetStreamPriorityRange(&least, &greatest));
  json.value("stream_priorities", "[%d, %d]", least, greatest);
  json.open("parameter_bytes", '[');
  parameters<4000>(json, functionOf(reinterpret_cast<const void *>(manyParameters<4000>)));
  parameters<4088>(json, functionOf(reinterpret_cast<const void *>(manyParameters<4088>)));
  parameters<4096>(json, functionOf(reinterpret_cast<const void *>(manyParameters<4096>)));
  parameters<32752>(json, functionOf(reinterpret_cast<const void *>(manyParameters<32752>)));
  json.close(']');
  occupancy(json);
  captures(json);
  updates(json);
  allFaults(json, arguments[0]);
  return 0;
}
