//===- KernelAlignments.h - Where a kernel's operands begin -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of a GPU that reads several elements at once faults at an address that is no multiple of their
// bytes. So it is compiled for what the plan says of the addresses of its operands, and this is proven again
// when the plan is loaded.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_KERNELALIGNMENTS_H
#define WEFT_RUNTIME_PLAN_KERNELALIGNMENTS_H

#include "weft/status.hpp"

#include <cstdint>
#include <string>

namespace weft::fb {
struct DeviceKernel;
struct Plan;
} // namespace weft::fb

namespace weft::runtime {

class DeviceImage;

/// Bytes of which the address of a buffer is a multiple in each call, at most 256.
uint32_t address_alignment(const fb::Plan &plan, uint32_t buffer);

/// What is wrong with the alignments that a kernel lists; empty if there is one for each pointer or, for a
/// kernel over a table of tensors, one for all, or none at all.
std::string alignments_problem(const fb::DeviceKernel &kernel);

/// Checks that each operand of a kernel of a GPU begins where the kernel needs it. Launches, buffers and
/// devices of the plan have been checked before, and the error has no code.
Status check_kernel_alignments(const fb::Plan &plan, const DeviceImage &image);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_KERNELALIGNMENTS_H
