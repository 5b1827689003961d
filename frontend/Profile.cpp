//===- Profile.cpp -------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/profile.hpp"

#include "runtime/Profiler.h"
#include "weft/tensor.hpp"

namespace weft {

Profile profile(const std::function<void()> &work) {
  synchronize();
  runtime::Profiler &profiler = runtime::Profiler::get();
  profiler.clear();
  profiler.start();
  work();
  synchronize();
  profiler.stop();
  Profile result;
  result.table_ = profiler.table();
  result.trace_ = profiler.chrome_trace();
  return result;
}

} // namespace weft
