//===- InlinedBody.h - Launches of a body in a function ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device that is given launches ahead of time, as a graph or on a stream, has those of a body among the
// launches of the function around it, once for each set of addresses that the body is given.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_INLINEDBODY_H
#define WEFT_RUNTIME_EXECUTION_INLINEDBODY_H

#include "runtime/execution/ExecutableImpl.h"

#include <span>
#include <string>
#include <vector>

namespace weft::runtime {

/// Launches of a loop or a branch, counted from its own launch. They are issued at once, or, if the first one
/// `decides`, as it says.
struct LaunchRange {
  uint32_t first = 0, last = 0;
  bool decides = false;
};

/// An error (WEFT-L008) about a loop or a branch of a function, with what its body is.
Status wrong_loop(const Executable::Impl &function, const Executable::Impl &body, const std::string &what);

/// Of temporaries and second places: that of an allocation, which is more than any access needs.
inline constexpr size_t placeAlignment = 256;

/// An error (WEFT-L008) if a function does not hold so many launches, with so many operands, besides those
/// that it has.
Status check_size(const Executable::Impl &function, const Executable::Impl &body, uint64_t launches,
                  uint64_t operands);

/// Memory of the call behind the part of the arena that the plan gives a device: its place in the arena. All
/// loops of the function get the same, which is as large as the largest of them needs. Loops that share
/// nothing else wait for each other because of it.
uint64_t share_memory(FunctionDevice &device, uint64_t bytes);
/// Memory from `share_memory`, as an operand of the function.
Operand place_in_arena(const Executable::Impl &function, uint8_t device, uint64_t at);

class InlinedBody {
public:
  /// `around` is the launch that runs the body. The device takes over from the body what its launches need
  /// beside the arena: constants, scratch, workspaces, kernels.
  InlinedBody(Executable::Impl &function, const Executable::Impl &body, const Launch &around);

  /// The bytes of its temporaries, and where they begin.
  uint64_t arena_bytes() const { return body_.devices[0].arena_bytes; }
  void set_arena(uint64_t at) { arena_ = at - body_.devices[0].arena_begin; }

  /// Proves that the kernels of the body may be given this address of an argument, or of a result, from
  /// number `signature.arguments.size()` on. Each further one is `step` bytes behind it. An error (WEFT-L008)
  /// if they are compiled for other addresses.
  Status check_alignment(size_t value, const Operand &place, uint64_t step = 0) const;

  /// Adds the launches for these places of the arguments and of the results.
  void add(std::span<const Operand> values) const;
  /// The same. Returns them by the body's segments, counted from launch `around`.
  std::vector<LaunchRange> add_segments(std::span<const Operand> values, size_t around) const;

private:
  uint64_t alignment_of(const Operand &operand) const;
  Operand operand_for(std::span<const Operand> values, const Operand &own) const;

  Executable::Impl &function_;
  const Executable::Impl &body_;
  uint8_t device_;
  int32_t region_;
  uint32_t bases_of_device_;
  uint64_t arena_ = 0;
  size_t first_constants_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_INLINEDBODY_H
