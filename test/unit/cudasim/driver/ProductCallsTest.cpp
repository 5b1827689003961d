//===- ProductCallsTest.cpp - The substitute for cuBLASLt on a stream -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is refused is in ProductRefusalsTest.cpp, what products are in ProductValuesTest.cpp.
//
//===----------------------------------------------------------------------===//
#include "test/unit/TemporaryFolder.h"
#include "test/unit/cudasim/driver/SoftwareProducts.h"

#include <cmath>
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace weft::cusim;
using lt::Status;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

ProductCase square(int64_t size) {
  ProductCase what;
  what.m = what.n = what.k = size;
  return what;
}

/// A proposal with so many parts of a sum beside each other.
lt::MatmulAlgo withParts(SoftwareProducts &library, const TestProduct &product, bool hasParts) {
  for (const lt::HeuristicResult &one : library.propose(product))
    if ((one.workspace_size > 0) == hasParts)
      return one.algo;
  ADD_FAILURE() << "there is no such algorithm";
  return {};
}

TEST(ProductCalls, RunWhenSomethingWaits) {
  for (const bool waits : {false, true})
    run({}, [=](SoftwareDriver &driver) {
      driver.start();
      SoftwareProducts library(driver);
      CUstream stream = driver.stream();
      TestProduct product = library.make(square(32));
      const lt::MatmulAlgo algo = withParts(library, product, true);
      EXPECT_EQ(library.multiply(product, &algo, stream), Status::success);
      if (!waits) {
        EXPECT_EQ(library.read(product.d), product.d.values);
        return;
      }
      EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
      EXPECT_EQ(library.read(product.d), SoftwareProducts::expected(product));
      EXPECT_EQ(driver.read(library.workspace), ~0u) << "what is left in a workspace is NaN";
    });
}

TEST(ProductCalls, BecomeKernelsOfAGraph) {
  const std::string output = run({{"CUSIM_RACE", "1"}}, [](SoftwareDriver &driver) {
    driver.start();
    SoftwareProducts library(driver);
    CUstream stream = driver.stream();
    TestProduct product = library.make(square(32));
    for (const bool hasParts : {false, true}) {
      const lt::MatmulAlgo algo = withParts(library, product, hasParts);
      EXPECT_EQ(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
      EXPECT_EQ(library.multiply(product, &algo, stream), Status::success);
      CUgraph graph = nullptr;
      EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
      CUgraphNode nodes[2] = {};
      size_t count = 2;
      EXPECT_EQ(driver.cuGraphGetNodes(graph, nodes, &count), CUDA_SUCCESS);
      EXPECT_EQ(count, hasParts ? 2u : 1u);
      CUgraphNodeType type{};
      EXPECT_EQ(driver.cuGraphNodeGetType(nodes[count - 1], &type), CUDA_SUCCESS);
      EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
      CUgraphExec executable = nullptr;
      EXPECT_EQ(driver.cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
      CUDA_KERNEL_NODE_PARAMS parameters{};
      parameters.func = driver.kernel("stop");
      parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
      parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
      EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams(executable, nodes[0], &parameters),
                CUDA_ERROR_INVALID_VALUE);
      // A replay reads the memory anew.
      for (const uint32_t word : {0u, 0x3F800000u}) {
        EXPECT_EQ(driver.cuMemsetD32Async(product.a.address, word, 32 * 32, stream), CUDA_SUCCESS);
        EXPECT_EQ(driver.cuGraphLaunch(executable, stream), CUDA_SUCCESS);
        EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
        product.a.values.assign(product.a.values.size(), word ? 1 : 0);
        EXPECT_EQ(library.read(product.d), SoftwareProducts::expected(product));
      }
    }
  });
  EXPECT_TRUE(contains(output, "does something of another kind")) << output;
}

/// What a child with one mistake writes; the driver must give `code` when the stream is waited for.
std::string mistake(CUresult code,
                    const std::function<void(SoftwareProducts &, TestProduct &, CUstream)> &body) {
  return run({}, [&](SoftwareDriver &driver) {
    driver.start();
    SoftwareProducts library(driver);
    CUstream stream = driver.stream();
    TestProduct product = library.make(square(32));
    body(library, product, stream);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), code);
    if (code != CUDA_SUCCESS) {
      EXPECT_EQ(library.multiply(product, nullptr, stream), Status::execution_failed) << "it is sticky";
    }
  });
}

TEST(ProductCalls, TakePartInTheSearchForRaces) {
  for (const bool isWritten : {false, true}) {
    const std::string output = mistake(
        CUDA_ERROR_LAUNCH_FAILED, [=](SoftwareProducts &library, TestProduct &product, CUstream stream) {
          CUstream other = library.driver.stream();
          const CUdeviceptr address = isWritten ? product.d.address : product.b.address;
          library.driver.cuMemsetD32Async(address + 400, 0, 1, other);
          library.driver.cuStreamDestroy(other); // which runs the fill, and lets the host not wait for it
          EXPECT_EQ(library.multiply(product, nullptr, stream), Status::success);
        });
    EXPECT_TRUE(
        contains(output, std::string("on stream 1 ") + (isWritten ? "writes" : "reads") + " 4 bytes at 0x"))
        << output;
    EXPECT_TRUE(contains(output, "product 32x32x32 of f32 of cublasLtMatmul (call ")) << output;
  }
}

