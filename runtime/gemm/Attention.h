//===- Attention.h - Scaled dot-product attention -----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// out = softmax(scale q k^T + mask) v for a batch of matrices, and its derivative, in blocks of rows and keys
// that threads compute in parallel (AttentionTask.h). The blocks, and so the bits of the results, depend on
// the extents alone.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_ATTENTION_H
#define WEFT_RUNTIME_GEMM_ATTENTION_H

#include "weft/dtype.hpp"
#include "weft/export.hpp"
#include "weft/status.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::runtime {

/// The tensors of an attention, in the order of a launch. The forward launch has the first five, the backward
/// launch all except the mask. Both may have a mask. lse is of f32 and has one column.
enum class AttentionPart : uint8_t { q, k, v, out, lse, grad, dq, dk, dv, mask };
inline constexpr size_t attentionParts = 10;

/// The offset of a part, and its strides along the batch dimensions, rows and columns, in elements.
struct AttentionPlace {
  int64_t offset = 0;
  std::vector<int64_t> strides;
  bool operator==(const AttentionPlace &) const = default;
};

struct WEFT_RUNTIME_API AttentionShape {
  DType dtype = DType::f32;
  std::optional<DType> mask; ///< i1 (true: the key is visible), or `dtype` or f32 (added to the scores)
  std::vector<int64_t> batch;
  int64_t rows = 0, keys = 0, features = 0, values = 0;
  bool causal = false, backward = false;
  double scale = 1;
  std::array<AttentionPlace, attentionParts> places; ///< by AttentionPart
  bool operator==(const AttentionShape &) const = default;

  bool has(AttentionPart part) const {
    return part == AttentionPart::mask ? mask.has_value() : backward || part <= AttentionPart::lse;
  }
  /// Whether the launch writes a part.
  bool writes(AttentionPart part) const {
    return backward ? part == AttentionPart::dq || part == AttentionPart::dk || part == AttentionPart::dv
                    : part == AttentionPart::out || part == AttentionPart::lse;
  }
  /// Rows and columns of a part.
  std::pair<int64_t, int64_t> extents(AttentionPart part) const;
  DType dtype_of(AttentionPart part) const;
};

/// Whether the runtime has an attention of this element type.
WEFT_RUNTIME_API bool attention_supports(DType dtype);

/// An attention ready to run. May run on several threads at once.
class WEFT_RUNTIME_API Attention {
public:
  /// The shape must be verified (runtime/plan/PlanVerifier.h).
  explicit Attention(AttentionShape shape);
  const AttentionShape &shape() const { return shape_; }
  /// Bytes of scratch that run() needs for a team of `width` threads, 64-byte aligned.
  size_t scratch_bytes(int width) const;
  /// `parts` has the memory of each part of the shape, in order. If `serial`, only the calling thread
  /// computes; the results are the same.
  void run(void *const *parts, void *scratch, bool serial) const;

private:
  /// Whether a task of the derivative is a whole batch index. Otherwise, dq is computed in tasks of rows, and
  /// dk and dv in tasks of keys.
  bool is_whole() const;
  size_t floats() const;

  const AttentionShape shape_;
  int64_t batch_count_ = 1;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_ATTENTION_H
