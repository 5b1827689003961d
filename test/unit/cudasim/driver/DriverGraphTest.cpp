//===- DriverGraphTest.cpp - Graphs of the software driver ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/cudasim/driver/SoftwareDriver.h"

#include <gtest/gtest.h>

using namespace weft::cusim;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// A graph of `driver`, and short forms of adding nodes to it.
struct GraphBuilder {
  explicit GraphBuilder(SoftwareDriver &driver) : driver(driver) {
    EXPECT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  }
  CUDA_MEMSET_NODE_PARAMS fillOf(CUdeviceptr address, uint32_t value) const {
    CUDA_MEMSET_NODE_PARAMS parameters{};
    parameters.dst = address;
    parameters.value = value;
    parameters.elementSize = 4;
    parameters.width = parameters.height = 1;
    return parameters;
  }
  CUgraphNode fill(CUdeviceptr address, uint32_t value, std::vector<CUgraphNode> before = {}) {
    CUgraphNode node = nullptr;
    const CUDA_MEMSET_NODE_PARAMS parameters = fillOf(address, value);
    EXPECT_EQ(driver.cuGraphAddMemsetNode(&node, graph, before.data(), before.size(), &parameters, nullptr),
              CUDA_SUCCESS);
    return node;
  }
  CUDA_MEMCPY3D copyOf(CUdeviceptr to, CUdeviceptr from) const {
    CUDA_MEMCPY3D parameters{};
    parameters.srcMemoryType = parameters.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    parameters.srcDevice = from;
    parameters.dstDevice = to;
    parameters.WidthInBytes = 4;
    parameters.Height = parameters.Depth = 1;
    return parameters;
  }
  CUgraphNode copy(CUdeviceptr to, CUdeviceptr from, std::vector<CUgraphNode> before = {}) {
    CUgraphNode node = nullptr;
    const CUDA_MEMCPY3D parameters = copyOf(to, from);
    EXPECT_EQ(driver.cuGraphAddMemcpyNode(&node, graph, before.data(), before.size(), &parameters, nullptr),
              CUDA_SUCCESS);
    return node;
  }
  /// Parameters of `add`, which stay in this object.
  CUDA_KERNEL_NODE_PARAMS addOf(CUdeviceptr address, uint32_t addend) {
    numbers = address;
    value = addend;
    CUDA_KERNEL_NODE_PARAMS parameters{};
    parameters.func = driver.kernel("add");
    parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
    parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
    parameters.kernelParams = pointers;
    return parameters;
  }
  CUgraphNode add(CUdeviceptr address, uint32_t addend, std::vector<CUgraphNode> before = {}) {
    CUgraphNode node = nullptr;
    const CUDA_KERNEL_NODE_PARAMS parameters = addOf(address, addend);
    EXPECT_EQ(driver.cuGraphAddKernelNode(&node, graph, before.data(), before.size(), &parameters),
              CUDA_SUCCESS);
    return node;
  }
  CUgraphExec instantiate() {
    CUgraphExec made = nullptr;
    EXPECT_EQ(driver.cuGraphInstantiate(&made, graph, 0), CUDA_SUCCESS);
    return made;
  }

  SoftwareDriver &driver;
  CUgraph graph = nullptr;
  CUdeviceptr numbers = 0;
  uint32_t value = 0, count = 1;
  void *pointers[3] = {&numbers, &value, &count};
};

