//===- LaunchAccesses.h - What launches read and write ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_LAUNCHACCESSES_H
#define WEFT_RUNTIME_PLAN_LAUNCHACCESSES_H

#include "runtime/gemm/Contraction.h"
#include "runtime/plan/plan_generated.h"
#include "weft/export.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft::runtime {

/// A buffer that a launch reads or writes.
struct BufferAccess {
  uint32_t buffer; ///< an index into Plan.buffers
  bool written;
};

/// The buffers of a launch, in the order in which it is given its operands: those of a kernel, an attention
/// or a kernel of the user as they are listed, the source and the destination of a copy, and a, b, c, bias,
/// residual and the further operands of a product, source, values and indices of a sort. The launch must be
/// verified, or written by the compiler.
WEFT_RUNTIME_API std::vector<BufferAccess> accesses_of(const fb::Launch &launch);

/// The storage that a buffer lies in: a result that is tied to an argument lies in the argument. Arguments,
/// results and scalars are told apart by their number, which is 0 for the arena and for constants.
std::pair<fb::Storage, uint32_t> place_of(const fb::Plan &plan, const fb::Buffer &buffer);

/// Whether two buffers of the same memory share a byte. If a size depends on symbols, they may.
bool share_bytes(const fb::Plan &plan, const fb::Buffer &a, const fb::Buffer &b);

/// What is wrong with the buffers of a launch that lists them, in words that follow its name. Empty if the
/// plan has all of them.
std::string missing_buffer(const flatbuffers::Vector<uint32_t> *buffers, const fb::Plan &plan);
/// Two buffers of a launch that share a byte, by their numbers in its list: one that it writes, and another.
struct SharedBytes {
  uint32_t written, other;
};
/// The first that are found; none if there are none. A launch of n buffers takes a time of n log n.
std::optional<SharedBytes> shared_bytes(std::span<const BufferAccess> accesses, const fb::Plan &plan);
/// Whether a buffer from number `first_result` on, which the launch writes, shares a byte with another one.
bool writes_shared_memory(const flatbuffers::Vector<uint32_t> *buffers, uint32_t first_result,
                          const fb::Plan &plan);

/// The shape of a contraction, whose sizes are numbers and which the plan's verifier has accepted.
WEFT_RUNTIME_API ContractionShape contraction_shape(const fb::ContractionLaunch &launch);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_LAUNCHACCESSES_H