TEST(ProductCalls, WithOneWorkspaceMustBeOrdered) {
  const std::string output =
      mistake(CUDA_ERROR_LAUNCH_FAILED, [](SoftwareProducts &library, TestProduct &product, CUstream stream) {
        TestProduct second = library.make(square(32));
        const lt::MatmulAlgo algo = withParts(library, product, true);
        EXPECT_EQ(library.multiply(product, &algo, library.driver.stream()), Status::success);
        EXPECT_EQ(library.multiply(second, &algo, stream), Status::success);
        library.driver.cuCtxSynchronize();
      });
  EXPECT_TRUE(contains(output, "race: the parts of product 32x32x32 of f32")) << output;
}

TEST(ProductCalls, DoNotTouchBytesBetweenTheirLines) {
  mistake(CUDA_SUCCESS, [](SoftwareProducts &library, TestProduct &, CUstream stream) {
    ProductCase what = square(8);
    what.padding = 4;
    TestProduct product = library.make(what);
    CUstream other = library.driver.stream();
    library.driver.cuMemsetD32Async(product.d.address + 8 * 4, 0, 4, other);
    library.driver.cuStreamDestroy(other);
    EXPECT_EQ(library.multiply(product, nullptr, stream), Status::success);
  });
}

TEST(ProductCalls, FindMemoryThatIsNotThere) {
  const std::string outside = mistake(
      CUDA_ERROR_ILLEGAL_ADDRESS, [](SoftwareProducts &library, TestProduct &product, CUstream stream) {
        TestProduct shifted = product;
        shifted.b.address += 64;
        EXPECT_EQ(library.multiply(shifted, nullptr, stream), Status::success);
      });
  EXPECT_TRUE(contains(outside, "product 32x32x32 of f32 of cublasLtMatmul (call ")) << outside;
  EXPECT_TRUE(contains(outside, "operand B (128 bytes x 32 rows at 0x")) << outside;
  EXPECT_TRUE(contains(outside, "are not in an allocation")) << outside;
  const std::string freed = mistake(CUDA_ERROR_ILLEGAL_ADDRESS,
                                    [](SoftwareProducts &library, TestProduct &product, CUstream stream) {
                                      library.driver.cuMemFree(product.a.address);
                                      EXPECT_EQ(library.multiply(product, nullptr, stream), Status::success);
                                    });
  EXPECT_TRUE(contains(freed, "operand A")) << freed;
  const std::string ofHost = mistake(
      CUDA_ERROR_ILLEGAL_ADDRESS, [](SoftwareProducts &library, TestProduct &product, CUstream stream) {
        product.a.address = reinterpret_cast<CUdeviceptr>(library.driver.pinned(32 * 32));
        EXPECT_EQ(library.multiply(product, nullptr, stream), Status::success);
      });
  EXPECT_TRUE(contains(ofHost, "is no address of device 0")) << ofHost;
}

TEST(ProductCalls, FindOperandsThatOverlap) {
  const std::string output =
      mistake(CUDA_ERROR_LAUNCH_FAILED, [](SoftwareProducts &library, TestProduct &product, CUstream stream) {
        product.d.address = product.a.address;
        EXPECT_EQ(library.multiply(product, nullptr, stream), Status::success);
      });
  EXPECT_TRUE(contains(output, "it writes operand D")) << output;
  EXPECT_TRUE(contains(output, "which overlaps operand A")) << output;
  const std::string itself =
      mistake(CUDA_ERROR_LAUNCH_FAILED, [](SoftwareProducts &library, TestProduct &, CUstream stream) {
        ProductCase what = square(32);
        what.batch = 2;
        TestProduct product = library.make(what);
        library.set(product.d.layout, lt::MatrixLayoutAttribute::strided_batch_offset, int64_t(16));
        EXPECT_EQ(library.multiply(product, nullptr, stream), Status::success);
      });
  EXPECT_TRUE(contains(itself, ", whose rows overlap")) << itself;
  mistake(CUDA_SUCCESS, [](SoftwareProducts &library, TestProduct &, CUstream stream) {
    ProductCase what = square(32);
    what.beta = 1;
    TestProduct product = library.make(what);
    const std::vector<double> expected = SoftwareProducts::expected(product);
    library.driver.cuMemcpyDtoDAsync(product.d.address, product.c.address, 32 * 32 * 4, stream);
    product.c.address = product.d.address; // in place
    EXPECT_EQ(library.multiply(product, nullptr, stream), Status::success);
    library.driver.cuStreamSynchronize(stream);
    EXPECT_EQ(library.read(product.d), expected);
  });
}