TEST(DriverGraphs, RunTheirNodesWithTheParametersOfTheLaunch) {
  run({{"CUSIM_RACE", "1"}}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    const CUdeviceptr a = driver.allocate(4), b = driver.allocate(4), c = driver.allocate(4);
    GraphBuilder graph(driver);
    CUgraphNode fill = graph.fill(a, 1), add = graph.add(a, 2, {fill}), copy = graph.copy(b, a);
    EXPECT_EQ(driver.cuGraphAddDependencies(graph.graph, &add, &copy, nullptr, 1), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphAddDependencies(graph.graph, &copy, &fill, nullptr, 1), CUDA_ERROR_INVALID_VALUE)
        << "a cycle";
    CUgraphExec executable = graph.instantiate();
    EXPECT_EQ(driver.cuGraphUpload(executable, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    driver.cuMemcpyDtoDAsync(c, b, 4, stream);
    const CUDA_MEMSET_NODE_PARAMS seven = graph.fillOf(a, 7);
    const CUDA_KERNEL_NODE_PARAMS four = graph.addOf(a, 4);
    EXPECT_EQ(driver.cuGraphExecMemsetNodeSetParams(executable, fill, &seven, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams(executable, add, &four), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams(executable, fill, &four), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphDestroy(graph.graph), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.read(c), 3u) << "of the first launch, which had the parameters of its time";
    EXPECT_EQ(driver.read(b), 11u);
    const CUDA_MEMCPY3D other = graph.copyOf(c, a);
    EXPECT_EQ(driver.cuGraphExecMemcpyNodeSetParams(executable, copy, &other, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphExecDestroy(executable), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.read(c), 11u);
  });
}

TEST(DriverGraphs, WhoseKernelIsUnloadedAreRefused) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    driver.start();
    const std::string text = kernelText();
    CUmodule module = nullptr;
    CUDA_KERNEL_NODE_PARAMS parameters{};
    EXPECT_EQ(driver.cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuModuleGetFunction(&parameters.func, module, "stop"), CUDA_SUCCESS);
    parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
    parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
    GraphBuilder graph(driver);
    CUgraphNode node = nullptr;
    EXPECT_EQ(driver.cuGraphAddKernelNode(&node, graph.graph, nullptr, 0, &parameters), CUDA_SUCCESS);
    CUgraphExec executable = graph.instantiate(), other = nullptr;
    EXPECT_EQ(driver.cuModuleUnload(module), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(executable, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuGraphInstantiate(&other, graph.graph, 0), CUDA_ERROR_INVALID_VALUE);
  });
  EXPECT_TRUE(contains(output, "kernel 'stop' of node 1 cannot run: its module was unloaded")) << output;
}

/// Two branches, of which each one adds to the same number; `edge` orders them.
std::string branches(bool edge) {
  return run({{"CUSIM_RACE", "1"}}, [=](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    const CUdeviceptr a = driver.allocate(4);
    GraphBuilder graph(driver);
    CUgraphNode start = graph.fill(a, 1), left = graph.add(a, 2, {start}), right = graph.add(a, 4, {start});
    if (edge) {
      EXPECT_EQ(driver.cuGraphAddDependencies(graph.graph, &left, &right, nullptr, 1), CUDA_SUCCESS);
    }
    CUgraphExec executable = graph.instantiate();
    EXPECT_EQ(driver.cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), edge ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED);
  });
}

TEST(DriverGraphs, AMissingEdgeIsFound) {
  EXPECT_EQ(branches(true), "");
  const std::string output = branches(false);
  EXPECT_TRUE(contains(output, "race: kernel 'add' of node 3 in cuGraphLaunch")) << output;
  EXPECT_TRUE(contains(output, "that kernel 'add' of node 2 in cuGraphLaunch")) << output;
}

TEST(DriverGraphs, ChildrenAreCopiedAndRunInTheirPlace) {
  run({{"CUSIM_RACE", "1"}, {"CUSIM_ORDER", "3"}}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    const CUdeviceptr a = driver.allocate(4), b = driver.allocate(4);
    GraphBuilder child(driver), graph(driver);
    child.add(a, 2, {child.add(a, 1)});
    CUgraphNode start = graph.fill(a, 10), inner = nullptr, empty = nullptr;
    EXPECT_EQ(driver.cuGraphAddChildGraphNode(&inner, graph.graph, &start, 1, child.graph), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphAddEmptyNode(&empty, graph.graph, &inner, 1), CUDA_SUCCESS);
    graph.copy(b, a, {empty});
    EXPECT_EQ(driver.cuGraphDestroy(child.graph), CUDA_SUCCESS) << "the node has a copy";
    CUgraphExec executable = graph.instantiate();
    EXPECT_EQ(driver.cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.read(b), 13u);
  });
}

} // namespace
