//===- GpuBackend.h - Programs through the runtime of a GPU ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_GPUBACKEND_H
#define WEFT_TEST_RANDOM_GPUBACKEND_H

#include "Check.h"

#include "runtime/device/Device.h"

namespace weft::randomtest {

/// A backend that compiles programs for this GPU and calls each of them five times: the runtime launches the
/// first two calls kernel by kernel, and the others as a graph. All of them must give the same bytes, or fail
/// as the program does on the CPU. One program in four has parts on the host too (Devices.h), and one in
/// three has arguments that are not aligned.
Backend backendOf(runtime::Device &gpu);

/// Which results depend on elements of an undefined tensor. These are what its memory had before, which is
/// another thing in each call.
std::vector<bool> unknownResults(mlir::ModuleOp module);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_GPUBACKEND_H