TEST(ProductCalls, FailIfTheyAreAskedToAndAreInTheLog) {
  weft::test::TemporaryFolder folder;
  run({{"CUSIM_FAIL", "cublasLtMatmul:2:13"}, {"CUSIM_LOG", folder / "log"}}, [](SoftwareDriver &driver) {
    driver.start();
    SoftwareProducts library(driver);
    TestProduct product = library.make(square(4));
    EXPECT_EQ(library.multiply(product, nullptr, nullptr), Status::success);
    EXPECT_EQ(library.multiply(product, nullptr, nullptr), Status::execution_failed);
    EXPECT_EQ(library.multiply(product, nullptr, nullptr), Status::success);
  });
  std::ostringstream log;
  log << std::ifstream(folder / "log").rdbuf();
  EXPECT_TRUE(contains(log.str(), "cublasLtCreate(-> cublasLt handle 1) = 0\n")) << log.str();
  EXPECT_TRUE(contains(log.str(), "cublasLtMatrixLayoutCreate(-> matrix layout 1, 0, 4, 4, 4) = 0\n"));
  EXPECT_TRUE(contains(log.str(), ", stream 0) = 13 by CUSIM_FAIL\n")) << log.str();
  EXPECT_TRUE(contains(log.str(), "leak: product description 1\n")) << log.str();
}

TEST(ProductCalls, EachFunctionFailsIfItIsAskedTo) {
  std::string rules;
#define WEFT_RULE(function, result, parameters)                                                              \
  rules += (rules.empty() ? "" : ",") + std::string(#function) + ":1:14";
  WEFT_CUBLASLT_DESCRIPTOR_FUNCTIONS(WEFT_RULE)
  WEFT_CUBLASLT_ALGORITHM_FUNCTIONS(WEFT_RULE)
  WEFT_CUBLASLT_MATMUL_FUNCTIONS(WEFT_RULE)
#undef WEFT_RULE
  run({{"CUSIM_FAIL", rules}}, [](SoftwareDriver &driver) {
    driver.start();
    SoftwareProducts library(driver);
    auto call = []<class... Arguments>(Status (*function)(Arguments...)) { return function(Arguments()...); };
#define WEFT_CALL(function, result, parameters)                                                              \
  EXPECT_EQ(call(library.function), Status::internal_error) << #function;                                    \
  EXPECT_NE(call(library.function), Status::success) << #function << " with zeros";
    WEFT_CUBLASLT_DESCRIPTOR_FUNCTIONS(WEFT_CALL)
    WEFT_CUBLASLT_ALGORITHM_FUNCTIONS(WEFT_CALL)
    WEFT_CUBLASLT_MATMUL_FUNCTIONS(WEFT_CALL)
#undef WEFT_CALL
  });
}

TEST(ProductCalls, LeaveTheirObjectsInTheReport) {
  run({}, [](SoftwareDriver &driver) {
    driver.start();
    SoftwareProducts library(driver);
    TestProduct product = library.make(square(4));
    const std::string report = driver.report();
    EXPECT_TRUE(contains(report, "allocation of 4096 bytes at 0x")) << report;
    for (const char *object : {"cublasLt handle 1\n", "product description 1\n", "matrix layout 4\n"})
      EXPECT_TRUE(contains(report, object)) << report;
    library.destroy(product);
    EXPECT_EQ(library.cublasLtDestroy(library.handle), Status::success);
    EXPECT_EQ(library.cublasLtDestroy(library.handle), Status::not_initialized);
    EXPECT_EQ(driver.cuMemFree(library.workspace), CUDA_SUCCESS);
    EXPECT_STREQ(driver.report(), "");
  });
}

TEST(ProductCalls, NeedAContextAndTheSoftwareDriver) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    EXPECT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    void *library = ::dlopen(productLibrary().c_str(), RTLD_NOW | RTLD_LOCAL);
    auto create = reinterpret_cast<Status (*)(lt::Handle *)>(::dlsym(library, "cublasLtCreate"));
    lt::Handle handle{};
    EXPECT_EQ(create(&handle), Status::not_initialized);
    driver.start();
    EXPECT_EQ(create(&handle), Status::success);
  });
  EXPECT_TRUE(contains(output, "cublasLtCreate (call ")) << output;
  const Child child = runChild({}, [] {
    void *library = ::dlopen(productLibrary().c_str(), RTLD_NOW | RTLD_LOCAL);
    auto create = reinterpret_cast<Status (*)(lt::Handle *)>(::dlsym(library, "cublasLtCreate"));
    lt::Handle handle{};
    EXPECT_EQ(create(&handle), Status::not_initialized);
  });
  EXPECT_EQ(child.exitCode, 0) << child.output;
  EXPECT_TRUE(contains(child.output, "this libcublasLt.so.13 works with the software driver alone"))
      << child.output;
}

} // namespace
