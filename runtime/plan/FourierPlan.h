//===- FourierPlan.h - Fourier transforms in plans --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_FOURIERPLAN_H
#define WEFT_RUNTIME_PLAN_FOURIERPLAN_H

#include "runtime/fourier/FourierRoutine.h"
#include "runtime/plan/plan_generated.h"
#include "weft/export.hpp"

#include <string>

namespace weft::runtime {

/// Describes what is wrong with a launch, in words that follow the launch's name. Empty if the buffers are
/// those of its transforms, and share no byte.
std::string fourier_problem(const fb::FourierLaunch &launch, const fb::Plan &plan);

/// The numbers of a launch for which `fourier_problem` found nothing.
WEFT_RUNTIME_API FourierShape fourier_shape(const fb::FourierLaunch &launch);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_FOURIERPLAN_H
