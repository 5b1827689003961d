//===- Loop.h - The trips of a loop -----------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_LOOP_H
#define WEFT_RUNTIME_EXECUTION_LOOP_H

#include "runtime/execution/BodyCall.h"
#include "runtime/plan/LoopPlan.h"

namespace weft::runtime {

/// A loop of a plan: a function of the package, which is carried out once for each trip.
class Loop {
public:
  /// An error (WEFT-L008) if the body takes or returns other bytes than the launch gives it, is no function
  /// of values alone, or is for another device.
  static Expected<std::shared_ptr<const Loop>> make(std::shared_ptr<const Executable::Impl> body,
                                                    const fb::LoopLaunch &launch, const fb::Plan &plan,
                                                    const Device *device);

  size_t scratch_bytes(int width) const;
  /// On the host. `operands` are the addresses of the launch's buffers.
  Status run(void *const *operands, std::byte *scratch, bool serial, const CallOrigin *origin) const;
  double cost_ns() const { return static_cast<double>(trips_) * body_.cost_ns(); }

  const Executable::Impl &body() const { return body_.function(); }
  int64_t trips() const { return trips_; }
  /// The row of each stack that a trip reads or writes.
  int64_t row_of(int64_t trip) const { return reverse_ ? trips_ - 1 - trip : trip; }
  /// Whether a trip writes the carries to their second places. Trips alternate, so that the last one writes
  /// them where the loop's results are.
  bool writes_second(int64_t trip) const { return (trips_ - 1 - trip) % 2 != 0; }
  /// What its operands are, and then its results.
  const std::vector<LoopPart> &parts() const { return parts_; }
  size_t operand_count() const { return operands_; }
  size_t carry_count() const { return carries_; }

private:
  Loop(BodyCall body, const fb::LoopLaunch &launch, std::vector<LoopPart> parts);

  BodyCall body_;
  std::vector<LoopPart> parts_;
  size_t operands_; ///< how many of the parts are operands
  size_t carries_;
  int64_t trips_;
  bool reverse_;
  size_t carry_bytes_ = 0; ///< of the second places of all carries
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_LOOP_H
