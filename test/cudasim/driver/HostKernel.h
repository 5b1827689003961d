//===- HostKernel.h - Kernels of libraries that the host computes -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A substitute for a library, as that of cuBLASLt, has kernels that are functions of the host. For streams
// and graphs they are kernels as others are: they run when their item does, with the bytes that their
// operands have then, and what they touch takes part in the search for races.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_HOSTKERNEL_H
#define WEFT_TEST_CUDASIM_DRIVER_HOSTKERNEL_H

#include "test/cudasim/driver/Extension.h"
#include "test/cudasim/driver/State.h"

#include <memory>
#include <string>
#include <vector>

namespace weft::cusim {

struct HostKernel {
  /// What messages say: "product 2x3x4 of f32".
  std::string name;
  Device *device = nullptr; ///< that has all operands
  std::vector<KernelOperand> operands;
  KernelBody body = nullptr;
  std::shared_ptr<void> payload; ///< what the body gets, for as long as a node or an item needs it
  uint64_t nanoseconds = 0;      ///< by the virtual clock
};

/// Runs the kernel. It is a fault if an operand that it uses is not in one live allocation of a device, or if
/// it writes an operand that overlaps another one; only one of the same place and shape may.
Outcome runHostKernel(const HostKernel &kernel);

} // namespace weft::cusim

#endif // WEFT_TEST_CUDASIM_DRIVER_HOSTKERNEL_H
