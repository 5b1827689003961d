//===- creation.hpp - Making tensors -------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without options the dtype is f32, unless the function says otherwise, and the device the one that creation
// happens on (set_default_device). Sizes are not negative; what would have more than 2^63 bytes is an error.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CREATION_HPP
#define WEFT_CREATION_HPP

#include "weft/tensor.hpp"

namespace weft {

WEFT_API Tensor empty(Shape shape, TensorOptions options = {}, Loc loc = Loc::current());
WEFT_API Tensor zeros(Shape shape, TensorOptions options = {}, Loc loc = Loc::current());
WEFT_API Tensor ones(Shape shape, TensorOptions options = {}, Loc loc = Loc::current());
WEFT_API Tensor full(Shape shape, double value, TensorOptions options = {}, Loc loc = Loc::current());
WEFT_API Tensor zeros_like(const Tensor &like, Loc loc = Loc::current());
WEFT_API Tensor ones_like(const Tensor &like, Loc loc = Loc::current());
/// 0, 1, .. n-1 as i64 unless another dtype is asked for.
WEFT_API Tensor arange(int64_t n, TensorOptions options = {}, Loc loc = Loc::current());
/// A 0-dimensional tensor.
WEFT_API Tensor scalar(double value, TensorOptions options = {}, Loc loc = Loc::current());
/// start, start + step, .. below `end` (above it, for a negative step): i64, or f32 from real bounds, unless
/// another dtype is asked for.
WEFT_API Tensor arange(const Arg &start, const Arg &end, const Arg &step = Arg(1), TensorOptions options = {},
                       Loc loc = Loc::current());
/// `steps` numbers from `start` to `end`, both included.
WEFT_API Tensor linspace(double start, double end, int64_t steps, TensorOptions options = {},
                         Loc loc = Loc::current());
/// Ones on the main diagonal of a matrix of n rows and m (or n) columns.
WEFT_API Tensor eye(int64_t n, std::optional<int64_t> m = {}, TensorOptions options = {},
                    Loc loc = Loc::current());
WEFT_API Tensor full_like(const Tensor &like, double value, Loc loc = Loc::current());
WEFT_API Tensor empty_like(const Tensor &like, Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_CREATION_HPP
