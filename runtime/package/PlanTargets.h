//===- PlanTargets.h - Which of a package's plans runs here ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A package may have several plans of a function, each for a target and with kernels of its own: section
// `plan.FUNCTION.TARGET`, and so `seal`, `constants`, and the kernels that the plan names. All of them mean
// the same; they differ in what is fused and how it is cut.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PACKAGE_PLANTARGETS_H
#define WEFT_RUNTIME_PACKAGE_PLANTARGETS_H

#include "runtime/support/CpuLevel.h"
#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

class Package;

/// A target that is a processor, as its name says it: "cpu", "x86-64-v4", "cpu:16", "x86-64-v4:16".
struct CpuTargetName {
  std::optional<CpuLevel> level; ///< none: kernels are of any
  int64_t cores = 2;             ///< what the description has whose name says none (ir/devices/cpu.txt)
};
/// Nothing for a name that is no processor's.
WEFT_RUNTIME_API std::optional<CpuTargetName> parse_cpu_target(std::string_view name);

/// The targets of a function's plans, in the order of the package; empty where it has none.
WEFT_RUNTIME_API std::vector<std::string> plan_targets(const Package &package, std::string_view function);

/// The target whose plan suits a processor of this level with this many threads best. Plans that it cannot
/// run are left out. Of the others that with the most cores of those that it can fill, or with the fewest
/// where it can fill none; then the one of the highest level, one that names its level before one that does
/// not. So it follows from names and processor alone. WEFT-L010 where no plan runs on the processor, with
/// what there is; "cpu" where there are none, whose section is then missing.
WEFT_RUNTIME_API Expected<std::string> choose_plan_target(const Package &package, std::string_view function,
                                                          CpuLevel level, int64_t threads);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PACKAGE_PLANTARGETS_H
