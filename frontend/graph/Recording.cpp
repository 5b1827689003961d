//===- Recording.cpp - The lock, serial numbers and modes of recording ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Recording.h"

#include <atomic>

namespace weft::frontend {

std::recursive_mutex &graphMutex() {
  static auto *mutex = new std::recursive_mutex; // outlives every tensor in a global variable
  return *mutex;
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
