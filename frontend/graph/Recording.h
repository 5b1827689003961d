//===- Recording.h - The lock, serial numbers and modes of recording -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_RECORDING_H
#define WEFT_FRONTEND_GRAPH_RECORDING_H

#include <cstdint>
#include <mutex>

namespace weft::frontend {

/// The one lock of everything recorded. Recursive: tracing calls user code that calls the interface again.
std::recursive_mutex &graphMutex();
using GraphLock = std::lock_guard<std::recursive_mutex>;

/// Rises with every call, in all threads.
uint64_t nextSerial();
/// The number of this thread, from 1 on.
uint32_t threadNumber();
/// How many nodes this thread has recorded.
uint64_t &recordedNodes();

/// Whether operations on this thread record gradients.
bool &gradEnabled();

/// While one lives, operations on this thread record gradients, or do not.
class GradMode {
public:
  explicit GradMode(bool enabled) : previous_(gradEnabled()) { gradEnabled() = enabled; }
  ~GradMode() { gradEnabled() = previous_; }
  GradMode(const GradMode &) = delete;
  GradMode &operator=(const GradMode &) = delete;

private:
  bool previous_;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_RECORDING_H
