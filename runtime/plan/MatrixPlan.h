//===- MatrixPlan.h - Launches of matrix routines in plans ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_MATRIXPLAN_H
#define WEFT_RUNTIME_PLAN_MATRIXPLAN_H

#include "runtime/linalg/MatrixRoutine.h"
#include "runtime/plan/plan_generated.h"
#include "weft/export.hpp"

#include <string>

namespace weft::runtime {

/// Describes what is wrong with a launch, in words that follow the launch's name. Empty if the buffers are
/// those of its routine, and nothing that is written shares a byte with another buffer of the launch.
std::string matrix_problem(const fb::MatrixLaunch &launch, const fb::Plan &plan);

/// The numbers of a launch for which `matrix_problem` found nothing.
WEFT_RUNTIME_API MatrixShape matrix_shape(const fb::MatrixLaunch &launch);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_MATRIXPLAN_H
