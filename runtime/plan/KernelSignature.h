//===- KernelSignature.h - The operands that a kernel expects ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is machine code and does not check its operands. The image therefore has a signature of each
// kernel, which says for which operands it was compiled. A plan with a launch that differs from it is
// refused.
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

/// Checks that the references within the signatures of an image are in range. Code WEFT-L009.
Status verify_signatures(const fb::ImageSignatures &signatures);

/// Compares a launch without symbols with the signature of its kernel: the numbers of operands and results,
/// their bytes, and the numbers of sizes, tasks and bytes of scratch must be equal. For a table of tensors,
/// which check_step_table() has accepted, the number of tensors per step must be equal. `operand_bytes` has
/// the bytes of the plan's buffer for each operand. The message says which number differs: "has 3 tasks, and
/// ...". The signatures must be verified.
Status check_launch_signature(const fb::ImageSignatures &signatures, const fb::KernelLaunch &launch,
                              bool may_fail, std::span<const uint64_t> operand_bytes);

/// Collects the signatures of an image from the plans that it is made for.
class WEFT_RUNTIME_API KernelSigner {
public:
  /// Gives each kernel launch the number of its signature.
  void sign(fb::PlanT &plan);
  /// The section of the image; empty if there are no kernels.
  std::vector<std::byte> bytes() const;

private:
  void add_sizes(const fb::PlanT &plan, const fb::KernelLaunchT &kernel, fb::KernelSignatureT &made);
  int64_t size_over_launch(const fb::PlanT &plan, int64_t size,
                           const std::map<uint32_t, uint32_t> &positions);

  fb::ImageSignaturesT signatures_;
  std::map<std::string, uint32_t> kernels_,
      sizes_; ///< the index of each distinct signature, and of each size
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_KERNELSIGNATURE_H
