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

Tensor pdist(const Tensor &a, double p, Loc loc) {
  checkFloat(use(a, loc), "pdist()", loc);
  if (a.dim(loc) != 2)
    fail("pdist only supports 2D tensors, got: " + std::to_string(a.dim(loc)) + "D", loc, {use(a, loc)});
  std::vector<int64_t> first, second;
  const int64_t rows = a.size(0, loc);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = i + 1; j < rows; ++j) {
      first.push_back(i);
      second.push_back(j);
    }
  auto chosen = [&](const std::vector<int64_t> &places) {
    Tensor index = Tensor::from(places, {static_cast<int64_t>(places.size())},
                                {.dtype = DType::i64, .device = a.device(loc)}, loc);
    return a.index_select(0, index, loc);
  };
  return sub({chosen(first), loc}, {chosen(second), loc}).norm(p, {1}, false, loc);
}

Tensor renorm(const Tensor &a, double p, int64_t dim, double maxnorm, Loc loc) {
  checkFloat(use(a, loc), "renorm()", loc);
  if (!(p > 0) || !(maxnorm >= 0))
    fail("renorm: non-positive norm or negative maxnorm: p is " + std::to_string(p) + ", and maxnorm " +
             std::to_string(maxnorm),
         loc, {use(a, loc)});
  dim = wrapDim(dim, a.dim(loc), loc);
  std::vector<int64_t> others;
  for (int64_t d = 0; d < a.dim(loc); ++d)
    if (d != dim)
      others.push_back(d);
  Tensor wide = widened(a, loc), norms = wide.norm(p, others, true, loc);
  Tensor factor = div({maxnorm, loc}, {add({norms, loc}, {1e-7, loc}), loc});
  Tensor kept = where(gt({norms, loc}, {maxnorm, loc}), {factor, loc}, {1.0, loc}, loc);
  return mul({wide, loc}, {kept, loc}).to(a.dtype(loc), loc);
}

} // namespace weft
