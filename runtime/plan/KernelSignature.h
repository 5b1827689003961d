//===- KernelSignature.h - How a kernel must be launched --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is machine code and checks nothing of what it is given. The image therefore says, beside the code,
// what each kernel was compiled for, and a plan that launches one otherwise is refused.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_KERNELSIGNATURE_H
#define WEFT_RUNTIME_PLAN_KERNELSIGNATURE_H

#include "runtime/plan/plan_generated.h"
#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace weft::runtime {

/// Whether the signatures of an image refer to what they have. Code WEFT-L009.
Status verify_signatures(const fb::ImageSignatures &signatures);

/// Compares a launch of numbers with what its kernel was compiled for: as many operands and results, of as
/// many bytes, as many sizes, tasks and bytes of scratch; over a table of tensors, which check_step_table()
/// has accepted, as many tensors a step. `operand_bytes`, one an operand, are those of the plan's buffers.
/// The message says which number differs: "has 3 tasks, and ...". The signatures are verified.
Status check_launch_signature(const fb::ImageSignatures &signatures, const fb::KernelLaunch &launch,
                              bool may_fail, std::span<const uint64_t> operand_bytes);

/// Collects the signatures of an image from the plans that it is made for.
class WEFT_RUNTIME_API KernelSigner {
public:
  /// Gives each kernel launch the number of its signature.
  void sign(fb::PlanT &plan);
  /// The section of the image; empty where there are no kernels.
  std::vector<std::byte> bytes() const;

private:
  void add_sizes(const fb::PlanT &plan, const fb::KernelLaunchT &kernel, fb::KernelSignatureT &made);
  int64_t size_over_launch(const fb::PlanT &plan, int64_t size,
                           const std::map<uint32_t, uint32_t> &positions);

  fb::ImageSignaturesT signatures_;
  std::map<std::string, uint32_t> kernels_, sizes_; ///< numbers, by all that they say
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_KERNELSIGNATURE_H
