//===- BranchParts.h - Branches as launches of a device ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function has the launches of both branches of a condition on a device, so that all addresses of a call
// are known when it begins. Those of one branch are issued, once the predicate is known: by the host, which
// reads it, or by the device, in a graph with a conditional node for each branch.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_BRANCHPARTS_H
#define WEFT_RUNTIME_EXECUTION_BRANCHPARTS_H

#include "runtime/execution/Branch.h"
#include "runtime/execution/InlinedBody.h"

#include <span>
#include <vector>

namespace weft::runtime {

/// The launches of a branch on a device. They follow the launch of the branch itself, whose one operand is
/// the predicate, and are counted from that.
struct BranchParts {
  std::vector<LaunchRange> if_true, if_false;
};

/// Adds the launches of both branches to a function, `branch` first, which gets its predicate and the rest.
/// `places` are the operands of the launch, in the function. Both branches have the same memory for their
/// temporaries. An error (WEFT-L008) if these are more launches than a function may have, or if memory is at
/// other addresses than the kernels of a branch are compiled for.
Status add_branch(Executable::Impl &function, const Branch &of, Launch branch,
                  std::span<const Operand> places);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_BRANCHPARTS_H
