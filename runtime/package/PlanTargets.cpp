//===- PlanTargets.cpp - The plan of a package for this machine -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/package/PlanTargets.h"

#include "runtime/package/Package.h"

#include <charconv>
#include <tuple>

namespace weft::runtime {

std::optional<CpuTargetName> parse_cpu_target(std::string_view text) {
  CpuTargetName made;
  const size_t colon = text.find(':');
  const std::string_view base = text.substr(0, colon);
  if (colon != std::string_view::npos) {
    const char *const begin = text.data() + colon + 1, *const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(begin, end, made.cores);
    if (error != std::errc() || last != end || made.cores < 1)
      return std::nullopt;
  }
  for (CpuLevel level : {CpuLevel::v3, CpuLevel::v4})
    if (base == name(level))
      made.level = level;
  return made.level || base == "cpu" ? std::optional(made) : std::nullopt;
}

std::vector<std::string> plan_targets(const Package &package, std::string_view function) {
  const std::string prefix = "plan." + std::string(function) + ".";
  std::vector<std::string> targets;
  for (const std::string &section : package.names())
    // A function's name may contain dots, but a target's name does not.
    if (section.starts_with(prefix) && section.find('.', prefix.size()) == std::string::npos)
      targets.push_back(section.substr(prefix.size()));
  return targets;
}

Expected<std::string> choose_plan_target(const Package &package, std::string_view function, CpuLevel level,
                                         int64_t threads, const SuitsTarget &suits) {
  using Rank = std::tuple<bool, int64_t, CpuLevel>;
  std::optional<std::pair<Rank, std::string>> best;
  std::pair<int, std::string> best_of_gpus;
  std::string others;
  bool any_for_gpus = false;
  for (const std::string &target : plan_targets(package, function)) {
    const std::optional<CpuTargetName> cpu = parse_cpu_target(target);
    if (!cpu || (cpu->level && *cpu->level > level)) {
      others += (others.empty() ? "" : ", ") + target;
      any_for_gpus |= !cpu;
      if (const int rank = !cpu && suits ? suits(target) : 0; rank > best_of_gpus.first)
        best_of_gpus = {rank, target};
      continue;
    }
    const bool filled = cpu->cores <= threads;
    const Rank rank{filled, filled ? cpu->cores : -cpu->cores, cpu->level.value_or(CpuLevel::baseline)};
    if (!best || rank > best->first)
      best = {rank, target};
  }
  if (best_of_gpus.first)
    return best_of_gpus.second;
  if (best)
    return best->second;
  if (others.empty())
    return std::string("cpu");
  return Status::error("package '" + package.source() + "' has plans of '" + std::string(function) +
                           "' for " + others + ", this processor is " + std::string(name(level)) +
                           (any_for_gpus ? ", and no device is named that runs kernels of a GPU" : "") +
                           ": compile the program for it",
                       "WEFT-L010");
}

} // namespace weft::runtime
