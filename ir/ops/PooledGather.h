//===- PooledGather.h - The derivative of max pooling -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Max pooling gathers one element of each window. Its program says so by the attribute `weft.pooled` of the
// gather, [size, window, stride, padding, dilation, places] for each extent: index p lies in window p. Then
// the derivative needs no scatter. An element adds the cotangents of those windows around it whose index is
// its own, in the order of the windows, as the scatter would, and with the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_OPS_POOLEDGATHER_H
#define WEFT_IR_OPS_POOLEDGATHER_H

#include "ir/Dialect.h"
#include "ir/Vjp.h"

namespace weft::ir {

/// Whether `weft.pooled`, if the gather has it, is a list of numbers of extents.
llvm::LogicalResult verifyPooled(GatherOp op);

/// Whether each index, in the order of the index tensor, lies in its window, if the gather says from which
/// windows it reads. Otherwise an error.
llvm::LogicalResult verifyInWindows(GatherOp op, llvm::ArrayRef<int64_t> indices);

/// The cotangent of the operand of a gather from windows, on a GPU. Null if the gather is none, or its
/// windows have too many elements.
Sym pooledCotangent(GatherOp op, VjpBuilder &vjp);

} // namespace weft::ir

#endif // WEFT_IR_OPS_POOLEDGATHER_H
