//===- LinalgNorms.cpp - Norms of matrices and vectors ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/linalg.hpp"

#include "weft/dim.hpp"

#include "frontend/ops/Ops.h"
#include "frontend/ops/Promotion.h"
#include "weft/math.hpp"
#include "weft/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::linalg {

using namespace frontend;

namespace {

/// The matrices in two dimensions, which become the last ones.
struct NormOf {
  Tensor matrices;
  int64_t row, column;
  bool keepdim;
  Loc loc;

  NormOf(const Tensor &a, const IntList &dims, bool keepdim, Loc loc) : keepdim(keepdim), loc(loc) {
    checkFloat(use(a, loc), "linalg.matrix_norm", loc);
    if (a.dim(loc) < 2 || dims.size() != 2)
      fail("linalg.matrix_norm: The input tensor A must have at least 2 dimensions, and dim must be a "
           "2-tuple, found " +
               shapeText(a.sizes(loc)) + " and " + shapeText(dims),
           loc, {use(a, loc)});
    row = wrapDim(dims[0], a.dim(loc), loc);
    column = wrapDim(dims[1], a.dim(loc), loc);
    if (row == column)
      fail("linalg.matrix_norm: dims must be different. Got " + shapeText(dims), loc, {use(a, loc)});
    matrices = widened(a, loc).movedim({row, column}, {-2, -1}, loc);
  }
  /// A number for each matrix as the result.
  Tensor result(const Tensor &norms, DType dtype) const {
    Tensor made = norms;
    if (keepdim)
      for (int64_t dim : {std::min(row, column), std::max(row, column)})
        made = made.unsqueeze(dim, loc);
    return made.to(dtype, loc);
  }
};

} // namespace

Tensor matrix_norm(const Tensor &a, const std::string &ord, IntList dims, bool keepdim, Loc loc) {
  NormOf of(a, dims, keepdim, loc);
  if (ord == "fro")
    return of.result(of.matrices.norm(2, {-2, -1}, false, loc), a.dtype(loc));
  if (ord == "nuc")
    return of.result(svdvals(of.matrices, loc).sum({-1}, false, loc), a.dtype(loc));
  fail("linalg.matrix_norm: Order " + ord + " not supported.", loc);
}

Tensor matrix_norm(const Tensor &a, double ord, IntList dims, bool keepdim, Loc loc) {
  NormOf of(a, dims, keepdim, loc);
  const double size = std::abs(ord);
  if (size != 1 && size != 2 && !std::isinf(size))
    fail("linalg.matrix_norm: Order " + std::to_string(ord) + " not supported.", loc);
  Tensor sums =
      size == 2 ? svdvals(of.matrices, loc) : abs(of.matrices, loc).sum({size == 1 ? -2 : -1}, false, loc);
  // The largest of no sums is 0, as in PyTorch.
  if (ord > 0 && sums.sym_size(-1, loc) == Size(0))
    return of.result(sums.sum({-1}, false, loc), a.dtype(loc));
  return of.result(ord > 0 ? sums.amax({-1}, false, loc) : sums.amin({-1}, false, loc), a.dtype(loc));
}

Tensor vector_norm(const Tensor &a, double ord, IntList dims, bool keepdim, Loc loc) {
  return a.norm(ord, std::move(dims), keepdim, loc);
}

Tensor norm(const Tensor &a, IntList dims, bool keepdim, Loc loc) {
  return a.norm(2, std::move(dims), keepdim, loc);
}

Tensor norm(const Tensor &a, double ord, IntList dims, bool keepdim, Loc loc) {
  if (dims.empty() && a.dim(loc) == 2)
    return matrix_norm(a, ord, {0, 1}, keepdim, loc);
  if (dims.size() == 2)
    return matrix_norm(a, ord, std::move(dims), keepdim, loc);
  if (dims.size() > 2 || (dims.empty() && a.dim(loc) > 2))
    fail("linalg.norm: If dim is specified, it must be of length 1 or 2; otherwise A must have one or two "
         "dimensions. "
         "Got " +
             shapeText(dims) + " and " + shapeText(a.sizes(loc)),
         loc, {use(a, loc)});
  return a.norm(ord, std::move(dims), keepdim, loc);
}

Tensor norm(const Tensor &a, const std::string &ord, IntList dims, bool keepdim, Loc loc) {
  return matrix_norm(a, ord, dims.empty() ? IntList{0, 1} : dims, keepdim, loc);
}

} // namespace weft::linalg
