//===- Profile.cpp -------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/profile.hpp"

#include "frontend/graph/Message.h"
#include "frontend/graph/Trace.h"
#include "runtime/queue/Profiler.h"
#include "weft/tensor.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace weft {

Profile profile(const std::function<void()> &work) {
  frontend::refuseInTrace("a profile", {});
  synchronize();
  runtime::Profiler &profiler = runtime::Profiler::get();
  profiler.clear();
  // Stops the profiler even if the work throws.
  struct Running {
    runtime::Profiler &profiler;
    ~Running() { profiler.stop(); }
  };
  {
    const Running running{profiler};
    profiler.start();
    work();
    synchronize();
  }
  Profile result;
  result.table_ = profiler.table();
  result.trace_ = profiler.chrome_trace();
  return result;
}

void Profile::save_chrome_trace(const std::string &path, Loc loc) const {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  const bool written = file && std::fwrite(trace_.data(), 1, trace_.size(), file) == trace_.size();
  const bool closed = file && std::fclose(file) == 0;
  if (!written || !closed)
    frontend::fail("cannot write the trace '" + path + "': " + std::strerror(errno), loc);
}

} // namespace weft
