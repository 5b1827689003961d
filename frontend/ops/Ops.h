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

/// Options of what is made on the host, whatever device other tensors are made on.
inline TensorOptions onHost(std::optional<DType> dtype = {}) { return {.dtype = dtype, .device = Device()}; }

inline int64_t rankOf(const Ref &value) { return static_cast<int64_t>(value.spec().shape.size()); }
/// `dim` counted from the front; throws Error outside of [-rank, rank).
int64_t wrapDim(int64_t dim, int64_t rank, Loc loc);
/// All dimensions where `dims` is empty, else these, counted from the front, sorted.
std::vector<int64_t> wrapDims(const std::vector<int64_t> &dims, int64_t rank, Loc loc);

/// The common type of two tensors of equal priority, as in PyTorch.
DType promote(DType a, DType b);
/// Throws Error, which names the function, where the dtype is not a floating-point one.
void checkFloat(const Ref &value, const char *function, Loc loc);
/// The same for products, of operands of one dtype: throws Error where they are truth values, whose products
/// have no sum.
void checkContracted(const char *function, const std::vector<Ref> &operands, Loc loc);

/// The result of an operation that has nothing to do: a tensor of its own, which is no leaf where the operand
/// is one, and requires no gradient where gradients are off.
Tensor unchanged(Ref value, Loc loc);

/// A 0-dimensional tensor as one of one element, which functions with an index take it for.
Ref atLeast1(Ref value, Loc loc);

/// Writes `result`, which has its shape, into `target`, in its dtype; throws Error where the result's dtype
/// is of a higher category (float into integer, number into bool).
Tensor &updateInPlace(Tensor &target, const Tensor &result, Loc loc);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OPS_OPS_H
