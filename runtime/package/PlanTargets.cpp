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

std::optional<GpuTargetName> parse_gpu_target(std::string_view text) {
  if (parse_cpu_target(text))
    return std::nullopt;
  const size_t plus = text.find('+');
  if (plus == std::string_view::npos)
    return GpuTargetName{{}, text};
  const std::optional<CpuTargetName> host = parse_cpu_target(text.substr(0, plus));
  return host ? std::optional(GpuTargetName{*host, text.substr(plus + 1)}) : std::nullopt;
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

namespace {

/// How well a target fits a processor: the larger the better.
using CpuRank = std::tuple<bool, int64_t, CpuLevel>;

/// None if the processor lacks instructions of the target.
std::optional<CpuRank> rank_of(const CpuTargetName &target, CpuLevel level, int64_t threads) {
  if (target.level && *target.level > level)
    return std::nullopt;
  const bool filled = target.cores <= threads;
  return CpuRank(filled, filled ? target.cores : -target.cores, target.level.value_or(CpuLevel::baseline));
}

} // namespace

Expected<std::string> choose_plan_target(const Package &package, std::string_view function, CpuLevel level,
                                         int64_t threads, const SuitsTarget &suits) {
  std::optional<std::pair<CpuRank, std::string>> best;
  std::optional<std::pair<std::pair<int, CpuRank>, std::string>> best_of_gpus;
  std::string others;
  bool any_for_gpus = false;
  for (const std::string &target : plan_targets(package, function)) {
    const std::optional<CpuTargetName> cpu = parse_cpu_target(target);
    const std::optional<GpuTargetName> gpu = parse_gpu_target(target);
    const std::optional<CpuRank> rank = cpu   ? rank_of(*cpu, level, threads)
                                        : gpu ? rank_of(gpu->host, level, threads)
                                              : std::nullopt;
    if (!cpu || !rank) {
      others += (others.empty() ? "" : ", ") + target;
      any_for_gpus |= !cpu;
      const int suited = gpu && rank && suits ? suits(gpu->gpu) : 0;
      if (suited && (!best_of_gpus || std::pair(suited, *rank) > best_of_gpus->first))
        best_of_gpus = {{suited, *rank}, target};
    } else if (!best || *rank > best->first) {
      best = {*rank, target};
    }
  }
  if (best_of_gpus)
    return best_of_gpus->second;
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
