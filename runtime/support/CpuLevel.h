//===- CpuLevel.h - Levels of the processor ---------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_SUPPORT_CPULEVEL_H
#define WEFT_RUNTIME_SUPPORT_CPULEVEL_H

#include "weft/export.hpp"

#include <cstdint>
#include <string_view>

namespace weft::runtime {

/// Levels of x86-64, as compilers name them.
enum class CpuLevel : uint32_t { baseline = 1, v3 = 3, v4 = 4 };

/// "x86-64-v4"
WEFT_RUNTIME_API std::string_view name(CpuLevel level);
/// The highest level that this processor has.
WEFT_RUNTIME_API CpuLevel cpu_level();

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SUPPORT_CPULEVEL_H
