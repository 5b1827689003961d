//===- RawPlan.h - Launches of kernels that the user wrote ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What can be proven of such a launch: that its buffers are there, that it is given no address of a buffer
// that another of its parameters writes, and that each parameter has the bytes that the kernel's code takes.
// What the kernel does with the addresses is the user's.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_RAWPLAN_H
#define WEFT_RUNTIME_PLAN_RAWPLAN_H

#include "runtime/plan/DeviceImage.h"
#include "runtime/plan/plan_generated.h"
#include "weft/export.hpp"

#include <string>

namespace weft::runtime {

/// What is wrong with a kernel that has `raw`; empty if nothing is.
std::string raw_kernel_problem(const fb::DeviceKernel &kernel);

/// What is wrong with a launch, in words that follow its name; empty if nothing is. Writes of arguments are
/// checked by the plan verifier.
WEFT_RUNTIME_API std::string raw_launch_problem(const fb::RawLaunch &launch, const fb::Plan &plan);

/// What a launch without a problem gives to its kernel, which has `raw`. The message says what does not fit.
Expected<RawForm> raw_form(const fb::RawLaunch &launch, const fb::DeviceKernel &kernel);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_RAWPLAN_H
