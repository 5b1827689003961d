//===- AttentionTask.h - Blocks of attention, per processor level -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores are computed transposed, [keys x rows]. Keys and values are then read in place, only the queries of
// a block are transposed, and the softmax of 32 rows works on vectors of rows. Each step computes a tile of
// keys, with the running maximum and sum of each row, in f32. Few rows are computed one by one. The order of
// every sum depends on the extents and the constants below.
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

/// A task: rows [begin, end) of one batch index, or keys [begin, end) for `backward_keys`.
struct AttentionTask {
  AttentionMatrix q, k, v, out, lse, grad, dq, dk, dv, mask;
  int64_t rows, keys, features, values, begin, end;
  float scale;
  bool causal;
  AttentionMask mask_kind;
  float *scratch; ///< 64-byte aligned
};

inline constexpr int64_t attentionRows = 32, attentionKeys = 128, attentionPad = 16;
/// Up to so many rows are computed one by one, as for a token that is generated.
inline constexpr int64_t attentionFewRows = 4;

/// The number of columns of a matrix in scratch, padded to a multiple of `attentionPad`.
inline constexpr int64_t attention_columns(int64_t columns) {
  return (columns + attentionPad - 1) / attentionPad * attentionPad;
}

/// Floats of scratch of a forward task.
inline constexpr int64_t attention_forward_floats(int64_t features, int64_t values) {
  return attentionRows * (attention_columns(features) + attention_columns(values) + attentionKeys + 4) +
         attentionKeys * (attention_columns(features) + attention_columns(values));
}
/// Floats of scratch of a backward task, with the sums dk and dv of `keys` keys.
inline constexpr int64_t attention_backward_floats(int64_t features, int64_t values, int64_t keys) {
  const int64_t e = attention_columns(features), ev = attention_columns(values);
  return attentionRows * (3 * e + 2 * ev + 2 * attentionKeys + 2) + (attentionKeys + keys) * (e + ev);
}

using AttentionFn = void (*)(const AttentionTask *task);

/// The functions of one element type; null if the type has no attention.
struct AttentionFunctions {
  AttentionFn forward;       ///< rows: out and lse
  AttentionFn backward;      ///< all rows: dq, dk and dv
  AttentionFn backward_rows; ///< rows: dq
  AttentionFn backward_keys; ///< keys: dk and dv, with the same bits as `backward`
};
/// By DType number.
struct AttentionTable {
  AttentionFunctions functions[10];
};
WEFT_RUNTIME_API extern const AttentionTable attentionBaseline, attentionV3, attentionV4;

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_ATTENTIONTASK_H
