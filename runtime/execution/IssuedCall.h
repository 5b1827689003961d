//===- IssuedCall.h - Calls that overlap on a device ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call of a function that one device carries out alone. It is issued to the stream of its queue without
// waiting, also if earlier calls have not ended: the flags of its arguments stop it on the device if one of
// those has failed (FailureFlags). Its record of failures is copied to the host at the end, and looked at
// when somebody waits for the call, or when the queue finds that it has passed.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_ISSUEDCALL_H
#define WEFT_RUNTIME_EXECUTION_ISSUEDCALL_H

#include "runtime/execution/ExecutableImpl.h"
#include "runtime/execution/LaunchRun.h"

#include <array>
#include <vector>

namespace weft::runtime {

/// The number of the device on which calls of a function may overlap, or -1. It carries out every launch, and
/// no launch needs the host: none prints or tests a value, and no copy writes an argument.
int device_of_overlapping_calls(const Executable::Impl &function);

class IssuedCall final : public IssuedWork {
public:
  std::shared_ptr<Executable> executable;
  const Executable::Impl *function = nullptr;
  std::vector<std::shared_ptr<Buffer>> arguments, results;
  std::vector<Ticket> foreign; ///< calls that must end before this one is issued
  StreamPoints points;         ///< that its stream waits for
  Queue *queue = nullptr;
  uint64_t number = 0, sequence = 0;
  std::optional<CallOrigin> origin;
  bool serial = false;
  std::shared_ptr<Failure> no_memory; ///< made beforehand: then there may be none for it

  void issue() noexcept override;
  bool passed() const override { return over_ || end_.passed(); }
  void finish() noexcept override;
  /// The same on the thread of its caller, who alone is told why it could not be issued.
  Status issue_here(bool host_sees);

private:
  Status start(bool host_is_told) noexcept;
  void abandon(const Status &status, bool host_is_told) noexcept;
  Status bind_and_issue();
  Status issue_segments(DeviceStream &stream);
  Status collect_flags();
  void set_if_failed(Buffer &buffer, uint64_t *flag);
  void clear_if_seen(Buffer &buffer, uint64_t *flag);
  Status outcome();
  std::shared_ptr<Failure> blocked_by() const;
  void fail(const std::shared_ptr<Failure> &failure);

  CallPointers pointers_;
  std::array<LaunchRun, maxPlanDevices> runs_;
  CallFlags flags_;
  std::vector<Buffer *> cleared_of_, flagged_of_; ///< whose flags those of flags_ are
  std::shared_ptr<Buffer> record_;                ///< the host's copy of the record, in pinned memory
  std::shared_ptr<Buffer> scalars_;               ///< the same of the block of scalars
  Point end_;
  std::shared_ptr<Failure> abandoned_; ///< of a call that was begun and could not be issued whole
  bool begun_ = false;                 ///< its stream has work of it
  bool over_ = false;                  ///< nothing is left to finish
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_ISSUEDCALL_H
