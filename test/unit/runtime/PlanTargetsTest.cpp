//===- PlanTargetsTest.cpp - Which of a package's plans runs here ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/package/PlanTargets.h"

#include <algorithm>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

std::shared_ptr<const Package> package_of(const std::vector<std::string> &sections) {
  PackageWriter writer;
  for (const std::string &section : sections)
    writer.add(section, std::vector<std::byte>(8));
  return Package::from_memory(writer.finish().value_or_throw()).value_or_throw();
}

std::string chosen(const std::vector<std::string> &targets, CpuLevel level, int64_t threads) {
  std::vector<std::string> sections;
  for (const std::string &target : targets)
    sections.push_back("plan.f." + target);
  return choose_plan_target(*package_of(sections), "f", level, threads).value_or_throw();
}

TEST(PlanTargets, NamesOfProcessors) {
  EXPECT_EQ(parse_cpu_target("cpu")->cores, 2);
  EXPECT_FALSE(parse_cpu_target("cpu")->level);
  EXPECT_EQ(parse_cpu_target("cpu:16")->cores, 16);
  EXPECT_EQ(parse_cpu_target("x86-64-v3")->level, CpuLevel::v3);
  EXPECT_EQ(parse_cpu_target("x86-64-v4:64")->level, CpuLevel::v4);
  EXPECT_EQ(parse_cpu_target("x86-64-v4:64")->cores, 64);
  for (const char *wrong : {"", "cuda:sm_90", "cpu:", "cpu:0", "cpu:-3", "cpu:16x",
                            "cpu:99999999999999999999", "x86-64", "x86-64-v5", "cpu:16+cuda:sm_90"})
    EXPECT_FALSE(parse_cpu_target(wrong)) << wrong;
}

TEST(PlanTargets, ThoseOfOneFunction) {
  const auto package = package_of({"plan.f.cpu", "plan.f.cuda:sm_90", "plan.f.x86-64-v4:16", "plan.f.g.cpu",
                                   "plan.ff.cpu", "seal.f.cpu", "constants.f.cpu"});
  std::vector<std::string> targets = plan_targets(*package, "f");
  std::sort(targets.begin(), targets.end());
  EXPECT_EQ(targets, (std::vector<std::string>{"cpu", "cuda:sm_90", "x86-64-v4:16"}));
  EXPECT_EQ(plan_targets(*package, "f.g"), std::vector<std::string>{"cpu"});
  EXPECT_TRUE(plan_targets(*package, "g").empty());
}

TEST(PlanTargets, TheOneThatSuitsTheProcessor) {
  using enum CpuLevel;
  // The most cores that there are threads for; where there are for none, the fewest.
  const std::vector<std::string> cores = {"cpu:64", "cpu", "cpu:16"};
  EXPECT_EQ(chosen(cores, v3, 1), "cpu");
  EXPECT_EQ(chosen(cores, v3, 2), "cpu");
  EXPECT_EQ(chosen(cores, v3, 15), "cpu");
  EXPECT_EQ(chosen(cores, v3, 16), "cpu:16");
  EXPECT_EQ(chosen(cores, v4, 63), "cpu:16");
  EXPECT_EQ(chosen(cores, v4, 200), "cpu:64");
  EXPECT_EQ(chosen({"cpu:64", "cpu:16"}, v4, 2), "cpu:16");
  // Then the level, among those that the processor supports.
  const std::vector<std::string> levels = {"cpu", "x86-64-v3", "x86-64-v4"};
  EXPECT_EQ(chosen(levels, v4, 2), "x86-64-v4");
  EXPECT_EQ(chosen(levels, v3, 2), "x86-64-v3");
  EXPECT_EQ(chosen(levels, baseline, 2), "cpu");
  EXPECT_EQ(chosen({"x86-64-v3:16", "x86-64-v4"}, v4, 16), "x86-64-v3:16");
  EXPECT_EQ(chosen({"x86-64-v3", "cuda:sm_90", "nonsense"}, v4, 16), "x86-64-v3");
  // The order of the sections does not matter.
  EXPECT_EQ(chosen({"x86-64-v4", "x86-64-v3", "cpu"}, v4, 2), "x86-64-v4");
}

TEST(PlanTargets, NoneThatRunsHere) {
  const auto refused = [] {
    const auto package = package_of({"plan.f.x86-64-v4", "plan.f.x86-64-v4:16"});
    return choose_plan_target(*package, "f", CpuLevel::v3, 16).status();
  };
  EXPECT_EQ(refused().code(), "WEFT-L010");
  EXPECT_FAILS(refused(), "has plans of 'f' for x86-64-v4, x86-64-v4:16, this processor is x86-64-v3");
  // A missing section is reported when it is read.
  EXPECT_EQ(choose_plan_target(*package_of({"plan.g.cpu"}), "f", CpuLevel::v3, 16).value_or_throw(), "cpu");
}

TEST(PlanTargets, DevicesHaveTheChoice) {
  const auto package = package_of({"plan.f.cpu", "plan.f.cuda:sm_80", "plan.f.cpu:16+cuda:sm_90"});
  const auto chosen_by = [&](const SuitsTarget &suits) {
    return choose_plan_target(*package, "f", CpuLevel::v3, 2, suits).value_or_throw();
  };
  EXPECT_EQ(chosen_by([](std::string_view) { return 0; }), "cpu");
  EXPECT_EQ(chosen_by([](std::string_view target) { return target == "cuda:sm_80"; }), "cuda:sm_80");
  EXPECT_EQ(chosen_by([](std::string_view target) { return target.ends_with("90") ? 2 : 1; }),
            "cpu:16+cuda:sm_90");
  // Of two for one GPU, the host's cores decide, and its level must be that of the processor.
  const auto hosts = package_of({"plan.f.cuda:sm_90", "plan.f.cpu:16+cuda:sm_90",
                                 "plan.f.x86-64-v4+cuda:sm_90", "plan.f.nonsense+cuda:sm_90"});
  const auto of_threads = [&](int64_t threads) {
    return choose_plan_target(*hosts, "f", CpuLevel::v3, threads,
                              [](std::string_view target) { return target == "cuda:sm_90"; })
        .value_or_throw();
  };
  EXPECT_EQ(of_threads(2), "cuda:sm_90");
  EXPECT_EQ(of_threads(16), "cpu:16+cuda:sm_90");
  const auto alone = package_of({"plan.f.cuda:sm_90"});
  EXPECT_FAILS(
      choose_plan_target(*alone, "f", CpuLevel::v3, 16).status(),
      "has plans of 'f' for cuda:sm_90, this processor is x86-64-v3, and no device is named that runs "
      "kernels of a GPU: compile the program for it");
}

} // namespace
