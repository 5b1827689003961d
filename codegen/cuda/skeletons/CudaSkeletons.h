//===- CudaSkeletons.h - Skeletons of GPUs ---------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The skeletons of a GPU, in addition to those that all targets share (codegen/emit/EmitKernel.h). The
// threads of a block share its task.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_SKELETONS_CUDASKELETONS_H
#define WEFT_CODEGEN_CUDA_SKELETONS_CUDASKELETONS_H

#include "weft/status.hpp"

namespace weft::codegen {

class KernelBuilder;
namespace detail {
/// Loops and windows in tiles of rows and columns.
Status emitPlane(KernelBuilder &kernel);
/// Loops in tiles that a block transposes; the kernel's mapping is a TeamMapping of the whole block.
Status emitBlockTransposed(KernelBuilder &kernel);
/// Rows that teams share; the kernel's mapping is a TeamMapping.
Status emitTeamRow(KernelBuilder &kernel);
/// Columns that the threads of a block share; the kernel's mapping is a TeamMapping of the whole block.
Status emitBlockColumn(KernelBuilder &kernel);
/// Lines that teams share, and columns that a thread has each; the kernel's mapping is a TeamMapping.
Status emitTeamScan(KernelBuilder &kernel);
/// Writes by index, which the threads of a block list first where `ir::listsWrites`; then the kernel's
/// mapping is a TeamMapping of the whole block.
Status emitBlockUpdate(KernelBuilder &kernel);
} // namespace detail

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_SKELETONS_CUDASKELETONS_H
