//===- attention.hpp - Scaled dot-product attention --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_ATTENTION_HPP
#define WEFT_ATTENTION_HPP

#include "weft/tensor.hpp"

#include <optional>

namespace weft {

struct AttentionOptions {
  /// Broadcasts to [.., L, S]: of bool, where true takes part, or numbers that are added to the scores, of
  /// the dtype of the query or f32.
  Tensor mask = {};
  bool causal = false;              ///< row i sees the first i + 1 keys; not together with a mask
  std::optional<double> scale = {}; ///< of the scores; 1 / sqrt(E) by default
  bool enable_gqa = false;          ///< key and value may have fewer heads, which queries then share in turn
  double dropout_p = 0;             ///< must be 0: dropout of probabilities is not supported
};

/// softmax(scale * query key^T + mask) value, with the shapes of
/// torch.nn.functional.scaled_dot_product_attention: query [.., L, E], key [.., S, E], value [.., S, Ev]; the
/// dimensions before the last two broadcast, the result is [.., L, Ev]. A row that sees no key is 0. On a CPU
/// it is one launch, forward and backward, that holds blocks of the scores and never all of them, where the
/// sizes are known when it is compiled and the dtype is f32, f16 or bf16; otherwise it is products and a
/// softmax. Halves compute in f32. (Blocks with the
/// running maximum and sum of each row: Milakov and Gimelshein, 2018; Dao et al., FlashAttention, 2022.) The
/// gradient of a mask, and a second derivative, hold all of the scores.
WEFT_API Tensor scaled_dot_product_attention(const Tensor &query, const Tensor &key, const Tensor &value,
                                             AttentionOptions options = {}, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_ATTENTION_HPP
