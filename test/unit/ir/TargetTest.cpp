//===- TargetTest.cpp - Descriptions of machines, and which one counts ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Support.h"

#include "ir/Target.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace weft;

namespace {

const ir::TargetDescription &named(const char *name) {
  static std::map<std::string, ir::TargetDescription> kept;
  return kept.try_emplace(name, ir::findDescription(name).value()).first->second;
}

// Descriptions are data; these rules hold for each of them.
TEST(Target, DescriptionsAreThoseOfMachines) {
  for (const ir::TargetDescription &target : ir::descriptions()) {
    SCOPED_TRACE(target.fullName());
    EXPECT_TRUE(target.kind == "cpu" || target.kind == "cuda");
    EXPECT_EQ(ir::findDescription(target.fullName())->name, target.name);
    EXPECT_GE(target.mostBytesPerUs, target.dramBytesPerUs);
    EXPECT_GE(target.coreBytesPerUs * target.cores, target.dramBytesPerUs);
    EXPECT_TRUE(target.vectorBytes == 16 || target.vectorBytes == 32 || target.vectorBytes == 64);
    if (target.isCpu()) {
      EXPECT_EQ(target.warpThreads, 1);
      EXPECT_EQ(target.coreRegisters, 0);
      continue;
    }
    EXPECT_EQ(target.warpThreads, 32);
    EXPECT_LE(target.blockThreads, target.coreWarps * target.warpThreads);
    EXPECT_LE(target.blockSharedBytes + target.reservedSharedBytes, target.coreSharedBytes);
    EXPECT_LE(target.scratchBytes, target.coreSharedBytes);
    EXPECT_EQ(target.coreRegisters, 64 << 10);
  }
}

TEST(Target, ANameMaySayHowManyCores) {
  const ir::TargetDescription &plain = named("cpu"), &two = named("cpu:2"), &many = named("x86-64-v4:64");
  EXPECT_EQ(plain.fullName(), "cpu");
  EXPECT_EQ(two.fullName(), "cpu:2");
  EXPECT_EQ(two.cores, plain.cores);
  EXPECT_EQ(two.dramBytesPerUs, plain.dramBytesPerUs);
  EXPECT_EQ(many.fullName(), "x86-64-v4:64");
  EXPECT_EQ(many.cores, 64);
  EXPECT_EQ(many.dramBytesPerUs, many.mostBytesPerUs);
  EXPECT_EQ(named("cpu:1").dramBytesPerUs, plain.coreBytesPerUs);
  int64_t last = 0;
  for (int64_t cores = 1; cores <= ir::mostCores; cores *= 2) {
    const ir::TargetDescription &target = named(("cpu:" + std::to_string(cores)).c_str());
    EXPECT_GE(target.dramBytesPerUs, last);
    EXPECT_LE(target.dramBytesPerUs, target.coreBytesPerUs * cores);
    last = target.dramBytesPerUs;
  }
  for (const char *wrong : {"", "cpu:", "cpu:0", "cpu:-1", "cpu:01", "cpu: 4", "cpu:4 ", "cpu:1025", "cpu:x",
                            "cpu:4:4", "sm_90:4", "cuda:sm_90:4", "cuda:cpu", "cuda:", "cuda:0", "CPU"})
    EXPECT_FALSE(ir::findDescription(wrong)) << wrong;
}

TEST(Target, IsAHostAndPerhapsADevice) {
  std::string problem;
  MLIRContext context;
  context.loadDialect<ir::WeftDialect>();
  auto cpu = ir::DeviceAttr::get(&context, ir::DeviceKind::cpu, 0);
  auto cuda = ir::DeviceAttr::get(&context, ir::DeviceKind::cuda, 3);
  const auto host = ir::Target::parse("cpu:16", problem);
  ASSERT_TRUE(host) << problem;
  EXPECT_TRUE(host->isHostOnly());
  EXPECT_EQ(host->find(cpu)->cores, 16);
  EXPECT_EQ(host->find(cuda), nullptr);
  for (const char *text : {"sm_90", "cuda:sm_90", "cpu+sm_90", "cuda:sm_90+cpu"}) {
    const auto both = ir::Target::parse(text, problem);
    ASSERT_TRUE(both) << problem;
    EXPECT_EQ(both->name(), "cuda:sm_90");
    EXPECT_EQ(both->find(cpu)->fullName(), "cpu");
    EXPECT_EQ(both->find(cuda)->name, "sm_90");
  }
  const auto large = ir::Target::parse("cuda:sm_75+x86-64-v3:8", problem);
  ASSERT_TRUE(large) << problem;
  EXPECT_EQ(large->name(), "x86-64-v3:8+cuda:sm_75");
  for (const char *wrong : {"", "+", "cpu+", "+sm_90", "cpu+cpu", "sm_80+sm_90", "cpu,sm_90", "toaster"}) {
    problem.clear();
    EXPECT_FALSE(ir::Target::parse(wrong, problem)) << wrong;
    EXPECT_FALSE(problem.empty()) << wrong;
  }
}

// By the rules of the CUDA occupancy calculator.
TEST(Target, ResidentBlocks) {
  struct Case {
    const char *target;
    int64_t threads, registers, shared, blocks;
  };
  for (const Case &c :
       {Case{"sm_80", 256, 32, 0, 8}, Case{"sm_80", 256, 255, 0, 1}, Case{"sm_80", 1024, 64, 0, 1},
        Case{"sm_80", 1024, 32, 0, 2}, Case{"sm_80", 32, 16, 0, 32}, Case{"sm_80", 128, 40, 0, 12},
        Case{"sm_90", 128, 32, 100 << 10, 2}, Case{"sm_90", 128, 32, 227 << 10, 1},
        Case{"sm_90", 128, 32, 228 << 10, 0}, Case{"sm_86", 768, 32, 0, 2}, Case{"sm_86", 64, 32, 0, 16},
        Case{"sm_89", 64, 32, 0, 24}, Case{"sm_75", 1024, 32, 0, 1}, Case{"sm_75", 64, 32, 4 << 10, 16},
        Case{"sm_75", 64, 32, 64 << 10, 1}, Case{"sm_100", 1, 16, 0, 32},
        Case{"sm_120", 256, 64, 48 << 10, 2}, Case{"sm_80", 1025, 32, 0, 0}, Case{"sm_80", 256, 256, 0, 0}})
    EXPECT_EQ(ir::residentBlocks(named(c.target), c.threads, c.registers, c.shared), c.blocks)
        << c.target << ", " << c.threads << " threads of " << c.registers << " registers, " << c.shared
        << " bytes";
}

} // namespace
