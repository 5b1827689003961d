//===- TraceScope.cpp - The current trace of a thread ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/TraceScope.h"

#include "frontend/graph/Recording.h"

#include <atomic>

namespace weft::frontend {

static TraceScope *&currentScope() {
  thread_local TraceScope *scope = nullptr;
  return scope;
}

TraceScope *TraceScope::current() { return currentScope(); }

static TraceScope *&innermostTrace() {
  thread_local TraceScope *trace = nullptr;
  return trace;
}

TraceScope *TraceScope::innermost() { return innermostTrace(); }

static uint64_t nextNumber() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

TraceScope::TraceScope() : number_(nextNumber()) {}

bool TraceScope::isInside(const TraceMark &mark) const {
  for (const TraceScope *trace = previous_; trace; trace = trace->previous_)
    if (mark && mark == TraceMark(trace))
      return true;
  return false;
}

void TraceScope::enter() {
  previous_ = currentScope();
  outer_ = innermostTrace();
  currentScope() = innermostTrace() = this;
  GraphMutex &mutex = graphMutex();
  ++mutex.traces_;
  mutex.shown_ = this;
}

void TraceScope::leave() {
  currentScope() = previous_;
  innermostTrace() = outer_;
  GraphMutex &mutex = graphMutex();
  --mutex.traces_;
  mutex.shown_ = outer_;
}

void TraceScope::installFrom(TraceScope *innermost) noexcept {
  if (!innermost)
    return;
  installFrom(innermost->outer_);
  innermost->install();
}

void GraphMutex::showOwnValues() noexcept {
  TraceScope *own = innermostTrace();
  if (depth_ > 1 || shown_ == own)
    return;
  for (TraceScope *trace = shown_; trace; trace = trace->outer_)
    trace->withdraw();
  TraceScope::installFrom(own);
  shown_ = own;
}

SuspendTrace::SuspendTrace() : suspended_(currentScope()) { currentScope() = nullptr; }
SuspendTrace::~SuspendTrace() { currentScope() = suspended_; }

} // namespace weft::frontend
