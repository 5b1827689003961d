//===- TrafficTest.cpp - Sectors and bank conflicts of textbooks ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers are those that CUDA's guides derive by hand: a warp of 32 words that are neighbours needs four
// sectors, one with a stride needs up to one sector a lane; and a stride of 2^k words in shared memory has
// 2^k-fold conflicts.
//
//===----------------------------------------------------------------------===//
#include "Device.h"

namespace weft::cudasim {
namespace {

Traffic trafficOf(const std::string &body, LaunchOptions options = {.block = {32}},
                  const std::string &module = "") {
  std::unique_ptr<Module> made = parsed(kernelText(body, module));
  if (!made)
    return {};
  Memory memory(1 << 24);
  EXPECT_TRUE(made->load(memory));
  uint64_t address = upload(memory, std::vector<uint32_t>(16384));
  options.counts = true;
  LaunchResult result = launch(*made, "k", memory, options, Parameters(address));
  EXPECT_TRUE(result.ok()) << result.fault->str();
  return result.traffic;
}

/// %q0 is %a plus the thread's number times so many bytes.
std::string byThread(uint64_t bytes) {
  return "mov.u32 %r0, %tid.x;\nmad.wide.u32 %q0, %r0, " + std::to_string(bytes) + ", %a;\n";
}

void expectGlobal(const GlobalTraffic &found, const GlobalTraffic &expected) {
  EXPECT_EQ(found.requests, expected.requests);
  EXPECT_EQ(found.sectors, expected.sectors);
  EXPECT_EQ(found.leastSectors, expected.leastSectors);
  EXPECT_EQ(found.uniqueBytes, expected.uniqueBytes);
}

TEST(Traffic, SectorsOfLoads) {
  struct {
    uint64_t stride;
    GlobalTraffic expected;
  } cases[] = {{0, {1, 1, 1, 4}},
               {4, {1, 4, 4, 128}},
               {8, {1, 8, 4, 128}},
               {32, {1, 32, 4, 128}},
               {128, {1, 32, 4, 128}}};
  for (const auto &[stride, expected] : cases) {
    SCOPED_TRACE(stride);
    Traffic traffic = trafficOf(byThread(stride) + "ld.global.u32 %r1, [%q0];");
    expectGlobal(traffic.loads, expected);
    expectGlobal(traffic.stores, {});
  }
}

TEST(Traffic, SectorsOfOtherAccesses) {
  expectGlobal(trafficOf(byThread(16) + "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%q0];").loads,
               {1, 16, 16, 512});
  expectGlobal(trafficOf(byThread(4) + "ld.global.u32 %r1, [%q0+4];").loads, {1, 5, 4, 128});
  expectGlobal(trafficOf(byThread(1) + "ld.global.u8 %r1, [%q0];").loads, {1, 1, 1, 32});
  // Generic addresses are global ones here; an atomic operation is a store.
  expectGlobal(trafficOf(byThread(64) + "st.u32 [%q0], %r0;").stores, {1, 32, 4, 128});
  expectGlobal(trafficOf(byThread(4) + "red.global.add.u32 [%q0], %r0;").stores, {1, 4, 4, 128});
  // Sixteen lanes.
  expectGlobal(
      trafficOf(byThread(4) + "setp.ge.u32 %p0, %r0, 16;\n@%p0 exit;\nst.global.u32 [%q0], %r0;").stores,
      {1, 2, 2, 64});
}

TEST(Traffic, WhatIsReadTwiceMovesTwice) {
  const std::string reads = byThread(4) + "ld.global.u32 %r1, [%q0];\nld.global.u32 %r2, [%q0];";
  expectGlobal(trafficOf(reads).loads, {2, 8, 8, 128});
  expectGlobal(trafficOf(reads, {.grid = {10}, .block = {64}}).loads, {40, 160, 160, 256});
  expectGlobal(trafficOf(reads, {.grid = {10}, .block = {64}, .mostBlocks = 3}).loads, {12, 48, 48, 256});
}

TEST(Traffic, BlocksAtBothEndsAreTaken) {
  const std::string own = "mov.u32 %r0, %ctaid.x;\nmad.wide.u32 %q0, %r0, 4, %a;\nst.global.u32 [%q0], %r0;";
  std::unique_ptr<Module> made = parsed(kernelText(own));
  Memory memory(1 << 20);
  uint64_t address = upload(memory, std::vector<uint32_t>(8, 99));
  ASSERT_TRUE(launch(*made, "k", memory, {.grid = {8}, .mostBlocks = 3}, Parameters(address)).ok());
  EXPECT_EQ(download<uint32_t>(memory, address, 8), (std::vector<uint32_t>{0, 1, 99, 99, 99, 99, 99, 7}));
}

const std::string tile = ".shared .align 16 .b8 tile[32768];";
std::string inTile(uint64_t stride) {
  return "mov.u32 %r0, %tid.x;\nmov.u32 %r1, tile;\nmad.lo.u32 %r2, %r0, " + std::to_string(stride) +
         ", %r1;\n";
}

void expectShared(const std::string &body, uint64_t requests, uint64_t wavefronts, uint64_t least) {
  SCOPED_TRACE(body);
  SharedTraffic found = trafficOf(body, {.block = {32}}, tile).shared;
  EXPECT_EQ(found.requests, requests);
  EXPECT_EQ(found.wavefronts, wavefronts);
  EXPECT_EQ(found.leastWavefronts, least);
}

TEST(Traffic, ConflictsOfBanks) {
  for (auto [stride, wavefronts] : std::vector<std::pair<uint64_t, uint64_t>>{
           {0, 1}, {4, 1}, {8, 2}, {12, 1}, {16, 4}, {64, 16}, {128, 32}, {132, 1}, {256, 32}})
    expectShared(inTile(stride) + "st.shared.u32 [%r2], %r0;", 1, wavefronts, 1);
  expectShared(inTile(1) + "st.shared.u8 [%r2], %r0;", 1, 1, 1);
  expectShared(inTile(8) + "mov.u64 %q1, 0;\nst.shared.u64 [%r2], %q1;", 1, 2, 2);
  expectShared(inTile(16) + "st.shared.v4.u32 [%r2], {%r0, %r0, %r0, %r0};", 1, 4, 4);
  expectShared(inTile(32) + "st.shared.v4.u32 [%r2], {%r0, %r0, %r0, %r0};", 1, 8, 4);
}

TEST(Traffic, AsynchronousCopiesCountOnce) {
  const std::string copy = byThread(16) + inTile(16) +
                           "cp.async.cg.shared.global [%r2], [%q0], 16;\ncp.async.commit_group;\n"
                           "cp.async.wait_group 0;";
  Traffic traffic = trafficOf(copy, {.block = {32}}, tile);
  expectGlobal(traffic.loads, {1, 16, 16, 512});
  EXPECT_EQ(traffic.shared.requests, 1u);
  EXPECT_EQ(traffic.shared.wavefronts, 4u);
}

TEST(Traffic, RowsOfMatricesInOneBankConflict) {
  const std::string load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r2];";
  const std::string fill = "st.shared.v4.u32 [%r2], {%r0, %r0, %r0, %r0};\n";
  expectShared(inTile(16) + fill + load, 2, 8, 8);
  expectShared(inTile(144) + fill + load, 2, 8, 8);
  expectShared(inTile(128) + fill + load, 2, 64, 8);
}

TEST(Traffic, NothingIsCountedUnasked) {
  std::unique_ptr<Module> made = parsed(kernelText(byThread(4) + "ld.global.u32 %r1, [%q0];"));
  Memory memory(1 << 20);
  uint64_t address = upload(memory, std::vector<uint32_t>(32));
  EXPECT_EQ(launch(*made, "k", memory, {.block = {32}}, Parameters(address)).traffic.loads.requests, 0u);
}

} // namespace
} // namespace weft::cudasim
