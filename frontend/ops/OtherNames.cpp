//===- OtherNames.cpp - Functions beside their first names ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/other_names.hpp"

#include "frontend/ops/Expr.h"
#include "weft/reduce.hpp"

#include <array>

namespace weft {

using namespace frontend;

DType promote_types(DType a, DType b) { return frontend::promote(a, b); }

DType result_type(const Arg &a, const Arg &b) {
  GraphLock lock(graphMutex());
  return resultType({operand(a), operand(b)});
}

bool can_cast(DType from, DType to) {
  return category(to) == Category::boolean ? from == to : category(from) <= category(to);
}

Tensor vander(const Tensor &x, std::optional<int64_t> n, bool increasing, Loc loc) {
  if (x.dim(loc) != 1)
    fail("vander takes a vector, found shape " + shapeText(x.sizes(loc)), loc, {use(x, loc)});
  const int64_t count = n.value_or(x.sizes(loc)[0]);
  if (count < 0)
    fail("vander: N must be non-negative, found " + std::to_string(count), loc);
  if (count == 0)
    return zeros({x.sizes(loc)[0], 0}, {.dtype = x.dtype(loc), .device = x.device(loc)}, loc);
  Tensor powers = linalg::vander(x, count, loc);
  return increasing ? powers : powers.flip(-1, loc);
}

/// How many columns sums of absolute values, the largest of which is the norm, have to be halved to be at
/// most 1, as a tensor of the batch's shape with two dimensions of size 1.
static Tensor countHalvings(const Tensor &a, int64_t most, Loc loc) {
  NoGradGuard guard;
  Tensor norm = a.detach(loc).abs(loc).sum(-2, true, loc).amax(-1, true, loc);
  return clamp(ceil(log2(norm, loc), loc), {0, loc}, {most, loc});
}

Tensor matrix_exp(const Tensor &a, Loc loc) {
  GraphLock lock(graphMutex());
  const Shape &shape = a.sizes(loc);
  if (!a.is_floating_point(loc))
    fail("matrix_exp takes a floating-point tensor, found " + std::string(name(a.dtype(loc))), loc,
         {use(a, loc)});
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2])
    fail("linalg.matrix_exp: A must be batches of square matrices, but they are " + shapeText(shape), loc,
         {use(a, loc)});
  if (a.numel(loc) == 0)
    return a.clone(loc);
  if (isHalf(a.dtype(loc)))
    return matrix_exp(a.to(DType::f32, loc), loc).to(a.dtype(loc), loc);
  // Norms up to 2^16 are halved to 1. Beyond them the result is infinite but for matrices with no positive
  // part, whose rounding errors are as large as it is.
  constexpr int64_t mostHalvings = 16;
  Tensor halvings = countHalvings(a, mostHalvings, loc);
  auto product = [&](const Tensor &x, const Tensor &y) { return matmul(x, y, loc); };
  Tensor scaled = mul({a, loc}, {exp2(neg({halvings, loc}), loc), loc});
  // The terms of degree 0 to 19, of which 1 / 20! is below the unit of f64, in groups of four.
  Tensor unit = eye(shape.back(), {}, {.dtype = a.dtype(loc), .device = a.device(loc)}, loc);
  const std::array<Tensor, 3> powers = {unit, scaled, product(scaled, scaled)};
  Tensor cube = product(powers[2], scaled), fourth = product(powers[2], powers[2]), sum;
  std::array<double, 20> factors{1};
  for (size_t i = 1; i < factors.size(); ++i)
    factors[i] = factors[i - 1] / static_cast<double>(i);
  for (size_t first = factors.size() - 4;; first -= 4) {
    Tensor group = mul({cube, loc}, {factors[first + 3], loc});
    for (size_t i = 3; i-- > 0;)
      group = add({group, loc}, {mul({powers[i], loc}, {factors[first + i], loc}), loc});
    sum = sum.defined() ? add({product(sum, fourth), loc}, {group, loc}) : group;
    if (first == 0)
      break;
  }
  for (int64_t i = 0; i < mostHalvings; ++i)
    sum = where(lt({i, loc}, {halvings, loc}), {product(sum, sum), loc}, {sum, loc}, loc);
  return sum;
}

} // namespace weft
