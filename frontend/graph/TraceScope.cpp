//===- TraceScope.cpp - Whether a trace is under way, and which ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/TraceScope.h"

#include <atomic>

namespace weft::frontend {

static TraceScope *&currentScope() {
  thread_local TraceScope *scope = nullptr;
  return scope;
}

TraceScope *TraceScope::current() { return currentScope(); }

static uint64_t nextNumber() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

TraceScope::TraceScope() : number_(nextNumber()), previous_(currentScope()) { currentScope() = this; }

void TraceScope::leave() { currentScope() = previous_; }

SuspendTrace::SuspendTrace() : suspended_(currentScope()) { currentScope() = nullptr; }
SuspendTrace::~SuspendTrace() { currentScope() = suspended_; }

} // namespace weft::frontend
