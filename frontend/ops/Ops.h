//===- Ops.h - Helpers of the functions on tensors --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_OPS_OPS_H
#define WEFT_FRONTEND_OPS_OPS_H

#include "frontend/graph/Shapes.h"
#include "frontend/ops/Handle.h"
#include "weft/autograd.hpp"
#include "weft/creation.hpp"
#include "weft/operators.hpp"

namespace weft::frontend {

/// Options for a tensor on the host, whatever the default device is.
inline TensorOptions onHost(std::optional<DType> dtype = {}) { return {.dtype = dtype, .device = Device()}; }

/// The options of a tensor like another one.
inline TensorOptions filledIn(const LikeOptions &options, const Tensor &like, Loc loc) {
  return {.dtype = options.dtype.value_or(like.dtype(loc)),
          .device = options.device.value_or(like.device(loc)),
          .requires_grad = options.requires_grad};
}

inline int64_t rankOf(const Ref &value) { return static_cast<int64_t>(value.spec().shape.size()); }
/// `dim` counted from the front; throws Error outside of [-rank, rank).
int64_t wrapDim(int64_t dim, int64_t rank, Loc loc);
/// All dimensions if `dims` is empty; otherwise these, counted from the front and sorted.
std::vector<int64_t> wrapDims(const std::vector<int64_t> &dims, int64_t rank, Loc loc);

/// The common type of two tensors of equal priority, as in PyTorch.
DType promote(DType a, DType b);
/// Throws Error, which names the function, if the dtype is not floating-point.
void checkFloat(const Ref &value, const char *function, Loc loc);
/// f16 and bf16 as f32, for functions that compute in f32 and round once; others unchanged.
inline Tensor widened(const Tensor &a, Loc loc) {
  DType dtype = a.dtype(loc);
  return dtype == DType::f16 || dtype == DType::bf16 ? a.to(DType::f32, loc) : a;
}
/// Integers and bools as f32, for functions that compute with them in f32; others unchanged.
inline Tensor asReal(const Tensor &a, Loc loc) {
  return is_floating_point(a.dtype(loc)) ? a : a.to(DType::f32, loc);
}
/// A size, which may be symbolic, as a 0-dimensional tensor of this dtype, which each call computes.
Tensor numberOf(int64_t size, DType dtype, Device device, Loc loc);
/// Throws Error, which names the function, if the operands of a matrix product are bools.
void checkContracted(const char *function, const std::vector<Ref> &operands, Loc loc);

/// The result of an operation that changes nothing: a new tensor with the value. It is no leaf, even if the
/// operand is one, and requires no gradient while gradients are off.
Tensor unchanged(Ref value, Loc loc);

/// Gives a 0-dimensional tensor the shape [1], as which functions with an index treat it.
Ref atLeast1(Ref value, Loc loc);

/// Writes `result` into `target`, which has the same shape, converted to its dtype. Throws Error if the
/// result's dtype is of a higher category (float into integer, number into bool).
Tensor &updateInPlace(Tensor &target, const Tensor &result, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_OPS_H
