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
Tensor addmv(const Tensor &input, const Tensor &matrix, const Tensor &vector, double beta, double alpha,
             Loc loc) {
  return addProduct("addmv", input, mv(matrix, vector, loc), beta, alpha, loc);
}
Tensor addbmm(const Tensor &input, const Tensor &a, const Tensor &b, double beta, double alpha, Loc loc) {
  Tensor sum = bmm(a, b, loc);
  return addProduct("addbmm", input, sum.sum({0}, false, loc).to(sum.dtype(loc), loc), beta, alpha, loc);
}
Tensor addr(const Tensor &input, const Tensor &a, const Tensor &b, double beta, double alpha, Loc loc) {
  DType dtype = promote(input.dtype(loc), promote(a.dtype(loc), b.dtype(loc)));
  Tensor product = outer(a, b, loc).to(dtype, loc);
  if (dtype == DType::i1) { // "or" and "and"; factors are true or false
    Tensor scaled = logical_and({product, loc}, {alpha != 0, loc});
    return logical_or({logical_and({input, loc}, {beta != 0, loc}), loc}, {scaled, loc});
  }
  return addProduct("addr", input.to(dtype, loc), product, beta, alpha, loc);
}

//===----------------------------------------------------------------------===//
// Products over several dimensions
//===----------------------------------------------------------------------===//

/// `dims` counted from the front; throws Error if one is named twice.
static std::vector<int64_t> contracted(const Tensor &a, const IntList &dims, Loc loc) {
  std::vector<int64_t> over;
  for (int64_t dim : dims)
    over.push_back(wrapDim(dim, a.dim(loc), loc));
  std::vector<int64_t> sorted = over;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    fail("tensordot: a dimension appears multiple times in the list of dims: " + shapeText(over), loc,
         {use(a, loc)});
  return over;
}

Tensor tensordot(const Tensor &ta, const Tensor &tb, IntList dims_a, IntList dims_b, Loc loc) {
  GraphLock lock(graphMutex());
  if (dims_a.size() != dims_b.size())
    fail("both dimension lists should have same length, found " + std::to_string(dims_a.size()) + " and " +
             std::to_string(dims_b.size()),
         loc, {use(ta, loc), use(tb, loc)});
  if (ta.dtype(loc) != tb.dtype(loc))
    fail("tensordot: both inputs should have same dtype, found " + std::string(name(ta.dtype(loc))) +
             " and " + std::string(name(tb.dtype(loc))),
         loc, {use(ta, loc), use(tb, loc)});
  checkContracted("tensordot()", {use(ta, loc), use(tb, loc)}, loc);
  std::vector<int64_t> overA = contracted(ta, dims_a, loc), overB = contracted(tb, dims_b, loc);
  Tensor a = ta, b = tb;
  for (size_t i = 0; i < overA.size(); ++i) {
    int64_t inA = a.sizes(loc)[static_cast<size_t>(overA[i])],
            inB = b.sizes(loc)[static_cast<size_t>(overB[i])];
    if (inA == inB)
      continue;
    // A dimension of size 1 stretches: the sum of products is the one times the sum of the other.
    if (inA == 1)
      b = b.sum({overB[i]}, true, loc).to(b.dtype(loc), loc);
    else if (inB == 1)
      a = a.sum({overA[i]}, true, loc).to(a.dtype(loc), loc);
    else
      fail("contracted dimensions need to match, but first has size " + sizeText(inA) + " in dim " +
               std::to_string(overA[i]) + " and second has size " + sizeText(inB) + " in dim " +
               std::to_string(overB[i]),
           loc, {use(a, loc), use(b, loc)});
  }
  return wrap(product(use(a, loc), use(b, loc), {}, {}, overA, overB, loc), loc);
}

Tensor tensordot(const Tensor &a, const Tensor &b, int64_t dims, Loc loc) {
  if (dims < 0 || dims > std::min(a.dim(loc), b.dim(loc)))
    fail("tensordot expects dims >= 0 and no more than the operands have, but got dims=" +
             std::to_string(dims) + " for " + shapeText(a.sizes(loc)) + " and " + shapeText(b.sizes(loc)),
         loc, {use(a, loc), use(b, loc)});
  std::vector<int64_t> last, first;
  for (int64_t i = 0; i < dims; ++i) {
    last.push_back(a.dim(loc) - dims + i);
    first.push_back(i);
  }
  return tensordot(a, b, last, first, loc);
}

Tensor inner(const Tensor &a, const Tensor &b, Loc loc) {
  if (a.dim(loc) == 0 || b.dim(loc) == 0)
    return mul({a, loc}, {b, loc});
  return tensordot(a, b, {-1}, {-1}, loc);
}

Tensor kron(const Tensor &a, const Tensor &b, Loc loc) {
  Shape sa = a.sizes(loc), sb = b.sizes(loc), apartA, apartB, result;
  size_t rank = std::max(sa.size(), sb.size());
  sa.insert(sa.begin(), rank - sa.size(), 1);
  sb.insert(sb.begin(), rank - sb.size(), 1);
  // Every dimension becomes two: that of `a`, then that of `b`.
  for (size_t i = 0; i < rank; ++i) {
    apartA.insert(apartA.end(), {sa[i], 1});
    apartB.insert(apartB.end(), {1, sb[i]});
    result.push_back(entryOf(sizeOf(sa[i]) * sizeOf(sb[i]), loc));
  }
  return mul({a.reshape(apartA, loc), loc}, {b.reshape(apartB, loc), loc}).reshape(result, loc);
}

Tensor cross(const Tensor &a, const Tensor &b, std::optional<int64_t> dim, Loc loc) {
  std::vector<Tensor> both = broadcast_tensors({a, b}, loc);
  const Shape &shape = both[0].sizes(loc);
  int64_t along = 0;
  if (dim)
    along = wrapDim(*dim, both[0].dim(loc), loc);
  else
    along = std::find(shape.begin(), shape.end(), 3) - shape.begin();
  if (along == both[0].dim(loc) || shape[static_cast<size_t>(along)] != 3)
    fail("cross: inputs dimension " +
             (dim ? std::to_string(*dim) + " must have length 3" : "of size 3 missing") + ". Got " +
             shapeText(a.sizes(loc)) + " and " + shapeText(b.sizes(loc)),
         loc, {use(a, loc), use(b, loc)});
  auto turned = [&](const Tensor &tensor, int64_t by) { return roll(tensor, {-by}, {along}, loc); };
  return sub({mul({turned(both[0], 1), loc}, {turned(both[1], 2), loc}), loc},
             {mul({turned(both[0], 2), loc}, {turned(both[1], 1), loc}), loc});
}

//===----------------------------------------------------------------------===//
// Diagonals
//===----------------------------------------------------------------------===//

Tensor diag(const Tensor &a, int64_t diagonal, Loc loc) {
  if (a.dim(loc) == 2)
    return a.diagonal(diagonal, 0, 1, loc).clone(loc);
  checkRank("diag: Supports 1D or 2D tensors", a, 1, loc);
  return diag_embed(a, diagonal, 0, 1, loc);
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

Tensor bilinear(const Tensor &a, const Tensor &b, const Tensor &weight, const Tensor &bias, Loc loc) {
  if (weight.dim(loc) != 3 || a.dim(loc) < 1 || b.dim(loc) < 1)
    fail("bilinear(): needs a weight of three dimensions, found " + shapeText(weight.sizes(loc)), loc,
         {use(weight, loc)});
  Tensor sum = einsum("...i,oij,...j->...o", {a, weight, b}, loc);
  return bias.defined() ? add({sum, loc}, {bias, loc}) : sum;
}

} // namespace weft
