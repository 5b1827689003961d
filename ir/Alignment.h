//===- Alignment.h - Addresses of values on a GPU ---------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU reads and writes 8, 16 or 32 bytes at a time only where the address is a multiple of as many. Kernels
// are compiled for what is known of the addresses of their operands: a value that the plan places, and a
// result, begin at a multiple of the widest access. So does an argument, unless `weft.alignment` says
// otherwise: a function whose calls pass memory at other addresses, as `x[1:]`, is compiled with the
// attribute. Results have it, too, where the function is the body of a loop, which writes rows. Products and
// attention copy such an argument in narrower accesses, other kernels look at each of its addresses, and all
// access the rest as before.
//
// Kernels of a CPU do not depend on alignment.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_ALIGNMENT_H
#define WEFT_IR_ALIGNMENT_H

#include "ir/StorageHeads.h"

namespace weft::ir {

/// Bytes of the widest access of any GPU (sm_100).
inline constexpr int64_t widestAccess = 32;

/// The alignments of a function's values, as powers of two, in bytes.
class Alignments {
public:
  /// Takes time that is linear in the function, and nearly none if no argument has the attribute.
  explicit Alignments(FuncOp function);
  /// The address of the value is a multiple of it in each call. Its memory may be that of an argument, or of
  /// a result.
  int64_t of(mlir::Value value) const;

private:
  mutable StorageHeads heads;
  llvm::DenseMap<mlir::Value, int64_t> least; ///< of heads that are no multiple of the widest access
};

/// The alignment of a result that the function is compiled for.
int64_t alignmentOfResult(FuncOp function, unsigned result);

/// The bytes of an element of an argument, or of the widest elements that its memory is viewed as: the least
/// alignment that it may have.
int64_t leastAlignment(FuncOp function, unsigned argument);

/// Verifies the attributes `weft.alignment` of a function's arguments and results.
mlir::LogicalResult verifyAlignments(FuncOp function);

} // namespace weft::ir

#endif // WEFT_IR_ALIGNMENT_H
