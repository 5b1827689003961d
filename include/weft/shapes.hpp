//===- shapes.hpp - Changes of shape as functions ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shape functions of Tensor as free functions with the same names; `tensor.hpp` describes them.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_SHAPES_HPP
#define WEFT_SHAPES_HPP

#include "weft/tensor.hpp"

#include <utility>

namespace weft {

inline Tensor reshape(const Tensor &a, IntList shape, Loc loc = Loc::current()) {
  return a.reshape(std::move(shape), loc);
}
inline Tensor flatten(const Tensor &a, int64_t start = 0, int64_t end = -1, Loc loc = Loc::current()) {
  return a.flatten(start, end, loc);
}
inline Tensor unflatten(const Tensor &a, int64_t dim, IntList sizes, Loc loc = Loc::current()) {
  return a.unflatten(dim, std::move(sizes), loc);
}
inline Tensor squeeze(const Tensor &a, Loc loc = Loc::current()) { return a.squeeze(loc); }
inline Tensor squeeze(const Tensor &a, IntList dims, Loc loc = Loc::current()) {
  return a.squeeze(std::move(dims), loc);
}
inline Tensor unsqueeze(const Tensor &a, int64_t dim, Loc loc = Loc::current()) {
  return a.unsqueeze(dim, loc);
}
inline Tensor transpose(const Tensor &a, int64_t dim0, int64_t dim1, Loc loc = Loc::current()) {
  return a.transpose(dim0, dim1, loc);
}
inline Tensor permute(const Tensor &a, IntList dims, Loc loc = Loc::current()) {
  return a.permute(std::move(dims), loc);
}
inline Tensor movedim(const Tensor &a, IntList from, IntList to, Loc loc = Loc::current()) {
  return a.movedim(std::move(from), std::move(to), loc);
}
inline Tensor moveaxis(const Tensor &a, IntList from, IntList to, Loc loc = Loc::current()) {
  return a.movedim(std::move(from), std::move(to), loc);
}
inline Tensor swapaxes(const Tensor &a, int64_t dim0, int64_t dim1, Loc loc = Loc::current()) {
  return a.transpose(dim0, dim1, loc);
}
inline Tensor t(const Tensor &a, Loc loc = Loc::current()) { return a.t(loc); }
inline Tensor ravel(const Tensor &a, Loc loc = Loc::current()) { return a.ravel(loc); }
inline Tensor select(const Tensor &a, int64_t dim, int64_t index, Loc loc = Loc::current()) {
  return a.select(dim, index, loc);
}
inline Tensor diagonal(const Tensor &a, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1,
                       Loc loc = Loc::current()) {
  return a.diagonal(offset, dim1, dim2, loc);
}
inline Tensor broadcast_to(const Tensor &a, IntList shape, Loc loc = Loc::current()) {
  return a.expand(std::move(shape), loc);
}
inline Tensor clone(const Tensor &a, Loc loc = Loc::current()) { return a.clone(loc); }

} // namespace weft

#endif // WEFT_SHAPES_HPP
