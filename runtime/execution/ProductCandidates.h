//===- ProductCandidates.h - Algorithms of a GPU's library --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a library of a GPU is asked about a contraction of a plan, and the plan with the answers. A package
// that is compiled where the GPU of its target is has them: the library is then not asked again when the
// package is loaded, but checks the algorithms, so that each release of it gives the same bits or is told.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_PRODUCTCANDIDATES_H
#define WEFT_RUNTIME_EXECUTION_PRODUCTCANDIDATES_H

#include "runtime/device/Device.h"
#include "runtime/gemm/Contraction.h"
#include "weft/status.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace weft::fb {
struct ContractionLaunch;
struct Plan;
} // namespace weft::fb

namespace weft::runtime {

/// What a verified plan says of the choice, and where the operands of its launch begin in every call.
ContractionChoice contraction_choice(const fb::ContractionLaunch &product);
ContractionAlignment contraction_alignment(const fb::Plan &plan, const fb::ContractionLaunch &product);

/// The plan of numbers `plan`, which has been written for `target`, as "cuda:sm_90", with the algorithms that
/// the library of a GPU of this machine proposes. It is the same bytes if the machine has no GPU of just that
/// architecture, if there is no library, or if a call chooses a size.
WEFT_RUNTIME_API std::vector<std::byte> with_candidates(std::span<const std::byte> plan,
                                                        std::string_view target);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_PRODUCTCANDIDATES_H
