//===- Loop.h - The trips of a loop -----------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_LOOP_H
#define WEFT_RUNTIME_EXECUTION_LOOP_H

#include "runtime/execution/ExecutableImpl.h"
#include "runtime/plan/LoopPlan.h"

namespace weft::runtime {

/// A loop of a plan: a function of the package, which is carried out once for each trip. On the host a trip
/// binds addresses and runs launches. It allocates nothing: the temporaries of the body, places for carries
/// between trips and the table of addresses are in the scratch of the call.
class Loop {
public:
  /// An error (WEFT-L008) if the body takes or returns other bytes than the launch gives it, is no function
  /// of values alone, or is for another device.
  static Expected<std::shared_ptr<const Loop>> make(std::shared_ptr<const Executable::Impl> body,
                                                    const fb::LoopLaunch &launch, const fb::Plan &plan,
                                                    const Device *device);

  size_t scratch_bytes(int width) const;
  /// `operands` are the addresses of the launch's buffers.
  Status run(void *const *operands, std::byte *scratch, bool serial, const CallOrigin *origin) const;

  const Executable::Impl &body() const { return *body_; }
  int64_t trips() const { return trips_; }
  bool is_reverse() const { return reverse_; }
  /// What its operands are, and then its results.
  const std::vector<LoopPart> &parts() const { return parts_; }
  size_t operand_count() const { return operands_; }
  size_t carry_count() const { return carries_; }

private:
  Loop() = default;
  Status check_body(const Device *device) const;

  std::shared_ptr<const Executable::Impl> body_;
  std::vector<LoopPart> parts_;
  size_t operands_ = 0; ///< how many of the parts are operands
  size_t carries_ = 0;
  int64_t trips_ = 0;
  bool reverse_ = false;
  size_t carry_bytes_ = 0; ///< of the second places of all carries
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_LOOP_H
