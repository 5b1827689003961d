//===- LaunchAmounts.h - How many launches a GPU has ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_LAUNCHAMOUNTS_H
#define WEFT_CODEGEN_LAUNCHAMOUNTS_H

#include "ir/Dialect.h"

#include "llvm/ADT/DenseMap.h"

#include <cstdint>

namespace weft::codegen {

/// How many launches a GPU has, and how many operands they have in all.
struct LaunchAmount {
  uint64_t launches = 0, operands = 0;
  void add(LaunchAmount other);
  LaunchAmount times(uint64_t count) const;
};

/// Counts the launches of functions with those of all trips of their loops and of all their branches.
class LaunchAmounts {
public:
  LaunchAmount of(ir::FuncOp function);

private:
  LaunchAmount of(mlir::Operation &op);

  llvm::DenseMap<mlir::Operation *, LaunchAmount> known; ///< of functions
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_LAUNCHAMOUNTS_H
