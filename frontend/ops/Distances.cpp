//===- Distances.cpp - Distances and directions of vectors ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/distances.hpp"

#include "frontend/ops/Ops.h"
#include "weft/joining.hpp"
#include "weft/math.hpp"

namespace weft {

using namespace frontend;

/// Throws Error, which names the function, unless both are floating-point; promotes their dtypes.
static std::pair<Tensor, Tensor> reals(const char *function, const Tensor &a, const Tensor &b, Loc loc) {
  checkFloat(use(a, loc), function, loc);
  checkFloat(use(b, loc), function, loc);
  DType dtype = promote(a.dtype(loc), b.dtype(loc));
  return {a.to(dtype, loc), b.to(dtype, loc)};
}

Tensor normalize(const Tensor &a, double p, IntList dims, double eps, Loc loc) {
  Tensor norm = clamp_min(a.norm(p, std::move(dims), true, loc), {eps, loc});
  return div({a, loc}, {norm, loc});
}

Tensor cosine_similarity(const Tensor &ta, const Tensor &tb, int64_t dim, double eps, Loc loc) {
  auto [a, b] = reals("cosine_similarity()", ta, tb, loc);
  DType dtype = a.dtype(loc);
  std::vector<Tensor> both = broadcast_tensors({widened(a, loc), widened(b, loc)}, loc);
  // Each is divided by its own norm, because the product of two norms may overflow.
  auto direction = [&](const Tensor &x) {
    return div({x, loc}, {clamp_min(x.norm(2, {dim}, true, loc), {eps, loc}), loc});
  };
  Tensor product = mul({direction(both[0]), loc}, {direction(both[1]), loc});
  return product.sum({dim}, false, loc).to(dtype, loc);
}

Tensor pairwise_distance(const Tensor &a, const Tensor &b, double p, double eps, bool keepdim, Loc loc) {
  Tensor difference = sub({a, loc}, {b, loc}); // of integers in their dtype, as in PyTorch
  return add({asReal(difference, loc), loc}, {eps, loc}).norm(p, {-1}, keepdim, loc);
}

Tensor cdist(const Tensor &ta, const Tensor &tb, double p, Loc loc) {
  auto [a, b] = reals("cdist()", ta, tb, loc);
  if (!(p >= 0))
    fail("cdist only supports non-negative p values, found " + std::to_string(p), loc);
  if (a.dim(loc) < 2 || b.dim(loc) < 2)
    fail("cdist only supports at least 2D tensors, X1 got: " + std::to_string(a.dim(loc)) +
             "D, X2 got: " + std::to_string(b.dim(loc)) + "D",
         loc, {use(a, loc), use(b, loc)});
  if (a.sizes(loc).back() != b.sizes(loc).back())
    fail("X1 and X2 must have the same number of columns. X1: " + shapeText(a.sizes(loc)) +
             " X2: " + shapeText(b.sizes(loc)),
         loc, {use(a, loc), use(b, loc)});
  return sub({a.unsqueeze(-2, loc), loc}, {b.unsqueeze(-3, loc), loc}).norm(p, {-1}, false, loc);
}

Tensor dist(const Tensor &ta, const Tensor &tb, double p, Loc loc) {
  auto [a, b] = reals("dist()", ta, tb, loc);
  return sub({a, loc}, {b, loc}).norm(p, {}, false, loc);
}

} // namespace weft
