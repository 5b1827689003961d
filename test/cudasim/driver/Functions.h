//===- Functions.h - The functions of the driver ---------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares, for each function that the library exports, the one that does its work. Their names and types are
// those of cuda.h, so a function that is missing or has another type does not link. Exports.cpp makes the
// exported ones, which check what all of them check.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_FUNCTIONS_H
#define WEFT_TEST_CUDASIM_DRIVER_FUNCTIONS_H

#include "runtime/cuda/DriverTable.h"
#include "test/cudasim/driver/State.h"

// clang-format off
/// Functions that are exported beside those of the table. NVRTC calls cuGetExportTable without checking that it
/// is there.
#define CUSIM_MORE_FUNCTIONS(X)                                                                              \
  X(cuGetExportTable) X(cuGetProcAddress) X(cuStreamIsCapturing) X(cuStreamGetCaptureInfo)                   \
  X(cuEventRecordWithFlags) X(cuGraphGetNodes) X(cuGraphNodeGetType) X(cuGraphNodeGetDependencies)
#define CUSIM_FUNCTIONS(X) WEFT_DRIVER_FUNCTIONS(X) CUSIM_MORE_FUNCTIONS(X)
// clang-format on

namespace weft::cusim::functions {

#define CUSIM_DECLARE(function) decltype(::function) function;
CUSIM_FUNCTIONS(CUSIM_DECLARE)
#undef CUSIM_DECLARE

} // namespace weft::cusim::functions

#endif // WEFT_TEST_CUDASIM_DRIVER_FUNCTIONS_H
