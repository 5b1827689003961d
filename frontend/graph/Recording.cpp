//===- Recording.cpp - The lock, serial numbers and modes of recording ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Recording.h"

#include <atomic>
#include <utility>

namespace weft::frontend {

GraphMutex &graphMutex() {
  static auto *mutex = new GraphMutex; // outlives every tensor in a global variable
  return *mutex;
}

static bool &mayPause() {
  thread_local bool permitted = false;
  return permitted;
}

PausePermit::PausePermit() : previous_(mayPause()) { mayPause() |= graphMutex().depth() == 1; }
PausePermit::~PausePermit() { mayPause() = previous_; }

GraphPause::GraphPause() {
  if (!mayPause())
    return;
  depth_ = graphMutex().depth();
  for (int i = 0; i < depth_; ++i)
    graphMutex().unlock();
}

GraphPause::~GraphPause() {
  for (int i = 0; i < depth_; ++i)
    graphMutex().lock();
}

GraphRelease::GraphRelease() : depth_(graphMutex().depth()), previous_(std::exchange(mayPause(), false)) {
  for (int i = 0; i < depth_; ++i)
    graphMutex().unlock();
}

GraphRelease::~GraphRelease() {
  for (int i = 0; i < depth_; ++i)
    graphMutex().lock();
  mayPause() = previous_;
}

uint64_t nextSerial() {
  static std::atomic<uint64_t> serial{0};
  return ++serial;
}

uint32_t threadNumber() {
  static std::atomic<uint32_t> last{0};
  thread_local const uint32_t number = ++last;
  return number;
}

uint64_t &recordedNodes() {
  thread_local uint64_t count = 0;
  return count;
}

bool &gradEnabled() {
  thread_local bool enabled = true;
  return enabled;
}

} // namespace weft::frontend
