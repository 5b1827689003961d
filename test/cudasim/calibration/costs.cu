//===- costs.cu - What launches, graphs, copies and allocations cost -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times are medians over repetitions, in microseconds; of the device by events, of the host by its clock.
//
//===----------------------------------------------------------------------===//
#include "Calibration.h"

#include <chrono>
#include <cstring>

__global__ void empty() {}
__global__ void oneBlock(float *p) { p[threadIdx.x] += 1; }
__global__ void predicated(const unsigned long long *key, float *p) {
  if (*key != ~0ull)
    return;
  p[threadIdx.x] += 1;
}
__global__ void copyPlain(const float4 *in, float4 *out, size_t count) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < count)
    out[i] = in[i];
}
__global__ void copyPredicated(const unsigned long long *key, const float4 *in, float4 *out, size_t count) {
  if (*key != ~0ull)
    return;
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < count)
    out[i] = in[i];
}
__global__ void gather(const float *in, const int *index, float *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    out[i] = in[index[i]];
}
__global__ void gatherChecked(const float *in, const int *index, float *out, int count, int extent,
                              unsigned long long *key) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  int at = index[i];
  if (static_cast<unsigned>(at) >= static_cast<unsigned>(extent)) {
    atomicMin(key, static_cast<unsigned long long>(i));
    return;
  }
  out[i] = in[at];
}
__global__ void readPinned(const double *scalar, float *p) { p[threadIdx.x] *= static_cast<float>(*scalar); }

using Clock = std::chrono::steady_clock;
static double microseconds(Clock::time_point from) {
  return std::chrono::duration<double, std::micro>(Clock::now() - from).count();
}
static cudaStream_t stream, second;
static cudaEvent_t recorded;

/// Device time of one run.
static double onDevice(const std::function<void()> &run, int inner = 1, int outer = 21) {
  return timeOnDevice(stream, [&](int) { run(); }, inner, outer);
}
/// Host time of the calls alone; the device catches up between repetitions.
static double onHost(const std::function<void()> &run, int inner = 100, int outer = 21) {
  run();
  std::vector<double> values;
  for (int i = 0; i < outer; ++i) {
    CHECK(cudaDeviceSynchronize());
    auto start = Clock::now();
    for (int j = 0; j < inner; ++j)
      run();
    values.push_back(microseconds(start) / inner);
  }
  CHECK(cudaDeviceSynchronize());
  return median(values);
}
/// Until the host has seen the end of one run.
static double roundTrip(const std::function<void()> &run, int outer = 51) {
  std::vector<double> values;
  for (int i = 0; i < outer; ++i) {
    CHECK(cudaDeviceSynchronize());
    auto start = Clock::now();
    run();
    CHECK(cudaStreamSynchronize(stream));
    values.push_back(microseconds(start));
  }
  return median(values);
}

static float *device;
static void *pinned;

static cudaGraphNode_t kernelNode(cudaGraph_t graph, const void *kernel, std::vector<cudaGraphNode_t> after,
                                  std::vector<void *> arguments, dim3 grid = 1, dim3 block = 32) {
  cudaKernelNodeParams parameters = {};
  parameters.func = const_cast<void *>(kernel);
  parameters.gridDim = grid;
  parameters.blockDim = block;
  parameters.kernelParams = arguments.data();
  cudaGraphNode_t node;
  CHECK(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &parameters));
  return node;
}

