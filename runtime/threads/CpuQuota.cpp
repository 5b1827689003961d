//===- CpuQuota.cpp - Processors that control groups allow ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/threads/CpuQuota.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <vector>

namespace weft::runtime {
namespace {

/// A mounted hierarchy of control groups.
struct Mount {
  std::string at;    ///< the folder
  std::string shown; ///< the group that is mounted there: "/", except in containers that see only a part
  bool isSecond;     ///< version 2; otherwise the hierarchy of version 1 with the cpu controller
};

std::vector<std::string> split(const std::string &line, char at) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; std::getline(stream, word, at);)
    words.push_back(word);
  return words;
}

bool names_cpu(const std::string &controllers) {
  const std::vector<std::string> words = split(controllers, ',');
  return std::find(words.begin(), words.end(), "cpu") != words.end();
}

/// Parses the lines of mountinfo: "36 35 0:30 ROOT AT OPTIONS [OPTIONAL...] - TYPE SOURCE SUPER_OPTIONS".
/// Spaces in paths are written as \040 and not replaced, so a group in such a path is not found and sets no
/// limit.
std::vector<Mount> mounts_of(const std::string &root) {
  std::vector<Mount> mounts;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || words.end() - dash < 4)
      continue;
    if (dash[1] == "cgroup2" || (dash[1] == "cgroup" && names_cpu(dash[3])))
      mounts.push_back({words[4], words[3], dash[1] == "cgroup2"});
  }
  return mounts;
}

/// The first two numbers of a file. "max" is not a number.
std::vector<int64_t> numbers_in(const std::string &path) {
  std::ifstream file(path);
  std::vector<int64_t> numbers;
  for (int64_t number; numbers.size() < 2 && file >> number;)
    numbers.push_back(number);
  return numbers;
}

/// The number of processors that one group allows; INT_MAX without a quota.
int processors_of(const std::string &folder, bool isSecond) {
  std::vector<int64_t> quota = numbers_in(folder + (isSecond ? "/cpu.max" : "/cpu.cfs_quota_us"));
  if (!isSecond)
    for (int64_t period : numbers_in(folder + "/cpu.cfs_period_us"))
      quota.push_back(period);
  if (quota.size() < 2 || quota[0] <= 0 || quota[1] <= 0)
    return INT_MAX;
  return static_cast<int>(std::clamp<int64_t>(quota[0] / quota[1], 1, INT_MAX));
}

} // namespace

std::optional<int> quota_processors(const std::string &root) {
  int least = INT_MAX;
  const std::vector<Mount> mounts = mounts_of(root);
  std::ifstream file(root + "/proc/self/cgroup");
  // Lines of "NUMBER:CONTROLLERS:GROUP"; version 2 has no controllers.
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !names_cpu(controllers))
      continue;
    for (const Mount &mount : mounts) {
      if (mount.isSecond != controllers.empty())
        continue;
      std::string group = line.substr(second + 1);
      if (mount.shown != "/" && group.starts_with(mount.shown))
        group.erase(0, mount.shown.size());
      while (!group.empty() && group.back() == '/')
        group.pop_back();
      const std::string top = root + mount.at;
      least = std::min(least, processors_of(top, mount.isSecond));
      for (; !group.empty(); group.erase(group.rfind('/') == std::string::npos ? 0 : group.rfind('/')))
        least = std::min(least, processors_of(top + group, mount.isSecond));
    }
  }
  return least == INT_MAX ? std::nullopt : std::optional(least);
}

} // namespace weft::runtime
