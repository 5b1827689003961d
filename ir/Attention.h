//===- Attention.h - Sizes and views of weft.attention ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifier of weft.attention, its reference rule, the pass that makes it and the plan read its attributes
// through these types.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_ATTENTION_H
#define WEFT_IR_ATTENTION_H

#include "ir/MemoryView.h"
#include "weft/limits.hpp"

namespace weft::ir {

/// The most features or values, and rows or keys, of a launch of attention on a GPU: a block holds whole rows
/// of operands, and numbers rows in 32 bits.
inline constexpr int64_t maxCudaAttentionColumns = 256, maxCudaAttentionRows = int64_t(1) << 30;

/// The offset and strides of a [batch.., rows, columns] tensor.
using AttentionView = MemoryView;

/// The sizes of an attention.
struct AttentionExtents {
  llvm::SmallVector<int64_t> batch;
  int64_t rows = 0, keys = 0, features = 0, values = 0; ///< L, S, E, Ev

  /// Reads the attribute `shape`, which has at least four numbers.
  explicit AttentionExtents(llvm::ArrayRef<int64_t> shape)
      : batch(shape.drop_back(4)), rows(shape[shape.size() - 4]), keys(shape[shape.size() - 3]),
        features(shape[shape.size() - 2]), values(shape[shape.size() - 1]) {}

  /// [batch.., first, second].
  llvm::SmallVector<int64_t> matrix(int64_t first, int64_t second) const {
    llvm::SmallVector<int64_t> shape(batch);
    shape.push_back(first);
    shape.push_back(second);
    return shape;
  }
  int64_t batchCount() const {
    int64_t count = 1;
    for (int64_t extent : batch)
      count *= extent;
    return count;
  }
};

/// A tensor of weft.attention, and where its elements are. `name` is that of the op's operand or result.
struct AttentionPart {
  llvm::StringLiteral name;
  mlir::Value value;
  AttentionView view;
  int64_t rows, columns; ///< of each batch index
  bool isWritten;
};

/// The tensors of an op in the order of its launch: q, k, v, out, lse, of the derivative also grad, dq, dk
/// and dv, and at last the mask, if there is one.
llvm::SmallVector<AttentionPart> partsOf(AttentionOp op);

} // namespace weft::ir

#endif // WEFT_IR_ATTENTION_H
