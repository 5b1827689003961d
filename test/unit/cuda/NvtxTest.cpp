//===- NvtxTest.cpp - Ranges in the timelines of tools --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/TemporaryFolder.h"
#include "test/unit/cuda/ChildProcess.h"
#include "test/unit/frontend/Helpers.h"

#include <sstream>

using namespace weft;
using weft::test::TemporaryFolder;
using weft::testing::Child;
using weft::testing::runChild;

/// Ranges of the program around a computation on a device and on the host. Writes what the functions return.
int weft::testing::nameRanges() {
  // It looks at indices, so that a call has a record of failures.
  auto step = compile([](Tensor x, Tensor all) { return exp(x.index_select(0, all)) * 2; }, {.name = "step"});
  Tensor there = ones({4}, {.device = "cuda:0"}), host = ones({4});
  Tensor all = arange(4).to(i64), allThere = all.to("cuda:0");
  for (int i = 0; i < 3; ++i) // the third is a graph
    step(there, allThere).to_vector<float>();
  step(host, all).to_vector<float>();
  const int before = nvtx::range_pop(), outer = nvtx::range_push("outer");
  {
    const nvtx::Range inner("inner");
    nvtx::mark("here");
    step(there, allThere).to_vector<float>();
    step(host, all).to_vector<float>();
  }
  std::printf("tool %d, before %d, outer %d, popped %d\n", nvtx::is_enabled(), before, outer,
              nvtx::range_pop());
  return 0;
}

TEST(Nvtx, RangesAndLaunchesAreTold) {
  TemporaryFolder folder;
  for (const char *graphs : {"0", "1"}) {
    const std::string log = folder / (std::string("log") + graphs);
    const Child child = runChild("--nvtx", "NVTX_INJECTION64_PATH=" WEFT_NVTX_TOOL " WEFT_LAUNCH_BLOCKING=0 "
                                           "WEFT_CUDA_GRAPHS=" +
                                               std::string(graphs) + " NVTX_TOOL_LOG=" + log);
    EXPECT_TRUE(mentions(child.output, "tool 1, before -1, outer 0, popped 0")) << child.output;
    std::ifstream file(log);
    std::stringstream text;
    text << file.rdbuf();
    const size_t outer = text.str().find("push outer\n push inner\n  mark here\n  push 'step' on cuda:0\n");
    ASSERT_NE(outer, std::string::npos) << text.str();
    const std::string told = text.str().substr(outer);
    // Launches with their lines: those of the device one by one, or none within its graph; those of the host.
    EXPECT_EQ(mentions(told, "   push 'step.loop.0' ("), *graphs == '0') << told;
    EXPECT_EQ(mentions(told, "   push record of failures\n   pop\n"), *graphs == '0') << told;
    EXPECT_TRUE(mentions(told, "\n  push 'step.loop.0' (")) << told;
    EXPECT_TRUE(mentions(told, "NvtxTest.cpp:")) << told;
    EXPECT_TRUE(told.ends_with("\n pop\npop\n")) << told;
  }
}

TEST(Nvtx, NothingHappensWithoutATool) {
  EXPECT_TRUE(mentions(runChild("--nvtx", "").output, "tool 0, before -2, outer -2, popped -2"));
  const Child wrong = runChild("--nvtx", "NVTX_INJECTION64_PATH=/no/such/tool.so");
  EXPECT_TRUE(mentions(wrong.output,
                       "weft: NVTX_INJECTION64_PATH is '/no/such/tool.so', which is no library of "
                       "a profiling tool: /no/such/tool.so: cannot open"))
      << wrong.output;
  EXPECT_TRUE(mentions(wrong.output, "tool 0"));
  // A tool that cannot start.
  const Child refused = runChild("--nvtx", "NVTX_INJECTION64_PATH=" WEFT_NVTX_TOOL);
  EXPECT_TRUE(mentions(refused.output, "InitializeInjectionNvtx2 refused")) << refused.output;
  EXPECT_TRUE(mentions(refused.output, "tool 0"));
}
