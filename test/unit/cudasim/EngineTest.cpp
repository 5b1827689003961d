//===- EngineTest.cpp - Checks, orders, interface ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Device.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace weft::cudasim {
namespace {

/// The result of a kernel whose body is given, on words in memory.
struct Ran {
  LaunchResult result;
  std::vector<uint32_t> words;
};
Ran run(const std::string &body, std::vector<uint32_t> words, LaunchOptions options,
        const std::string &module = "") {
  Ran ran;
  std::unique_ptr<Module> made = parsed(kernelText(body, module));
  if (!made)
    return ran;
  Memory memory(1 << 24);
  EXPECT_TRUE(made->load(memory));
  uint64_t address = upload(memory, words);
  ran.result = launch(*made, "k", memory, options, Parameters(address));
  ran.words = download<uint32_t>(memory, address, words.size());
  return ran;
}

/// Each thread's number in %r0, and its own word's address in %q0.
const std::string ownWord = "mov.u32 %r0, %tid.x;\nmad.wide.u32 %q0, %r0, 4, %a;\n";

void expectFault(const Ran &ran, FaultKind kind, const std::string &part) {
  ASSERT_FALSE(ran.result.ok()) << part;
  EXPECT_EQ(ran.result.fault->kind, kind) << ran.result.fault->str();
  EXPECT_NE(ran.result.fault->str().find(part), std::string::npos) << ran.result.fault->str();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST(EngineMemory, EndsAtTheLastByteAndIsNeverReused) {
  Memory memory(1 << 20);
  uint64_t a = memory.allocate(10), b = memory.allocate(256);
  EXPECT_EQ(a % Memory::granule, 0u);
  EXPECT_GT(a, uint64_t(1) << 47) << "outside of what a user program can address";
  EXPECT_TRUE(memory.access(a + 8, 2));
  EXPECT_FALSE(memory.access(a + 8, 4));
  EXPECT_FALSE(memory.access(a - 1, 1));
  EXPECT_TRUE(memory.access(b + 255, 1));
  EXPECT_FALSE(memory.access(b + 256, 1));
  EXPECT_EQ(memory.liveBytes(), 266u);
  EXPECT_EQ(*memory.host(a + 9, 1), std::byte(0xFF)) << "poison";
  EXPECT_FALSE(memory.host(a, 11));
  EXPECT_TRUE(memory.free(a));
  EXPECT_FALSE(memory.free(a));
  EXPECT_FALSE(memory.free(b + 1));
  EXPECT_TRUE(memory.isFreed(a + 9));
  EXPECT_FALSE(memory.access(a, 1));
  EXPECT_GT(memory.allocate(10), b);
  EXPECT_EQ(memory.allocate(1 << 20), 0u);
  EXPECT_EQ(memory.liveAllocations(), 2u);
}

TEST(EngineMemory, AddressesGoFarBeyond32Bits) {
  Memory memory;
  uint64_t bytes = uint64_t(10) << 30, a = memory.allocate(bytes);
  ASSERT_TRUE(a);
  std::unique_ptr<Module> module = parsed(kernelText("mov.u64 %q1, 2684354559;\nshl.b64 %q1, %q1, 2;\n"
                                                     "add.s64 %q1, %a, %q1;\nst.global.u32 [%q1], 77;"));
  ASSERT_TRUE(module);
  EXPECT_TRUE(launch(*module, "k", memory, {}, Parameters(a)).ok());
  uint32_t value = 0;
  std::memcpy(&value, memory.host(a + bytes - 4, 4), 4);
  EXPECT_EQ(value, 77u);
}

TEST(EngineFaults, NameTheAccess) {
  Ran ran = run("\n" + ownWord + "st.global.u32 [%q0+8], %r0;", std::vector<uint32_t>(64), {.block = {64}});
  expectFault(ran, FaultKind::outOfBounds, "behind an allocation of 256 bytes");
  const Fault &fault = *ran.result.fault;
  EXPECT_EQ(fault.bytes, 4u);
  EXPECT_EQ(fault.thread.x, 62u);
  EXPECT_EQ(fault.opcode, "st.global.u32");
  EXPECT_EQ(fault.kernel, "k");
  EXPECT_EQ(fault.line, 19);
  EXPECT_NE(fault.str().find("thread (62,0,0) of block (0,0,0), PTX line 19"), std::string::npos)
      << fault.str();
}

TEST(EngineFaults, OfMemory) {
  std::vector<uint32_t> words(8);
  expectFault(run("ld.global.u32 %r0, [%a+2];", words, {}), FaultKind::misaligned, "4 bytes");
  expectFault(run("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%a+8];", words, {}), FaultKind::misaligned,
              "16 bytes");
  expectFault(run("ld.global.u32 %r0, [%a+-4];", words, {}), FaultKind::outOfBounds, "global read");
  expectFault(run("mov.u64 %q0, 16;\nld.u32 %r0, [%q0];", words, {}), FaultKind::outOfBounds, "0x10");
  expectFault(run(".shared .align 4 .b8 s[32];\nst.shared.u32 [s+32], 1;", words, {}), FaultKind::outOfBounds,
              "shared write");
  // The end of one variable is not the start of the next.
  expectFault(
      run(".shared .align 4 .b8 s[32], t[32];\nst.shared.u32 [t], 1;\nst.shared.u32 [s+32], 1;", words, {}),
      FaultKind::outOfBounds, "shared write");
  expectFault(
      run(".local .align 4 .b8 s[32];\nmov.u64 %q0, s;\ncvta.local.u64 %q0, %q0;\nld.u32 %r0, [%q0+32];",
          words, {}),
      FaultKind::outOfBounds, "local read");
  expectFault(run("mov.u64 %q0, p;\ncvta.param.u64 %q0, %q0;\nst.u64 [%q0], 1;", words, {}),
              FaultKind::readOnly, "parameter write");
  expectFault(run("mov.u64 %q0, p;\nld.param.u64 %q0, [%q0+8];", words, {}), FaultKind::outOfBounds,
              "parameter read");
}

TEST(EngineFaults, UseAfterFree) {
  std::unique_ptr<Module> module = parsed(kernelText("ld.global.u32 %r0, [%a];"));
  Memory memory(1 << 20);
  uint64_t address = memory.allocate(4);
  memory.free(address);
  LaunchResult result = launch(*module, "k", memory, {}, Parameters(address));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.fault->kind, FaultKind::useAfterFree);
  EXPECT_NE(result.fault->str().find("of an allocation of 4 bytes, freed"), std::string::npos);
}

TEST(EngineFaults, OfBarriersAndMasks) {
  std::vector<uint32_t> words(64);
  LaunchOptions two{.block = {64}};
  expectFault(
      run(ownWord + "setp.lt.u32 %p0, %r0, 40;\n@%p0 bra A;\nbar.sync 0;\nret;\nA: bar.sync 0;", words, two),
      FaultKind::divergentBarrier, "bar.sync");
  expectFault(run(ownWord + "setp.lt.u32 %p0, %r0, 40;\n@%p0 bar.sync 0;", words, two),
              FaultKind::exitedAtBarrier, "bar.sync");
  expectFault(run(ownWord + "setp.lt.u32 %p0, %r0, 40;\n@%p0 ret;\nbar.sync 0;", words, two),
              FaultKind::exitedAtBarrier, "ended");
  expectFault(run(ownWord + "setp.lt.u32 %p0, %r0, 32;\n@%p0 ret;\nbar.sync 0;", words, two),
              FaultKind::deadlock, "never reach");
  expectFault(run("bar.sync 0, 40;", words, two), FaultKind::invalidOperand, "40 threads");
  expectFault(run("mov.u32 %r0, 16;\nbar.sync %r0;", words, two), FaultKind::invalidOperand, "barrier 16");
  expectFault(run("shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xffff;", words, two), FaultKind::warpMask,
              "0x0000ffff");
  expectFault(
      run(ownWord + "setp.lt.u32 %p0, %r0, 8;\n@%p0 shfl.sync.idx.b32 %r1, %r0, 1, 31, -1;", words, two),
      FaultKind::warpMask, "names lane 8");
  expectFault(run("vote.sync.ballot.b32 %r1, %p0, 0x7fffffff;", words, two), FaultKind::warpMask,
              "0x7fffffff");
  expectFault(run("trap;", words, two), FaultKind::trap, "trap");
  expectFault(run("L: bra L;", words, {.budget = 1000}), FaultKind::budget, "1000 steps");
}

TEST(EngineRaces, OfSharedMemory) {
  std::vector<uint32_t> words(64);
  const std::string place = ".shared .align 4 .b8 s[256];\nmov.u32 %r0, %tid.x;\nshl.b32 %r1, %r0, 2;\n"
                            "mov.u32 %r2, s;\nadd.u32 %r3, %r2, %r1;\n";
  LaunchOptions race{.block = {64}, .race = true};
  expectFault(run(place + "ld.shared.u32 %r4, [%r3];", words, race), FaultKind::uninitialized,
              "nothing has written");
  expectFault(run(place + "st.shared.u32 [%r3], %r0;\nld.shared.u32 %r4, [%r2];", words, race),
              FaultKind::sharedRace, "read of shared memory that thread (0,0,0) wrote");
  expectFault(
      run(place +
              "st.shared.u32 [%r3], %r0;\nbar.sync 0;\nld.shared.u32 %r4, [%r2];\nst.shared.u32 [%r2], %r0;",
          words, race),
      FaultKind::sharedRace, "write to shared memory");
  // A warp is ordered by bar.warp.sync, and not by a shuffle.
  const std::string one = place + "st.shared.u32 [%r3], %r0;\n",
                    next = "xor.b32 %r5, %r3, 4;\nld.shared.u32 %r4, [%r5];";
  LaunchOptions warp{.block = {32}, .race = true};
  EXPECT_TRUE(run(one + "bar.warp.sync -1;\n" + next, words, warp).result.ok());
  expectFault(run(one + "shfl.sync.idx.b32 %r6, %r0, 0, 31, -1;\n" + next, words, warp),
              FaultKind::sharedRace, "read");
  EXPECT_TRUE(run(one + "bar.sync 0;\n" + next, words, race).result.ok());
  EXPECT_TRUE(run(one + "bar.sync 0;\nred.shared.add.u32 [%r2], 1;", words, race).result.ok())
      << "atomics do not race";
  // Nor do volatile loads with others; but one races with a plain write.
  const std::string volatileLoads =
      "@%p0 ld.volatile.shared.u32 %r4, [%r2];\n@!%p0 ld.shared.u32 %r4, [%r2];";
  EXPECT_TRUE(run(one + "bar.sync 0;\nsetp.eq.u32 %p0, %r0, 0;\n" + volatileLoads, words, race).result.ok());
  expectFault(run(one + "ld.volatile.shared.u32 %r4, [%r2];", words, race), FaultKind::sharedRace, "read");
}

// Two threads of a block write one word: a fault. One reads what another writes: it gets poison, since what
// is behind the end of a row reads the row's last element and does not use it.
TEST(EngineRaces, InGlobalMemoryWithinABlock) {
  const std::vector<uint32_t> words(128);
  LaunchOptions race{.block = {64}, .race = true}, warp{.block = {32}, .race = true};
  const std::string one = ownWord + "st.global.u32 [%q0], %r0;\n";
  auto exchange = [&](const std::string &barrier, int mask, const LaunchOptions &options) {
    const Ran ran = run(one + barrier + "xor.b32 %r1, %r0, " + std::to_string(mask) +
                            ";\nmad.wide.u32 %q1, %r1, 4, %a;\nld.global.u32 %r2, [%q1];\n"
                            "st.global.u32 [%q0+256], %r2;\n",
                        words, options);
    EXPECT_TRUE(ran.result.ok()) << ran.result.fault->str();
    return ran.words[64];
  };
  constexpr uint32_t poison = ~0u;
  EXPECT_EQ(exchange("", 0, race), 0u) << "one's own word";
  EXPECT_EQ(exchange("", 1, warp), poison);
  EXPECT_EQ(exchange("bar.warp.sync -1;\n", 1, warp), 1u);
  EXPECT_EQ(exchange("bar.sync 0;\n", 32, race), 32u);
  race.order = Order::reverse;
  EXPECT_EQ(exchange("", 32, race), poison) << "the other warp comes first";
  EXPECT_EQ(exchange("bar.warp.sync -1;\n", 32, race), poison);
  EXPECT_EQ(exchange("bar.sync 0;\n", 32, race), 32u);
  expectFault(run("st.global.u32 [%a], 7;", words, warp), FaultKind::globalRace,
              "thread (0,0,0) wrote, without a barrier between");
  expectFault(run("mov.u32 %r0, %tid.x;\nand.b32 %r0, %r0, 31;\nsetp.eq.u32 %p0, %r0, 0;\n"
                  "@%p0 st.global.u32 [%a], 7;",
                  words, race),
              FaultKind::globalRace, "thread (32,0,0) wrote");
  EXPECT_TRUE(run("red.global.add.u32 [%a], 1;", words, race).result.ok()) << "atomics do not race";
  race.race = false;
  EXPECT_EQ(exchange("", 32, race), 32u);
}

TEST(EngineRaces, OfBlocks) {
  std::vector<uint32_t> words(64);
  LaunchOptions options{.grid = {2}, .block = {1}, .race = true};
  expectFault(run("st.global.u32 [%a], 1;", words, options), FaultKind::globalRace, "block 0 wrote");
  expectFault(run("mov.u32 %r0, %ctaid.x;\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 ld.global.u32 %r1, [%a];\n"
                  "@!%p0 st.global.u32 [%a], 1;",
                  words, options),
              FaultKind::globalRace, "block 0 read");
  EXPECT_TRUE(run("red.global.add.u32 [%a], 1;", words, options).result.ok());
  EXPECT_TRUE(run("mov.u32 %r0, %ctaid.x;\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 ld.volatile.global.u32 %r1, [%a];\n"
                  "@!%p0 ld.global.u32 %r1, [%a];",
                  words, options)
                  .result.ok());
  expectFault(run("mov.u32 %r0, %ctaid.x;\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 st.global.u32 [%a], 1;\n"
                  "@!%p0 ld.relaxed.gpu.global.u32 %r1, [%a];",
                  words, options),
              FaultKind::globalRace, "block 0 wrote");
  // Neighbouring bytes are no race.
  EXPECT_TRUE(
      run("mov.u32 %r0, %ctaid.x;\ncvt.u64.u32 %q0, %r0;\nadd.u64 %q0, %a, %q0;\nst.global.u8 [%q0], 1;",
          words, options)
          .result.ok());
  options.race = false;
  EXPECT_TRUE(run("st.global.u32 [%a], 1;", words, options).result.ok());
}

TEST(EngineCopies, AsyncBytesArriveAtTheWait) {
  std::vector<uint32_t> words{11, 22, 33, 44, 0, 0};
  const std::string copy =
      ".shared .align 16 .b8 s[16];\nmov.u32 %r2, s;\ncp.async.ca.shared.global [%r2], [%a], 16;\n"
      "cp.async.commit_group;\n";
  const std::string read = "ld.shared.u32 %r3, [%r2+4];\nst.global.u32 [%a+16], %r3;";
  Ran early = run(copy + read, words, {});
  EXPECT_EQ(early.words[4], ~0u) << "poison before the wait";
  expectFault(run(copy + read, words, {.race = true}), FaultKind::uninitialized, "nothing has written");
  EXPECT_EQ(run(copy + "cp.async.wait_group 1;\n" + read, words, {}).words[4], ~0u)
      << "one group may be on its way";
  EXPECT_EQ(run(copy + "cp.async.wait_group 0;\n" + read, words, {.race = true}).words[4], 22u);
  EXPECT_EQ(run(copy + "cp.async.wait_all;\n" + read, words, {.race = true}).words[4], 22u);
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

TEST(EngineWarps, VotesMatchesAndReductions) {
  std::vector<uint32_t> words(32 * 8);
  Ran ran = run(
      "mov.u32 %r0, %tid.x;\nmad.wide.u32 %q0, %r0, 32, %a;\nsetp.lt.u32 %p0, %r0, 5;\n"
      "vote.sync.ballot.b32 %r1, %p0, -1;\nst.global.u32 [%q0], %r1;\n"
      "shr.u32 %r2, %r0, 3;\nmatch.any.sync.b32 %r1, %r2, -1;\nst.global.u32 [%q0+4], %r1;\n"
      "redux.sync.add.u32 %r1, %r0, -1;\nst.global.u32 [%q0+8], %r1;\n"
      "redux.sync.min.s32 %r1, %r0, -1;\nst.global.u32 [%q0+12], %r1;\n"
      "shfl.sync.up.b32 %r1|%p1, %r0, 3, 0, -1;\nselp.b32 %r1, %r1, 99, %p1;\nst.global.u32 [%q0+16], %r1;\n"
      "shfl.sync.idx.b32 %r1, %r0, 2, 0x1c03, -1;\nst.global.u32 [%q0+20], %r1;\n"
      "activemask.b32 %r1;\nst.global.u32 [%q0+24], %r1;\n"
      "bar.red.popc.u32 %r1, 0, %p0;\nst.global.u32 [%q0+28], %r1;",
      words, {.block = {32}});
  ASSERT_TRUE(ran.result.ok()) << ran.result.fault->str();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t *w = ran.words.data() + 8 * lane;
    EXPECT_EQ(w[0], 0x1Fu);
    EXPECT_EQ(w[1], 0xFFu << lane / 8 * 8);
    EXPECT_EQ(w[2], 31u * 32 / 2);
    EXPECT_EQ(w[3], 0u);
    EXPECT_EQ(w[4], lane < 3 ? 99 : lane - 3);
    EXPECT_EQ(w[5], lane / 4 * 4 + 2);
    EXPECT_EQ(w[6], ~0u);
    EXPECT_EQ(w[7], 5u);
  }
}

TEST(EngineWarps, LanesWaitForEachOtherAtSynchronisingInstructions) {
  // The upper lanes jump backwards and arrive at the shuffle last, though their program counter is the
  // lowest.
  const std::string body = ownWord +
                           "setp.lt.u32 %p0, %r0, 16;\n@!%p0 bra FAR;\nmov.u32 %r1, 5;\nbra MEET;\n"
                           "MEET: shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;\nst.global.u32 [%q0], %r2;\nret;\n"
                           "FAR: mov.u32 %r1, 6;\nbra MEET;";
  Ran ran = run(body, std::vector<uint32_t>(32), {.block = {32}});
  ASSERT_TRUE(ran.result.ok()) << ran.result.fault->str();
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(ran.words[lane], lane < 16 ? 6u : 5u);
}

TEST(EngineWarps, CallsAreInlinedWithTheirParameters) {
  const std::string twice =
      ".func (.param .b32 r) twice(.param .b32 x)\n{\n.reg .b32 %v;\nld.param.b32 %v, [x];\n"
      ".reg .pred %z;\nsetp.eq.u32 %z, %v, 3;\n@%z bra THREE;\nadd.u32 %v, %v, %v;\n"
      "st.param.b32 [r], %v;\nret;\nTHREE:\nst.param.b32 [r], 100;\nret;\n}\n";
  const std::string call =
      "{\n.param .b32 in;\n.param .b32 out;\nst.param.b32 [in], %r0;\ncall.uni (out), twice, (in);\n"
      "ld.param.b32 %r0, [out];\n}\n";
  Ran ran = run(ownWord + call + call + "st.global.u32 [%q0], %r0;", std::vector<uint32_t>(32),
                {.block = {32}}, twice);
  ASSERT_TRUE(ran.result.ok()) << ran.result.fault->str();
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(ran.words[lane], lane == 3 ? 200 : 4 * lane);
}

TEST(EngineModules, VariablesAndConstants) {
  const std::string variables = ".visible .const .align 4 .b32 table[3] = {5, 6, 7};\n"
                                ".visible .global .align 8 .u64 where = generic(values)+4;\n"
                                ".visible .global .align 4 .b32 values[2] = {8, 9};\n";
  Ran ran = run("ld.const.u32 %r0, [table+8];\nst.global.u32 [%a], %r0;\nld.global.u64 %q0, [where];\n"
                "ld.u32 %r1, [%q0];\nst.global.u32 [%a+4], %r1;",
                {0, 0}, {}, variables);
  ASSERT_TRUE(ran.result.ok()) << ran.result.fault->str();
  EXPECT_EQ(ran.words[0], 7u);
  EXPECT_EQ(ran.words[1], 9u);
}

TEST(EngineModules, ParametersAreReadAtComputedPlaces) {
  // The name is an address in the space of parameters, of which cvta makes a generic one.
  Ran ran = run("mov.u32 %r0, 0;\nmul.wide.u32 %q0, %r0, 8;\nmov.b64 %q1, p;\nadd.s64 %q0, %q1, %q0;\n"
                "ld.param.u64 %q0, [%q0];\nst.global.u32 [%q0], 3;\ncvta.param.u64 %q1, %q1;\n"
                "ld.u64 %q1, [%q1];\nst.global.u32 [%q1+4], 4;",
                {0, 0}, {});
  ASSERT_TRUE(ran.result.ok()) << ran.result.fault->str();
  EXPECT_EQ(ran.words, (std::vector<uint32_t>{3, 4}));
}

TEST(EngineModules, OrdersVisitEveryBlockOnce) {
  for (const LaunchOptions &options : everyMode({3, 5, 2}, {8, 4, 2})) {
    Ran ran = run("mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ctaid.y;\nmov.u32 %r2, %ctaid.z;\nmad.lo.u32 %r1, "
                  "%r2, 5, %r1;\n"
                  "mad.lo.u32 %r0, %r1, 3, %r0;\nmad.wide.u32 %q0, %r0, 4, %a;\nred.global.add.u32 [%q0], 1;",
                  std::vector<uint32_t>(30), options);
    ASSERT_TRUE(ran.result.ok()) << ran.result.fault->str();
    EXPECT_EQ(ran.words, std::vector<uint32_t>(30, 64));
  }
}

TEST(EngineModules, LaunchesThatAreRefused) {
  std::unique_ptr<Module> module = parsed(kernelText(""));
  Memory memory(1 << 20);
  auto refusal = [&](const char *kernel, LaunchOptions options, Parameters parameters) {
    LaunchResult result = launch(*module, kernel, memory, options, parameters);
    return result.ok() ? std::string() : result.fault->str();
  };
  Parameters good(uint64_t(0));
  EXPECT_EQ(refusal("k", {}, good), "");
  EXPECT_NE(refusal("l", {}, good).find("no kernel of this name"), std::string::npos);
  EXPECT_NE(refusal("k", {.block = {1025}}, good).find("1,024 threads"), std::string::npos);
  EXPECT_NE(refusal("k", {.grid = {1, 65536}}, good).find("grid"), std::string::npos);
  EXPECT_NE(refusal("k", {.dynamicShared = 300000}, good).find("227 KiB"), std::string::npos);
  EXPECT_NE(refusal("k", {}, Parameters(1)).find("4 bytes, and the kernel expects 8"), std::string::npos);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

TEST(EngineReader, UnknownThingsAreNamedWithLineAndOpcode) {
  for (auto [body, part] : std::initializer_list<std::pair<const char *, const char *>>{
           {"wgmma.fence.sync.aligned;",
            "PTX line 16, wgmma.fence.sync.aligned: the opcode 'wgmma' is not known"},
           {"add.rn.weird.f32 %f0, %f1, %f2;", "the modifier '.weird' is not known here"},
           {"add.s8 %r0, %r1, %r2;", "unknown for this type"},
           {"add.s32 %r0, %r1;", "has 2 operands, and needs 3"},
           {"add.s32 %r0, %r1, %q2;", "'%q2' has another width"},
           {"mov.u32 %r0, %clusterid.x;", "'%clusterid.x' is not known"},
           {"bra nowhere;", "the label 'nowhere' is not known"},
           {"L: L: ret;", "the label 'L' is there twice"},
           {"ld.global.u32 %r0, [%r99];", "'%r99' is not known"},
           {"call.uni missing;", "the function 'missing' has no body here"},
           {"cvt.f16.f32 %h0, %f0;", "this combination of types and roundings is not known"},
           {"mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r0}, {%r1}, {%r2}, {%r3};", "not known"},
           {"setp.lo.f32 %p0, %f0, %f1;", "unknown for this type"},
           {"ld.param.u64 %q0, [p+4];\nld.param.u64 %q0, [p+8];", "reads beyond the parameters"},
           {".reg .b128 %w;", "registers of 128 bits are not known"}}) {
    ParseResult result = Module::parse(kernelText(body));
    EXPECT_FALSE(bool(result)) << body;
    EXPECT_NE(result.error.str().find(part), std::string::npos) << body << ": " << result.error.str();
  }
  std::string recursive = ".func f()\n{\ncall.uni f;\nret;\n}\n";
  EXPECT_NE(Module::parse(kernelText("call.uni f;", recursive)).error.str().find("'f' is recursive"),
            std::string::npos);
}

/// Damages a text: a byte, a line, or a part that is cut out or doubled.
std::string damaged(std::string text, std::mt19937 &random) {
  for (uint32_t times = random() % 4 + 1; times--;) {
    size_t at = random() % text.size(), length = std::min<size_t>(random() % 40, text.size() - at);
    switch (random() % 4) {
    case 0:
      text[at] = char(random() % 128);
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(random() % text.size(), text.substr(at, length));
      break;
    default:
      text[at] = "0123456789{}[](),;%.@-"[random() % 22];
      break;
    }
    if (text.empty())
      text = " ";
  }
  return text;
}

TEST(EngineReader, DamagedTextsNeverCrash) {
  std::mt19937 random(1);
  size_t accepted = 0;
  for (const char *file : {"textbook.nvrtc.sm_90.ptx", "softmax.0.ptx", "textbook.clang.sm_90.ptx"}) {
    std::string text = cudasimFile(std::string("fixtures/") + file);
    for (int k = 0; k < 150; ++k) {
      ParseResult result = Module::parse(damaged(text, random));
      accepted += bool(result);
      EXPECT_TRUE(result || !result.error.message.empty());
    }
  }
  EXPECT_GT(accepted, 0u);
  for (const char *text :
       {"", "{", ".version", ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(", "\"",
        ".version 8.0 .target sm_90 .global .b32 a[99999999999];", "/*", ".func f() {{{{{{"})
    EXPECT_FALSE(bool(Module::parse(text))) << text;
}

TEST(EngineReader, DamagedKernelsStayInsideOfTheEngine) {
  std::mt19937 random(2);
  const std::string text = cudasimFile("fixtures/softmax.0.ptx");
  size_t ran = 0, faults = 0;
  for (int k = 0; k < 300; ++k) {
    // Other numbers: other registers, offsets, lanes, masks and labels.
    std::string other = text;
    for (int times = 0; times < 2; ++times) {
      size_t at = other.find_first_of("0123456789", random() % (other.size() / 2) + other.size() / 4);
      other[at] = char('0' + random() % 10);
    }
    ParseResult result = Module::parse(other);
    if (!result || !result.module->kernel("softmax"))
      continue;
    Memory memory(1 << 20);
    uint64_t x = upload(memory, std::vector<float>(300, 1)), y = memory.allocate(1200);
    LaunchOptions options{.block = {256}, .race = true, .budget = 100000};
    LaunchResult launched = launch(*result.module, "softmax", memory, options, Parameters(x, y, 300));
    ran += launched.steps > 0;
    faults += !launched.ok();
  }
  EXPECT_GT(ran, 40u);
  EXPECT_GT(faults, 10u);
}

/// Each opcode is in a table of the page, and the page has no other.
TEST(EngineReader, ThePageListsTheOpcodes) {
  std::ifstream page(std::string(WEFT_DOCS_DIR) + "/cudasim.md");
  std::vector<std::string> listed;
  bool inTable = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## "))
      inTable = line == "## What it knows";
    if (!inTable || !line.starts_with("| "))
      continue;
    // The second column: words in backquotes.
    std::string cell = line.substr(line.find('|', 2) + 1);
    cell = cell.substr(0, cell.find('|'));
    for (size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at)) {
      size_t end = cell.find('`', at + 1);
      listed.push_back(cell.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(listed, knownOpcodes());
}

} // namespace
} // namespace weft::cudasim
