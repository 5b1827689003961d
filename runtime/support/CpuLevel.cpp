//===- CpuLevel.cpp - Levels of the processor -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/support/CpuLevel.h"

namespace weft::runtime {

std::string_view name(CpuLevel level) {
  switch (level) {
  case CpuLevel::v4:
    return "x86-64-v4";
  case CpuLevel::v3:
    return "x86-64-v3";
  case CpuLevel::baseline:
    break;
  }
  return "x86-64";
}

CpuLevel cpu_level() {
  static const CpuLevel level = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4"))
      return CpuLevel::v4;
    return __builtin_cpu_supports("x86-64-v3") ? CpuLevel::v3 : CpuLevel::baseline;
  }();
  return level;
}

} // namespace weft::runtime
