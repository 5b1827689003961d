//===- LinearAlgebra.cpp - Products of vectors and matrices --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/linear_algebra.hpp"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/Ops.h"
#include "weft/joining.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {

using namespace frontend;

/// "2x3".
static std::string timesText(const Shape &shape) {
  std::string text;
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "x" : "") + sizeText(shape[i]);
  return text;
}

void frontend::checkContracted(const char *function, const std::vector<Ref> &operands, Loc loc) {
  if (operands[0].spec().dtype == DType::i1)
    fail(std::string(function) +
             " is not implemented for 'Bool' (i1): sums of products of truth values are numbers, so convert "
             "the operands first, as in a.to(weft::i32)",
         loc, operands);
}

static Ref product(Ref a, Ref b, std::vector<int64_t> batchA, std::vector<int64_t> batchB,
                   std::vector<int64_t> contractA, std::vector<int64_t> contractB, Loc loc) {
  return record1("dot_general", {a, b},
                 {{"batch_a", std::move(batchA)},
                  {"batch_b", std::move(batchB)},
                  {"contract_a", std::move(contractA)},
                  {"contract_b", std::move(contractB)},
                  {"operandSegmentSizes", std::vector<int64_t>{1, 1, 0, 0, 0}}},
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
             " != " + std::string(name(b.spec().dtype)) + "; to convert one, write .to(weft::" +
             std::string(name(promote(a.spec().dtype, b.spec().dtype))) + ")",
         loc, {a, b});
  checkContracted("matmul()", {a, b}, loc);
  int64_t ka = sa.back(), kb = rb == 1 ? sb[0] : sb[static_cast<size_t>(rb - 2)];
  if (ka != kb) {
    fail("mat1 and mat2 shapes cannot be multiplied (" + timesText(sa) + " and " + timesText(sb) + ")", loc,
         {a, b});
  }
  // A matrix on the right multiplies all rows of the left operand in one product.
  if (rb <= 2)
    return wrap(product(a, b, {}, {}, {ra - 1}, {0}, loc), loc);
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
        fail("The size of tensor a (" + sizeText(into) + ") must match the size of tensor b (" +
                 sizeText(shape[i]) + ") at non-singleton dimension " + std::to_string(batchRank - own + i),
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
  return wrap(product(expanded(a, sa), expanded(b, sb), batchDims, batchDims, {rank + 1}, {rank}, loc), loc);
}

//===----------------------------------------------------------------------===//
// Products of fixed ranks
//===----------------------------------------------------------------------===//

static void checkRank(const char *message, const Tensor &a, int64_t rank, Loc loc) {
  if (Ref value = use(a, loc); rankOf(value) != rank)
    fail(std::string(message) + ", but got " + std::to_string(rankOf(value)) + "-D of shape " +
             shapeText(value.spec().shape),
         loc, {value});
}

Tensor mm(const Tensor &a, const Tensor &b, Loc loc) {
  checkRank("mm: self must be a matrix", a, 2, loc);
  checkRank("mm: mat2 must be a matrix", b, 2, loc);
  return matmul(a, b, loc);
}

Tensor bmm(const Tensor &a, const Tensor &b, Loc loc) {
  GraphLock lock(graphMutex());
  checkRank("bmm: batch1 must be a 3D tensor", a, 3, loc);
  checkRank("bmm: batch2 must be a 3D tensor", b, 3, loc);
  const Shape &sa = a.sizes(loc), &sb = b.sizes(loc);
  if (sa[0] != sb[0] || sa[2] != sb[1])
    fail("Expected size for first two dimensions of batch2 tensor to be: " + shapeText({sa[0], sa[2]}) +
             " but got: " + shapeText({sb[0], sb[1]}) + ".",
         loc, {use(a, loc), use(b, loc)});
  return matmul(a, b, loc);
}

Tensor mv(const Tensor &matrix, const Tensor &vector, Loc loc) {
  GraphLock lock(graphMutex());
  checkRank("mv: self must be a matrix", matrix, 2, loc);
  checkRank("mv: vec must be a vector", vector, 1, loc);
  if (matrix.sizes(loc)[1] != vector.sizes(loc)[0])
    fail("size mismatch, got mat (" + timesText(matrix.sizes(loc)) + "), vec (" +
             timesText(vector.sizes(loc)) + ")",
         loc, {use(matrix, loc), use(vector, loc)});
  return matmul(matrix, vector, loc);
}

Tensor dot(const Tensor &a, const Tensor &b, Loc loc) {
  GraphLock lock(graphMutex());
  checkRank("dot: 1D tensors expected", a, 1, loc);
  checkRank("dot: 1D tensors expected", b, 1, loc);
  if (a.sizes(loc) != b.sizes(loc))
    fail("inconsistent tensor size, expected tensor " + shapeText(a.sizes(loc)) + " and src " +
             shapeText(b.sizes(loc)) + " to have the same number of elements",
         loc, {use(a, loc), use(b, loc)});
  return matmul(a, b, loc);
}

Tensor outer(const Tensor &a, const Tensor &b, Loc loc) {
  checkRank("outer: Expected 1-D argument self", a, 1, loc);
  checkRank("outer: Expected 1-D argument vec2", b, 1, loc);
  return mul({a.unsqueeze(-1, loc), loc}, {b, loc});
}

/// beta * input + alpha * product.
static Tensor addProduct(const char *function, const Tensor &input, Tensor product, double beta, double alpha,
                         Loc loc) {
  GraphLock lock(graphMutex());
  DType dtype = product.dtype(loc);
  if (input.dtype(loc) != dtype)
    fail(std::string(function) + ": expected self and the matrices to have the same dtype, but got " +
             std::string(name(input.dtype(loc))) + " and " + std::string(name(dtype)),
         loc, {use(input, loc)});
  auto factor = [&](double value) -> Arg {
    if (is_floating_point(dtype))
      return {value, loc};
    if (!(std::abs(value) < 0x1p63) || value != std::trunc(value))
      fail(std::string(function) + ": for integral tensors beta and alpha must be whole numbers, found " +
               std::to_string(value),
           loc);
    return {static_cast<int64_t>(value), loc};
  };
  if (alpha != 1)
    product = mul({product, loc}, factor(alpha));
  Tensor spread = input.expand(product.sizes(loc), loc);
  if (beta == 0)
    return product;
  return add({beta == 1 ? spread : mul({spread, loc}, factor(beta)), loc}, {product, loc});
}

Tensor addmm(const Tensor &input, const Tensor &a, const Tensor &b, double beta, double alpha, Loc loc) {
  return addProduct("addmm", input, mm(a, b, loc), beta, alpha, loc);
}
Tensor baddbmm(const Tensor &input, const Tensor &a, const Tensor &b, double beta, double alpha, Loc loc) {
  return addProduct("baddbmm", input, bmm(a, b, loc), beta, alpha, loc);
}

//===----------------------------------------------------------------------===//
// Diagonals
//===----------------------------------------------------------------------===//

Tensor diag(const Tensor &a, int64_t diagonal, Loc loc) {
  if (a.dim(loc) == 2)
    return a.diagonal(diagonal, 0, 1, loc).clone(loc);
  checkRank("diag: Supports 1D or 2D tensors", a, 1, loc);
  int64_t above = std::max<int64_t>(diagonal, 0), below = std::max<int64_t>(-diagonal, 0);
  Tensor columns = pad(a, {above, below}, {0, loc}, loc);
  int64_t n = columns.size(0, loc);
  Tensor number = arange(n, {.device = a.device(loc)}, loc);
  Tensor distance = sub({number, loc}, {number.unsqueeze(-1, loc), loc});
  return where(eq({distance, loc}, {diagonal, loc}), {columns, loc}, {zeros_like(columns, loc), loc}, loc);
}

Tensor trace(const Tensor &a, Loc loc) {
  checkRank("trace: expected a matrix", a, 2, loc);
  return a.diagonal(0, 0, 1, loc).sum({}, false, loc);
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

Tensor Tensor::matmul(const Tensor &other, Loc loc) const { return weft::matmul(*this, other, loc); }
Tensor Tensor::mm(const Tensor &other, Loc loc) const { return weft::mm(*this, other, loc); }
Tensor Tensor::bmm(const Tensor &other, Loc loc) const { return weft::bmm(*this, other, loc); }
Tensor Tensor::mv(const Tensor &vector, Loc loc) const { return weft::mv(*this, vector, loc); }
Tensor Tensor::dot(const Tensor &other, Loc loc) const { return weft::dot(*this, other, loc); }
Tensor Tensor::outer(const Tensor &other, Loc loc) const { return weft::outer(*this, other, loc); }
Tensor Tensor::addmm(const Tensor &a, const Tensor &b, double beta, double alpha, Loc loc) const {
  return weft::addmm(*this, a, b, beta, alpha, loc);
}
Tensor Tensor::baddbmm(const Tensor &a, const Tensor &b, double beta, double alpha, Loc loc) const {
  return weft::baddbmm(*this, a, b, beta, alpha, loc);
}

} // namespace weft
