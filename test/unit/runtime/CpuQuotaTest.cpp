//===- CpuQuotaTest.cpp - Processors that control groups allow -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/threads/CpuQuota.h"
#include "test/unit/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using weft::runtime::quota_processors;

namespace {

/// A folder with control files like those of the kernel.
class CpuQuota : public testing::Test {
protected:
  void write(const std::string &path, const std::string &text) const {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  const weft::test::TemporaryFolder folder;
  const std::string root = folder.path();
};

constexpr const char *second =
    "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST_F(CpuQuota, WithoutControlGroupsThereIsNone) {
  EXPECT_EQ(quota_processors(root), std::nullopt);
  write("/proc/self/cgroup", "0::/\n");
  write("/proc/self/mountinfo", second);
  EXPECT_EQ(quota_processors(root), std::nullopt);
  write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(quota_processors(root), std::nullopt);
}

TEST_F(CpuQuota, TheTightestOfAllEnclosingGroupsCounts) {
  write("/proc/self/cgroup", "0::/user.slice/job/step\n");
  write("/proc/self/mountinfo", second);
  write("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/user.slice/job/step/cpu.max", "800000 100000\n");
  EXPECT_EQ(quota_processors(root), 8);
  write("/sys/fs/cgroup/user.slice/job/cpu.max", "350000 100000\n"); // rounded down
  EXPECT_EQ(quota_processors(root), 3);
  write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota_processors(root), 1);
  write("/sys/fs/cgroup/cpu.max", "10000 100000\n"); // a tenth of one is one thread
  EXPECT_EQ(quota_processors(root), 1);
}

TEST_F(CpuQuota, FirstVersion) {
  write("/proc/self/cgroup", "5:memory:/docker/a\n3:cpu,cpuacct:/docker/a\n1:name=systemd:/docker/a\n0::/\n");
  write("/proc/self/mountinfo",
        "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "34 31 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  write("/sys/fs/cgroup/memory/docker/a/cpu.cfs_quota_us", "100000\n"); // is no file of this hierarchy
  write("/sys/fs/cgroup/memory/docker/a/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota_processors(root), std::nullopt);
  write("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "100000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(quota_processors(root), 2);
}

TEST_F(CpuQuota, AContainerSeesAPartOfTheHierarchy) {
  write("/proc/self/cgroup", "0::/machine/abc/inner\n");
  write("/proc/self/mountinfo", "29 23 0:26 /machine/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  write("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota_processors(root), 4);
  write("/sys/fs/cgroup/inner/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota_processors(root), 2);
}

TEST_F(CpuQuota, WhatCannotBeReadLimitsNothing) {
  write("/proc/self/cgroup", "\n:\n::\n0::\n0::nowhere\nx:cpu:/\n");
  write("/proc/self/mountinfo",
        std::string("short\n29 23 0:26 / /sys/fs/cgroup rw -\n- - - - - -\n") + second);
  for (const char *text :
       {"", "max", "100000", "a b", "0 0", "100000 0", "-5 100000", "99999999999999999999 1"}) {
    write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(quota_processors(root), std::nullopt) << text;
  }
}

} // namespace
