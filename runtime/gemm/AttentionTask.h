//===- AttentionTask.h - Blocks of attention, per processor level -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores are computed transposed, [keys x rows]: keys and values are then read where they lie, only the
// queries of a block are transposed, and the softmax of 32 rows is a walk along vectors. A tile of keys at a
// time, with the running maximum and sum of each row; everything in f32. The order of every sum follows from
// the extents and the constants below.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_ATTENTIONTASK_H
#define WEFT_RUNTIME_GEMM_ATTENTIONTASK_H

#include "weft/export.hpp"

#include <stdint.h>

namespace weft::runtime {

/// A matrix of one batch index; strides in elements.
struct AttentionMatrix {
  char *data;
  int64_t row, column;
};

enum class AttentionMask : uint8_t { none, choice, f16, bf16, f32 };

/// A part of one batch index: rows [begin, end), or keys where the part is one of the keys.
struct AttentionTask {
  AttentionMatrix q, k, v, out, lse, grad, dq, dk, dv, mask;
  int64_t rows, keys, features, values, begin, end;
  float scale;
  bool causal;
  AttentionMask mask_kind;
  float *scratch; ///< 64-byte aligned
};

inline constexpr int64_t attentionRows = 32, attentionKeys = 128, attentionPad = 16;

/// Columns of a matrix in scratch.
inline constexpr int64_t attention_columns(int64_t columns) {
  return (columns + attentionPad - 1) / attentionPad * attentionPad;
}

/// Floats of scratch of a block of rows, for each part of a task.
inline constexpr int64_t attention_forward_floats(int64_t features, int64_t values) {
  return attentionRows * (attention_columns(features) + attention_columns(values) + attentionKeys + 4) +
         attentionKeys * (attention_columns(features) + attention_columns(values));
}
/// With the sums of the derivative of `keys` keys and values.
inline constexpr int64_t attention_backward_floats(int64_t features, int64_t values, int64_t keys) {
  const int64_t e = attention_columns(features), ev = attention_columns(values);
  return attentionRows * (3 * e + 2 * ev + 2 * attentionKeys + 2) + (attentionKeys + keys) * (e + ev);
}

using AttentionFn = void (*)(const AttentionTask *task);

/// Of one element type; null where there is no launch.
struct AttentionFunctions {
  AttentionFn forward;       ///< rows: out and lse
  AttentionFn backward;      ///< all rows: dq, dk and dv
  AttentionFn backward_rows; ///< rows: dq
  AttentionFn backward_keys; ///< keys: dk and dv, to the bits of `backward`
};
/// By DType number.
struct AttentionTable {
  AttentionFunctions functions[10];
};
WEFT_RUNTIME_API extern const AttentionTable attentionBaseline, attentionV3, attentionV4;

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_ATTENTIONTASK_H
