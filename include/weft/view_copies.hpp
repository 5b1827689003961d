//===- view_copies.hpp - Views as copies -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's functions of the same names: what the members of Tensor give as views, with elements of its own.
// And the functions for complex numbers, of which real ones are the conjugates, real parts and so on of
// themselves.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_VIEW_COPIES_HPP
#define WEFT_VIEW_COPIES_HPP

#include "weft/joining.hpp"
#include "weft/tensor.hpp"

namespace weft {

inline Tensor alias_copy(const Tensor &a, Loc loc = Loc::current()) { return a.clone(loc); }
inline Tensor t_copy(const Tensor &a, Loc loc = Loc::current()) { return a.t(loc).clone(loc); }
inline Tensor view_copy(const Tensor &a, IntList shape, Loc loc = Loc::current()) {
  return a.view(std::move(shape), loc).clone(loc);
}
inline Tensor expand_copy(const Tensor &a, IntList shape, Loc loc = Loc::current()) {
  return a.expand(std::move(shape), loc).clone(loc);
}
inline Tensor permute_copy(const Tensor &a, IntList dims, Loc loc = Loc::current()) {
  return a.permute(std::move(dims), loc).clone(loc);
}
inline Tensor transpose_copy(const Tensor &a, int64_t dim0, int64_t dim1, Loc loc = Loc::current()) {
  return a.transpose(dim0, dim1, loc).clone(loc);
}
inline Tensor squeeze_copy(const Tensor &a, Loc loc = Loc::current()) { return a.squeeze(loc).clone(loc); }
inline Tensor squeeze_copy(const Tensor &a, IntList dims, Loc loc = Loc::current()) {
  return a.squeeze(std::move(dims), loc).clone(loc);
}
inline Tensor unsqueeze_copy(const Tensor &a, int64_t dim, Loc loc = Loc::current()) {
  return a.unsqueeze(dim, loc).clone(loc);
}
inline Tensor narrow_copy(const Tensor &a, int64_t dim, int64_t start, int64_t length,
                          Loc loc = Loc::current()) {
  return narrow(a, dim, start, length, loc).clone(loc);
}
inline Tensor diagonal_copy(const Tensor &a, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1,
                            Loc loc = Loc::current()) {
  return a.diagonal(offset, dim1, dim2, loc).clone(loc);
}
/// Windows of `size` elements along `dim`, `step` apart, whose elements are a new last dimension. A view if
/// there is one window, if windows have one element, or if no two share one and `step` elements begin with
/// the last window; else a copy, and writing to it is an error.
WEFT_API Tensor unfold(const Tensor &a, int64_t dim, int64_t size, int64_t step, Loc loc = Loc::current());
inline Tensor unfold_copy(const Tensor &a, int64_t dim, int64_t size, int64_t step,
                          Loc loc = Loc::current()) {
  return unfold(a, dim, size, step, loc).clone(loc);
}
/// The elements of the flattened tensor at offset + i0 strides[0] + i1 strides[1] + ..; they may overlap. A
/// view if they are those of a contiguous tensor in their order; else a copy, and writing to it is an error.
WEFT_API Tensor as_strided(const Tensor &a, IntList shape, IntList strides, int64_t offset = 0,
                           Loc loc = Loc::current());
inline Tensor as_strided_copy(const Tensor &a, IntList shape, IntList strides, int64_t offset = 0,
                              Loc loc = Loc::current()) {
  return as_strided(a, std::move(shape), std::move(strides), offset, loc).clone(loc);
}
/// `a` with `source` at these places.
WEFT_API Tensor as_strided_scatter(const Tensor &a, const Tensor &source, IntList shape, IntList strides,
                                   int64_t offset = 0, Loc loc = Loc::current());

inline std::vector<Tensor> unbind_copy(const Tensor &a, int64_t dim = 0, Loc loc = Loc::current()) {
  std::vector<Tensor> parts = unbind(a, dim, loc);
  for (Tensor &part : parts)
    part = part.clone(loc);
  return parts;
}
inline std::vector<Tensor> split_with_sizes_copy(const Tensor &a, const std::vector<int64_t> &sizes,
                                                 int64_t dim = 0, Loc loc = Loc::current()) {
  std::vector<Tensor> parts = split(a, sizes, dim, loc);
  for (Tensor &part : parts)
    part = part.clone(loc);
  return parts;
}
/// `chunk` and `split`, by names that promise nothing about writes through their results.
inline std::vector<Tensor> unsafe_chunk(const Tensor &a, int64_t chunks, int64_t dim = 0,
                                        Loc loc = Loc::current()) {
  return chunk(a, chunks, dim, loc);
}
inline std::vector<Tensor> unsafe_split(const Tensor &a, int64_t size, int64_t dim = 0,
                                        Loc loc = Loc::current()) {
  return split(a, size, dim, loc);
}

/// The tensor itself.
inline Tensor conj(const Tensor &a, Loc = Loc::current()) { return a; }
inline Tensor conj_physical(const Tensor &a, Loc = Loc::current()) { return a; }
inline Tensor resolve_conj(const Tensor &a, Loc = Loc::current()) { return a; }
inline Tensor resolve_neg(const Tensor &a, Loc = Loc::current()) { return a; }
inline Tensor real(const Tensor &a, Loc = Loc::current()) { return a; }
/// The last two dimensions exchanged; H, of a matrix.
inline Tensor adjoint(const Tensor &a, Loc loc = Loc::current()) { return a.mT(loc); }
inline Tensor mH(const Tensor &a, Loc loc = Loc::current()) { return a.mT(loc); }
inline Tensor H(const Tensor &a, Loc loc = Loc::current()) { return a.t(loc); }
/// As bool: true everywhere.
WEFT_API Tensor isreal(const Tensor &a, Loc loc = Loc::current());
/// 0, and pi below 0; NaN for NaN.
WEFT_API Tensor angle(const Tensor &a, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_VIEW_COPIES_HPP
