//===- ArgumentWriters.h - What of a run writes arguments -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A driver may refuse a launch in the middle of a run that is issued launch by launch. Then no argument may
// have been written: what writes arguments is issued last, and as one.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_ARGUMENTWRITERS_H
#define WEFT_RUNTIME_CUDA_DEVICE_ARGUMENTWRITERS_H

#include "runtime/cuda/device/WorkList.h"
#include "runtime/execution/ExecutableImpl.h"

#include <string>

namespace weft::runtime {

/// Moves the items that write arguments of the function to the end of a list with accesses, and with them the
/// items that come after one of these. Others need none of them, so they keep their order. Returns the moved
/// ones as a list of their own.
WorkList take_argument_writers(WorkList &list, const Executable::Impl &function);

/// What an error says if launches up to `reached` of a call were issued and others are not: the arguments
/// that they write.
std::string written_arguments(const Executable::Impl &function, const Launch *reached);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_ARGUMENTWRITERS_H
