//===- LinearAlgebra.cpp - Products of vectors and matrices --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/linear_algebra.hpp"

#include "frontend/Ops.h"
#include "ir/DimExpr.h"

#include <algorithm>
#include <numeric>

namespace weft {

using namespace frontend;

static Ref dot(Ref a, Ref b, std::vector<int64_t> batchA, std::vector<int64_t> batchB,
               std::vector<int64_t> contractA, std::vector<int64_t> contractB, Loc loc) {
  return record1("dot_general", {a, b},
                 {{"batch_a", std::move(batchA)},
                  {"batch_b", std::move(batchB)},
                  {"contract_a", std::move(contractA)},
                  {"contract_b", std::move(contractB)}},
                 loc);
}

Tensor matmul(const Tensor &ta, const Tensor &tb, Loc loc) {
  GraphLock lock(graphMutex());
  Ref a = use(ta, loc), b = use(tb, loc);
  int64_t ra = rankOf(a), rb = rankOf(b);
  if (ra == 0 || rb == 0)
    fail("both arguments to matmul need to be at least 1D, but they are " + std::to_string(ra) + "D and " +
             std::to_string(rb) + "D",
         loc, {a, b});
  const Shape &sa = a.spec().shape, &sb = b.spec().shape;
  if (a.spec().dtype != b.spec().dtype)
    fail("expected m1 and m2 to have the same dtype, but got: " + std::string(name(a.spec().dtype)) +
             " != " + std::string(name(b.spec().dtype)),
         loc, {a, b});
  int64_t ka = sa.back(), kb = rb == 1 ? sb[0] : sb[static_cast<size_t>(rb - 2)];
  if (ka != kb) {
    auto text = [](const Shape &shape) {
      std::string s;
      for (size_t i = 0; i < shape.size(); ++i)
        s += (i ? "x" : "") + ir::sizeText(shape[i]);
      return s;
    };
    fail("mat1 and mat2 shapes cannot be multiplied (" + text(sa) + " and " + text(sb) + ")", loc, {a, b});
  }
  // A matrix on the right meets every row of whatever is on the left.
  if (rb <= 2)
    return wrap(dot(a, b, {}, {}, {ra - 1}, {0}, loc), loc);
  if (ra == 1) {
    Tensor row = wrap(reshapeTo(a, {1, ka}, loc), loc);
    return matmul(row, tb, loc).squeeze(-2, loc);
  }
  // Batches broadcast.
  size_t batchRank = static_cast<size_t>(std::max(ra, rb) - 2);
  Shape batch(batchRank, 1);
  auto merge = [&](const Shape &shape) {
    size_t own = shape.size() - 2;
    for (size_t i = 0; i < own; ++i) {
      int64_t &into = batch[batchRank - own + i];
      if (into != shape[i] && into != 1 && shape[i] != 1)
        fail("The size of tensor a (" + ir::sizeText(into) + ") must match the size of tensor b (" +
                 ir::sizeText(shape[i]) + ") at non-singleton dimension " +
                 std::to_string(batchRank - own + i),
             loc, {a, b});
      into = into == 1 ? shape[i] : into;
    }
  };
  merge(sa);
  merge(sb);
  auto expanded = [&](Ref value, const Shape &shape) {
    Shape full = batch;
    full.insert(full.end(), shape.end() - 2, shape.end());
    return broadcastTo(value, full, loc);
  };
  std::vector<int64_t> batchDims(batchRank);
  std::iota(batchDims.begin(), batchDims.end(), 0);
  auto rank = static_cast<int64_t>(batchRank);
  return wrap(dot(expanded(a, sa), expanded(b, sb), batchDims, batchDims, {rank + 1}, {rank}, loc), loc);
}
Tensor Tensor::matmul(const Tensor &other, Loc loc) const { return weft::matmul(*this, other, loc); }

} // namespace weft
