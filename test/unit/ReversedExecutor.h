//===- ReversedExecutor.h - Tasks in the order that nobody expects -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_REVERSEDEXECUTOR_H
#define WEFT_TEST_UNIT_REVERSEDEXECUTOR_H

#include "runtime/threads/Executor.h"

#include <algorithm>

namespace weft::test {

/// While it exists, the process's executor runs ranges of tasks one after the other, the last first.
class ReversedExecutor final : public runtime::Executor {
public:
  ReversedExecutor() { runtime::set_executor(this); }
  ~ReversedExecutor() override { runtime::set_executor(nullptr); }
  void parallel_for(int64_t tasks, int64_t grain, Body body) override {
    for (int64_t begin = (tasks - 1) / grain * grain; begin >= 0 && tasks > 0; begin -= grain)
      body(begin, std::min(begin + grain, tasks), 0);
  }
  int width() const override { return 1; }
};

} // namespace weft::test

#endif // WEFT_TEST_UNIT_REVERSEDEXECUTOR_H
