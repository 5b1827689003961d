//===- CpuSkeletons.h - Kernels that know the machine ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The skeletons of a CPU, in addition to those that all targets share (codegen/emit/EmitKernel.h). One thread
// computes a task: partial results stay in vector registers, and rows in the caches of a core.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CPU_SKELETONS_CPUSKELETONS_H
#define WEFT_CODEGEN_CPU_SKELETONS_CPUSKELETONS_H

#include "weft/status.hpp"

namespace weft::codegen {

class KernelBuilder;
namespace detail {
Status emitTransposed(KernelBuilder &kernel);
Status emitRow(KernelBuilder &kernel);
Status emitColumn(KernelBuilder &kernel);
Status emitScan(KernelBuilder &kernel);
} // namespace detail

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CPU_SKELETONS_CPUSKELETONS_H
