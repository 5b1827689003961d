//===- PlanTargets.h - The plan of a package for this machine ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A package may have several plans of a function, one for each target: the sections `plan.FUNCTION.TARGET`,
// `seal` and `constants` of that target, and the kernels that the plan names. All plans compute the same;
// they differ in fusion and schedules.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PACKAGE_PLANTARGETS_H
#define WEFT_RUNTIME_PACKAGE_PLANTARGETS_H

#include "runtime/support/CpuLevel.h"
#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

class Package;

/// The parsed name of a CPU target: "cpu", "x86-64-v4", "cpu:16", "x86-64-v4:16".
struct CpuTargetName {
  std::optional<CpuLevel> level; ///< none: the package may have kernels of several levels
  int64_t cores = 2;             ///< for a name without a number, that of ir/devices/cpu.txt
};
/// None if the name is not that of a CPU target.
WEFT_RUNTIME_API std::optional<CpuTargetName> parse_cpu_target(std::string_view name);

/// The parsed name of a target with a GPU: "cuda:sm_90", "cpu:16+cuda:sm_90".
struct GpuTargetName {
  CpuTargetName host;
  std::string_view gpu; ///< of the name: "cuda:sm_90"
};
/// None if the name is that of a CPU target, or if what is before the GPU is none.
WEFT_RUNTIME_API std::optional<GpuTargetName> parse_gpu_target(std::string_view name);

/// The targets of a function's plans, in the order of the package; empty if it has none.
WEFT_RUNTIME_API std::vector<std::string> plan_targets(const Package &package, std::string_view function);

/// How well the devices of a call run the kernels of a GPU, as "cuda:sm_90"; 0: not at all.
using SuitsTarget = std::function<int(std::string_view gpu)>;

/// If devices run the kernels of targets with a GPU, the one of these targets that suits them best, and of
/// several for one GPU the one whose host suits best. Otherwise the target whose plan is best for a processor
/// of this level with this many threads, among the plans that it can run. The first criterion is the number
/// of cores: the largest that `threads` covers, or the smallest if it covers none. The second is the highest
/// level, where a target that names its level is preferred. So the choice depends only on the names, the
/// devices and the processor. WEFT-L010, with the existing targets, if no plan runs here; "cpu" if the
/// function has no plans, so that its missing section is reported.
WEFT_RUNTIME_API Expected<std::string> choose_plan_target(const Package &package, std::string_view function,
                                                          CpuLevel level, int64_t threads,
                                                          const SuitsTarget &suits = nullptr);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PACKAGE_PLANTARGETS_H
