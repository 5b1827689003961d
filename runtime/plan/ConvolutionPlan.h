//===- ConvolutionPlan.h - Launches of convolutions in plans ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_CONVOLUTIONPLAN_H
#define WEFT_RUNTIME_PLAN_CONVOLUTIONPLAN_H

#include "runtime/gemm/Convolution.h"
#include "runtime/plan/plan_generated.h"
#include "weft/export.hpp"

#include <string>

namespace weft::runtime {

/// Describes what is wrong with a launch, in words that follow the launch's name. Empty if every tensor is
/// inside of its buffer, each step has what it reads, and no two elements of the result have the same
/// address. Overlaps of the result with operands are checked by the plan verifier. A GPU has convolutions of
/// halves, too.
std::string convolution_problem(const fb::ConvolutionLaunch &launch, const fb::Plan &plan, bool of_gpu);
/// The same for the lists of a launch alone: whether each has a number for each extent.
std::string convolution_lists_problem(const fb::ConvolutionLaunch &launch);

/// The shape of a launch for whose lists nothing was found.
WEFT_RUNTIME_API ConvolutionShape convolution_shape(const fb::ConvolutionLaunch &launch);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_CONVOLUTIONPLAN_H
