//===- BodyCall.h - Calls of functions that launches run --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_BODYCALL_H
#define WEFT_RUNTIME_EXECUTION_BODYCALL_H

#include "runtime/execution/ExecutableImpl.h"
#include "runtime/execution/LaunchRun.h"

#include <atomic>
#include <memory>
#include <span>

namespace weft::runtime {

/// A function of the package that a launch carries out: a branch, or a part of a loop.
class BodyCall {
public:
  /// An error (WEFT-L008) if the function does not take and return these bytes, is no function of values
  /// alone, or is for another device. `what` is what it is, as "a branch".
  static Expected<BodyCall> make(std::shared_ptr<const Executable::Impl> body,
                                 std::span<const uint64_t> argument_bytes,
                                 std::span<const uint64_t> result_bytes, const Device *device,
                                 const std::string &what);

  const Executable::Impl &function() const { return *body_; }
  double cost_ns() const { return body_->cost_ns; }
  /// Of a call on the host: of the function, and of those that its launches run. It is computed once for one
  /// thread and for all.
  size_t scratch_bytes(int width) const;

  /// Calls on the host with the same scratch, one after the other. A call binds addresses and runs launches.
  /// It allocates nothing: the temporaries of the function and the table of addresses are in the scratch.
  class Calls {
  public:
    Calls(const BodyCall &body, std::byte *scratch, bool serial, const CallOrigin *origin);
    /// Takes the addresses of the arguments and of the results.
    Status run(std::span<void *const> arguments, std::span<void *const> results);

  private:
    LaunchRun run_;
    std::byte *arena_;
    void **bases_;
  };

private:
  explicit BodyCall(std::shared_ptr<const Executable::Impl> body) : body_(std::move(body)) {}
  std::shared_ptr<const Executable::Impl> body_;
  /// For one thread, and for the other number that was last asked for: that number, and the bytes.
  struct Scratch {
    std::atomic<uint64_t> of_one{0}, of_many{0};
  };
  std::shared_ptr<Scratch> scratch_ = std::make_shared<Scratch>();
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_BODYCALL_H