static void graphs(Json &json) {
  json.open("graphs_of_kernels", '[');
  for (bool chain : {true, false})
    for (int count : {1, 3, 10, 30, 100, 300, 1000, 3000}) {
      cudaGraph_t graph;
      CHECK(cudaGraphCreate(&graph, 0));
      std::vector<cudaGraphNode_t> nodes;
      void *p = device;
      for (int i = 0; i < count; ++i) {
        std::vector<cudaGraphNode_t> after;
        if (chain && i)
          after.push_back(nodes.back());
        else if (!chain && i)
          after.push_back(nodes[0]);
        nodes.push_back(kernelNode(graph, reinterpret_cast<const void *>(oneBlock), after, {&p}));
      }
      size_t before, behind, total;
      CHECK(cudaMemGetInfo(&before, &total));
      cudaGraphExec_t exec;
      auto start = Clock::now();
      CHECK(cudaGraphInstantiate(&exec, graph, 0));
      double instantiate = microseconds(start);
      start = Clock::now();
      CHECK(cudaGraphUpload(exec, stream));
      CHECK(cudaStreamSynchronize(stream));
      double upload = microseconds(start);
      CHECK(cudaMemGetInfo(&behind, &total));
      double replay = onDevice([&] { CHECK(cudaGraphLaunch(exec, stream)); }, count > 300 ? 2 : 10);
      double host = onHost([&] { CHECK(cudaGraphLaunch(exec, stream)); }, count > 300 ? 2 : 20);
      double trip = roundTrip([&] { CHECK(cudaGraphLaunch(exec, stream)); });
      cudaKernelNodeParams parameters;
      CHECK(cudaGraphKernelNodeGetParams(nodes.back(), &parameters));
      double patch =
          onHost([&] { CHECK(cudaGraphExecKernelNodeSetParams(exec, nodes.back(), &parameters)); });
      std::vector<double> patchAndLaunch;
      for (int i = 0; i < 21; ++i) {
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaGraphExecKernelNodeSetParams(exec, nodes.back(), &parameters));
        auto begin = Clock::now();
        CHECK(cudaGraphLaunch(exec, stream));
        patchAndLaunch.push_back(microseconds(begin));
      }
      double launches = onDevice(
          [&] {
            for (int i = 0; i < count; ++i)
              oneBlock<<<1, 32, 0, stream>>>(device);
          },
          1, 11);
      json.value(
          nullptr,
          "{\"kernels\": %d, \"shape\": \"%s\", \"instantiate\": %.1f, \"upload\": %.1f, "
          "\"memory_bytes\": %lld, "
          "\"replay_device\": %.2f, \"launch_host\": %.2f, \"round_trip\": %.2f, \"patch_one_host\": %.3f, "
          "\"launch_host_after_patch\": %.2f, \"plain_launches_device\": %.2f}",
          count, chain ? "chain" : "fan", instantiate, upload, static_cast<long long>(before - behind),
          replay, host, trip, patch, median(patchAndLaunch), launches);
      CHECK(cudaGraphExecDestroy(exec));
      CHECK(cudaGraphDestroy(graph));
    }
  json.close(']');
}

/// A graph of `count` nodes of one kind in a chain, microseconds a node on the device.
static double perNode(int count,
                      const std::function<cudaGraphNode_t(cudaGraph_t, std::vector<cudaGraphNode_t>)> &add) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  std::vector<cudaGraphNode_t> after;
  for (int i = 0; i < count; ++i)
    after = {add(graph, after)};
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  double time = onDevice([&] { CHECK(cudaGraphLaunch(exec, stream)); }, 5);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  return time / count;
}

