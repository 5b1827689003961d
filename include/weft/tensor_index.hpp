//===- tensor_index.hpp - Indexing as in Python --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The indices of `x.index({...})` and `x.index_put_({...}, value)`, as in libtorch:
//
//   using namespace weft::indexing;
//   x.index({Slice(1, 5), None, -1, Ellipsis});   // x[1:5, None, -1, ...], a view
//   x.index({rows});                              // x[rows], a copy
//   x.index_put_({mask}, 0);                      // x[mask] = 0
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TENSOR_INDEX_HPP
#define WEFT_TENSOR_INDEX_HPP

#include "weft/tensor.hpp"

namespace weft::indexing {

struct NoneType {};
struct EllipsisType {};
/// A new dimension of size 1; in a Slice, a bound left out.
inline constexpr NoneType None;
/// All dimensions that the other indices leave.
inline constexpr EllipsisType Ellipsis;

/// start:stop:step; bounds clamp and count from the end as in Python. The step is positive.
struct Slice {
  constexpr Slice() = default;
  constexpr Slice(NoneType, NoneType, int64_t step = 1) : step(step) {}
  constexpr Slice(NoneType, int64_t stop, int64_t step = 1) : stop(stop), step(step) {}
  constexpr Slice(int64_t start, NoneType, int64_t step = 1) : start(start), step(step) {}
  constexpr Slice(int64_t start, int64_t stop = INT64_MAX, int64_t step = 1)
      : start(start), stop(stop), step(step) {}
  int64_t start = 0, stop = INT64_MAX, step = 1;
};

/// One index of a list.
class TensorIndex {
public:
  enum class Kind : uint8_t { integer, slice, none, ellipsis, tensor };

  TensorIndex(NoneType) : kind(Kind::none) {}
  TensorIndex(EllipsisType) : kind(Kind::ellipsis) {}
  TensorIndex(Slice slice) : kind(Kind::slice), slice(slice) {}
  TensorIndex(const Tensor &tensor) : kind(Kind::tensor), tensor(tensor) {}
  template <typename T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  TensorIndex(T value) : kind(Kind::integer), integer(static_cast<int64_t>(value)) {}

  Kind kind;
  int64_t integer = 0;
  Slice slice;
  Tensor tensor;
};

} // namespace weft::indexing

#endif // WEFT_TENSOR_INDEX_HPP
