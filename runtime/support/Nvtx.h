//===- Nvtx.h - Ranges in the timelines of NVIDIA's tools -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVTX names what a thread does, for tools such as Nsight Systems. A tool sets NVTX_INJECTION64_PATH to a
// library of its own, which is opened at the first use and puts its functions into tables that are here. The
// protocol is that of NVIDIA's header, which is not needed. Without a tool, enabled() is a load of a byte.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_SUPPORT_NVTX_H
#define WEFT_RUNTIME_SUPPORT_NVTX_H

#include "weft/export.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace weft::runtime {

class WEFT_RUNTIME_API Nvtx {
public:
  /// Whether a tool is there.
  static bool enabled() {
    const State state = state_.load(std::memory_order_acquire);
    return state == State::unknown ? attach() : state == State::on;
  }
  /// What push() and pop() return without a tool, or with one that does not count.
  static constexpr int noDepth = -2;
  /// Begins a range of this thread within the one that it is in. Returns how many it is within.
  static int push(const char *name);
  /// Ends the range that was begun last. Returns how many it was within; less than 0 if there was none.
  static int pop();
  /// A moment of this thread.
  static void mark(const char *name);

private:
  enum class State : uint8_t { unknown, off, on };
  static bool attach();
  static std::atomic<State> state_;
};

/// A range that ends with the scope. `name` is called if there is a tool, and gives a std::string.
class NvtxRange {
public:
  template <typename Name> explicit NvtxRange(const Name &name) : begun_(Nvtx::enabled()) {
    if (begun_)
      Nvtx::push(std::string(name()).c_str());
  }
  ~NvtxRange() {
    if (begun_)
      Nvtx::pop();
  }
  NvtxRange(const NvtxRange &) = delete;
  NvtxRange &operator=(const NvtxRange &) = delete;

private:
  const bool begun_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SUPPORT_NVTX_H