static void nodes(Json &json) {
  json.open("microseconds_per_node_of_a_chain_of_200");
  void *p = device;
  unsigned long long *key;
  CHECK(cudaMalloc(&key, 8));
  CHECK(cudaMemset(key, 0xff, 8));
  json.value("empty kernel", "%.3f", perNode(200, [&](cudaGraph_t g, auto after) {
               return kernelNode(g, reinterpret_cast<const void *>(empty), after, {});
             }));
  json.value("kernel of one block", "%.3f", perNode(200, [&](cudaGraph_t g, auto after) {
               return kernelNode(g, reinterpret_cast<const void *>(oneBlock), after, {&p});
             }));
  json.value("the same behind a predicate", "%.3f", perNode(200, [&](cudaGraph_t g, auto after) {
               return kernelNode(g, reinterpret_cast<const void *>(predicated), after, {&key, &p});
             }));
  json.value("memset of 8 bytes", "%.3f", perNode(200, [&](cudaGraph_t g, auto after) {
               cudaMemsetParams fill = {};
               fill.dst = key, fill.value = 0xff, fill.elementSize = 1, fill.width = 8, fill.height = 1;
               cudaGraphNode_t node;
               CHECK(cudaGraphAddMemsetNode(&node, g, after.data(), after.size(), &fill));
               return node;
             }));
  auto copyNode = [&](void *target, void *source, size_t bytes, cudaMemcpyKind kind) {
    return perNode(200, [=](cudaGraph_t g, std::vector<cudaGraphNode_t> after) {
      cudaGraphNode_t node;
      CHECK(cudaGraphAddMemcpyNode1D(&node, g, after.data(), after.size(), target, source, bytes, kind));
      return node;
    });
  };
  json.value("copy of 64 bytes from pinned memory", "%.3f",
             copyNode(device, pinned, 64, cudaMemcpyHostToDevice));
  json.value("copy of 64 bytes to pinned memory", "%.3f",
             copyNode(pinned, device, 64, cudaMemcpyDeviceToHost));
  json.value("copy of 64 bytes on the device", "%.3f",
             copyNode(device, device + 1024, 64, cudaMemcpyDeviceToDevice));
  json.value("kernel that reads 8 bytes of pinned memory", "%.3f",
             perNode(200, [&](cudaGraph_t g, auto after) {
               return kernelNode(g, reinterpret_cast<const void *>(readPinned), after, {&pinned, &p});
             }));
  json.value("event record", "%.3f", perNode(200, [&](cudaGraph_t g, auto after) {
               cudaGraphNode_t node;
               CHECK(cudaGraphAddEventRecordNode(&node, g, after.data(), after.size(), recorded));
               return node;
             }));
  json.close();
  json.open("predicate_of_a_copy_kernel");
  for (size_t megabytes : {1, 16, 256}) {
    size_t count = (megabytes << 20) / 16;
    float4 *a, *b;
    CHECK(cudaMalloc(&a, count * 16));
    CHECK(cudaMalloc(&b, count * 16));
    CHECK(cudaMemset(a, 1, count * 16));
    CHECK(cudaMemset(key, 0xff, 8));
    auto blocks = static_cast<unsigned>((count + 255) / 256);
    double plain = onDevice([&] { copyPlain<<<blocks, 256, 0, stream>>>(a, b, count); }, 20);
    double with = onDevice([&] { copyPredicated<<<blocks, 256, 0, stream>>>(key, a, b, count); }, 20);
    CHECK(cudaMemset(key, 0, 8));
    double skipped = onDevice([&] { copyPredicated<<<blocks, 256, 0, stream>>>(key, a, b, count); }, 20);
    json.value((std::to_string(megabytes) + " MiB").c_str(),
               "{\"plain\": %.3f, \"predicated\": %.3f, \"skipped\": %.3f}", plain, with, skipped);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
  }
  json.close();
  json.open("check_of_an_index");
  constexpr int count = 1 << 24, extent = 1 << 20;
  int *index;
  float *values, *out;
  CHECK(cudaMalloc(&index, count * 4));
  CHECK(cudaMalloc(&values, extent * 4));
  CHECK(cudaMalloc(&out, count * 4));
  std::vector<int> host(count);
  unsigned state = 1;
  for (int &i : host)
    i = static_cast<int>((state = state * 1664525u + 1013904223u) >> 12);
  CHECK(cudaMemcpy(index, host.data(), count * 4, cudaMemcpyHostToDevice));
  json.value("unchecked", "%.3f",
             onDevice([&] { gather<<<count / 256, 256, 0, stream>>>(values, index, out, count); }, 10));
  json.value(
      "checked", "%.3f",
      onDevice(
          [&] { gatherChecked<<<count / 256, 256, 0, stream>>>(values, index, out, count, extent, key); },
          10));
  json.value(
      "checked, every index out of range", "%.3f",
      onDevice([&] { gatherChecked<<<count / 256, 256, 0, stream>>>(values, index, out, count, 0, key); },
               3));
  json.close();
  CHECK(cudaFree(index));
  CHECK(cudaFree(values));
  CHECK(cudaFree(out));
}

static void copies(Json &json) {
  json.open("gigabytes_a_second");
  for (size_t megabytes : {1, 4, 16, 64, 256, 1024, 4096}) {
    size_t bytes = megabytes << 20;
    float4 *a, *b;
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    CHECK(cudaMemset(a, 1, bytes));
    double library =
        onDevice([&] { CHECK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, stream)); }, 10);
    double kernel = onDevice(
        [&] { copyPlain<<<static_cast<unsigned>(bytes / 16 / 256), 256, 0, stream>>>(a, b, bytes / 16); },
        10);
    double fill = onDevice([&] { CHECK(cudaMemsetAsync(b, 0, bytes, stream)); }, 10);
    json.value(("device, " + std::to_string(megabytes) + " MiB").c_str(),
               "{\"copy\": %.0f, \"copy kernel\": %.0f, \"fill\": %.0f}", 2e-3 * bytes / library,
               2e-3 * bytes / kernel, 1e-3 * bytes / fill);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
  }
  std::vector<char> pageable(256 << 20, 1);
  void *big;
  CHECK(cudaMallocHost(&big, 256 << 20));
  std::memset(big, 1, 256 << 20);
  char *target;
  CHECK(cudaMalloc(&target, 256 << 20));
  for (size_t bytes : {size_t(64), size_t(64) << 10, size_t(1) << 20, size_t(256) << 20}) {
    auto entry = [&](const char *name, void *to, const void *from, cudaMemcpyKind kind) {
      double time = roundTrip([&] { CHECK(cudaMemcpyAsync(to, from, bytes, kind, stream)); }, 11);
      json.value((std::string(name) + ", " + std::to_string(bytes) + " bytes").c_str(),
                 "{\"gigabytes_a_second\": %.2f, \"microseconds\": %.1f}", 1e-3 * bytes / time, time);
    };
    entry("to the device, pinned", target, big, cudaMemcpyHostToDevice);
    entry("to the device, pageable", target, pageable.data(), cudaMemcpyHostToDevice);
    entry("to the host, pinned", big, target, cudaMemcpyDeviceToHost);
    entry("to the host, pageable", pageable.data(), target, cudaMemcpyDeviceToHost);
  }
  json.close();
  CHECK(cudaFree(target));
  CHECK(cudaFreeHost(big));
}

