//===- ProfiledCall.h - Calls in a profile ----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_PROFILEDCALL_H
#define WEFT_RUNTIME_EXECUTION_PROFILEDCALL_H

#include "runtime/execution/Executable.h"
#include "runtime/queue/Profiler.h"

#include <new>
#include <string>

namespace weft::runtime {

/// Records the time of a call's launches, or of issuing them, where the profiler is on.
struct ProfiledCall {
  const std::string &function;
  const uint64_t number;
  const CallOrigin *const origin;
  const int64_t begin_ns = Profiler::enabled() ? Profiler::now() : 0;

  ~ProfiledCall() {
    if (!begin_ns)
      return;
    try {
      std::string detail = number ? "call " + std::to_string(number) : "";
      if (origin && origin->file)
        detail += std::string(" at ") + origin->file + ":" + std::to_string(origin->line);
      Profiler::get().record(Profiler::Span::call, function, detail, begin_ns, Profiler::now());
    } catch (const std::bad_alloc &) { // NOLINT(bugprone-empty-catch): the call counts, its record does not
    }
  }
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_PROFILEDCALL_H
