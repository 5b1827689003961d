//===- Processor.cpp - Whether the engine runs here ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file is compiled for any x86-64, unlike the rest of the engine.
//
//===----------------------------------------------------------------------===//
#include "Engine.h"

namespace weft::cudasim {

bool processorSuffices() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt");
}

} // namespace weft::cudasim