static void calls(Json &json) {
  json.open("microseconds_a_call_on_the_host");
  json.value("launch", "%.3f", onHost([&] { empty<<<1, 32, 0, stream>>>(); }));
  json.value("launch and wait", "%.3f", roundTrip([&] { empty<<<1, 32, 0, stream>>>(); }));
  json.value("event record", "%.3f", onHost([&] { CHECK(cudaEventRecord(recorded, stream)); }));
  json.value("event query", "%.3f", onHost([&] { (void)cudaEventQuery(recorded); }));
  json.value("stream wait event", "%.3f", onHost([&] { CHECK(cudaStreamWaitEvent(second, recorded, 0)); }));
  json.value("memcpy of 64 bytes from pinned memory", "%.3f",
             onHost([&] { CHECK(cudaMemcpyAsync(device, pinned, 64, cudaMemcpyHostToDevice, stream)); }));
  json.value("cudaMallocAsync and free of 1 MiB", "%.3f", onHost([&] {
               void *p;
               CHECK(cudaMallocAsync(&p, 1 << 20, stream));
               CHECK(cudaFreeAsync(p, stream));
             }));
  for (size_t megabytes : {1, 64, 1024})
    json.value(("cudaMalloc and free of " + std::to_string(megabytes) + " MiB").c_str(), "%.1f",
               onHost(
                   [&] {
                     void *p;
                     CHECK(cudaMalloc(&p, megabytes << 20));
                     CHECK(cudaFree(p));
                   },
                   3, 7));
  for (size_t megabytes : {1, 64})
    json.value(("cudaMallocHost and free of " + std::to_string(megabytes) + " MiB").c_str(), "%.1f",
               onHost(
                   [&] {
                     void *p;
                     CHECK(cudaMallocHost(&p, megabytes << 20));
                     CHECK(cudaFreeHost(p));
                   },
                   1, 5));
  json.close();
  cudaEvent_t hop;
  CHECK(cudaEventCreateWithFlags(&hop, cudaEventDisableTiming));
  json.open("hand_over_between_two_streams");
  json.value("microseconds_on_the_device", "%.3f",
             onDevice(
                 [&] {
                   for (int i = 0; i < 50; ++i) {
                     oneBlock<<<1, 32, 0, stream>>>(device);
                     CHECK(cudaEventRecord(hop, stream));
                     CHECK(cudaStreamWaitEvent(second, hop, 0));
                     oneBlock<<<1, 32, 0, second>>>(device);
                     CHECK(cudaEventRecord(hop, second));
                     CHECK(cudaStreamWaitEvent(stream, hop, 0));
                   }
                 },
                 1, 11) /
                 100);
  json.close();
}

int main() {
  auto start = Clock::now();
  CHECK(cudaFree(nullptr));
  double context = microseconds(start);
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&recorded));
  CHECK(cudaMalloc(&device, 1 << 20));
  CHECK(cudaMemset(device, 0, 1 << 20));
  CHECK(cudaMallocHost(&pinned, 1 << 20));
  std::memset(pinned, 0, 1 << 20);
  Json json;
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  json.value("device", "\"%s\"", properties.name);
  json.value("context_microseconds", "%.0f", context);
  calls(json);
  copies(json);
  nodes(json);
  graphs(json);
  return 0;
}
