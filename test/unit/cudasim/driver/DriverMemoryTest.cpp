//===- DriverMemoryTest.cpp - Memory of the software driver -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/cudasim/driver/SoftwareDriver.h"

#include <csignal>
#include <cstring>
#include <gtest/gtest.h>

using namespace weft::cusim;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

constexpr size_t mebibyte = 1 << 20;

uint64_t attribute(SoftwareDriver &driver, CUmemoryPool pool, CUmemPool_attribute which) {
  uint64_t value = 0;
  EXPECT_EQ(driver.cuMemPoolGetAttribute(pool, which, &value), CUDA_SUCCESS);
  return value;
}

TEST(DriverMemory, EndsAtItsLimit) {
  run({{"CUSIM_MEM", "1048576"}}, [](SoftwareDriver &driver) {
    driver.start();
    size_t free = 0, total = 0;
    CUdeviceptr more = 0;
    const CUdeviceptr half = driver.allocate(mebibyte / 2);
    EXPECT_EQ(driver.cuMemGetInfo(&free, &total), CUDA_SUCCESS);
    EXPECT_EQ(free, mebibyte / 2);
    EXPECT_EQ(total, mebibyte);
    EXPECT_EQ(driver.cuMemAlloc(&more, mebibyte / 2 + 1), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(driver.cuMemFree(half), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAlloc(&more, mebibyte), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFree(half), CUDA_ERROR_INVALID_VALUE) << "it is free already";
  });
}

TEST(DriverMemory, ThatAStreamHasYetToFreeIsFoundWhenMemoryIsShort) {
  run({{"CUSIM_MEM", "8388608"}}, [](SoftwareDriver &driver) {
    driver.start();
    CUdeviceptr first = 0, second = 0;
    CUstream stream = driver.stream();
    EXPECT_EQ(driver.cuMemAllocAsync(&first, 6 * mebibyte, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFreeAsync(first, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAllocAsync(&second, 6 * mebibyte, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFreeAsync(first, stream), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(DriverMemory, OfPoolsStaysReservedUpToTheThreshold) {
  run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    CUmemoryPool pool = nullptr;
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    EXPECT_EQ(driver.cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
    uint64_t threshold = 4 * mebibyte;
    EXPECT_EQ(driver.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
              CUDA_SUCCESS);
    CUdeviceptr address = 0;
    EXPECT_EQ(driver.cuMemAllocFromPoolAsync(&address, 7 * mebibyte, pool, stream), CUDA_SUCCESS);
    EXPECT_EQ(attribute(driver, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 7 * mebibyte);
    EXPECT_EQ(attribute(driver, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 8 * mebibyte);
    EXPECT_EQ(driver.cuMemFreeAsync(address, stream), CUDA_SUCCESS);
    EXPECT_EQ(attribute(driver, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 7 * mebibyte) << "nothing has run";
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(attribute(driver, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
    EXPECT_EQ(attribute(driver, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 7 * mebibyte);
    EXPECT_EQ(attribute(driver, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), threshold);
    EXPECT_EQ(driver.cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    EXPECT_EQ(attribute(driver, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0u);
    EXPECT_EQ(driver.cuMemPoolDestroy(pool), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(DriverMemory, IsNotTheHosts) {
  const Child child = runChild({}, [] {
    SoftwareDriver driver;
    driver.start();
    auto *address = reinterpret_cast<volatile char *>(driver.allocate(16));
    std::signal(SIGSEGV, SIG_DFL); // a sanitizer has another handler
    *address = 1;
  });
  EXPECT_EQ(child.signal, SIGSEGV) << child.output;
}

TEST(DriverMemory, KnowsItsPointers) {
  run({{"CUSIM_DEVICES", "2"}}, [](SoftwareDriver &driver) {
    driver.start(1);
    const CUdeviceptr device = driver.allocate(64);
    uint32_t *pinned = driver.pinned(4), pageable = 0;
    unsigned type = 0;
    int ordinal = -1;
    size_t bytes = 0;
    EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 63),
              CUDA_SUCCESS);
    EXPECT_EQ(type, unsigned(CU_MEMORYTYPE_DEVICE));
    EXPECT_EQ(driver.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device),
              CUDA_SUCCESS);
    EXPECT_EQ(ordinal, 1);
    EXPECT_EQ(driver.cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, device), CUDA_SUCCESS);
    EXPECT_EQ(bytes, 64u);
    auto host = [](const void *address) { return reinterpret_cast<CUdeviceptr>(address); };
    EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host(pinned + 3)),
              CUDA_SUCCESS);
    EXPECT_EQ(type, unsigned(CU_MEMORYTYPE_HOST));
    EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host(&pageable)),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuMemHostRegister(&pageable, 4, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemHostRegister(&pageable, 4, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host(&pageable)),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemHostUnregister(&pageable), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFreeHost(pinned), CUDA_SUCCESS);
  });
}

TEST(DriverMemory, CopiesRowsAndRefusesWhatIsNotAllocated) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    driver.start();
    CUstream stream = driver.stream();
    const CUdeviceptr device = driver.allocate(32);
    driver.cuMemsetD8Async(device, 0, 32, stream);
    const char source[] = "abcdefgh";
    char result[33] = {};
    CUDA_MEMCPY2D rows{};
    rows.srcMemoryType = CU_MEMORYTYPE_HOST;
    rows.srcHost = source;
    rows.srcPitch = 4;
    rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    rows.dstDevice = device;
    rows.dstPitch = 16;
    rows.dstXInBytes = 1;
    rows.WidthInBytes = 3;
    rows.Height = 2;
    EXPECT_EQ(driver.cuMemcpy2DAsync(&rows, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync(result, device, 32, stream), CUDA_SUCCESS);
    EXPECT_EQ(std::string(result + 1, 3), "abc");
    EXPECT_EQ(std::string(result + 17, 3), "efg");
    EXPECT_EQ(result[4], 0);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync(result, device + 1, 32, stream), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuMemcpyDtoDAsync(device, reinterpret_cast<CUdeviceptr>(source), 4, stream),
              CUDA_ERROR_INVALID_VALUE);
  });
  EXPECT_TRUE(contains(output, "32 bytes at 0x")) << output;
  EXPECT_TRUE(contains(output, "at byte 1 of an allocation of 32 bytes")) << output;
  EXPECT_TRUE(contains(output, "is no address of the device")) << output;
}

} // namespace
