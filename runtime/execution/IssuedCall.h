//===- IssuedCall.h - Calls that overlap on a device ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call of a function that devices carry out without the host. It is issued to the streams of its queue
// without waiting, also if earlier calls have not ended: the flags of its arguments stop it on the devices if
// one of those has failed (FailureFlags). Its records of failures are copied to the host at the end, and
// looked at when somebody waits for the call, or when the queue finds that it has passed.
//
// What a call on another queue has still to write, or to read, is no reason to wait for the host either: the
// streams of this call wait for the end of that one, and the flags of its results stop this one if it failed.
//
// If there are several devices, each learns the keys of the others before it writes an argument, and at the
// end before it sets flags. Their streams wait for each other where a call begins and where it ends, so that
// the order of calls of one queue is that of one stream. Only the host runs ahead.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_ISSUEDCALL_H
#define WEFT_RUNTIME_EXECUTION_ISSUEDCALL_H

#include "runtime/execution/ExecutableImpl.h"
#include "runtime/execution/LaunchRun.h"

#include <array>
#include <vector>

namespace weft::runtime {

/// Whether calls of a function may overlap. Devices beside the host carry out every launch, and no launch
/// needs the host: none prints or tests a value or is a while loop, and no copy between devices writes an
/// argument.
bool calls_overlap(const Executable::Impl &function);

class IssuedCall final : public IssuedWork {
public:
  std::shared_ptr<Executable> executable;
  const Executable::Impl *function = nullptr;
  std::vector<std::shared_ptr<Buffer>> arguments, results;
  std::vector<Ticket> awaited; ///< calls that must end before this one is issued
  std::vector<Ticket> foreign; ///< calls of other queues that must end before this one begins
  StreamPoints points;         ///< that its stream waits for
  Queue *queue = nullptr;
  uint64_t number = 0, sequence = 0;
  std::optional<CallOrigin> origin;
  bool writes_host_memory = false; ///< that earlier calls of the queue may use
  bool serial = false;
  /// Whether the call can fail, or be stopped by the failure of another. If not, it has neither a record of
  /// failures nor flags.
  bool may_fail = true;
  std::shared_ptr<Failure> no_memory; ///< made beforehand: then there may be none for it

  void issue() noexcept override;
  bool passed() const override;
  void finish() noexcept override;
  bool add_ends(StreamPoints &ends) const override;
  /// Whether nothing has to run or be issued on another queue before this is issued.
  bool is_ready() const;
  /// The same on the thread of its caller, who alone is told why it could not be issued.
  Status issue_here(bool host_sees);

private:
  Status start(bool host_is_told) noexcept;
  void abandon(const Status &status, bool host_is_told) noexcept;
  Status bind_and_issue();
  /// What the call has on one device.
  struct Part {
    DeviceStream *stream = nullptr; ///< null for the host
    StreamId stream_id = StreamId::none;
    CallFlags flags;
    std::shared_ptr<Buffer>
        record; ///< the host's copy of the record, in pinned memory; null if there is none
    std::shared_ptr<Buffer> scalars; ///< the same of the block of scalars; null if it is there already
    Point end;                       ///< after all of the call, on every device
    /// How often its key may have changed: where its flags are read, and in segments that may fail.
    uint32_t changes = 0;
    /// How many changes of each other device it knows the key after.
    std::array<uint32_t, maxPlanDevices> known = {};
  };

  void order_after_foreign();
  bool needs_record() const;
  Status make_record(Part &part, Device &device);
  Status prepare();
  Status issue_segments();
  Status issue_segment(size_t number, bool begins, bool ends);
  Status issue_run(size_t device, std::span<const Launch> launches, uint32_t foreign, bool begins, bool ends);
  Status issue_copy(const Launch &launch);
  Status send_keys(size_t to, uint32_t &sent);
  Status order(size_t earlier, size_t later);
  Status wait_for_other_streams();
  Status join();
  Status collect_flags();
  void set_if_failed(Buffer &buffer, uint64_t *flag, CallFlags &flags);
  void clear_if_seen(Buffer &buffer, uint64_t *flag, CallFlags &flags);
  Status outcome(bool &blocked);
  std::shared_ptr<Failure> blocked_by() const;
  void note_flag(Buffer &buffer, const std::shared_ptr<Failure> &failure) const noexcept;
  void fail(const std::shared_ptr<Failure> &failure);

  CallPointers pointers_;
  std::array<LaunchRun, maxPlanDevices> runs_;
  std::vector<Part> parts_;                       ///< by the number of the device
  std::vector<Point> marks_;                      ///< the ends of segments that later ones wait for
  size_t streams_ = 0;                            ///< how many devices beside the host there are
  std::vector<Buffer *> cleared_of_, flagged_of_; ///< whose flags those of the parts are
  std::shared_ptr<Failure> abandoned_;            ///< of a call that was begun and could not be issued whole
  bool begun_ = false;                            ///< its streams have work of it
  bool over_ = false;                             ///< nothing is left to finish
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_ISSUEDCALL_H
