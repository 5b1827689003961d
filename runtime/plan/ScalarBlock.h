//===- ScalarBlock.h - The scalars of a call in one block -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers that change from call to call, such as a learning rate, are arguments on the host. A call writes
// them to one block, which is copied once to each device that reads some of them. The plan has the offset of
// each number in the block.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_SCALARBLOCK_H
#define WEFT_RUNTIME_PLAN_SCALARBLOCK_H

#include "weft/status.hpp"

namespace weft::fb {
struct Plan;
} // namespace weft::fb

namespace weft::runtime {

/// Verifies the layout of a plan's scalars; an error has no code. Each is an argument of the host with the
/// role scalar and the argument's type, and is not written. They are in order, aligned, do not overlap, and
/// fill the block. The arguments must already be verified.
Status check_scalar_block(const fb::Plan &plan);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_SCALARBLOCK_H
