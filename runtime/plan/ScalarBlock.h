//===- ScalarBlock.h - The scalars of a call in one block -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers that change from call to call, such as a learning rate, are arguments on the host. A call puts them
// into one block, which each device that reads some of them gets with one copy; the plan says where in the
// block each is.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_SCALARBLOCK_H
#define WEFT_RUNTIME_PLAN_SCALARBLOCK_H

#include "weft/status.hpp"

namespace weft::fb {
struct Plan;
} // namespace weft::fb

namespace weft::runtime {

/// Checks the layout of a plan's scalars, and returns what is wrong without a code: each is one argument of
/// the host with the role scalar, of its type, and is not written; they are in order, aligned, share no byte,
/// and are all of the block. Arguments have been checked before.
Status check_scalar_block(const fb::Plan &plan);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_SCALARBLOCK_H
